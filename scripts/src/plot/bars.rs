// SPDX-License-Identifier: GPL-2.0-only

//! Charts of bars: what changes at a few places, of any state of memory and plan.

use crate::plot::axis::bytes;
use crate::plot::chart::{BarChart, Curve, Twins};
use crate::plot::lines::change;
use crate::plot::svg::Svg;
use crate::record::parse::Place;
use crate::stats::comparison::Contrast;
use crate::stats::dataset::Pool;
use crate::stats::format::{distinct, ns};

/// A place that is shown as a group of bars.
pub struct Bar<'p, 'a> {
    pub pool: &'p Pool<'a>,
    pub name: String,
    pub contrasts: Vec<Contrast<'a>>,
    pub place: Place<'a>,
}

/// The changes at a few places, of any state of memory and plan; none if nothing is compared.
pub fn bars(name: &str, bars: &[&Bar<'_, '_>]) -> Option<Svg> {
    let names = distinct(
        &bars
            .iter()
            .flat_map(|bar| &bar.contrasts)
            .collect::<Vec<_>>(),
        |contrast| contrast.name(),
    );
    let mut series: Vec<_> = (names.iter().enumerate())
        .map(|(i, name)| Curve {
            name: name.to_string(),
            colour: i + 1,
            points: Vec::new(),
        })
        .collect();
    let mut twins = Twins::new();
    for (at, bar) in bars.iter().enumerate() {
        for contrast in &bar.contrasts {
            let of = series
                .iter_mut()
                .find(|series| series.name == contrast.name());
            let difference = contrast.difference(bar.pool, bar.place);
            if let (Some(of), Some(difference)) = (of, difference) {
                of.points.push((at as f64, change(&difference)));
                let blur = difference.blur();
                twins.push((at as f64, -blur, blur));
            }
        }
    }
    // One band a group: that of the last pair, which differs from the others' by little.
    twins.reverse();
    twins.dedup_by_key(|twin| twin.0 as usize);
    let base = bars.first()?.contrasts.first()?.before;
    let shown = BarChart {
        title: format!("{name}: change against {} {}", base.candidate, base.mask),
        about: "paired, median and 95 % interval, below 0 is faster; faint: not resolved".into(),
        y: "change of the time in %".into(),
        groups: bars.iter().map(|bar| bar.label()).collect(),
        series,
        twins,
    };
    Some(shown.draw())
}

impl Bar<'_, '_> {
    /// The state of memory or the lengths drawn, the length, the base's time.
    fn label(&self) -> Vec<String> {
        let place = &self.place;
        let plan = self.pool.parts[0].header("plan").unwrap_or_default();
        let drawn = || {
            let lengths = plan.split(' ').find_map(|word| word.strip_prefix("len="));
            match plan.contains(" weight=") {
                true => "of a table".to_string(),
                false => lengths.unwrap_or_default().chars().take(14).collect(),
            }
        };
        let first = match (place.draw, place.mem) {
            ("random", _) => drawn(),
            (_, "kernel") => place.cache.to_string(),
            (_, mem) => mem.to_string(),
        };
        let mean = if place.draw == "random" { "mean " } else { "" };
        let base = self.contrasts.first().map(|c| c.before.at(*place));
        let time = base.and_then(|key| self.pool.time(key));
        let mut lines = vec![first, format!("{mean}{}", size(place.len))];
        if (place.src, place.dst) != (0, 0) {
            lines.push(format!("{}/{}", place.src, place.dst));
        }
        lines.extend(time.map(|time| format!("{} ns", short(time.median))));
        lines
    }
}

/// Picoseconds as nanoseconds of three or four digits.
fn short(ps: i64) -> String {
    match ps {
        100_000.. => (ps / 1000).to_string(),
        _ => ns(ps),
    }
}
/// A length with its unit.
fn size(len: u64) -> String {
    let text = bytes(len as f64);
    match text.strip_suffix(['K', 'M']) {
        Some(count) => format!("{count} {}iB", &text[count.len()..]),
        None => format!("{text} B"),
    }
}

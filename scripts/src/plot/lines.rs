// SPDX-License-Identifier: GPL-2.0-only

//! Charts of lines: the times of some sides, and what they differ by.

use crate::plot::axis::Scale;
use crate::plot::chart::{Curve, LineChart, Twins, Value};
use crate::plot::svg::Svg;
use crate::record::parse::Place;
use crate::stats::comparison::{Contrast, Side};
use crate::stats::dataset::Pool;
use crate::stats::estimate::{Difference, Estimate, Significance};

/// What is shown in one chart: the sides, of which the first is the base, and the pairs of them.
pub struct Scene<'a> {
    /// What all sides have in common: the mask, or the candidate.
    pub name: &'a str,
    pub sides: Vec<Side<'a>>,
    pub contrasts: Vec<Contrast<'a>>,
}

/// LineChart of one scene at places that differ in one thing.
pub struct View<'p, 'a> {
    pub pool: &'p Pool<'a>,
    pub scene: &'p Scene<'a>,
    /// In words, what all of it has in common.
    pub title: String,
    pub places: Vec<Place<'a>>,
    pub x: (Scale, &'static str),
    pub of: fn(&Place<'a>) -> u64,
}

impl<'a> View<'_, 'a> {
    /// The times, and the changes against the base if there are any.
    pub fn charts(&self, by: &str) -> Vec<Svg> {
        let time = LineChart {
            title: format!("{}: time by {by}", self.title),
            about: "median and its 95 % interval, the call included; grey: base give or take what \
                    the bench can tell apart"
                .into(),
            x: (self.x.0, self.x.1.into()),
            y: (Scale::Log, "ns per call (logarithmic)".into()),
            series: self.times(),
            twins: self.twins(|time, blur| (time - blur, time + blur), 1000.0),
        };
        let Some(first) = self.scene.contrasts.first() else {
            return vec![time.draw()];
        };
        let before = match first.before.mask == first.after.mask {
            true => first.before.candidate,
            false => first.before.mask,
        };
        let change = LineChart {
            title: format!("{}: change against {before}", self.title),
            about:
                "paired, median and 95 % interval, below 0 is faster; rings and what lies in the \
                    grey: not resolved"
                    .into(),
            x: (self.x.0, self.x.1.into()),
            y: (Scale::Linear, "change of the time in %".into()),
            series: self.changes(),
            twins: self.twins(
                |time, blur| (-100.0 * blur / time, 100.0 * blur / time),
                1.0,
            ),
        };
        vec![time.draw(), change.draw()]
    }

    fn at(&self, place: &Place<'a>) -> f64 {
        (self.of)(place) as f64
    }

    fn times(&self) -> Vec<Curve> {
        let sides = self.scene.sides.iter().enumerate();
        let series = sides.map(|(colour, side)| Curve {
            name: match side.mask == self.scene.name {
                true => side.candidate.into(),
                false => side.mask.into(),
            },
            colour,
            points: self
                .places
                .iter()
                .filter_map(|&place| {
                    let estimate = self.pool.time(side.at(place))?;
                    Some((self.at(&place), time(&estimate)))
                })
                .collect(),
        });
        series.collect()
    }

    fn changes(&self) -> Vec<Curve> {
        let contrasts = self.scene.contrasts.iter().enumerate();
        let series = contrasts.map(|(i, contrast)| Curve {
            name: contrast.name().into(),
            colour: i + 1,
            points: self
                .places
                .iter()
                .filter_map(|&place| {
                    let difference = contrast.difference(self.pool, place)?;
                    Some((self.at(&place), change(&difference)))
                })
                .collect(),
        });
        series.collect()
    }

    /// The band of what cannot be told apart: by the base's time and the resolution, both in
    /// picoseconds by `unit`.
    fn twins(&self, of: fn(f64, f64) -> (f64, f64), unit: f64) -> Twins {
        let base = self.scene.sides[0];
        let at = |place: &Place<'a>| {
            let time = self.pool.time(base.at(*place))?.median.max(1) as f64;
            let blur = self.pool.resolution_at(base.at(*place).place) as f64;
            let (low, high) = of(time / unit, blur / unit);
            Some((self.at(place), low, high))
        };
        self.places.iter().filter_map(at).collect()
    }
}

/// A time in nanoseconds.
fn time(estimate: &Estimate) -> Value {
    let ns = |ps: i64| ps as f64 / 1000.0;
    let middle = estimate.median;
    let (low, high) = estimate.interval.unwrap_or((middle, middle));
    Value {
        middle: ns(middle),
        low: ns(low),
        high: ns(high),
        unsure: false,
    }
}

/// A change in percent.
pub fn change(difference: &Difference) -> Value {
    let (middle, (low, high)) = difference.percent();
    Value {
        middle,
        low,
        high,
        unsure: difference.verdict() == Significance::NotResolved,
    }
}

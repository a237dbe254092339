// SPDX-License-Identifier: GPL-2.0-only

//! `repmov table`: what a change to a routine costs or gains, as plain text for a commit message.

use anyhow::Result;
use std::fmt::Write;

use crate::record::parse::Place;
use crate::stats::comparison::{contrasts, group, places, title, Chosen};
use crate::stats::dataset::Pool;
use crate::stats::estimate::{Difference, Significance};
use crate::stats::format::{distinct, indented, list, ns, percent, signed, wrap};

/// A block with more offsets than this is summed up.
const FEW_OFFSETS: usize = 8;

/// Where, what came of it there, and whether interrupts were on meanwhile.
type Compared<'a> = (Place<'a>, Difference, bool);

/// A block for each thing that was measured and each pair that is compared, at most 72 columns
/// wide.
///
/// # Errors
///
/// If a candidate chosen is not there.
pub fn blocks(pool: &Pool<'_>, chosen: Chosen<'_>) -> Result<String> {
    let contrasts = contrasts(pool, chosen)?;
    let mut text = String::new();
    for of in distinct(&pool.places, group) {
        for contrast in &contrasts {
            let places = places(pool, of, contrast.before.mask);
            let compared = |&place: &_| {
                let irqs_on = pool.irqs_on(contrast.after.at(place));
                Some((place, contrast.difference(pool, place)?, irqs_on))
            };
            let rows: Vec<Compared<'_>> = places.iter().filter_map(compared).collect();
            if !rows.is_empty() {
                text.push('\n');
                text += &wrap(&format!("{} {contrast}", title(&of)), 2);
                block(&mut text, &rows);
            }
        }
    }
    Ok(text)
}

fn block(text: &mut String, rows: &[Compared<'_>]) {
    match distinct(rows, |(p, ..)| (p.src, p.dst, p.fault)).len() > FEW_OFFSETS {
        true => summed_up(text, rows),
        false => in_full(text, rows),
    }
}

/// A row for each place.
fn in_full(text: &mut String, rows: &[Compared<'_>]) {
    let varies = |of: fn(&Place<'_>) -> Option<u64>| distinct(rows, |(p, ..)| of(p)).len() > 1;
    let offsets = varies(|p| Some(p.src)) || varies(|p| Some(p.dst));
    let faults = varies(|p| p.fault);
    let label = |offset: &str, fault: &str, len: &str| {
        let mut label = String::new();
        if offsets {
            label += &format!("{offset:>9} ");
        }
        if faults {
            label += &format!("{fault:>5} ");
        }
        label + &format!("{len:>8}")
    };
    let head = label("src/dst", "fault", "len");
    let _ = writeln!(
        text,
        "{head} {:>9} {:>9} {:>8}  95 % interval",
        "before ns", "after ns", "change"
    );
    for (p, d, irqs_on) in rows {
        let len = format!("{}{}", if *irqs_on { "*" } else { "" }, p.len);
        let fault = p.fault.map_or("none".into(), |byte| byte.to_string());
        let label = label(&format!("{}/{}", p.src, p.dst), &fault, &len);
        let (before, after) = (ns(d.before.median), ns(d.after.median));
        let _ = writeln!(text, "{label} {before:>9} {after:>9} {}", change(d));
    }
}

/// The change with its interval, or that it is not resolved.
fn change(d: &Difference) -> String {
    if d.verdict() == Significance::NotResolved {
        return "not resolved".into();
    }
    let (middle, (low, high)) = d.percent();
    format!(
        "{:>8}  {} .. {}",
        percent(middle),
        signed(low),
        signed(high)
    )
}

/// Three lines for each length: over its offsets, the times, and where it changed for what.
fn summed_up(text: &mut String, rows: &[Compared<'_>]) {
    let _ = writeln!(text, "{:>8} {:^29}   {:>19}", "", "before ns", "after ns");
    let three = format!("{:>9} {:>9} {:>9}", "least", "median", "most");
    let _ = writeln!(text, "{:>8} {three}   {three}", "len");
    for len in distinct(rows, |(p, ..)| p.len) {
        let here: Vec<_> = rows
            .iter()
            .filter(|(p, ..)| p.len == len)
            .copied()
            .collect();
        let before = spread(here.iter().map(|(_, d, _)| d.before.median).collect());
        let after = spread(here.iter().map(|(_, d, _)| d.after.median).collect());
        let _ = writeln!(text, "{len:>8} {before}   {after}");
        *text += &indented(&told(&here), 9);
    }
}

/// Least, median and most.
fn spread(mut times: Vec<i64>) -> String {
    times.sort_unstable();
    let middle = times[(times.len() - 1) / 2];
    let [least, middle, most] = [times[0], middle, times[times.len() - 1]].map(ns);
    format!("{least:>9} {middle:>9} {most:>9}")
}

/// At how many offsets it became faster or slower, by how much, and the worst of them.
fn told(rows: &[Compared<'_>]) -> String {
    let of = |verdict: Significance| -> Vec<_> {
        rows.iter()
            .filter(|(_, d, _)| d.verdict() == verdict)
            .collect()
    };
    let mut told = Vec::new();
    for (verdict, word) in [
        (Significance::Faster, "faster"),
        (Significance::Slower, "slower"),
    ] {
        let here = of(verdict);
        let changes = here.iter().map(|(p, d, _)| (d.percent().0, p));
        let mut changes: Vec<_> = changes.collect();
        changes.sort_by(|a, b| a.0.total_cmp(&b.0));
        if let (Some(least), Some(most)) = (changes.first(), changes.last()) {
            let at = if verdict == Significance::Slower {
                most.1
            } else {
                least.1
            };
            told.push(format!(
                "{word} at {} ({} to {}, {})",
                changes.len(),
                signed(least.0),
                percent(most.0),
                match changes.len() > FEW_OFFSETS {
                    true => format!("most at {}", offset(at)),
                    false => offsets(&changes.iter().map(|(_, p)| **p).collect::<Vec<_>>()),
                }
            ));
        }
    }
    let unresolved = of(Significance::NotResolved).len();
    if unresolved > 0 {
        told.push(format!("not resolved at {unresolved}"));
    }
    format!("of {} offsets {}", rows.len(), told.join(", "))
}

/// A place's offsets and fault in the words of a plan.
fn offset(place: &Place<'_>) -> String {
    let fault = place.fault.map(|byte| format!(" fault={byte}"));
    format!(
        "src={} dst={}{}",
        place.src,
        place.dst,
        fault.unwrap_or_default()
    )
}

/// The same of some places.
fn offsets(places: &[Place<'_>]) -> String {
    let values = |of: fn(&Place<'_>) -> u64| places.iter().map(of).collect::<Vec<_>>();
    let (src, dst) = (values(|p| p.src), values(|p| p.dst));
    let mut words = format!("src={} dst={}", list(&src), list(&dst));
    let faults: Vec<_> = places.iter().filter_map(|p| p.fault).collect();
    if !faults.is_empty() {
        words += &format!(" fault={}", list(&faults));
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::parse::parts;
    use crate::record::synthetic::Synthetic;
    use crate::stats::dataset::pools;
    use crate::stats::format::WIDTH;

    fn table(synthetic: &Synthetic) -> String {
        let files = [synthetic.file()];
        let parts = parts(&files).unwrap();
        let pools = pools(&parts).unwrap();
        let text = blocks(&pools[0], Chosen::default()).unwrap();
        assert!(text.lines().all(|line| line.len() <= WIDTH), "{text}");
        assert!(text.lines().all(|line| line.trim_end() == line), "{text}");
        text
    }

    #[test]
    fn what_is_not_resolved_is_no_gain() {
        let mut synthetic = Synthetic::lengths(&[0, 8, 4096, 1 << 24])
            .candidate("erms2048", |time| time * 0.5)
            .candidate("same", |time| time);
        synthetic.src = vec![0, 4095];
        let text = table(&synthetic);
        let (faster, same) = text.split_once("memcpy e1f0: orig (before), same").unwrap();
        assert!(faster.contains("erms2048 (after)"), "{text}");
        assert_eq!(faster.matches(" ..").count(), 8, "{text}");
        assert_eq!(same.matches("not resolved").count(), 8, "{text}");
        assert_eq!(same.matches(" %").count(), 1, "{text}");
        assert!(text.contains("4095/0"), "{text}");
    }

    #[test]
    fn masks_are_compared_if_there_is_one_candidate() {
        let mut synthetic =
            Synthetic::lengths(&[64]).base(|row| if row.mask == "e0f1" { 30.0 } else { 10.0 });
        synthetic.masks = vec!["e0f0", "e0f1"];
        let text = table(&synthetic);
        assert!(
            text.contains("memcpy orig: e0f0 (before), e0f1 (after)"),
            "{text}"
        );
        assert!(text.contains("+200."), "{text}");
    }

    #[test]
    fn many_offsets_are_summed_up() {
        let mut synthetic = Synthetic::lengths(&[64, 4096]);
        synthetic.dst = (0..64).collect();
        let synthetic = synthetic.model("new", |row| {
            let time = 5.0 + row.len as f64 / 12.0;
            match row.dst {
                7 => 1.5 * time,
                _ => 0.8 * time,
            }
        });
        let text = table(&synthetic);
        assert!(text.lines().count() < 20, "{text}");
        assert!(text.contains("slower at 1"), "{text}");
        assert!(text.contains("src=0 dst=7"), "{text}");
        assert!(text.contains("faster at 63"), "{text}");
    }
}

// SPDX-License-Identifier: GPL-2.0-only

//! `repmov cmp`: whether two records of the same plan say the same.

use anyhow::{ensure, Result};
use std::fmt::Write;

use crate::report::heading;
use crate::stats::dataset::{what, Key, Pool};
use crate::stats::estimate::{Estimate, Significance};
use crate::stats::format::{ns, percent, wrap};

/// Said where the clocks of both cores are known.
const CYCLES: &str =
    "B to A, and whether they agree, is by cycles of the core, whose clock may have \
                      changed in between; of cold memory, which has a clock of its own, by ns";

/// One cell as either record has it.
struct Pair<'a> {
    key: Key<'a>,
    one: Estimate,
    other: Estimate,
    /// The same in thousandths of a cycle, where the core's clock drives the copy.
    cycles: Option<(Estimate, Estimate)>,
    /// What the two can tell apart there, in picoseconds.
    resolution: i64,
}

impl Pair<'_> {
    /// Whether their intervals overlap, or what is between them is less than can be told apart.
    fn agrees(&self) -> bool {
        let (one, other) = self.compared();
        let span = |of: &Estimate| of.interval.unwrap_or((of.median, of.median));
        let (first, second) = (span(&one), span(&other));
        let gap = (first.0 - second.1).max(second.0 - first.1);
        // In the unit that is compared.
        let unit = one.median as f64 / self.one.median.max(1) as f64;
        gap as f64 <= self.resolution as f64 * unit
    }

    /// In cycles if that can be, so that a core that ran faster does not look like other code.
    fn compared(&self) -> (Estimate, Estimate) {
        self.cycles.unwrap_or((self.one, self.other))
    }

    fn percent(&self) -> f64 {
        let (one, other) = self.compared();
        let (one, other) = (one.median, other.median);
        100.0 * (other - one) as f64 / one.max(1) as f64
    }
}

/// How often something is so.
#[derive(Default)]
struct Count {
    so: usize,
    all: usize,
}

impl Count {
    fn add(&mut self, so: bool) {
        self.so += usize::from(so);
        self.all += 1;
    }

    fn words(&self, noun: &str) -> String {
        let part = 100.0 * self.so as f64 / self.all.max(1) as f64;
        format!("{} of {} {noun} ({:.0} %)", self.so, self.all, part.floor())
    }
}

/// Every cell of both records side by side, then how many agree. The two may be of different
/// machines.
///
/// # Errors
///
/// If the records have no plan in common.
pub fn text(one: &[Pool<'_>], other: &[Pool<'_>], stamp: Option<&str>) -> Result<String> {
    let mut text = String::new();
    let (mut cells, mut verdicts) = (Count::default(), Count::default());
    for pool in one {
        let plan = what(pool.parts[0]);
        let Some(same) = other.iter().find(|pool| what(pool.parts[0]) == plan) else {
            continue;
        };
        text += &head(pool, same, stamp);
        for pair in pairs(pool, same) {
            cells.add(pair.agrees());
            row(&mut text, &pair);
            if let Some((one, other)) = changes(pool, same, pair.key) {
                verdicts.add(one == other);
            }
        }
        text.push('\n');
    }
    ensure!(
        cells.all > 0,
        "the records have no plan in common: \"{}\" and \"{}\"",
        what(one[0].parts[0]).trim(),
        what(other[0].parts[0]).trim()
    );
    let _ = writeln!(text, "The times agree in {}.", cells.words("cells"));
    if verdicts.all > 0 {
        let _ = writeln!(
            text,
            "Faster, slower or not resolved against the base: the same in {}.",
            verdicts.words("comparisons")
        );
    }
    Ok(text)
}

fn head(one: &Pool<'_>, other: &Pool<'_>, stamp: Option<&str>) -> String {
    let mut text = wrap(&format!("{}: {}", one.title, heading::plan(one)), 2);
    for line in stamp.iter() {
        text += &wrap(line, 2);
    }
    for (name, pool) in [("A", one), ("B", other)] {
        let (machine, effort) = (heading::machine(pool), heading::effort(pool));
        let resolution = heading::resolution(pool);
        text += &wrap(&format!("{name}: {machine}; {effort}; {resolution}"), 3);
    }
    if one.core_mhz().is_some() && other.core_mhz().is_some() {
        text += &wrap(CYCLES, 2);
    }
    let _ = writeln!(
        text,
        "\n{:>10} {:<17} {:>10} {:<17} {:>9}",
        "A ns", "95 % interval", "B ns", "95 % interval", "B to A"
    );
    text
}

/// The cells that both have, in the order of the first, but for the twins.
fn pairs<'a>(one: &Pool<'a>, other: &Pool<'a>) -> Vec<Pair<'a>> {
    let mut pairs = Vec::new();
    for &place in &one.places {
        for &candidate in &one.candidates {
            let key = one.key(place, candidate);
            if let (Some(a), Some(b)) = (one.time(key), other.time(key)) {
                pairs.push(Pair {
                    key,
                    one: a,
                    other: b,
                    cycles: one.cycles(key).zip(other.cycles(key)),
                    resolution: one.resolution_at(place).max(other.resolution_at(place)),
                });
            }
        }
    }
    pairs
}

fn row(text: &mut String, pair: &Pair<'_>) {
    let interval = |of: &Estimate| {
        let (low, high) = of.interval.unwrap_or((of.median, of.median));
        format!("{} .. {}", ns(low), ns(high))
    };
    let _ = writeln!(
        text,
        "{:>10} {:<17} {:>10} {:<17} {:>9} {} {} {}",
        ns(pair.one.median),
        interval(&pair.one),
        ns(pair.other.median),
        interval(&pair.other),
        percent(pair.percent()),
        if pair.agrees() { "agree " } else { "DIFFER" },
        pair.key.candidate,
        pair.key.place
    );
}

/// What either record says of a candidate against the base; none of the base itself.
fn changes<'a>(
    one: &Pool<'a>,
    other: &Pool<'a>,
    key: Key<'a>,
) -> Option<(Significance, Significance)> {
    let verdict = |pool: &Pool<'a>| {
        let base = pool.key(key.place, pool.base);
        Some(pool.difference(base, key)?.verdict())
    };
    if key.candidate == one.base {
        return None;
    }
    Some((verdict(one)?, verdict(other)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::parse::parts;
    use crate::record::synthetic::Synthetic;
    use crate::stats::dataset::pools;

    fn compared(one: &Synthetic, other: &Synthetic) -> Result<String> {
        let files = [one.file(), other.file()];
        let (one, other) = (parts(&files[..1]).unwrap(), parts(&files[1..]).unwrap());
        text(&pools(&one).unwrap(), &pools(&other).unwrap(), None)
    }

    #[test]
    fn what_comes_again_agrees() {
        let one = Synthetic::lengths(&[8, 64, 512]).candidate("new", |time| time * 0.9);
        let text = compared(&one, &one.clone().seed(77)).unwrap();
        assert!(text.contains("agree in 6 of 6 cells (100 %)"), "{text}");
        assert!(
            text.contains("the same in 3 of 3 comparisons (100 %)"),
            "{text}"
        );
    }

    #[test]
    fn a_faster_clock_is_no_faster_code() {
        let one = Synthetic::lengths(&[64, 512, 4096]);
        let slow = |row: &repmov_core::record::Row<'_>| 1.25 * (5.0 + row.len as f64 / 10.0);
        let fast = |row: &repmov_core::record::Row<'_>| 5.0 + row.len as f64 / 10.0;
        let (slow, fast) = (one.clone().base(slow), one.base(fast));
        let text = compared(&fast.clone(), &slow.clone().mhz(1600)).unwrap();
        assert!(text.contains("agree in 3 of 3 cells (100 %)"), "{text}");
        // At the same clock it is.
        let text = compared(&fast, &slow).unwrap();
        assert!(text.contains("agree in 0 of 3 cells (0 %)"), "{text}");
    }

    #[test]
    fn what_does_not_is_said_to_differ() {
        let one = Synthetic::lengths(&[8, 64, 512]).candidate("new", |time| time * 0.9);
        let other = Synthetic::lengths(&[8, 64, 512]).candidate("new", |time| time * 1.2);
        let text = compared(&one, &other).unwrap();
        assert!(text.contains("agree in 3 of 6 cells (50 %)"), "{text}");
        assert!(
            text.contains("the same in 0 of 3 comparisons (0 %)"),
            "{text}"
        );
        assert_eq!(text.matches("DIFFER new").count(), 3, "{text}");
    }

    #[test]
    fn other_plans_are_not_compared() {
        let (one, other) = (Synthetic::lengths(&[8]), Synthetic::lengths(&[9]));
        let error = compared(&one, &other).unwrap_err().to_string();
        assert!(error.contains("no plan in common"), "{error}");
    }
}

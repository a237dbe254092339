// SPDX-License-Identifier: GPL-2.0-only

//! `repmov rank`: which candidate is best for which lengths, on each machine.

use repmov_core::record::TWIN;
use std::fmt::Write;

use crate::record::parse::Place;
use crate::stats::comparison::title;
use crate::stats::dataset::{Key, Pool};
use crate::stats::estimate::Difference;
use crate::stats::format::{distinct, wrap};

/// The classes of lengths: from here up to the next.
const CLASSES: [u64; 5] = [0, 32, 128, 512, 2048];

/// The class of a length.
fn class(len: u64) -> usize {
    CLASSES.iter().rposition(|&from| len >= from).unwrap_or(0)
}

fn class_name(class: usize) -> String {
    match CLASSES.get(class + 1) {
        Some(next) => format!("{}-{}", CLASSES[class], next - 1),
        None => format!("{}-", CLASSES[class]),
    }
}

/// The pools of one machine.
pub struct RankedMachine<'p, 'a> {
    pub name: String,
    pub pools: Vec<&'p Pool<'a>>,
}

/// Pools by lab and CPU model, in the order of the first of each.
pub fn machines<'p, 'a>(pools: &'p [Pool<'a>]) -> Vec<RankedMachine<'p, 'a>> {
    let name = |pool: &Pool<'a>| {
        let said = |key| pool.parts[0].header(key).unwrap_or("unknown").trim();
        format!("{} (lab {})", said("cpu model"), said("lab"))
    };
    let names = distinct(pools, name);
    let of = |machine: &String| pools.iter().filter(|pool| name(pool) == *machine).collect();
    names
        .into_iter()
        .map(|name| RankedMachine {
            pools: of(&name),
            name,
        })
        .collect()
}

/// What is ranked together: the routine, the mask, the state of memory, the class of lengths.
fn race<'a>(place: &Place<'a>) -> (Place<'a>, usize) {
    let common = Place {
        entry: 0,
        len: 0,
        src: 0,
        dst: 0,
        fault: None,
        ..*place
    };
    (common, class(place.len))
}

/// How two candidates compare over some places.
#[derive(Clone, Copy, Default)]
struct Ratio {
    /// The mean of the logarithms of the ratios of their times.
    mean: f64,
    /// The mean of what can be told apart, on the same scale.
    blur: f64,
}

/// A candidate's place in a race.
struct Runner<'a> {
    candidate: &'a str,
    rank: usize,
    tied: bool,
    /// The geometric mean of its time relative to the base's.
    relative: f64,
}

impl RankedMachine<'_, '_> {
    /// What one candidate takes against another in a race; none if they never met.
    fn ratio(&self, race_of: (Place<'_>, usize), before: &str, after: &str) -> Option<Ratio> {
        let mut ratios = Vec::new();
        for pool in &self.pools {
            for &place in pool.places.iter().filter(|place| race(place) == race_of) {
                let key = |name: &str| own_key(pool, place, name);
                let difference = pool.difference(key(before)?, key(after)?);
                ratios.extend(difference.map(|difference| ratio(&difference)));
            }
        }
        let count = ratios.len() as f64;
        let sum = |of: fn(&Ratio) -> f64| ratios.iter().map(of).sum::<f64>();
        (count > 0.0).then(|| Ratio {
            mean: sum(|r| r.mean) / count,
            blur: sum(|r| r.blur) / count,
        })
    }

    /// The candidates of a race, the best first. One that cannot be told from the best of those
    /// before it shares its rank.
    fn runners<'a>(&self, race_of: (Place<'a>, usize), candidates: &[&'a str]) -> Vec<Runner<'a>> {
        let Some(base) = self.pools.first().map(|pool| pool.base) else {
            return Vec::new();
        };
        let relative = |&candidate: &&'a str| {
            let ratio = self.ratio(race_of, base, candidate)?;
            Some((candidate, ratio.mean))
        };
        let mut order: Vec<_> = candidates.iter().filter_map(relative).collect();
        order.sort_by(|a, b| a.1.total_cmp(&b.1));
        let mut runners: Vec<Runner<'a>> = Vec::new();
        let mut first = 0;
        for (at, &(candidate, mean)) in order.iter().enumerate() {
            let ratio = self.ratio(race_of, order[first].0, candidate);
            let tied = at > 0 && ratio.is_some_and(|ratio| ratio.mean.abs() <= ratio.blur);
            if tied {
                runners[first].tied = true;
            } else {
                first = at;
            }
            runners.push(Runner {
                candidate,
                rank: first + 1,
                tied,
                relative: mean.exp(),
            });
        }
        runners
    }
}

/// A key of a pool by a name that may be another record's.
fn own_key<'a>(pool: &Pool<'a>, place: Place<'a>, name: &str) -> Option<Key<'a>> {
    let mut all = pool.candidates.iter().copied().chain([TWIN]);
    let candidate = all.find(|&candidate| candidate == name)?;
    Some(pool.key(place, candidate))
}

fn ratio(difference: &Difference) -> Ratio {
    let (middle, (low, high)) = difference.percent();
    Ratio {
        mean: (1.0 + middle / 100.0).max(0.001).ln(),
        blur: difference.blur().max((high - low) / 2.0) / 100.0,
    }
}

/// A block for each routine, mask and state of memory, a column for each machine.
pub fn text(machines: &[RankedMachine<'_, '_>], stamp: Option<&str>) -> String {
    let mut text = String::new();
    for line in stamp.iter() {
        text += &wrap(line, 0);
    }
    for (i, machine) in machines.iter().enumerate() {
        text += &wrap(&format!("{}: {}", letter(i), machine.name), 3);
    }
    text += &wrap(
        "Ranks, and the geometric mean of the time relative to the base's; = marks those that the \
         bench cannot tell apart.",
        0,
    );
    let places: Vec<_> = machines
        .iter()
        .flat_map(|machine| &machine.pools)
        .flat_map(|pool| pool.places.iter().copied())
        .collect();
    let mut races = distinct_hashed(places.iter().map(race));
    races.sort_by_key(|(_, class)| *class);
    for common in distinct(&races, |(common, _)| *common) {
        let name = title(&Place { mask: "", ..common });
        let _ = write!(text, "\n{:<34}", format!("{name} {}", common.mask));
        for i in 0..machines.len() {
            let _ = write!(text, "{:>13}", letter(i));
        }
        text.push('\n');
        for &(_, class) in races.iter().filter(|(other, _)| *other == common) {
            race_rows(&mut text, machines, (common, class));
        }
    }
    text
}

/// The values that occur, each once: as `distinct`, of very many.
fn distinct_hashed<T: Copy + Eq + std::hash::Hash>(all: impl Iterator<Item = T>) -> Vec<T> {
    let mut seen = std::collections::HashSet::new();
    all.filter(|&value| seen.insert(value)).collect()
}

/// A row for each candidate, in the order of the first machine that ran.
fn race_rows(text: &mut String, machines: &[RankedMachine<'_, '_>], race_of: (Place<'_>, usize)) {
    let all: Vec<_> = machines
        .iter()
        .flat_map(|machine| &machine.pools)
        .flat_map(|pool| pool.candidates.iter().copied())
        .collect();
    let candidates = distinct_hashed(all.into_iter());
    let results: Vec<_> = machines
        .iter()
        .map(|machine| machine.runners(race_of, &candidates))
        .collect();
    let order: Vec<_> = results.iter().flatten().map(|r| r.candidate).collect();
    for (i, candidate) in distinct_hashed(order.into_iter()).into_iter().enumerate() {
        let name = if i == 0 {
            class_name(race_of.1)
        } else {
            String::new()
        };
        let mut row = format!("  {name:<11} {candidate:<20}");
        for runners in &results {
            let runner = runners.iter().find(|r| r.candidate == candidate);
            let cell = runner.map_or("-".into(), |r| {
                let mark = if r.tied { "=" } else { " " };
                format!("{}{mark} {:.3}", r.rank, r.relative)
            });
            row += &format!("{cell:>13}");
        }
        let _ = writeln!(text, "{row}");
    }
}

/// What a column is called.
fn letter(column: usize) -> String {
    match u8::try_from(column) {
        Ok(at) if at < 26 => char::from(b'A' + at).to_string(),
        _ => format!("machine {}", column + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::parse::parts;
    use crate::record::synthetic::Synthetic;
    use crate::stats::dataset::pools;

    #[test]
    fn classes() {
        let names: Vec<_> = [0, 31, 32, 511, 512, 2048, 1 << 24]
            .iter()
            .map(|&len| class_name(class(len)))
            .collect();
        assert_eq!(
            names,
            ["0-31", "0-31", "32-127", "128-511", "512-2047", "2048-", "2048-"]
        );
    }

    #[test]
    fn ranks_and_ties_of_two_machines() {
        let lengths = [8, 16, 64, 96, 1024];
        let one = Synthetic::lengths(&lengths)
            .candidate("fast", |time| time * 0.8)
            .candidate("same", |time| time * 1.0001);
        let mut two = Synthetic::lengths(&lengths).candidate("fast", |time| time * 1.5);
        two.model = "B";
        let files = [one.file(), two.file()];
        let parts = parts(&files).unwrap();
        // Parts of different machines are different pools.
        let pools = pools(&parts).unwrap();
        let machines = machines(&pools);
        assert_eq!(machines.len(), 2);
        let text = text(&machines, Some("stamp"));
        let row = |words: &str| {
            let mut lines = text.lines();
            let line = lines.find(|line| line.contains(words)).unwrap();
            line.split_whitespace()
                .map(str::to_string)
                .collect::<Vec<_>>()
        };
        let fast = row("0-31");
        assert_eq!(fast[1..3], ["fast", "1"], "{text}");
        assert!(
            (fast[3].parse::<f64>().unwrap() - 0.8).abs() < 0.01,
            "{text}"
        );
        assert_eq!(fast[4], "2", "{text}");
        assert!(text.contains("2= 1.00"), "{text}");
        assert!(
            text.starts_with("stamp\nA: A (lab host)\nB: B (lab host)\n"),
            "{text}"
        );
        assert_eq!(text.matches("fast").count(), 3, "{text}");
    }
}

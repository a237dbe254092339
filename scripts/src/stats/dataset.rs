// SPDX-License-Identifier: GPL-2.0-only

//! The parts of one plan on one machine, pooled: what was measured at every place.

use anyhow::{ensure, Result};
use repmov_core::record::TWIN;
use std::collections::HashMap;

use crate::record::parse::{Cell, Part, Place};
use crate::stats::estimate::{differences, relative, Difference, Estimate, Resolution};
use crate::stats::format::distinct;

/// An A/A pair should differ by less than this, in picoseconds,
pub const NEAR_PS: i64 = 50;
/// or less than this part of the time.
pub const NEAR_PART: f64 = 0.005;

/// What is said of a pair before it was looked at.
const UNKNOWN: Estimate = Estimate {
    median: 0,
    interval: None,
};

/// Who was measured where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key<'a> {
    pub place: Place<'a>,
    pub candidate: &'a str,
}

/// Whose memory it was, and what of it was in which cache: what is as noisy as all of its kind.
pub type MemoryState<'a> = (&'a str, &'a str);

fn state<'a>(place: &Place<'a>) -> MemoryState<'a> {
    (place.mem, place.cache)
}

/// All that was measured by one plan on one machine.
pub struct Pool<'a> {
    /// The experiment, or the plan's words if it has no name.
    pub title: &'a str,
    /// One for each boot.
    pub parts: Vec<&'a Part<'a>>,
    /// The candidate that all others are compared with.
    pub base: &'a str,
    /// In the order of the first boot.
    pub places: Vec<Place<'a>>,
    /// In the order of the first boot, without the twin.
    pub candidates: Vec<&'a str>,
    /// For each state of memory, in the order of the first boot.
    pub resolutions: Vec<(MemoryState<'a>, Resolution)>,
    cells: HashMap<Key<'a>, Vec<(usize, &'a Cell<'a>)>>,
    times: HashMap<Key<'a>, Estimate>,
    /// The differences of the A/A pairs.
    twins: HashMap<Place<'a>, Estimate>,
}

/// Pools parts by what was measured and on which machine. In the order of their first parts.
///
/// # Errors
///
/// Names the part that has no A/A pair at some place.
pub fn pools<'a>(parts: &'a [Part<'a>]) -> Result<Vec<Pool<'a>>> {
    let mut groups: Vec<(String, Vec<&'a Part<'a>>)> = Vec::new();
    for part in parts {
        let of = |key| part.header(key).unwrap_or_default();
        let key = format!("{} {} {}", of("lab"), of("cpu model"), what(part));
        match groups.iter_mut().find(|(other, _)| *other == key) {
            Some((_, group)) => group.push(part),
            None => groups.push((key, vec![part])),
        }
    }
    groups.into_iter().map(|(_, g)| Pool::of(g)).collect()
}

/// What a part measured: its experiment, and the plan but for what does not change the question.
pub fn what(part: &Part<'_>) -> String {
    let plan = part.header("plan").unwrap_or_default().split(' ');
    let plan: Vec<_> = plan
        .filter(|word| {
            !["cpu=", "rounds=", "buffers="]
                .iter()
                .any(|key| word.starts_with(key))
        })
        .collect();
    let experiment = part.header("experiment").unwrap_or_default();
    format!("{experiment} {}", plan.join(" "))
}

impl<'a> Pool<'a> {
    fn of(parts: Vec<&'a Part<'a>>) -> Result<Pool<'a>> {
        let first = parts[0];
        let title = first.header("experiment").or(first.header("plan"));
        let mut pool = Pool {
            title: title.unwrap_or("timings"),
            base: first.base()?,
            places: Vec::new(),
            candidates: Vec::new(),
            resolutions: Vec::new(),
            cells: HashMap::new(),
            times: HashMap::new(),
            twins: HashMap::new(),
            parts,
        };
        pool.gather();
        pool.estimate()?;
        Ok(pool)
    }

    /// Sorts the rows by place and candidate.
    fn gather(&mut self) {
        for (boot, part) in self.parts.iter().enumerate() {
            for cell in &part.cells {
                let (place, candidate) = (Place::of(&cell.row), cell.row.candidate);
                let here = self.cells.entry(Key { place, candidate }).or_default();
                here.push((boot, cell));
                if candidate == TWIN {
                    self.twins.entry(place).or_insert_with(|| {
                        self.places.push(place);
                        UNKNOWN
                    });
                } else if !self.candidates.contains(&candidate) {
                    self.candidates.push(candidate);
                }
            }
        }
    }

    /// Works out the times, the A/A pairs, and what can be told apart.
    fn estimate(&mut self) -> Result<()> {
        for (&key, cells) in &self.cells {
            ensure!(
                self.twins.contains_key(&key.place),
                "{}: no A/A pair at {}",
                self.parts[0].name,
                key.place
            );
            let boots: Vec<_> = cells.iter().map(|(_, cell)| cell.samples.clone()).collect();
            self.times
                .extend(Estimate::of(&boots).map(|time| (key, time)));
        }
        let mut pairs = Vec::new();
        for &place in &self.places {
            let (base, twin) = (self.key(place, self.base), self.key(place, TWIN));
            let pair = self.paired(base, twin, differences);
            let base = self.time(self.key(place, self.base));
            let (Some(pair), Some(base)) = (pair, base) else {
                anyhow::bail!("{}: no A/A pair at {place}", self.parts[0].name);
            };
            self.twins.insert(place, pair);
            pairs.push((state(&place), (base.median, pair)));
        }
        for of in distinct(&self.places, state) {
            let here = pairs.iter().filter(|(state, _)| *state == of);
            let here: Vec<_> = here.map(|(_, pair)| *pair).collect();
            self.resolutions.push((of, Resolution::of(&here)));
        }
        Ok(())
    }

    pub fn key(&self, place: Place<'a>, candidate: &'a str) -> Key<'a> {
        Key { place, candidate }
    }

    /// The time of a call, the call itself included.
    pub fn time(&self, key: Key<'a>) -> Option<Estimate> {
        self.times.get(&key).copied()
    }

    /// The cores' clocks in MHz, of each boot; none if one does not say.
    pub fn core_mhz(&self) -> Option<Vec<f64>> {
        self.parts.iter().map(|part| part.core_mhz()).collect()
    }

    /// The time of a call in thousandths of a cycle of the core; none if its clock is not known, or
    /// if the copy waits for memory that runs by another.
    pub fn cycles(&self, key: Key<'a>) -> Option<Estimate> {
        if !matches!(key.place.cache, "hot" | "l2-src") {
            return None;
        }
        let clocks = self.core_mhz()?;
        let boots: Vec<Vec<i64>> = self
            .cells
            .get(&key)?
            .iter()
            .map(|(boot, cell)| {
                let scaled = |&ps: &i64| (ps as f64 * clocks[*boot] / 1000.0).round() as i64;
                cell.samples.iter().map(scaled).collect()
            })
            .collect();
        Estimate::of(&boots)
    }

    /// The samples of each boot.
    pub fn samples(&self, key: Key<'a>) -> Vec<&'a [i64]> {
        let cells = self.cells.get(&key).map(Vec::as_slice).unwrap_or_default();
        cells.iter().map(|(_, cell)| &cell.samples[..]).collect()
    }

    /// Whether it was timed with interrupts on, since one call takes longer than a window may.
    pub fn irqs_on(&self, key: Key<'a>) -> bool {
        let cells = self.cells.get(&key).map(Vec::as_slice).unwrap_or_default();
        cells.iter().any(|(_, cell)| cell.row.irqs_on)
    }

    /// What the pairs of two rows of the same rounds differ by, by some measure.
    fn paired(
        &self,
        before: Key<'a>,
        after: Key<'a>,
        by: fn(&[i64], &[i64]) -> Vec<i64>,
    ) -> Option<Estimate> {
        let (before, after) = (self.cells.get(&before)?, self.cells.get(&after)?);
        let pair = |(boot, one): &(usize, &Cell<'a>)| {
            let (_, other) = after.iter().find(|(of, _)| of == boot)?;
            Some(by(&one.samples, &other.samples))
        };
        let boots: Vec<_> = before.iter().filter_map(pair).collect();
        Estimate::of(&boots)
    }

    /// What the second of two rows costs against the first; they may be of different masks.
    pub fn difference(&self, before: Key<'a>, after: Key<'a>) -> Option<Difference> {
        let here = self.resolution_at(before.place);
        Some(Difference {
            before: self.time(before)?,
            after: self.time(after)?,
            change: self.paired(before, after, differences)?,
            relative: self.paired(before, after, relative)?,
            resolution: here.max(self.resolution_at(after.place)),
        })
    }

    /// What can be told apart at a place, in picoseconds.
    pub fn resolution_at(&self, place: Place<'a>) -> i64 {
        let time = self.time(self.key(place, self.base));
        let time = time.map_or(0, |time| time.median);
        let own = self.twins.get(&place).map_or(0, Estimate::blur);
        let mut all = self.resolutions.iter();
        let of_state = all.find(|(of, _)| *of == state(&place));
        own.max(of_state.map_or(0, |(_, resolution)| resolution.at(time)))
    }

    /// At how many places the A/A pair differs by less than [`NEAR_PS`] or [`NEAR_PART`].
    pub fn near(&self) -> usize {
        let near = |place: &&Place<'a>| {
            let time = self.time(self.key(**place, self.base));
            let time = time.map_or(0, |time| time.median) as f64;
            let pair = self.twins.get(place).map_or(0, |pair| pair.median.abs());
            pair < NEAR_PS.max((NEAR_PART * time) as i64)
        };
        self.places.iter().filter(near).count()
    }

    /// The rows of a boot have so many samples each.
    pub fn rounds(&self) -> u64 {
        self.parts[0]
            .cells
            .first()
            .map_or(0, |cell| cell.row.rounds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::parse::parts;
    use crate::record::synthetic::Synthetic;
    use crate::stats::estimate::Significance;

    fn verdict(synthetic: &Synthetic, len: u64) -> Significance {
        let files = [synthetic.file()];
        let parts = parts(&files).unwrap();
        let pools = pools(&parts).unwrap();
        let pool = &pools[0];
        let place = *pool.places.iter().find(|place| place.len == len).unwrap();
        let key = |candidate| pool.key(place, candidate);
        let difference = pool.difference(key("orig"), key("new")).unwrap();
        difference.verdict()
    }

    #[test]
    fn a_gain_counts_only_if_it_is_larger_than_what_the_twins_differ_by() {
        let lengths: Vec<u64> = (0..40).map(|i| 16 * i).collect();
        let plain = Synthetic::lengths(&lengths);
        // Candidates that do not differ.
        let same = plain.clone().candidate("new", |time| time);
        assert_eq!(verdict(&same, 64), Significance::NotResolved);
        let faster = plain.clone().candidate("new", |time| time * 0.9);
        assert_eq!(verdict(&faster, 64), Significance::Faster);
        // The same gain beside twins that differ by as much.
        let blurred = faster.clone().twin(|time| time * 1.15);
        assert_eq!(verdict(&blurred, 64), Significance::NotResolved);
        // One pair that differs counts at its own place.
        let odd = faster.twin_at(64, |time| time * 1.15);
        assert_eq!(verdict(&odd, 64), Significance::NotResolved);
        assert_eq!(verdict(&odd, 80), Significance::Faster);
        let slower = plain.candidate("new", |time| time * 1.1);
        assert_eq!(verdict(&slower, 64), Significance::Slower);
    }

    #[test]
    fn noise_of_cold_memory_is_its_own() {
        let mut synthetic = Synthetic::lengths(&[64, 128, 256]).base(|row| match row.cache {
            "hot" => 10.0,
            _ => 100.0,
        });
        synthetic.caches = vec!["hot", "cold-src"];
        let synthetic = synthetic.model("aa", |row| if row.cache == "hot" { 10.0 } else { 130.0 });
        let files = [synthetic.file()];
        let parts = parts(&files).unwrap();
        let pools = pools(&parts).unwrap();
        let (hot, cold) = (pools[0].resolutions[0], pools[0].resolutions[1]);
        assert_eq!((hot.0, cold.0), (("kernel", "hot"), ("kernel", "cold-src")));
        assert!(hot.1.ps < 100 && cold.1.ps > 20_000, "{hot:?} {cold:?}");
    }

    #[test]
    fn boots_that_contradict_each_other_resolve_nothing() {
        let one = Synthetic::lengths(&[64, 128]).candidate("new", |time| time * 0.9);
        let other = Synthetic::lengths(&[64, 128]).candidate("new", |time| time * 1.1);
        let mut file = one.file();
        file.text += &one.text();
        file.text += &other.text();
        let files = [file];
        let parts = parts(&files).unwrap();
        let pools = pools(&parts).unwrap();
        assert_eq!((pools.len(), pools[0].parts.len()), (1, 3));
        let place = pools[0].places[0];
        let key = |candidate| pools[0].key(place, candidate);
        let difference = pools[0].difference(key("orig"), key("new")).unwrap();
        assert_eq!(difference.verdict(), Significance::NotResolved);
    }

    #[test]
    fn other_plans_are_other_pools() {
        let mut file = Synthetic::lengths(&[64]).file();
        file.text += &Synthetic::lengths(&[64, 65]).text();
        file.text += &Synthetic::lengths(&[64]).text().replace(" cpu=1", " cpu=0");
        let files = [file];
        let parts = parts(&files).unwrap();
        let pools = pools(&parts).unwrap();
        let boots: Vec<_> = pools.iter().map(|pool| pool.parts.len()).collect();
        assert_eq!(boots, [2, 1]);
    }

    #[test]
    fn twins_that_agree() {
        let files = [Synthetic::lengths(&[64, 128])
            .twin_at(128, |t| t * 1.1)
            .file()];
        let parts = parts(&files).unwrap();
        let pools = pools(&parts).unwrap();
        assert_eq!((pools[0].near(), pools[0].places.len()), (1, 2));
        assert_eq!(pools[0].rounds(), 31);
    }
}

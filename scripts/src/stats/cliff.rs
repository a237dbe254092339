// SPDX-License-Identifier: GPL-2.0-only

//! Cliffs: cells that cost a multiple of what those beside them do.

use crate::record::parse::Place;
use crate::stats::dataset::{Key, Pool};

/// A cell is a cliff if it takes so many times what is expected.
const STEEP: i64 = 3;
/// So many lengths to either side say what is to be expected of one.
const NEAR: usize = 3;

/// What varies along a line of cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coordinate {
    Len,
    Src,
    Dst,
}

impl Coordinate {
    pub fn of(self, place: &Place<'_>) -> u64 {
        match self {
            Coordinate::Len => place.len,
            Coordinate::Src => place.src,
            Coordinate::Dst => place.dst,
        }
    }

    pub fn set<'a>(self, place: &Place<'a>, value: u64) -> Place<'a> {
        let mut place = *place;
        match self {
            Coordinate::Len => place.len = value,
            Coordinate::Src => place.src = value,
            Coordinate::Dst => place.dst = value,
        }
        place
    }

    pub fn word(self) -> &'static str {
        match self {
            Coordinate::Len => "len",
            Coordinate::Src => "src",
            Coordinate::Dst => "dst",
        }
    }
}

/// One such cell.
pub struct Cliff<'a> {
    pub key: Key<'a>,
    pub axis: Coordinate,
    pub time: i64,
    pub expected: i64,
    /// What it is compared with: another candidate at the same place, or the same one beside it.
    pub against: Key<'a>,
}

impl<'a> Cliff<'a> {
    pub fn ratio(&self) -> f64 {
        self.time as f64 / self.expected.max(1) as f64
    }

    /// The candidate that does better there; none if it is the cells beside that do.
    pub fn rival(&self) -> Option<&'a str> {
        let rival = self.against.candidate;
        (rival != self.key.candidate).then_some(rival)
    }

    /// What cliffs that are told in one sentence have in common.
    pub fn family(&self) -> (Place<'a>, &'a str, Option<&'a str>, Coordinate) {
        let place = Place {
            mask: "",
            ..self.axis.set(&self.key.place, 0)
        };
        // Offsets are many, so those that are bad together go together, at all lengths if it is
        // the offset that matters.
        let place = Place {
            src: 0,
            dst: 0,
            ..place
        };
        let place = match self.rival() {
            Some(_) => place,
            None => Coordinate::Len.set(&place, 0),
        };
        (place, self.key.candidate, self.rival(), self.axis)
    }
}

/// All cliffs of a pool.
pub fn cliffs<'a>(pool: &Pool<'a>) -> Vec<Cliff<'a>> {
    let mut cliffs = Vec::new();
    for &candidate in &pool.candidates {
        for axis in [Coordinate::Len, Coordinate::Src, Coordinate::Dst] {
            for line in lines(pool, axis) {
                along(pool, candidate, axis, &line, &mut cliffs);
            }
        }
        rivals(pool, candidate, &mut cliffs);
    }
    cliffs
}

/// The places that differ along an axis alone, sorted by it.
fn lines<'a>(pool: &Pool<'a>, axis: Coordinate) -> Vec<Vec<Place<'a>>> {
    let mut all: Vec<(Place<'a>, Vec<Place<'a>>)> = Vec::new();
    let mut index = std::collections::HashMap::new();
    for place in &pool.places {
        let common = axis.set(place, 0);
        let at = *index.entry(common).or_insert(all.len());
        if at == all.len() {
            all.push((common, Vec::new()));
        }
        all[at].1.push(*place);
    }
    let mut lines: Vec<_> = all.into_iter().map(|(_, line)| line).collect();
    for line in &mut lines {
        line.sort_by_key(|place| axis.of(place));
    }
    lines.retain(|line| line.len() >= 2);
    lines
}

/// Finds the cliffs of a candidate along a line.
fn along<'a>(
    pool: &Pool<'a>,
    candidate: &'a str,
    axis: Coordinate,
    line: &[Place<'a>],
    cliffs: &mut Vec<Cliff<'a>>,
) {
    let times: Vec<_> = line
        .iter()
        .filter_map(|&place| Some((place, pool.time(pool.key(place, candidate))?.median)))
        .collect();
    let middle = median(times.iter().map(|(_, time)| *time).collect());
    for (i, &(place, time)) in times.iter().enumerate() {
        let expected = match axis {
            Coordinate::Len => beside(&times, i),
            Coordinate::Src | Coordinate::Dst => middle,
        };
        let Some(expected) = expected.filter(|&expected| steep(pool, place, time, expected)) else {
            continue;
        };
        // The nearest that is as expected shows the difference best.
        let usual = |&&(_, other): &&(Place<'a>, i64)| other < time / 2;
        let distance = |(other, _): &&(Place<'a>, i64)| axis.of(other).abs_diff(axis.of(&place));
        let Some(&(other, _)) = times.iter().filter(usual).min_by_key(distance) else {
            continue;
        };
        cliffs.push(Cliff {
            key: pool.key(place, candidate),
            axis,
            time,
            expected,
            against: pool.key(other, candidate),
        });
    }
}

/// What the lengths beside one let expect of it: at most as much more than a shorter one takes as
/// it is longer, and no more than a longer one takes. The less of both, each the median of up to
/// three.
fn beside(times: &[(Place<'_>, i64)], at: usize) -> Option<i64> {
    let len = times[at].0.len;
    let shorter = times[at.saturating_sub(NEAR)..at]
        .iter()
        .map(|(place, time)| {
            let growth = len.max(1) as f64 / place.len.max(1) as f64;
            (*time as f64 * growth) as i64
        });
    let longer = times.iter().skip(at + 1).take(NEAR).map(|(_, time)| *time);
    let (shorter, longer) = (median(shorter.collect()), median(longer.collect()));
    shorter.into_iter().chain(longer).min()
}

/// Finds where a candidate is far behind the best one.
fn rivals<'a>(pool: &Pool<'a>, candidate: &'a str, cliffs: &mut Vec<Cliff<'a>>) {
    for &place in &pool.places {
        let time = |candidate| Some(pool.time(pool.key(place, candidate))?.median);
        let best = pool.candidates.iter().filter_map(|&c| Some((time(c)?, c)));
        let (Some(own), Some((expected, rival))) = (time(candidate), best.min()) else {
            continue;
        };
        if steep(pool, place, own, expected) {
            cliffs.push(Cliff {
                key: pool.key(place, candidate),
                axis: Coordinate::Len,
                time: own,
                expected,
                against: pool.key(place, rival),
            });
        }
    }
}

fn steep<'a>(pool: &Pool<'a>, place: Place<'a>, time: i64, expected: i64) -> bool {
    time >= STEEP * expected && time - expected > pool.resolution_at(place)
}

fn median(mut times: Vec<i64>) -> Option<i64> {
    times.sort_unstable();
    times.get(times.len().saturating_sub(1) / 2).copied()
}

// SPDX-License-Identifier: GPL-2.0-only

//! What a copy costs to start, and how fast it is from then on: time = start + length / rate.

use std::fmt;

use crate::record::parse::Place;
use crate::stats::comparison::{group, title, Side};
use crate::stats::dataset::Pool;
use crate::stats::format::distinct;

/// How often the fit is made again from lengths and rounds drawn anew.
const DRAWS: usize = 200;
/// With fewer lengths there is nothing to fit.
const LENGTHS: usize = 5;
/// The middle of the distances from the line, as a part of the time, from which on the times are
/// said not to lie on one.
const OFF: f64 = 0.05;

/// A value and the interval in which it lies with 95 % confidence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ranged {
    pub value: f64,
    pub low: f64,
    pub high: f64,
}

impl fmt::Display for Ranged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.2} ({:.2} to {:.2})", self.value, self.low, self.high)
    }
}

/// A line through the times of one side over the length.
#[derive(Clone, Copy, Debug)]
pub struct Fit<'a> {
    pub side: Side<'a>,
    /// What all its places have in common.
    pub group: Place<'a>,
    pub shortest: u64,
    pub longest: u64,
    /// Nanoseconds at length 0, the call included.
    pub start: Ranged,
    /// Bytes per nanosecond.
    pub rate: Ranged,
    /// The middle of the distances of the times from the line, as a part of the time.
    pub off: f64,
}

/// A line: picoseconds at length 0, and per byte.
#[derive(Clone, Copy)]
struct Trend {
    start: f64,
    slope: f64,
}

type Sample = (f64, f64);

/// Theil's and Sen's line: the middle of the slopes between any two points, and the middle of what
/// is left. Outliers do not move it. None if fewer than two lengths differ.
fn line(points: &[Sample]) -> Option<Trend> {
    let mut slopes = Vec::new();
    for (i, (x, y)) in points.iter().enumerate() {
        let others = points[..i].iter().filter(|(other, _)| other != x);
        slopes.extend(others.map(|(other, at)| (y - at) / (x - other)));
    }
    let slope = middle(slopes)?;
    let start = middle(points.iter().map(|(x, y)| y - slope * x).collect())?;
    Some(Trend { start, slope })
}

fn middle(mut values: Vec<f64>) -> Option<f64> {
    let at = values.len().checked_sub(1)? / 2;
    let (_, middle, _) = values.select_nth_unstable_by(at, f64::total_cmp);
    Some(*middle)
}

/// The same numbers at every run.
struct Dice(u64);

impl Dice {
    /// One below `sides`.
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        ((self.0 >> 33) % sides.max(1) as u64) as usize
    }
}

/// A line for each side and group of places that has enough lengths.
pub fn fits<'a>(pool: &Pool<'a>) -> Vec<Fit<'a>> {
    let mut fits = Vec::new();
    let sort = |place: &Place<'a>| Place { len: 0, ..*place };
    for sort_of in distinct(&pool.places, sort) {
        let all = pool.places.iter().copied();
        let places: Vec<_> = all.filter(|place| sort(place) == sort_of).collect();
        for &candidate in &pool.candidates {
            let mask = sort_of.mask;
            fits.extend(fit(pool, Side { candidate, mask }, &places));
        }
    }
    fits
}

/// The line of one side at places that differ in length alone.
fn fit<'a>(pool: &Pool<'a>, side: Side<'a>, places: &[Place<'a>]) -> Option<Fit<'a>> {
    let cells: Vec<(f64, Vec<i64>)> = places
        .iter()
        .map(|&place| (place.len as f64, pool.samples(side.at(place)).concat()))
        .filter(|(_, samples)| !samples.is_empty())
        .collect();
    if cells.len() < LENGTHS {
        return None;
    }
    let median = |samples: &[i64]| middle(samples.iter().map(|&ps| ps as f64).collect());
    let points: Vec<Sample> = cells
        .iter()
        .filter_map(|(len, samples)| Some((*len, median(samples)?)))
        .collect();
    let found = line(&points)?;
    let drawn = drawn(&cells);
    let off = points
        .iter()
        .map(|(x, y)| (y - found.start - found.slope * x).abs() / y.max(1.0));
    let starts = drawn.iter().map(|line| line.start / 1000.0).collect();
    let rates = drawn.iter().map(|line| 1000.0 / line.slope).collect();
    let lengths = || places.iter().map(|place| place.len);
    Some(Fit {
        side,
        group: Place {
            src: places[0].src,
            dst: places[0].dst,
            ..group(&places[0])
        },
        shortest: lengths().min()?,
        longest: lengths().max()?,
        start: ranged(found.start / 1000.0, starts),
        rate: ranged(1000.0 / found.slope, rates),
        off: middle(off.collect())?,
    })
}

/// Lines through lengths drawn with replacement, each with the median of as many samples drawn so.
fn drawn(cells: &[(f64, Vec<i64>)]) -> Vec<Trend> {
    let mut dice = Dice(1);
    let mut lines = Vec::new();
    for _ in 0..DRAWS {
        let points: Vec<Sample> = (0..cells.len())
            .filter_map(|_| {
                let (len, samples) = &cells[dice.roll(cells.len())];
                let count = samples.len();
                let again = (0..count).map(|_| samples[dice.roll(count)] as f64);
                Some((*len, middle(again.collect())?))
            })
            .collect();
        lines.extend(line(&points));
    }
    lines
}

/// A value with what 95 % of those drawn lie between.
fn ranged(value: f64, mut drawn: Vec<f64>) -> Ranged {
    drawn.sort_by(f64::total_cmp);
    let at = |part: f64| {
        let i = (part * drawn.len().saturating_sub(1) as f64).round() as usize;
        drawn.get(i).copied().unwrap_or(value)
    };
    Ranged {
        value,
        low: at(0.025).min(value),
        high: at(0.975).max(value),
    }
}

/// The core's clock in MHz: of several boots, the middle one.
fn core_mhz(pool: &Pool<'_>) -> Option<f64> {
    let mut clocks = pool.core_mhz()?;
    clocks.sort_by(f64::total_cmp);
    clocks.get(clocks.len() / 2).copied()
}

/// Each fit in a sentence.
pub fn sentences(pool: &Pool<'_>) -> Vec<String> {
    let mhz = core_mhz(pool);
    let said = fits(pool).into_iter().map(|fit| {
        let mut text = format!(
            "{} {} {}, {} to {} bytes: starts in {} ns, then {} bytes per ns",
            title(&fit.group),
            fit.side.candidate,
            fit.side.mask,
            fit.shortest,
            fit.longest,
            fit.start,
            fit.rate
        );
        if let Some(mhz) = mhz {
            let per_cycle = fit.rate.value * 1000.0 / mhz;
            text += &format!(", that is {per_cycle:.2} bytes per cycle of the core");
        }
        if fit.off > OFF {
            text += &format!(
                "; but the times do not lie on a line: half of them are off it by {:.0} % or more",
                100.0 * fit.off
            );
        }
        text
    });
    said.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::parse::parts;
    use crate::record::synthetic::Synthetic;
    use crate::stats::dataset::pools;

    #[test]
    fn a_planted_line_is_found() {
        let lengths: Vec<u64> = (2..40).map(|i| 128 * i).collect();
        let mut synthetic = Synthetic::lengths(&lengths).base(|row| match (row.mask, row.len) {
            // An outlier.
            ("e0f1", 1280) => 500.0,
            ("e0f1", len) => 31.0 + len as f64 / 40.0,
            (_, len) => 6.0 + len as f64 / 12.0,
        });
        synthetic.masks = vec!["e0f0", "e0f1"];
        let files = [synthetic.file()];
        let parts = parts(&files).unwrap();
        let pools = pools(&parts).unwrap();
        let found = fits(&pools[0]);
        assert_eq!(found.len(), 2);
        for (fit, start, rate) in [(found[0], 6.0, 12.0), (found[1], 31.0, 40.0)] {
            assert!((fit.start.low..=fit.start.high).contains(&start), "{fit:?}");
            assert!((fit.rate.low..=fit.rate.high).contains(&rate), "{fit:?}");
            assert!(fit.start.high - fit.start.low < 1.0, "{fit:?}");
            assert!(fit.rate.high / fit.rate.low < 1.01, "{fit:?}");
            assert!(fit.off < 0.01);
        }
        let said = sentences(&pools[0]);
        assert!(
            said[1].contains("memcpy orig e0f1, 256 to 4992 bytes"),
            "{said:?}"
        );
        assert!(said[0].contains("bytes per cycle of the core"), "{said:?}");
        assert!(!said[0].contains("do not lie"), "{said:?}");
    }

    #[test]
    fn what_is_no_line_is_said_not_to_be() {
        let lengths: Vec<u64> = (1..20).map(|i| 128 * i).collect();
        let bent = Synthetic::lengths(&lengths).base(|row| (row.len as f64).powi(2) / 1000.0 + 5.0);
        let files = [bent.file()];
        let parts = parts(&files).unwrap();
        let said = sentences(&pools(&parts).unwrap()[0]);
        assert!(said[0].contains("do not lie on a line"), "{said:?}");
    }

    #[test]
    fn too_few_lengths_have_no_line() {
        let files = [Synthetic::lengths(&[1, 2, 3, 4]).file()];
        let parts = parts(&files).unwrap();
        assert!(sentences(&pools(&parts).unwrap()[0]).is_empty());
    }
}

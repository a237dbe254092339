// SPDX-License-Identifier: GPL-2.0-only

//! What samples say of a time, and of a difference of two. All times are picoseconds.

use repmov_core::stats::Summary;

/// A median, and between what it lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    pub median: i64,
    /// With 95 % confidence; none of fewer than six samples.
    pub interval: Option<(i64, i64)>,
}

impl Estimate {
    /// From the samples of each boot. The interval is that of all samples together, widened to
    /// hold the median of each boot: boots differ by more than their rounds do (where the module
    /// was loaded, which pages it got), and a few boots say too little of that for a narrower one.
    /// None if there are no samples.
    pub fn of(boots: &[Vec<i64>]) -> Option<Estimate> {
        let all = summary(boots.concat())?;
        let medians = boots.iter().filter_map(|boot| summary(boot.clone()));
        let interval = all.interval.map(|interval| {
            medians.fold(interval, |(low, high), boot| {
                (low.min(boot.median), high.max(boot.median))
            })
        });
        Some(Estimate {
            median: all.median,
            interval,
        })
    }

    /// Half the interval's width; none without an interval.
    fn half_width(&self) -> Option<i64> {
        self.interval.map(|(low, high)| (high - low) / 2)
    }

    /// How large a difference this one, of two things that do not differ, shows not to be
    /// telling: its median, or half its interval if that is more.
    pub fn blur(&self) -> i64 {
        self.median.abs().max(self.half_width().unwrap_or(0))
    }
}

/// Sorted first, which spares the sort of [`Summary`], made for the kernel, most of its work.
fn summary(mut samples: Vec<i64>) -> Option<Summary> {
    samples.sort_unstable();
    Summary::of(&mut samples)
}

/// The paired differences of two cells of one place and boot: in every round the second's sample
/// less the first's.
pub fn differences(before: &[i64], after: &[i64]) -> Vec<i64> {
    let pairs = before.iter().zip(after);
    pairs.map(|(before, after)| after - before).collect()
}

/// The same, each in millionths of the first's sample: what does not change if a boot is slower than
/// another.
pub fn relative(before: &[i64], after: &[i64]) -> Vec<i64> {
    let pairs = before.iter().zip(after);
    let part = |(before, after): (&i64, &i64)| {
        let part = 1e6 * (after - before) as f64 / (*before).max(1) as f64;
        part.round() as i64
    };
    pairs.map(part).collect()
}

/// What a record can tell apart.
///
/// Of the A/A pairs at all places, the half with the shorter times says what it is absolutely, the
/// half with the longer ones what it is relatively: so 95 % of the pairs of either half differ by
/// less than the larger of the two.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Resolution {
    pub ps: i64,
    /// As a fraction of the base's time.
    pub part: f64,
}

impl Resolution {
    /// From each place's base time and the difference of its A/A pair.
    pub fn of(pairs: &[(i64, Estimate)]) -> Resolution {
        let mut times: Vec<_> = pairs.iter().map(|(time, _)| *time).collect();
        times.sort_unstable();
        let Some(&middle) = times.get(times.len().saturating_sub(1) / 2) else {
            return Resolution::default();
        };
        let short = pairs.iter().filter(|(time, _)| *time <= middle);
        let long = pairs.iter().filter(|(time, _)| *time >= middle);
        let ps = short.map(|(_, pair)| pair.blur() as f64).collect();
        let part = long.map(|(time, pair)| pair.blur() as f64 / (*time).max(1) as f64);
        Resolution {
            ps: percentile(ps, 0.95).ceil() as i64,
            part: percentile(part.collect(), 0.95),
        }
    }

    /// In picoseconds, at a place where the base takes so long.
    pub fn at(&self, time: i64) -> i64 {
        self.ps.max((self.part * time as f64).ceil() as i64)
    }
}

/// The value that so large a part of all does not exceed; nought of none.
pub fn percentile(mut values: Vec<f64>, part: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let at = (part * values.len() as f64).ceil() as usize;
    values.get(at.saturating_sub(1)).copied().unwrap_or(0.0)
}

/// What can be said of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Significance {
    Faster,
    Slower,
    /// The interval holds nought, or the bench cannot tell so little apart.
    NotResolved,
}

/// What becomes of a time.
#[derive(Clone, Copy, Debug)]
pub struct Difference {
    pub before: Estimate,
    pub after: Estimate,
    /// Of the paired differences: negative is faster.
    pub change: Estimate,
    /// The same in millionths of the time before, pair by pair.
    pub relative: Estimate,
    /// A change that is not larger than this says nothing.
    pub resolution: i64,
}

impl Difference {
    pub fn verdict(&self) -> Significance {
        let large = self.change.median.abs() > self.resolution;
        match self.change.interval {
            Some((_, high)) if large && high < 0 => Significance::Faster,
            Some((low, _)) if large && low > 0 => Significance::Slower,
            _ => Significance::NotResolved,
        }
    }

    /// The change and its interval in percent; without an interval it is that of a point.
    pub fn percent(&self) -> (f64, (f64, f64)) {
        let Estimate { median, interval } = self.relative;
        let (low, high) = interval.unwrap_or((median, median));
        let percent = |millionths: i64| millionths as f64 / 1e4;
        (percent(median), (percent(low), percent(high)))
    }

    /// What says nothing, in percent of the time before.
    pub fn blur(&self) -> f64 {
        100.0 * self.resolution as f64 / self.before.median.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(median: i64, half: i64) -> Estimate {
        let interval = Some((median - half, median + half));
        Estimate { median, interval }
    }

    #[test]
    fn intervals_hold_every_boot() {
        let boot = |middle: i64| (middle - 10..=middle + 10).collect::<Vec<i64>>();
        let one = Estimate::of(&[boot(100)]).unwrap();
        assert_eq!(one.median, 100);
        assert_eq!(one.interval, Some((95, 105)));
        let three = Estimate::of(&[boot(100), boot(100), boot(140)]).unwrap();
        assert_eq!(three.interval.unwrap().1, 140);
        assert_eq!(Estimate::of(&[]), None);
        assert_eq!(Estimate::of(&[vec![1, 2, 3]]).unwrap().interval, None);
    }

    #[test]
    fn resolution_is_absolute_for_short_and_relative_for_long() {
        let mut pairs: Vec<_> = (0..50).map(|_| (5_000, pair(20, 10))).collect();
        pairs.extend((0..50).map(|_| (1_000_000, pair(-5_000, 10))));
        let resolution = Resolution::of(&pairs);
        assert_eq!(
            resolution,
            Resolution {
                ps: 20,
                part: 0.005
            }
        );
        assert_eq!(resolution.at(1_000), 20);
        assert_eq!(resolution.at(100_000), 500);
        // An interval wider than what its middle says counts.
        assert_eq!(Resolution::of(&[(100, pair(1, 30))]).ps, 30);
        assert_eq!(Resolution::of(&[]).at(7), 0);
    }

    #[test]
    fn a_rare_odd_pair_does_not_set_the_resolution_but_many_do() {
        let mut pairs: Vec<_> = (0..200).map(|_| (5_000, pair(20, 10))).collect();
        pairs[7].1 = pair(900, 1);
        assert_eq!(Resolution::of(&pairs).ps, 20);
        for odd in &mut pairs[..20] {
            odd.1 = pair(900, 1);
        }
        assert_eq!(Resolution::of(&pairs).ps, 900);
    }

    #[test]
    fn a_slower_boot_does_not_widen_what_is_relative() {
        let boot = |slow: i64| -> (Vec<i64>, Vec<i64>) {
            (0..20)
                .map(|i| (slow * (1000 + i), slow * (500 + i / 2)))
                .unzip()
        };
        let (one, two) = (boot(1), boot(2));
        let parts = [relative(&one.0, &one.1), relative(&two.0, &two.1)];
        let (low, high) = Estimate::of(&parts).unwrap().interval.unwrap();
        assert!(low >= -501_000 && high <= -499_000, "{low} {high}");
        let parts = [differences(&one.0, &one.1), differences(&two.0, &two.1)];
        let (low, high) = Estimate::of(&parts).unwrap().interval.unwrap();
        assert!(high - low > 400);
    }

    #[test]
    fn verdicts() {
        let verdict = |change: Estimate, resolution: i64| {
            let (before, after) = (pair(1000, 1), pair(1000 + change.median, 1));
            Difference {
                before,
                after,
                change,
                relative: change,
                resolution,
            }
            .verdict()
        };
        assert_eq!(verdict(pair(-100, 20), 50), Significance::Faster);
        assert_eq!(verdict(pair(100, 20), 50), Significance::Slower);
        assert_eq!(verdict(pair(-100, 20), 100), Significance::NotResolved);
        assert_eq!(verdict(pair(-100, 101), 50), Significance::NotResolved);
        let unsure = Estimate {
            median: -100,
            interval: None,
        };
        assert_eq!(verdict(unsure, 0), Significance::NotResolved);
    }
}

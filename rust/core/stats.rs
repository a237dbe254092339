// SPDX-License-Identifier: GPL-2.0-only

//! Robust statistics over integer samples.

/// What a set of samples says, in the samples' unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// The least.
    pub min: i64,
    /// The middle one; of an even number the lower of the two.
    pub median: i64,
    /// The median absolute deviation from the median.
    pub mad: i64,
    /// Between these the median lies with 95 % confidence, whatever the distribution; none of
    /// fewer than six samples.
    pub interval: Option<(i64, i64)>,
}

/// Sorts by insertion: there are at most some thousand samples, and the library's sorts end in
/// panics that the kernel's objtool does not know as such.
fn sort(samples: &mut [i64]) {
    for end in 1..samples.len() {
        let sample = samples[end];
        let mut at = end;
        while at > 0 && samples[at - 1] > sample {
            samples[at] = samples[at - 1];
            at -= 1;
        }
        samples[at] = sample;
    }
}

fn median(samples: &mut [i64]) -> i64 {
    sort(samples);
    samples[(samples.len() - 1) / 2]
}

/// How many of `count` sorted samples are to be left out at either end, so that what remains
/// spans the interval of the median: of that many tosses of a coin fewer heads come up in less
/// than 2.5 % of all cases. By the normal approximation, rounded to the safe side, which agrees
/// with the exact numbers up to 1001 or is wider by one.
fn left_out(count: usize) -> Option<usize> {
    // 1.96 sqrt(count), in hundredths.
    let width = (38416 * count as u64).isqrt() + 1;
    let kept_from = (100 * (count as u64 + 1)).checked_sub(width)? / 200;
    (kept_from as usize).checked_sub(1)
}

impl Summary {
    /// Summarises samples, which are used up; [`None`] if there are none.
    pub fn of(samples: &mut [i64]) -> Option<Summary> {
        if samples.is_empty() {
            return None;
        }
        let middle = median(samples);
        let min = samples[0];
        let interval =
            left_out(samples.len()).map(|out| (samples[out], samples[samples.len() - 1 - out]));
        for sample in samples.iter_mut() {
            *sample = sample.abs_diff(middle) as i64;
        }
        Some(Summary {
            min,
            median: middle,
            mad: median(samples),
            interval,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorting() {
        let mut state = 1_u64;
        let mut ours: Vec<i64> = core::iter::repeat_with(|| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1);
            state as i64 >> 56
        })
        .take(1001)
        .collect();
        let mut theirs = ours.clone();
        sort(&mut ours);
        theirs.sort_unstable();
        assert_eq!(ours, theirs);
    }

    #[test]
    fn summaries() {
        assert_eq!(Summary::of(&mut []), None);
        let one = Summary::of(&mut [7]).unwrap();
        assert_eq!((one.min, one.median, one.mad), (7, 7, 0));
        // An outlier moves neither the median nor the deviation.
        let five = Summary::of(&mut [12, 10, 900, 11, -9]).unwrap();
        assert_eq!((five.min, five.median, five.mad), (-9, 11, 1));
        assert_eq!(five.interval, None);
        let even = Summary::of(&mut [4, 1, 2, 3]).unwrap();
        assert_eq!((even.min, even.median, even.mad), (1, 2, 1));
        let six = Summary::of(&mut [6, 5, 4, 3, 2, 1]).unwrap();
        assert_eq!(six.interval, Some((1, 6)));
    }

    /// The interval holds the median in 95 % of all cases or more, and is not much wider than it
    /// must be.
    #[test]
    fn intervals_are_exact_enough() {
        for count in 6..=1001_usize {
            let out = left_out(count).unwrap();
            // P(fewer than `heads` heads in `count` tosses).
            let below = |heads: usize| {
                let mut term = 0.5_f64.powi(count as i32);
                let mut sum = 0.0;
                for i in 0..heads {
                    sum += term;
                    term *= (count - i) as f64 / (i + 1) as f64;
                }
                sum
            };
            assert!(2.0 * below(out + 1) <= 0.05, "{count}: {out}");
            assert!(2.0 * below(out + 3) > 0.05, "{count}: {out}");
        }
        assert_eq!(left_out(5), None);
    }
}

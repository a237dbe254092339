// SPDX-License-Identifier: GPL-2.0-only

//! Robust statistics over integer samples.

/// Least, median and spread of a set of samples, in the samples' unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// The least.
    pub min: u64,
    /// The middle one; of an even number the lower of the two.
    pub median: u64,
    /// The median absolute deviation from the median.
    pub mad: u64,
}

/// Sorts by insertion: there are at most some hundred samples, and the library's sorts end in
/// panics that the kernel's objtool does not know as such.
fn sort(samples: &mut [u64]) {
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

fn median(samples: &mut [u64]) -> u64 {
    sort(samples);
    samples[(samples.len() - 1) / 2]
}

impl Summary {
    /// Summarises samples, which are used up; [`None`] if there are none.
    pub fn of(samples: &mut [u64]) -> Option<Summary> {
        if samples.is_empty() {
            return None;
        }
        let middle = median(samples);
        let min = samples[0];
        for sample in samples.iter_mut() {
            *sample = sample.abs_diff(middle);
        }
        Some(Summary {
            min,
            median: middle,
            mad: median(samples),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorting() {
        let mut state = 1_u64;
        let mut ours: Vec<u64> = core::iter::repeat_with(|| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1);
            state >> 56
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
        let five = Summary::of(&mut [12, 10, 900, 11, 9]).unwrap();
        assert_eq!((five.min, five.median, five.mad), (9, 11, 1));
        let even = Summary::of(&mut [4, 1, 2, 3]).unwrap();
        assert_eq!((even.min, even.median, even.mad), (1, 2, 1));
    }
}

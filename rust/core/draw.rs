// SPDX-License-Identifier: GPL-2.0-only

//! Lengths drawn at random, so that no branch predictor knows what comes.

use super::ranges::Ranges;

/// Draws numbers of a list: all alike, or each item of it by its weight.
pub struct Lengths<'a> {
    of: &'a Ranges,
    weights: &'a Ranges,
    total: u64,
    state: u64,
}

impl<'a> Lengths<'a> {
    /// Draws from a list, with a weight for each of its items or none at all. The same seed gives
    /// the same numbers.
    pub fn new(of: &'a Ranges, weights: &'a Ranges, seed: u64) -> Lengths<'a> {
        let total = match weights.count() {
            0 => of.count(),
            _ => weights.iter().fold(0, u64::saturating_add),
        };
        Lengths {
            of,
            weights,
            total,
            // Any state but nought; seeds that are close must not begin alike.
            state: seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
        }
    }

    /// A number below `end`, by Marsaglia's xorshift (13, 7, 17) and a multiplication.
    fn below(&mut self, end: u64) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        let mixed = u128::from(self.state.wrapping_mul(0x2545_f491_4f6c_dd1d));
        ((mixed * u128::from(end)) >> 64) as u64
    }

    /// The next one.
    pub fn draw(&mut self) -> u64 {
        let mut left = self.below(self.total);
        let mut weights = self.weights.iter();
        for item in self.of.items() {
            let weight = match weights.next() {
                Some(weight) => weight,
                None => item.count(),
            };
            if left < weight {
                let at = self.below(item.count());
                return item.at(at);
            }
            left -= weight;
        }
        self.of.max()
    }

    /// The mean of what is drawn, rounded down.
    pub fn mean(&self) -> u64 {
        let mut weights = self.weights.iter();
        let mut sum: u128 = 0;
        for item in self.of.items() {
            let weight = weights.next().unwrap_or(item.count());
            let twice = u128::from(item.at(0) + item.at(item.count() - 1));
            sum += u128::from(weight) * twice;
        }
        // Both are far below 64 bits: lengths have 24, weights 32.
        ((sum >> 1) as u64).checked_div(self.total).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> Ranges {
        let mut ranges = Ranges::EMPTY;
        if !text.is_empty() {
            ranges.read(text).unwrap();
        }
        ranges
    }

    fn shares(of: &str, weights: &str, among: &[u64]) -> Vec<f64> {
        const DRAWN: usize = 100_000;
        let (of, weights) = (list(of), list(weights));
        let mut lengths = Lengths::new(&of, &weights, 7);
        let mut counts = vec![0.0; among.len()];
        for _ in 0..DRAWN {
            let length = lengths.draw();
            let at = among.iter().position(|&n| n == length);
            counts[at.expect("a length of the list")] += 1.0 / DRAWN as f64;
        }
        counts
    }

    fn close(got: &[f64], want: &[f64]) {
        let far = |(got, want): (&f64, &f64)| (got - want).abs() > 0.01;
        assert!(!got.iter().zip(want).any(far), "{got:?} {want:?}");
    }

    #[test]
    fn all_alike_without_weights() {
        close(&shares("0-3,8", "", &[0, 1, 2, 3, 8]), &[0.2; 5]);
    }

    #[test]
    fn items_by_their_weights() {
        let shares = shares("0-1,8,9", "2,3,5", &[0, 1, 8, 9]);
        close(&shares, &[0.1, 0.1, 0.3, 0.5]);
    }

    #[test]
    fn the_mean() {
        let (of, weights) = (list("0-10/5,100"), list("3,1"));
        assert_eq!(Lengths::new(&of, &weights, 1).mean(), 28);
        assert_eq!(Lengths::new(&of, &list(""), 1).mean(), 28);
    }

    #[test]
    fn seeds() {
        let (of, none) = (list("0-4095"), list(""));
        let first = |seed: u64| {
            let mut lengths = Lengths::new(&of, &none, seed);
            [0; 8].map(|_| lengths.draw())
        };
        assert_eq!(first(1), first(1));
        assert_ne!(first(1), first(2));
    }
}

// SPDX-License-Identifier: GPL-2.0-only

//! Numbers that look random and are the same for the same seed (SplitMix64).

pub struct Rng(u64);

impl Rng {
    /// Every part of the program draws numbers of its own.
    pub fn new(seed: u64, part: &str) -> Rng {
        let mix = |sum: u64, byte: u8| sum.wrapping_mul(0x0100_0000_01b3) ^ u64::from(byte);
        Rng(part.bytes().fold(seed, mix))
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Below a bound that is not 0.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    /// True once in so many times.
    pub fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    pub fn pick<'a, T: ?Sized>(&mut self, of: &[&'a T]) -> &'a T {
        of[self.below(of.len())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_says_it_all_and_another_says_something_else() {
        let draw = |seed, part| {
            let mut rng = Rng::new(seed, part);
            [rng.next(), rng.next()]
        };
        assert_eq!(draw(1, "a"), draw(1, "a"));
        assert_ne!(draw(1, "a"), draw(2, "a"));
        assert_ne!(draw(1, "a"), draw(1, "b"));
    }
}

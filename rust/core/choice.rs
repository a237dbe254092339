// SPDX-License-Identifier: GPL-2.0-only

//! Words of a plan that stand for one of a few things, and sets of them.

use core::{
    fmt,
    marker::PhantomData, //
};

use super::mask::Mask;
use super::ranges;
use super::refusal::{
    refuse,
    Class,
    Refusal,
    Why, //
};

/// One of a few things, each with a word for it.
pub trait Choice: Copy + PartialEq + 'static {
    /// All there are, at most eight.
    const CHOICES: &'static [Self];

    /// The word.
    fn word(self) -> &'static str;

    /// What a word stands for.
    fn from_word(word: &str) -> Option<Self> {
        Self::CHOICES.iter().copied().find(|c| c.word() == word)
    }
}

impl Choice for Mask {
    const CHOICES: &'static [Mask] = &Mask::ALL;

    fn word(self) -> &'static str {
        self.name()
    }
}

/// Whose memory a copy works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mem {
    /// Both sides are the kernel's.
    Kernel,
    /// The source is mapped by a process.
    FromUser,
    /// The destination is.
    ToUser,
}

impl Choice for Mem {
    const CHOICES: &'static [Mem] = &[Mem::Kernel, Mem::FromUser, Mem::ToUser];

    fn word(self) -> &'static str {
        match self {
            Mem::Kernel => "kernel",
            Mem::FromUser => "from-user",
            Mem::ToUser => "to-user",
        }
    }
}

/// What of a copy is in which cache when it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cache {
    /// All of it in the first level.
    Hot,
    /// The source in the second level, as one of [`L2_BYTES`] gone through in turn.
    L2Src,
    /// The source in none.
    ColdSrc,
    /// The destination in none.
    ColdDst,
}

/// The source buffer that [`Cache::L2Src`] goes through: more than any first level holds, less
/// than any second level that is still in use.
pub const L2_BYTES: u64 = 128 << 10;
/// The copies of a window that find their memory cold; it is flushed before each window.
pub const COLD_SLOTS: u64 = 64;

impl Cache {
    /// How many places the copies of a window go through, each of so many bytes.
    pub fn slots(self, stride: u64) -> u64 {
        match self {
            Cache::Hot => 1,
            Cache::L2Src => match L2_BYTES.checked_div(stride) {
                Some(slots) if slots > 1 => 1 << slots.ilog2(),
                _ => 1,
            },
            Cache::ColdSrc | Cache::ColdDst => COLD_SLOTS,
        }
    }
}

impl Choice for Cache {
    const CHOICES: &'static [Cache] = &[Cache::Hot, Cache::L2Src, Cache::ColdSrc, Cache::ColdDst];

    fn word(self) -> &'static str {
        match self {
            Cache::Hot => "hot",
            Cache::L2Src => "l2-src",
            Cache::ColdSrc => "cold-src",
            Cache::ColdDst => "cold-dst",
        }
    }
}

/// How the lengths of a plan are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Draw {
    /// A cell for each.
    Each,
    /// One cell, whose calls draw them at random.
    Random,
}

impl Choice for Draw {
    const CHOICES: &'static [Draw] = &[Draw::Each, Draw::Random];

    fn word(self) -> &'static str {
        match self {
            Draw::Each => "each",
            Draw::Random => "random",
        }
    }
}

/// Some of the things there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Set<T> {
    bits: u8,
    of: PhantomData<T>,
}

impl<T: Choice> Set<T> {
    /// None of them.
    pub const EMPTY: Set<T> = Set {
        bits: 0,
        of: PhantomData,
    };

    fn bit(of: T) -> u8 {
        let at = T::CHOICES.iter().position(|&c| c == of).unwrap_or(0);
        1 << (at & 7)
    }

    /// Those of a list of words, `all`, or `alias` for some of them.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] of a word that is not known, or given twice.
    pub fn read(key: &str, value: &str, alias: (&str, &[T])) -> Result<Set<T>, Refusal> {
        let mut set = Set::EMPTY;
        for word in value.split(',') {
            let mut add = 0;
            if word.is_empty() {
                return refuse(Class::Invalid, key, Why::List(ranges::Error::Empty));
            } else if word == "all" {
                T::CHOICES.iter().for_each(|&c| add |= Self::bit(c));
            } else if word == alias.0 {
                alias.1.iter().for_each(|&c| add |= Self::bit(c));
            } else if let Some(choice) = T::from_word(word) {
                add = Self::bit(choice);
            } else {
                return refuse(Class::Invalid, word, Why::NoSuch);
            }
            if set.bits & add != 0 {
                return refuse(Class::Invalid, word, Why::Twice);
            }
            set.bits |= add;
        }
        Ok(set)
    }

    /// Whether it has this one.
    pub fn has(self, choice: T) -> bool {
        self.bits & Self::bit(choice) != 0
    }

    /// How many it has.
    pub fn count(self) -> u64 {
        u64::from(self.bits.count_ones())
    }

    /// Those that it has, in the order of all.
    pub fn iter(self) -> impl Iterator<Item = T> {
        T::CHOICES.iter().copied().filter(move |&c| self.has(c))
    }
}

impl<T: Choice> fmt::Display for Set<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.count() == T::CHOICES.len() as u64 {
            return f.write_str("all");
        }
        for (i, choice) in self.iter().enumerate() {
            write!(f, "{}{}", if i > 0 { "," } else { "" }, choice.word())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const USER: (&str, &[Mem]) = ("user", &[Mem::FromUser, Mem::ToUser]);

    #[test]
    fn sets_read_back_as_written() {
        for text in ["kernel", "kernel,to-user", "from-user,to-user", "all"] {
            assert_eq!(Set::read("mem", text, USER).unwrap().to_string(), text);
        }
        let user = Set::read("mem", "user", USER).unwrap();
        assert_eq!(user.to_string(), "from-user,to-user");
        assert!(!user.has(Mem::Kernel));
        assert_eq!(user.count(), 2);
    }

    #[test]
    fn words_that_no_set_has() {
        for (text, words) in [
            ("", "mem: an empty list"),
            ("kernel,", "mem: an empty list"),
            ("disk", "disk: there is none"),
            ("user,to-user", "to-user: given twice"),
            ("all,kernel", "kernel: given twice"),
        ] {
            let refusal = Set::read("mem", text, USER).unwrap_err();
            assert!(refusal.to_string().contains(words), "{text}: {refusal}");
        }
    }

    #[test]
    fn slots_are_powers_of_two() {
        assert_eq!(Cache::L2Src.slots(4096), 32);
        assert_eq!(Cache::L2Src.slots(12288), 8);
        assert_eq!(Cache::L2Src.slots(1 << 20), 1);
        assert_eq!(Cache::ColdDst.slots(4096), 64);
    }
}

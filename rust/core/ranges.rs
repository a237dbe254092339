// SPDX-License-Identifier: GPL-2.0-only

//! Lists of numbers and ranges, as plans write them: `0-64,128,256-4096/256`.

use core::{
    fmt,
    num::NonZeroU32, //
};

/// How many items a list may have.
pub const MAX_ITEMS: usize = 24;

/// One item of a list: `start`, and every `step`th number after it up to `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item {
    start: u32,
    end: u32,
    step: NonZeroU32,
}

impl Item {
    const NOTHING: Item = Item {
        start: 0,
        end: 0,
        step: NonZeroU32::MIN,
    };

    /// How many steps fit.
    fn steps(&self) -> u64 {
        u64::from((self.end - self.start) / self.step)
    }

    /// How many numbers it stands for, at least one.
    pub fn count(&self) -> u64 {
        self.steps() + 1
    }

    /// One of them.
    pub fn at(&self, step: u64) -> u64 {
        u64::from(self.start) + step * u64::from(self.step.get())
    }
}

/// A list of numbers in the order in which they were written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ranges {
    items: [Item; MAX_ITEMS],
    used: usize,
}

/// What is wrong with a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// Nothing between two commas, or nothing at all.
    Empty,
    /// Not a number.
    Number,
    /// A number of more than 32 bits.
    TooLarge,
    /// A range that goes down, or by steps of nought.
    Backwards,
    /// More than [`MAX_ITEMS`] items.
    TooMany,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Error::Empty => "an empty list",
            Error::Number => "not a number",
            Error::TooLarge => "a number of 4 G or more",
            Error::Backwards => "a range that leads nowhere",
            Error::TooMany => "more than 24 items",
        })
    }
}

/// Reads a number: decimal, optionally with K or M for 2^10 and 2^20.
pub fn number(text: &str) -> Result<u32, Error> {
    let (digits, shift) = match text.as_bytes().last() {
        Some(b'K') => (&text[..text.len() - 1], 10),
        Some(b'M') => (&text[..text.len() - 1], 20),
        _ => (text, 0),
    };
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(Error::Number);
    }
    let number: u32 = digits.parse().map_err(|_| Error::TooLarge)?;
    number.checked_mul(1 << shift).ok_or(Error::TooLarge)
}

impl Ranges {
    /// No numbers.
    pub const EMPTY: Ranges = Ranges {
        items: [Item::NOTHING; MAX_ITEMS],
        used: 0,
    };

    /// Reads a list in the place of what was there. (A list is too long to be handed around on a
    /// kernel's stack.)
    ///
    /// # Errors
    ///
    /// [`Error`] says what is wrong with it; the list is then cut off there.
    pub fn read(&mut self, text: &str) -> Result<(), Error> {
        self.used = 0;
        for word in text.split(',') {
            if word.is_empty() {
                return Err(Error::Empty);
            }
            let (span, step) = match word.split_once('/') {
                Some((span, step)) => (span, number(step)?),
                None => (word, 1),
            };
            let (start, end) = match span.split_once('-') {
                Some((start, end)) => (number(start)?, number(end)?),
                None => (number(span)?, number(span)?),
            };
            let step = NonZeroU32::new(step).ok_or(Error::Backwards)?;
            if end < start {
                return Err(Error::Backwards);
            }
            let slot = self.items.get_mut(self.used).ok_or(Error::TooMany)?;
            *slot = Item { start, end, step };
            self.used += 1;
        }
        Ok(())
    }

    /// How many numbers there are; saturates.
    pub fn count(&self) -> u64 {
        self.items[..self.used]
            .iter()
            .fold(0, |sum: u64, item| sum.saturating_add(item.count()))
    }

    /// The items, as they were written.
    pub fn items(&self) -> &[Item] {
        &self.items[..self.used]
    }

    /// Leaves none.
    pub fn clear(&mut self) {
        self.used = 0;
    }

    /// The least number.
    pub fn min(&self) -> u64 {
        let first = |item: &Item| item.at(0);
        self.items().iter().map(first).min().unwrap_or(0)
    }

    /// The greatest number.
    pub fn max(&self) -> u64 {
        let last = |item: &Item| item.at(item.steps());
        self.items[..self.used].iter().map(last).max().unwrap_or(0)
    }

    /// All numbers, in the order written.
    pub fn iter(&self) -> Numbers<'_> {
        Numbers {
            items: &self.items[..self.used],
            step: 0,
        }
    }
}

/// The numbers of a list, one by one. (Adapters of the library would do, but nested as they would
/// be they make symbols too long for the kernel's objtool.)
pub struct Numbers<'a> {
    items: &'a [Item],
    step: u64,
}

impl Iterator for Numbers<'_> {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        let (item, rest) = self.items.split_first()?;
        let number = item.at(self.step);
        self.step += 1;
        if self.step >= item.count() {
            (self.items, self.step) = (rest, 0);
        }
        Some(number)
    }
}

impl fmt::Display for Ranges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, item) in self.items[..self.used].iter().enumerate() {
            if i > 0 {
                f.write_str(",")?;
            }
            write!(f, "{}", item.start)?;
            if item.end != item.start {
                write!(f, "-{}", item.end)?;
            }
            if item.step.get() != 1 {
                write!(f, "/{}", item.step)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Ranges, Error> {
        let mut ranges = Ranges::EMPTY;
        ranges.read(text)?;
        Ok(ranges)
    }

    fn list(text: &str) -> Vec<u64> {
        parse(text).unwrap().iter().collect()
    }

    #[test]
    fn lists() {
        assert_eq!(list("0-3,8"), [0, 1, 2, 3, 8]);
        assert_eq!(list("0-10/4"), [0, 4, 8]);
        assert_eq!(list("4K,1M"), [4096, 1 << 20]);
        let ranges = parse("0-64,128,4096").unwrap();
        assert_eq!((ranges.count(), ranges.max()), (67, 4096));
        assert_eq!(parse("0-10/4").unwrap().max(), 8);
        assert_eq!(ranges.to_string(), "0-64,128,4096");
        assert_eq!(parse("0-10/4").unwrap().to_string(), "0-10/4");
    }

    #[test]
    fn counting_a_huge_range_does_not_overflow() {
        let ranges = parse("0-4294967295,0-4294967295").unwrap();
        assert_eq!(ranges.count(), 1 << 33);
    }

    #[test]
    fn errors() {
        let error = |text: &str| parse(text).unwrap_err();
        assert_eq!(error(""), Error::Empty);
        assert_eq!(error("1,,2"), Error::Empty);
        assert_eq!(error("x"), Error::Number);
        assert_eq!(error("-5"), Error::Number);
        assert_eq!(error("+5"), Error::Number);
        assert_eq!(error("4294967296"), Error::TooLarge);
        assert_eq!(error("18446744073709551616"), Error::TooLarge);
        assert_eq!(error("4294967295K"), Error::TooLarge);
        assert_eq!(error("5-1"), Error::Backwards);
        assert_eq!(error("1-5/0"), Error::Backwards);
        assert_eq!(error(&["1"; 25].join(",")), Error::TooMany);
    }
}

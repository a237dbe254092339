// SPDX-License-Identifier: GPL-2.0-only

//! Why a plan is refused, in words.

use core::fmt;

use super::cost::{
    MAX_CELLS,
    MAX_SECONDS, //
};
use super::ranges;
use super::words::KEYS;

const NAME_LEN: usize = 31;

/// A short name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name {
    bytes: [u8; NAME_LEN],
    len: u8,
}

impl Name {
    pub(super) const EMPTY: Name = Name {
        bytes: [0; NAME_LEN],
        len: 0,
    };

    pub(super) fn new(text: &str) -> Option<Name> {
        let mut bytes = [0; NAME_LEN];
        bytes
            .get_mut(..text.len())?
            .copy_from_slice(text.as_bytes());
        Some(Name {
            bytes,
            len: text.len() as u8,
        })
    }

    pub(super) fn as_str(&self) -> &str {
        core::str::from_utf8(&self.bytes[..usize::from(self.len)]).unwrap_or("")
    }
}

/// The class of an error, which the kernel turns into an error number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// EINVAL: words that cannot be understood.
    Invalid,
    /// ERANGE: a value outside its range.
    Range,
    /// E2BIG: too much to do.
    TooBig,
}

/// Why a plan is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Its class.
    pub class: Class,
    word: Option<Name>,
    why: Why,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    Empty,
    NoValue,
    Unknown,
    Twice,
    NoSuch,
    NotBuilt,
    List(ranges::Error),
    Single,
    Between(u64, u64),
    Offline(u64),
    /// It does not go with the rest of the plan.
    Conflict(&'static str),
    /// A fault at a byte that the shortest copy does not reach.
    Beyond(u64),
    /// So many weights for so many items of lengths.
    Weights(u64, u64),
    Cells(u64),
    Seconds(u64),
    Buffers(u64, u64),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(word) = &self.word {
            write!(f, "{}: ", word.as_str())?;
        }
        match self.why {
            Why::Empty => f.write_str("the plan has no words"),
            Why::NoValue => f.write_str("not of the form key=value"),
            Why::Unknown => {
                f.write_str("no such word; there are")?;
                KEYS.iter().try_for_each(|key| write!(f, " {key}"))
            }
            Why::Twice => f.write_str("given twice"),
            Why::NoSuch => f.write_str("there is none of that name (see instances)"),
            Why::NotBuilt => f.write_str("not an entry offset that was built (see instances)"),
            Why::List(error) => error.fmt(f),
            Why::Single => f.write_str("one value is wanted, not a list"),
            Why::Between(least, most) => write!(f, "outside {least} to {most}"),
            Why::Offline(cpu) => write!(f, "CPU {cpu} is not online"),
            Why::Conflict(why) => f.write_str(why),
            Why::Beyond(len) => write!(f, "beyond the shortest len={len}"),
            Why::Weights(weights, items) => {
                write!(f, "{weights} weights for the {items} items of len=")
            }
            Why::Cells(cells) => write!(f, "{cells} cells are more than {MAX_CELLS}"),
            Why::Seconds(seconds) => {
                write!(
                    f,
                    "it would take about {seconds} s, more than {MAX_SECONDS}"
                )
            }
            Why::Buffers(need, have) => {
                write!(
                    f,
                    "it needs {need} bytes of memory, has {have} (say buffers=)"
                )
            }
        }
    }
}

/// Refuses.
pub(super) fn refuse<T>(class: Class, word: &str, why: Why) -> Result<T, Refusal> {
    // A word too long to be repeated whole is cut where a character ends.
    let end = (0..=word.len().min(NAME_LEN))
        .rev()
        .find(|&i| word.is_char_boundary(i))
        .unwrap_or(0);
    let word = Name::new(&word[..end]).filter(|word| word.len > 0);
    Err(Refusal { class, word, why })
}

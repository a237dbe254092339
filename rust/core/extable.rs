// SPDX-License-Identifier: GPL-2.0-only

//! Does every access that may fault have a fix-up?
//!
//! A copy of user memory may fault at any instruction that goes to memory by a pointer of its
//! caller. Each needs an entry in the exception table, of the type for user access; an oops is what
//! a missing one costs. And no entry may lie inside an instruction, as it would if an alternative
//! put other instructions under it.

use super::failure::Failure;
use super::text::Text;

/// One entry: where it is, from the start of the text, and whether it is of the type for user
/// access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// In bytes from the start; entries elsewhere are passed over.
    pub offset: usize,
    /// Of the right type.
    pub user: bool,
}

/// Holds the entries against the instructions of `text`; how many accesses there are.
///
/// # Errors
///
/// [`Failure::NoEntry`], [`Failure::EntryType`], [`Failure::EntryInside`], or
/// [`Failure::Undecodable`].
pub fn check(
    text: &Text<'_>,
    entries: impl Iterator<Item = Entry> + Clone,
) -> Result<u64, Failure> {
    let mut accesses = 0;
    let entries = entries.filter(|entry| entry.offset < text.bytes.len());
    for item in text.insns() {
        let (offset, insn) = item?;
        if !insn.memory {
            continue;
        }
        accesses += 1;
        match entries.clone().find(|entry| entry.offset == offset) {
            Some(Entry { user: true, .. }) => {}
            Some(_) => return Err(Failure::EntryType { offset }),
            None => return Err(Failure::NoEntry { offset }),
        }
    }
    for Entry { offset, .. } in entries {
        let mut starts = text.insns().filter_map(|item| item.ok());
        if !starts.any(|(start, _)| start == offset) {
            return Err(Failure::EntryInside { offset });
        }
    }
    Ok(accesses)
}

#[cfg(test)]
mod tests {
    use super::*;

    // mov (%rsi),%al; mov %al,(%rdi); lea 8(%rdi),%rdi; rep movsb; ret
    const BYTES: &[u8] = &[
        0x8a, 0x06, 0x88, 0x07, 0x48, 0x8d, 0x7f, 0x08, 0xf3, 0xa4, 0xc3,
    ];

    fn checked(entries: &[(usize, bool)]) -> Result<u64, Failure> {
        let text = Text {
            bytes: BYTES,
            address: 0,
            thunks: [0; 2],
        };
        let entry = |&(offset, user): &(usize, bool)| Entry { offset, user };
        check(&text, entries.iter().map(entry))
    }

    #[test]
    fn every_access_needs_an_entry() {
        assert_eq!(checked(&[(0, true), (2, true), (8, true)]), Ok(3));
        assert_eq!(
            checked(&[(0, true), (8, true)]),
            Err(Failure::NoEntry { offset: 2 })
        );
        assert_eq!(
            checked(&[(0, true), (2, false), (8, true)]),
            Err(Failure::EntryType { offset: 2 })
        );
    }

    #[test]
    fn an_entry_must_be_at_an_instruction() {
        let inside = checked(&[(0, true), (2, true), (8, true), (9, true)]);
        assert_eq!(inside, Err(Failure::EntryInside { offset: 9 }));
        // Entries of other code are none of ours.
        assert_eq!(
            checked(&[(0, true), (2, true), (8, true), (5000, false)]),
            Ok(3)
        );
    }
}

// SPDX-License-Identifier: GPL-2.0-only

//! Does every return go where ITS demands?
//!
//! ITS makes indirect branches unsafe in the lower half of a 64-byte line. The kernel then sends
//! returns there through a thunk and leaves the others bare; other mitigations send all of them.
//! Which it is on this boot is not guessed: the loader shows it on two returns of ours, one in
//! each half ([`Rule::observe`]).

use super::failure::Failure;
use super::insn::{
    decode,
    Kind, //
};
use super::text::Text;

/// What the kernel demands of returns, by the half of the line they are in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The thunk for the lower half, if one is in force.
    pub low: Option<u64>,
    /// The same for the upper half.
    pub high: Option<u64>,
}

/// How many returns a text has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// All of them.
    pub returns: usize,
    /// Those that jump to the thunk.
    pub thunked: usize,
}

fn thunk_of(bytes: &[u8], address: u64) -> Result<Option<u64>, Failure> {
    let insn = decode(bytes).ok_or(Failure::Undecodable { offset: 0 })?;
    match insn.kind {
        Kind::Ret => Ok(None),
        Kind::Jump(rel) => Ok(Some(
            address.wrapping_add_signed(insn.len as i64 + i64::from(rel)),
        )),
        _ => Err(Failure::NoReturn),
    }
}

impl Rule {
    /// Reads the rule off two patched returns: bytes and address of one in each half.
    ///
    /// # Errors
    ///
    /// [`Failure::NoReturn`] if one of them is no return at all.
    pub fn observe(low: (&[u8], u64), high: (&[u8], u64)) -> Result<Rule, Failure> {
        Ok(Rule {
            low: thunk_of(low.0, low.1)?,
            high: thunk_of(high.0, high.1)?,
        })
    }

    /// Whether the two halves are treated differently, as ITS alone does.
    pub fn is_its(&self) -> bool {
        self.low.is_some() && self.high.is_none()
    }

    /// The thunk demanded of a return at `address`.
    pub fn at(&self, address: u64) -> Option<u64> {
        if address & 0x20 == 0 {
            self.low
        } else {
            self.high
        }
    }

    /// Holds every return of `text` against the rule. A thunk where none is needed is allowed.
    ///
    /// # Errors
    ///
    /// [`Failure::BareReturn`], [`Failure::Escape`], [`Failure::NoReturn`], or
    /// [`Failure::Undecodable`].
    pub fn check(&self, text: &Text<'_>) -> Result<Count, Failure> {
        let mut count = Count::default();
        for item in text.insns() {
            let (offset, insn) = item?;
            let address = text.address + offset as u64;
            match insn.kind {
                Kind::Ret => {
                    if self.at(address).is_some() {
                        return Err(Failure::BareReturn { offset, address });
                    }
                    count.returns += 1;
                }
                Kind::Jump(rel) | Kind::Branch(_, rel) | Kind::Call(rel) => {
                    let (target, inside) = text.target(offset, &insn, rel);
                    if inside.is_some() {
                        continue;
                    }
                    if !matches!(insn.kind, Kind::Jump(..)) || self.low != Some(target) {
                        return Err(Failure::Escape { offset, target });
                    }
                    count.returns += 1;
                    count.thunked += 1;
                }
                _ => {}
            }
        }
        if count.returns == 0 {
            return Err(Failure::NoReturn);
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ITS: Rule = Rule {
        low: Some(0x9000),
        high: None,
    };

    fn at(bytes: &[u8], address: u64) -> Text<'_> {
        Text {
            bytes,
            address,
            thunks: [0x8000, 0x9000],
        }
    }

    fn jump_to(target: i64, from: i64) -> [u8; 5] {
        let rel = (target - from - 5) as i32;
        let mut bytes = [0xe9, 0, 0, 0, 0];
        bytes[1..].copy_from_slice(&rel.to_le_bytes());
        bytes
    }

    #[test]
    fn observed() {
        let low = jump_to(0x9000, 0x1000);
        let rule = Rule::observe((&low, 0x1000), (&[0xc3], 0x1060)).unwrap();
        assert_eq!(rule, ITS);
        assert!(rule.is_its());
        let none = Rule::observe((&[0xc3], 0), (&[0xc3], 32)).unwrap();
        assert!(!none.is_its());
        assert!(Rule::observe((&[0x90], 0), (&[0xc3], 32)).is_err());
    }

    #[test]
    fn bare_in_the_lower_half_is_rejected_and_only_there() {
        assert_eq!(
            ITS.check(&at(&[0xf3, 0xa4, 0xc3], 0x1000)),
            Err(Failure::BareReturn {
                offset: 2,
                address: 0x1002
            })
        );
        let count = ITS.check(&at(&[0xf3, 0xa4, 0xc3], 0x1020)).unwrap();
        assert_eq!((count.returns, count.thunked), (1, 0));
        let none = Rule {
            low: None,
            high: None,
        };
        assert!(none.check(&at(&[0xc3], 0x1000)).is_ok());
    }

    #[test]
    fn only_the_thunk_in_force_will_do() {
        let good = jump_to(0x9000, 0x1000);
        assert_eq!(
            ITS.check(&at(&good, 0x1000)),
            Ok(Count {
                returns: 1,
                thunked: 1
            })
        );
        // The thunk as linked is not the one in force.
        let linked = jump_to(0x8000, 0x1000);
        assert_eq!(
            ITS.check(&at(&linked, 0x1000)),
            Err(Failure::Escape {
                offset: 0,
                target: 0x8000
            })
        );
        assert_eq!(ITS.check(&at(&[0x90], 0)), Err(Failure::NoReturn));
    }
}

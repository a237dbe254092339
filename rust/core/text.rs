// SPDX-License-Identifier: GPL-2.0-only

//! Is patched text what a mask demands?
//!
//! The reference is the same source with every alternative chosen by the assembler. Patching may
//! choose other encodings: NOPs to fill a site, a shorter or longer displacement, `ret` or a jump
//! to the return thunk. So the comparison goes over instructions with fillers left out; jumps are
//! equal if they lead to the same instruction, returns are equal whatever form they have. `stac`
//! and `clac` are left out too: whether they are there is the CPU's affair and no mask's.

use super::failure::Failure;
use super::insn::{
    decode,
    Insn,
    Kind, //
};

/// Loaded text of one instance.
#[derive(Clone, Copy)]
pub struct Text<'a> {
    /// From the entry to the end.
    pub bytes: &'a [u8],
    /// The entry's address.
    pub address: u64,
    /// The addresses a return may jump to: the thunk as linked, the thunk in force.
    pub thunks: [u64; 2],
}

/// How control goes somewhere.
#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    Jump,
    Branch(u8),
    Call,
}

/// Where control goes, or what the bytes are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Meaning<'a> {
    Return,
    /// To the instruction of that number.
    Within(How, usize),
    /// Out of the instance.
    Escape(u64),
    Bytes(&'a [u8]),
}

/// Iterates over all instructions, fillers included, with their offsets.
pub struct Insns<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Iterator for Insns<'_> {
    type Item = Result<(usize, Insn), Failure>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.bytes.len() {
            return None;
        }
        let offset = self.at;
        match decode(&self.bytes[offset..]) {
            Some(insn) => {
                self.at += insn.len;
                Some(Ok((offset, insn)))
            }
            None => {
                self.at = self.bytes.len();
                Some(Err(Failure::Undecodable { offset }))
            }
        }
    }
}

impl<'a> Text<'a> {
    /// Whether an instruction only fills space: NOPs, the `int3` behind returns, and a jump over
    /// nothing else, which is what the kernel makes of many NOPs.
    fn is_filler(&self, offset: usize, insn: &Insn) -> bool {
        match insn.kind {
            Kind::Nop | Kind::Int3 | Kind::Access => true,
            Kind::Jump(rel) => {
                let end = match self.target(offset, insn, rel) {
                    (_, Some(end)) if end > offset => end,
                    _ => return false,
                };
                let mut at = offset + insn.len;
                while at < end {
                    match self.bytes.get(at..).and_then(decode) {
                        Some(Insn {
                            len,
                            kind: Kind::Nop | Kind::Int3,
                            ..
                        }) => at += len,
                        _ => return false,
                    }
                }
                at == end
            }
            _ => false,
        }
    }

    /// The instructions that do something.
    fn doing(&self) -> impl Iterator<Item = Result<(usize, Insn), Failure>> + '_ {
        self.insns().filter(|item| match item {
            Ok((offset, insn)) => !self.is_filler(*offset, insn),
            Err(_) => true,
        })
    }

    /// All instructions, fillers included.
    pub fn insns(&self) -> Insns<'a> {
        Insns {
            bytes: self.bytes,
            at: 0,
        }
    }

    /// Where a jump at `offset` leads, as an offset from the entry, and whether that is inside.
    pub fn target(&self, offset: usize, insn: &Insn, rel: i32) -> (u64, Option<usize>) {
        let next = (offset + insn.len) as i64;
        let target = next + i64::from(rel);
        let inside = usize::try_from(target)
            .ok()
            .filter(|&t| t < self.bytes.len());
        (self.address.wrapping_add_signed(target), inside)
    }

    /// The number of the instruction that executes at `offset`, fillers not counted.
    fn number(&self, offset: usize) -> Option<usize> {
        let mut number = 0;
        for item in self.insns() {
            let (at, insn) = item.ok()?;
            if at == offset {
                return Some(number);
            }
            if at > offset {
                return None;
            }
            if !self.is_filler(at, &insn) {
                number += 1;
            }
        }
        None
    }

    fn meaning(&self, offset: usize, insn: &Insn) -> Result<Meaning<'a>, Failure> {
        let go = |how, rel| {
            let (address, inside) = self.target(offset, insn, rel);
            match inside {
                Some(inside) => self
                    .number(inside)
                    .map(|number| Meaning::Within(how, number))
                    .ok_or(Failure::Undecodable { offset }),
                None if how == How::Jump && self.thunks.contains(&address) => Ok(Meaning::Return),
                None => Ok(Meaning::Escape(address)),
            }
        };
        match insn.kind {
            Kind::Ret => Ok(Meaning::Return),
            Kind::Jump(rel) => go(How::Jump, rel),
            Kind::Branch(condition, rel) => go(How::Branch(condition), rel),
            Kind::Call(rel) => go(How::Call, rel),
            _ => Ok(Meaning::Bytes(&self.bytes[offset..offset + insn.len])),
        }
    }

    /// Compares with the text that the mask demands.
    ///
    /// # Errors
    ///
    /// [`Failure::Text`] names the first instruction that differs, [`Failure::Undecodable`] the
    /// first that cannot be read.
    pub fn demand(&self, reference: &Text<'_>) -> Result<(), Failure> {
        let mut ours = self.doing();
        let mut theirs = reference.doing();
        for index in 0.. {
            let (got, want) = match (ours.next(), theirs.next()) {
                (None, None) => return Ok(()),
                (got, want) => (got.transpose()?, want.transpose()?),
            };
            let same = match (&got, &want) {
                (Some((got, a)), Some((want, b))) => {
                    self.meaning(*got, a)? == reference.meaning(*want, b)?
                }
                _ => false,
            };
            if !same {
                return Err(Failure::Text {
                    index,
                    want: want.map_or(reference.bytes.len(), |(at, _)| at),
                    got: got.map_or(self.bytes.len(), |(at, _)| at),
                });
            }
        }
        Ok(())
    }

    /// A site whose contents the mask takes away is to be one NOP of its length, not several.
    ///
    /// # Errors
    ///
    /// [`Failure::Nops`], or [`Failure::Undecodable`] if the site splits an instruction.
    pub fn empty_site_is_one_nop(&self, offset: usize, length: usize) -> Result<(), Failure> {
        /// The longest NOP that the kernel uses.
        const LONGEST: usize = 11;

        let (mut nops, mut others) = (0, 0);
        let mut at = offset;
        while at < offset + length {
            let insn = self
                .bytes
                .get(at..)
                .and_then(decode)
                .ok_or(Failure::Undecodable { offset: at })?;
            match insn.kind {
                Kind::Nop => nops += 1,
                _ => others += 1,
            }
            at += insn.len;
        }
        if at != offset + length {
            return Err(Failure::Undecodable { offset: at });
        }
        if others == 0 && nops > 1 && length <= LONGEST {
            return Err(Failure::Nops { offset, length });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &[u8], address: u64) -> Text<'_> {
        Text {
            bytes,
            address,
            thunks: [0x9000, 0x9100],
        }
    }

    // shr $11,%rcx; jnz +n; mov %rdx,%rcx; rep movsb; ret
    const SHORT: &[u8] = &[
        0x48, 0xc1, 0xe9, 0x0b, 0x75, 0x03, 0x48, 0x89, 0xd1, 0xf3, 0xa4, 0xc3,
    ];
    const LONG: &[u8] = &[
        0x48, 0xc1, 0xe9, 0x0b, 0x0f, 0x85, 0x03, 0, 0, 0, 0x48, 0x89, 0xd1, 0xf3, 0xa4, 0xc3,
        0xcc, 0xcc,
    ];

    #[test]
    fn encodings_of_a_jump_are_equal() {
        assert_eq!(text(LONG, 0x1000).demand(&text(SHORT, 0x2000)), Ok(()));
    }

    #[test]
    fn a_return_by_thunk_is_a_return() {
        let mut thunked = SHORT[..11].to_vec();
        let rel = 0x9100_i32 - (0x1000 + 11 + 5);
        thunked.push(0xe9);
        thunked.extend(rel.to_le_bytes());
        assert_eq!(text(&thunked, 0x1000).demand(&text(SHORT, 0x2000)), Ok(()));
        // The same bytes elsewhere jump somewhere else.
        assert_eq!(
            text(&thunked, 0x1010).demand(&text(SHORT, 0x2000)),
            Err(Failure::Text {
                index: 4,
                want: 11,
                got: 11
            })
        );
    }

    #[test]
    fn a_gate_where_none_belongs_is_found() {
        let mut nop = vec![0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0];
        nop.extend(&SHORT[6..]);
        assert_eq!(
            text(SHORT, 0).demand(&text(&nop, 0)),
            Err(Failure::Text {
                index: 0,
                want: 10,
                got: 0
            })
        );
    }

    #[test]
    fn a_jump_over_nothing_is_a_nop() {
        let mut over = vec![0xeb, 3, 0xcc, 0xcc, 0xcc];
        over.extend(SHORT);
        assert_eq!(text(&over, 0).demand(&text(SHORT, 0)), Ok(()));
        // Over something it is a jump.
        let mut over = vec![0xeb, 3, 0xf3, 0xa4, 0xcc];
        over.extend(SHORT);
        assert!(text(&over, 0).demand(&text(SHORT, 0)).is_err());
    }

    #[test]
    fn a_missing_tail_is_found() {
        assert!(text(&SHORT[..9], 0).demand(&text(SHORT, 0)).is_err());
        assert!(text(SHORT, 0).demand(&text(&SHORT[..9], 0)).is_err());
    }

    #[test]
    fn nops_of_a_site() {
        let one = [0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0, 0xc3];
        assert_eq!(text(&one, 0).empty_site_is_one_nop(0, 10), Ok(()));
        assert_eq!(
            text(&[0x90, 0x90, 0xc3], 0).empty_site_is_one_nop(0, 2),
            Err(Failure::Nops {
                offset: 0,
                length: 2
            })
        );
        assert!(text(&one, 0).empty_site_is_one_nop(0, 9).is_err());
        // A full site is the other check's business.
        assert_eq!(text(SHORT, 0).empty_site_is_one_nop(0, 4), Ok(()));
    }
}

// SPDX-License-Identifier: GPL-2.0-only

//! Does a routine keep the calling convention?

use super::failure::{
    Case,
    Failure, //
};

/// Names of the recorded registers, in the order of `struct repmov_regs`.
pub const NAMES: [&str; 16] = [
    "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "rsp", "r8", "r9", "r10", "r11", "r12", "r13",
    "r14", "r15",
];
/// The place of the flags behind them.
pub const FLAGS: usize = 16;

/// All recorded registers.
pub type Registers = [u64; 17];

const RAX: usize = 0;
const RSP: usize = 7;
const DF: u64 = 1 << 10;

/// The registers a routine must leave as they were, as a bit set over [`NAMES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preserved(pub u16);

impl Preserved {
    /// The C calling convention, which memcpy() follows: rbx rbp r12 r13 r14 r15.
    pub const C: Preserved = Preserved((1 << 1) | (1 << 6) | (0xf << 12));

    /// Holds the registers after a call against those before it.
    ///
    /// # Errors
    ///
    /// [`Failure::Stack`], [`Failure::Register`], [`Failure::Direction`]: the first that applies.
    pub fn check(self, case: Case, before: &Registers, after: &Registers) -> Result<(), Failure> {
        if after[RSP] != before[RSP] {
            return Err(Failure::Stack {
                case,
                off_by: after[RSP].wrapping_sub(before[RSP]) as i64,
            });
        }
        for (i, name) in NAMES.into_iter().enumerate() {
            if self.0 & (1 << i) != 0 && after[i] != before[i] {
                return Err(Failure::Register {
                    case,
                    name,
                    before: before[i],
                    after: after[i],
                });
            }
        }
        if after[FLAGS] & DF != 0 {
            return Err(Failure::Direction { case });
        }
        Ok(())
    }
}

/// Holds the value in rax against the destination.
///
/// # Errors
///
/// [`Failure::ReturnValue`].
pub fn returns_destination(case: Case, dst: u64, after: &Registers) -> Result<(), Failure> {
    if after[RAX] == dst {
        return Ok(());
    }
    Err(Failure::ReturnValue {
        case,
        off_by: after[RAX].wrapping_sub(dst) as isize,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Reason;

    const CASE: Case = Case {
        len: 1,
        src: 0,
        dst: 0,
    };

    fn rejected(at: usize, value: u64) -> Option<Reason> {
        let before: Registers = core::array::from_fn(|i| if i == FLAGS { 2 } else { i as u64 });
        let mut after = before;
        after[at] = value;
        Preserved::C
            .check(CASE, &before, &after)
            .err()
            .map(|failure| failure.reason())
    }

    #[test]
    fn each_register_by_its_place() {
        for (i, name) in NAMES.into_iter().enumerate() {
            let expected = match name {
                "rsp" => Some(Reason::Stack),
                "rbx" | "rbp" | "r12" | "r13" | "r14" | "r15" => Some(Reason::Register),
                _ => None,
            };
            assert_eq!(rejected(i, 99), expected, "{name}");
        }
        assert_eq!(rejected(FLAGS, 2 | DF), Some(Reason::Direction));
        assert_eq!(rejected(FLAGS, 2), None);
    }

    #[test]
    fn return_value() {
        let mut after = [0; 17];
        after[RAX] = 0x1005;
        assert!(returns_destination(CASE, 0x1005, &after).is_ok());
        assert_eq!(
            returns_destination(CASE, 0x1000, &after),
            Err(Failure::ReturnValue {
                case: CASE,
                off_by: 5
            })
        );
    }
}

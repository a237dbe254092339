// SPDX-License-Identifier: GPL-2.0-only

//! Does a routine keep the calling convention?

use super::copies::{
    branch_points,
    Routine, //
};
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
const AC: u64 = 1 << 18;

/// The registers a routine may change, as a bit set over [`NAMES`]; it must leave the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clobbers(pub u16);

impl Clobbers {
    /// The C calling convention, which memcpy() follows: all but rbx rbp r12 r13 r14 r15.
    pub const C: Clobbers = Clobbers(0x0f3d);

    /// Holds the registers after a call against those before it.
    ///
    /// # Errors
    ///
    /// [`Failure::Stack`], [`Failure::Register`], [`Failure::Direction`], [`Failure::Access`]: the
    /// first that applies.
    pub fn check(self, case: Case, before: &Registers, after: &Registers) -> Result<(), Failure> {
        if after[RSP] != before[RSP] {
            return Err(Failure::Stack {
                case,
                off_by: after[RSP].wrapping_sub(before[RSP]) as i64,
            });
        }
        for (i, name) in NAMES.into_iter().enumerate() {
            if self.0 & (1 << i) == 0 && after[i] != before[i] {
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
        if after[FLAGS] & AC != 0 {
            return Err(Failure::Access { case });
        }
        Ok(())
    }
}

/// A routine that can be called with every register watched.
pub trait Watched: Routine {
    /// The registers it may change.
    fn clobbers(&self) -> Clobbers;

    /// The registers before and after one call.
    ///
    /// # Safety
    ///
    /// As for [`Routine::copy`].
    unsafe fn watched(&self, dst: *mut u8, src: *const u8, len: usize) -> (Registers, Registers);
}

/// Calls a routine that must keep the calling convention, and gives what it returns.
///
/// # Safety
///
/// As for [`Routine::copy`].
///
/// # Errors
///
/// As of [`Clobbers::check`].
pub unsafe fn call(
    routine: &impl Watched,
    case: Case,
    dst: *mut u8,
    src: *const u8,
    len: usize,
) -> Result<usize, Failure> {
    // SAFETY: The caller vouches for the buffers.
    let (before, after) = unsafe { routine.watched(dst, src, len) };
    routine.clobbers().check(case, &before, &after)?;
    Ok(after[RAX] as usize)
}

/// Calls a routine at every branch point and holds the registers against what it may change.
///
/// # Errors
///
/// As of [`Clobbers::check`].
pub fn calling_convention(
    routine: &impl Watched,
    src: &mut [u8],
    dst: &mut [u8],
) -> Result<(), Failure> {
    let clobbers = routine.clobbers();
    calls(routine, src, dst, |case, _, before, after| {
        clobbers.check(case, before, after)
    })
}

/// The same, and holds rax against what is to be returned.
///
/// # Errors
///
/// [`Failure::ReturnValue`].
pub fn return_value(routine: &impl Watched, src: &mut [u8], dst: &mut [u8]) -> Result<(), Failure> {
    calls(routine, src, dst, |case, dst, _, after| {
        returns(case, routine.returns().value(dst) as u64, after)
    })
}

/// Calls at every branch point with the registers watched; the check gets the destination too.
fn calls(
    routine: &impl Watched,
    src: &mut [u8],
    dst: &mut [u8],
    check: impl Fn(Case, usize, &Registers, &Registers) -> Result<(), Failure>,
) -> Result<(), Failure> {
    /// The low byte of source and destination decides which way the scalar loop runs.
    const OFFSETS: [(usize, usize); 3] = [(0, 0), (64, 128), (129, 3)];

    for len in branch_points() {
        for (from, to) in OFFSETS {
            let case = Case {
                len,
                src: from,
                dst: to,
            };
            let from = &src[from..from + len];
            let to = &mut dst[to..to + len];
            let address = to.as_ptr() as usize;
            // SAFETY: Two slices of that length from different buffers.
            let (before, after) = unsafe { routine.watched(to.as_mut_ptr(), from.as_ptr(), len) };
            check(case, address, &before, &after)?;
        }
    }
    Ok(())
}

/// Holds the value in rax against the one that is to be returned.
fn returns(case: Case, want: u64, after: &Registers) -> Result<(), Failure> {
    let got = after[RAX];
    if got == want {
        return Ok(());
    }
    Err(Failure::ReturnValue { case, want, got })
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
        Clobbers::C
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
        assert_eq!(rejected(FLAGS, 2 | AC), Some(Reason::Access));
        assert_eq!(rejected(FLAGS, 2), None);
    }

    #[test]
    fn a_routine_that_may_change_less() {
        // rax rcx rsi rdi, as callers of rep_movs_alternative() expect.
        let clobbers = Clobbers(0x0035);
        let before: Registers = [7; 17].map(|value| value & !DF);
        let changed = |at: usize| {
            let mut after = before;
            after[at] = 99;
            clobbers.check(CASE, &before, &after).is_err()
        };
        assert!(changed(8) && changed(11) && changed(3) && changed(1));
        assert!(!changed(0) && !changed(2) && !changed(4) && !changed(5));
    }

    #[test]
    fn return_value() {
        let mut after = [0; 17];
        after[RAX] = 0x1005;
        assert!(returns(CASE, 0x1005, &after).is_ok());
        assert_eq!(
            returns(CASE, 0x1000, &after),
            Err(Failure::ReturnValue {
                case: CASE,
                want: 0x1000,
                got: 0x1005
            })
        );
    }
}

// SPDX-License-Identifier: GPL-2.0-only

//! What a copy to or from user memory leaves behind when it faults.
//!
//! The contract is that of raw_copy_{to,from}_user() in include/linux/uaccess.h. A copy that
//! returns N has stored all but the last N bytes and nothing behind them. It returns nought only
//! if all was copied, and everything only if nothing could be. It may give up bytes that could
//! have been copied; how many is not right or wrong, and is counted.

use core::fmt;

use super::abi::{
    self,
    Watched, //
};
use super::copies::{
    Depth,
    CANARY, //
};
use super::failure::{
    Case,
    Failure, //
};

/// Which side of a copy cannot be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// A source byte cannot be read.
    Source,
    /// A destination byte cannot be written.
    Destination,
}

/// What a sweep came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Copies that faulted.
    pub cases: u64,
    /// Bytes that could have been copied and were given up, over all of them.
    pub given_up: u64,
    /// The most in one of them.
    pub most: usize,
}

impl Count {
    /// Both.
    pub fn and(self, other: Count) -> Count {
        Count {
            cases: self.cases + other.cases,
            given_up: self.given_up + other.given_up,
            most: self.most.max(other.most),
        }
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} faults, {} bytes given up, {} at most",
            self.cases, self.given_up, self.most
        )
    }
}

/// One breach of the contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Breach {
    /// More is said to be left than there was.
    TooMuch,
    /// The copy is said to be complete.
    Complete,
    /// Bytes are said to be copied that could not be.
    Unreachable,
    /// Nothing is said to be copied, and something could be.
    Refused,
}

impl Breach {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Breach::TooMuch => "more than there was",
            Breach::Complete => "complete, though it faulted",
            Breach::Unreachable => "less than cannot be reached",
            Breach::Refused => "everything, though something can be copied",
        }
    }
}

/// How many bytes a copy says it made, if of `len` bytes only `reach` could be and `left` are said to
/// be left.
///
/// # Errors
///
/// The [`Breach`] of the contract in what it says.
pub fn judge(len: usize, reach: usize, left: usize) -> Result<usize, Breach> {
    match len.checked_sub(left) {
        None => Err(Breach::TooMuch),
        Some(_) if left == 0 && reach < len => Err(Breach::Complete),
        Some(copied) if copied > reach => Err(Breach::Unreachable),
        Some(0) if reach > 0 => Err(Breach::Refused),
        Some(copied) => Ok(copied),
    }
}

/// Up to this length every alignment is tried with every place of the fault.
const SHORT: usize = 24;
/// Up to this length every place of the fault.
const MEDIUM: usize = 320;
/// Lengths around a page, with the fault near either end and in the middle.
const LONG: core::ops::RangeInclusive<usize> = 4090..=4102;
/// What is left, around the count that does not fit into a byte any more.
const BYTE: core::ops::RangeInclusive<usize> = 249..=264;
const ALIGNMENTS: usize = 16;
/// Canaries looked at on each side of the destination.
const NEAR: usize = 64;

/// A source and a destination buffer that cannot be accessed before their starts and behind their
/// ends.
pub struct Guarded<'a> {
    src: &'a mut [u8],
    dst: &'a mut [u8],
}

impl<'a> Guarded<'a> {
    /// Takes two buffers of the same size and fills them. An access before the start of either or
    /// behind its end must fault.
    pub fn new(src: &'a mut [u8], dst: &'a mut [u8]) -> Option<Guarded<'a>> {
        if src.len() != dst.len() || src.len() < *LONG.end() + 2 * NEAR {
            return None;
        }
        for (i, byte) in src.iter_mut().enumerate() {
            *byte = (i % 127) as u8;
        }
        dst.fill(CANARY);
        Some(Guarded { src, dst })
    }

    /// One copy of `len` bytes of which only `reach` can be reached on that side; the other side
    /// is at that alignment.
    fn one(
        &mut self,
        routine: &impl Watched,
        side: Side,
        len: usize,
        reach: usize,
        align: usize,
        count: &mut Count,
    ) -> Result<(), Failure> {
        let end = self.src.len();
        let (src, dst) = match side {
            Side::Source => (end - reach, NEAR + align),
            Side::Destination => (NEAR + align, end - reach),
        };
        let from = self.src[src..].as_ptr();
        let to = self.dst[dst..].as_mut_ptr();
        let case = Case {
            len,
            src: from as usize % 4096,
            dst: to as usize % 4096,
        };
        // SAFETY: Up to the ends of the buffers the memory is ours; behind them it faults, which
        // is what the routine is made for.
        let left = unsafe { abi::call(routine, case, to, from, len) }?;
        let breach = |breach| {
            Err(Failure::Fault {
                case,
                side,
                reach,
                left,
                breach,
            })
        };
        let copied = match judge(len, reach, left) {
            Ok(copied) => copied,
            Err(Breach::Refused) => 0,
            Err(other) => return breach(other),
        };
        let want = &self.src[src..src + copied];
        let got = &self.dst[dst..dst + copied];
        if got != want {
            let at = (0..copied).find(|&i| got[i] != want[i]).unwrap_or(0);
            return Err(Failure::Content {
                case,
                at,
                want: want[at],
                got: got[at],
            });
        }
        let near = (dst - NEAR)..(dst + len + NEAR).min(end);
        let stray = |i: &usize| !(dst..dst + copied).contains(i) && self.dst[*i] != CANARY;
        if let Some(at) = near.clone().find(stray) {
            return Err(Failure::Outside {
                case,
                at: at as isize - dst as isize,
                got: self.dst[at],
            });
        }
        if copied == 0 && reach > 0 {
            return breach(Breach::Refused);
        }
        self.dst[dst..dst + copied].fill(CANARY);
        count.cases += 1;
        count.given_up += (reach - copied) as u64;
        count.most = count.most.max(reach - copied);
        Ok(())
    }

    /// One copy whose first `before` bytes cannot be reached on that side, and the others could be.
    fn early(
        &mut self,
        routine: &impl Watched,
        side: Side,
        len: usize,
        before: usize,
        count: &mut Count,
    ) -> Result<(), Failure> {
        let here = NEAR + (len & (ALIGNMENTS - 1));
        let (src, dst) = (self.src.as_ptr(), self.dst.as_mut_ptr());
        let (from, to) = match side {
            Side::Source => (src.wrapping_sub(before), dst.wrapping_add(here)),
            Side::Destination => (src.wrapping_add(here), dst.wrapping_sub(before)),
        };
        let case = Case {
            len,
            src: from as usize % 4096,
            dst: to as usize % 4096,
        };
        // SAFETY: From the starts of the buffers on the memory is ours; before them it faults.
        let left = unsafe { abi::call(routine, case, to, from, len) }?;
        if let Err(breach) = judge(len, 0, left) {
            return Err(Failure::Fault {
                case,
                side,
                reach: 0,
                left,
                breach,
            });
        }
        if let Some(at) = (0..here + len + NEAR).find(|&i| self.dst[i] != CANARY) {
            return Err(Failure::Outside {
                case,
                at: dst.wrapping_add(at) as isize - to as isize,
                got: self.dst[at],
            });
        }
        count.cases += 1;
        Ok(())
    }

    /// Copies that fault on one side: every length to 320 and some around 4096, the fault at
    /// every byte (at some, for the long ones). Where the fault is fixes that side's alignment; the
    /// other side's takes all 16 values for lengths to 24, and beyond that one that changes with
    /// length and place. Then copies that start up to 16 bytes before what can be reached. The
    /// registers are watched in all of them.
    ///
    /// # Errors
    ///
    /// The first [`Failure`] found. A fault that is not mended does not return.
    pub fn sweep(
        &mut self,
        routine: &impl Watched,
        side: Side,
        depth: Depth,
    ) -> Result<Count, Failure> {
        // Steps in which lengths and places are gone through: short, medium, long.
        let [places, medium, long] = match depth {
            Depth::Full => [1, 1, 1],
            Depth::Quick => [5, 23, 27],
            Depth::Glance => [11, 97, 79],
        };
        let mut count = Count::default();
        for len in 1..=SHORT {
            for reach in (0..len).step_by(places) {
                for align in (0..ALIGNMENTS).step_by(places) {
                    self.one(routine, side, len, reach, align, &mut count)?;
                }
            }
        }
        for len in (SHORT + 1..=MEDIUM).step_by(medium) {
            for reach in (0..len).step_by(medium) {
                let align = (5 * len + 3 * reach) & (ALIGNMENTS - 1);
                self.one(routine, side, len, reach, align, &mut count)?;
            }
        }
        for left in BYTE {
            for reach in [1, 9, 44] {
                let align = left & (ALIGNMENTS - 1);
                self.one(routine, side, left + reach, reach, align, &mut count)?;
            }
        }
        for before in 1..=ALIGNMENTS {
            for more in [0, 1, 8, 64, 200] {
                self.early(routine, side, before + more, before, &mut count)?;
            }
        }
        for len in LONG {
            for near in (0..80).step_by(long) {
                for reach in [near, len / 2 + near, len - 1 - near] {
                    let align = (len + near) & (ALIGNMENTS - 1);
                    self.one(routine, side, len, reach, align, &mut count)?;
                }
            }
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::{
        Clobbers,
        Registers, //
    };
    use crate::copies::{
        Returns,
        Routine,
        BUFFER, //
    };
    use crate::failure::Reason;

    /// A copy that knows where the buffers are, and how many bytes it is to get wrong. It changes a
    /// register that it may change, or the one that is named.
    struct Simulated<F> {
        starts: (usize, usize),
        left: F,
        changes: usize,
    }

    impl<F: Fn(usize, usize) -> (usize, usize)> Routine for Simulated<F> {
        fn returns(&self) -> Returns {
            Returns::Left
        }

        unsafe fn copy(&self, dst: *mut u8, src: *const u8, len: usize) -> usize {
            let within = |start: usize, at: usize| match at < start {
                true => 0,
                false => start + BUFFER - at,
            };
            let reach =
                within(self.starts.0, src as usize).min(within(self.starts.1, dst as usize));
            let reach = len.min(reach);
            let (copied, left) = (self.left)(len, reach);
            // SAFETY: The caller's buffers reach that far.
            unsafe { core::ptr::copy_nonoverlapping(src, dst, copied) };
            left
        }
    }

    impl<F: Fn(usize, usize) -> (usize, usize)> Watched for Simulated<F> {
        fn clobbers(&self) -> Clobbers {
            Clobbers::C
        }

        unsafe fn watched(
            &self,
            dst: *mut u8,
            src: *const u8,
            len: usize,
        ) -> (Registers, Registers) {
            let before = [0; 17];
            let mut after = before;
            after[self.changes] = 1;
            // SAFETY: As the caller says.
            after[0] = unsafe { self.copy(dst, src, len) } as u64;
            (before, after)
        }
    }

    fn changing(
        changes: usize,
        side: Side,
        left: impl Fn(usize, usize) -> (usize, usize),
    ) -> Result<Count, Failure> {
        let (mut src, mut dst) = (vec![0; BUFFER], vec![0; BUFFER]);
        let routine = Simulated {
            starts: (src.as_ptr() as usize, dst.as_ptr() as usize),
            left,
            changes,
        };
        let mut guarded = Guarded::new(&mut src, &mut dst).unwrap();
        guarded.sweep(&routine, side, Depth::Full)
    }

    fn sweep(side: Side, left: impl Fn(usize, usize) -> (usize, usize)) -> Result<Count, Failure> {
        changing(2, side, left)
    }

    fn reason(left: impl Fn(usize, usize) -> (usize, usize) + Copy) -> [Option<Reason>; 2] {
        [Side::Source, Side::Destination]
            .map(|side| sweep(side, left).err().map(|failure| failure.reason()))
    }

    #[test]
    fn judging() {
        assert_eq!(judge(8, 8, 0), Ok(8));
        assert_eq!(judge(8, 3, 5), Ok(3));
        assert_eq!(judge(8, 3, 7), Ok(1));
        assert_eq!(judge(8, 0, 8), Ok(0));
        assert_eq!(judge(8, 3, 9), Err(Breach::TooMuch));
        assert_eq!(judge(8, 3, 0), Err(Breach::Complete));
        assert_eq!(judge(8, 3, 4), Err(Breach::Unreachable));
        assert_eq!(judge(8, 3, 8), Err(Breach::Refused));
    }

    #[test]
    fn an_exact_copy_gives_up_nothing() {
        let count = sweep(Side::Source, |len, reach| (reach, len - reach)).unwrap();
        assert!(count.cases > 50_000, "{count:?}");
        assert_eq!((count.given_up, count.most), (0, 0));
    }

    #[test]
    fn a_copy_by_words_gives_up_less_than_a_word() {
        let words = |len: usize, reach: usize| match reach & !7 {
            0 => (reach, len - reach),
            whole => (whole, len - whole),
        };
        let count = sweep(Side::Destination, words).unwrap();
        assert_eq!(count.most, 7);
        assert!(count.given_up > 0);
    }

    #[test]
    fn one_byte_too_many_or_too_few_is_rejected() {
        // Said to be left: one more than was; the byte behind what is said to be copied is there.
        let more = |len: usize, reach: usize| (reach, len - reach + usize::from(reach > 1));
        assert_eq!(reason(more), [Some(Reason::Outside); 2]);
        // One less than was: a byte that could not be copied is said to be.
        let less = |len: usize, reach: usize| (reach, (len - reach - 1).max(1));
        assert_eq!(reason(less), [Some(Reason::Fault); 2]);
    }

    #[test]
    fn said_to_be_complete_or_refused_is_rejected() {
        assert_eq!(reason(|_, reach| (reach, 0)), [Some(Reason::Fault); 2]);
        assert_eq!(reason(|len, _| (0, len)), [Some(Reason::Fault); 2]);
        assert_eq!(reason(|len, _| (0, len + 1)), [Some(Reason::Fault); 2]);
    }

    #[test]
    fn what_the_way_out_of_a_fault_does_to_registers_is_found() {
        let exact = |len: usize, reach: usize| (reach, len - reach);
        let reason = |changes| {
            let result = changing(changes, Side::Destination, exact);
            result.err().map(|failure| failure.reason())
        };
        assert_eq!(reason(2), None);
        assert_eq!(reason(3), None);
        assert_eq!(reason(1), Some(Reason::Register));
        assert_eq!(reason(7), Some(Reason::Stack));
    }

    #[test]
    fn a_copy_that_goes_on_behind_the_fault_is_rejected() {
        // As if the first bytes were left out and the others copied.
        let past = |len: usize, reach: usize| match reach {
            0 if len > 200 => (0, len - 1),
            _ => (reach, len - reach),
        };
        assert_eq!(reason(past), [Some(Reason::Fault); 2]);
    }

    #[test]
    fn a_byte_that_was_not_copied_is_found() {
        let lost = |len: usize, reach: usize| (reach - usize::from(reach > 2), len - reach);
        assert_eq!(reason(lost), [Some(Reason::Content); 2]);
    }
}

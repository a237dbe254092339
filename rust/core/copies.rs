// SPDX-License-Identifier: GPL-2.0-only

//! Does a routine copy what it is asked to, and nothing else?
//!
//! Every call goes from one buffer to another. Source bytes have the top bit clear and are all
//! different within any 127 neighbours; everything else in the destination buffer is [`CANARY`],
//! which has it set. So a stale, shifted or stray byte shows. Whoever provides the buffers puts
//! guard pages around them; the sweeps go up to both ends.

use core::hint::black_box;

use super::failure::{
    Case,
    Failure, //
};

/// What the destination buffer holds where nothing was copied.
pub const CANARY: u8 = 0xe5;
/// The longest length of [`every_length`]: past a page, and past every threshold known.
pub const LONGEST: usize = 4200;
/// What a buffer must hold: the longest copy at any alignment, and canaries on both sides.
pub const BUFFER: usize = 3 * 4096;

/// Canaries looked at on each side after every call. The whole buffer is looked at in the end.
const NEAR: usize = 64;
const CANARIES: [u8; NEAR] = [CANARY; NEAR];

/// What a routine returns of a copy that was made whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Returns {
    /// The destination, as memcpy() does.
    Destination,
    /// The number of bytes not copied, i.e. nought, as the copies to and from user memory do.
    Left,
}

impl Returns {
    /// The value for one destination.
    pub fn value(self, dst: usize) -> usize {
        match self {
            Returns::Destination => dst,
            Returns::Left => 0,
        }
    }
}

/// The routine under test.
pub trait Routine {
    /// What it returns.
    fn returns(&self) -> Returns;

    /// Copies `len` bytes from `src` to `dst`, returns what the routine returns.
    ///
    /// # Safety
    ///
    /// `src` must be readable and `dst` writable for `len` bytes, and they must not overlap.
    unsafe fn copy(&self, dst: *mut u8, src: *const u8, len: usize) -> usize;
}

/// The two buffers.
pub struct Buffers<'a> {
    src: &'a mut [u8],
    dst: &'a mut [u8],
}

/// How much of the space of lengths and alignments to cover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// All of it.
    Full,
    /// Every branch point and most lengths, fewer alignments: to be repeated while editing.
    Quick,
    /// A little of everything: for code that is known to be the same as what has gone deeper.
    Glance,
}

impl Depth {
    /// One less deep.
    pub fn thinner(self) -> Depth {
        match self {
            Depth::Full => Depth::Quick,
            _ => Depth::Glance,
        }
    }

    /// The lengths up to [`LONGEST`]: all, or all short ones and some of the others.
    fn lengths(self) -> impl Iterator<Item = usize> {
        let (short, step) = match self {
            Depth::Full => (256, 1),
            Depth::Quick => (256, 7),
            Depth::Glance => (80, 61),
        };
        (0..short).chain((short..=LONGEST).step_by(step))
    }
}

/// How many calls a sweep made.
pub type Calls = u64;

/// Lengths around the places where a copy routine branches: all up to 130, then two on either
/// side of each power of two up to a page.
pub fn branch_points() -> impl Iterator<Item = usize> {
    (0..=130).chain((8..=12).flat_map(|bit| (1 << bit) - 2..=(1 << bit) + 2))
}

impl<'a> Buffers<'a> {
    /// Takes two buffers of the same size, at least [`BUFFER`] bytes, and fills them.
    pub fn new(src: &'a mut [u8], dst: &'a mut [u8]) -> Option<Buffers<'a>> {
        if src.len() < BUFFER || dst.len() != src.len() {
            return None;
        }
        for (i, byte) in src.iter_mut().enumerate() {
            *byte = pattern(i);
        }
        dst.fill(CANARY);
        Some(Buffers { src, dst })
    }

    /// The end of either buffer, as an offset.
    fn end(&self) -> usize {
        self.src.len()
    }

    fn case(&self, src: usize, dst: usize, len: usize) -> Case {
        Case {
            len,
            src: (self.src.as_ptr() as usize + src) % 4096,
            dst: (self.dst.as_ptr() as usize + dst) % 4096,
        }
    }

    /// One call, checked: return value, destination, canaries near it. Puts the canaries back.
    fn one(
        &mut self,
        routine: &impl Routine,
        src: usize,
        dst: usize,
        len: usize,
    ) -> Result<(), Failure> {
        let from = &self.src[src..src + len];
        let to = self.dst[dst..dst + len].as_mut_ptr();
        // SAFETY: Both slices were just bounds-checked for `len` bytes, they are of different
        // buffers, and the exclusive borrow of `self` keeps others away.
        let returned = unsafe { routine.copy(to, from.as_ptr(), len) };
        let from = &self.src[src..src + len];
        let got = &self.dst[dst..dst + len];
        if got != from {
            let at = (0..len).find(|&i| got[i] != from[i]).unwrap_or(len);
            return Err(Failure::Content {
                case: self.case(src, dst, len),
                at,
                want: from[at],
                got: got[at],
            });
        }
        let near = dst.saturating_sub(NEAR)..(dst + len + NEAR).min(self.end());
        let before = &self.dst[near.start..dst];
        let after = &self.dst[dst + len..near.end];
        if before != &CANARIES[..before.len()] || after != &CANARIES[..after.len()] {
            return Err(self.outside(src, dst, len));
        }
        let wanted = routine.returns().value(to as usize);
        if returned != wanted {
            return Err(Failure::ReturnValue {
                case: self.case(src, dst, len),
                want: wanted as u64,
                got: returned as u64,
            });
        }
        put_back(&mut self.dst[dst..dst + len]);
        Ok(())
    }

    /// The first byte outside the destination that is no canary.
    fn outside(&self, src: usize, dst: usize, len: usize) -> Failure {
        let is_outside = |i: &usize| !(dst..dst + len).contains(i) && self.dst[*i] != CANARY;
        let at = (0..self.end()).find(is_outside).unwrap_or(dst);
        Failure::Outside {
            case: self.case(src, dst, len),
            at: at as isize - dst as isize,
            got: self.dst[at],
        }
    }

    /// After a sweep: both buffers are as they were, all of them.
    fn whole(&self, last: (usize, usize, usize)) -> Result<(), Failure> {
        let (src, dst, len) = last;
        if self.dst.iter().any(|&byte| byte != CANARY) {
            return Err(self.outside(src, dst, 0));
        }
        match (0..self.end()).find(|&i| self.src[i] != pattern(i)) {
            Some(at) => Err(Failure::Source {
                case: self.case(src, dst, len),
                at,
            }),
            None => Ok(()),
        }
    }

    /// Every length up to [`LONGEST`], at some pairs of alignments.
    ///
    /// # Errors
    ///
    /// The first [`Failure`] found.
    pub fn every_length(&mut self, routine: &impl Routine, depth: Depth) -> Result<Calls, Failure> {
        /// Aligned alike and not, within a word, a line and a page; both orders of the low byte,
        /// and one in which what is left of a copy backwards lies over the border of 256 bytes.
        const PAIRS: [(usize, usize); 7] = [
            (0, 0),
            (66, 186),
            (1, 8),
            (13, 0),
            (0, 35),
            (4091, 130),
            (127, 4095),
        ];

        let pairs = match depth {
            Depth::Full => &PAIRS[..],
            Depth::Quick => &PAIRS[..2],
            Depth::Glance => &PAIRS[..1],
        };
        let mut calls = 0;
        for &(src, dst) in pairs {
            for len in depth.lengths() {
                self.one(routine, NEAR + src, NEAR + dst, len)?;
                calls += 1;
            }
            self.whole((src, dst, LONGEST))?;
        }
        Ok(calls)
    }

    /// Lengths around the branch points at 64 × 64 alignments.
    ///
    /// # Errors
    ///
    /// The first [`Failure`] found.
    pub fn every_alignment(
        &mut self,
        routine: &impl Routine,
        depth: Depth,
    ) -> Result<Calls, Failure> {
        let (src_step, dst_step) = match depth {
            Depth::Full => (1, 1),
            Depth::Quick => (13, 9),
            Depth::Glance => (39, 27),
        };
        let mut calls = 0;
        for len in branch_points() {
            for src in (0..64).step_by(src_step) {
                for dst in (0..64).step_by(dst_step) {
                    self.one(routine, NEAR + src, NEAR + dst, len)?;
                    calls += 1;
                }
            }
        }
        self.whole((0, 0, 0))?;
        Ok(calls)
    }

    /// Lengths with both buffers used up to their ends, then from their starts: an access outside
    /// meets a guard page.
    ///
    /// # Errors
    ///
    /// The first [`Failure`] found; an access to a guard page does not return.
    pub fn up_to_the_guards(
        &mut self,
        routine: &impl Routine,
        depth: Depth,
    ) -> Result<Calls, Failure> {
        let end = self.end();
        let mut calls = 0;
        for len in depth.lengths() {
            for (src, dst) in [
                (0, 0),
                (end - len, end - len),
                (0, end - len),
                (end - len, 0),
            ] {
                self.one(routine, src, dst, len)?;
                calls += 1;
            }
        }
        self.whole((0, 0, 0))?;
        Ok(calls)
    }
}

/// Fills with canaries, by words: the kernel's memset() may be REP STOSB, and an emulator takes its
/// time for each byte of that.
fn put_back(bytes: &mut [u8]) {
    // Not known to be one byte again and again, it is not made a memset().
    let word = black_box([CANARY; 8]);
    for some in bytes.chunks_exact_mut(word.len()) {
        some.copy_from_slice(&word);
    }
    match bytes.last_chunk_mut() {
        Some(last) => *last = word,
        None => bytes.fill(CANARY),
    }
}

/// The source byte at an offset.
fn pattern(at: usize) -> u8 {
    (at % 127) as u8
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Reason;

    struct By<F>(F);

    impl<F: Fn(*mut u8, *const u8, usize) -> *mut u8> Routine for By<F> {
        fn returns(&self) -> Returns {
            Returns::Destination
        }

        unsafe fn copy(&self, dst: *mut u8, src: *const u8, len: usize) -> usize {
            (self.0)(dst, src, len) as usize
        }
    }

    fn sweeps(f: impl Fn(*mut u8, *const u8, usize) -> *mut u8) -> [Result<Calls, Failure>; 3] {
        let routine = By(f);
        let run = |which: usize| {
            let (mut src, mut dst) = (vec![0; BUFFER], vec![0; BUFFER]);
            let mut buffers = Buffers::new(&mut src, &mut dst).unwrap();
            match which {
                0 => buffers.every_length(&routine, Depth::Full),
                1 => buffers.every_alignment(&routine, Depth::Quick),
                _ => buffers.up_to_the_guards(&routine, Depth::Full),
            }
        };
        [run(0), run(1), run(2)]
    }

    fn copy(dst: *mut u8, src: *const u8, len: usize) -> *mut u8 {
        // SAFETY: The sweeps pass disjoint buffers that are long enough.
        unsafe { core::ptr::copy_nonoverlapping(src, dst, len) };
        dst
    }

    fn reasons(f: impl Fn(*mut u8, *const u8, usize) -> *mut u8) -> Vec<Option<Reason>> {
        let reason = |result: Result<Calls, Failure>| result.err().map(|f| f.reason());
        sweeps(f).into_iter().map(reason).collect()
    }

    #[test]
    fn a_right_copy_passes_and_is_called() {
        let [lengths, alignments, guards] = sweeps(copy);
        assert_eq!(lengths, Ok(7 * 4201));
        assert_eq!(alignments, Ok(156 * 5 * 8));
        assert_eq!(guards, Ok(4 * 4201));
    }

    #[test]
    fn a_short_tail_is_rejected() {
        let broken = |dst, src, len: usize| copy(dst, src, len - usize::from(len > 64));
        assert_eq!(reasons(broken), [Some(Reason::Content); 3]);
    }

    #[test]
    fn one_lost_byte_at_one_length_is_named() {
        let broken = |dst: *mut u8, src: *const u8, len: usize| {
            copy(dst, src, len);
            if len == 517 {
                // SAFETY: Within the destination.
                unsafe { *dst.add(300) ^= 1 };
            }
            dst
        };
        let [lengths, ..] = sweeps(broken);
        let Err(Failure::Content { case, at, .. }) = lengths else {
            panic!("{lengths:?}");
        };
        assert_eq!((case.len, at), (517, 300));
    }

    #[test]
    fn a_byte_past_the_end_or_before_the_start_is_rejected() {
        let past = |dst: *mut u8, src: *const u8, len: usize| {
            copy(dst, src, len);
            if len == 33 {
                // SAFETY: Only used where the buffer goes on.
                unsafe { *dst.add(len) = 0 };
            }
            dst
        };
        let before = |dst: *mut u8, src: *const u8, len: usize| {
            copy(dst, src, len);
            if len == 33 {
                // SAFETY: As above.
                unsafe { *dst.sub(1) = 0 };
            }
            dst
        };
        let (mut src, mut dst) = (vec![0; BUFFER], vec![0; BUFFER]);
        for failure in [
            Buffers::new(&mut src, &mut dst)
                .unwrap()
                .every_length(&By(past), Depth::Full),
            Buffers::new(&mut src, &mut dst)
                .unwrap()
                .every_length(&By(before), Depth::Full),
        ] {
            assert_eq!(failure.unwrap_err().reason(), Reason::Outside);
        }
    }

    #[test]
    fn a_far_stray_byte_is_found_in_the_end() {
        let broken = |dst: *mut u8, src: *const u8, len: usize| {
            copy(dst, src, len);
            if len == 5 {
                // SAFETY: The buffer is three pages long, `dst` is in the first.
                unsafe { *dst.add(4096 + 2000) = 7 };
            }
            dst
        };
        let (mut src, mut dst) = (vec![0; BUFFER], vec![0; BUFFER]);
        let result = Buffers::new(&mut src, &mut dst)
            .unwrap()
            .every_alignment(&By(broken), Depth::Quick);
        assert_eq!(result.unwrap_err().reason(), Reason::Outside);
    }

    #[test]
    fn a_changed_source_is_rejected() {
        let broken = |dst: *mut u8, src: *const u8, len: usize| {
            copy(dst, src, len);
            if len == 9 {
                // SAFETY: The source buffer is ours.
                unsafe { *src.cast_mut() ^= 0x40 };
            }
            dst
        };
        let found = reasons(broken);
        assert!(found
            .iter()
            .all(|r| matches!(r, Some(Reason::Source | Reason::Content))));
    }

    #[test]
    fn a_wrong_return_value_is_rejected() {
        let broken = |dst: *mut u8, src, len| {
            copy(dst, src, len);
            dst.wrapping_add(len)
        };
        assert_eq!(reasons(broken), [Some(Reason::ReturnValue); 3]);
    }

    #[test]
    fn buffers_must_be_large_enough() {
        let (mut src, mut dst) = (vec![0; BUFFER - 1], vec![0; BUFFER - 1]);
        assert!(Buffers::new(&mut src, &mut dst).is_none());
    }
}

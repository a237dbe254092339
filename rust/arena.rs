// SPDX-License-Identifier: GPL-2.0-only

//! The memory that a plan's copies work on, and the calls of a window.

use kernel::{
    page::PAGE_SIZE,
    prelude::*, //
};

use crate::{
    bindings::repmov_args,
    cell::{
        Cell,
        Place, //
    },
    guard::Guarded,
    pure::{
        choice::{
            Cache,
            Draw,
            Mem, //
        },
        cost::DRAWN,
        draw::Lengths,
        plan::Plan, //
    },
};

#[cfg(not(CONFIG_UML))]
use crate::mapping::{
    self,
    Mapping, //
};

/// Bytes of a cache line.
const LINE: usize = 64;

/// Calls left unused at the ring's start, which is that of a page: where a copy at offset 0 stores
/// must not look, by the low bits of its address, like where the next call's arguments are.
const RING: usize = 3968 / size_of::<repmov_args>();

/// Both buffers, up to pages that are not mapped, and the ring of calls.
pub(crate) struct Arena {
    src: Guarded,
    dst: Guarded,
    len: usize,
    /// From one place to the next, where a window goes through several.
    stride: usize,
    ring: VVec<repmov_args>,
    /// User memory, behind which nothing is mapped.
    #[cfg(not(CONFIG_UML))]
    user: Option<Mapping>,
}

const NOTHING: repmov_args = repmov_args {
    dst: core::ptr::null_mut(),
    src: core::ptr::null(),
    len: 0,
    unused: 0,
};

impl Arena {
    /// # Errors
    ///
    /// [`ENOMEM`], [`EFAULT`] if there are no guard pages, [`ESRCH`] if the plan needs the memory of
    /// a process and this thread has none.
    pub(crate) fn new(plan: &Plan) -> Result<Arena> {
        let len = plan.buffer() as usize;
        let (mut src, mut dst) = (Guarded::new(len)?, Guarded::new(len)?);
        src.as_mut_slice().fill(0x5a);
        dst.as_mut_slice().fill(0xa5);
        Ok(Arena {
            src,
            dst,
            len,
            stride: plan.stride() as usize,
            ring: VVec::from_elem(NOTHING, DRAWN as usize + RING, GFP_KERNEL)?,
            #[cfg(not(CONFIG_UML))]
            user: user(plan)?,
        })
    }

    /// Start and end of user memory; the plan was refused if it needs some and there can be none.
    fn user(&self) -> (usize, usize) {
        #[cfg(not(CONFIG_UML))]
        if let Some(user) = &self.user {
            return (user.address(), user.address() + self.stride);
        }
        (0, 0)
    }

    /// Destination and source of the first call.
    fn sides(&mut self, place: &Place) -> (usize, usize) {
        let (user, user_end) = self.user();
        let src = self.src.as_mut_slice().as_ptr() as usize;
        let dst = self.dst.as_mut_slice().as_ptr() as usize;
        match (place.mem, place.fault) {
            (Mem::Kernel, None) => (dst + place.dst, src + place.src),
            (Mem::Kernel, Some(byte)) => (dst + place.dst, src + self.len - byte),
            (Mem::FromUser, None) => (dst + place.dst, user + place.src),
            (Mem::FromUser, Some(byte)) => (dst + place.dst, user_end - byte),
            (Mem::ToUser, None) => (user + place.dst, src + place.src),
            (Mem::ToUser, Some(byte)) => (user_end - byte, src + place.src),
        }
    }

    /// Offsets of destination and source from page boundaries, as the calls have them.
    pub(crate) fn offsets(&mut self, place: &Place) -> (usize, usize) {
        let (dst, src) = self.sides(place);
        (dst & (PAGE_SIZE - 1), src & (PAGE_SIZE - 1))
    }

    /// How many calls the ring has for a cell.
    fn slots(&self, plan: &Plan, place: &Place) -> usize {
        match plan.draw {
            Draw::Each => place.cache.slots(self.stride as u64) as usize,
            Draw::Random => DRAWN as usize,
        }
    }

    /// The most calls that a window of a cell may have; none: as many as one likes.
    pub(crate) fn most_calls(&self, plan: &Plan, cell: &Cell) -> Option<u64> {
        let bounded = plan.draw == Draw::Random || is_cold(cell.place.cache);
        (bounded && cell.timed().is_some()).then(|| self.slots(plan, &cell.place) as u64)
    }

    /// The calls of a cell. Where lengths are drawn, the seed decides them.
    pub(crate) fn ring(&mut self, plan: &Plan, place: &Place, seed: u64) -> &[repmov_args] {
        let (dst, src) = self.sides(place);
        let slots = self.slots(plan, place).min(self.ring.len() - RING);
        let (dst_step, src_step) = match place.cache {
            Cache::Hot => (0, 0),
            Cache::L2Src | Cache::ColdSrc => (0, self.stride),
            Cache::ColdDst => (self.stride, 0),
        };
        let mut lengths = Lengths::new(&plan.len, &plan.weight, seed);
        let round = slots - 1;
        for (i, call) in self.ring[RING..RING + slots].iter_mut().enumerate() {
            // Not one behind the other, or the prefetchers would take all for one long copy.
            let slot = i * 37 & round;
            *call = repmov_args {
                dst: (dst + slot * dst_step) as *mut c_void,
                src: (src + slot * src_step) as *const c_void,
                len: match plan.draw {
                    Draw::Each => place.len,
                    Draw::Random => lengths.draw() as usize,
                },
                unused: 0,
            };
        }
        &self.ring[RING..RING + slots]
    }
}

fn is_cold(cache: Cache) -> bool {
    matches!(cache, Cache::ColdSrc | Cache::ColdDst)
}

/// Takes the memory that is to be cold out of all caches.
pub(crate) fn flush(place: &Place, ring: &[repmov_args]) {
    if !is_cold(place.cache) {
        return;
    }
    for call in ring {
        let start = match place.cache {
            Cache::ColdSrc => call.src as usize,
            _ => call.dst as usize,
        };
        for line in (start & !(LINE - 1)..start + call.len).step_by(LINE) {
            // SAFETY: The line is in one of the arena's buffers; its content stays.
            unsafe { core::arch::asm!("clflush [{}]", in(reg) line, options(nostack)) };
        }
    }
    // SAFETY: Only waits.
    unsafe { core::arch::asm!("mfence", options(nostack)) };
}

/// The user memory that a plan needs, touched, so that only what is to fault does.
#[cfg(not(CONFIG_UML))]
fn user(plan: &Plan) -> Result<Option<Mapping>> {
    if !plan.is_user() {
        return Ok(None);
    }
    if !mapping::give() {
        return Err(ESRCH);
    }
    let pages = plan.stride() as usize / PAGE_SIZE;
    let user = Mapping::before_nothing(pages)?;
    let page = KVec::from_elem(0x5au8, PAGE_SIZE, GFP_KERNEL)?;
    for at in 0..pages {
        user.fill(at * PAGE_SIZE, &page)?;
    }
    Ok(Some(user))
}

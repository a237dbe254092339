// SPDX-License-Identifier: GPL-2.0-only

//! Calling an instance: directly, with every register watched, or many times for timing.

use core::mem;

use kernel::{
    interrupt::local_interrupt_disable,
    prelude::*, //
};

use crate::{
    bindings,
    instance::Instance,
    pure::{
        abi::{
            Clobbers,
            Registers,
            Watched, //
        },
        copies::{
            Returns,
            Routine, //
        },
    },
};

/// What every instance is: a destination and an unsigned number of bytes both fill a register.
type Copy = unsafe extern "C" fn(*mut u8, *const u8, usize) -> usize;

impl Routine for Instance {
    fn returns(&self) -> Returns {
        match self.routine() {
            "memcpy" => Returns::Destination,
            _ => Returns::Left,
        }
    }

    unsafe fn copy(&self, dst: *mut u8, src: *const u8, len: usize) -> usize {
        // SAFETY: An instance is called as this type says (`asm/site.h`).
        let copy = unsafe { mem::transmute::<*const c_void, Copy>(self.address()) };
        // SAFETY: The caller vouches for the buffers.
        unsafe { copy(dst, src, len) }
    }
}

kernel::sync::global_lock! {
    // SAFETY: `init` below is called once, when the module is loaded and before anything calls.
    unsafe(uninit) static TRAMPOLINE: Mutex<()> = ();
}

/// Makes the trampoline ready.
///
/// # Safety
///
/// To be called exactly once, before any [`Watched::watched`].
pub(crate) unsafe fn init() {
    // SAFETY: The caller calls once.
    unsafe { TRAMPOLINE.init() };
}

impl Watched for Instance {
    fn clobbers(&self) -> Clobbers {
        self.may_change()
    }

    unsafe fn watched(&self, dst: *mut u8, src: *const u8, len: usize) -> (Registers, Registers) {
        let _trampoline = TRAMPOLINE.lock();
        let _off = local_interrupt_disable();
        // SAFETY: The lock makes this the only caller, interrupts are off, and the caller vouches
        // for the buffers. The two structures are as long as `Registers`, all of 64-bit integers,
        // and nobody else touches them.
        unsafe {
            bindings::repmov_call_checked(self.address(), dst.cast(), src.cast(), len);
            (
                mem::transmute::<bindings::repmov_regs, Registers>(bindings::repmov_regs_before),
                mem::transmute::<bindings::repmov_regs, Registers>(bindings::repmov_regs_after),
            )
        }
    }
}

/// Calls a routine `calls` times, at least once, with the arguments of a ring in turn.
///
/// # Safety
///
/// `routine` must be an instance's entry, [`empty`] or [`chain`], and every entry of the ring, of which there
/// must be a power of two, one that it may be called with: readable and writable memory that does
/// not overlap, or memory whose faults the routine mends.
#[inline]
pub(crate) unsafe fn repeatedly(
    routine: *const c_void,
    ring: &[bindings::repmov_args],
    calls: u64,
) {
    let mask = ring.len().saturating_sub(1) * size_of::<bindings::repmov_args>();
    // SAFETY: The caller vouches for the arguments.
    unsafe { bindings::repmov_call_loop(routine, ring.as_ptr(), mask, calls as usize) };
}

/// The function that does nothing.
pub(crate) fn empty() -> *const c_void {
    (&raw const bindings::repmov_empty).cast()
}

/// The function that takes a known number of the core's cycles, and that number.
pub(crate) fn chain() -> (*const c_void, u64) {
    // SAFETY: A constant, in read-only data.
    let length = unsafe { bindings::repmov_chain_length };
    (
        (&raw const bindings::repmov_chain).cast(),
        u64::from(length),
    )
}

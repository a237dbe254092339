// SPDX-License-Identifier: GPL-2.0-only

//! The negative control of `make stress`: does one bad thing when it is loaded, so that it is seen
//! that the debug kernel finds it, in Rust code too. What C code does badly, the kernel's own LKDTM
//! does.

use core::ptr;

use kernel::{
    new_mutex,
    new_spinlock,
    prelude::*, //
};

module! {
    type: Provoke,
    name: "provoke",
    authors: ["The repmov developers"],
    description: "Does one bad thing, to be found by a debug kernel",
    license: "GPL v2",
    params: {
        what: u8 {
            default: 0,
            description: "1: leak; 2: use after free; 3: lock order; 4: sleep in atomic context",
        },
    },
}

struct Provoke;

/// Loses some memory, often: the addresses of what was allocated last stay where the allocator had
/// them, which kmemleak takes for references.
fn leak() -> Result {
    for _ in 0..4096 {
        let _ = KBox::into_raw(KBox::new([0u8; 200], GFP_KERNEL)?);
    }
    Ok(())
}

/// Reads memory that was given back.
fn use_after_free() -> Result {
    let memory = KBox::new([1u64; 25], GFP_KERNEL)?;
    let stale: *const u64 = memory[7..].as_ptr();
    drop(memory);
    // SAFETY: There is none: this is what is to be found.
    pr_info!("read {}\n", unsafe { ptr::read_volatile(stale) });
    Ok(())
}

/// Takes two locks in both orders.
fn lock_order() -> Result {
    let one = KBox::pin_init(new_mutex!(1), GFP_KERNEL)?;
    let other = KBox::pin_init(new_mutex!(2), GFP_KERNEL)?;
    let sum = *one.lock() + *other.lock();
    let mus = *other.lock() + *one.lock();
    pr_info!("{sum} {mus}\n");
    Ok(())
}

/// May sleep where it must not.
fn sleep_in_atomic() -> Result {
    let spin = KBox::pin_init(new_spinlock!(1), GFP_KERNEL)?;
    let sleeps = KBox::pin_init(new_mutex!(2), GFP_KERNEL)?;
    let held = spin.lock();
    pr_info!("{}\n", *held + *sleeps.lock());
    Ok(())
}

impl kernel::Module for Provoke {
    fn init(_module: &'static ThisModule) -> Result<Self> {
        match module_parameters::what.value() {
            1 => leak()?,
            2 => use_after_free()?,
            3 => lock_order()?,
            4 => sleep_in_atomic()?,
            _ => return Err(EINVAL),
        }
        Ok(Provoke)
    }
}

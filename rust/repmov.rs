// SPDX-License-Identifier: GPL-2.0-only

//! repmov: a bench for the x86 copy routines that choose between scalar code and `REP MOVS`.
//!
//! The module carries the kernel's memcpy() and candidates to replace it, each assembled once for
//! every combination of ERMS and FSRM and patched by the kernel's own loader. Loading it only
//! makes the files in `/sys/kernel/debug/repmov`; what they do is said in `files`.

use kernel::{
    prelude::*,
    sync::Arc, //
};

/// The generated bindings to `asm/repmov.h`.
#[allow(
    clippy::all,
    clippy::ptr_as_ptr,
    clippy::ref_as_ptr,
    clippy::undocumented_unsafe_blocks,
    dead_code,
    missing_docs,
    non_camel_case_types,
    non_upper_case_globals,
    non_snake_case,
    unreachable_pub,
    unsafe_op_in_unsafe_fn
)]
mod bindings {
    include!(concat!(env!("REPMOV_GEN"), "/bindings.rs"));
}

/// What needs no kernel, and is tested without one.
#[allow(dead_code, unreachable_pub)]
#[path = "core/lib.rs"]
mod pure;

mod arena;
mod bench;
mod call;
mod cell;
mod checks;
mod clock;
mod counters;
#[cfg(not(CONFIG_UML))]
mod extable;
mod files;
mod guard;
mod instance;
mod machine;
#[cfg(not(CONFIG_UML))]
mod mapping;
mod run;
mod symbol;
mod text;
#[cfg(not(CONFIG_UML))]
mod user;
mod verify;
mod wanted;

#[cfg(CONFIG_KUNIT = "y")]
#[path = "../kunit/controls.rs"]
mod controls;
#[cfg(CONFIG_KUNIT = "y")]
#[path = "../kunit/suites.rs"]
mod suites;

module! {
    type: Repmov,
    name: "repmov",
    authors: ["The repmov developers"],
    description: "Bench for the x86 copy routines",
    license: "GPL v2",
}

struct Repmov {
    _files: files::Files,
}

impl kernel::Module for Repmov {
    fn init(module: &'static ThisModule) -> Result<Self> {
        // SAFETY: The module is loaded once, and nothing calls before the files are there.
        unsafe { call::init() };
        let bench = Arc::pin_init(bench::Bench::new(), GFP_KERNEL)?;
        Ok(Repmov {
            _files: files::Files::new(bench, module)?,
        })
    }
}

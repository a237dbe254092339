// SPDX-License-Identifier: GPL-2.0-only

//! The lab: the toolchain root, the kernel's source and build tree, and the cache folder that holds
//! what is made once. Knows nothing of guests or of what is measured.

pub mod cache;
pub mod debian;
pub mod kbuild;
pub mod open;
pub mod sandbox;
pub mod setup;
pub mod stale;
pub mod step;

use std::path::PathBuf;

use sandbox::Root;

/// A kernel to build the module for and to boot, and the tools for both.
pub struct Lab {
    /// Where commands run.
    pub root: Root,
    /// As `uname -r` says it.
    pub release: String,
    /// The compiler, if it has to be named.
    pub cc: Option<String>,
    /// The kernel's source.
    pub source: PathBuf,
    /// The kernel's build tree.
    pub build: PathBuf,
    /// What to boot.
    pub image: PathBuf,
    pub qemu: PathBuf,
    pub busybox: PathBuf,
    /// The build tree and the tools are the user's own.
    pub own: bool,
    /// A folder of more candidates.
    pub extra: Option<PathBuf>,
}

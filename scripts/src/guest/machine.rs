// SPDX-License-Identifier: GPL-2.0-only

//! The machine that boots run on: a kernel, what executes it, and the archive it starts from.

use anyhow::{ensure, Result};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::guest::accel::Accel;
use crate::guest::initramfs::{self, Contents};
use crate::guest::kvm;
use crate::lab::cache::Cache;
use crate::lab::sandbox::Root;
use crate::lab::Lab;

/// How long a boot may take with all its jobs.
const LIMIT: Duration = Duration::from_secs(600);

/// What all boots have in common.
#[derive(Clone)]
pub struct Machine {
    /// Where QEMU or the kernel runs.
    pub root: Root,
    /// Nothing runs it if the kernel is a process.
    pub qemu: PathBuf,
    pub accel: Accel,
    /// Of a guest in QEMU.
    pub cpus: u32,
    pub kernel: PathBuf,
    pub initrd: PathBuf,
    /// A guest that sends nothing for this long hangs.
    pub silence: Duration,
    /// A guest that takes longer than this is ended.
    pub limit: Duration,
}

/// The machine that all boots of this lab run on.
pub fn stock(
    cache: &Cache,
    lab: &Lab,
    checkout: &Path,
    module: &Path,
    plans: &str,
    silence: Duration,
) -> Result<Machine> {
    ensure!(
        lab.image.exists(),
        "no kernel to boot: {} is missing",
        lab.image.display()
    );
    let initrd = cache.path("initrd.cpio");
    let contents = Contents {
        busybox: &lab.busybox,
        module: Some(module),
        guest: &checkout.join("scripts/guest"),
        plans,
        more: &[],
    };
    let accel = kvm::accel(cache, &lab.root, &lab.qemu, &lab.image)?;
    of(lab, accel, lab.image.clone(), initrd, &contents, silence)
}

/// The machine that boots a kernel of this lab with an archive of these contents, which is written.
pub fn of(
    lab: &Lab,
    accel: Accel,
    kernel: PathBuf,
    initrd: PathBuf,
    contents: &Contents,
    silence: Duration,
) -> Result<Machine> {
    initramfs::write(&initrd, contents)?;
    Ok(Machine {
        root: lab.root.clone(),
        qemu: lab.qemu.clone(),
        accel,
        cpus: 1,
        kernel,
        initrd,
        silence,
        limit: LIMIT,
    })
}

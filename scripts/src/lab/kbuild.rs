// SPDX-License-Identifier: GPL-2.0-only

//! Building the module.

use anyhow::{ensure, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::lab::cache::Cache;
use crate::lab::stale;
use crate::lab::Lab;
use crate::os::parallel::jobs;
use crate::os::progress::Progress;

/// Builds repmov.ko, warnings and all into module.log.
pub fn build(cache: &Cache, lab: &Lab, checkout: &Path) -> Result<PathBuf> {
    let progress = Progress::start("module");
    let log = cache.log("module")?;
    let folder = out(cache);
    let mut make = make_into(lab, checkout, &folder)?;
    let made = stale::build(&folder, || log.run(make.arg("modules"), &progress));
    if let Err(e) = made {
        progress.fail("failed");
        return Err(e.context("the module does not build"));
    }
    let module = folder.join("repmov.ko");
    ensure!(
        module.exists(),
        "the build left no {}: see {}",
        module.display(),
        log.path().display()
    );
    progress.done();
    Ok(module)
}

/// `make` for the module, without a target, that puts what it makes into `out`.
pub fn make_into(lab: &Lab, checkout: &Path, out: &Path) -> Result<Command> {
    let mut make = lab.root.command("make", checkout)?;
    make.arg("-C")
        .arg(&lab.build)
        .arg(format!("M={}", checkout.display()));
    make.arg(format!("MO={}", out.display())).arg(jobs());
    if let Some(cc) = &lab.cc {
        make.arg(format!("CC={cc}"));
        make.arg(format!("KERNELRELEASE={}", lab.release));
    }
    if let Some(extra) = &lab.extra {
        make.arg(format!("REPMOV_EXTRA={}", extra.display()));
    }
    Ok(make)
}

/// The same for a module of some candidates alone, from the sources in `folder`. It is linked, and
/// objtool speaks, even if nothing is new.
pub fn make_only(
    lab: &Lab,
    checkout: &Path,
    out: &Path,
    folder: &Path,
    names: &[&str],
) -> Result<Command> {
    let _ = fs::remove_file(out.join("repmov.o"));
    let mut make = make_into(lab, checkout, out)?;
    make.arg(format!("REPMOV_EXTRA={}", folder.display()));
    make.arg(format!("REPMOV_ONLY={}", names.join(" ")));
    Ok(make)
}

/// Where the build puts what it makes.
pub fn out(cache: &Cache) -> PathBuf {
    cache.path("module")
}

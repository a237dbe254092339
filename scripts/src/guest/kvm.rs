// SPDX-License-Identifier: GPL-2.0-only

//! Whether KVM works. /dev/kvm may open and QEMU still hang, so only a boot can tell.

use anyhow::Result;
use std::fs::{self, File};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::guest::accel::Accel;
use crate::lab::cache::Cache;
use crate::lab::sandbox::Root;
use crate::os::progress::Progress;
use crate::os::signals;

/// With KVM, a kernel says its first line within a second.
const PATIENCE: Duration = Duration::from_secs(8);

/// The accelerator to use. The answer of a probe is kept until the machine boots or QEMU changes.
pub fn accel(cache: &Cache, root: &Root, qemu: &Path, kernel: &Path) -> Result<Accel> {
    if File::options()
        .read(true)
        .write(true)
        .open("/dev/kvm")
        .is_err()
    {
        return Ok(Accel::Tcg);
    }
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let binary = fs::metadata(root.outside(&qemu.to_string_lossy()))?;
    let fingerprint = format!("{} {:?} {}", boot.trim(), binary.modified()?, binary.len());
    let works = match cache.made("kvm", &fingerprint) {
        Some(works) => works,
        None => {
            let progress = Progress::start("does KVM work");
            let works = probe(cache, root, qemu, kernel)?;
            cache.stamp("kvm", &fingerprint, &works)?;
            progress.fail(if works {
                "yes"
            } else {
                "no: /dev/kvm opens, but a guest hangs"
            });
            works
        }
    };
    Ok(if works { Accel::Kvm } else { Accel::Tcg })
}

fn probe(cache: &Cache, root: &Root, qemu: &Path, kernel: &Path) -> Result<bool> {
    let console = cache.log_path("kvm.log");
    File::create(&console)?;
    let mut command = root.with_device("kvm").command(qemu, cache.dir())?;
    command.args([
        "-nodefaults",
        "-no-reboot",
        "-display",
        "none",
        "-m",
        "512",
        "-cpu",
        "max",
    ]);
    command.args([
        "-accel",
        "kvm",
        "-append",
        "console=ttyS0 earlyprintk=ttyS0 panic=-1",
    ]);
    command
        .arg("-kernel")
        .arg(kernel)
        .arg("-serial")
        .arg(format!("file:{}", console.display()));
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let guard = signals::guard(child.id());
    let start = Instant::now();
    let mut works = false;
    while !works && start.elapsed() < PATIENCE {
        let ended = child.try_wait()?.is_some();
        works = fs::read_to_string(&console)
            .unwrap_or_default()
            .contains("Linux version");
        if ended {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    guard.kill();
    child.wait()?;
    Ok(works)
}

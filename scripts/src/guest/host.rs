// SPDX-License-Identifier: GPL-2.0-only

//! The lab `host`: the module in the kernel of this machine.

use anyhow::{bail, ensure, Context, Result};
use std::fs::{self, File};
use std::io::{self, BufRead, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use crate::lab::Lab;
use crate::os::command::tool;
use crate::os::progress::{print, Progress};
use crate::os::signals;
use crate::record::experiment::Experiment;
use crate::record::provenance;

/// The module's files.
const KNOB: &str = "/sys/kernel/debug/repmov";

/// The module, loaded; unloaded when dropped.
struct Loaded;

impl Drop for Loaded {
    fn drop(&mut self) {
        let done = Command::new("rmmod")
            .arg("repmov")
            .process_group(0)
            .status();
        if !done.is_ok_and(|status| status.success()) {
            print("rmmod fails: the module stays loaded");
        }
    }
}

/// Loads the module, which [`fits`], if it may, and runs the plans; the parts of the record.
pub fn measure(
    checkout: &Path,
    module: &Path,
    experiment: &Experiment,
    yes: bool,
) -> Result<String> {
    ensure!(
        nix::unistd::geteuid().is_root(),
        "LAB=host loads a module, which takes root"
    );
    ensure!(
        !Path::new(KNOB).exists(),
        "{KNOB} is there already: rmmod repmov first"
    );
    ensure!(yes || agreed(module)?, "not loaded: nothing was changed");
    tool("insmod")?;
    // Dropped after the module is unloaded.
    let gentle = signals::gently();
    let status = Command::new("insmod")
        .arg(module)
        .process_group(0)
        .status()?;
    ensure!(
        status.success(),
        "insmod refuses the module ({status}): see dmesg"
    );
    let _loaded = Loaded;
    ensure!(
        Path::new(KNOB).exists(),
        "no {KNOB}: is debugfs mounted on /sys/kernel/debug?"
    );
    let mut text = String::new();
    let progress = Progress::start(&experiment.name);
    for plan in &experiment.plans {
        ensure!(!gentle.asked(), "ended by a signal");
        progress.say(plan);
        text += &one(plan)?;
    }
    progress.done();
    let mut facts = provenance::common(checkout, "host", experiment, 1)?;
    facts.extend(provenance::host());
    Ok(provenance::add(&text, &facts))
}

/// Runs one plan; its part of the record.
fn one(plan: &str) -> Result<String> {
    let knob = Path::new(KNOB);
    let failed = || {
        let status = fs::read_to_string(knob.join("status")).unwrap_or_default();
        format!("{plan}: {}", status.trim())
    };
    fs::write(knob.join("plan"), plan).with_context(failed)?;
    // Not again if a signal comes, as fs::write() would.
    let mut run = File::options().write(true).open(knob.join("run"))?;
    run.write(b"1").with_context(failed)?;
    fs::read_to_string(knob.join("timings")).with_context(failed)
}

/// Fails unless the module would load into the kernel of this machine.
pub fn fits(lab: &Lab) -> Result<()> {
    let running = fs::read_to_string("/proc/sys/kernel/osrelease").context("no /proc")?;
    same(running.trim(), &lab.release)
}

fn same(running: &str, built: &str) -> Result<()> {
    if running != built {
        bail!(
            "this machine runs Linux {running} and the module is for {built}: say KDIR=<the build \
             tree of the running kernel>, or boot {built}"
        );
    }
    Ok(())
}

/// Asks whoever sits there.
fn agreed(module: &Path) -> Result<bool> {
    write!(
        io::stdout(),
        "load {} into the kernel of this machine, time there, and unload it? [y/N] ",
        module.display()
    )?;
    io::stdout().flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(is_yes(&answer))
}

fn is_yes(answer: &str) -> bool {
    matches!(answer.trim(), "y" | "Y" | "yes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_very_kernel() {
        same("7.3.4", "7.3.4").unwrap();
        let error = same("6.1.0-1-amd64", "7.3.4").unwrap_err().to_string();
        assert!(error.contains("runs Linux 6.1.0-1-amd64"), "{error}");
    }

    #[test]
    fn silence_is_no_consent() {
        assert!(is_yes("y\n") && is_yes("yes\n"));
        assert!(!is_yes("\n") && !is_yes("") && !is_yes("no\n") && !is_yes("yy\n"));
    }
}

// SPDX-License-Identifier: GPL-2.0-only

//! `repmov run`: is the code right, and how long does it take.

use anyhow::{ensure, Context, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::boot::{Accel, Boot, Machine};
use crate::cache::Cache;
use crate::initramfs;
use crate::ktap::{Results, Status};
use crate::kvm;
use crate::lab::Lab;
use crate::module;
use crate::progress::Progress;
use crate::table::Record;

/// Said of everything that was timed under TCG.
pub const EMULATED: &str = "emulated: these times say nothing about hardware";

/// Has the kernel apply the mitigation on every CPU.
pub const ITS: &str = "indirect_target_selection=force";

/// Builds the module, boots it, prints the verdicts and the times. False if a check failed.
pub fn run(cache: &Cache, lab: &Lab, checkout: &Path, silence: Duration) -> Result<bool> {
    let module = module::build(cache, lab, checkout)?;
    let machine = machine(cache, lab, checkout, &module, silence)?;
    let progress = Progress::start("boot");
    let jobs = ["info", "instances", "quick", "timings"]
        .map(str::to_string)
        .to_vec();
    let boot = Boot {
        name: "run".into(),
        append: vec![ITS.into()],
        jobs,
    };
    let sent = machine.boot(cache, &boot, &progress)?;
    progress.done();
    let results = Results::parse(cache, lab, "run", sent.text("quick")?)?;
    println!();
    let right = verdicts(&results);
    println!("(thin sweeps, to be repeated while editing; make check makes the full ones)");
    times(checkout, lab, machine.accel, sent.text("timings")?)?;
    Ok(right)
}

/// The machine that all boots of this lab run on.
pub fn machine(
    cache: &Cache,
    lab: &Lab,
    checkout: &Path,
    module: &Path,
    silence: Duration,
) -> Result<Machine> {
    ensure!(
        lab.image.exists(),
        "no kernel to boot: {} is missing",
        lab.image.display()
    );
    let initrd = cache.path("initrd.cpio");
    initramfs::write(
        &initrd,
        &lab.busybox,
        module,
        &checkout.join("scripts/guest"),
    )?;
    let accel = kvm::accel(cache, &lab.root, &lab.qemu, &lab.image)?;
    let (root, qemu, kernel) = (lab.root.clone(), lab.qemu.clone(), lab.image.clone());
    let limit = Duration::from_secs(600);
    Ok(Machine {
        root,
        qemu,
        accel,
        kernel,
        initrd,
        silence,
        limit,
    })
}

/// A suite's name, repmov_ROUTINE_CANDIDATE_MASK, as words: only a routine's own has underscores.
fn words(suite: &str) -> String {
    let name = suite.strip_prefix("repmov_").unwrap_or(suite);
    let mut words: Vec<_> = name.rsplitn(3, '_').collect();
    words.reverse();
    words.join(" ")
}

/// Prints a line for each suite and the words of each failure. True if nothing failed.
fn verdicts(results: &Results) -> bool {
    for (suite, cases) in results.suites() {
        let failed: Vec<_> = cases.iter().filter(|case| case.bad()).collect();
        let skipped = cases
            .iter()
            .filter(|case| case.status == Status::Skip)
            .count();
        let name = words(suite);
        let word = if failed.is_empty() { "right" } else { "WRONG" };
        let mut line = format!("{name:<46} {word}  {} checks", cases.len());
        if skipped > 0 {
            line += &format!(", {skipped} skipped");
        }
        println!("{line}");
        for case in failed {
            println!(
                "    {}: {}",
                case.name,
                case.message.replace('\n', "\n        ")
            );
        }
    }
    if let Some(problem) = results.problem() {
        println!("{problem}");
    }
    results.good()
}

/// Prints the times and keeps the record.
fn times(checkout: &Path, lab: &Lab, accel: Accel, timings: &str) -> Result<()> {
    let record = Record::parse(timings)?;
    println!("\nns per call, less an empty call: least and median");
    if accel == Accel::Tcg {
        println!("{EMULATED}");
    }
    print!("{}", record.tables());
    if record.irqs_on() {
        println!("* timed with interrupts on: a single call takes longer than a window may");
    }
    println!();
    for (key, value) in &record.headers {
        println!("{key}: {value}");
    }
    let lab_name = format!("qemu-{}", accel.name());
    println!("lab: {lab_name}");
    if accel == Accel::Tcg {
        println!("{EMULATED}");
    }
    println!(
        "record: {}",
        keep(checkout, lab, accel, &lab_name, timings)?.display()
    );
    Ok(())
}

/// Writes the record to results/, with the lab among its first lines.
fn keep(
    checkout: &Path,
    lab: &Lab,
    accel: Accel,
    lab_name: &str,
    timings: &str,
) -> Result<PathBuf> {
    let date = Command::new("date")
        .arg("+%Y-%m-%dT%H%M%S")
        .output()
        .context("date")?;
    let date = String::from_utf8_lossy(&date.stdout).trim().to_string();
    let folder = checkout.join("results");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let path = folder.join(format!("{date}-{lab_name}-{}.tsv", lab.release));
    let (version, rest) = timings.split_once('\n').unwrap_or((timings, ""));
    let mut text = format!("{version}\n# lab: {lab_name}\n");
    if accel == Accel::Tcg {
        text += &format!("# note: {EMULATED}\n");
    }
    fs::write(&path, text + rest).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}

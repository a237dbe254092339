// SPDX-License-Identifier: GPL-2.0-only

//! `repmov run`: is the code right, and how long does it take.

use anyhow::{ensure, Result};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::admit::{admit, Alike};
use crate::boot::{Accel, Boot, Machine};
use crate::cache::Cache;
use crate::contrast::Chosen;
use crate::experiment::Experiment;
use crate::initramfs::{self, Contents};
use crate::ktap::{Results, Status};
use crate::kvm;
use crate::lab::Lab;
use crate::module;
use crate::origin;
use crate::progress::{print, Progress};
use crate::record;
use crate::tell;
use crate::time;

/// Said of everything that was timed under TCG.
pub const EMULATED: &str = "emulated: these times say nothing about hardware";

/// How long a boot may take with all its jobs.
const LIMIT: Duration = Duration::from_secs(600);

/// Has the kernel apply the mitigation on every CPU.
pub const ITS: &str = "indirect_target_selection=force";

/// What the kernel says of a CPU with the mitigation in force.
pub const ALIGNED: &str = "Mitigation: Aligned branch/return thunks";

/// Builds the module, boots it, prints the verdicts and the times. False if a check failed.
pub fn run(cache: &Cache, lab: &Lab, checkout: &Path, silence: Duration) -> Result<bool> {
    let module = module::build(cache, lab, checkout)?;
    let experiment = Experiment::native();
    let plans = experiment.lines();
    let machine = machine(cache, lab, checkout, &module, &plans, silence)?;
    let progress = Progress::start("boot");
    let jobs = ["info", "instances", "quick", "plans"]
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
    print("");
    let right = verdicts(&results);
    print("(thin sweeps, to be repeated while editing; make check makes the full ones)");
    let lab = format!("qemu-{}", machine.accel.name());
    let mut facts = time::common(checkout, &lab, &experiment, 1)?;
    facts.extend(origin::guest(sent.text("info")?));
    let text = origin::add(sent.text("plans")?, &facts);
    tell(&time::keep(checkout, "run", &text)?, text)?;
    Ok(right)
}

/// The machine that all boots of this lab run on.
pub fn machine(
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
    machine_of(lab, accel, lab.image.clone(), initrd, &contents, silence)
}

/// The machine that boots a kernel of this lab with an archive of these contents, which is written.
pub fn machine_of(
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
        print(&line);
        for case in failed {
            // Its words begin with its name, if it had any.
            let said = match case.message.as_str() {
                "" => &case.name,
                message => message,
            };
            print(&format!("    {}", said.replace('\n', "\n        ")));
        }
    }
    if let Some(problem) = results.problem() {
        print(&problem);
    }
    results.good()
}

/// Prints what a record says, and where it is.
pub fn tell(path: &Path, text: String) -> Result<()> {
    let name = path.display().to_string();
    let files = [record::File { name, text }];
    let parts = record::parts(&files)?;
    let stamp = admit(&parts, Alike::Machine, true)?;
    let told = tell::text(&parts, Chosen::default(), stamp)?;
    print(&format!("\n{told}\nrecord: {}", path.display()));
    Ok(())
}

// SPDX-License-Identifier: GPL-2.0-only

//! `repmov time`: runs the plans of an experiment in a lab and keeps the record.

use anyhow::{bail, Result};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::cmd::records;
use crate::guest::accel::Accel;
use crate::guest::boot::Boot;
use crate::guest::host;
use crate::guest::initramfs::Contents;
use crate::guest::kunit::{self, Arch};
use crate::guest::kvm;
use crate::guest::machine::{self, Machine};
use crate::lab::cache::Cache;
use crate::lab::kbuild;
use crate::lab::Lab;
use crate::os::progress::{print, Progress};
use crate::record::experiment::Experiment;
use crate::record::provenance;
use crate::record::store;
use crate::verify::candidate::Candidates;

/// Where a plan runs.
#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
pub enum LabKind {
    /// User Mode Linux: a process of this machine, at native speed
    Um,
    /// Debian's own kernel (or KDIR's) in QEMU
    Qemu,
    /// The KUnit kernel in QEMU
    Kunit,
    /// The kernel of this machine, into which the module is loaded
    Host,
}

/// What is asked for.
pub struct Request {
    /// An experiment's name or file; none: the default set.
    pub plan: Option<String>,
    pub place: Option<LabKind>,
    /// How many boots; none: as many as the experiment says.
    pub runs: Option<u32>,
    /// Where the record goes; none: to results/, by its date.
    pub out: Option<PathBuf>,
    /// The question whether to load the module into this machine's kernel is answered.
    pub yes: bool,
    /// Candidates that come from outside.
    pub given: Option<Candidates>,
}

/// Runs what is asked for, prints what came of it, and where the record is.
pub fn run(
    cache: &Cache,
    lab: &Lab,
    checkout: &Path,
    silence: Duration,
    request: &Request,
) -> Result<bool> {
    let mut experiments = match (request.plan.as_deref(), &request.given) {
        (Some("all"), _) => Experiment::all(checkout)?,
        (Some(name), _) => vec![Experiment::find(checkout, name)?],
        (None, Some(given)) => vec![given.experiment()],
        (None, None) => vec![Experiment::default_set()],
    };
    if let (Some(_), Some(given)) = (&request.plan, &request.given) {
        // Of all there are, those that are of other routines are left out.
        let many = experiments.len() > 1;
        let joined = experiments.into_iter().map(|one| given.join(one));
        let joined = joined.filter(|one| !many || one.is_ok());
        experiments = joined.collect::<Result<_>>()?;
    }
    let place = match request.place {
        Some(place) => place,
        None => normal(cache, lab)?,
    };
    let built = build(cache, lab, checkout, place)?;
    for experiment in &experiments {
        print(&format!("{}: {}", experiment.name, experiment.about));
        let boots = request.runs.unwrap_or(experiment.boots);
        let text = match &built {
            Subject::Module(module) if place == LabKind::Host => {
                host::measure(checkout, module, experiment, request.yes)?
            }
            _ => {
                let machine = machine(cache, lab, checkout, &built, experiment, silence)?;
                measure(cache, checkout, place, &machine, experiment, boots)?
            }
        };
        let path = match &request.out {
            Some(folder) => store::write(folder, &format!("{}.tsv", experiment.name), &text)?,
            None => store::keep(checkout, &experiment.name, &text)?,
        };
        records::show(&path, text)?;
    }
    Ok(true)
}

/// The stock kernel where KVM works, else a process: what runs the instructions of this machine.
fn normal(cache: &Cache, lab: &Lab) -> Result<LabKind> {
    Ok(match kvm::accel(cache, &lab.root, &lab.qemu, &lab.image)? {
        Accel::Kvm => LabKind::Qemu,
        _ if lab.own => bail!(
            "User Mode Linux is built in the toolchain root, which KDIR does without, and KVM does \
             not work here: say LAB=qemu (emulated) or LAB=host, or leave out KDIR"
        ),
        _ => LabKind::Um,
    })
}

/// What is measured, made ready.
pub enum Subject {
    /// The module, for a kernel that is there.
    Module(PathBuf),
    /// A kernel with the module in it.
    Kernel(Arch, PathBuf),
}

/// Builds what a lab needs.
pub fn build(cache: &Cache, lab: &Lab, checkout: &Path, place: LabKind) -> Result<Subject> {
    let arch = match place {
        LabKind::Um => Arch::Um,
        LabKind::Kunit => Arch::X86,
        LabKind::Qemu => return Ok(Subject::Module(kbuild::build(cache, lab, checkout)?)),
        LabKind::Host => {
            host::fits(lab)?;
            return Ok(Subject::Module(kbuild::build(cache, lab, checkout)?));
        }
    };
    Ok(Subject::Kernel(
        arch,
        kunit::build(cache, lab, checkout, arch)?,
    ))
}

/// What boots it with the experiment's plans.
pub fn machine(
    cache: &Cache,
    lab: &Lab,
    checkout: &Path,
    built: &Subject,
    experiment: &Experiment,
    silence: Duration,
) -> Result<Machine> {
    let plans = experiment.lines();
    let (arch, kernel) = match built {
        Subject::Module(module) => {
            return machine::stock(cache, lab, checkout, module, &plans, silence);
        }
        Subject::Kernel(arch, kernel) => (*arch, kernel.clone()),
    };
    let initrd = cache.path(&format!("initrd-{}.cpio", arch.name()));
    let contents = Contents {
        busybox: &lab.busybox,
        module: None,
        guest: &checkout.join("scripts/guest"),
        plans: &plans,
        more: &[],
    };
    let accel = match arch {
        Arch::Um => Accel::Um,
        Arch::X86 | Arch::Debug => kvm::accel(cache, &lab.root, &lab.qemu, &lab.image)?,
    };
    machine::of(lab, accel, kernel, initrd, &contents, silence)
}

/// The lab's name in records.
fn name(place: LabKind, accel: Accel) -> String {
    match place {
        LabKind::Um => "um".into(),
        LabKind::Qemu => format!("qemu-{}", accel.name()),
        LabKind::Kunit => format!("kunit-{}", accel.name()),
        LabKind::Host => "host".into(),
    }
}

/// Boots as often as is asked for; the parts of all boots.
pub fn measure(
    cache: &Cache,
    checkout: &Path,
    place: LabKind,
    machine: &Machine,
    experiment: &Experiment,
    boots: u32,
) -> Result<String> {
    let mut text = String::new();
    for number in 1..=boots {
        let progress = Progress::start(&format!("{}, boot {number} of {boots}", experiment.name));
        let boot = Boot {
            name: format!("time-{}", name(place, machine.accel)),
            // Only the KUnit kernels know the word: they are not to run their suites.
            append: vec!["kunit.enable=0".into()],
            jobs: vec!["info".into(), "plans".into()],
        };
        let sent = match machine.boot(cache, &boot, &progress) {
            Ok(sent) => sent,
            Err(e) => {
                progress.fail("failed");
                return Err(e);
            }
        };
        progress.done();
        let mut facts =
            provenance::common(checkout, &name(place, machine.accel), experiment, number)?;
        facts.extend(provenance::guest(sent.text("info")?));
        if machine.accel != Accel::Tcg {
            facts.extend(provenance::host());
        }
        text += &provenance::add(sent.text("plans")?, &facts);
    }
    Ok(text)
}

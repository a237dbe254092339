// SPDX-License-Identifier: GPL-2.0-only

//! `repmov check`: everything, and each result counted.

use anyhow::{ensure, Result};
use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::bench::{self, ALIGNED, ITS};
use crate::boot::{Accel, Boot, Machine};
use crate::cache::Cache;
use crate::cuts;
use crate::experiment::Experiment;
use crate::ktap::Results;
use crate::kunit::{self, Arch};
use crate::lab::Lab;
use crate::module;
use crate::mutants;
use crate::progress::{print, Progress};
use crate::record;
use crate::sections::Sections;
use crate::setup::remove;
use crate::stress;
use crate::style;
use crate::tally::Tally;
use crate::timings;
use crate::verify;
use crate::workers;

/// KUnit results that x86_64 must report at least.
const RESULTS: usize = 90;

/// Bad patches to be told for what they are: of each kind one that does not take long. All of them,
/// those that hang too, are `repmov verify-bad`.
const BAD: [&str; 10] = [
    "cutoff",
    "noapply",
    "noassemble",
    "noentry",
    "nosymbol",
    "nothunk",
    "objtool",
    "oops",
    "otherfile",
    "shorttail",
];

/// One in so many mutants. All of them are `make mutants`.
const SAMPLE: usize = 37;

/// A boot of the stock kernel: its name, the CPU features it is to do without, and ITS or not.
const BOOTS: [(&str, &[&str], bool); 5] = [
    ("e1f1", &[], true),
    ("e1f0", &["fsrm"], true),
    ("e0f1", &["erms"], true),
    ("e0f0", &["erms", "fsrm"], true),
    ("without-its", &[], false),
];

/// Runs every check; the results.
pub fn run(cache: &Cache, lab: &Lab, checkout: &Path, silence: Duration) -> Tally {
    let tally = Tally::default();
    // First and alone, for the time that it takes.
    let module = tally.check(
        "module from clean, without warnings",
        build(cache, lab, checkout),
    );
    std::thread::scope(|scope| {
        scope.spawn(|| {
            kunits(cache, lab, checkout, &tally);
            let short = ("short", stress::SEED);
            stress::run(cache, lab, checkout, silence, short, &tally);
            timings::check(cache, lab, checkout, silence, &tally);
        });
        style::check(cache, lab, checkout, &tally);
        tally.check("results with holes are refused", cuts::check(cache, lab));
        let Some(module) = module else {
            return tally.skip("boots of the stock kernel", "the module does not build");
        };
        let plans = Experiment::default_set().lines();
        match bench::machine(cache, lab, checkout, &module, &plans, silence) {
            Ok(machine) => {
                boots(cache, lab, checkout, &machine, &tally);
                let names = BAD.map(str::to_string);
                verify::bad::tell(cache, lab, checkout, silence, &names, &tally);
                let told = mutants::tell(cache, lab, checkout, silence, SAMPLE);
                let told = told.and_then(|told| told.result());
                tally.check(&format!("mutants, one in {SAMPLE}"), told);
            }
            Err(e) => tally.fail("boots of the stock kernel", &e),
        }
    });
    tally
}

fn build(cache: &Cache, lab: &Lab, checkout: &Path) -> Result<std::path::PathBuf> {
    remove(&module::out(cache))?;
    let module = module::build(cache, lab, checkout)?;
    style::no_warnings(&fs::read_to_string(cache.log_path("module.log"))?)?;
    Ok(module)
}

fn kunits(cache: &Cache, lab: &Lab, checkout: &Path, tally: &Tally) {
    for arch in [Arch::X86, Arch::Um] {
        let what = format!("kunit {}", arch.name());
        if lab.own {
            tally.skip(
                &what,
                "its kernel is built in the toolchain root, which KDIR does without",
            );
            continue;
        }
        match kunit::run(cache, lab, checkout, arch, None) {
            Ok(run) => {
                tally.results(&what, &run.results);
                if arch == Arch::X86 {
                    let what = format!("kunit x86_64 reports at least {RESULTS} results");
                    tally.check(&what, enough(&run.results));
                }
            }
            Err(e) => tally.fail(&what, &e),
        }
    }
}

/// Fails if these are fewer results than x86_64 must report.
pub fn enough(results: &Results) -> Result<()> {
    let count = results.cases.len();
    ensure!(count >= RESULTS, "it reports {count}, not {RESULTS}");
    Ok(())
}

/// All boots, two at a time.
fn boots(cache: &Cache, lab: &Lab, checkout: &Path, machine: &Machine, tally: &Tally) {
    let one = |_, _, &(name, without, its): &_| {
        let full = name == BOOTS[0].0;
        // The others show what native is there; its text is that of the forced instance, which the
        // first boot and KUnit put through the full sweeps.
        let mut jobs = vec!["info", if full { "verify" } else { "quick" }];
        if full {
            jobs.extend(["instances", "plans"]);
            let knob = checkout.join("scripts/guest/knob.sh").exists();
            jobs.extend(knob.then_some("knob"));
        }
        let what = format!("stock kernel, {name}");
        let progress = Progress::start(&what);
        match boot(cache, machine, name, without, its, &jobs, &progress) {
            Ok(sent) => {
                progress.done();
                let asked = (name, without, its);
                judge(cache, lab, machine, asked, &jobs, &sent, tally);
            }
            Err(e) => {
                progress.fail("failed");
                tally.fail(&what, &e);
            }
        }
        Ok(())
    };
    if let Err(e) = workers::each(2, &BOOTS, one) {
        tally.fail("boots of the stock kernel", &e);
    }
}

fn boot(
    cache: &Cache,
    machine: &Machine,
    name: &str,
    without: &[&str],
    its: bool,
    jobs: &[&str],
    progress: &Progress,
) -> Result<Sections> {
    let mut append = Vec::new();
    if its {
        append.push(ITS.to_string());
    }
    if !without.is_empty() {
        append.push(format!("clearcpuid={}", without.join(",")));
    }
    let jobs = jobs.iter().map(|job| job.to_string()).collect();
    machine.boot(
        cache,
        &Boot {
            name: name.into(),
            append,
            jobs,
        },
        progress,
    )
}

/// Counts what a boot showed.
fn judge(
    cache: &Cache,
    lab: &Lab,
    machine: &Machine,
    (name, without, its): (&str, &[&str], bool),
    jobs: &[&str],
    sent: &Sections,
    tally: &Tally,
) {
    let what = |job: &str| format!("stock kernel, {name}: {job}");
    let state = sent
        .text("info")
        .and_then(|info| as_asked(info, without, its, machine.accel));
    tally.check(&what("CPU and mitigation as asked for"), state);
    for job in ["verify", "quick", "knob"]
        .iter()
        .filter(|job| jobs.contains(job))
    {
        let ktap = sent.text(job);
        match ktap.and_then(|ktap| Results::parse(cache, lab, &format!("{name}-{job}"), ktap)) {
            Ok(results) => tally.results(&what(job), &results),
            Err(e) => tally.fail(&what(job), &e),
        }
    }
    if jobs.contains(&"instances") {
        let rows = sent.text("instances").and_then(|text| {
            ensure!(text.lines().count() > 1, "it lists nothing");
            Ok(())
        });
        tally.check(&what("instances"), rows);
    }
    if jobs.contains(&"plans") {
        let rows = sent.text("plans").and_then(|text| {
            let (name, text) = ("plans".to_string(), text.to_string());
            record::parts(&[record::File { name, text }]).map(drop)
        });
        tally.check(&what("plans"), rows);
        if machine.accel == Accel::Tcg {
            print(&format!("    {}", bench::EMULATED));
        }
    }
}

/// Fails unless the guest's CPU has what was asked for.
pub fn as_asked(info: &str, without: &[&str], its: bool, accel: Accel) -> Result<()> {
    let line = |start: &str| {
        info.lines()
            .find_map(|line| line.strip_prefix(start))
            .unwrap_or("")
    };
    for feature in ["erms", "fsrm"] {
        let has = line("flags ")
            .split_whitespace()
            .any(|flag| flag == feature);
        let wanted = !without.contains(&feature);
        // A real CPU may lack it by itself.
        let free = accel == Accel::Kvm && wanted;
        ensure!(
            has == wanted || free,
            "the guest's CPU has {feature}: {has}, wanted: {wanted}"
        );
    }
    let state = line("vulnerability indirect_target_selection ");
    if its {
        ensure!(
            state == ALIGNED,
            "the kernel says of ITS: \"{state}\", not \"{ALIGNED}\""
        );
    } else if accel == Accel::Tcg {
        ensure!(
            state == "Not affected",
            "the kernel says of ITS: \"{state}\""
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(flags: &str, its: &str) -> String {
        format!("release 7\nflags  {flags}\nvulnerability indirect_target_selection {its}\n")
    }

    #[test]
    fn a_guest_that_is_not_as_asked_for_is_refused() {
        let forced = info("fpu erms fsrm", ALIGNED);
        as_asked(&forced, &[], true, Accel::Tcg).unwrap();
        let message = as_asked(&forced, &["fsrm"], true, Accel::Tcg)
            .unwrap_err()
            .to_string();
        assert!(message.contains("fsrm: true"), "{message}");
        assert!(as_asked(&info("erms", ALIGNED), &[], true, Accel::Tcg).is_err());
        as_asked(&info("erms", ALIGNED), &[], true, Accel::Kvm).unwrap();
        assert!(as_asked(&info("erms fsrm", "Vulnerable"), &[], true, Accel::Tcg).is_err());
        assert!(as_asked(&forced, &[], false, Accel::Tcg).is_err());
        assert!(as_asked("", &[], true, Accel::Tcg).is_err());
    }
}

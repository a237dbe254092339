// SPDX-License-Identifier: GPL-2.0-only

//! `repmov check`: everything, and each result counted.

use anyhow::{ensure, Result};
use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::guest::accel::Accel;
use crate::guest::boot::Boot;
use crate::guest::info::as_asked;
use crate::guest::ktap::Results;
use crate::guest::kunit::{self, Arch};
use crate::guest::machine::{self, Machine};
use crate::guest::mitigation::ITS;
use crate::guest::protocol::Sections;
use crate::lab::cache::Cache;
use crate::lab::kbuild;
use crate::lab::Lab;
use crate::mutants;
use crate::os::files::remove;
use crate::os::parallel;
use crate::os::progress::{print, Progress};
use crate::record::comparable::EMULATED;
use crate::record::experiment::Experiment;
use crate::record::parse;
use crate::selftest::bad;
use crate::selftest::lint;
use crate::selftest::plans;
use crate::selftest::stress;
use crate::selftest::suites::{enough, RESULTS};
use crate::selftest::tally::Tally;
use crate::selftest::truncated;

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
            plans::check(cache, lab, checkout, silence, &tally);
        });
        lint::check(cache, lab, checkout, &tally);
        tally.check(
            "results with holes are refused",
            truncated::check(cache, lab),
        );
        let Some(module) = module else {
            return tally.skip("boots of the stock kernel", "the module does not build");
        };
        let plans = Experiment::default_set().lines();
        match machine::stock(cache, lab, checkout, &module, &plans, silence) {
            Ok(machine) => {
                boots(cache, lab, checkout, &machine, &tally);
                let names = BAD.map(str::to_string);
                bad::check(cache, lab, checkout, silence, &names, &tally);
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
    remove(&kbuild::out(cache))?;
    let module = kbuild::build(cache, lab, checkout)?;
    lint::no_warnings(&fs::read_to_string(cache.log_path("module.log"))?)?;
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
    if let Err(e) = parallel::each(2, &BOOTS, one) {
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
            parse::parts(&[parse::File { name, text }]).map(drop)
        });
        tally.check(&what("plans"), rows);
        if machine.accel == Accel::Tcg {
            print(&format!("    {EMULATED}"));
        }
    }
}

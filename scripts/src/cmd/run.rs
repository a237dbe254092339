// SPDX-License-Identifier: GPL-2.0-only

//! `repmov run`: is the code right, and how long does it take.

use anyhow::Result;
use std::path::Path;
use std::time::Duration;

use crate::cmd::records::show;
use crate::guest::boot::Boot;
use crate::guest::ktap::{Results, Status};
use crate::guest::machine;
use crate::guest::mitigation::ITS;
use crate::lab::cache::Cache;
use crate::lab::kbuild;
use crate::lab::Lab;
use crate::os::progress::{print, Progress};
use crate::record::experiment::Experiment;
use crate::record::provenance;
use crate::record::store;

/// Builds the module, boots it, prints the verdicts and the times. False if a check failed.
pub fn run(cache: &Cache, lab: &Lab, checkout: &Path, silence: Duration) -> Result<bool> {
    let module = kbuild::build(cache, lab, checkout)?;
    let experiment = Experiment::native();
    let plans = experiment.lines();
    let machine = machine::stock(cache, lab, checkout, &module, &plans, silence)?;
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
    let mut facts = provenance::common(checkout, &lab, &experiment, 1)?;
    facts.extend(provenance::guest(sent.text("info")?));
    let text = provenance::add(sent.text("plans")?, &facts);
    show(&store::keep(checkout, "run", &text)?, text)?;
    Ok(right)
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

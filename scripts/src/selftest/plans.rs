// SPDX-License-Identifier: GPL-2.0-only

//! What `repmov check` makes sure of about timing: that every experiment runs, that its record can
//! be read and told, and that what must not be believed is refused. No time is judged.

use anyhow::{ensure, Result};
use std::path::Path;
use std::time::Duration;

use crate::cmd::readme;
use crate::cmd::time::{self, LabKind};
use crate::lab::cache::Cache;
use crate::lab::Lab;
use crate::record::comparable::{admit, Alike};
use crate::record::experiment::Experiment;
use crate::record::parse::{parts, File};
use crate::report::html;
use crate::report::text;
use crate::selftest::tally::Tally;
use crate::stats::comparison::Chosen;
use crate::stats::dataset::pools;
use crate::stats::format::WIDTH;

/// Runs every experiment once, natively, and the default set once emulated.
pub fn check(cache: &Cache, lab: &Lab, checkout: &Path, silence: Duration, tally: &Tally) {
    tally.check(
        "the README's tables and pictures are those of the records",
        readme::run(checkout, true).map(drop),
    );
    if lab.own {
        tally.skip(
            "experiments on um and kunit",
            "their kernels are built in the toolchain root, which KDIR does without",
        );
        return;
    }
    let experiments = match Experiment::all(checkout) {
        Ok(experiments) => experiments,
        Err(e) => return tally.fail("experiments", &e),
    };
    let built = match time::build(cache, lab, checkout, LabKind::Um) {
        Ok(built) => built,
        Err(e) => return tally.fail("kernel to time in", &e),
    };
    let once = |experiment: &Experiment| {
        let machine = time::machine(cache, lab, checkout, &built, experiment, silence)?;
        time::measure(cache, checkout, LabKind::Um, &machine, experiment, 1)
    };
    for experiment in &experiments {
        let told = once(experiment).and_then(|text| tells(cache, &experiment.name, text, true));
        tally.check(&format!("experiment {} on um", experiment.name), told);
    }
    tally.check(
        "default plans on kunit x86_64, not told if emulated",
        emulated(cache, lab, checkout, silence),
    );
}

/// Runs the default set in the KUnit kernel for x86_64. Its times must not be believed if it is
/// emulated.
fn emulated(cache: &Cache, lab: &Lab, checkout: &Path, silence: Duration) -> Result<()> {
    let (default, place) = (Experiment::default_set(), LabKind::Kunit);
    let built = time::build(cache, lab, checkout, place)?;
    let machine = time::machine(cache, lab, checkout, &built, &default, silence)?;
    let text = time::measure(cache, checkout, place, &machine, &default, 1)?;
    let believed = !text.contains("# emulated: yes");
    tells(cache, "default-kunit", text, believed)
}

/// Fails unless a record can be read, has its A/A pairs, and is told in the width of a commit
/// message and as a page; or, if it is not to be believed, unless it is refused.
fn tells(cache: &Cache, name: &str, text: String, believed: bool) -> Result<()> {
    let name = name.to_string();
    let files = [File {
        name: name.clone(),
        text,
    }];
    let parts = parts(&files)?;
    let refused = admit(&parts, Alike::Machine, false);
    if !believed {
        ensure!(refused.is_err(), "emulated times are taken for real ones");
    }
    let stamp = match believed {
        true => refused?,
        false => admit(&parts, Alike::Machine, true)?,
    };
    ensure!(believed == stamp.is_none(), "the stamp is {stamp:?}");
    let table = text::text(&parts, Chosen::default(), stamp)?;
    let wide = table.lines().find(|line| line.chars().count() > WIDTH);
    ensure!(wide.is_none(), "wider than {WIDTH} columns: {wide:?}");
    html::write(
        &pools(&parts)?,
        stamp,
        &cache.log_path(&format!("report-{name}")),
    )?;
    Ok(())
}

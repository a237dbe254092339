// SPDX-License-Identifier: GPL-2.0-only

//! Trying candidates under every mask, without ITS and with it.

use anyhow::Result;
use std::path::Path;
use std::time::Duration;

use crate::guest::initramfs::Contents;
use crate::guest::machine;
use crate::lab::cache::Cache;
use crate::lab::Lab;
use crate::os::progress::Progress;
use crate::verify::attempt::Attempt;
use crate::verify::candidate::Candidates;
use crate::verify::compile::{self, Compiled};
use crate::verify::trial::Trial;
use crate::verify::verdict::{self, Booted};

/// What came of candidates.
pub struct Verdict {
    pub right: bool,
    pub text: String,
}

/// Tries candidates under every mask, with ITS and without.
pub fn judge(
    cache: &Cache,
    lab: &Lab,
    checkout: &Path,
    silence: Duration,
    candidates: &Candidates,
) -> Result<Verdict> {
    let built = compile::build(cache, lab, checkout, candidates)?;
    let machine = machine::stock(cache, lab, checkout, &built.module, "", silence)?;
    let progress = Progress::start("boots without ITS and with it");
    let guest = checkout.join("scripts/guest");
    let trial = |its| Trial {
        cache,
        name: if its { "verify-its" } else { "verify" }.into(),
        once: false,
        machine: machine.clone(),
        its,
        contents: Contents {
            busybox: &lab.busybox,
            module: Some(&built.module),
            guest: &guest,
            plans: "",
            more: &[],
        },
    };
    let states = both(|its| {
        let all = candidates.all.iter();
        let attempts = all.flat_map(|one| Attempt::all(one.routine, candidates.name));
        let attempts = trial(its).run(attempts.collect(), &Progress::silent())?;
        Ok(Booted { its, attempts })
    });
    match states {
        Ok(states) => {
            progress.done();
            Ok(verdict(candidates, &built, &states))
        }
        Err(e) => {
            progress.fail("failed");
            Err(e)
        }
    }
}

/// Does something without ITS and with it, at the same time.
fn both<T: Send>(work: impl Fn(bool) -> Result<T> + Sync) -> Result<[T; 2]> {
    std::thread::scope(|scope| {
        let without = scope.spawn(|| work(false));
        let with = work(true);
        let without = without
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        Ok([without?, with?])
    })
}

/// Everything that was found.
fn verdict(candidates: &Candidates, built: &Compiled, states: &[Booted]) -> Verdict {
    let mut text = verdict::table(candidates.name, states);
    for note in verdict::notes(states) {
        text += &format!("{note}\n");
    }
    for words in &built.objtool {
        text += &format!("\nobjtool: {words}\n");
    }
    for words in &built.exports {
        text += &format!("\nexports: {words}\n");
    }
    text += &verdict::findings(candidates.name, states);
    let right = built.objtool.is_empty() && built.exports.is_empty() && verdict::good(states);
    Verdict { right, text }
}

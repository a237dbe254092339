// SPDX-License-Identifier: GPL-2.0-only

//! `repmov verify`: is a patch that somebody has right, in seconds and without an edit.

mod apply;
pub mod bad;
mod candidate;
pub mod cell;
pub mod compile;
mod diff;
mod given;
mod mail;
mod page;
mod quote;
mod routine;
mod series;
mod timed;
pub mod trial;
mod verdict;

use anyhow::Result;
use std::path::Path;
use std::time::{Duration, Instant};

pub use candidate::Candidates;
pub use given::Given;
pub use routine::{Routine, ROUTINES};

use crate::bench;
use crate::cache::Cache;
use crate::initramfs::Contents;
use crate::lab::Lab;
use crate::progress::{print, Progress};
use cell::Cell;
use compile::Built;
use trial::Trial;
use verdict::State;

/// Tries what is given and prints the verdict. True if everything holds.
pub fn run(
    cache: &Cache,
    lab: &Lab,
    checkout: &Path,
    silence: Duration,
    given: &Given,
) -> Result<bool> {
    let start = Instant::now();
    let candidates = Candidates::make(cache, lab, given)?;
    print(&candidates.told());
    let verdict = judge(cache, lab, checkout, silence, &candidates)?;
    let word = if verdict.right { "right" } else { "WRONG" };
    let took = start.elapsed().as_secs_f32();
    print(&format!("\n{}\n{word}, in {took:.1} s", verdict.text));
    Ok(verdict.right)
}

/// What came of candidates.
pub struct Verdict {
    pub right: bool,
    pub text: String,
}

/// Tries candidates under every mask, with ITS and without.
fn judge(
    cache: &Cache,
    lab: &Lab,
    checkout: &Path,
    silence: Duration,
    candidates: &Candidates,
) -> Result<Verdict> {
    let built = compile::build(cache, lab, checkout, candidates)?;
    let machine = bench::machine(cache, lab, checkout, &built.module, "", silence)?;
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
        let cells = all.flat_map(|one| Cell::all(one.routine, candidates.name));
        let cells = trial(its).run(cells.collect(), &Progress::silent())?;
        Ok(State { its, cells })
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
fn verdict(candidates: &Candidates, built: &Built, states: &[State]) -> Verdict {
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

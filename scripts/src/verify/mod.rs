// SPDX-License-Identifier: GPL-2.0-only

//! `repmov verify`: is a patch that somebody has right, in seconds and without an edit.

mod apply;
mod candidate;
mod cell;
mod compile;
mod diff;
mod given;
mod mail;
mod page;
mod quote;
mod routine;
mod series;
mod trial;
mod verdict;

use anyhow::Result;
use std::path::Path;
use std::time::{Duration, Instant};

pub use candidate::Candidates;
pub use given::Given;

use crate::bench;
use crate::cache::Cache;
use crate::initramfs::Contents;
use crate::lab::Lab;
use crate::progress::Progress;
use trial::Trial;
use verdict::State;

/// Tries what is given under every mask, with ITS and without, and prints the verdict. True if
/// everything holds.
pub fn run(
    cache: &Cache,
    lab: &Lab,
    checkout: &Path,
    silence: Duration,
    given: &Given,
) -> Result<bool> {
    let start = Instant::now();
    let candidates = Candidates::make(cache, lab, given)?;
    candidates.tell();
    let built = compile::build(cache, lab, checkout, &candidates)?;
    let machine = bench::machine(cache, lab, checkout, &built.module, "", silence)?;
    let progress = Progress::start("boots without ITS and with it");
    let guest = checkout.join("scripts/guest");
    let trial = |its| Trial {
        cache,
        machine: machine.clone(),
        its,
        contents: Contents {
            busybox: &lab.busybox,
            module: Some(&built.module),
            guest: &guest,
            plans: "",
        },
    };
    let states = both(|its| {
        let cells = trial(its).run(&candidates)?;
        Ok(State { its, cells })
    });
    match states {
        Ok(states) => {
            progress.done();
            let right = print(&candidates, &built, &states);
            let word = if right { "right" } else { "WRONG" };
            println!("\n{word}, in {:.1} s", start.elapsed().as_secs_f32());
            Ok(right)
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

/// Prints the verdict. True if everything holds.
fn print(candidates: &Candidates, built: &compile::Built, states: &[State]) -> bool {
    println!("\n{}", verdict::table(candidates.name, states).trim_end());
    for note in verdict::notes(states) {
        println!("{note}");
    }
    for words in &built.objtool {
        println!("\nobjtool: {words}");
    }
    for words in &built.exports {
        println!("\nexports: {words}");
    }
    print!("{}", verdict::findings(candidates.name, states));
    built.objtool.is_empty() && built.exports.is_empty() && verdict::good(states)
}

impl Candidates {
    /// Says what they are made of.
    fn tell(&self) {
        for one in &self.all {
            let (name, routine) = (self.name, one.routine);
            match one.base {
                Some(_) => println!("{} {name}: {} as patched", routine.name, routine.file),
                None => println!("{} {name}: a whole source", routine.name),
            }
        }
        for note in &self.notes {
            println!("  {note}");
        }
    }
}

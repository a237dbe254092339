// SPDX-License-Identifier: GPL-2.0-only

//! Mutants in guests, many to a module: what only a kernel can show of them.

use anyhow::{ensure, Result};
use std::collections::BTreeMap;
use std::time::Duration;

use super::build::{Batch, Shop};
use super::fate::{Fate, How, Kill, Place};
use super::mutant::{Id, Mutant};
use crate::guest::initramfs::Contents;
use crate::guest::machine;
use crate::guest::machine::Machine;
use crate::os::parallel;
use crate::os::progress::Progress;
use crate::verify::cell::{Cell, Outcome};
use crate::verify::trial::Trial;

/// Checks that need a kernel. The others ran natively on the code that `patched_text` finds here.
const NEEDED: [&str; 7] = [
    "patched_text",
    "returns",
    "exception_table",
    "calling_convention",
    "source_faults",
    "destination_faults",
    "user_memory",
];

/// Tries all batches, two at a time; the fates.
pub fn run(shop: &Shop, batches: &[Batch], silence: Duration) -> Result<BTreeMap<Id, Fate>> {
    let Some(first) = batches.first() else {
        return Ok(BTreeMap::new());
    };
    let (cache, lab) = (shop.cache, shop.lab);
    let machine = machine::stock(cache, lab, shop.checkout, &first.module, "", silence)?;
    let progress = Progress::start("mutants, in guests");
    let cells = parallel::each(2, batches, |worker, number, batch| {
        progress.say(&format!("module {number} of {}", batches.len()));
        one(shop, batch, &machine, worker)
    })?;
    progress.done();
    fates(&cells.concat())
}

/// Tries one batch. What may be another mutant's doing is tried again, in a guest of its own.
fn one(shop: &Shop, batch: &Batch, machine: &Machine, worker: usize) -> Result<Vec<Cell>> {
    let (cache, lab) = (shop.cache, shop.lab);
    let guest = shop.checkout.join("scripts/guest");
    let trial = |mutants: &[&Mutant]| {
        let all = mutants.iter();
        let cells = all.flat_map(|one| Cell::all(one.routine, &one.name));
        let cells = cells.filter(|cell| NEEDED.contains(&cell.check));
        let trial = Trial {
            cache,
            name: format!("mutants-{worker}"),
            once: true,
            machine: machine.clone(),
            its: true,
            contents: Contents {
                busybox: &lab.busybox,
                module: Some(&batch.module),
                guest: &guest,
                plans: "",
                more: &[],
            },
        };
        trial.run(cells.collect(), &Progress::silent())
    };
    let mut cells = trial(&batch.mutants.iter().collect::<Vec<_>>())?;
    for mutant in &batch.mutants {
        let own = |cell: &Cell| cell.routine == mutant.routine && cell.candidate == mutant.name;
        if cells.iter().any(|cell| own(cell) && doubtful(cell)) {
            cells.retain(|cell| !own(cell));
            cells.extend(trial(&[mutant])?);
        }
    }
    Ok(cells)
}

/// Whether a kernel broke in a place that is not the mutant's own.
fn doubtful(cell: &Cell) -> bool {
    let own = format!("repmov_{}_{}_", cell.routine.name, cell.candidate);
    match &cell.outcome {
        Some(Outcome::Crash(words, _)) => !words.contains(&own),
        Some(Outcome::Hang(_)) => true,
        _ => false,
    }
}

/// What the cells come to for each mutant.
fn fates(cells: &[Cell]) -> Result<BTreeMap<Id, Fate>> {
    let mut fates: BTreeMap<Id, Fate> = BTreeMap::new();
    for cell in cells.iter().filter(|cell| !untried(cell)) {
        let id = (cell.routine.name, cell.candidate.clone());
        let fate = fates.entry(id).or_insert(Fate::Alive);
        let (how, words) = match &cell.outcome {
            Some(Outcome::Wrong(words)) => (How::Words, words),
            Some(Outcome::Hang(words)) => (How::Hang, words),
            Some(Outcome::Crash(words, _)) => (How::Crash, words),
            _ => continue,
        };
        if *fate == Fate::Alive {
            *fate = Fate::Killed(Kill {
                place: Place::Guest,
                how,
                check: cell.check.into(),
                words: words.clone(),
            });
        }
    }
    for cell in cells.iter().filter(|cell| untried(cell)) {
        // Something rejected it before that, or it has no outcome.
        let id = (cell.routine.name, cell.candidate.clone());
        let killed = !matches!(fates.get(&id), None | Some(Fate::Alive));
        ensure!(killed, "{}: {} was not tried", cell.candidate, cell.check);
    }
    Ok(fates)
}

fn untried(cell: &Cell) -> bool {
    matches!(&cell.outcome, Some(Outcome::Untried(_)) | None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::patch::routine::Routine;

    fn cells(outcomes: &[Option<Outcome>]) -> Vec<Cell> {
        let all = Cell::all(Routine::named("memcpy").unwrap(), "orign001").into_iter();
        let with = all.zip(outcomes);
        with.map(|(cell, outcome)| Cell {
            outcome: outcome.clone(),
            ..cell
        })
        .collect()
    }

    #[test]
    fn a_crash_elsewhere_is_doubtful() {
        let at = |place: &str| {
            let words = format!("BUG: unable to handle page fault, at 0010:{place}+0x2/0x80");
            doubtful(&cells(&[Some(Outcome::Crash(words, String::new()))])[0])
        };
        assert!(!at("repmov_memcpy_orign001_e0f0_0"));
        assert!(at("repmov_memcpy_orign002_e0f0_0") && at("memset_orig"));
    }

    #[test]
    fn the_first_rejection_counts() {
        let right = Some(Outcome::Right);
        let wrong = |words: &str| Some(Outcome::Wrong(words.into()));
        let untried = Some(Outcome::Untried("after returns".into()));
        let id = ("memcpy", "orign001".to_string());
        let killed = fates(&cells(&[
            right.clone(),
            wrong("a"),
            wrong("b"),
            untried.clone(),
        ]));
        let killed = killed.unwrap();
        assert!(matches!(&killed[&id], Fate::Killed(kill) if kill.words == "a"));
        let alive = fates(&cells(&[right.clone(), right.clone()])).unwrap();
        assert_eq!(alive[&id], Fate::Alive);
        assert!(fates(&cells(&[right.clone(), untried])).is_err());
        assert!(fates(&cells(&[right, None])).is_err());
    }
}

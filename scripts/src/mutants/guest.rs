// SPDX-License-Identifier: GPL-2.0-only

//! Mutants in guests, many to a module: what only a kernel can show of them.

use anyhow::{ensure, Result};
use std::collections::BTreeMap;
use std::time::Duration;

use super::build::{Batch, Shop};
use super::fate::{Fate, How, Kill, Stage};
use super::mutant::{Id, Mutant};
use crate::guest::initramfs::Contents;
use crate::guest::machine;
use crate::guest::machine::Machine;
use crate::os::parallel;
use crate::os::progress::Progress;
use crate::verify::attempt::{Attempt, Outcome};
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
    let attempts = parallel::each(2, batches, |worker, number, batch| {
        progress.say(&format!("module {number} of {}", batches.len()));
        one(shop, batch, &machine, worker)
    })?;
    progress.done();
    fates(&attempts.concat())
}

/// Tries one batch. What may be another mutant's doing is tried again, in a guest of its own.
fn one(shop: &Shop, batch: &Batch, machine: &Machine, worker: usize) -> Result<Vec<Attempt>> {
    let (cache, lab) = (shop.cache, shop.lab);
    let guest = shop.checkout.join("scripts/guest");
    let trial = |mutants: &[&Mutant]| {
        let all = mutants.iter();
        let attempts = all.flat_map(|one| Attempt::all(one.routine, &one.name));
        let attempts = attempts.filter(|attempt| NEEDED.contains(&attempt.check));
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
        trial.run(attempts.collect(), &Progress::silent())
    };
    let mut attempts = trial(&batch.mutants.iter().collect::<Vec<_>>())?;
    for mutant in &batch.mutants {
        let own = |attempt: &Attempt| {
            attempt.routine == mutant.routine && attempt.candidate == mutant.name
        };
        if attempts
            .iter()
            .any(|attempt| own(attempt) && doubtful(attempt))
        {
            attempts.retain(|attempt| !own(attempt));
            attempts.extend(trial(&[mutant])?);
        }
    }
    Ok(attempts)
}

/// Whether a kernel broke in a place that is not the mutant's own.
fn doubtful(attempt: &Attempt) -> bool {
    let own = format!("repmov_{}_{}_", attempt.routine.name, attempt.candidate);
    match &attempt.outcome {
        Some(Outcome::Crash(words, _)) => !words.contains(&own),
        Some(Outcome::Hang(_)) => true,
        _ => false,
    }
}

/// What the attempts come to for each mutant.
fn fates(attempts: &[Attempt]) -> Result<BTreeMap<Id, Fate>> {
    let mut fates: BTreeMap<Id, Fate> = BTreeMap::new();
    for attempt in attempts.iter().filter(|attempt| !untried(attempt)) {
        let id = (attempt.routine.name, attempt.candidate.clone());
        let fate = fates.entry(id).or_insert(Fate::Alive);
        let (how, words) = match &attempt.outcome {
            Some(Outcome::Wrong(words)) => (How::Words, words),
            Some(Outcome::Hang(words)) => (How::Hang, words),
            Some(Outcome::Crash(words, _)) => (How::Crash, words),
            _ => continue,
        };
        if *fate == Fate::Alive {
            *fate = Fate::Killed(Kill {
                place: Stage::Guest,
                how,
                check: attempt.check.into(),
                words: words.clone(),
            });
        }
    }
    for attempt in attempts.iter().filter(|attempt| untried(attempt)) {
        // Something rejected it before that, or it has no outcome.
        let id = (attempt.routine.name, attempt.candidate.clone());
        let killed = !matches!(fates.get(&id), None | Some(Fate::Alive));
        ensure!(
            killed,
            "{}: {} was not tried",
            attempt.candidate,
            attempt.check
        );
    }
    Ok(fates)
}

fn untried(attempt: &Attempt) -> bool {
    matches!(&attempt.outcome, Some(Outcome::Untried(_)) | None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::patch::routine::Routine;

    fn attempts(outcomes: &[Option<Outcome>]) -> Vec<Attempt> {
        let all = Attempt::all(Routine::named("memcpy").unwrap(), "orign001").into_iter();
        let with = all.zip(outcomes);
        with.map(|(attempt, outcome)| Attempt {
            outcome: outcome.clone(),
            ..attempt
        })
        .collect()
    }

    #[test]
    fn a_crash_elsewhere_is_doubtful() {
        let at = |place: &str| {
            let words = format!("BUG: unable to handle page fault, at 0010:{place}+0x2/0x80");
            doubtful(&attempts(&[Some(Outcome::Crash(words, String::new()))])[0])
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
        let killed = fates(&attempts(&[
            right.clone(),
            wrong("a"),
            wrong("b"),
            untried.clone(),
        ]));
        let killed = killed.unwrap();
        assert!(matches!(&killed[&id], Fate::Killed(kill) if kill.words == "a"));
        let alive = fates(&attempts(&[right.clone(), right.clone()])).unwrap();
        assert_eq!(alive[&id], Fate::Alive);
        assert!(fates(&attempts(&[right.clone(), untried])).is_err());
        assert!(fates(&attempts(&[right, None])).is_err());
    }
}

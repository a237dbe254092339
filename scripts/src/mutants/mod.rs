// SPDX-License-Identifier: GPL-2.0-only

//! `repmov mutants`: do the checks find what is wrong? Sources that differ from a candidate's in one
//! statement go through them, and each must be rejected, or be known to mean the same.

mod build;
mod child;
mod equivalent;
mod fate;
mod guest;
mod image;
mod mutant;
mod native;
mod operator;
mod origin;
mod register;
mod statement;
mod table;

use anyhow::{ensure, Result};
use std::path::Path;
use std::time::Duration;

pub use child::{run as child, Reference};

use crate::lab::cache::Cache;
use crate::lab::kbuild;
use crate::lab::Lab;
use crate::os::atomic;
use build::Shop;
use equivalent::Equivalents;
use fate::{Fate, How, Kill, Stage};
use mutant::Mutant;
use table::Tried;

/// What became of them, in words.
pub struct Told {
    tables: String,
    /// What is wrong, each by itself.
    wrong: Vec<String>,
}

impl Told {
    /// Fails if something is wrong.
    pub fn result(&self) -> Result<()> {
        ensure!(self.wrong.is_empty(), "{}", self.wrong.join("\n"));
        Ok(())
    }
}

/// Tries each `nth` mutant and prints what became of them. True if the checks found all.
pub fn run(
    cache: &Cache,
    lab: &Lab,
    checkout: &Path,
    silence: Duration,
    nth: usize,
) -> Result<bool> {
    kbuild::build(cache, lab, checkout)?;
    let told = tell(cache, lab, checkout, silence, nth)?;
    println!("{}", told.tables);
    for words in &told.wrong {
        println!("{words}");
    }
    Ok(told.wrong.is_empty())
}

/// Tries each `nth` mutant of every candidate of the module, which is built.
pub fn tell(
    cache: &Cache,
    lab: &Lab,
    checkout: &Path,
    silence: Duration,
    nth: usize,
) -> Result<Told> {
    let known = Equivalents::read(checkout)?;
    let shop = Shop {
        cache,
        lab,
        checkout,
    };
    shop.clear()?;
    let origins = origin::origins(cache, lab, checkout)?;
    let wholes: Vec<Mutant> = origins.iter().map(|one| one.whole()).collect();
    let mutants: Vec<Vec<Mutant>> = origins.iter().map(|one| one.mutants(nth)).collect();
    let mut pairs: Vec<(&Mutant, &Mutant)> = wholes.iter().map(|one| (one, one)).collect();
    for (whole, mutants) in wholes.iter().zip(&mutants) {
        pairs.extend(mutants.iter().map(|one| (one, whole)));
    }
    let tried = fates(&shop, &pairs, silence)?;
    let log = cache.log_path("mutants.log");
    atomic::put(&log, table::log(&tried))?;
    // What is whole must live, or being killed means nothing.
    let (wholes, tried) = tried.split_at(wholes.len());
    for (one, fate) in wholes {
        ensure!(
            *fate == Fate::Alive,
            "{} {} itself is rejected: see {}",
            one.routine.name,
            one.candidate,
            log.display()
        );
    }
    let mut wrong = table::wrong(tried, &known);
    let all: Vec<Mutant> = origins.iter().flat_map(|one| one.mutants(1)).collect();
    let keys: Vec<_> = all.iter().map(|one| &one.key).collect();
    let stale = known.stale(&keys);
    wrong.extend(stale.map(|key| format!("scripts/equivalent: no such mutant: {}", key.join("|"))));
    let refused = |tried: &&Tried| tried.1 == Fate::Refused;
    let refused = tried.iter().filter(refused).count();
    let mut tables = table::operators(tried, &known) + "\n" + &table::checks(tried);
    tables += &format!("\n{}", table::equivalents(tried, &known));
    tables += &format!(
        "\n{refused} more were made that the assembler refuses; all are in {}",
        log.display()
    );
    Ok(Told { tables, wrong })
}

/// Tries them, natively first; those that live, in guests.
fn fates(shop: &Shop, pairs: &[(&Mutant, &Mutant)], silence: Duration) -> Result<Vec<Tried>> {
    let all: Vec<Mutant> = pairs.iter().map(|(one, _)| (*one).clone()).collect();
    shop.references(&all)?;
    let mut tried: Vec<Tried> = all.into_iter().zip(native::run(shop, pairs)?).collect();
    let alive = tried.iter().filter(|(_, fate)| *fate == Fate::Alive);
    let alive: Vec<Mutant> = alive.map(|(one, _)| one.clone()).collect();
    let (batches, objtool) = shop.modules(&alive)?;
    let guests = guest::run(shop, &batches, silence)?;
    for (one, fate) in tried.iter_mut().filter(|(_, fate)| *fate == Fate::Alive) {
        match (guests.get(&one.id()), objtool.get(&one.id())) {
            (Some(Fate::Alive) | None, Some(words)) => {
                *fate = Fate::Killed(Kill {
                    place: Stage::Build,
                    how: How::Words,
                    check: "objtool".into(),
                    words: words.clone(),
                })
            }
            (Some(found), _) => *fate = found.clone(),
            (None, None) => anyhow::bail!("{} was in no guest", one.told()),
        }
    }
    Ok(tried)
}

// SPDX-License-Identifier: GPL-2.0-only

//! Mutants built by Kbuild: as references, which can be run natively, and as modules of many.

use anyhow::{ensure, Context, Result};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::mutant::{Id, Mutant};
use crate::lab::cache::Cache;
use crate::lab::kbuild;
use crate::lab::stale;
use crate::lab::Lab;
use crate::os::files::remove;
use crate::os::progress::Progress;
use crate::verify::attempt::MASKS;
use crate::verify::compile::{self, Finding};

/// Mutants that are built at once. The list of a module's instances must fit one command line.
const AT_ONCE: usize = 24;

/// Where they are built.
pub struct Shop<'a> {
    pub cache: &'a Cache,
    pub lab: &'a Lab,
    pub checkout: &'a Path,
}

/// A module of some mutants.
pub struct Batch {
    pub module: PathBuf,
    pub mutants: Vec<Mutant>,
}

/// What objtool says of each.
pub type Objtool = BTreeMap<Id, String>;

impl Shop<'_> {
    fn out(&self) -> PathBuf {
        compile::out(self.cache)
    }

    /// Removes what was built: names of mutants stand for other sources when candidates change.
    pub fn clear(&self) -> Result<()> {
        remove(&self.cache.path("mutants"))?;
        let objects = self.out().join("asm/gen");
        fs::create_dir_all(&objects).context("cannot make a folder in the cache")?;
        for entry in fs::read_dir(&objects)? {
            let path = entry?.path();
            if path.extension().is_some_and(|end| end == "o") {
                fs::remove_file(path)?;
            }
        }
        Ok(())
    }

    /// The reference of a mutant.
    pub fn reference(&self, one: &Mutant, mask: &str) -> PathBuf {
        self.out().join(target(one, mask))
    }

    /// Builds the references of all, under every mask. Those that the assembler refuses have none.
    pub fn references(&self, all: &[Mutant]) -> Result<()> {
        let progress = Progress::start("references of mutants");
        let log = self.cache.log("mutants-references")?;
        for (number, part) in all.chunks(AT_ONCE).enumerate() {
            progress.say(&format!("{} of {}", number * AT_ONCE, all.len()));
            let folder = format!("references-{number}");
            let mut make = self.make(&folder, part)?;
            make.arg("--keep-going");
            for one in part {
                make.args(MASKS.map(|mask| target(one, mask)));
            }
            // Some are refused, and then make fails; what it built is what is there.
            stale::build(&self.out(), || {
                log.status(&mut make, &Progress::silent(), String::new)
            })?;
        }
        progress.done();
        Ok(())
    }

    /// Builds modules of all, which must assemble, and says what objtool finds.
    pub fn modules(&self, all: &[Mutant]) -> Result<(Vec<Batch>, Objtool)> {
        let progress = Progress::start("modules of mutants");
        let (mut batches, mut found) = (Vec::new(), Objtool::new());
        for (number, part) in all.chunks(AT_ONCE).enumerate() {
            progress.say(&format!("{} of {}", number * AT_ONCE, all.len()));
            let mut mutants = part.to_vec();
            // objtool refuses some, and then there is no module: once more without them.
            let (made, said) = self.module(number, &mutants)?;
            let refused = made.is_err() && !said.is_empty();
            if refused {
                mutants.retain(|one| !said.contains_key(&one.id()));
                self.module(number, &mutants)?.0?;
            } else {
                made?;
            }
            found.extend(said);
            let module = self.cache.path(&format!("mutants/{number}.ko"));
            fs::copy(self.out().join("repmov.ko"), &module)
                .with_context(|| format!("cannot write {}", module.display()))?;
            batches.push(Batch { module, mutants });
        }
        progress.done();
        Ok((batches, found))
    }

    /// Builds one module, and what objtool says whether that succeeds or not.
    fn module(&self, number: usize, mutants: &[Mutant]) -> Result<(Result<()>, Objtool)> {
        ensure!(!mutants.is_empty(), "objtool refuses all of {number}");
        let log = self.cache.log("mutants-module")?;
        let folder = format!("modules-{number}");
        let mut make = self.make(&folder, mutants)?;
        let made = stale::build(&self.out(), || {
            log.run(make.arg("modules"), &Progress::silent())
        });
        Ok((made, objtool(&log.text(), mutants)))
    }

    /// make for a module of these alone, whose sources are written.
    fn make(&self, folder: &str, mutants: &[Mutant]) -> Result<Command> {
        let folder = self.cache.path("mutants").join(folder);
        remove(&folder)?;
        for one in mutants {
            let folder = folder.join(one.routine.name);
            fs::create_dir_all(&folder)?;
            let path = folder.join(format!("{}.S", one.name));
            fs::write(&path, &one.text)
                .with_context(|| format!("cannot write {}", path.display()))?;
        }
        let names: Vec<_> = mutants.iter().map(|one| one.name.as_str()).collect();
        kbuild::make_only(self.lab, self.checkout, &self.out(), &folder, &names)
    }
}

/// What Kbuild calls the reference of a mutant.
fn target(one: &Mutant, mask: &str) -> String {
    format!("asm/gen/{}-{}-{mask}-ref.o", one.routine.name, one.name)
}

/// What a log has of objtool's words, by mutant: the first of each.
fn objtool(log: &str, mutants: &[Mutant]) -> Objtool {
    let mut found = Objtool::new();
    for Finding { place, words } in compile::findings(log) {
        let of = |one: &&Mutant| {
            let name = format!("repmov_{}_{}_", one.routine.name, one.name);
            place.starts_with(&name)
        };
        if let Some(one) = mutants.iter().find(of) {
            found.entry(one.id()).or_insert(words.into());
        }
    }
    found
}

// SPDX-License-Identifier: GPL-2.0-only

//! Candidates made of what the user gives, in a folder of the cache where Kbuild looks for them.

use anyhow::{bail, ensure, Context, Result};
use std::fs;
use std::path::{Path, PathBuf};

use super::apply::{apply, Source};
use super::given::{self, Given, Kind};
use super::mail;
use super::routine::Routine;
use super::series::Series;
use crate::cache::Cache;
use crate::lab::Lab;
use crate::setup::remove;

/// A candidate of a routine.
#[derive(Debug)]
pub struct Candidate {
    pub routine: &'static Routine,
    pub source: Source,
    /// Where it is written.
    pub path: PathBuf,
    /// The source that it is made of, if it is a patched one.
    pub base: Option<String>,
}

/// All that the user's words come to.
#[derive(Debug)]
pub struct Candidates {
    /// What the candidates are called.
    pub name: &'static str,
    /// Below it, each is ROUTINE/NAME.S.
    pub folder: PathBuf,
    pub all: Vec<Candidate>,
    /// What is to be told of how they came about.
    pub notes: Vec<String>,
}

impl Candidates {
    /// Makes them. Of routines that are not given, none is left from before.
    pub fn make(cache: &Cache, lab: &Lab, given: &Given) -> Result<Candidates> {
        let work = cache.path("verify");
        let folder = work.join("sources");
        fs::create_dir_all(&work).context("cannot make a folder in the cache")?;
        let (name, sources, notes) = match given.kind()? {
            Kind::Source(file, routine) => {
                let (name, text) = given::read(file)?;
                let source = Source::own(&name, ended(text));
                ("asm", vec![(routine, source, None)], Vec::new())
            }
            Kind::Patch(file) => {
                let (sources, notes) = patched(lab, &work, file, given)?;
                ("patch", sources, notes)
            }
        };
        let mut all = Vec::new();
        for (routine, source, base) in sources {
            let path = folder.join(routine.name).join(format!("{name}.S"));
            all.push(Candidate {
                routine,
                source,
                path,
                base,
            });
        }
        let candidates = Candidates {
            name,
            folder,
            all,
            notes,
        };
        candidates.write()?;
        Ok(candidates)
    }

    /// What they are made of, in words.
    pub fn told(&self) -> String {
        let one = |one: &Candidate| {
            let how = match one.base {
                Some(_) => format!("{} as patched", one.routine.file),
                None => "a whole source".to_string(),
            };
            format!("{} {}: {how}", one.routine.name, self.name)
        };
        let notes = self.notes.iter().map(|note| format!("  {note}"));
        let lines: Vec<_> = self.all.iter().map(one).chain(notes).collect();
        lines.join("\n")
    }

    /// Writes what is not there yet, so that nothing is assembled again that is the same.
    fn write(&self) -> Result<()> {
        for routine in &super::routine::ROUTINES {
            let folder = self.folder.join(routine.name);
            let wanted = self.all.iter().find(|one| one.routine == routine);
            let Some(one) = wanted else {
                remove(&folder)?;
                continue;
            };
            let other = ["asm", "patch"].into_iter().find(|name| *name != self.name);
            let other = other.map(|name| folder.join(format!("{name}.S")));
            other.map(fs::remove_file);
            if fs::read_to_string(&one.path).ok().as_ref() != Some(&one.source.text) {
                fs::create_dir_all(&folder)?;
                fs::write(&one.path, &one.source.text)
                    .with_context(|| format!("cannot write {}", one.path.display()))?;
            }
        }
        Ok(())
    }
}

type Patched = (&'static Routine, Source, Option<String>);

/// The routines' files with all changes made.
fn patched(
    lab: &Lab,
    work: &Path,
    file: &str,
    given: &Given,
) -> Result<(Vec<Patched>, Vec<String>)> {
    let (name, text) = given::read(file)?;
    let messages = mail::messages(&name, &text, &work.join("decoded"))?;
    let series = Series::of(&name, &messages)?;
    let mut notes = series.notes;
    let mut sources: Vec<Patched> = Vec::new();
    for change in &series.changes {
        let routine = given.routine()?.unwrap_or(change.routine);
        ensure!(
            routine.file == change.routine.file,
            "{}:{}: it changes {}, and ROUTINE={} is in {}",
            change.diff.page,
            change.diff.line,
            change.routine.file,
            routine.name,
            routine.file
        );
        let at = match sources.iter().position(|(known, ..)| *known == routine) {
            Some(at) => at,
            None => {
                let text = base(lab, given, routine)?;
                sources.push((routine, Source::base(text.clone()), Some(text)));
                sources.len() - 1
            }
        };
        let (source, told) = apply(&lab.root, work, &sources[at].1, change)?;
        sources[at].1 = source;
        notes.extend(told);
    }
    if given.base.is_some() && sources.len() > 1 {
        bail!("BASE is one file, and the patch changes two that are known: say ROUTINE");
    }
    for (routine, source, base) in &sources {
        ensure!(
            Some(&source.text) != base.as_ref(),
            "{name}: nothing is changed in {} by it",
            routine.file
        );
    }
    Ok((sources, notes))
}

/// The text that a patch is of.
fn base(lab: &Lab, given: &Given, routine: &Routine) -> Result<String> {
    if let Some(base) = &given.base {
        return Ok(ended(given::read(base)?.1));
    }
    ensure!(
        !routine.old,
        "ROUTINE={}: the kernel's tree has it no more, so BASE=FILE must say what the patch is of",
        routine.name
    );
    let file = lab.source.join(routine.file);
    fs::read_to_string(&file).with_context(|| format!("no {}", file.display()))
}

/// With the end of line that the last line may lack.
fn ended(mut text: String) -> String {
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

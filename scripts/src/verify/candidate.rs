// SPDX-License-Identifier: GPL-2.0-only

//! Candidates made of what the user gives, in a folder of the cache where Kbuild looks for them.

use anyhow::{bail, ensure, Context, Result};
use std::fs;
use std::path::{Path, PathBuf};

use crate::lab::cache::Cache;
use crate::lab::Lab;
use crate::os::files::remove;
use crate::patch::apply::{apply, Source};
use crate::patch::mail;
use crate::patch::routine::Routine;
use crate::patch::series::Series;
use crate::verify::given::{self, Given, Input};

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
    /// What was given.
    pub title: String,
    /// The base is the user's too: a candidate `base`, to be timed.
    pub own_base: bool,
    /// Below it, each is ROUTINE/NAME.S.
    pub folder: PathBuf,
    pub all: Vec<Candidate>,
    /// What is to be told of how they came about.
    pub notes: Vec<String>,
}

impl Candidates {
    /// Makes them, if anything is given.
    pub fn of(cache: &Cache, lab: &Lab, given: &Given) -> Result<Option<Candidates>> {
        match given.is_nothing() {
            true => Ok(None),
            false => Candidates::make(cache, lab, given).map(Some),
        }
    }

    /// Makes them. Of routines that are not given, none is left from before.
    pub fn make(cache: &Cache, lab: &Lab, given: &Given) -> Result<Candidates> {
        let work = cache.path("verify");
        let folder = work.join("sources");
        fs::create_dir_all(&work).context("cannot make a folder in the cache")?;
        let (name, patched) = match given.kind()? {
            Input::Source(file, routine) => ("asm", whole(file, routine)?),
            Input::Patch(file) => ("patch", patched(lab, &work, file, given)?),
        };
        let Patched {
            title,
            sources,
            notes,
        } = patched;
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
            title,
            own_base: given.base.is_some(),
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
                Some(_) if self.own_base => "BASE as patched".to_string(),
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
        for routine in &crate::patch::routine::ROUTINES {
            let folder = self.folder.join(routine.name);
            let wanted = self.all.iter().find(|one| one.routine == routine);
            let Some(one) = wanted else {
                remove(&folder)?;
                continue;
            };
            fs::create_dir_all(&folder)?;
            let base = one.base.as_deref().filter(|_| self.own_base);
            for (name, text) in [
                (self.name, Some(one.source.text.as_str())),
                ("base", base),
                (if self.name == "asm" { "patch" } else { "asm" }, None),
            ] {
                put(&folder.join(format!("{name}.S")), text)?;
            }
        }
        Ok(())
    }
}

/// Has a file hold a text, or not be.
fn put(path: &Path, text: Option<&str>) -> Result<()> {
    let held = fs::read_to_string(path).ok();
    match text {
        Some(text) if held.as_deref() != Some(text) => fs::write(path, text),
        None if held.is_some() => fs::remove_file(path),
        _ => Ok(()),
    }
    .with_context(|| format!("cannot write {}", path.display()))
}

/// A routine, its source, and what that is made of.
type Made = (&'static Routine, Source, Option<String>);

struct Patched {
    title: String,
    sources: Vec<Made>,
    notes: Vec<String>,
}

/// A source as it is.
fn whole(file: &str, routine: &'static Routine) -> Result<Patched> {
    let (name, text) = given::read(file)?;
    let source = Source::own(&name, ended(text));
    Ok(Patched {
        title: name,
        sources: vec![(routine, source, None)],
        notes: Vec::new(),
    })
}

/// The routines' files with all changes made.
fn patched(lab: &Lab, work: &Path, file: &str, given: &Given) -> Result<Patched> {
    let (name, text) = given::read(file)?;
    let messages = mail::messages(&name, &text, &work.join("decoded"))?;
    let series = Series::of(&name, &messages)?;
    let mut notes = series.notes;
    let mut sources: Vec<Made> = Vec::new();
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
    let subjects = series.subjects.iter().filter(|subject| !subject.is_empty());
    let title = subjects.fold(name, |title, subject| format!("{title}: {subject}"));
    Ok(Patched {
        title,
        sources,
        notes,
    })
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

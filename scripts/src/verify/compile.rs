// SPDX-License-Identifier: GPL-2.0-only

//! Building a module of nothing but the candidates, and what the tools say of them.

use anyhow::{anyhow, ensure, Error, Result};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::lab::cache::Cache;
use crate::lab::kbuild;
use crate::lab::stale;
use crate::lab::Lab;
use crate::os::progress::Progress;
use crate::verify::candidate::{Candidate, Candidates};

/// A module that was built.
pub struct Compiled {
    pub module: PathBuf,
    /// What objtool found wrong.
    pub objtool: Vec<String>,
    /// Symbols that are exported before and not after, and the other way round.
    pub exports: Vec<String>,
}

/// A folder of its own, where the module's Rust object is kept.
pub fn out(cache: &Cache) -> PathBuf {
    cache.path("verify/module")
}

/// Builds it in that folder.
pub fn build(
    cache: &Cache,
    lab: &Lab,
    checkout: &Path,
    candidates: &Candidates,
) -> Result<Compiled> {
    let progress = Progress::start("module");
    let out = out(cache);
    let log = cache.log("verify-module")?;
    let (folder, name) = (&candidates.folder, candidates.name);
    let mut make = kbuild::make_only(lab, checkout, &out, folder, &[name])?;
    make.arg("modules");
    let made = stale::build(&out, || log.run(&mut make, &progress));
    for one in &candidates.all {
        if let Err(e) = defines_its_routine(lab, &out, one, candidates.name) {
            progress.fail("failed");
            return Err(e);
        }
    }
    if let Err(e) = made {
        progress.fail("failed");
        return Err(explained(&log.text(), candidates).unwrap_or(e));
    }
    progress.done();
    Ok(Compiled {
        module: out.join("repmov.ko"),
        objtool: objtool(&log.text()),
        exports: candidates.all.iter().flat_map(exports).collect(),
    })
}

/// Fails if the source, assembled as it is, lacks the entry of its routine. Says nothing if it was
/// not assembled.
fn defines_its_routine(lab: &Lab, out: &Path, one: &Candidate, name: &str) -> Result<()> {
    let routine = one.routine;
    let object = out.join(format!("asm/gen/{}-{name}-plain.o", routine.name));
    if !object.exists() {
        return Ok(());
    }
    let ran = lab
        .root
        .command("nm", out)?
        .arg("--defined-only")
        .arg(&object)
        .output()?;
    ensure!(
        ran.status.success(),
        "nm does not read {}",
        object.display()
    );
    let text = String::from_utf8_lossy(&ran.stdout);
    let symbols = text.lines().filter_map(|line| {
        let mut words = line.split_whitespace().skip(1);
        matches!(words.next()?, "T" | "W").then(|| words.next())?
    });
    let symbols: BTreeSet<_> = symbols.collect();
    let others: Vec<_> = symbols
        .iter()
        .filter(|name| !name.starts_with("__pfx_"))
        .copied()
        .collect();
    ensure!(
        symbols.contains(routine.entry),
        "{}: it does not define {}, the entry of {}; it defines {}",
        routine.base(),
        routine.entry,
        routine.name,
        match others.is_empty() {
            true => "nothing".to_string(),
            false => others.join(", "),
        }
    );
    Ok(())
}

/// What the tools say of the candidates' sources, at the lines that the user has.
fn explained(log: &str, candidates: &Candidates) -> Option<Error> {
    let mut told: Vec<String> = Vec::new();
    for line in log.lines() {
        for one in &candidates.all {
            let words = match line.contains(UNDECIDED) {
                true => features(one),
                false => complaint(line, one).into_iter().collect(),
            };
            told.extend(words);
        }
        if let Some((_, name)) = line
            .split_once("modpost: ")
            .filter(|_| line.contains("undefined!"))
        {
            told.push(format!(
                "{}: nothing defines it",
                name.trim_end_matches(" undefined!")
            ));
        }
    }
    let mut known = BTreeSet::new();
    told.retain(|words| known.insert(words.clone()));
    let more = told.len().saturating_sub(12);
    told.truncate(12);
    if more > 0 {
        told.push(format!("and {more} more"));
    }
    (!told.is_empty()).then(|| anyhow!("it does not build:\n  {}", told.join("\n  ")))
}

/// What instance.h says where a mask does not decide. The assembler names another line than that.
const UNDECIDED: &str = "an alternative on a feature that no mask decides";

/// The lines with features that no mask decides.
fn features(one: &Candidate) -> Vec<String> {
    let decided = ["ERMS", "FSRM", "SMAP", "ALWAYS"];
    let lines = one.source.text.lines().enumerate().filter(|(_, line)| {
        let mut features = line.split("X86_FEATURE_").skip(1);
        features.any(|rest| {
            let name = rest
                .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                .next();
            !decided.contains(&name.unwrap_or_default())
        })
    });
    let words = "masks are of ERMS and FSRM, and this is on another feature";
    lines.map(|(i, _)| at(one, i + 1, words)).collect()
}

/// One line of the assembler or of the preprocessor: `FILE:LINE[:COLUMN]: WORDS`.
fn complaint(line: &str, one: &Candidate) -> Option<String> {
    let rest = line.strip_prefix(one.path.to_str()?)?.strip_prefix(':')?;
    let (number, words) = rest.split_once(':')?;
    let number: usize = number.parse().ok()?;
    let words = words
        .trim_start_matches(|c: char| c.is_ascii_digit())
        .trim_start_matches(':')
        .trim();
    let is_error = ["error:", "warning:"]
        .iter()
        .any(|mark| words.to_lowercase().contains(mark));
    if !is_error {
        return None;
    }
    Some(at(one, number, words))
}

/// Words about a line of a candidate, with the line as the user has it.
fn at(one: &Candidate, number: usize, words: &str) -> String {
    let text = one.source.text.lines().nth(number - 1);
    let text = text.unwrap_or_default().trim();
    let base = one.routine.base();
    match one.source.lines.get(number - 1).cloned().flatten() {
        Some((name, at)) if one.base.is_none() => format!("{name}:{at}: {words}\n      {text}"),
        Some((name, at)) => format!("{name}:{at} ({base}:{number}): {words}\n      {text}"),
        None => format!("{base}:{number}, which is not changed: {words}\n      {text}"),
    }
}

/// One finding of objtool.
pub struct Finding<'a> {
    /// Where it is: symbol and offset; empty if it does not say.
    pub place: &'a str,
    pub words: &'a str,
}

/// What objtool says in a log.
pub fn findings(log: &str) -> impl Iterator<Item = Finding<'_>> {
    let said = log.lines().filter_map(|line| line.split_once("objtool: "));
    said.map(|(_, words)| match words.split_once(": ") {
        Some((place, words)) if place.starts_with("repmov_") => Finding { place, words },
        _ => Finding { place: "", words },
    })
}

/// What objtool found, each once, with how many instances it is true of.
fn objtool(log: &str) -> Vec<String> {
    let mut found: Vec<(String, usize)> = Vec::new();
    for Finding { place, words } in findings(log) {
        let words = match place.split_once('+') {
            Some((_, offset)) => format!("+{offset}: {words}"),
            None => words.to_string(),
        };
        match found.iter_mut().find(|(known, _)| *known == words) {
            Some((_, count)) => *count += 1,
            None => found.push((words, 1)),
        }
    }
    let shown = |(words, count)| format!("{words} ({count} instances)");
    found.into_iter().map(shown).collect()
}

/// What a source exports by EXPORT_SYMBOL and the like.
fn exported(text: &str) -> BTreeSet<&str> {
    let name = |line: &'_ str| {
        let rest = line.trim().strip_prefix("EXPORT_SYMBOL")?;
        rest.split_once('(')?
            .1
            .split([')', ','])
            .next()
            .map(str::len)
    };
    let lines = text.lines().filter_map(|line| {
        let length = name(line)?;
        let start = line.find('(')? + 1;
        line.get(start..start + length).map(str::trim)
    });
    lines.collect()
}

/// What a patch changes of what its file exports.
fn exports(one: &Candidate) -> Vec<String> {
    let Some(base) = &one.base else {
        return Vec::new();
    };
    let (before, after) = (exported(base), exported(&one.source.text));
    let file = one.routine.base();
    let gone = before
        .difference(&after)
        .map(|name| format!("{file} no longer exports {name}"));
    let new = after
        .difference(&before)
        .map(|name| format!("{file} exports {name}, which it did not"));
    gone.chain(new).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::patch::apply::Source;
    use crate::patch::routine::Routine;

    fn candidate(base: &str, text: &str) -> Candidate {
        let mut source = Source::base(text.into());
        source.lines[1] = Some(("my.patch".into(), 17));
        Candidate {
            routine: Routine::named("memcpy").unwrap(),
            source,
            path: "/cache/memcpy/patch.S".into(),
            base: Some(base.into()),
        }
    }

    #[test]
    fn complaints_are_at_the_lines_of_the_user() {
        let one = candidate("", "a\n\tfoo %rax\n");
        let words = complaint(
            "/cache/memcpy/patch.S:2: Error: no such instruction: `foo'",
            &one,
        );
        let wanted =
            "my.patch:17 (memcpy_64.S:2): Error: no such instruction: `foo'\n      foo %rax";
        assert_eq!(words.unwrap(), wanted);
        let words = complaint("/cache/memcpy/patch.S:2:7: error: missing )", &one).unwrap();
        assert!(
            words.starts_with("my.patch:17 (memcpy_64.S:2): error: missing )"),
            "{words}"
        );
        let words = complaint("/cache/memcpy/patch.S:1: Error: x", &one).unwrap();
        assert!(
            words.starts_with("memcpy_64.S:1, which is not changed: Error: x"),
            "{words}"
        );
        assert_eq!(
            complaint(
                "/cache/memcpy/patch.S:2:  Info: macro invoked from here",
                &one
            ),
            None
        );
        assert_eq!(
            complaint("/cache/memcpy/patch.S: Assembler messages:", &one),
            None
        );
    }

    #[test]
    fn what_no_mask_decides_is_named() {
        let one = candidate("", "X86_FEATURE_FSRM\nA, X86_FEATURE_AVX2\n");
        let words = features(&one);
        assert_eq!(words.len(), 1);
        assert!(
            words[0].starts_with("my.patch:17 (memcpy_64.S:2): masks are of"),
            "{words:?}"
        );
    }

    #[test]
    fn objtool_is_told_once() {
        let line = |entry| {
            format!(
                "repmov.o: warning: objtool: repmov_memcpy_patch_e0f0_{entry}+0x5: unreachable\n"
            )
        };
        let found = objtool(&(line(0) + &line(16)));
        assert_eq!(found, ["+0x5: unreachable (2 instances)"]);
    }

    #[test]
    fn exports_are_compared() {
        let one = candidate("EXPORT_SYMBOL(memcpy)\n", "x\nEXPORT_SYMBOL_GPL(memcpy2)\n");
        assert_eq!(
            exports(&one),
            [
                "memcpy_64.S no longer exports memcpy",
                "memcpy_64.S exports memcpy2, which it did not"
            ]
        );
    }
}

// SPDX-License-Identifier: GPL-2.0-only

//! Applying a diff to a source, by patch(1), and which line of the result came from where.

use anyhow::{bail, ensure, Context, Result};
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::lab::sandbox::Root;
use crate::patch::series::Change;

/// A source, and where its lines stand in what the user gave.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Source {
    pub text: String,
    /// For each line that the user wrote: the file's name and its number there.
    pub lines: Vec<Option<(String, usize)>>,
}

impl Source {
    /// A source that is none of the user's.
    pub fn base(text: String) -> Source {
        let lines = text.lines().map(|_| None).collect();
        Source { text, lines }
    }

    /// A source that is all of it the user's.
    pub fn own(name: &str, text: String) -> Source {
        let count = text.lines().count();
        let lines = (1..=count).map(|n| Some((name.to_string(), n))).collect();
        Source { text, lines }
    }
}

/// Where patch put a hunk: its line in the result.
struct HunkLine(usize);

/// Applies a change in a folder of our own; the result, and what is to be told of it.
pub fn apply(
    root: &Root,
    folder: &Path,
    base: &Source,
    change: &Change,
) -> Result<(Source, Vec<String>)> {
    let diff = &change.diff;
    let name = change.routine.base();
    let file = |end: &str| folder.join(format!("{name}.{end}"));
    fs::write(file("before"), &base.text).context("cannot write the base")?;
    fs::write(file("diff"), diff.text(name)).context("cannot write the diff")?;
    for end in ["after", "rej"] {
        // A file that is not there is gone already.
        let _ = fs::remove_file(file(end));
    }
    let mut patch = root.command("patch", folder)?;
    patch.args(["--batch", "--forward", "--verbose"]);
    patch.arg("--reject-file").arg(file("rej"));
    patch
        .arg("-o")
        .arg(file("after"))
        .arg(file("before"))
        .arg(file("diff"));
    let ran = patch.output().context("cannot start patch")?;
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    if !ran.status.success() {
        let rejects = fs::read_to_string(file("rej")).unwrap_or_default();
        bail!("{}", refused(change, &said, &rejects));
    }
    let text = fs::read_to_string(file("after")).context("patch wrote no result")?;
    let mut notes = told(change, &said);
    notes.extend(as_its_author_had_it(root, folder, change)?);
    let lines = traced(base, change, &places(&said), &text);
    Ok((Source { text, lines }, notes))
}

/// Where patch says that the hunks went.
fn places(said: &str) -> Vec<HunkLine> {
    let place = |line: &str| {
        let (_, rest) = line.strip_prefix("Hunk #")?.split_once(" succeeded at ")?;
        let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
        digits.parse().ok().map(HunkLine)
    };
    said.lines().filter_map(place).collect()
}

/// What patch says of hunks that did not fit as they are.
fn told(change: &Change, said: &str) -> Vec<String> {
    let loose = said.lines().filter(|line| {
        line.starts_with("Hunk #") && (line.contains("fuzz") || line.contains("offset"))
    });
    let base = change.routine.base();
    loose
        .map(|line| format!("{base}: {}", line.trim_end_matches('.')))
        .collect()
}

/// Why patch did not apply it, with the lines that the user has.
fn refused(change: &Change, said: &str, rejects: &str) -> String {
    let diff = &change.diff;
    let file = change.routine.base();
    let mut text = format!(
        "{}:{}: the diff of {file} does not apply",
        diff.page, diff.line
    );
    if said.contains("Reversed (or previously applied)") {
        text += ": the file seems to have these changes already";
    }
    for line in said.lines().filter(|line| line.contains(" FAILED")) {
        let number = line
            .strip_prefix("Hunk #")
            .and_then(|rest| rest.split(' ').next());
        let hunk = number.and_then(|number| diff.hunks.get(number.parse::<usize>().ok()? - 1));
        let at = hunk.map_or(String::new(), |hunk| {
            format!("{}:{}: ", diff.page, hunk.head.number)
        });
        text += &format!("\n  {at}{line}");
    }
    if !rejects.trim().is_empty() {
        text += "\npatch's rejects:";
    }
    rejects
        .lines()
        .take(40)
        .fold(text, |text, line| text + "\n    " + line)
}

/// Compares with the names that git gave the file before and after. Of a diff that is whole, they
/// say that nothing was lost on its way.
fn as_its_author_had_it(root: &Root, folder: &Path, change: &Change) -> Result<Option<String>> {
    let diff = &change.diff;
    let file = change.routine.base();
    let lost = |why: &str| {
        format!(
            "{}:{}: the diff is quoted, and {why}: take the mail that is quoted",
            diff.page, diff.line
        )
    };
    let names = match &diff.blobs {
        Some((old, new))
            if blob(root, &folder.join(format!("{file}.before")))?.starts_with(old) =>
        {
            Some((blob(root, &folder.join(format!("{file}.after")))?, new))
        }
        _ => None,
    };
    let Some((got, wanted)) = names else {
        let enough = !change.quoted || change.counted;
        ensure!(
            enough,
            lost("it is of another version of the file, so that nothing says if it is whole")
        );
        return Ok(None);
    };
    if got.starts_with(wanted.as_str()) {
        return Ok(Some(format!(
            "{file}: the very file that git calls {wanted}"
        )));
    }
    ensure!(
        !change.quoted,
        lost("the result is not the file that its index line names")
    );
    Ok(Some(format!(
        "{file}: not the file that the index line names, {wanted}: the diff was edited"
    )))
}

/// The name that git gives a file.
fn blob(root: &Root, file: &Path) -> Result<String> {
    let size = fs::metadata(file)?.len();
    let mut hash = root.command("sh", Path::new("/"))?;
    let script = "{ printf 'blob %s\\0' \"$1\"; cat \"$2\"; } | sha1sum";
    hash.args(["-c", script, "sh", &size.to_string()]).arg(file);
    let ran = output(&mut hash)?;
    Ok(ran
        .split_whitespace()
        .next()
        .unwrap_or_default()
        .to_string())
}

fn output(command: &mut Command) -> Result<String> {
    let ran = command.output().context("cannot start a command")?;
    ensure!(
        ran.status.success(),
        "{}",
        String::from_utf8_lossy(&ran.stderr).trim()
    );
    Ok(String::from_utf8_lossy(&ran.stdout).into_owned())
}

/// Where the lines of the result come from: those that the change adds, from what the user gave.
fn traced(
    base: &Source,
    change: &Change,
    places: &[HunkLine],
    text: &str,
) -> Vec<Option<(String, usize)>> {
    let mut lines = Vec::new();
    let mut before = base.lines.iter().cloned();
    for (hunk, HunkLine(at)) in change.diff.hunks.iter().zip(places) {
        while lines.len() + 1 < *at {
            lines.push(before.next().flatten());
        }
        for row in &hunk.rows {
            match row.text.chars().next() {
                Some('-') => drop(before.next()),
                Some('+') => lines.push(Some((change.diff.page.clone(), row.number))),
                Some('\\') => {}
                _ => lines.push(before.next().flatten()),
            }
        }
    }
    lines.extend(before);
    lines.resize(text.lines().count(), None);
    for (line, text) in lines.iter_mut().zip(text.lines()) {
        // Better none than a wrong one.
        if !line
            .as_ref()
            .is_none_or(|(_, number)| is_row(change, *number, text))
        {
            *line = None;
        }
    }
    lines
}

/// Whether a line of the user's is that text, if it is one of this change at all.
fn is_row(change: &Change, number: usize, text: &str) -> bool {
    let mut rows = change.diff.hunks.iter().flat_map(|hunk| &hunk.rows);
    let row = rows.find(|row| row.number == number);
    row.is_none_or(|row| row.text.get(1..).unwrap_or_default() == text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::patch::diff;
    use crate::patch::page::Page;
    use crate::patch::routine::Routine;

    const BASE: &str = "a\nb\nc\nd\ne\nf\ng\n";
    const DIFF: &str =
        "--- a/memcpy_64.S\n+++ b/memcpy_64.S\n@@ -2,3 +2,4 @@\n b\n-c\n+C\n+D\n d\n";

    fn change(text: &str) -> Change {
        Change {
            routine: Routine::of("memcpy_64.S").unwrap(),
            diff: diff::find(&Page::new("in", 1, text)).unwrap().remove(0),
            quoted: false,
            counted: false,
        }
    }

    fn run(name: &str, base: &str, change: &Change) -> Result<(Source, Vec<String>)> {
        let folder = std::env::temp_dir().join(format!("repmov-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let result = apply(
            &Root::machine(),
            &folder,
            &Source::base(base.into()),
            change,
        );
        fs::remove_dir_all(&folder).unwrap();
        result
    }

    #[test]
    fn lines_are_traced_to_the_patch() {
        let (source, notes) = run("traced", BASE, &change(DIFF)).unwrap();
        assert_eq!(source.text, "a\nb\nC\nD\nd\ne\nf\ng\n");
        let wanted = |n| Some(("in".to_string(), n));
        assert_eq!(source.lines[..5], [None, None, wanted(6), wanted(7), None]);
        assert!(notes.is_empty(), "{notes:?}");
    }

    #[test]
    fn what_fits_elsewhere_is_told() {
        let (source, notes) = run("offset", &format!("0\n0\n{BASE}"), &change(DIFF)).unwrap();
        assert_eq!(source.lines[4], Some(("in".to_string(), 6)));
        assert_eq!(
            notes,
            ["memcpy_64.S: Hunk #1 succeeded at 4 (offset 2 lines)"]
        );
    }

    #[test]
    fn what_does_not_fit_is_told_with_its_line() {
        let wrong = change(&DIFF.replace("-c", "-x"));
        let error = run("refused", BASE, &wrong).unwrap_err().to_string();
        assert!(
            error.starts_with("in:1: the diff of memcpy_64.S does not apply"),
            "{error}"
        );
        assert!(error.contains("in:3: Hunk #1 FAILED at 2"), "{error}");
        assert!(error.contains("\n    -x"), "{error}");
        let error = run("again", "a\nb\nC\nD\nd\ne\nf\n", &change(DIFF)).unwrap_err();
        assert!(
            error.to_string().contains("these changes already"),
            "{error}"
        );
    }

    #[test]
    fn git_says_whether_it_is_the_very_file() {
        // Of the base, and of the result.
        let (old, new) = ("12a8f50", "0000000");
        let git = DIFF.replace("--- a", &format!("index {old}..{new} 100644\n--- a"));
        let change = change(&git);
        let (_, notes) = run("blob", BASE, &change).unwrap();
        assert!(notes.len() <= 1, "{notes:?}");
    }
}

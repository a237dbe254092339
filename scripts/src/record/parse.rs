// SPDX-License-Identifier: GPL-2.0-only

//! Records as they lie in files: parts behind one another, read whole or refused in words.

use anyhow::{bail, ensure, Context, Result};
use repmov_core::record::{header, Row, COLUMNS, COUNTS, TWIN, VERSION};
use std::collections::HashSet;
use std::fmt;
use std::fs;
use std::path::PathBuf;

/// A file that was read, or a text that is treated like one.
pub struct File {
    /// What errors call it.
    pub name: String,
    pub text: String,
}

/// What one boot measured.
pub struct Part<'a> {
    /// `FILE:LINE` of its first line.
    pub name: String,
    pub headers: Vec<(&'a str, &'a str)>,
    pub cells: Vec<Cell<'a>>,
}

/// A row with its samples, in picoseconds, one a round.
pub struct Cell<'a> {
    pub row: Row<'a>,
    pub samples: Vec<i64>,
}

/// Everything about a row but who was measured there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Place<'a> {
    pub routine: &'a str,
    pub mask: &'a str,
    pub entry: u64,
    pub len: u64,
    pub src: u64,
    pub dst: u64,
    pub mem: &'a str,
    pub cache: &'a str,
    pub fault: Option<u64>,
    pub draw: &'a str,
}

impl<'a> Place<'a> {
    pub fn of(row: &Row<'a>) -> Place<'a> {
        Place {
            routine: row.routine,
            mask: row.mask,
            entry: row.entry,
            len: row.len,
            src: row.src,
            dst: row.dst,
            mem: row.mem,
            cache: row.cache,
            fault: row.fault,
            draw: row.draw,
        }
    }
}

/// In the words of a plan; what has its default is not said.
impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "routine={} mask={} len={}",
            self.routine, self.mask, self.len
        )?;
        for (key, value) in [("entry", self.entry), ("src", self.src), ("dst", self.dst)] {
            if value != 0 {
                write!(f, " {key}={value}")?;
            }
        }
        for (key, value, default) in [
            ("mem", self.mem, "kernel"),
            ("cache", self.cache, "hot"),
            ("draw", self.draw, "each"),
        ] {
            if value != default {
                write!(f, " {key}={value}")?;
            }
        }
        match self.fault {
            Some(byte) => write!(f, " fault={byte}"),
            None => Ok(()),
        }
    }
}

/// Reads files.
///
/// # Errors
///
/// Names the file that cannot be read, or is no text.
pub fn read(paths: &[PathBuf]) -> Result<Vec<File>> {
    let read = |path: &PathBuf| {
        let name = path.display().to_string();
        let text = fs::read_to_string(path).with_context(|| format!("cannot read {name}"))?;
        Ok(File { name, text })
    };
    paths.iter().map(read).collect()
}

/// All parts of some files.
///
/// # Errors
///
/// Says file, line and reason of the first thing that is no part of a record.
pub fn parts(files: &[File]) -> Result<Vec<Part<'_>>> {
    let mut all = Vec::new();
    for file in files {
        let mut lines = Lines::of(file);
        lines.skip_empty();
        ensure!(
            lines.peek().is_some(),
            "{}: it is empty, no record",
            file.name
        );
        while lines.peek().is_some() {
            all.push(part(&mut lines)?);
            lines.skip_empty();
        }
    }
    Ok(all)
}

/// The lines of a file that are yet to be read.
struct Lines<'a> {
    name: &'a str,
    rest: std::iter::Peekable<std::str::Lines<'a>>,
    /// How many were read.
    count: usize,
}

impl<'a> Lines<'a> {
    fn of(file: &'a File) -> Lines<'a> {
        Lines {
            name: &file.name,
            rest: file.text.lines().peekable(),
            count: 0,
        }
    }

    fn peek(&mut self) -> Option<&'a str> {
        self.rest.peek().copied()
    }

    fn next(&mut self) -> Option<&'a str> {
        let line = self.rest.next()?;
        self.count += 1;
        Some(line)
    }

    fn skip_empty(&mut self) {
        while self.peek() == Some("") {
            self.next();
        }
    }

    /// `FILE:LINE` of the line that was read last.
    fn place(&self) -> String {
        format!("{}:{}", self.name, self.count)
    }
}

/// Reads a part, from its first line to its last.
fn part<'a>(lines: &mut Lines<'a>) -> Result<Part<'a>> {
    version(lines)?;
    let name = lines.place();
    let (headers, counted) = headers(lines)?;
    let cells =
        cells(lines, counted).with_context(|| format!("in the part that starts at {name}"))?;
    let part = Part {
        name,
        headers,
        cells,
    };
    part.check_rows()?;
    Ok(part)
}

fn version(lines: &mut Lines<'_>) -> Result<()> {
    let first = lines.next().unwrap_or_default();
    let (key, known) = VERSION.rsplit_once(' ').unwrap_or_default();
    match first.strip_prefix(key).map(str::trim) {
        Some(version) if version == known => Ok(()),
        Some(version) => bail!(
            "{}: a record of version {version}; this tool knows version {known}",
            lines.place()
        ),
        None => bail!(
            "{}: not a record: \"{VERSION}\" is to stand here, not \"{}\"",
            lines.place(),
            excerpt(first)
        ),
    }
}

/// Keys and values.
type Headers<'a> = Vec<(&'a str, &'a str)>;

/// Reads the `# key: value` lines and the line of columns; whether cycles are among these.
fn headers<'a>(lines: &mut Lines<'a>) -> Result<(Headers<'a>, bool)> {
    let mut headers = Vec::new();
    while let Some(line) = lines.next() {
        match line.strip_prefix(COLUMNS) {
            Some("") => return Ok((headers, false)),
            Some(COUNTS) => return Ok((headers, true)),
            _ => {}
        }
        match header(line) {
            Some(header) => headers.push(header),
            None => bail!(
                "{}: neither \"# key: value\" nor the columns this tool knows: \"{}\"",
                lines.place(),
                excerpt(line)
            ),
        }
    }
    bail!("{}: cut off: it ends before the rows", lines.place())
}

/// Reads the rows and the last line.
fn cells<'a>(lines: &mut Lines<'a>, counted: bool) -> Result<Vec<Cell<'a>>> {
    let mut cells = Vec::new();
    while let Some(line) = lines.next() {
        if let Some(("end", count)) = header(line) {
            ensure!(
                count == format!("{} rows", cells.len()),
                "{}: cut off, or edited: the last line says {count}, but there are {}",
                lines.place(),
                cells.len()
            );
            ensure!(!cells.is_empty(), "{}: it has no rows", lines.place());
            return Ok(cells);
        }
        if line.starts_with('#') {
            break;
        }
        let cell = cell(line, counted);
        cells.push(cell.with_context(|| format!("{}: not a row", lines.place()))?);
    }
    bail!("{}: cut off: no \"# end: N rows\" follows", lines.place())
}

fn cell(line: &str, counted: bool) -> Result<Cell<'_>> {
    let row = Row::parse(line).ok();
    let row = row.filter(|row| row.counts.is_some() == counted);
    let row = row.with_context(|| format!("\"{}\"", excerpt(line)))?;
    let samples: Result<Vec<_>, _> = row.samples().collect();
    let samples = samples.ok().context("its samples")?;
    Ok(Cell { row, samples })
}

/// The start of a line, as error messages repeat it.
fn excerpt(line: &str) -> String {
    match line.char_indices().nth(60) {
        Some((at, _)) => format!("{}...", &line[..at]),
        None => line.to_string(),
    }
}

impl<'a> Part<'a> {
    /// The value of the first header of that name.
    pub fn header(&self, key: &str) -> Option<&'a str> {
        let found = self.headers.iter().find(|(name, _)| *name == key);
        found.map(|(_, value)| *value)
    }

    /// The clock of the core that measured, in MHz, by `# core clock: N MHz, ...`.
    pub fn core_mhz(&self) -> Option<f64> {
        let mhz = self.header("core clock")?.split(" MHz").next()?;
        mhz.parse().ok().filter(|&mhz| mhz > 0.0)
    }

    /// Whether the times are those of an emulator.
    ///
    /// # Errors
    ///
    /// If the record does not say.
    pub fn is_emulated(&self) -> Result<bool> {
        match self.header("emulated") {
            Some("yes") => Ok(true),
            Some("no") => Ok(false),
            _ => bail!("{}: it does not say whether it was emulated", self.name),
        }
    }

    /// The candidate that was assembled a second time: `# aa: aa is NAME, ...`.
    ///
    /// # Errors
    ///
    /// If the record does not say, or has no such rows.
    pub fn base(&self) -> Result<&'a str> {
        let said = self.header("aa").and_then(|words| {
            let rest = words.strip_prefix(TWIN)?.strip_prefix(" is ")?;
            rest.split([',', ' ']).next()
        });
        let has = |name: &str| self.cells.iter().any(|cell| cell.row.candidate == name);
        match said {
            Some(base) if has(TWIN) && has(base) => Ok(base),
            _ => bail!(
                "{}: no A/A rows (\"# {TWIN}: {TWIN} is NAME\", and rows of both), so nothing says what it can tell apart",
                self.name
            ),
        }
    }

    /// Whether some rows were timed with interrupts on.
    pub fn irqs_on(&self) -> bool {
        self.cells.iter().any(|cell| cell.row.irqs_on)
    }

    /// Refuses a row that comes twice.
    fn check_rows(&self) -> Result<()> {
        let mut seen = HashSet::new();
        for Cell { row, .. } in &self.cells {
            let place = Place::of(row);
            let new = seen.insert((place, row.candidate));
            ensure!(
                new,
                "{}: two rows for {} at {place}",
                self.name,
                row.candidate
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::synthetic::Synthetic;

    fn file(text: String) -> File {
        let name = "some.tsv".into();
        File { name, text }
    }

    /// What is said against a text.
    fn refused(text: String) -> String {
        let files = [file(text)];
        let error = parts(&files).err().expect("it was taken");
        format!("{error:#}")
    }

    fn good() -> String {
        Synthetic::lengths(&[1, 64]).text()
    }

    #[test]
    fn parts_stand_behind_one_another() {
        let files = [file(good() + &good() + "\n"), file(good())];
        let all = parts(&files).unwrap();
        assert_eq!(all.len(), 3);
        let lines = good().lines().count();
        assert_eq!(all[1].name, format!("some.tsv:{}", lines + 1));
        assert_eq!(all[2].base().unwrap(), "orig");
        assert_eq!(all[0].header("lab"), Some("host"));
        assert!(!all[0].irqs_on());
    }

    #[test]
    fn what_is_no_record_is_refused_by_line() {
        let end = good().lines().last().unwrap().to_string() + "\n";
        let row = good().lines().rev().nth(1).unwrap().to_string() + "\n";
        let rows = end.split(' ').nth(2).unwrap().parse::<u64>().unwrap();
        for (text, words) in [
            (String::new(), "some.tsv: it is empty"),
            ("hello\n".into(), "some.tsv:1: not a record"),
            (good() + "hello\n", "not \"hello\""),
            (
                good().replace("timings: 2", "timings: 1"),
                "some.tsv:1: a record of version 1; this tool knows version 2",
            ),
            (good().replace(&end, ""), "cut off: no \"# end: N rows\""),
            (good().replace(&end, "") + &good(), "cut off: no \"# end"),
            (good().replace(&row, ""), "the last line says"),
            (good().replace("routine\t", "r\t"), "nor the columns"),
            (good().replace("# cpu model: ", "# "), "neither"),
            (good().replace("\torig\t", "\torig\tx\t"), "not a row"),
            (format!("{VERSION}\n# a: b\n"), "cut off: it ends before"),
            (
                format!("{VERSION}\n{COLUMNS}\n# end: 0 rows\n"),
                "it has no rows",
            ),
            (
                good().replace(&end, &format!("{row}# end: {} rows\n", rows + 1)),
                "two rows for",
            ),
        ] {
            let said = refused(text);
            assert!(said.contains(words), "{said}\n{words}");
        }
        let said = refused(good().replace("\torig\t", "\torig\tx\t"));
        let line = good().lines().position(|line| line == COLUMNS).unwrap() + 2;
        assert!(said.contains(&format!("some.tsv:{line}: not a row")));
    }
}

// SPDX-License-Identifier: GPL-2.0-only

//! A log file for each piece of work, the commands that write it, and what to say when one fails.

use anyhow::{anyhow, Context, Error, Result};
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{channel, RecvTimeoutError};
use std::time::Duration;

use crate::os::command::{cannot_start, shown};
use crate::os::files::free;
use crate::os::progress::Progress;
use crate::os::signals;

/// Lines of a log that an error message repeats.
const EXCERPT: usize = 15;

pub struct Log {
    path: PathBuf,
}

impl Log {
    /// An empty log.
    pub fn create(path: PathBuf) -> Result<Log> {
        File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(Log { path })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn text(&self) -> String {
        fs::read(&self.path)
            .map(|text| String::from_utf8_lossy(&text).into_owned())
            .unwrap_or_default()
    }

    /// Adds a line of our own.
    pub fn note(&self, line: &str) -> Result<()> {
        writeln!(self.open()?, "{line}")
            .with_context(|| format!("cannot write {}", self.path.display()))
    }

    /// Runs a command that must succeed, its last line of output being what `progress` says.
    pub fn run(&self, command: &mut Command, progress: &Progress) -> Result<()> {
        self.run_watching(command, progress, || last_line(&self.path))
    }

    /// The same, and `progress` says what `doing` returns.
    pub fn run_watching(
        &self,
        command: &mut Command,
        progress: &Progress,
        doing: impl Fn() -> String + Sync,
    ) -> Result<()> {
        let status = self.status(command, progress, doing)?;
        if !status.success() {
            return Err(self.failure(command, &status.to_string()));
        }
        Ok(())
    }

    /// Runs a command and returns how it ended.
    pub fn status(
        &self,
        command: &mut Command,
        progress: &Progress,
        doing: impl Fn() -> String + Sync,
    ) -> Result<ExitStatus> {
        self.note(&shown(command))?;
        command.stdout(self.open()?).stderr(self.open()?);
        let mut child = command.spawn().map_err(|e| cannot_start(command, e))?;
        let _guard = signals::guard(child.id());
        let (over, ended) = channel::<()>();
        std::thread::scope(|scope| {
            if progress.watched() {
                scope.spawn(|| {
                    let tick = Duration::from_millis(250);
                    let ended = ended;
                    while ended.recv_timeout(tick) == Err(RecvTimeoutError::Timeout) {
                        progress.say(&doing());
                    }
                });
            }
            let status = child.wait();
            drop(over);
            status.context("cannot wait for a command")
        })
    }

    /// Runs a command that must succeed and returns what it wrote to its standard output.
    pub fn output(&self, command: &mut Command) -> Result<String> {
        self.note(&shown(command))?;
        command.stdout(Stdio::piped()).stderr(self.open()?);
        let child = command.spawn().map_err(|e| cannot_start(command, e))?;
        let _guard = signals::guard(child.id());
        let output = child.wait_with_output()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        if !output.status.success() {
            self.note(&text)?;
            return Err(self.failure(command, &output.status.to_string()));
        }
        Ok(text)
    }

    /// The error that says that a command failed: why, where its log is, how that ends.
    pub fn failure(&self, command: &Command, how: &str) -> Error {
        let text = self.text();
        let lines: Vec<&str> = text.lines().collect();
        let program = command.get_program().to_string_lossy();
        let mut message = format!("{program} failed ({how})");
        if let Some(tool) = missing_tool(&text) {
            message += &format!(": {tool} is not installed");
        } else if let Some(reason) = reason(&text).or_else(|| full(&self.path)) {
            message += &format!(": {reason}");
        } else if let Some(line) = first_error(&lines) {
            message += &format!(": {line}");
        }
        message += &format!("\nlog: {}, which ends", self.path.display());
        for line in &lines[lines.len().saturating_sub(EXCERPT)..] {
            message += &format!("\n    {line}");
        }
        anyhow!(message)
    }

    fn open(&self) -> Result<File> {
        let file = File::options().append(true).open(&self.path);
        file.with_context(|| format!("cannot write {}", self.path.display()))
    }
}

const FULL: &str = "the disk is full. Free some space and run the same command again";

/// Says so where there is no space for a command to say it.
fn full(path: &Path) -> Option<&'static str> {
    (free(path).ok()? == 0).then_some(FULL)
}

/// A reason that is worth words of its own, if the output gives one.
fn reason(text: &str) -> Option<&'static str> {
    let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
    if has(&[
        "No space left on device",
        "You don't have enough free space",
    ]) {
        return Some(FULL);
    }
    if has(&[
        "Could not resolve",
        "Temporary failure resolving",
        "Failed to fetch",
        "Could not connect",
        "Network is unreachable",
    ]) {
        return Some(
            "the network or the Debian mirror cannot be reached. Run the same command again \
             when it can; what is done already stays done",
        );
    }
    if has(&[
        "cc1: out of memory",
        "Killed signal terminated program",
        "LLVM ERROR: out of memory",
    ]) {
        return Some("the machine ran out of memory");
    }
    None
}

/// The program that a shell could not find: "/bin/sh: 1: bindgen: not found".
fn missing_tool(text: &str) -> Option<&str> {
    let shell = text.lines().filter(|line| line.contains("sh: "));
    let mut before = shell.filter_map(|line| {
        line.strip_suffix(": not found")
            .or_else(|| line.strip_suffix(": command not found"))
    });
    before.next()?.rsplit(": ").next()
}

/// The first line that reads like the cause: what follows it is mostly its consequence.
fn first_error<'a>(lines: &[&'a str]) -> Option<&'a str> {
    let marks = [
        "error: ", "error[", "Error: ", "ERROR: ", "E: ", "fatal: ", "*** ",
    ];
    lines
        .iter()
        .find(|line| marks.iter().any(|mark| line.contains(mark)))
        .map(|line| line.trim())
}

/// The last line of a file that is being written, without terminal codes.
fn last_line(path: &Path) -> String {
    let mut tail = Vec::new();
    if let Ok(mut file) = File::open(path) {
        let len = file.metadata().map_or(0, |meta| meta.len());
        // A log that cannot be read now may be readable at the next tick.
        let _ = file.seek(SeekFrom::Start(len.saturating_sub(600)));
        let _ = file.read_to_end(&mut tail);
    }
    let tail = String::from_utf8_lossy(&tail);
    let line = tail
        .lines()
        .rev()
        .find(|line| !line.trim().is_empty())
        .unwrap_or("");
    line.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_disks_and_missing_networks_have_their_words() {
        assert!(reason("tar: write error: No space left on device\n")
            .unwrap()
            .contains("disk"));
        assert!(reason("Err: Could not resolve 'mirror'\n")
            .unwrap()
            .contains("network"));
        assert_eq!(reason("error: expected `;`\n"), None);
    }

    #[test]
    fn a_missing_tool_is_named() {
        assert_eq!(
            missing_tool("CC a\n/bin/sh: 1: bindgen: not found\n"),
            Some("bindgen")
        );
        assert_eq!(
            missing_tool("bash: line 1: bc: command not found\n"),
            Some("bc")
        );
        assert_eq!(missing_tool("a.c: header not found\n"), None);
    }

    #[test]
    fn the_first_error_is_the_cause() {
        let lines = [
            "CC a.o",
            "a.c:1: error: no such thing",
            "make: *** [a.o] Error 1",
        ];
        assert_eq!(first_error(&lines), Some("a.c:1: error: no such thing"));
        assert_eq!(first_error(&["CC a.o"]), None);
    }
}

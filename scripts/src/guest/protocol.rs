// SPDX-License-Identifier: GPL-2.0-only

//! What the guest sends: sections between lines that frame them, and the console beside them.

use anyhow::{ensure, Context, Result};

/// Lines of the console that a failure repeats.
const EXCERPT: usize = 30;

/// What a kernel prints when it is broken.
const CRASHES: &[&str] = &[
    "BUG:",
    "Oops",
    "general protection fault",
    "Kernel panic",
    "Unable to handle",
    "int3:",
    "kernel BUG at",
];

/// One job's output and exit status.
#[derive(Debug, PartialEq)]
pub struct Section {
    pub name: String,
    pub status: i32,
    pub text: String,
}

/// Everything that a guest sent.
#[derive(Debug, Default, PartialEq)]
pub struct Sections {
    pub all: Vec<Section>,
    /// The section that was begun and not ended.
    pub open: Option<String>,
    /// The guest said that nothing more follows.
    pub done: bool,
}

impl Sections {
    /// Reads what has come so far. A line that is not whole yet does not count.
    pub fn read(sent: &str) -> Sections {
        let mut sections = Sections::default();
        let mut text = String::new();
        for line in sent
            .split_inclusive('\n')
            .filter(|line| line.ends_with('\n'))
        {
            let words: Vec<&str> = line.split_whitespace().collect();
            match (words.as_slice(), &sections.open) {
                (["===", "begin", name], None) => {
                    sections.open = Some(name.to_string());
                    text.clear();
                }
                (["===", "end", name, status], Some(open)) if name == open => {
                    let status = status.parse().unwrap_or(-1);
                    let (name, text) = (name.to_string(), std::mem::take(&mut text));
                    sections.all.push(Section { name, status, text });
                    sections.open = None;
                }
                (["===", "done"], None) => sections.done = true,
                (_, Some(_)) => text += line,
                (_, None) => {}
            }
        }
        sections
    }

    /// The text of a job that must have been done, and done well.
    pub fn text(&self, name: &str) -> Result<&str> {
        let section = self.all.iter().find(|section| section.name == name);
        let section = section.with_context(|| format!("the guest sent no {name}"))?;
        ensure!(
            section.status == 0,
            "{name} failed in the guest (status {}): {}",
            section.status,
            section.text.trim()
        );
        Ok(&section.text)
    }
}

/// The first line of a crash on the console, and what follows it.
pub fn crash(console: &str) -> Option<(String, String)> {
    let lines: Vec<&str> = console.lines().collect();
    let at = lines.iter().position(|line| {
        // The kernel's command line and the names of its boot options are no crash.
        let said = !line.contains("ommand line:");
        said && CRASHES.iter().any(|mark| line.contains(mark))
    })?;
    let end = lines.len().min(at + EXCERPT);
    Some((lines[at].trim().to_string(), indented(&lines[at..end])))
}

/// The end of the console.
pub fn tail(console: &str) -> String {
    let lines: Vec<&str> = console.lines().collect();
    indented(&lines[lines.len().saturating_sub(EXCERPT)..])
}

fn indented(lines: &[&str]) -> String {
    let indent = |text: String, line: &&str| text + "\n    " + line.trim_end();
    lines.iter().fold(String::new(), indent)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SENT: &str = "=== begin info\nrelease 7\n=== end info 0\n=== begin verify\nTAP\n\
                        === end verify 1\n=== done\n";

    #[test]
    fn sections_are_read_with_their_status() {
        let sections = Sections::read(SENT);
        assert!(sections.done && sections.open.is_none());
        assert_eq!(sections.text("info").unwrap(), "release 7\n");
        assert!(sections
            .text("verify")
            .unwrap_err()
            .to_string()
            .contains("status 1"));
        assert!(sections.text("timings").is_err());
    }

    #[test]
    fn whatever_is_cut_off_is_not_done() {
        for end in 0..SENT.len() {
            let sections = Sections::read(&SENT[..end]);
            assert!(!sections.done, "cut at {end}");
            assert!(sections.all.len() <= 2);
        }
        assert_eq!(Sections::read(&SENT[..20]).open.as_deref(), Some("info"));
    }

    #[test]
    fn a_frame_inside_a_section_is_text() {
        let sections = Sections::read("=== begin a\n=== end b 0\n=== done\n=== end a 0\n");
        assert_eq!(sections.text("a").unwrap(), "=== end b 0\n=== done\n");
        assert!(!sections.done);
    }

    #[test]
    fn a_crash_is_found_and_shown() {
        let (line, excerpt) = crash("boot\n[1.0] BUG: unable to handle page fault\nRIP\n").unwrap();
        assert_eq!(line, "[1.0] BUG: unable to handle page fault");
        assert!(excerpt.ends_with("RIP"));
        assert!(crash("Command line: oops=panic Oops\n[0.1] fine\n").is_none());
    }
}

// SPDX-License-Identifier: GPL-2.0-only

//! Unified diffs: where they are in a text, and whether they are whole.

use anyhow::{bail, ensure, Result};

use crate::patch::page::{Line, Page};

/// What a text says of one file.
#[derive(Clone, Debug, PartialEq)]
pub struct Diff {
    /// The path, without what stands for the two trees.
    pub path: String,
    /// The first digits of the file's name in git before and after, if git made the diff.
    pub blobs: Option<(String, String)>,
    pub hunks: Vec<Hunk>,
    /// Where it begins.
    pub line: usize,
    /// The file that it stands in.
    pub page: String,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Hunk {
    /// Its head, and the lines behind it.
    pub head: Line,
    pub rows: Vec<Line>,
}

/// The lines that a hunk's head promises before and after.
struct Promise {
    old: usize,
    new: usize,
}

/// All diffs in a page.
pub fn find(page: &Page) -> Result<Vec<Diff>> {
    let mut reader = Reader { page, at: 0 };
    let mut diffs = Vec::new();
    let mut blobs = None;
    while let Some(line) = reader.peek(0) {
        if line.text.starts_with("diff --git ") {
            blobs = None;
        } else if let Some(rest) = line.text.strip_prefix("index ") {
            blobs = blob_names(rest);
        }
        match reader.path() {
            Some(path) => {
                let line = line.number;
                reader.at += 2;
                let (blobs, hunks, page) = (blobs.take(), reader.hunks()?, page.name.clone());
                diffs.push(Diff {
                    path,
                    blobs,
                    hunks,
                    line,
                    page,
                });
            }
            None => reader.at += 1,
        }
    }
    Ok(diffs)
}

/// Of "12a23fa7c44c..407b226d4de2 100644".
fn blob_names(text: &str) -> Option<(String, String)> {
    let (old, new) = text.split_whitespace().next()?.split_once("..")?;
    let is_hex = |name: &str| name.len() >= 7 && name.bytes().all(|b| b.is_ascii_hexdigit());
    (is_hex(old) && is_hex(new)).then(|| (old.to_string(), new.to_string()))
}

struct Reader<'a> {
    page: &'a Page,
    at: usize,
}

impl<'a> Reader<'a> {
    fn peek(&self, ahead: usize) -> Option<&'a Line> {
        self.page.lines.get(self.at + ahead)
    }

    /// The file, if a diff of one starts here. A file that goes is called what it was.
    fn path(&self) -> Option<String> {
        let name = |ahead, mark| {
            let rest = self.peek(ahead)?.text.strip_prefix(mark)?;
            Some(rest.split('\t').next().unwrap_or_default().trim_end())
        };
        let (old, new) = (name(0, "--- ")?, name(1, "+++ ")?);
        promise(&self.peek(2)?.text)?;
        let path = if new == "/dev/null" { old } else { new };
        let bare = path.strip_prefix("a/").or(path.strip_prefix("b/"));
        Some(bare.unwrap_or(path).to_string())
    }

    fn hunks(&mut self) -> Result<Vec<Hunk>> {
        let mut hunks = Vec::new();
        while let Some(line) = self.peek(0) {
            let Some(promise) = promise(&line.text) else {
                break;
            };
            self.at += 1;
            let (head, rows) = (line.clone(), self.rows(line, promise)?);
            hunks.push(Hunk { head, rows });
        }
        Ok(hunks)
    }

    /// The lines of a hunk: as many as its head promises.
    fn rows(&mut self, head: &Line, promise: Promise) -> Result<Vec<Line>> {
        let name = &self.page.name;
        let Promise { mut old, mut new } = promise;
        let mut rows = Vec::new();
        while old > 0 || new > 0 {
            let line = self.peek(0);
            let over = line.is_none_or(|line| ends_hunk(&line.text));
            ensure!(
                !over,
                "{name}:{}: the hunk promises {old} more lines before and {new} after, and ends at \
                 line {}: it is cut off, or was edited without its head",
                head.number,
                line.or(self.page.lines.last())
                    .map_or(0, |line| line.number)
            );
            let Some(line) = line else { break };
            let (uses_old, uses_new) = match line.text.chars().next() {
                // Of an empty line some mailer took the blank.
                Some(' ') | None => (1, 1),
                Some('-') => (1, 0),
                Some('+') => (0, 1),
                Some('\\') => (0, 0),
                _ => bail!(
                    "{name}:{}: \"{}\" is no line of a diff, inside the hunk of line {}: was a long \
                     line broken?",
                    line.number,
                    line.text,
                    head.number
                ),
            };
            ensure!(
                uses_old <= old && uses_new <= new,
                "{name}:{}: one line more than the hunk's head, line {}, promises: was it edited \
                 without its head?",
                line.number,
                head.number
            );
            ensure!(
                !line.text.contains('\u{fffd}'),
                "{name}:{}: bytes that are no UTF-8 inside a diff",
                line.number
            );
            (old, new) = (old - uses_old, new - uses_new);
            rows.push(line.clone());
            self.at += 1;
        }
        if let Some(line) = self.peek(0).filter(|line| line.text.starts_with("\\ ")) {
            rows.push(line.clone());
            self.at += 1;
        }
        ensure!(
            self.peek(0).is_none_or(|line| !goes_on(&line.text)),
            "{name}:{}: the hunk goes on where its head, line {}, says that it ends: was it edited \
             without its head?",
            self.peek(0).map_or(0, |line| line.number),
            head.number
        );
        Ok(rows)
    }
}

/// Whether a line is one of what comes behind hunks.
fn ends_hunk(line: &str) -> bool {
    ["@@ -", "diff --git ", "-- ", "--- a/"]
        .iter()
        .any(|mark| line == *mark || (mark.len() > 3 && line.starts_with(mark)))
}

/// Whether a line behind a hunk belongs to it all the same.
fn goes_on(line: &str) -> bool {
    let mark = line.starts_with(['+', '-', ' ']);
    mark && !line.starts_with("--") && line.trim().len() > 1
}

/// Reads "@@ -31,24 +31,27 @@ whatever".
fn promise(head: &str) -> Option<Promise> {
    let (ranges, _) = head.strip_prefix("@@ -")?.split_once(" @@")?;
    let (old, new) = ranges.split_once(" +")?;
    let count = |range: &str| match range.split_once(',') {
        Some((start, count)) => start.parse::<usize>().ok().and(count.parse().ok()),
        None => range.parse::<usize>().ok().map(|_| 1),
    };
    let (old, new) = (count(old)?, count(new)?);
    Some(Promise { old, new })
}

impl Diff {
    /// The diff as patch takes it, for a file of that name.
    pub fn text(&self, name: &str) -> String {
        let mut text = format!("--- a/{name}\n+++ b/{name}\n");
        for hunk in &self.hunks {
            for line in [&hunk.head].into_iter().chain(&hunk.rows) {
                let blank = if line.text.is_empty() { " " } else { "" };
                text += &format!("{}{blank}\n", line.text);
            }
        }
        text
    }

    /// How many lines it adds and takes.
    pub fn counts(&self) -> (usize, usize) {
        let rows = || self.hunks.iter().flat_map(|hunk| &hunk.rows);
        let count = |mark| rows().filter(|row| row.text.starts_with(mark)).count();
        (count('+'), count('-'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "why\n---\ndiff --git a/d/x.S b/d/x.S\nindex 1234567..89abcde 100644\n\
                       --- a/d/x.S\n+++ b/d/x.S\n@@ -3,2 +3,3 @@ there\n a\n+b\n\n-- \n2.1\n";

    fn all(text: &str) -> Result<Vec<Diff>> {
        find(&Page::new("in", 1, text))
    }

    fn fails(text: &str, words: &str) {
        let error = all(text).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }

    #[test]
    fn a_diff_is_found_among_words() {
        let [diff] = &all(ONE).unwrap()[..] else {
            panic!("not one");
        };
        assert_eq!((diff.path.as_str(), diff.line), ("d/x.S", 5));
        assert_eq!(diff.blobs.as_ref().unwrap().1, "89abcde");
        assert_eq!(diff.counts(), (1, 0));
        let text = diff.text("x.S");
        assert!(
            text.ends_with("@@ -3,2 +3,3 @@ there\n a\n+b\n \n"),
            "{text}"
        );
    }

    #[test]
    fn there_may_be_none_or_many() {
        assert!(all("--- a/x\nno diff\n").unwrap().is_empty());
        assert_eq!(all(&ONE.repeat(3)).unwrap().len(), 3);
        let no_end =
            "--- x\t2026-01-01\n+++ x\n@@ -1 +1 @@\n-a\n+b\n\\ No newline at end of file\n";
        assert_eq!(all(no_end).unwrap()[0].hunks[0].rows.len(), 3);
    }

    #[test]
    fn a_hunk_that_is_not_whole_is_refused_with_its_line() {
        fails(
            &ONE.replace("+3,3", "+3,4"),
            "in:7: the hunk promises 0 more lines before and 1",
        );
        fails(
            &ONE.replace("+3,3", "+3,2"),
            "in:10: one line more than the hunk's head, line 7",
        );
        fails(&ONE.replace("\n+b\n", "\n+b\n+c\n"), "in:11: one line more");
        fails(
            &ONE.replace("\n\n--", "\n\n c d\n--"),
            "in:11: the hunk goes on",
        );
        fails(
            &ONE.replace("+b", "broken"),
            "in:9: \"broken\" is no line of a diff",
        );
        fails(&ONE[..ONE.find("+b").unwrap()], "cut off");
        fails(
            &ONE.replace("+b", "+\u{fffd}"),
            "in:9: bytes that are no UTF-8",
        );
    }
}

// SPDX-License-Identifier: GPL-2.0-only

//! The diffs of what the user gives that are of a routine's file, in the order to apply them.

use anyhow::{bail, ensure, Result};
use std::collections::BTreeSet;

use crate::patch::diff::{self, Diff};
use crate::patch::mail::Message;
use crate::patch::quote;
use crate::patch::routine::Routine;

/// What is to be applied, and what is to be told of it.
#[derive(Debug, Default)]
pub struct Series {
    pub changes: Vec<Change>,
    /// The subjects of what is applied.
    pub subjects: Vec<String>,
    pub notes: Vec<String>,
}

/// A diff of a routine's file.
#[derive(Debug)]
pub struct Change {
    pub routine: &'static Routine,
    pub diff: Diff,
    /// A reply quoted it.
    pub quoted: bool,
    /// A diffstat says that none of its lines is missing.
    pub counted: bool,
}

/// A message with diffs.
struct Patch<'a> {
    subject: &'a str,
    changes: Vec<Change>,
    others: Vec<String>,
}

impl Series {
    /// Takes the diffs out of messages: those that stand there, else those that are quoted.
    pub fn of(name: &str, messages: &[Message]) -> Result<Series> {
        let mut patches = Vec::new();
        for message in messages {
            patches.push(whole(message)?);
        }
        let nothing = |patches: &[Patch]| patches.iter().all(|patch| patch.changes.is_empty());
        if nothing(&patches) {
            for (message, patch) in messages.iter().zip(&mut patches) {
                patch.changes = quoted(message)?;
            }
        }
        if nothing(&patches) {
            let others: BTreeSet<_> = patches.iter().flat_map(|patch| &patch.others).collect();
            let others: Vec<_> = others.into_iter().map(String::as_str).collect();
            if others.is_empty() {
                bail!("{name}: there is no unified diff in it");
            }
            bail!(
                "{name}: it changes {}, and neither arch/x86/lib/memcpy_64.S nor \
                 arch/x86/lib/copy_user_64.S",
                others.join(", ")
            );
        }
        let mut series = Series::default();
        let patches = series.newest(patches);
        let others: BTreeSet<_> = patches.iter().flat_map(|patch| &patch.others).collect();
        for other in others {
            series.notes.push(format!("left alone: {other}"));
        }
        for patch in patches
            .into_iter()
            .filter(|patch| !patch.changes.is_empty())
        {
            series.subjects.push(patch.subject.to_string());
            series.changes.extend(patch.changes);
        }
        Ok(series)
    }

    /// The patches that count, by their numbers: those of the newest version.
    fn newest<'a>(&mut self, patches: Vec<Patch<'a>>) -> Vec<Patch<'a>> {
        let mut patches: Vec<_> = patches
            .into_iter()
            .filter(|patch| !patch.changes.is_empty() || !patch.others.is_empty())
            .collect();
        let newest = patches.iter().filter(|patch| !patch.changes.is_empty());
        let newest = newest
            .map(|patch| version(patch.subject))
            .max()
            .unwrap_or(1);
        patches.retain(|patch| {
            let keep = version(patch.subject) >= newest;
            if !keep {
                let subject = patch.subject;
                self.notes
                    .push(format!("left alone, an older version: {subject}"));
            }
            keep
        });
        if patches.iter().all(|patch| number(patch.subject).is_some()) {
            patches.sort_by_key(|patch| number(patch.subject));
        }
        patches
    }
}

/// What stands in a message as it is.
fn whole(message: &Message) -> Result<Patch<'_>> {
    let mut patch = Patch {
        subject: &message.subject,
        changes: Vec::new(),
        others: Vec::new(),
    };
    for page in &message.parts {
        for diff in diff::find(page)? {
            match Routine::of(&diff.path) {
                Some(routine) => patch.changes.push(Change {
                    routine,
                    diff,
                    quoted: false,
                    counted: false,
                }),
                None => patch.others.push(diff.path),
            }
        }
    }
    Ok(patch)
}

/// What a message quotes, if that can be had exactly.
fn quoted(message: &Message) -> Result<Vec<Change>> {
    let mut changes = Vec::new();
    for page in &message.parts {
        let Some(quoted) = quote::unquoted(page) else {
            continue;
        };
        let diffs = diff::find(&quoted.page)?;
        let counts = diffs.iter().map(Diff::counts);
        let (added, taken) = counts.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        let counted = quote::as_counted(page, (added, taken))?;
        for diff in diffs {
            let Some(routine) = Routine::of(&diff.path) else {
                continue;
            };
            quoted.is_exact(&diff)?;
            ensure!(
                counted || diff.blobs.is_some(),
                "{}:{}: the diff is quoted, and neither a diffstat nor an index line says whether \
                 all of it is: take the mail that is quoted",
                page.name,
                diff.line
            );
            changes.push(Change {
                routine,
                diff,
                quoted: true,
                counted,
            });
        }
    }
    Ok(changes)
}

/// The words in the first brackets of a subject.
fn tag(subject: &str) -> impl Iterator<Item = &str> {
    let inside = subject
        .split_once('[')
        .and_then(|(_, rest)| rest.split_once(']'));
    inside.map_or("", |(tag, _)| tag).split_whitespace()
}

/// The version of a patch, from "[PATCH v2 1/3]".
fn version(subject: &str) -> u32 {
    let number = |word: &str| word.to_ascii_lowercase().strip_prefix('v')?.parse().ok();
    tag(subject).find_map(number).unwrap_or(1)
}

/// Its number in the series.
fn number(subject: &str) -> Option<u32> {
    tag(subject).find_map(|word| word.split_once('/')?.0.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::patch::page::Page;

    fn message(subject: &str, path: &str, mark: &str) -> Message {
        let text = format!(
            "x\n 1 file changed, 1 insertion(+)\n\n--- a/{path}\n+++ b/{path}\n@@ -1 +1,2 @@\n a\n+{subject}\n"
        );
        let marked: Vec<_> = text.lines().map(|line| format!("{mark}{line}\n")).collect();
        let text = marked.concat();
        Message {
            subject: subject.into(),
            parts: vec![Page::new("in", 1, &text)],
        }
    }

    const FILE: &str = "arch/x86/lib/memcpy_64.S";

    fn order(messages: &[Message]) -> Vec<String> {
        let series = Series::of("in", messages).unwrap();
        let added = |change: &Change| change.diff.hunks[0].rows[1].text.clone();
        series.changes.iter().map(added).collect()
    }

    #[test]
    fn a_series_is_in_the_order_of_its_numbers() {
        let two = message("[PATCH v2 2/2] b", FILE, "");
        let one = message("[PATCH v2 1/2] a", FILE, "");
        assert_eq!(
            order(&[two, one]),
            ["+[PATCH v2 1/2] a", "+[PATCH v2 2/2] b"]
        );
    }

    #[test]
    fn an_older_version_and_a_reply_do_not_count() {
        let old = message("[PATCH] a", FILE, "");
        let reply = message("Re: [PATCH] a", FILE, "> ");
        let new = message("[PATCH v2] a", FILE, "");
        assert_eq!(order(&[old, reply, new]), ["+[PATCH v2] a"]);
    }

    #[test]
    fn a_reply_alone_counts() {
        let reply = message("Re: [PATCH] a", FILE, "> > ");
        let series = Series::of("in", &[reply]).unwrap();
        assert!(series.changes[0].quoted);
    }

    #[test]
    fn a_quote_of_which_nobody_can_say_that_it_is_whole() {
        let mut reply = message("Re: [PATCH] a", FILE, "> ");
        reply.parts[0].lines.remove(1);
        let error = Series::of("in", &[reply]).unwrap_err().to_string();
        assert!(
            error.contains("neither a diffstat nor an index line"),
            "{error}"
        );
    }

    #[test]
    fn other_files_are_named() {
        let other = message("[PATCH] a", "mm/slub.c", "");
        let error = Series::of("in", &[other]).unwrap_err().to_string();
        assert!(
            error.contains("it changes mm/slub.c, and neither"),
            "{error}"
        );
        let both = [message("a", "mm/slub.c", ""), message("b", FILE, "")];
        let series = Series::of("in", &both).unwrap();
        assert_eq!(series.notes, ["left alone: mm/slub.c"]);
        let none = Message {
            subject: String::new(),
            parts: vec![Page::new("in", 1, "hello\n")],
        };
        let error = Series::of("in", &[none]).unwrap_err().to_string();
        assert!(error.contains("no unified diff"), "{error}");
    }
}

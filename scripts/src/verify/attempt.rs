// SPDX-License-Identifier: GPL-2.0-only

//! One check of one routine under one mask, and what came of it.

use crate::guest::ktap;

use crate::patch::routine::Routine;

/// The masks of the module that are forced.
pub const MASKS: [&str; 4] = ["e0f0", "e0f1", "e1f0", "e1f1"];

/// The checks in the groups of the table.
pub const GROUPS: [(&str, &[&str]); 5] = [
    ("text", &["patched_text"]),
    ("returns", &["returns"]),
    ("registers", &["calling_convention", "return_value"]),
    (
        "copies",
        &["every_length", "every_alignment", "guard_pages"],
    ),
    (
        "faults",
        &[
            "exception_table",
            "source_faults",
            "destination_faults",
            "user_memory",
        ],
    ),
];

/// Those that read the loaded text and never run it.
const READERS: [&str; 3] = ["patched_text", "returns", "exception_table"];

/// Those that have it fault.
const FAULTING: [&str; 3] = ["source_faults", "destination_faults", "user_memory"];

#[derive(Clone, Debug, PartialEq)]
pub struct Attempt {
    pub routine: &'static Routine,
    pub candidate: String,
    pub mask: &'static str,
    pub check: &'static str,
    pub outcome: Option<Outcome>,
}

/// What came of a check.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    Right,
    /// It does not apply, and why.
    Skipped(String),
    /// What it found.
    Wrong(String),
    /// The kernel broke: in words, and what it said.
    Crash(String, String),
    /// The candidate never came back.
    Hang(String),
    /// Why it was not tried.
    Untried(String),
}

impl Outcome {
    /// Of what the module printed for one check.
    pub fn read(check: &str, text: &str, status: i32) -> Outcome {
        let mut said = Vec::new();
        for line in text.lines().map(str::trim) {
            if let Some((failed, name, skip)) = ktap::result(line) {
                if name == check && (failed || status == 0) {
                    return match (failed, skip) {
                        (true, _) => Outcome::Wrong(said.join("; ")),
                        (false, Some(why)) => Outcome::Skipped(why.to_string()),
                        (false, None) => Outcome::Right,
                    };
                }
            } else if let Some(words) = line.strip_prefix(&format!("# {check}: ")) {
                said.push(words);
            }
        }
        Outcome::Wrong(format!(
            "the module gave no result (status {status}): {}",
            text.trim()
        ))
    }

    pub fn good(&self) -> bool {
        matches!(self, Outcome::Right | Outcome::Skipped(_))
    }

    /// In a table.
    pub fn word(&self) -> &'static str {
        match self {
            Outcome::Right => "right",
            Outcome::Skipped(_) => "-",
            Outcome::Wrong(_) => "WRONG",
            Outcome::Crash(..) => "CRASH",
            Outcome::Hang(_) => "HANG",
            Outcome::Untried(_) => "?",
        }
    }
}

impl Attempt {
    /// All attempts of a candidate, those first that run nothing.
    pub fn all(routine: &'static Routine, candidate: &str) -> Vec<Attempt> {
        let mut attempts = Vec::new();
        for mask in MASKS {
            for check in GROUPS.iter().flat_map(|(name, checks)| {
                let applies = routine.user || *name != "faults";
                checks.iter().filter(move |_| applies)
            }) {
                attempts.push(Attempt {
                    routine,
                    candidate: candidate.into(),
                    mask,
                    check,
                    outcome: None,
                });
            }
        }
        attempts.sort_by_key(Attempt::runs);
        attempts
    }

    /// Whether the candidate is called.
    pub fn runs(&self) -> bool {
        !READERS.contains(&self.check)
    }

    /// Whether it is of the same candidate.
    pub fn same(&self, other: &Attempt) -> bool {
        self.routine == other.routine && self.candidate == other.candidate
    }

    /// Whether it found that a candidate may not be called as callers do, or may not meet a fault.
    /// The checks that do so are then not tried (the guest's init knows which), since they would
    /// show nothing but a broken kernel.
    pub fn forbids(&self, other: &Attempt) -> bool {
        let wrong = matches!(self.outcome, Some(Outcome::Wrong(_)));
        wrong
            && self.same(other)
            && self.mask == other.mask
            && match self.check {
                "calling_convention" => other.runs(),
                "exception_table" => FAULTING.contains(&other.check),
                _ => false,
            }
    }

    /// The words for the module's `verify` file.
    pub fn words(&self) -> String {
        format!(
            "depth=quick routine={} candidate={} mask={} check={}",
            self.routine.name, self.candidate, self.mask, self.check
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KTAP: &str =
        "KTAP version 1\n1..1\n    KTAP version 1\n    # Subtest: repmov_x\n    1..1\n";

    #[test]
    fn what_the_module_prints_is_read() {
        let read = |rest: &str| Outcome::read("returns", &format!("{KTAP}{rest}"), 0);
        assert_eq!(read("    ok 1 returns\nok 1 repmov_x\n"), Outcome::Right);
        let skipped = Outcome::Skipped("none".into());
        assert_eq!(read("    ok 1 returns # SKIP none\n"), skipped);
        let wrong = "    # returns: memcpy patch e0f0 entry 0: bare\n    not ok 1 returns\n";
        let Outcome::Wrong(words) = read(wrong) else {
            panic!("not wrong");
        };
        assert!(
            words.ends_with("memcpy patch e0f0 entry 0: bare"),
            "{words}"
        );
        assert!(!read("ok 1 repmov_x\n").good());
        let right = "    ok 1 returns\n";
        assert!(!Outcome::read("returns", right, 1).good());
        assert!((0..right.len() - 1).all(|end| !read(&right[..end]).good()));
        assert!(!Outcome::read("returns", "sh: write error: Invalid argument", 1).good());
    }

    #[test]
    fn what_runs_nothing_comes_first() {
        let attempts = Attempt::all(Routine::named("memcpy").unwrap(), "patch");
        assert_eq!(attempts.len(), 4 * 7);
        assert!(attempts[..8].iter().all(|attempt| !attempt.runs()));
        assert!(attempts[8..].iter().all(Attempt::runs));
        assert_eq!(attempts[8].check, "calling_convention");
        assert_eq!(
            Attempt::all(Routine::named("rep_movs_alternative").unwrap(), "patch").len(),
            44
        );
    }
}

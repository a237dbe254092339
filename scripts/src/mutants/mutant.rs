// SPDX-License-Identifier: GPL-2.0-only

//! Mutants: sources that differ from a candidate's in one statement. The same ones every time.

use std::collections::{HashMap, HashSet};

use super::operator::{changes, mnemonic};
use super::statement::{statements, Statement, StatementKind};
use crate::patch::routine::Routine;

/// A candidate whose source is mutated.
pub struct Origin {
    pub routine: &'static Routine,
    pub candidate: String,
    pub text: String,
    /// What it is a patched copy of; then only lines that the patch brought are mutated.
    pub base: Option<String>,
}

/// Routine and name.
pub type Id = (&'static str, String);

/// What tells a mutant from others for good, since line numbers change: routine, candidate, operator,
/// what was there, what is there, and how many alike come before it.
pub type MutantKey = [String; 6];

/// One mutant.
#[derive(Clone, Debug)]
pub struct Mutant {
    pub routine: &'static Routine,
    /// That of its candidate with a number; 0 is the candidate itself.
    pub name: String,
    pub candidate: String,
    pub line: usize,
    pub operator: &'static str,
    pub before: String,
    pub after: String,
    pub text: String,
    pub key: MutantKey,
}

impl Mutant {
    /// Whether it is the candidate itself.
    pub fn is_whole(&self) -> bool {
        self.line == 0
    }

    pub fn id(&self) -> Id {
        (self.routine.name, self.name.clone())
    }

    /// What was done to what.
    pub fn told(&self) -> String {
        let after = match self.after.as_str() {
            "" => "nothing",
            after => after,
        };
        format!(
            "{} {}:{}: {}: {} -> {after}",
            self.routine.name, self.candidate, self.line, self.operator, self.before
        )
    }
}

/// With one blank for any white space.
pub fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl Origin {
    /// The candidate itself, which must live.
    pub fn whole(&self) -> Mutant {
        self.mutant(0, 0, "nothing", ("", ""), self.text.clone())
    }

    /// All mutants, each `nth` of them.
    pub fn mutants(&self, nth: usize) -> Vec<Mutant> {
        let mut texts = HashSet::from([self.text.clone()]);
        let all = statements(&self.text);
        let targets = targets(&self.text, &all);
        let mut made: Vec<Mutant> = Vec::new();
        for one in all.iter().filter(|one| self.own(one)) {
            let before = &self.text[one.at.clone()];
            for change in changes(one, before, &targets) {
                let mut text = self.text.clone();
                text.replace_range(one.at.clone(), &change.after);
                if texts.insert(text.clone()) {
                    let number = made.len() + 1;
                    let words = (before, change.after.as_str());
                    made.push(self.mutant(number, one.line, change.operator, words, text));
                }
            }
        }
        let mut alike: HashMap<MutantKey, usize> = HashMap::new();
        for one in &mut made {
            let count = alike.entry(one.key.clone()).or_default();
            *count += 1;
            one.key[5] = count.to_string();
        }
        made.into_iter().step_by(nth.max(1)).collect()
    }

    fn mutant(
        &self,
        number: usize,
        line: usize,
        operator: &'static str,
        (before, after): (&str, &str),
        text: String,
    ) -> Mutant {
        let key = [
            self.routine.name,
            &self.candidate,
            operator,
            before,
            after,
            "1",
        ];
        Mutant {
            key: key.map(plain),
            routine: self.routine,
            name: format!("{}n{number:03}", self.candidate),
            candidate: self.candidate.clone(),
            line,
            operator,
            before: before.into(),
            after: after.into(),
            text,
        }
    }

    /// Whether a statement is this candidate's and not its base's.
    fn own(&self, one: &Statement) -> bool {
        let Some(base) = &self.base else {
            return true;
        };
        let line = self.text.lines().nth(one.line - 1).unwrap_or_default();
        // A return may be a moved one as well.
        let moved = one.kind == StatementKind::Insn && mnemonic(line) == "RET";
        !moved && !base.lines().any(|other| plain(other) == plain(line))
    }
}

/// Where the fix-ups of a source go to.
fn targets<'a>(text: &'a str, all: &[Statement]) -> Vec<&'a str> {
    let fixups = all.iter().filter(|one| one.kind == StatementKind::Fixup);
    let targets = fixups.filter_map(|one| {
        let (_, target) = text[one.at.clone()].rsplit_once(',')?;
        Some(target.trim().trim_end_matches(')'))
    });
    targets.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(base: Option<&str>) -> Origin {
        Origin {
            routine: Routine::named("memcpy").unwrap(),
            candidate: "x".into(),
            text: "f:\n\tmovq %rdi, %rax\n\tcmpq $8, %rdx\n\tjb .Lx\n\tRET\n".into(),
            base: base.map(str::to_string),
        }
    }

    #[test]
    fn each_is_another_source_with_one_change() {
        let origin = origin(None);
        let all = origin.mutants(1);
        let texts: HashSet<_> = all.iter().map(|one| one.text.as_str()).collect();
        assert_eq!(texts.len(), all.len());
        assert!(all.len() > 15 && !texts.contains(origin.text.as_str()));
        let names: HashSet<_> = all.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names.len(), all.len());
        for one in &all {
            let same = one.text.lines().zip(origin.text.lines());
            assert_eq!(same.filter(|(new, old)| new != old).count(), 1, "{one:?}");
        }
    }

    #[test]
    fn they_are_the_same_every_time() {
        let told = |nth| -> Vec<String> {
            let all = origin(None).mutants(nth).into_iter();
            all.map(|one| one.name + &one.after).collect()
        };
        assert_eq!(told(1), told(1));
        let every_third: Vec<_> = told(1).into_iter().step_by(3).collect();
        assert_eq!(told(3), every_third);
    }

    #[test]
    fn of_a_patched_source_only_what_is_new() {
        let all = origin(Some("f:\n\tmovq %rdi,  %rax\n\tjb .Lx\n\tRET\n")).mutants(1);
        assert!(!all.is_empty() && all.iter().all(|one| one.line == 3));
    }
}

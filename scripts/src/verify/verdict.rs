// SPDX-License-Identifier: GPL-2.0-only

//! The verdict: a table of what holds where, and what does not, spelled out.

use std::collections::BTreeMap;

use crate::verify::attempt::{Attempt, Outcome, GROUPS, MASKS};

/// Lines of a kernel's words that are repeated.
const EXCERPT: usize = 14;

/// The attempts of one state of the kernel.
pub struct Booted {
    pub its: bool,
    pub attempts: Vec<Attempt>,
}

impl Booted {
    fn name(&self) -> &'static str {
        match self.its {
            true => "forced",
            false => "off",
        }
    }
}

/// Whether everything holds.
pub fn good(states: &[Booted]) -> bool {
    let mut attempts = states.iter().flat_map(|state| &state.attempts);
    attempts.all(|attempt| attempt.outcome.as_ref().is_some_and(Outcome::good))
}

/// A row for each mask in each state, a column for each group of checks.
pub fn table(candidate: &str, states: &[Booted]) -> String {
    let mut text = format!("{:<44} {:<7}", "", "ITS");
    for (group, _) in GROUPS {
        text += &format!(" {group:<9}");
    }
    let mut text = text.trim_end().to_string() + "\n";
    for routine in routines(states) {
        for mask in MASKS {
            for state in states {
                let of_row =
                    |attempt: &&Attempt| attempt.routine.name == routine && attempt.mask == mask;
                let attempts: Vec<_> = state.attempts.iter().filter(of_row).collect();
                let name = format!("{routine} {candidate} {mask}");
                let mut row = format!("{name:<44} {:<7}", state.name());
                for (_, checks) in GROUPS {
                    row += &format!(" {:<9}", word(&attempts, checks));
                }
                text += row.trim_end();
                text.push('\n');
            }
        }
    }
    text
}

fn routines(states: &[Booted]) -> Vec<&'static str> {
    let mut names: Vec<&str> = Vec::new();
    for attempt in states.iter().flat_map(|state| &state.attempts) {
        if !names.contains(&attempt.routine.name) {
            names.push(attempt.routine.name);
        }
    }
    names
}

/// The word for a group: of its first check that does not hold; else right, if one was made.
fn word(attempts: &[&Attempt], checks: &[&str]) -> &'static str {
    let of_group = attempts
        .iter()
        .filter(|attempt| checks.contains(&attempt.check));
    let outcomes: Vec<_> = of_group
        .filter_map(|attempt| attempt.outcome.as_ref())
        .collect();
    let untried = |outcome: &&&Outcome| matches!(outcome, Outcome::Untried(_));
    let bad = || outcomes.iter().filter(|outcome| !outcome.good());
    let first = bad().find(|outcome| !untried(outcome)).or(bad().next());
    let made = || outcomes.iter().find(|outcome| ***outcome == Outcome::Right);
    first.or_else(made).map_or("-", |outcome| outcome.word())
}

/// What does not hold, each finding once, with where it is so.
pub fn findings(candidate: &str, states: &[Booted]) -> String {
    let mut order: Vec<(String, String)> = Vec::new();
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut excerpts: BTreeMap<String, String> = BTreeMap::new();
    for state in states {
        for attempt in &state.attempts {
            let Some((words, excerpt)) = attempt.outcome.as_ref().and_then(said) else {
                continue;
            };
            let words = format!(
                "{} {}: {}",
                attempt.routine.name,
                attempt.check,
                bare(attempt, candidate, &words)
            );
            let place = format!("{} ITS {}", attempt.mask, state.name());
            let key = without_addresses(&words);
            if !places.contains_key(&key) {
                order.push((key.clone(), words));
                excerpts.insert(key.clone(), excerpt.to_string());
            }
            places.entry(key).or_default().push(place);
        }
    }
    let mut text = String::new();
    for (key, words) in order {
        text += &format!("\n{words}\n  under {}\n", places[&key].join(", "));
        for line in excerpts[&key]
            .lines()
            .filter(|line| !line.trim().is_empty())
            .take(EXCERPT)
        {
            text += &format!("  {line}\n");
        }
    }
    text
}

/// Words without the kernel's addresses, which are others at each boot.
fn without_addresses(words: &str) -> String {
    let is_address = |word: &str| word.len() >= 12 && word.bytes().all(|b| b.is_ascii_hexdigit());
    let parts = words.split_inclusive(|c: char| !c.is_ascii_alphanumeric());
    let known = parts.filter(|part| {
        let word = part.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
        !is_address(word.strip_prefix("0x").unwrap_or(word))
    });
    known.collect()
}

/// The words of an outcome that is a finding.
fn said(outcome: &Outcome) -> Option<(String, &str)> {
    match outcome {
        Outcome::Wrong(words) | Outcome::Hang(words) => Some((words.clone(), "")),
        Outcome::Crash(words, excerpt) => Some((words.clone(), excerpt)),
        Outcome::Right | Outcome::Skipped(_) | Outcome::Untried(_) => None,
    }
}

/// A finding without the names that its place says again.
fn bare(attempt: &Attempt, candidate: &str, words: &str) -> String {
    let (routine, mask) = (attempt.routine.name, attempt.mask);
    let words = words.replace(&format!("repmov_{routine}_{candidate}_{mask}_"), "entry ");
    words.replace(&format!("{routine} {candidate} {mask} "), "")
}

/// Why there is nothing to say where the table has `-`, and what was not tried.
pub fn notes(states: &[Booted]) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    let attempts = || states.iter().flat_map(|state| &state.attempts);
    for attempt in attempts() {
        let note = match &attempt.outcome {
            Some(Outcome::Skipped(why)) => format!("-: {}: {why}", attempt.check),
            Some(Outcome::Untried(_)) => "?: not tried, after what the one before did".into(),
            _ => continue,
        };
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    if attempts().any(|attempt| !attempt.routine.user) {
        notes.push("-: faults: memcpy() has no fix-ups".into());
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::patch::routine::Routine;

    fn state(its: bool) -> Booted {
        let mut attempts = Attempt::all(Routine::named("memcpy").unwrap(), "patch");
        for attempt in &mut attempts {
            attempt.outcome = Some(Outcome::Right);
        }
        Booted { its, attempts }
    }

    fn set(state: &mut Booted, mask: &str, check: &str, outcome: Outcome) {
        let of = |attempt: &&mut Attempt| attempt.mask == mask && attempt.check == check;
        state.attempts.iter_mut().find(of).unwrap().outcome = Some(outcome);
    }

    #[test]
    fn what_holds_is_right_and_what_is_nothing_is_not_wrong() {
        let mut states = [state(false), state(true)];
        set(
            &mut states[0],
            "e0f0",
            "returns",
            Outcome::Skipped("none".into()),
        );
        assert!(good(&states));
        let text = table("patch", &states);
        assert_eq!(text.lines().count(), 9);
        let row = "memcpy patch e0f0                            off     right     -         right     right     -";
        assert_eq!(text.lines().nth(1).unwrap(), row);
        assert_eq!(findings("patch", &states), "");
    }

    #[test]
    fn a_finding_is_told_once_with_its_places() {
        let mut states = [state(false), state(true)];
        let wrong = |mask: &str| {
            let address = if mask == "e0f0" {
                "ffffffffc041990c"
            } else {
                "ffffffffc041990d"
            };
            Outcome::Wrong(format!("memcpy patch {mask} entry 0: len 8 (0x{address})"))
        };
        for state in &mut states {
            set(state, "e0f0", "guard_pages", wrong("e0f0"));
            set(state, "e1f0", "guard_pages", wrong("e1f0"));
        }
        assert!(!good(&states));
        assert!(table("patch", &states).contains("WRONG"));
        let words =
            "\nmemcpy guard_pages: entry 0: len 8 (0xffffffffc041990c)\n  under e0f0 ITS off, e1f0 ITS off, e0f0 \
                     ITS forced, e1f0 ITS forced\n";
        assert_eq!(findings("patch", &states), words);
    }

    #[test]
    fn what_was_not_tried_is_not_good() {
        let mut states = [state(true)];
        let hang = Outcome::Hang("it does not come back".into());
        set(&mut states[0], "e0f1", "every_length", hang);
        let untried = Outcome::Untried("after every_length".into());
        set(&mut states[0], "e0f1", "guard_pages", untried);
        assert!(!good(&states) && table("patch", &states).contains("HANG"));
        assert!(notes(&states)[0].starts_with("?: not tried"));
    }
}

// SPDX-License-Identifier: GPL-2.0-only

//! What became of all mutants, in tables.

use std::collections::BTreeMap;

use super::equivalent::Equivalents;
use super::fate::{Fate, How, Stage};
use super::mutant::Mutant;

/// A mutant and its fate.
pub type Tried = (Mutant, Fate);

/// What counts as wrong, in words: survivors, and those whose reason to survive is none.
pub fn wrong(all: &[Tried], known: &Equivalents) -> Vec<String> {
    let words = |(one, fate): &Tried| match (fate, known.reason(&one.key)) {
        (Fate::Alive, None) => Some(format!("survives: {}\n  {}", one.told(), one.key.join("|"))),
        (Fate::Killed(kill), Some(_)) => Some(format!(
            "said to be equivalent, and {} rejects it: {}",
            kill.check,
            one.told()
        )),
        (Fate::Refused, Some(_)) => Some(format!(
            "said to be equivalent, and the assembler refuses it: {}",
            one.told()
        )),
        _ => None,
    };
    all.iter().filter_map(words).collect()
}

/// A row for each operator.
pub fn operators(all: &[Tried], known: &Equivalents) -> String {
    let mut rows: BTreeMap<&str, [usize; 4]> = BTreeMap::new();
    for (one, fate) in all.iter().filter(|(_, fate)| *fate != Fate::Refused) {
        let row = rows.entry(one.operator).or_default();
        row[0] += 1;
        let column = match (fate, known.reason(&one.key)) {
            (Fate::Alive, None) => 3,
            (Fate::Alive, Some(_)) => 2,
            _ => 1,
        };
        row[column] += 1;
    }
    let heads = ["made", "killed", "equivalent", "survived"];
    table("operator", &heads, &rows)
}

/// A row for each check: where it killed, and how many of these by a crash or a hang.
pub fn checks(all: &[Tried]) -> String {
    let mut rows: BTreeMap<&str, [usize; 5]> = BTreeMap::new();
    for (_, fate) in all {
        let Fate::Killed(kill) = fate else {
            continue;
        };
        let row = rows.entry(&kill.check).or_default();
        row[kill.place as usize] += 1;
        match kill.how {
            How::Words => {}
            How::Crash => row[3] += 1,
            How::Hang => row[4] += 1,
        }
    }
    let [process, build, guest] = [Stage::Process, Stage::Build, Stage::Guest].map(Stage::name);
    table(
        "killed by",
        &[process, build, guest, "crashes", "hangs"],
        &rows,
    )
}

/// Those that mean the same, by reason.
pub fn equivalents(all: &[Tried], known: &Equivalents) -> String {
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for (one, fate) in all {
        if let (Fate::Alive, Some(reason)) = (fate, known.reason(&one.key)) {
            *reasons.entry(reason).or_default() += 1;
        }
    }
    let line = |(reason, count): (&&str, &usize)| format!("{count:>5} {reason}\n");
    let lines: String = reasons
        .iter()
        .fold(String::new(), |text, row| text + &line(row));
    format!("equivalent\n{lines}")
}

/// Rows of numbers with a sum below.
fn table<const N: usize>(
    title: &str,
    heads: &[&str; N],
    rows: &BTreeMap<&str, [usize; N]>,
) -> String {
    let row = |name: &str, cells: &[String]| {
        let mut line = format!("{name:<28}");
        for cell in cells {
            line += &format!(" {cell:>10}");
        }
        line + "\n"
    };
    let mut text = row(title, &heads.map(str::to_string));
    let mut sums = [0; N];
    for (name, numbers) in rows {
        text += &row(name, &numbers.map(|number| number.to_string()));
        for (sum, number) in sums.iter_mut().zip(numbers) {
            *sum += number;
        }
    }
    text + &row("all", &sums.map(|number| number.to_string()))
}

/// A line for each, for the log.
pub fn log(all: &[Tried]) -> String {
    let line = |(one, fate): &Tried| {
        let fate = match fate {
            Fate::Refused => "refused by the assembler".to_string(),
            Fate::Alive => "alive".to_string(),
            Fate::Killed(kill) => {
                format!("{}, {}: {}", kill.check, kill.place.name(), kill.words)
            }
        };
        format!(
            "{} {}\n    {}\n",
            one.name,
            one.told(),
            fate.replace('\n', " ")
        )
    };
    all.iter()
        .fold(String::new(), |text, tried| text + &line(tried))
}

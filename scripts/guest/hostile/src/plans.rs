// SPDX-License-Identifier: GPL-2.0-only

//! Writes to `plan`: good ones, good ones gone bad, and bytes. Each must be taken and read back, or
//! be refused in words with the error that is documented and change nothing.

use std::collections::BTreeMap;

use crate::files;
use crate::kernel::{number, E2BIG, EINVAL, ERANGE};
use crate::ktap::{beat, must, Outcome};
use crate::rng::Rng;

/// The most bytes that a plan may have.
const MOST: usize = 4096;

/// Candidates of each routine.
const ROUTINES: [(&str, &[&str]); 3] = [
    ("memcpy", &["orig", "erms512", "erms2048"]),
    ("rep_movs_alternative", &["orig", "movsq", "unrolled"]),
    ("copy_user_enhanced_fast_string", &["plain", "short64"]),
];

const KEYS: [&str; 15] = [
    "routine",
    "candidate",
    "mask",
    "entry",
    "len",
    "src",
    "dst",
    "mem",
    "cache",
    "fault",
    "draw",
    "weight",
    "rounds",
    "cpu",
    "buffers",
];

/// What a value may be, right or wrong, at the borders of what is allowed and beyond.
const ODD: [&str; 40] = [
    "0",
    "1",
    "3",
    "2",
    "15",
    "16",
    "48",
    "63",
    "64",
    "1001",
    "1002",
    "4095",
    "4096",
    "64K",
    "65536",
    "65535",
    "48M",
    "49M",
    "16M",
    "16777216",
    "16777217",
    "4294967296",
    "18446744073709551615",
    "18446744073709551616",
    "-1",
    "",
    ",",
    "1,",
    "1,,2",
    "9-1",
    "0-9/0",
    "0-4095/1",
    "1-2-3",
    "0x10",
    "4k",
    "all",
    "none",
    "native",
    "\u{fc}",
    "=",
];

fn list(rng: &mut Rng, of: &[&str]) -> String {
    let count = 1 + rng.below(of.len().min(3));
    let start = rng.below(of.len());
    let chosen: Vec<&str> = (0..count).map(|i| of[(start + i) % of.len()]).collect();
    chosen.join(",")
}

/// Numbers and ranges up to a bound.
fn numbers(rng: &mut Rng, most: usize) -> String {
    let mut items = Vec::new();
    for _ in 0..=rng.below(3) {
        let low = rng.below(most + 1);
        let high = low + rng.below(most - low + 1);
        let item = match rng.below(4) {
            0 => format!("{low}-{high}/{}", 1 + (high - low) / 8),
            1 if high - low < 64 => format!("{low}-{high}"),
            2 if low >= 1024 => format!("{}K", low / 1024),
            _ => low.to_string(),
        };
        items.push(item);
    }
    items.join(",")
}

/// A word that fits, mostly.
fn value(rng: &mut Rng, key: &str, candidates: &[&str]) -> String {
    match key {
        "candidate" if rng.once_in(3) => "all".into(),
        "candidate" => list(rng, candidates),
        "mask" => list(rng, &["e0f0", "e0f1", "e1f0", "e1f1", "native"]),
        "entry" => list(rng, &["0", "16", "32", "48"]),
        "len" => numbers(rng, 5000),
        "src" | "dst" => numbers(rng, 4095),
        "mem" => list(rng, &["kernel", "from-user", "to-user"]),
        "cache" => list(rng, &["hot", "l2-src", "cold-src", "cold-dst"]),
        "fault" => rng.pick(&["none", "0", "0,3", "7"]).into(),
        "draw" => rng.pick(&["each", "random"]).into(),
        "weight" => numbers(rng, 1000),
        "rounds" => (3 + rng.below(40)).to_string(),
        "cpu" => rng.below(2).to_string(),
        _ => rng.pick(&["64K", "1M", "8M", "48M", "16777216"]).into(),
    }
}

/// Lengths that are drawn, each with its weight. By chance the two would hardly ever agree.
fn drawn(rng: &mut Rng, routine: &str) -> String {
    let count = 1 + rng.below(8);
    let mut some = |most: usize| {
        let numbers: Vec<String> = (0..count).map(|_| rng.below(most).to_string()).collect();
        numbers.join(",")
    };
    let (lengths, weights) = (some(5000), some(1000));
    format!("routine={routine} draw=random len={lengths} weight={weights}")
}

/// A plan as a person might write it: some of the words, each with what fits it.
fn plan(rng: &mut Rng) -> String {
    let (routine, candidates) = ROUTINES[rng.below(ROUTINES.len())];
    if rng.once_in(12) {
        return drawn(rng, routine);
    }
    let mut words = vec![format!("routine={routine}")];
    // Most words are for few plans; a plan that has them all contradicts itself.
    let rare = 2 + rng.below(8);
    for key in &KEYS[1..] {
        let special = ["mem", "cache", "fault", "draw", "weight"].contains(key);
        if rng.once_in(if special { 2 * rare } else { rare }) {
            words.push(format!("{key}={}", value(rng, key, candidates)));
        }
    }
    if rng.once_in(3) {
        let (one, other) = (rng.below(words.len()), rng.below(words.len()));
        words.swap(one, other);
    }
    words.join(rng.pick(&[" ", " ", "  ", "\t", "\n"]))
}

/// Makes one thing of it wrong, or something that is right in another way.
fn spoil(rng: &mut Rng, bytes: &mut Vec<u8>) {
    let at = rng.below(bytes.len() + 1);
    match rng.below(9) {
        0 => bytes.truncate(at),
        1 => bytes.insert(at, rng.next() as u8),
        2 if at < bytes.len() => bytes[at] ^= 1 << rng.below(8),
        3 if at < bytes.len() => drop(bytes.remove(at)),
        4 => {
            let again = bytes[at..].to_vec();
            bytes.extend(again);
        }
        5 => bytes.extend(format!(" {}={}", rng.pick(&KEYS), rng.pick(&ODD)).bytes()),
        6 => {
            let digits = bytes.iter().position(u8::is_ascii_digit).unwrap_or(at);
            bytes.splice(digits..digits, rng.pick(&ODD).bytes());
        }
        7 => {
            let longest = rng.below(MOST + 64);
            let more = bytes.clone();
            while !more.is_empty() && bytes.len() < longest {
                bytes.push(b',');
                bytes.extend(&more);
            }
        }
        _ => {
            let (key, odd) = (rng.pick(&KEYS), rng.pick(&ODD));
            *bytes = format!("{key}={odd}").into_bytes();
        }
    }
}

/// Lengths at which something might change its mind.
fn length(rng: &mut Rng) -> usize {
    match rng.below(4) {
        0 => MOST - 2 + rng.below(5),
        1 => rng.below(3),
        _ => rng.below(MOST + 1000),
    }
}

/// What is written next.
fn next(rng: &mut Rng) -> Vec<u8> {
    match rng.below(8) {
        0 => (0..length(rng)).map(|_| rng.next() as u8).collect(),
        // Of what plans are made of.
        1 => {
            let some = |rng: &mut Rng| b"=, -/0123456789KMacdeflmnrsu_\n"[rng.below(30)];
            (0..length(rng)).map(|_| some(rng)).collect()
        }
        // As long as may be: blanks count, and mean nothing.
        2 => {
            let mut bytes = plan(rng).into_bytes();
            let wanted = length(rng).max(bytes.len());
            bytes.resize(wanted, b' ');
            bytes
        }
        3..=5 => plan(rng).into_bytes(),
        _ => {
            let mut bytes = plan(rng).into_bytes();
            for _ in 0..=rng.below(3) {
                spoil(rng, &mut bytes);
            }
            bytes
        }
    }
}

/// The start of what was written, for words about it.
fn shown(bytes: &[u8]) -> String {
    let text = bytes[..bytes.len().min(200)].escape_ascii();
    format!("{} bytes \"{text}\"", bytes.len())
}

/// A plan that was taken reads as a text that is the same plan.
fn reads_back(bytes: &[u8]) -> Outcome<String> {
    let reading = files::text("plan")?;
    files::put("plan", &reading)?;
    let again = files::text("plan")?;
    must(reading == again, || {
        format!("{} reads as {reading} and then as {again}", shown(bytes))
    })?;
    let status = files::text("status")?;
    must(status == "idle\n", || {
        format!("{} was taken, and status is {status}", shown(bytes))
    })?;
    Ok(reading)
}

/// A plan that was refused has changed nothing, and `status` says why.
fn refused(bytes: &[u8], error: i32, before: &str) -> Outcome<()> {
    must([EINVAL, ERANGE, E2BIG].contains(&error), || {
        format!("{}: error {error}", shown(bytes))
    })?;
    must(bytes.len() <= MOST || error == E2BIG, || {
        format!("{}: error {error} and not {E2BIG}", shown(bytes))
    })?;
    let (now, status) = (files::text("plan")?, files::text("status")?);
    must(now == before, || {
        format!("{} was refused and the plan became {now}", shown(bytes))
    })?;
    let words = status.strip_prefix("idle\nerror: plan: ");
    must(words.is_some_and(|words| words.trim().len() > 5), || {
        format!("{} was refused, and status is {status}", shown(bytes))
    })
}

/// Writes so many; how many were taken, and how many refused with which error.
pub fn run(writes: u64, seed: u64) -> Outcome<String> {
    let mut rng = Rng::new(seed, "plans");
    let mut counts = BTreeMap::new();
    let mut in_use = BTreeMap::new();
    files::put("plan", files::TINY)?;
    let mut before = files::text("plan")?;
    for at in 0..writes {
        if at % 500 == 0 {
            beat("plans", at, writes);
        }
        let bytes = next(&mut rng);
        let written = files::write("plan", &bytes);
        let error = number(&written);
        *counts.entry(error).or_insert(0u64) += 1;
        if written.is_err() {
            refused(&bytes, error, &before)?;
            continue;
        }
        before = reads_back(&bytes)?;
        for word in before.split_whitespace() {
            let key = word.split('=').next().unwrap_or_default().to_string();
            let is_rare = !["fault=none", "draw=each", "mem=kernel", "cache=hot"].contains(&word);
            *in_use.entry(key).or_insert(0u64) += u64::from(is_rare);
        }
    }
    // Or most of it tried nothing.
    for (error, least) in [(0, 10), (EINVAL, 20), (ERANGE, 100), (E2BIG, 50)] {
        let count = counts.get(&error).copied().unwrap_or(0);
        must(count * least >= writes, || {
            format!("only {count} of {writes} writes ended with {error}: {counts:?}")
        })?;
    }
    for key in KEYS {
        must(in_use.get(key).is_some_and(|&count| count > 0), || {
            format!("no plan that was taken says something of {key}: {in_use:?}")
        })?;
    }
    files::put("plan", files::TINY)?;
    let count = |error| counts.get(&error).copied().unwrap_or(0);
    Ok(format!(
        "{writes} writes: {} taken, {} EINVAL, {} ERANGE, {} E2BIG",
        count(0),
        count(EINVAL),
        count(ERANGE),
        count(E2BIG)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_kinds_of_writes_come_and_the_same_for_a_seed() {
        let draw = |seed| {
            let mut rng = Rng::new(seed, "plans");
            (0..2000).map(|_| next(&mut rng)).collect::<Vec<_>>()
        };
        let writes = draw(1);
        assert_eq!(writes, draw(1));
        assert_ne!(writes, draw(2));
        let any = |holds: fn(&Vec<u8>) -> bool| assert!(writes.iter().any(holds));
        any(|bytes| bytes.is_empty());
        any(|bytes| bytes.len() == MOST);
        any(|bytes| bytes.len() == MOST + 1);
        any(|bytes| std::str::from_utf8(bytes).is_err());
        for key in KEYS {
            let word = format!("{key}=");
            let says = |bytes: &Vec<u8>| String::from_utf8_lossy(bytes).contains(&word);
            assert!(writes.iter().any(says), "{key}");
        }
    }
}

// SPDX-License-Identifier: GPL-2.0-only

//! Mistreats the module inside a guest whose kernel finds more, and prints as KTAP what it stood.
//! Of the standard library alone, and linked statically: the guest has nothing else.

mod control;
mod files;
mod kernel;
mod kills;
mod ktap;
mod leaks;
mod load;
mod log;
mod ordinary;
mod plans;
mod readers;
mod rng;
mod starve;

use std::env;
use std::process::ExitCode;

use ktap::Report;

/// How much of everything.
struct Form {
    writes: u64,
    reading: u64,
    kills: u64,
    loads: u64,
    races: u64,
    /// How far it is from one allocation that is made to fail to the next, in a long walk.
    stride: u64,
}

/// In a boot of their own, since they take as long as all the rest.
const WRITES: u64 = 100_000;

const FULL: Form = Form {
    writes: 500,
    reading: 60,
    kills: 200,
    loads: 1000,
    races: 40,
    stride: 1,
};

const SHORT: Form = Form {
    writes: 500,
    reading: 3,
    kills: 8,
    loads: 8,
    races: 2,
    stride: 40,
};

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match (&words[..], seed(&words)) {
        (["full", _], Some(seed)) => stress(&FULL, seed),
        (["short", _], Some(seed)) => stress(&SHORT, seed),
        (["plans", _], Some(seed)) => writes(seed),
        (["control"], _) => control::run(),
        (["panic"], _) => control::panic(),
        (["child", verb, file], _) => return files::child(verb, file),
        _ => {
            eprintln!("hostile: full SEED, short SEED, plans SEED, control or panic");
            return ExitCode::from(2);
        }
    }
    // What it found is in what it printed.
    ExitCode::SUCCESS
}

fn seed(words: &[&str]) -> Option<u64> {
    words.get(1)?.parse().ok()
}

/// Nothing but writes to `plan`.
fn writes(seed: u64) {
    let mut report = Report::start("stress_plans", 3);
    report.say(&format!("seed {seed}"));
    report.case("kunit_off", ordinary::no_suites);
    report.case("plans", || plans::run(WRITES, seed));
    report.case("kernel_log", log::clean);
    report.end();
}

/// Everything, with the kernel's log and its leaks judged at the end.
fn stress(form: &Form, seed: u64) {
    let mut report = Report::start("stress", 12);
    report.say(&format!("seed {seed}"));
    report.case("kunit_off", ordinary::no_suites);
    let before = report.case("ordinary_before", ordinary::texts);
    report.case("plans", || plans::run(form.writes, seed));
    report.case("readers", || readers::run(form.reading, seed));
    report.case("kills", || kills::run(form.kills, seed));
    report.case("refused_unloads", load::refused);
    report.case("load_cycles", || load::cycles(form.loads));
    report.case("loads_while_opened", || load::raced(form.races));
    report.case("failed_allocations", || starve::run(form.stride));
    report.case("ordinary_after", || ordinary::same(before.as_ref()));
    report.case("no_leak", leaks::none);
    report.case("kernel_log", log::clean);
    report.end();
}

// SPDX-License-Identifier: GPL-2.0-only

//! Results that are cut off or have holes: what kunit.py and we make of them together. None may be
//! taken for good.

use anyhow::{ensure, Result};

use crate::guest::ktap::Results;
use crate::lab::cache::Cache;
use crate::lab::Lab;
use crate::os::progress::Progress;

/// Two suites as the module prints them.
const WHOLE: &str = "KTAP version 1
1..2
    KTAP version 1
    # Subtest: repmov_a
    1..2
    # copies: 3 of them
    ok 1 copies
    ok 2 returns
ok 1 repmov_a
    KTAP version 1
    # Subtest: repmov_b
    1..1
    ok 1 returns # SKIP none
ok 2 repmov_b
";

/// Lines whose loss loses nothing: a suite has its name from its result too.
const SPARE: [&str; 2] = ["# Subtest:", "# copies:"];

/// Fails unless results are refused that lack their end, a line, or some lines, and taken if they
/// are whole, also if the kernel says something between them.
pub fn check(cache: &Cache, lab: &Lab) -> Result<()> {
    let progress = Progress::start("results with holes");
    let good = |ktap: &str| -> Result<bool> {
        let parsed = Results::parse(cache, lab, "cuts", ktap);
        Ok(parsed.is_ok_and(|results| results.good()))
    };
    ensure!(good(WHOLE)?, "results that are whole are refused");
    let noise = WHOLE.replace("    ok 2", "[    1.5] usb: \u{fffd}\u{0} words\n    ok 2");
    ensure!(good(&noise)?, "results with the kernel's words are refused");
    let lines: Vec<&str> = WHOLE.split_inclusive('\n').collect();
    let without = |from: usize, to: usize| [&lines[..from], &lines[to..]].concat().concat();
    for at in 0..lines.len() {
        progress.say(lines[at]);
        ensure!(!good(&without(at, lines.len()))?, "cut at line {at}: taken");
        if SPARE.iter().all(|spare| !lines[at].contains(spare)) {
            ensure!(!good(&without(at, at + 1))?, "without line {at}: taken");
        }
    }
    // A suite of which nothing but its own result is left.
    ensure!(!good(&without(2, 8))?, "without a suite's cases: taken");
    ensure!(!good(&without(9, 13))?, "without a suite's cases: taken");
    progress.done();
    Ok(())
}

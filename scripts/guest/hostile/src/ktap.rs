// SPDX-License-Identifier: GPL-2.0-only

//! Results as they come, in the kernel's test format.

use std::io::Write;
use std::time::Instant;

/// What a case says: what it saw, or in words what was wrong.
pub type Outcome<T> = Result<T, String>;

/// What a case that held may say of itself.
pub trait Said {
    fn said(&self) -> String;
}

impl Said for String {
    fn said(&self) -> String {
        self.clone()
    }
}

/// A suite. It is not whole without the line for it that comes last.
pub struct Report {
    suite: &'static str,
    number: u32,
    failed: u32,
}

impl Report {
    /// So many cases of a suite are to come.
    pub fn start(suite: &'static str, cases: u32) -> Report {
        println!("KTAP version 1\n1..1\n    KTAP version 1");
        println!("    # Subtest: {suite}\n    1..{cases}");
        Report {
            suite,
            number: 0,
            failed: 0,
        }
    }

    /// All have come.
    pub fn end(self) {
        let ok = if self.failed == 0 { "ok" } else { "not ok" };
        println!("{ok} 1 {}", self.suite);
    }

    pub fn say(&self, words: &str) {
        for line in words.lines() {
            println!("# {line}");
        }
        // A host that waits for a line is not to wait for a buffer. If it is gone, so are we.
        let _ = std::io::stdout().flush();
    }

    /// Runs a case; what it gave, if it held.
    pub fn case<T: Said>(&mut self, name: &str, run: impl FnOnce() -> Outcome<T>) -> Option<T> {
        self.number += 1;
        let start = Instant::now();
        let outcome = run();
        let took = start.elapsed().as_secs_f32();
        let (ok, words, value) = match outcome {
            Ok(value) => ("ok", value.said(), Some(value)),
            Err(words) => ("not ok", words, None),
        };
        self.failed += u32::from(value.is_none());
        self.say(&format!("{name}: {took:.1} s; {words}"));
        println!("    {ok} {} {name}", self.number);
        value
    }
}

/// Says on the console how far something is, so that the host does not take it to hang.
pub fn beat(what: &str, done: u64, of: u64) {
    // A guest without a console is still one that can be tested.
    let _ = std::fs::write("/dev/kmsg", format!("hostile: {what} {done}/{of}\n"));
}

/// Fails in words unless something holds.
pub fn must(holds: bool, words: impl FnOnce() -> String) -> Outcome<()> {
    match holds {
        true => Ok(()),
        false => Err(words()),
    }
}

// SPDX-License-Identifier: GPL-2.0-only

//! The results of `repmov check`, counted as they come.

use anyhow::{Error, Result};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::guest::ktap::{Results, Status};
use crate::os::progress::print;

#[derive(Default)]
pub struct Tally {
    passed: AtomicUsize,
    failed: AtomicUsize,
    skipped: AtomicUsize,
}

impl Tally {
    pub fn pass(&self, what: &str) {
        self.passed.fetch_add(1, Relaxed);
        print(&format!("PASS {what}"));
    }

    pub fn fail(&self, what: &str, why: &Error) {
        self.failed.fetch_add(1, Relaxed);
        print(&format!(
            "FAIL {what}: {}",
            format!("{why:#}").replace('\n', "\n    ")
        ));
    }

    pub fn skip(&self, what: &str, why: &str) {
        self.skipped.fetch_add(1, Relaxed);
        print(&format!("SKIP {what}: {why}"));
    }

    /// Counts one check by how it ended, and gives what it gave.
    pub fn check<T>(&self, what: &str, result: Result<T>) -> Option<T> {
        match result {
            Ok(value) => {
                self.pass(what);
                Some(value)
            }
            Err(e) => {
                self.fail(what, &e);
                None
            }
        }
    }

    /// Counts many at once.
    pub fn add(&self, passed: usize, failed: usize, skipped: usize) {
        self.passed.fetch_add(passed, Relaxed);
        self.failed.fetch_add(failed, Relaxed);
        self.skipped.fetch_add(skipped, Relaxed);
    }

    /// Counts every case of `results`, and shows the words of those that failed.
    pub fn results(&self, what: &str, results: &Results) {
        let [passed, failed, skipped, broken] =
            [Status::Pass, Status::Fail, Status::Skip, Status::Error]
                .map(|status| results.count(status));
        self.add(passed, failed + broken, skipped);
        let word = if results.good() { "PASS" } else { "FAIL" };
        let mut text = format!("{word} {what}: {passed} passed, {} failed", failed + broken);
        if skipped > 0 {
            text += &format!(", {skipped} skipped");
        }
        for case in results.cases.iter().filter(|case| case.bad()) {
            let said = case.message.replace('\n', "\n        ");
            text += &format!("\n    {} {}: {said}", case.suite, case.name);
        }
        print(&text);
        if let Some(problem) = results.problem() {
            self.fail(what, &anyhow::anyhow!(problem));
        }
    }

    /// The last line, and whether nothing failed.
    pub fn end(&self) -> bool {
        let [passed, failed, skipped] =
            [&self.passed, &self.failed, &self.skipped].map(|count| count.load(Relaxed));
        let mut line = format!("{passed} passed, {failed} failed");
        if skipped > 0 {
            line += &format!(", {skipped} skipped");
        }
        print(&line);
        failed == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::anyhow;

    #[test]
    fn whatever_failed_makes_the_end_bad() {
        let tally = Tally::default();
        tally.pass("a");
        tally.add(3, 0, 1);
        assert!(tally.end());
        assert_eq!(tally.check("b", Err::<(), _>(anyhow!("why"))), None);
        assert!(!tally.end());
    }

    #[test]
    fn no_results_at_all_are_a_failure() {
        let tally = Tally::default();
        tally.results("empty", &Results::default());
        assert!(!tally.end());
    }
}

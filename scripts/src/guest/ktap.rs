// SPDX-License-Identifier: GPL-2.0-only

//! Test results. KTAP is parsed by the kernel's own kunit.py, of which this reads the JSON.

use anyhow::{Context, Result};
use serde::Deserialize;
use std::collections::HashMap;
use std::fs;
use std::path::Path;

use crate::lab::cache::Cache;
use crate::lab::Lab;
use crate::os::progress::Progress;

#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Status {
    Pass,
    Fail,
    Skip,
    /// The test never ended.
    Error,
}

/// One test case.
#[derive(Debug, PartialEq)]
pub struct Case {
    pub suite: String,
    pub name: String,
    pub status: Status,
    /// What the test said of its failure, or why it was skipped.
    pub message: String,
}

impl Case {
    pub fn bad(&self) -> bool {
        matches!(self.status, Status::Fail | Status::Error)
    }
}

#[derive(Debug, Default)]
pub struct Results {
    pub cases: Vec<Case>,
    /// What kunit.py found wrong with the form: missing results.
    errors: u64,
    /// Suites that have a result, and no cases.
    bare: Vec<String>,
    /// Groups that do not say how many results are in them.
    unplanned: usize,
}

/// A group of tests in kunit.py's JSON.
#[derive(Deserialize)]
struct Group {
    name: String,
    sub_groups: Vec<Group>,
    test_cases: Vec<Test>,
    misc: Counts,
}

#[derive(Deserialize)]
struct Test {
    name: String,
    status: Status,
}

#[derive(Deserialize)]
struct Counts {
    errors: u64,
}

impl Results {
    /// Parses the KTAP in `ktap`, keeping files called `name` among the logs.
    pub fn parse(cache: &Cache, lab: &Lab, name: &str, ktap: &str) -> Result<Results> {
        let (file, json) = (
            cache.log_path(&format!("{name}.ktap")),
            cache.log_path(&format!("{name}.json")),
        );
        fs::write(&file, ktap).with_context(|| format!("cannot write {}", file.display()))?;
        forget(&json);
        let log = cache.log(&format!("{name}-parse"))?;
        let mut parse = lab.root.command("python3", &lab.source)?;
        parse.args(["tools/testing/kunit/kunit.py", "parse"]);
        parse.arg(format!("--json={}", json.display())).arg(&file);
        // It also fails where a test did: what counts is the JSON.
        log.status(&mut parse, &Progress::silent(), String::new)?;
        let json = fs::read_to_string(&json);
        let json = json.with_context(|| format!("kunit.py parse: see {}", log.path().display()))?;
        Results::read(&json, ktap)
    }

    /// Reads kunit.py's JSON, and the tests' own words from the KTAP that it came from.
    pub fn read(json: &str, ktap: &str) -> Result<Results> {
        let top: Group = serde_json::from_str(json).context("kunit.py's JSON")?;
        let mut results = Results {
            errors: top.misc.errors,
            // kunit.py takes them for single tests, which we have none of.
            bare: top.test_cases.into_iter().map(|test| test.name).collect(),
            unplanned: unplanned(ktap),
            ..Results::default()
        };
        for suite in &top.sub_groups {
            results.add(suite, &suite.name, "");
        }
        let mut messages = messages(ktap);
        for case in &mut results.cases {
            let message = messages.remove(&(case.suite.clone(), case.name.clone()));
            case.message = message.unwrap_or_default();
        }
        Ok(results)
    }

    fn add(&mut self, group: &Group, suite: &str, path: &str) {
        for test in &group.test_cases {
            self.push(suite, &format!("{path}{}", test.name), test.status);
        }
        for inner in &group.sub_groups {
            self.add(inner, suite, &format!("{path}{}.", inner.name));
        }
    }

    fn push(&mut self, suite: &str, name: &str, status: Status) {
        let (suite, name, message) = (suite.to_string(), name.to_string(), String::new());
        self.cases.push(Case {
            suite,
            name,
            status,
            message,
        });
    }

    pub fn count(&self, status: Status) -> usize {
        self.cases
            .iter()
            .filter(|case| case.status == status)
            .count()
    }

    /// What is wrong with the results as a whole, tests that failed aside.
    pub fn problem(&self) -> Option<String> {
        if self.cases.is_empty() && self.bare.is_empty() {
            return Some("no test ran".into());
        }
        let what = if self.errors > 0 {
            format!(
                "kunit.py found {} errors in them (results missing that the plan promised, or cut \
                 off)",
                self.errors
            )
        } else if !self.bare.is_empty() {
            format!("the cases of {} are missing", self.bare.join(", "))
        } else if self.unplanned > 0 {
            format!(
                "{} groups of them lack the line that says how many there are",
                self.unplanned
            )
        } else {
            return None;
        };
        Some(format!("the results are not whole: {what}"))
    }

    /// Everything ran, and nothing failed.
    pub fn good(&self) -> bool {
        self.problem().is_none() && !self.cases.iter().any(Case::bad)
    }

    /// The suites in their order, each with its cases.
    pub fn suites(&self) -> Vec<(&str, Vec<&Case>)> {
        let mut suites: Vec<(&str, Vec<&Case>)> = Vec::new();
        for case in &self.cases {
            match suites.iter_mut().find(|(name, _)| *name == case.suite) {
                Some((_, cases)) => cases.push(case),
                None => suites.push((&case.suite, vec![case])),
            }
        }
        suites
    }
}

/// Removes what an earlier run left, so that it is not taken for this one's.
pub fn forget(path: &Path) {
    // A file that is not there is forgotten already.
    let _ = fs::remove_file(path);
}

/// The groups in which the head or the plan, `1..N`, is missing before the first result. kunit.py
/// takes a group without a plan for whole wherever it ends.
fn unplanned(ktap: &str) -> usize {
    let (mut count, mut heads, mut plans) = (0, 0, 0);
    for line in ktap.lines().map(without_time) {
        let planned = line.strip_prefix("1..");
        if line.starts_with("KTAP version ") {
            heads += 1;
        } else if planned.is_some_and(|number| number.parse::<u32>().is_ok()) {
            plans += 1;
        } else if result(line).is_some() && heads != plans {
            count += 1;
            (heads, plans) = (0, 0);
        }
    }
    count + usize::from(heads != plans)
}

/// The `#` lines before each result that is not `ok`, and the reasons for skips.
fn messages(ktap: &str) -> HashMap<(String, String), String> {
    let mut found = HashMap::new();
    let (mut suite, mut said) = (String::new(), Vec::new());
    for line in ktap.lines().map(without_time) {
        if let Some(name) = line.strip_prefix("# Subtest: ") {
            suite = name.trim().to_string();
            said.clear();
        } else if let Some(words) = line.strip_prefix('#') {
            said.push(words.trim());
        } else if let Some((failed, name, skip)) = result(line) {
            let message = skip.map_or_else(|| said.join("\n"), str::to_string);
            if failed || skip.is_some() {
                found.insert((suite.clone(), name.to_string()), message);
            }
            said.clear();
        }
    }
    found
}

/// Whether a result line says that the test failed, the test's name, and why it was skipped.
pub fn result(line: &str) -> Option<(bool, &str, Option<&str>)> {
    let (failed, rest) = match line.strip_prefix("not ok ") {
        Some(rest) => (true, rest),
        None => (false, line.strip_prefix("ok ")?),
    };
    let (_, rest) = rest.split_once(' ')?;
    let rest = rest.strip_prefix("- ").unwrap_or(rest);
    Some(match rest.split_once(" # ") {
        Some((name, skip)) if skip.starts_with("SKIP") => (failed, name, Some(skip[4..].trim())),
        Some((name, _)) => (failed, name, None),
        None => (failed, rest.trim(), None),
    })
}

/// A line of the console or of KTAP without the kernel's time stamp and indentation.
fn without_time(line: &str) -> &str {
    let line = line.trim();
    match line.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((time, rest)) if time.trim().parse::<f64>().is_ok() => rest.trim(),
        _ => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KTAP: &str = "KTAP version 1\n1..1\n    KTAP version 1\n    # Subtest: repmov_a\n    \
                        1..3\n    ok 1 copies\n    # abi: r12 changed\n    # len 3\n    \
                        not ok 2 abi\n    ok 3 text # SKIP no patching here\nnot ok 1 repmov_a\n";

    fn json(errors: u32, cases: &str) -> String {
        let group = |name: &str, groups: &str, cases: &str| {
            format!(
                r#"{{"name":"{name}","sub_groups":[{groups}],"test_cases":[{cases}],
                   "misc":{{"tests":1,"errors":{errors}}}}}"#
            )
        };
        group("KUnit Test Group", &group("repmov_a", "", cases), "")
    }

    const CASES: &str = r#"{"name":"copies","status":"PASS"},{"name":"abi","status":"FAIL"},
                           {"name":"text","status":"SKIP"}"#;

    #[test]
    fn cases_have_their_own_words() {
        let results = Results::read(&json(0, CASES), KTAP).unwrap();
        assert_eq!(results.problem(), None);
        let counts = [Status::Pass, Status::Fail, Status::Skip].map(|status| results.count(status));
        assert_eq!(counts, [1, 1, 1]);
        assert_eq!(results.cases[0].message, "");
        assert_eq!(results.cases[1].message, "abi: r12 changed\nlen 3");
        assert_eq!(results.cases[2].message, "no patching here");
        assert_eq!(results.suites()[0].1.len(), 3);
    }

    #[test]
    fn each_group_has_its_head_and_its_plan() {
        let console = KTAP
            .replace('\n', "\n[    1.25] ")
            .replace("1..3", "1..3\nprintk: 1..\n");
        for ktap in [KTAP, &console] {
            assert_eq!(unplanned(ktap), 0);
            let lines: Vec<&str> = ktap.split_inclusive('\n').collect();
            let frames = lines.iter().enumerate().filter(|(_, line)| {
                let line = without_time(line);
                line.starts_with("KTAP") || line == "1..1" || line == "1..3"
            });
            let frames: Vec<usize> = frames.map(|(at, _)| at).collect();
            assert_eq!(frames.len(), 4);
            for at in frames {
                let mut left = lines.clone();
                left.remove(at);
                assert_eq!(unplanned(&left.concat()), 1, "without {}", lines[at]);
            }
        }
    }

    #[test]
    fn the_console_s_times_do_not_matter() {
        let console = KTAP.replace('\n', "\n[    1.25] ");
        assert_eq!(messages(&console), messages(KTAP));
    }

    #[test]
    fn results_that_are_not_whole_are_a_problem() {
        let results = Results::read(&json(1, CASES), KTAP).unwrap();
        assert!(results.problem().unwrap().contains("not whole"));
        let bare = r#""test_cases":[{"name":"repmov_b","status":"PASS"}]"#;
        let bare = json(0, CASES).replace(r#""test_cases":[]"#, bare);
        let results = Results::read(&bare, KTAP).unwrap();
        let problem = results.problem().unwrap();
        assert!(
            problem.contains("not whole: the cases of repmov_b"),
            "{problem}"
        );
        assert_eq!(results.count(Status::Pass), 1);
        let results = Results::read(&json(0, CASES), &KTAP.replace("1..3\n", "")).unwrap();
        let problem = results.problem().unwrap();
        assert!(problem.contains("not whole: 1 groups"), "{problem}");
        assert!(!results.good());
        let results = Results::read(&json(0, ""), "").unwrap();
        assert_eq!(results.problem().unwrap(), "no test ran");
        assert!(Results::read("{", "").is_err());
    }
}

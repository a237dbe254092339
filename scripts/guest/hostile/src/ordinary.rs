// SPDX-License-Identifier: GPL-2.0-only

//! What anybody does with the module, before it is mistreated and after.

use crate::files::{self, set_kernel_file};
use crate::ktap::{must, Outcome, Said};

/// The checks' results and the table of instances. A module that is loaded again is elsewhere.
pub struct Texts {
    verify: String,
    instances: Vec<String>,
    rows: usize,
}

impl Said for Texts {
    fn said(&self) -> String {
        let suites = self.verify.lines().filter(|line| line.starts_with("ok "));
        let (suites, instances) = (suites.count(), self.instances.len());
        format!("{suites} suites, {instances} instances, {} rows", self.rows)
    }
}

/// The suites ran when the module was first loaded. They are not to run whenever it is again.
pub fn no_suites() -> Outcome<String> {
    set_kernel_file("/sys/module/kunit/parameters/filter_glob", "none")?;
    Ok("no suites from here on".into())
}

/// A row of the table without the address.
fn elsewhere(row: &str) -> String {
    let columns = row.split('\t').enumerate().filter(|(i, _)| *i != 4);
    let columns: Vec<_> = columns.map(|(_, column)| column).collect();
    columns.join("\t")
}

/// All checks, thinly (the suites make them in full), none of which may fail, and the default plan, which must give a row for each cell.
pub fn texts() -> Outcome<Texts> {
    files::put("verify", "depth=quick")?;
    let verify = files::text("verify")?;
    must(!verify.contains("not ok"), || verify.clone())?;
    must(verify.lines().count() > 100, || {
        format!("too few checks:\n{verify}")
    })?;
    let instances = files::text("instances")?;
    let instances = instances.lines().map(elsewhere).collect();
    let record = files::run("routine=memcpy")?;
    let rows = record.lines().filter(|line| line.starts_with("memcpy\t"));
    let rows = rows.count();
    // Three candidates and the twin, five masks, thirteen lengths.
    must(rows == 4 * 5 * 13, || format!("{rows} rows"))?;
    Ok(Texts {
        verify,
        instances,
        rows,
    })
}

/// Fails unless all is as it was before.
pub fn same(before: Option<&Texts>) -> Outcome<String> {
    let before = before.ok_or("there is nothing to compare with")?;
    let after = texts()?;
    must(before.verify == after.verify, || {
        let pairs = before.verify.lines().zip(after.verify.lines());
        let other = pairs.into_iter().find(|(one, other)| one != other);
        format!("the checks say something else: {other:?}")
    })?;
    must(before.instances == after.instances, || {
        "the loader made something else of the instances".into()
    })?;
    Ok(after.said())
}

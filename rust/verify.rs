// SPDX-License-Identifier: GPL-2.0-only

//! The checks without KUnit: the same suites and cases, printed as KTAP.

use kernel::prelude::*;

use crate::{
    checks::{
        Check,
        Space,
        Verdict, //
    },
    instance::{
        self,
        Instance, //
    },
    pure::mask::Mask,
    text::{
        line,
        Text, //
    },
    wanted::Wanted,
};

/// One suite: a candidate under one mask, at all its entry offsets.
#[derive(Clone, Copy)]
struct Suite(Instance);

/// All suites, in the order of the table. The instance at entry offset 0 stands for its suite.
fn suites() -> impl Iterator<Item = Suite> {
    instance::suites().map(Suite)
}

impl Suite {
    /// Whether something of it is wanted.
    fn wanted(&self, wanted: &Wanted) -> bool {
        wanted.suite(self.0) && wanted.checks(self.0.routine()).next().is_some()
    }

    fn instances(&self) -> impl Iterator<Item = Instance> {
        instance::suite(self.0.routine(), self.0.candidate(), self.mask())
    }

    fn mask(&self) -> Mask {
        self.0.mask()
    }

    fn print_name(&self, out: &mut Text) -> Result {
        let Suite(i) = self;
        out.print(format_args!(
            "repmov_{}_{}_{}",
            i.routine(),
            i.candidate(),
            i.mask()
        ))
    }

    /// Runs one check over the instances of the suite; whether none failed.
    fn case(&self, number: usize, check: Check, space: &mut Space, out: &mut Text) -> Result<bool> {
        let name = check.name();
        match check.run_suite(self.instances(), space)? {
            Verdict::Passed(count) => {
                if let Some(count) = count {
                    line!(out, "    # {name}: {count}")?;
                }
                line!(out, "    ok {number} {name}")?;
            }
            Verdict::Skipped(reason) => line!(out, "    ok {number} {name} # SKIP {reason}")?,
            Verdict::Failed(instance, failure) => {
                line!(out, "    # {name}: {instance}: {failure}")?;
                line!(out, "    not ok {number} {name}")?;
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn run(&self, wanted: &Wanted, space: &mut Space, out: &mut Text) -> Result<bool> {
        line!(out, "    KTAP version 1")?;
        out.print(format_args!("    # Subtest: "))?;
        self.print_name(out)?;
        line!(out, "")?;
        let checks = wanted.checks(self.0.routine());
        line!(out, "    1..{}", checks.clone().count())?;
        let mut ok = true;
        for (i, check) in checks.enumerate() {
            ok &= self.case(i + 1, check, space, out)?;
        }
        Ok(ok)
    }
}

/// Runs what is wanted and prints it.
///
/// # Errors
///
/// [`EINTR`] if a signal came, [`ENOMEM`], [`EFAULT`] if the guard pages are not there, or
/// [`ENODATA`] if nothing is such. A failed check is no error: it is in the text.
pub(crate) fn run(wanted: &Wanted, out: &mut Text, progress: impl Fn(usize, usize)) -> Result {
    let mut space = Space::new(wanted.depth)?;
    let mut count = 0;
    for suite in suites() {
        count += usize::from(suite.wanted(wanted));
    }
    if count == 0 {
        return Err(ENODATA);
    }
    line!(out, "KTAP version 1")?;
    line!(out, "1..{count}")?;
    let mut done = 0;
    for suite in suites() {
        if !suite.wanted(wanted) {
            continue;
        }
        progress(done, count);
        done += 1;
        let ok = suite.run(wanted, &mut space, out)?;
        out.print(format_args!(
            "{} {} ",
            if ok { "ok" } else { "not ok" },
            done
        ))?;
        suite.print_name(out)?;
        line!(out, "")?;
    }
    Ok(())
}

// SPDX-License-Identifier: GPL-2.0-only

//! The negative controls: bad things that are done on purpose, by a module of their own and by the
//! kernel's LKDTM. Each must be found in the way in which this program finds what repmov does.

use crate::files::set_kernel_file;
use crate::kernel;
use crate::ktap::{must, Outcome, Report};
use crate::leaks;
use crate::log;

const MODULE: &str = "/provoke.ko";
const LKDTM: &str = "/sys/kernel/debug/provoke-crash/DIRECT";

/// Has the module do one of its things.
fn provoke(what: u8) -> Outcome<()> {
    kernel::load(MODULE, &format!("what={what}")).map_err(|e| format!("it does not load: {e}"))?;
    kernel::unload("provoke").map_err(|e| format!("it does not unload: {e}"))
}

/// Does something, which must leave a finding in the log that says all of these words.
fn found(act: impl FnOnce() -> Outcome<()>, words: &[&str]) -> Outcome<String> {
    let before = log::lines()?.len();
    act()?;
    // Lockdep has the console say everything, which the host would take for a crash.
    set_kernel_file("/proc/sys/kernel/printk", "1")?;
    let lines = log::lines()?;
    let new = log::findings(&lines[before..]);
    let says = |line: &&&String| words.iter().all(|word| line.contains(word));
    match new.iter().find(says) {
        Some(line) => Ok((**line).clone()),
        None => Err(format!("not found ({words:?}), but {new:?}")),
    }
}

fn leaked() -> Outcome<String> {
    provoke(1)?;
    let found = leaks::found()?;
    // Whose work it was is said too.
    let told = found.contains("unreferenced object") && found.contains("comm \"hostile\"");
    must(told, || format!("the leak is not found: {found}"))?;
    Ok(found.lines().next().unwrap_or_default().into())
}

pub fn run() {
    let lkdtm = |what: &str| set_kernel_file(LKDTM, what);
    let mut report = Report::start("stress_control", 9);
    report.case("clean_at_first", log::clean);
    report.case("leak", leaked);
    // Before the others: lockdep looks no further once the kernel is tainted.
    report.case("lock_order", || {
        found(|| provoke(3), &["possible circular locking dependency"])
    });
    report.case("use_after_free", || {
        found(|| provoke(2), &["KASAN", "use-after-free"])
    });
    report.case("sleep_in_atomic_context", || {
        found(
            || provoke(4),
            &["BUG: sleeping function called from invalid context"],
        )
    });
    report.case("index_out_of_bounds", || {
        found(
            || lkdtm("ARRAY_BOUNDS"),
            &["UBSAN: array-index-out-of-bounds"],
        )
    });
    report.case("list_corruption", || {
        found(|| lkdtm("CORRUPT_LIST_ADD"), &["list_add corruption"])
    });
    report.case("warning", || found(|| lkdtm("WARNING"), &["WARNING:"]));
    report.case("log_is_not_clean", || match log::clean() {
        Ok(_) => Err("all that, and the log is taken for clean".into()),
        Err(_) => Ok("it is said so".to_string()),
    });
    report.end();
}

/// A warning where the kernel is to panic of one: whoever waits for the rest waits in vain.
pub fn panic() {
    let end = set_kernel_file("/proc/sys/kernel/panic_on_warn", "1")
        .and_then(|()| set_kernel_file(LKDTM, "WARNING"));
    println!("alive after a warning: {end:?}");
}

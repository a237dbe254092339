// SPDX-License-Identifier: GPL-2.0-only

//! What kmemleak finds.

use std::thread::sleep;
use std::time::Duration;

use crate::files::{kernel_file, set_kernel_file};
use crate::ktap::{must, Outcome};

const FILE: &str = "/sys/kernel/debug/kmemleak";

/// Memory is reported once it is this old and was found unreferenced in two scans.
const AGE: Duration = Duration::from_millis(5500);

/// All that is unreferenced, of the kernel's whole run.
pub fn found() -> Outcome<String> {
    sleep(AGE);
    for _ in 0..2 {
        set_kernel_file(FILE, "scan")?;
        sleep(Duration::from_millis(100));
    }
    kernel_file(FILE)
}

/// Fails if there is anything.
pub fn none() -> Outcome<String> {
    let found = found()?;
    must(found.is_empty(), || found)?;
    Ok("nothing is unreferenced".into())
}

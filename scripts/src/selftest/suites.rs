// SPDX-License-Identifier: GPL-2.0-only

//! What the KUnit suites must report.

use anyhow::{ensure, Result};

use crate::guest::ktap::Results;

/// KUnit results that x86_64 must report at least.
pub const RESULTS: usize = 90;

/// Fails if these are fewer results than x86_64 must report.
pub fn enough(results: &Results) -> Result<()> {
    let count = results.cases.len();
    ensure!(count >= RESULTS, "it reports {count}, not {RESULTS}");
    Ok(())
}

// SPDX-License-Identifier: GPL-2.0-only

//! `repmov verify`: is a patch that somebody has right, in seconds and without an edit.

use anyhow::Result;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::lab::cache::Cache;
use crate::lab::Lab;
use crate::os::progress::print;
use crate::verify::candidate::Candidates;
use crate::verify::given::Given;
use crate::verify::judge::judge;

/// Tries what is given and prints the verdict. True if everything holds.
pub fn run(
    cache: &Cache,
    lab: &Lab,
    checkout: &Path,
    silence: Duration,
    given: &Given,
) -> Result<bool> {
    let start = Instant::now();
    let candidates = Candidates::make(cache, lab, given)?;
    print(&candidates.told());
    let verdict = judge(cache, lab, checkout, silence, &candidates)?;
    let word = if verdict.right { "right" } else { "WRONG" };
    let took = start.elapsed().as_secs_f32();
    print(&format!("\n{}\n{word}, in {took:.1} s", verdict.text));
    Ok(verdict.right)
}

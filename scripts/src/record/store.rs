// SPDX-License-Identifier: GPL-2.0-only

//! Where records are kept.

use anyhow::{ensure, Context, Result};
use std::fs;
use std::path::{Path, PathBuf};

use crate::os::atomic;
use crate::record::provenance;

/// Writes a record to results/, named by time and experiment.
pub fn keep(checkout: &Path, experiment: &str, text: &str) -> Result<PathBuf> {
    let name = format!("{}-{experiment}.tsv", provenance::date()?);
    write(&checkout.join("results"), &name, text)
}

/// Writes a record into `folder`.
pub fn write(folder: &Path, name: &str, text: &str) -> Result<PathBuf> {
    ensure!(!text.is_empty(), "nothing was measured");
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let path = folder.join(name);
    atomic::put(&path, text)?;
    Ok(path)
}

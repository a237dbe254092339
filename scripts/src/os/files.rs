// SPDX-License-Identifier: GPL-2.0-only

//! Folders and the space they have.

use anyhow::{Context, Result};
use std::fs;
use std::path::Path;

/// The MiB that are free where a file or folder is.
pub fn free(path: &Path) -> Result<u64> {
    let stat = nix::sys::statvfs::statvfs(path)
        .with_context(|| format!("how much is free at {}", path.display()))?;
    Ok((stat.blocks_available() * stat.fragment_size()) >> 20)
}

/// Removes a folder and all below it, if it is there.
pub fn remove(dir: &Path) -> Result<()> {
    match fs::remove_dir_all(dir) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
            Err(e).with_context(|| format!("cannot remove {}", dir.display()))
        }
        _ => Ok(()),
    }
}

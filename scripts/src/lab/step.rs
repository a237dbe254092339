// SPDX-License-Identifier: GPL-2.0-only

//! Steps of set-up.

use anyhow::Result;
use std::path::Path;

use crate::lab::cache::Cache;
use crate::os::log::Log;
use crate::os::progress::Progress;

/// A step of set-up: done once for each fingerprint, and again from its start after a failure.
pub struct Step<'a> {
    pub cache: &'a Cache,
    pub name: &'a str,
    pub fingerprint: String,
    /// Disk space that it takes at most, in MiB.
    pub mib: u64,
}

impl Step<'_> {
    pub fn run<T: serde::Serialize + serde::de::DeserializeOwned>(
        &self,
        what: &str,
        makes: &Path,
        work: impl FnOnce(&Log, &Progress) -> Result<T>,
    ) -> Result<T> {
        if let Some(made) = self.cache.made(self.name, &self.fingerprint) {
            if makes.exists() {
                return Ok(made);
            }
        }
        // What was begun has its space, or part of it; if that is too little, its tools say so.
        let begun = self.cache.log_path(&format!("{}.log", self.name)).exists();
        self.cache
            .need_space(if begun { self.mib / 4 } else { self.mib }, what)?;
        self.cache.unstamp(self.name);
        let progress = Progress::start(what);
        let log = self.cache.log(self.name)?;
        match work(&log, &progress) {
            Ok(made) => {
                self.cache.stamp(self.name, &self.fingerprint, &made)?;
                progress.done();
                Ok(made)
            }
            Err(e) => {
                progress.fail("failed");
                Err(e.context(format!("set-up failed at: {what}")))
            }
        }
    }
}

// SPDX-License-Identifier: GPL-2.0-only

//! The cache folder: where everything lives that is made once and used again.

use anyhow::{bail, Context, Result};
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use serde::{de::DeserializeOwned, Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

use crate::os::atomic;
use crate::os::files::free;
use crate::os::log::Log;
use crate::os::progress::say;

/// The cache folder, locked against other runs for as long as this value lives.
pub struct Cache {
    dir: PathBuf,
    _lock: Flock<File>,
}

/// What is kept of a finished step: the fingerprint of its inputs, and what it made.
#[derive(Serialize, Deserialize)]
struct Stamp<T> {
    fingerprint: String,
    made: T,
}

impl Cache {
    /// Opens the folder, making it if need be, and waits until no other run holds it.
    pub fn open(chosen: Option<PathBuf>) -> Result<Cache> {
        let dir = match chosen {
            Some(dir) => dir,
            None => default_dir()?,
        };
        for sub in ["log", "done"] {
            let sub = dir.join(sub);
            fs::create_dir_all(&sub).with_context(|| format!("cannot make {}", sub.display()))?;
        }
        let dir = dir
            .canonicalize()
            .with_context(|| format!("no folder {}", dir.display()))?;
        let _lock = lock(&dir.join("lock"))?;
        Ok(Cache { dir, _lock })
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    pub fn log_path(&self, name: &str) -> PathBuf {
        self.dir.join("log").join(name)
    }

    /// An empty log called `name`.log.
    pub fn log(&self, name: &str) -> Result<Log> {
        Log::create(self.log_path(&format!("{name}.log")))
    }

    /// What step `name` made, if it was finished from the same inputs.
    pub fn made<T: DeserializeOwned>(&self, name: &str, fingerprint: &str) -> Option<T> {
        let text = fs::read(self.stamp_path(name)).ok()?;
        let stamp: Stamp<T> = serde_json::from_slice(&text).ok()?;
        (stamp.fingerprint == fingerprint).then_some(stamp.made)
    }

    /// Writes the stamp of a finished step. What it made is on the disk before the stamp is.
    pub fn stamp<T: Serialize>(&self, name: &str, fingerprint: &str, made: &T) -> Result<()> {
        let fingerprint = fingerprint.to_string();
        let stamp = serde_json::to_vec(&Stamp { fingerprint, made })?;
        nix::unistd::syncfs(File::open(&self.dir)?)
            .with_context(|| format!("cannot write to {}", self.dir.display()))?;
        atomic::put(&self.stamp_path(name), stamp)
    }

    /// Forgets that step `name` was done.
    pub fn unstamp(&self, name: &str) {
        // A stamp that is not there is forgotten already.
        let _ = fs::remove_file(self.stamp_path(name));
    }

    /// Refuses to start what `what` names if the disk has less than `mib` MiB left.
    pub fn need_space(&self, mib: u64, what: &str) -> Result<()> {
        let free = free(&self.dir)?;
        if free < mib {
            bail!(
                "not enough disk space for {what}: it takes up to {mib} MiB, and {free} MiB are \
                 free at {}.\nFree some, or put the cache elsewhere (REPMOV_CACHE=DIR).",
                self.dir.display()
            );
        }
        Ok(())
    }

    fn stamp_path(&self, name: &str) -> PathBuf {
        self.dir.join("done").join(name)
    }
}

fn default_dir() -> Result<PathBuf> {
    if let Some(dir) = std::env::var_os("XDG_CACHE_HOME").filter(|dir| !dir.is_empty()) {
        return Ok(PathBuf::from(dir).join("repmov"));
    }
    let home = std::env::var_os("HOME").context("HOME is not set: say REPMOV_CACHE=DIR")?;
    Ok(PathBuf::from(home).join(".cache/repmov"))
}

/// Takes the lock, waiting for whoever has it, and leaves our process id in the file.
fn lock(path: &Path) -> Result<Flock<File>> {
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
        .with_context(|| format!("cannot open {}", path.display()))?;
    let mut lock = match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
        Ok(lock) => lock,
        Err((busy, Errno::EWOULDBLOCK)) => {
            file = busy;
            let mut holder = String::new();
            file.read_to_string(&mut holder)?;
            say(&format!(
                "waiting for another repmov (pid {})",
                holder.trim()
            ));
            Flock::lock(file, FlockArg::LockExclusive).map_err(|(_, e)| e)?
        }
        Err((_, e)) => return Err(e).with_context(|| format!("cannot lock {}", path.display())),
    };
    // For whoever waits for us. It is the lock that counts, so a full disk is no reason to end.
    let _ = lock
        .set_len(0)
        .and_then(|()| lock.rewind())
        .and_then(|()| writeln!(lock, "{}", std::process::id()));
    Ok(lock)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(name: &str) -> Cache {
        let dir = std::env::temp_dir().join(format!("repmov-cache-{name}-{}", std::process::id()));
        Cache::open(Some(dir)).unwrap()
    }

    #[test]
    fn a_stamp_counts_only_for_its_own_inputs() {
        let cache = cache("stamp");
        cache.stamp("step", "inputs 1", &"made").unwrap();
        assert_eq!(cache.made::<String>("step", "inputs 1").unwrap(), "made");
        assert_eq!(cache.made::<String>("step", "inputs 2"), None);
        fs::write(cache.path("done/step"), "{\"finger").unwrap();
        assert_eq!(cache.made::<String>("step", "inputs 1"), None);
        cache.unstamp("step");
        assert_eq!(cache.made::<String>("step", "inputs 1"), None);
        fs::remove_dir_all(cache.dir()).unwrap();
    }

    #[test]
    fn a_disk_that_is_too_small_is_refused_in_words() {
        let cache = cache("space");
        cache.need_space(1, "a step").unwrap();
        let message = cache
            .need_space(u64::MAX >> 20, "a step")
            .unwrap_err()
            .to_string();
        assert!(
            message.contains("not enough disk space for a step"),
            "{message}"
        );
        fs::remove_dir_all(cache.dir()).unwrap();
    }
}

// SPDX-License-Identifier: GPL-2.0-only

//! Files that are written whole or not at all.

use anyhow::{Context, Result};
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

/// Writes a file, under another name until it is whole: the disk may be full, and we may be ended.
/// What had the name before stays until then.
///
/// # Errors
///
/// Names the file.
pub fn put(path: &Path, content: impl AsRef<[u8]>) -> Result<()> {
    let mut partial = path.as_os_str().to_os_string();
    partial.push(".partial");
    let write = || {
        let mut file = File::create(&partial)?;
        file.write_all(content.as_ref())?;
        file.sync_all()?;
        fs::rename(&partial, path)
    };
    write().with_context(|| {
        // If there is none, nothing is to be removed.
        let _ = fs::remove_file(&partial);
        format!("cannot write {}", path.display())
    })
}

/// Does the work of the test called `name` where no file can grow beyond some kilobytes, which fails
/// as a full disk does. That holds for a whole process, so it is another one that runs the test.
#[cfg(test)]
pub fn on_a_full_disk(name: &str, work: impl FnOnce()) {
    const MARK: &str = "REPMOV_FULL_DISK";
    if std::env::var_os(MARK).is_some() {
        return work();
    }
    let script = "trap '' XFSZ; ulimit -f 64; exec \"$0\" --exact --test-threads=1 \"$1\"";
    let mut test = std::process::Command::new("sh");
    test.args(["-c", script])
        .arg(std::env::current_exe().unwrap());
    let ran = test.arg(name).env(MARK, "1").output().unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{said}");
    assert!(said.contains("1 passed"), "no test {name}: {said}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn on_a_full_disk_the_old_file_stays() {
        on_a_full_disk(
            "os::atomic::tests::on_a_full_disk_the_old_file_stays",
            || {
                let dir = std::env::temp_dir().join(format!("repmov-whole-{}", std::process::id()));
                fs::create_dir_all(&dir).unwrap();
                let path = dir.join("file");
                put(&path, "old").unwrap();
                let large = "new".repeat(100_000);
                let error = format!("{:#}", put(&path, &large).unwrap_err());
                let words = format!("cannot write {}: ", path.display());
                assert!(error.starts_with(&words), "{error}");
                assert_eq!(fs::read_to_string(&path).unwrap(), "old");
                assert_eq!(fs::read_dir(&dir).unwrap().count(), 1);
                // The control: writing in place leaves neither.
                fs::write(&path, &large).unwrap_err();
                let left = fs::read_to_string(&path).unwrap();
                assert!(left != "old" && left != large);
                fs::remove_dir_all(dir).unwrap();
            },
        );
    }
}

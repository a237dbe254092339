// SPDX-License-Identifier: GPL-2.0-only

//! What a build that was cut short leaves half made.
//!
//! make takes a file for made that is newer than its sources. Ended by a key, it removes the one that
//! it was at; killed with us, it cannot: then an object may stay that is half written, or that objtool
//! has not seen. Kbuild writes `.FILE.cmd` when FILE is made, and makes it again if that is not there.

use anyhow::{Context, Result};
use std::fs;
use std::path::Path;
use std::time::SystemTime;

/// Here while a build runs, and still if it did not end well.
const MARK: &str = ".building";

/// Runs `work`, which builds in `folder`, once what an earlier build left half made is forgotten.
pub fn build<T>(folder: &Path, work: impl FnOnce() -> Result<T>) -> Result<T> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let mark = folder.join(MARK);
    if let Some(begun) = changed(&mark) {
        forget(folder, begun)?;
    }
    // Written anew, for its time.
    fs::write(&mark, "a build that has not ended\n")
        .with_context(|| format!("cannot write {}", mark.display()))?;
    let made = work()?;
    fs::remove_file(&mark).with_context(|| format!("cannot remove {}", mark.display()))?;
    Ok(made)
}

/// When a file was last written, if it is there.
fn changed(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|meta| meta.modified()).ok()
}

/// Removes each `.FILE.cmd` below `folder` that is half written, or older than its FILE, where
/// something was written since `begun`.
fn forget(folder: &Path, begun: SystemTime) -> Result<()> {
    let entries = fs::read_dir(folder).with_context(|| format!("no {}", folder.display()))?;
    for entry in entries {
        let entry = entry?;
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            forget(&path, begun)?;
            continue;
        }
        let name = entry.file_name().to_string_lossy().into_owned();
        let file = name
            .strip_prefix('.')
            .and_then(|name| name.strip_suffix(".cmd"));
        let (Some(file), Some(said)) = (file, changed(&path)) else {
            continue;
        };
        let made = changed(&folder.join(file)).unwrap_or(said);
        if made.max(said) < begun {
            continue;
        }
        if made > said || !fs::read(&path)?.ends_with(b"\n") {
            fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::bail;
    use std::fs::File;
    use std::time::Duration;

    /// A file as it was written at a second.
    fn write(path: &Path, text: &str, second: u64) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(second);
        File::options()
            .write(true)
            .open(path)
            .unwrap()
            .set_modified(time)
            .unwrap();
    }

    #[test]
    fn what_may_be_half_made_is_made_again() {
        let dir = std::env::temp_dir().join(format!("repmov-halves-{}", std::process::id()));
        for (file, made, command, said) in [
            ("before.o", 5, "whole\n", 4),
            ("whole.o", 12, "whole\n", 13),
            ("half.o", 12, "whole\n", 4),
            ("sub/half.o", 12, "whole\n", 11),
            ("cut.o", 12, "cu", 13),
        ] {
            let path = dir.join(file);
            write(&path, "", made);
            let name = path.file_name().unwrap().to_string_lossy();
            write(&path.with_file_name(format!(".{name}.cmd")), command, said);
        }
        let left = || {
            let names = [".before.o", ".whole.o", ".half.o", "sub/.half.o", ".cut.o"];
            names.map(|name| dir.join(format!("{name}.cmd")).exists())
        };
        // Nothing says that a build was cut short.
        build(&dir, || Ok(())).unwrap();
        assert_eq!(left(), [true; 5]);
        write(&dir.join(MARK), "", 10);
        let during = build(&dir, || Ok(left())).unwrap();
        assert_eq!(during, [true, true, false, false, false]);
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn a_build_that_does_not_end_well_leaves_its_mark() {
        let dir = std::env::temp_dir().join(format!("repmov-mark-{}", std::process::id()));
        build::<()>(&dir, || bail!("killed")).unwrap_err();
        assert!(dir.join(MARK).exists());
        assert!(build(&dir, || Ok(dir.join(MARK).exists())).unwrap());
        assert!(!dir.join(MARK).exists());
        fs::remove_dir_all(dir).unwrap();
    }
}

// SPDX-License-Identifier: GPL-2.0-only

//! The guest's first file system: an archive in the format "newc" of cpio(5).

use anyhow::{ensure, Context, Result};
use std::fs;
use std::path::Path;

const FOLDER: u32 = 0o040755;
const FILE: u32 = 0o100755;

/// What an archive is made of.
#[derive(Clone, Copy)]
pub struct Contents<'a> {
    pub busybox: &'a Path,
    /// None: the kernel has it built in.
    pub module: Option<&'a Path>,
    /// The folder of init and the scripts.
    pub guest: &'a Path,
    /// Plans to be run, or words for the checks, one a line.
    pub plans: &'a str,
    /// Further files, by their names there.
    pub more: &'a [(&'a str, &'a Path)],
}

/// Writes the archive `to`.
pub fn write(to: &Path, contents: &Contents) -> Result<()> {
    let Contents {
        busybox,
        module,
        guest,
        plans,
        more,
    } = contents;
    let read = |path: &Path| fs::read(path).with_context(|| format!("no {}", path.display()));
    let shell = read(busybox)?;
    ensure!(
        !shell.windows(9).any(|bytes| bytes == b"/ld-linux"),
        "{} is not linked statically: install busybox-static",
        busybox.display()
    );
    let mut archive = Vec::new();
    for name in ["bin", "guest"] {
        add(&mut archive, name, FOLDER, b"");
    }
    add(&mut archive, "bin/busybox", FILE, &shell);
    if let Some(module) = module {
        add(&mut archive, "repmov.ko", FILE, &read(module)?);
    }
    add(&mut archive, "plans", FILE, plans.as_bytes());
    add(&mut archive, "init", FILE, &read(&guest.join("init"))?);
    for entry in fs::read_dir(guest)? {
        let path = entry?.path();
        if path.extension().is_some_and(|end| end == "sh") {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            add(&mut archive, &format!("guest/{name}"), FILE, &read(&path)?);
        }
    }
    for (name, path) in *more {
        add(&mut archive, name, FILE, &read(path)?);
    }
    add(&mut archive, "TRAILER!!!", 0, b"");
    fs::write(to, archive).with_context(|| format!("cannot write {}", to.display()))
}

fn add(archive: &mut Vec<u8>, name: &str, mode: u32, content: &[u8]) {
    let inode = archive.len() as u32;
    let (size, name_size) = (content.len() as u32, name.len() as u32 + 1);
    // Inode, mode, owner, group, links, time, size, device, special device, name's size, checksum.
    let fields = [inode, mode, 0, 0, 1, 0, size, 0, 0, 0, 0, name_size, 0];
    archive.extend(b"070701");
    for field in fields {
        archive.extend(format!("{field:08x}").bytes());
    }
    archive.extend(name.bytes());
    archive.push(0);
    pad(archive);
    archive.extend(content);
    pad(archive);
}

fn pad(archive: &mut Vec<u8>) {
    archive.resize(archive.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_start_at_multiples_of_four() {
        let mut archive = Vec::new();
        add(&mut archive, "a", FILE, b"12345");
        assert_eq!(archive.len(), 112 + 8);
        assert!(archive.starts_with(b"070701"));
        assert_eq!(&archive[112..], b"12345\0\0\0");
    }
}

// SPDX-License-Identifier: GPL-2.0-only

//! Opening the lab: the user's own, or ours.

use anyhow::{ensure, Context, Result};
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::lab::cache::Cache;
use crate::lab::sandbox::Root;
use crate::lab::setup;
use crate::lab::Lab;
use crate::os::command::tool;

/// The user's own build tree, if there is one; else Debian's kernel, set up as need be.
pub fn open(cache: &Cache, checkout: &Path, kdir: Option<&Path>) -> Result<Lab> {
    match kdir {
        Some(kdir) => own(checkout, kdir),
        None => setup::set_up(cache, checkout),
    }
}

/// The user's build tree with the machine's tools.
fn own(checkout: &Path, kdir: &Path) -> Result<Lab> {
    let build = kdir
        .canonicalize()
        .with_context(|| format!("no folder {}", kdir.display()))?;
    let release = check(checkout, &build)?;
    tool("make")?;
    // A build tree apart from its source links to it.
    let source = build
        .join("source")
        .canonicalize()
        .unwrap_or_else(|_| build.clone());
    let image = build.join("arch/x86/boot/bzImage");
    let root = Root::machine();
    // Building takes neither of these; booting says which one is missing.
    let find = |name: &str| tool(name).unwrap_or_else(|_| Path::new("/usr/bin").join(name));
    let (qemu, busybox) = (find("qemu-system-x86_64"), find("busybox"));
    Ok(Lab {
        root,
        release,
        cc: None,
        source,
        build,
        image,
        qemu,
        busybox,
        own: true,
        extra: None,
    })
}

/// Fails if a build tree cannot build Rust modules; the release of its kernel. The words are those
/// of the script that the Makefile asks too.
fn check(checkout: &Path, kdir: &Path) -> Result<String> {
    let asked = Command::new(checkout.join("scripts/need-kdir"))
        .arg(kdir)
        .output()
        .context("scripts/need-kdir")?;
    let words = String::from_utf8_lossy(&asked.stderr);
    let words = words.trim().trim_start_matches("repmov: ");
    ensure!(asked.status.success(), "{words}");
    let release = fs::read_to_string(kdir.join("include/config/kernel.release"))?;
    Ok(release.trim().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(name: &str, files: &[(&str, &str)]) -> Option<String> {
        let dir = std::env::temp_dir().join(format!("repmov-{name}-{}", std::process::id()));
        for (path, text) in files {
            let path = dir.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let checked = check(checkout, &dir);
        fs::remove_dir_all(&dir).unwrap();
        checked.err().map(|e| e.to_string())
    }

    #[test]
    fn a_kdir_is_refused_for_what_it_lacks() {
        let release = ("include/config/kernel.release", "7.3.4\n");
        let old = ("include/config/kernel.release", "7.2.11\n");
        let plain = ("include/config/auto.conf", "CONFIG_SMP=y\n");
        const FIT: &str = "CONFIG_RUST=y\nCONFIG_DEBUG_FS=y\nCONFIG_KALLSYMS=y\n";
        let rust = ("include/config/auto.conf", FIT);
        let cfi = format!("{FIT}CONFIG_CFI=y\n");
        let cfi = ("include/config/auto.conf", cfi.as_str());
        let metadata = ("rust/libkernel.rmeta", "");
        let source = ("source/arch/x86/lib/memcpy_64.S", "");
        for (name, files, words) in [
            ("empty", &[plain][..], "no prepared kernel build tree"),
            ("old", &[old, rust], "needs 7.3 or newer"),
            ("no-rust", &[release, plain], "without CONFIG_RUST"),
            ("cfi", &[release, cfi], "with CONFIG_CFI"),
            ("no-metadata", &[release, rust], "lacks Rust metadata"),
            ("no-source", &[release, rust, metadata], "no kernel source"),
        ] {
            let said = refused(name, files).unwrap();
            assert!(said.contains(words), "{said}");
        }
        assert_eq!(refused("good", &[release, rust, metadata, source]), None);
    }
}

// SPDX-License-Identifier: GPL-2.0-only

//! Set-up: from nothing to a build tree that matches Debian's own kernel.

use anyhow::{bail, ensure, Context, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::lab::cache::Cache;
use crate::lab::debian::{self, Kernel};
use crate::lab::sandbox::Root;
use crate::lab::step::Step;
use crate::lab::Lab;
use crate::os::command::tool;
use crate::os::files::remove;
use crate::os::log::Log;
use crate::os::parallel::jobs;
use crate::os::progress::Progress;

/// Does whatever of set-up has not been done.
pub fn set_up(cache: &Cache, checkout: &Path) -> Result<Lab> {
    let root = toolchain(cache, checkout)?;
    let kernel = source(cache, &root)?;
    let source = cache.path(&format!("linux-{}", kernel.version));
    let cc = Some(stock(cache, &root, &kernel, &source)?);
    let build = cache.path("stock");
    let image = image(&build);
    let (qemu, busybox) = (
        "/usr/bin/qemu-system-x86_64".into(),
        root.outside("/usr/bin/busybox"),
    );
    let release = kernel.release;
    Ok(Lab {
        root,
        release,
        cc,
        source,
        build,
        image,
        qemu,
        busybox,
        own: false,
        extra: None,
    })
}

/// A Debian system in a folder, with all tools that kernels and their Rust modules need.
fn toolchain(cache: &Cache, checkout: &Path) -> Result<Root> {
    let dir = cache.path("root");
    let root = Root::at(dir.clone(), &[cache.dir(), checkout]);
    let step = Step {
        cache,
        name: "bootstrap",
        fingerprint: debian::SUITE.into(),
        // With all that follows.
        mib: 6000,
    };
    step.run("toolchain root", &dir, |log, progress| {
        need_root()?;
        // Tools that were in the old root are not in the new one.
        cache.unstamp("tools");
        debian::bootstrap(cache, log, progress)
    })?;
    let step = Step {
        cache,
        name: "tools",
        fingerprint: debian::TOOLS.into(),
        mib: 3600,
    };
    step.run("toolchain", &dir, |log, progress| {
        need_root()?;
        debian::install_tools(&root, log, progress)
    })?;
    need_root()?;
    Ok(root)
}

/// The kernel's source, image and headers, all of one version.
fn source(cache: &Cache, root: &Root) -> Result<Kernel> {
    let packages = cache.path("deb");
    let step = Step {
        cache,
        name: "packages",
        fingerprint: debian::OLDEST.into(),
        mib: 400,
    };
    let kernel = step.run("kernel packages", &packages, |log, progress| {
        let kernel = debian::choose_kernel(root, log)?;
        progress.say(&format!("Linux {}", kernel.version));
        fs::create_dir_all(&packages)?;
        let names = kernel
            .packages()
            .map(|name| format!("{name}={}", kernel.package));
        let mut get = root.command("apt-get", &packages)?;
        log.run(
            get.args(["-q", "download"]).args(debian::APT).args(names),
            progress,
        )?;
        Ok(kernel)
    })?;
    let dir = cache.path(&format!("linux-{}", kernel.version));
    let step = Step {
        cache,
        name: "source",
        fingerprint: kernel.package.clone(),
        mib: 2500,
    };
    step.run(
        &format!("kernel source {}", kernel.version),
        &dir,
        |log, progress| {
            let partial = cache.path("linux.partial");
            remove(&partial)?;
            fs::create_dir_all(&partial)?;
            for name in kernel.packages() {
                progress.say(&name);
                let deb = kernel.deb(&packages, &name)?;
                let mut unpack = root.command("dpkg-deb", &partial)?;
                log.run(unpack.arg("-x").arg(deb).arg(&partial), progress)?;
            }
            let tar = format!("usr/src/linux-source-{}.tar.xz", kernel.series);
            let mut unpack = root.command("tar", &partial)?;
            progress.say(&tar);
            log.run(unpack.args(["-x", "-I", "xz -T0", "-f", &tar]), progress)?;
            let tree = partial.join(format!("linux-source-{}", kernel.series));
            let version = debian::version_of(&tree)?;
            ensure!(
            version == kernel.version,
            "package linux-source-{} holds Linux {version}, but Debian's kernel is {}: they must \
             be the same version. Wait until the mirror has both and remove {}.",
            kernel.series,
            kernel.release,
            packages.display()
        );
            let parts = cache.path("debian");
            remove(&parts)?;
            remove(&dir)?;
            fs::rename(&tree, &dir)?;
            fs::rename(&partial, &parts).context("cannot rename what was unpacked")
        },
    )?;
    Ok(kernel)
}

/// A build tree in which modules for Debian's kernel can be built. Returns the compiler's name.
fn stock(cache: &Cache, root: &Root, kernel: &Kernel, source: &Path) -> Result<String> {
    let stock = cache.path("stock");
    let parts = cache.path("debian");
    let step = Step {
        cache,
        name: "stock",
        fingerprint: kernel.package.clone(),
        mib: 600,
    };
    step.run(
        &format!("build tree for {}", kernel.release),
        &stock,
        |log, progress| {
            let headers = parts.join(format!("usr/src/linux-headers-{}", kernel.release));
            // What a build that was cut short has left may be half made.
            remove(&stock)?;
            fs::create_dir_all(&stock)?;
            let config = fs::read_to_string(headers.join(".config"))
                .with_context(|| format!("linux-headers-{} has no .config", kernel.release))?;
            fs::write(stock.join(".config"), &config)?;
            let cc = compiler_of(&config)?;
            let make = || -> Result<Command> {
                let mut make = root.command("make", source)?;
                make.arg(format!("O={}", stock.display()))
                    .arg(format!("CC={cc}"));
                make.arg(format!("KERNELRELEASE={}", kernel.release));
                Ok(make)
            };
            log.run(make()?.arg("olddefconfig"), progress)?;
            same_config(&config, &fs::read_to_string(stock.join(".config"))?)?;
            log.run(
                make()?.arg(jobs()).args(["prepare", "modules_prepare"]),
                progress,
            )?;
            let image = parts.join(format!("usr/lib/modules/{}/vmlinuz", kernel.release));
            for (from, to) in [
                (headers.join("Module.symvers"), "Module.symvers"),
                (image, "vmlinuz"),
            ] {
                fs::copy(&from, stock.join(to))
                    .with_context(|| format!("cannot copy {}", from.display()))?;
            }
            unpack_image(root, &stock, log, progress)?;
            Ok(cc)
        },
    )
}

/// Unpacks the kernel from its boot image. QEMU starts it as it is (PVH), and the guest, which is
/// slow where it is emulated, need not unpack it at each boot.
fn unpack_image(root: &Root, stock: &Path, log: &Log, progress: &Progress) -> Result<()> {
    let image = fs::read(stock.join("vmlinuz"))?;
    let Some(payload) = payload(&image).filter(|bytes| bytes.starts_with(&ZSTD)) else {
        return log.note("the kernel's image is not packed with zstd: it is booted as it is");
    };
    fs::write(stock.join("kernel.zst"), payload)?;
    let mut unpack = root.command("zstd", stock)?;
    log.run(
        unpack.args(["-dqf", "kernel.zst", "-o", "kernel.partial"]),
        progress,
    )?;
    fs::rename(stock.join("kernel.partial"), stock.join("kernel.elf")).context("kernel.elf")
}

const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// The packed kernel inside a boot image: see "payload_offset" in the kernel's x86 boot protocol.
/// Behind it stands its size when unpacked, in four bytes.
fn payload(image: &[u8]) -> Option<&[u8]> {
    let word =
        |at: usize| Some(u32::from_le_bytes(image.get(at..at + 4)?.try_into().ok()?) as usize);
    let start = (usize::from(*image.get(0x1f1)?) + 1) * 512 + word(0x248)?;
    image.get(start..(start + word(0x24c)?).checked_sub(4)?)
}

/// What to boot.
fn image(stock: &Path) -> PathBuf {
    let unpacked = stock.join("kernel.elf");
    if unpacked.exists() {
        return unpacked;
    }
    stock.join("vmlinuz")
}

/// The compiler that a configuration was made with.
fn compiler_of(config: &str) -> Result<String> {
    let line = config
        .lines()
        .find_map(|line| line.strip_prefix("CONFIG_CC_VERSION_TEXT=\""));
    let word = line.and_then(|text| text.split_whitespace().next());
    Ok(word
        .context("the kernel's .config does not name its compiler")?
        .to_string())
}

/// Fails if the build would have another configuration than the kernel: with it, structures differ.
fn same_config(wanted: &str, got: &str) -> Result<()> {
    let set = |text: &str| -> Vec<String> {
        let options = text.lines().filter(|line| line.contains("CONFIG_"));
        options.map(str::to_string).collect()
    };
    let (wanted, got) = (set(wanted), set(got));
    let gone = wanted
        .iter()
        .filter(|line| !got.contains(line))
        .map(|line| format!("-{line}"));
    let new = got
        .iter()
        .filter(|line| !wanted.contains(line))
        .map(|line| format!("+{line}"));
    let changes: Vec<_> = gone.chain(new).collect();
    if !changes.is_empty() {
        bail!(
            "olddefconfig changed the kernel's configuration, so a module built with it would not \
             fit. The toolchain differs from the one that built the kernel:\n    {}",
            changes[..changes.len().min(12)].join("\n    ")
        );
    }
    Ok(())
}

fn need_root() -> Result<()> {
    ensure!(
        nix::unistd::geteuid().is_root(),
        "the toolchain root needs root's rights (mount, chroot): run this as root, or give your \
         own Rust-enabled kernel build tree with KDIR=DIR, which needs none"
    );
    let bootstrap = tool("apt-get").or_else(|_| tool("debootstrap"));
    bootstrap.map(drop).context(
        "the toolchain root is made on Debian, or where debootstrap is installed; elsewhere give \
         your own Rust-enabled kernel build tree with KDIR=DIR",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_config_that_stays_is_accepted_in_any_order() {
        let config = "# head\nCONFIG_A=y\n# CONFIG_B is not set\n";
        same_config(config, "# CONFIG_B is not set\nCONFIG_A=y\n").unwrap();
    }

    #[test]
    fn a_config_that_changes_is_refused_with_the_difference() {
        let wanted = "CONFIG_A=y\nCONFIG_DEBUG_INFO_BTF=y\n";
        let message = same_config(wanted, "CONFIG_A=y\n").unwrap_err().to_string();
        assert!(message.contains("-CONFIG_DEBUG_INFO_BTF=y"), "{message}");
    }

    #[test]
    fn the_compiler_is_the_one_of_the_config() {
        let config =
            "CONFIG_CC_VERSION_TEXT=\"x86_64-linux-gnu-gcc-14 (Debian 14.2.0-19) 14.2.0\"\n";
        assert_eq!(compiler_of(config).unwrap(), "x86_64-linux-gnu-gcc-14");
        assert!(compiler_of("CONFIG_A=y\n").is_err());
    }
}

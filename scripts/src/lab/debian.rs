// SPDX-License-Identifier: GPL-2.0-only

//! What comes from Debian: the system in the toolchain root, its tools, and the kernel's packages.

use anyhow::{bail, Context, Result};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

use crate::lab::cache::Cache;
use crate::lab::sandbox::Root;
use crate::os::command::tool;
use crate::os::files::remove;
use crate::os::log::Log;
use crate::os::progress::Progress;

/// The release that the toolchain comes from. Its rustc and bindgen are the oldest that will do.
pub const SUITE: &str = "trixie";

/// The oldest kernel series that has what the module uses.
pub const OLDEST: &str = "7.3";

pub const TOOLS: &str = "gcc make libc6-dev bc bison flex libelf-dev libssl-dev cpio kmod \
    xz-utils zstd rsync python3 perl git rustc cargo rust-src bindgen rustfmt rust-clippy clang-19 \
    libclang-19-dev lld-19 llvm-19 pahole busybox-static qemu-system-x86 patch ca-certificates";

/// Options for every apt-get.
pub const APT: [&str; 4] = [
    "-o",
    "Acquire::Retries=3",
    "-o",
    "DPkg::Options::=--force-unsafe-io",
];

/// A kernel of Debian's, of which source, image and headers have the same version.
#[derive(Serialize, Deserialize, Debug, PartialEq)]
pub struct Kernel {
    /// As in linux-source-7.3.
    pub series: String,
    /// As in the source's Makefile: 7.3.4.
    pub version: String,
    /// As `uname -r` says it: 7.3.4+deb13-amd64.
    pub release: String,
    /// The version of the packages: 7.3.4-1~bpo13+1.
    pub package: String,
}

impl Kernel {
    pub fn packages(&self) -> impl Iterator<Item = String> + '_ {
        let source = format!("linux-source-{}", self.series);
        let binary = format!("linux-binary-{}", self.release);
        [source, binary, format!("linux-headers-{}", self.release)].into_iter()
    }

    /// The file of one of the packages.
    pub fn deb(&self, dir: &Path, name: &str) -> Result<PathBuf> {
        let start = format!("{name}_{}_", self.package);
        let files = fs::read_dir(dir)?.filter_map(|entry| Some(entry.ok()?.path()));
        let mut files = files.filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with(&start) && name.ends_with(".deb")
        });
        files
            .next()
            .with_context(|| format!("{start}*.deb is missing in {}", dir.display()))
    }
}

/// Makes a minimal system in `root` of the cache.
pub fn bootstrap(cache: &Cache, log: &Log, progress: &Progress) -> Result<()> {
    let partial = cache.path("root.partial");
    let dir = cache.path("root");
    remove(&partial)?;
    let machine = Root::machine();
    if tool("mmdebstrap").is_err() && tool("debootstrap").is_err() {
        tool("apt-get").context("install mmdebstrap or debootstrap")?;
        progress.say("installing mmdebstrap");
        let mut update = machine.command("apt-get", Path::new("/"))?;
        log.run(update.args(["-q", "update"]).args(APT), progress)?;
        let mut install = machine.command("apt-get", Path::new("/"))?;
        install
            .env("DEBIAN_FRONTEND", "noninteractive")
            .args(["-qy", "--no-install-recommends"]);
        log.run(install.args(APT).args(["install", "mmdebstrap"]), progress)?;
    }
    let mirror = machine_mirror(log);
    let mut make;
    if tool("mmdebstrap").is_ok() {
        make = machine.command("mmdebstrap", cache.dir())?;
        make.args(["--mode=root", "--variant=apt", "--format=directory"]);
        for (name, value) in machine_apt(log) {
            make.arg(format!("--aptopt={name} \"{value}\""));
        }
    } else {
        make = machine.command("debootstrap", cache.dir())?;
        make.arg("--variant=minbase");
    }
    make.arg(SUITE).arg(&partial).args(&mirror);
    log.run(&mut make, progress)?;
    let list = partial.join("etc/apt/sources.list");
    let sources = fs::read_to_string(&list).with_context(|| list.display().to_string())?;
    fs::write(&list, with_backports(&sources)?)?;
    let settings = machine_apt(log).map(|(name, value)| format!("{name} \"{value}\";\n"));
    fs::write(
        partial.join("etc/apt/apt.conf.d/60machine"),
        settings.collect::<String>(),
    )?;
    remove(&dir)?;
    fs::rename(&partial, &dir).context("cannot rename the new root")
}

/// The sources that the bootstrap wrote, which may hold security updates or not, and the backports
/// of the same mirror.
fn with_backports(sources: &str) -> Result<String> {
    let release = |line: &&str| line.starts_with("deb ") && line.contains(&format!(" {SUITE} "));
    let line = sources.lines().find(release);
    let line = line.with_context(|| format!("the new root has no source for {SUITE}"))?;
    let backports = line.replace(&format!(" {SUITE} "), &format!(" {SUITE}-backports "));
    Ok(format!("{}\n{backports}\n", sources.trim_end()))
}

/// Installs the tools, also where an earlier attempt was ended half way.
pub fn install_tools(root: &Root, log: &Log, progress: &Progress) -> Result<()> {
    let names = fs::read("/etc/resolv.conf").context("cannot read /etc/resolv.conf")?;
    fs::write(root.outside("/etc/resolv.conf"), names)?;
    let slash = Path::new("/");
    let run = |program: &str, words: &[&[&str]]| -> Result<()> {
        let mut command = root.command(program, slash)?;
        command
            .env("DEBIAN_FRONTEND", "noninteractive")
            .args(words.concat());
        log.run(&mut command, progress)
    };
    // After an attempt that was ended half way. It fails where packages are missing that
    // "apt-get -f install" then brings.
    let mut repair = root.command("dpkg", slash)?;
    repair.args(["--force-unsafe-io", "--configure", "-a"]);
    log.status(
        repair.env("DEBIAN_FRONTEND", "noninteractive"),
        progress,
        String::new,
    )?;
    // "any" failure counts: otherwise old lists would do, and name packages that are gone.
    run(
        "apt-get",
        &[&["-q", "-o", "APT::Update::Error-Mode=any", "update"], &APT],
    )?;
    let install = ["-qy", "--no-install-recommends"];
    run("apt-get", &[&install, &APT, &["-f", "install"]])?;
    let tools: Vec<&str> = TOOLS.split_whitespace().collect();
    run("apt-get", &[&install, &APT, &["install"], &tools])?;
    run("apt-get", &[&["clean"]])
}

/// The newest kernel of which Debian has source, image and headers in one version.
pub fn choose_kernel(root: &Root, log: &Log) -> Result<Kernel> {
    let cache = |words: &[&str]| log.output(root.command("apt-cache", Path::new("/"))?.args(words));
    let sources = cache(&["pkgnames", "linux-source-"])?;
    for series in newest_first(sources.lines()) {
        let sources = cache(&["madison", &format!("linux-source-{series}")])?;
        let images = cache(&["pkgnames", &format!("linux-binary-{series}.")])?;
        for package in versions(&sources) {
            let version = package.split('-').next().unwrap_or_default();
            let wanted = format!("linux-binary-{version}+");
            let plain = images.lines().filter(|name| name.starts_with(&wanted));
            for name in plain.filter(|name| name.ends_with("-amd64") && !flavoured(name)) {
                let release = name.trim_start_matches("linux-binary-").to_string();
                let headers = cache(&["madison", &format!("linux-headers-{release}")])?;
                let same = |list: &str| versions(list).any(|found| found == package);
                if same(&cache(&["madison", name])?) && same(&headers) {
                    let (version, package) = (version.to_string(), package.to_string());
                    return Ok(Kernel {
                        series,
                        version,
                        release,
                        package,
                    });
                }
            }
        }
    }
    bail!(
        "the mirror has no kernel from {OLDEST} on whose source, image and headers are of the same \
         version (see {}). It may be in the middle of an update: try again later.",
        log.path().display()
    )
}

/// The version that a kernel tree's Makefile gives.
pub fn version_of(tree: &Path) -> Result<String> {
    let makefile = tree.join("Makefile");
    let text =
        fs::read_to_string(&makefile).with_context(|| format!("no {}", makefile.display()))?;
    let value = |name: &str| -> Result<String> {
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix(name)?.trim().strip_prefix('='));
        Ok(line
            .with_context(|| format!("no {name} in {}", makefile.display()))?
            .trim()
            .into())
    };
    Ok(format!(
        "{}.{}.{}",
        value("VERSION")?,
        value("PATCHLEVEL")?,
        value("SUBLEVEL")?
    ))
}

/// The series of linux-source packages that are new enough, the newest first.
fn newest_first<'a>(packages: impl Iterator<Item = &'a str>) -> Vec<String> {
    let number = |text: &str| -> Option<(u32, u32)> {
        let (major, minor) = text.split_once('.')?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    };
    let series = packages.filter_map(|name| number(name.strip_prefix("linux-source-")?));
    let mut series: Vec<_> = series
        .filter(|series| Some(*series) >= number(OLDEST))
        .collect();
    series.sort();
    series
        .iter()
        .rev()
        .map(|(major, minor)| format!("{major}.{minor}"))
        .collect()
}

/// The versions in a table of `apt-cache madison`.
fn versions(table: &str) -> impl Iterator<Item = &str> {
    table
        .lines()
        .filter_map(|line| line.split('|').nth(1))
        .map(str::trim)
}

fn flavoured(name: &str) -> bool {
    ["-cloud-amd64", "-rt-amd64"]
        .iter()
        .any(|end| name.ends_with(end))
}

/// The Debian mirror that this machine uses; no answer where it is no Debian machine.
fn machine_mirror(log: &Log) -> Option<String> {
    let format = "$(REPO_URI) $(ORIGIN) $(LABEL)";
    let mut list = Root::machine().command("apt-get", Path::new("/")).ok()?;
    list.args(["indextargets", "--format", format, "Created-By: Packages"]);
    let list = log.output(&mut list).ok()?;
    let mut lines = list
        .lines()
        .filter_map(|line| line.strip_suffix(" Debian Debian"));
    lines
        .next()
        .map(|uri| uri.trim_end_matches('/').to_string())
}

/// This machine's own settings for reaching a mirror: proxies, and clocks that are off.
fn machine_apt(log: &Log) -> impl Iterator<Item = (String, String)> {
    let dump = Root::machine().command("apt-config", Path::new("/"));
    let dump = dump
        .and_then(|mut dump| log.output(dump.arg("dump")))
        .unwrap_or_default();
    let settings: Vec<_> = dump
        .lines()
        .filter_map(|line| line.strip_suffix("\";")?.split_once(" \""))
        .filter(|(name, value)| {
            let wanted = name.ends_with("::Proxy") || name.starts_with("Acquire::Check-");
            wanted && !value.is_empty()
        })
        .map(|(name, value)| (name.to_string(), value.to_string()))
        .collect();
    settings.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_too_old_are_left_out_and_the_newest_comes_first() {
        let names = [
            "linux-source-7.2",
            "linux-source-7.3",
            "linux-source-6.12",
            "linux-source-7.10",
        ];
        assert_eq!(newest_first(names.into_iter()), ["7.10", "7.3"]);
        assert!(newest_first(["linux-source", "linux-source-x.y"].into_iter()).is_empty());
    }

    #[test]
    fn backports_come_from_the_mirror_of_the_release() {
        let sources = "deb http://m/debian trixie main\ndeb http://s trixie-security main\n";
        assert_eq!(
            with_backports(sources).unwrap(),
            format!("{sources}deb http://m/debian trixie-backports main\n")
        );
        assert!(with_backports("deb http://m/debian bookworm main\n").is_err());
    }

    #[test]
    fn versions_are_read_from_madison() {
        let table =
            "linux-source-7.3 | 7.3.4-1~bpo13+1 | http://mirror/debian trixie-backports\n\n";
        assert_eq!(versions(table).collect::<Vec<_>>(), ["7.3.4-1~bpo13+1"]);
    }

    #[test]
    fn a_version_is_read_from_the_makefile() {
        let makefile = "VERSION = 7\nPATCHLEVEL = 3\nSUBLEVEL = 4\nEXTRAVERSION =\n";
        let dir = std::env::temp_dir().join(format!("repmov-version-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join("Makefile"), makefile).unwrap();
        assert_eq!(version_of(&dir).unwrap(), "7.3.4");
        remove(&dir).unwrap();
        assert!(version_of(&dir).is_err());
    }
}

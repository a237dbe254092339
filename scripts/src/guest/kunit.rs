// SPDX-License-Identifier: GPL-2.0-only

//! KUnit by the kernel's own kunit.py, which takes no code from outside the kernel's tree. So it
//! gets a tree of links to the source, in which lib/repmov links to the checkout.

use anyhow::{ensure, Context, Result};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::guest::accel::Accel;
use crate::guest::ktap::{forget, Results};
use crate::guest::kvm;
use crate::guest::mitigation::ITS;
use crate::lab::cache::Cache;
use crate::lab::sandbox::Root;
use crate::lab::stale;
use crate::lab::Lab;
use crate::os::command::shown;
use crate::os::files::remove;
use crate::os::parallel::jobs;
use crate::os::progress::{self, Progress};

/// Where the KUnit kernel runs.
#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
pub enum Arch {
    /// User Mode Linux, a process of the machine.
    Um,
    /// A guest in QEMU.
    #[value(name = "x86_64")]
    X86,
    /// The same with what finds more, and with the module as one: see [`crate::selftest::stress`].
    #[value(skip)]
    Debug,
}

impl Arch {
    pub fn name(self) -> &'static str {
        match self {
            Arch::Um => "um",
            Arch::X86 => "x86_64",
            Arch::Debug => "debug",
        }
    }
}

/// Results that are enough of a test, and the log of kunit.py's own words.
pub struct Run {
    pub results: Results,
    pub log: PathBuf,
}

/// kunit.py, with the words that say what to build and where, and those that only running it takes.
fn kunit_py(root: &Root, overlay: &Path, build: &Path, arch: Arch, verb: &str) -> Result<Command> {
    let mut kunit = root.command("./tools/testing/kunit/kunit.py", overlay)?;
    kunit.args([verb, "--kunitconfig=lib/repmov/kunit"]);
    kunit.arg(format!("--build_dir={}", build.display()));
    kunit.arg(jobs().replace("-j", "--jobs="));
    match arch {
        // The way out for what an init measures.
        Arch::Um => kunit.args(["--arch=um", "--kconfig_add=CONFIG_HOSTFS=y"]),
        Arch::X86 | Arch::Debug => kunit.args([
            "--arch=x86_64",
            "--qemu_config=lib/repmov/kunit/qemu_x86_64.py",
        ]),
    };
    if arch == Arch::Debug {
        kunit.args([
            "--kunitconfig=lib/repmov/kunit/debug.config",
            "--kconfig_add=CONFIG_REPMOV=m",
            // With Rust, KASAN takes clang: that of the toolchain root.
            "--make_options=LLVM=-19",
        ]);
    }
    Ok(kunit)
}

/// Where the kernel of an architecture is built.
pub fn build_dir(cache: &Cache, arch: Arch) -> PathBuf {
    cache.path(&format!("kunit-{}", arch.name()))
}

/// Builds the kernel as need be and runs nothing; the kernel.
pub fn build(cache: &Cache, lab: &Lab, checkout: &Path, arch: Arch) -> Result<PathBuf> {
    let overlay = overlay(cache, lab, checkout)?;
    let build = build_dir(cache, arch);
    let progress = Progress::start(&format!("kernel for {}", arch.name()));
    let log = cache.log(&format!("kunit-{}-build", arch.name()))?;
    let mut kunit = kunit_py(&lab.root, &overlay, &build, arch, "build")?;
    kunit.envs(lab.extra.iter().map(|extra| ("REPMOV_EXTRA", extra)));
    let doing = || format!("{} objects", objects(&build));
    let made = stale::build(&build, || log.run_watching(&mut kunit, &progress, doing));
    if let Err(e) = made {
        progress.fail("failed");
        return Err(e);
    }
    let kernel = match arch {
        Arch::Um => build.join("linux"),
        Arch::X86 | Arch::Debug => build.join("arch/x86/boot/bzImage"),
    };
    ensure!(
        kernel.exists(),
        "the build left no {}: see {}",
        kernel.display(),
        log.path().display()
    );
    progress.done();
    Ok(kernel)
}

/// Builds the kernel as need be and runs the suites that `filter` matches, or all.
pub fn run(
    cache: &Cache,
    lab: &Lab,
    checkout: &Path,
    arch: Arch,
    filter: Option<&str>,
) -> Result<Run> {
    let overlay = overlay(cache, lab, checkout)?;
    let name = format!("kunit-{}", arch.name());
    let build = build_dir(cache, arch);
    let json = cache.log_path(&format!("{name}.json"));
    let console = build.join("test.log");
    let mut root = lab.root.clone();
    if arch == Arch::X86 && kvm::accel(cache, &lab.root, &lab.qemu, &lab.image)? == Accel::Kvm {
        root = root.with_device("kvm");
    }
    let mut kunit = kunit_py(&root, &overlay, &build, arch, "run")?;
    kunit.arg("--timeout=600");
    kunit.arg(format!("--json={}", json.display()));
    if arch == Arch::X86 {
        kunit.arg(format!("--kernel_args={ITS}"));
    }
    kunit.args(filter);
    progress::print(&format!(
        "in the toolchain root, in {}:\n{}",
        overlay.display(),
        shown(&kunit)
    ));
    forget(&json);
    forget(&console);
    let progress = Progress::start(&format!("kunit {}", arch.name()));
    let log = cache.log(&name)?;
    let doing = || match objects(&build) {
        _ if console.exists() => "running the suites".into(),
        count => format!("{count} objects"),
    };
    let ran = stale::build(&build, || {
        let status = log.status(&mut kunit, &progress, doing)?;
        let told = fs::read_to_string(&json);
        Ok((
            status,
            told.map_err(|_| log.failure(&kunit, &status.to_string()))?,
        ))
    });
    let (status, json) = match ran {
        Ok(ran) => ran,
        Err(e) => {
            progress.fail("failed");
            return Err(e);
        }
    };
    progress.done();
    let said = fs::read(&console).unwrap_or_default();
    let results = Results::read(&json, &String::from_utf8_lossy(&said));
    let results = results.with_context(|| format!("see {}", log.path().display()))?;
    ensure!(
        status.success() || !results.good(),
        "kunit.py failed ({status}), though all of its results are good: see {}",
        log.path().display()
    );
    Ok(Run {
        results,
        log: log.path().to_path_buf(),
    })
}

/// `repmov kunit`: kunit.py's own output, and whether nothing failed.
pub fn command(
    cache: &Cache,
    lab: &Lab,
    checkout: &Path,
    arch: Arch,
    filter: Option<&str>,
) -> Result<bool> {
    let run = run(cache, lab, checkout, arch, filter)?;
    let text = fs::read_to_string(&run.log)?;
    // The first line is the command, which was printed before.
    progress::print(text.split_once('\n').map_or("", |(_, rest)| rest));
    if let Some(problem) = run.results.problem() {
        progress::print(&problem);
    }
    Ok(run.results.good())
}

/// The tree for kunit.py, with the checkout in it.
fn overlay(cache: &Cache, lab: &Lab, checkout: &Path) -> Result<PathBuf> {
    ensure!(
        !lab.own,
        "KUnit kernels are built in the toolchain root: leave out KDIR"
    );
    let overlay = cache.path("overlay");
    let fingerprint = lab.release.as_str();
    if cache.made::<()>("overlay", fingerprint).is_none() || !overlay.exists() {
        cache.need_space(800, "the tree for kunit.py")?;
        let progress = Progress::start("tree for kunit.py");
        let log = cache.log("overlay")?;
        let partial = cache.path("overlay.partial");
        remove(&partial)?;
        let run = |program: &str, words: &[&Path]| {
            log.run(
                lab.root.command(program, cache.dir())?.args(words),
                &progress,
            )
        };
        run("cp", &["-as".as_ref(), &lab.source, &partial])?;
        // kunit.py looks for the tree around the file that it is itself, so it must be no link.
        let kunit = Path::new("tools/testing/kunit");
        remove(&partial.join(kunit))?;
        run(
            "cp",
            &["-a".as_ref(), &lab.source.join(kunit), &partial.join(kunit)],
        )?;
        extend(
            &lab.source,
            &partial,
            "lib/Makefile",
            "obj-$(CONFIG_REPMOV) += repmov/",
        )?;
        extend(
            &lab.source,
            &partial,
            "lib/Kconfig",
            "source \"lib/repmov/Kconfig\"",
        )?;
        remove(&overlay)?;
        fs::rename(&partial, &overlay)?;
        cache.stamp("overlay", fingerprint, &())?;
        progress.done();
    }
    let link = overlay.join("lib/repmov");
    if fs::read_link(&link).ok().as_deref() != Some(checkout) {
        forget(&link);
        symlink(checkout, &link).with_context(|| format!("cannot link {}", link.display()))?;
    }
    Ok(overlay)
}

/// Puts a copy of a source file with one more line in place of the link to it.
fn extend(source: &Path, tree: &Path, file: &str, line: &str) -> Result<()> {
    let text = fs::read_to_string(source.join(file)).with_context(|| file.to_string())?;
    forget(&tree.join(file));
    fs::write(tree.join(file), format!("{text}\n{line}\n")).with_context(|| file.to_string())
}

/// Object files below a folder: how far a build is.
fn objects(dir: &Path) -> usize {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let count = |entry: fs::DirEntry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => objects(&entry.path()),
        Ok(kind) if kind.is_file() => entry.path().extension().is_some_and(|e| e == "o").into(),
        _ => 0,
    };
    entries.map(count).sum()
}

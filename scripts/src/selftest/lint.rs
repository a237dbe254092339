// SPDX-License-Identifier: GPL-2.0-only

//! Checks of the sources themselves: format, lints, checkpatch, and the tests that need no kernel.

use anyhow::{bail, ensure, Context, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::lab::cache::Cache;
use crate::lab::kbuild;
use crate::lab::sandbox::Root;
use crate::lab::Lab;
use crate::os::command::tool;
use crate::os::files::remove;
use crate::os::progress::Progress;
use crate::selftest::tally::Tally;

/// The crates that need no kernel.
const CRATES: [&str; 3] = ["rust/core", "scripts", "scripts/guest/hostile"];

/// Commits that checkpatch sees at most.
const COMMITS: &str = "-60";

/// What checkpatch says of patches to the kernel's own tree, of whoever hands them in, of assembler
/// that it takes for C, of lines that rustfmt has the say in, of `mount -t proc proc`, and of a
/// license in a test's text ([`licenses`] looks at the real ones).
const IGNORED: &str = "FILE_PATH_CHANGES,CONFIG_DESCRIPTION,GIT_COMMIT_ID,COMMIT_MESSAGE,\
    MISSING_SIGN_OFF,NO_AUTHOR_SIGN_OFF,FROM_SIGN_OFF_MISMATCH,EMAIL_SUBJECT,UNKNOWN_COMMIT_ID,\
    COMPLEX_MACRO,MULTISTATEMENT_MACRO_USE_DO_WHILE,TRAILING_STATEMENTS,SPACING,\
    LINE_CONTINUATIONS,EXECUTE_PERMISSIONS,LONG_LINE,LONG_LINE_STRING,REPEATED_WORD,SPDX_LICENSE_TAG";

/// Files of which checkpatch sees no commits: texts of others, and patches, whose context lines end
/// in a space where they are empty.
const NOT_OURS: [&str; 5] = ["--", ".", ":!LICENSE", ":!*.patch", ":!results"];

/// Files that need no line with the license: it itself, what cargo writes, what was measured and
/// drawn, and what others wrote for tests.
const UNLICENSED: [&str; 4] = ["LICENSE", "Cargo.lock", ".tsv", ".svg"];

pub fn check(cache: &Cache, lab: &Lab, checkout: &Path, tally: &Tally) {
    tally.check("rustfmt", format(cache, lab, checkout));
    for name in CRATES {
        tests(cache, checkout, name, tally);
    }
    for name in CRATES {
        tally.check(
            &format!("clippy {name}"),
            clippy(cache, lab, checkout, name),
        );
    }
    tally.check("clippy of the module", clippy_module(cache, lab, checkout));
    match tracked(checkout) {
        Ok(files) => drop(tally.check("a license in every file", licenses(checkout, &files))),
        Err(e) => tally.skip("a license in every file", &format!("{e:#}")),
    }
    tally.check("checkpatch asm", checkpatch_files(cache, lab, checkout));
    match commits(cache, checkout) {
        Ok(patches) if patches.is_empty() => tally.skip("checkpatch of commits", "no commits"),
        Ok(patches) => {
            let words = format!("checkpatch of {} commits", patches.len());
            tally.check(&words, checkpatch(cache, lab, "commits", &[], &patches));
        }
        Err(e) => tally.skip("checkpatch of commits", &format!("{e:#}")),
    }
}

/// The files of the repository.
fn tracked(checkout: &Path) -> Result<Vec<String>> {
    let mut git = Command::new("git");
    let listed = git.arg("-C").arg(checkout).arg("ls-files").output();
    let listed = listed.context("git ls-files")?;
    ensure!(listed.status.success(), "no repository");
    let text = String::from_utf8_lossy(&listed.stdout).into_owned();
    Ok(text.lines().map(str::to_string).collect())
}

/// Fails if a file does not say its license in its first three lines.
fn licenses(checkout: &Path, files: &[String]) -> Result<()> {
    const LINE: &str = "SPDX-License-Identifier: GPL-2.0-only";

    let says = |name: &&String| {
        let text = fs::read(checkout.join(name)).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        text.lines().take(3).any(|line| line.contains(LINE))
    };
    let exempt = |name: &&String| UNLICENSED.iter().any(|end| name.ends_with(end));
    let mut without = files.iter().filter(|name| !exempt(name) && !says(name));
    match without.next() {
        Some(name) => bail!("none in {name}"),
        None => Ok(()),
    }
}

fn format(cache: &Cache, lab: &Lab, checkout: &Path) -> Result<()> {
    let mut files = Vec::new();
    for dir in ["rust", "kunit", "scripts"] {
        find(&checkout.join(dir), &["rs"], &mut files)?;
    }
    let mut rustfmt = lab.root.command("rustfmt", checkout)?;
    rustfmt
        .args(["--check", "--color=never", "--config-path"])
        .arg(checkout.join("rustfmt.toml"));
    cache
        .log("rustfmt")?
        .run(rustfmt.args(files), &Progress::silent())
}

fn clippy(cache: &Cache, lab: &Lab, checkout: &Path, name: &str) -> Result<()> {
    let home = cargo_home()?;
    let progress = Progress::start(&format!("clippy {name}"));
    let mut cargo = lab.root.sharing(&home).command("cargo-clippy", checkout)?;
    // Not by way of "cargo clippy", which would take the one in the machine's CARGO_HOME. What the
    // crates need was fetched for their tests.
    cargo.args([
        "clippy",
        "--offline",
        "--locked",
        "--all-targets",
        "--manifest-path",
    ]);
    cargo
        .arg(checkout.join(name).join("Cargo.toml"))
        .args(["--", "-D", "warnings"]);
    cargo
        .env("CARGO_HOME", &home)
        .env("CARGO_TARGET_DIR", cache.path("target-clippy"));
    let log = cache.log(&format!("clippy-{}", name.replace('/', "-")))?;
    log.run(&mut cargo, &progress)
}

fn clippy_module(cache: &Cache, lab: &Lab, checkout: &Path) -> Result<()> {
    let progress = Progress::start("clippy of the module");
    let out = cache.path("module-clippy");
    remove(&out)?;
    fs::create_dir_all(&out)?;
    let log = cache.log("clippy-module")?;
    let mut make = kbuild::make_into(lab, checkout, &out)?;
    log.run(make.args(["CLIPPY=1", "modules"]), &progress)?;
    no_warnings(&log.text())
}

/// Fails if a build's log warns of anything.
pub fn no_warnings(log: &str) -> Result<()> {
    let mut found = String::new();
    let mut lines = log.lines().peekable();
    while let Some(line) = lines.next() {
        if line.to_lowercase().contains("warning:") {
            found += &format!("\n{line}");
            // Where it is: rustc says so on the next line.
            if let Some(place) = lines.next_if(|line| line.trim_start().starts_with("-->")) {
                found += &format!("\n{place}");
            }
        }
    }
    ensure!(found.is_empty(), "it warns:{found}");
    Ok(())
}

/// Runs a crate's tests with the machine's own cargo and counts each.
fn tests(cache: &Cache, checkout: &Path, name: &str, tally: &Tally) {
    let what = format!("cargo test {name}");
    let run = || -> Result<(usize, usize, usize)> {
        let progress = Progress::start(&what);
        let cargo = std::env::var_os("CARGO").map_or_else(|| tool("cargo"), |path| Ok(path.into()));
        let mut test = Root::machine().command(cargo?, checkout)?;
        test.args(["test", "--locked", "--no-fail-fast", "--manifest-path"]);
        test.arg(checkout.join(name).join("Cargo.toml"));
        if std::env::var_os("CARGO_TARGET_DIR").is_none() {
            test.env("CARGO_TARGET_DIR", cache.path("target"));
        }
        let log = cache.log(&format!("test-{}", name.replace('/', "-")))?;
        let status = log.status(&mut test, &progress, String::new)?;
        let counts = counts(&log.text());
        if counts == (0, 0, 0) || (counts.1 == 0 && !status.success()) {
            return Err(log.failure(&test, &status.to_string()));
        }
        if counts.1 > 0 {
            let text = log.text();
            let failed = text.lines().filter(|line| line.ends_with("... FAILED"));
            let failed: Vec<_> = failed.collect();
            crate::os::progress::print(&format!(
                "FAIL {what} (log: {})\n    {}",
                log.path().display(),
                failed.join("\n    ")
            ));
        }
        Ok(counts)
    };
    match run() {
        Ok((passed, failed, ignored)) => {
            tally.add(passed, failed, ignored);
            if failed == 0 {
                crate::os::progress::print(&format!("PASS {what}: {passed} passed"));
            }
        }
        Err(e) => tally.fail(&what, &e),
    }
}

/// Passed, failed and ignored tests in what cargo printed.
fn counts(text: &str) -> (usize, usize, usize) {
    let mut sum = (0, 0, 0);
    for line in text
        .lines()
        .filter(|line| line.starts_with("test result: "))
    {
        let number = |word: &str| -> usize {
            let before = line.split(&format!(" {word}")).next().unwrap_or_default();
            before
                .rsplit(' ')
                .next()
                .and_then(|digits| digits.parse().ok())
                .unwrap_or(0)
        };
        sum.0 += number("passed");
        sum.1 += number("failed");
        sum.2 += number("ignored");
    }
    sum
}

fn checkpatch_files(cache: &Cache, lab: &Lab, checkout: &Path) -> Result<()> {
    let (mut sources, mut patches) = (Vec::new(), Vec::new());
    find(&checkout.join("asm"), &["S", "h"], &mut sources)?;
    find(&checkout.join("asm"), &["patch"], &mut patches)?;
    checkpatch(cache, lab, "asm", &["-f"], &sources)?;
    if patches.is_empty() {
        return Ok(());
    }
    checkpatch(cache, lab, "patches", &[], &patches)
}

fn checkpatch(
    cache: &Cache,
    lab: &Lab,
    name: &str,
    words: &[&str],
    files: &[PathBuf],
) -> Result<()> {
    ensure!(!files.is_empty(), "no files to check");
    let script = lab.source.join("scripts/checkpatch.pl");
    ensure!(
        script.exists(),
        "{} has no checkpatch.pl",
        lab.source.display()
    );
    let mut perl = lab.root.command("perl", &lab.source)?;
    perl.arg(script)
        .args(["--no-tree", "--terse", "--no-summary", "--ignore", IGNORED]);
    let log = cache.log(&format!("checkpatch-{name}"))?;
    log.run(perl.args(words).args(files), &Progress::silent())
}

/// The latest commits as patches.
fn commits(cache: &Cache, checkout: &Path) -> Result<Vec<PathBuf>> {
    let git = tool("git")?;
    let inside = Command::new(&git)
        .arg("-C")
        .arg(checkout)
        .args(["rev-parse", "HEAD"])
        .output()?;
    if !inside.status.success() {
        bail!("no git history here");
    }
    let dir = cache.path("patches");
    remove(&dir)?;
    let mut format = Command::new(git);
    format
        .arg("-C")
        .arg(checkout)
        .args(["format-patch", "-q", "--root", COMMITS, "-o"]);
    let made = format
        .arg(&dir)
        .arg("HEAD")
        .args(NOT_OURS)
        .output()
        .context("git format-patch")?;
    ensure!(
        made.status.success(),
        "git: {}",
        String::from_utf8_lossy(&made.stderr).trim()
    );
    let mut patches = Vec::new();
    find(&dir, &["patch"], &mut patches)?;
    Ok(patches)
}

/// Adds the files below `dir` that end in one of `ends`, in the order of their names.
fn find(dir: &Path, ends: &[&str], files: &mut Vec<PathBuf>) -> Result<()> {
    let entries = fs::read_dir(dir).with_context(|| format!("no folder {}", dir.display()))?;
    let mut paths: Vec<_> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    paths.sort();
    for path in paths {
        let generated = path.ends_with("target") || path.ends_with("gen");
        if path.is_dir() && !path.is_symlink() && !generated {
            find(&path, ends, files)?;
        } else if path
            .extension()
            .is_some_and(|end| ends.iter().any(|wanted| end == *wanted))
        {
            files.push(path);
        }
    }
    Ok(())
}

/// Where cargo keeps what it fetched.
fn cargo_home() -> Result<PathBuf> {
    if let Some(home) = std::env::var_os("CARGO_HOME") {
        return Ok(home.into());
    }
    Ok(PathBuf::from(std::env::var_os("HOME").context("HOME is not set")?).join(".cargo"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cargo_s_counts_are_summed() {
        let text = "running 2 tests\ntest result: ok. 12 passed; 0 failed; 1 ignored; 0 measured\n\
                    test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured\n";
        assert_eq!(counts(text), (15, 2, 1));
        assert_eq!(counts("error: could not compile\n"), (0, 0, 0));
    }

    #[test]
    fn a_file_without_its_license_is_found() {
        let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let of = |name: &str| licenses(checkout, &[name.to_string()]);
        of("Kbuild").unwrap();
        of("LICENSE").unwrap();
        assert!(of("results").is_err());
    }

    #[test]
    fn a_warning_of_any_tool_counts() {
        assert!(no_warnings("  CC [M] a.o\n").is_ok());
        assert!(no_warnings("a.o: warning: objtool: unannotated\n").is_err());
        assert!(no_warnings("WARNING: modpost: missing\n").is_err());
    }
}

// SPDX-License-Identifier: GPL-2.0-only

//! `repmov stress`: the module in a kernel that finds more, mistreated by a program in its guest
//! (`guest/hostile`); and a boot in which bad things are done on purpose, each of which must be found.

use anyhow::{bail, ensure, Context, Result};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::guest::boot::Boot;
use crate::guest::info::as_asked;
use crate::guest::initramfs::Contents;
use crate::guest::ktap::Results;
use crate::guest::kunit::{self, Arch};
use crate::guest::kvm;
use crate::guest::machine::{self, Machine};
use crate::guest::mitigation::ITS;
use crate::guest::outcome::{End, Ended};
use crate::lab::cache::Cache;
use crate::lab::Lab;
use crate::os::progress::{print, Progress};
use crate::selftest::suites::enough;
use crate::selftest::tally::Tally;

/// What is generated is generated from this, unless another is asked for.
pub const SEED: u64 = 1;

/// How long a boot may take with all that is done in it.
const LIMIT: Duration = Duration::from_secs(2 * 3600);

/// How long the guest may say nothing while kmemleak scans, on a busy host.
const PATIENCE: Duration = Duration::from_secs(400);

/// Boot options of all boots: the whole log is kept, and a busy host is no finding. With five levels
/// of page tables the kernel forgets these for a moment while it looks at its CPU (7.3), and KASAN
/// reports what an interrupt does meanwhile.
const OPTIONS: [&str; 4] = [
    ITS,
    "log_buf_len=2M",
    "rcupdate.rcu_cpu_stall_timeout=200",
    "no5lvl",
];

/// Where a warning ends the guest.
const STRICT: &str = "panic_on_warn=1";

/// The suites of the short form. The others run in the ordinary KUnit kernel, in seconds.
const FEW: &str = "kunit.filter_glob=repmov_controls";

/// Where findings are looked at in the guest: it goes on after them, and says nothing of them on its
/// console, which the host would take for a crash.
const LENIENT: [&str; 2] = ["loglevel=1", NONE];

/// No suites.
const NONE: &str = "kunit.enable=0";

const FULL: &str = "stress-full";
/// Part of the full form, in a boot of its own.
const PLANS: &str = "stress-plans";
const CONTROL: &str = "stress-control";
const PANIC: &str = "stress-panic";

/// What goes into the guest.
struct DebugGuest {
    kernel: PathBuf,
    module: PathBuf,
    /// The module that does bad things.
    provoke: PathBuf,
    program: PathBuf,
}

/// Builds everything as need be, boots and counts what came of it. `form` is how much is done, full
/// or short.
pub fn run(
    cache: &Cache,
    lab: &Lab,
    checkout: &Path,
    silence: Duration,
    (form, seed): (&str, u64),
    tally: &Tally,
) {
    if lab.own {
        let why = "its kernel is built in the toolchain root, which KDIR does without";
        return tally.skip("stress", why);
    }
    let built = tally.check(
        "debug kernel, without warnings",
        build(cache, lab, checkout),
    );
    let Some(built) = built else {
        return tally.skip("stress", "its kernel does not build");
    };
    let machine = match machine(cache, lab, checkout, &built, silence) {
        Ok(machine) => machine,
        Err(e) => return tally.fail("stress", &e),
    };
    let job = format!("stress-{form}-{seed}");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let jobs = [CONTROL, PANIC];
            match boot(cache, &machine, CONTROL, &LENIENT, &jobs) {
                Ok(ended) => judge_control(cache, lab, ended, tally),
                Err(e) => tally.fail(CONTROL, &e),
            }
        });
        let name = format!("stress-{form}");
        if name == FULL {
            scope.spawn(|| plans(cache, lab, &machine, seed, tally));
        }
        let options: &[&str] = if name == FULL {
            &[STRICT]
        } else {
            &[STRICT, FEW]
        };
        match boot(cache, &machine, &name, options, &["info", &job]) {
            Ok(ended) => judge(cache, lab, &machine, (&name, &job), ended, tally),
            Err(e) => tally.fail(&name, &e),
        }
    });
}

/// The writes to `plan` that take as long as all the rest. One CPU and no kmemleak make them three
/// times as fast; leaks are looked for after the writes that the other boot makes.
fn plans(cache: &Cache, lab: &Lab, machine: &Machine, seed: u64, tally: &Tally) {
    let job = format!("{PLANS}-{seed}");
    let machine = Machine {
        cpus: 1,
        ..machine.clone()
    };
    let options = [STRICT, NONE, "kmemleak=off"];
    let ended = boot(cache, &machine, PLANS, &options, &[&job]);
    let sent = ended.and_then(|ended| ended.result());
    match sent {
        Ok(sent) => count(cache, lab, PLANS, sent.text(&job), tally),
        Err(e) => tally.fail(PLANS, &e),
    }
}

fn build(cache: &Cache, lab: &Lab, checkout: &Path) -> Result<DebugGuest> {
    let kernel = kunit::build(cache, lab, checkout, Arch::Debug)?;
    let modules = kunit::build_dir(cache, Arch::Debug).join("lib/repmov");
    let progress = Progress::start("program for the guest");
    let log = cache.log("stress-program")?;
    let target = cache.path("target-guest");
    let mut cargo = lab.root.command("cargo", checkout)?;
    cargo.args(["build", "--release", "--locked", "--offline"]);
    cargo.arg("--manifest-path");
    cargo.arg(checkout.join("scripts/guest/hostile/Cargo.toml"));
    // The guest has no libraries.
    cargo.env("RUSTFLAGS", "-C target-feature=+crt-static -D warnings");
    cargo.env("CARGO_TARGET_DIR", &target);
    cargo.env("CARGO_HOME", target.join("home"));
    if let Err(e) = log.run(&mut cargo, &progress) {
        progress.fail("failed");
        return Err(e);
    }
    progress.done();
    let built = DebugGuest {
        kernel,
        module: modules.join("repmov.ko"),
        provoke: modules.join("kunit/provoke.ko"),
        program: target.join("release/hostile"),
    };
    for file in [&built.module, &built.provoke, &built.program] {
        ensure!(file.exists(), "the build left no {}", file.display());
    }
    Ok(built)
}

fn machine(
    cache: &Cache,
    lab: &Lab,
    checkout: &Path,
    built: &DebugGuest,
    silence: Duration,
) -> Result<Machine> {
    let contents = Contents {
        busybox: &lab.busybox,
        module: Some(&built.module),
        guest: &checkout.join("scripts/guest"),
        plans: "",
        more: &[
            ("provoke.ko", &built.provoke),
            ("guest/hostile", &built.program),
        ],
    };
    let accel = kvm::accel(cache, &lab.root, &lab.qemu, &lab.image)?;
    let initrd = cache.path("initrd-stress.cpio");
    let kernel = built.kernel.clone();
    let machine = machine::of(lab, accel, kernel, initrd, &contents, silence)?;
    Ok(Machine {
        cpus: 2,
        limit: LIMIT,
        ..machine
    })
}

fn boot(
    cache: &Cache,
    machine: &Machine,
    name: &str,
    options: &[&str],
    jobs: &[&str],
) -> Result<Ended> {
    let progress = Progress::start(name);
    let append = OPTIONS.iter().chain(options);
    let boot = Boot {
        name: name.into(),
        append: append.map(|word| word.to_string()).collect(),
        jobs: jobs.iter().map(|job| job.to_string()).collect(),
    };
    match machine.watch(cache, &boot, PATIENCE.max(machine.silence), &progress) {
        Ok(ended) => {
            progress.done();
            Ok(ended)
        }
        Err(e) => {
            progress.fail("failed");
            Err(e)
        }
    }
}

/// Counts what the boot showed in which all must hold.
fn judge(
    cache: &Cache,
    lab: &Lab,
    machine: &Machine,
    (name, job): (&str, &str),
    ended: Ended,
    tally: &Tally,
) {
    let console = ended.console.clone();
    let sent = match ended.result() {
        Ok(sent) => sent,
        Err(e) => return tally.fail(name, &e),
    };
    let state = sent
        .text("info")
        .and_then(|info| as_asked(info, &[], true, machine.accel));
    tally.check(&format!("{name}: CPU and mitigation as asked for"), state);
    let what = format!("{name}: KUnit");
    match Results::parse(cache, lab, "stress-kunit", suites(&console)) {
        Ok(results) => {
            tally.results(&what, &results);
            if name == FULL {
                tally.check(&format!("{what} reports enough"), enough(&results));
            }
        }
        Err(e) => tally.fail(&what, &e),
    }
    count(cache, lab, name, sent.text(job), tally);
}

/// The KTAP of the suites that ran when the module was loaded. The kernel has none of its own, which
/// it says when it boots.
fn suites(console: &str) -> &str {
    let mut at = 0;
    let mut start = console.len();
    for line in console.split_inclusive('\n') {
        if line.trim_end() == "KTAP version 1" {
            start = at;
        }
        at += line.len();
    }
    &console[start..]
}

/// Counts the cases of a program's KTAP, and shows what it says of each.
fn count(cache: &Cache, lab: &Lab, name: &str, ktap: Result<&str>, tally: &Tally) {
    match ktap.and_then(|ktap| Ok((ktap, Results::parse(cache, lab, name, ktap)?))) {
        Ok((ktap, results)) => {
            tally.results(name, &results);
            for line in ktap.lines().filter_map(|line| line.strip_prefix("# ")) {
                print(&format!("    {line}"));
            }
        }
        Err(e) => tally.fail(name, &e),
    }
}

/// Counts what the boot showed in which each thing was bad.
fn judge_control(cache: &Cache, lab: &Lab, ended: Ended, tally: &Tally) {
    count(cache, lab, CONTROL, ended.sections.text(CONTROL), tally);
    let what = "stress-control: a warning ends a guest, and is told as a failure";
    tally.check(what, panicked(ended));
}

fn panicked(ended: Ended) -> Result<()> {
    let crashed = matches!(ended.end, End::Crash);
    let at = ended.sections.open.clone().unwrap_or_default();
    match ended.result() {
        Ok(_) => bail!("a guest that warned is taken for a good one"),
        Err(e) => {
            let said = format!("{e:#}");
            let told = crashed && at == PANIC && said.contains("panic_on_warn set");
            told.then_some(()).with_context(|| said)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guest::protocol::Sections;

    const SENT: &str = "=== begin insmod\n=== end insmod 0\n=== begin stress-panic\n";
    const PANICKED: &str = "[9.1] Kernel panic - not syncing: kernel: panic_on_warn set ...";

    #[test]
    fn the_suites_are_those_of_the_module() {
        let module = "KTAP version 1\r\n1..1\r\n    KTAP version 1\r\n    1..1\r\n";
        let console = format!("KTAP version 1\r\n1..0\r\nrepmov: loading\r\n{module}");
        assert_eq!(suites(&console), module);
        assert_eq!(suites("repmov: loading\r\n"), "");
    }

    #[test]
    fn a_guest_that_does_not_panic_of_a_warning_is_told_apart() {
        let ended = |sent: &str, console, end| Ended::of(Sections::read(sent), console, end);
        panicked(ended(SENT, PANICKED, End::Crash)).unwrap();
        let done = format!("{SENT}alive\n=== end stress-panic 0\n=== done\n");
        assert!(panicked(ended(&done, "", End::Done)).is_err());
        assert!(panicked(ended(SENT, "[9.1] BUG: another", End::Crash)).is_err());
        assert!(panicked(ended("", PANICKED, End::Crash)).is_err());
        assert!(panicked(ended(SENT, "", End::Exit)).is_err());
    }
}

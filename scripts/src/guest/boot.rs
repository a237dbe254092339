// SPDX-License-Identifier: GPL-2.0-only

//! One boot of a kernel, in QEMU or as a process: its jobs, or in words why they were not done.

use anyhow::{Context, Result};
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::guest::accel::Accel;
use crate::guest::machine::Machine;
use crate::guest::outcome::{End, Ended};
use crate::guest::protocol::{crash, Sections};
use crate::lab::cache::Cache;
use crate::os::command::shown;
use crate::os::progress::{print, Progress};
use crate::os::signals;

/// How often the host looks at what the guest has sent.
const TICK: Duration = Duration::from_millis(50);

/// Boot options that only save time: tests of ciphers, and a check of the timer.
const QUICK: &str = "cryptomgr.notests no_timer_check random.trust_cpu=on";

/// What the logs of a boot take at most, in MiB.
const LOGS: u64 = 4;

/// A boot that is wanted.
pub struct Boot {
    /// Part of the names of its logs.
    pub name: String,
    /// Boot options.
    pub append: Vec<String>,
    pub jobs: Vec<String>,
}

impl Machine {
    /// Boots and waits until all jobs are done.
    pub fn boot(&self, cache: &Cache, boot: &Boot, progress: &Progress) -> Result<Sections> {
        let ended = self.watch(cache, boot, self.silence, progress);
        ended
            .and_then(Ended::result)
            .with_context(|| format!("boot {}", boot.name))
    }

    /// Boots and waits until the boot is over, however that comes about. Once the guest's init runs,
    /// it may be silent for `patience`, or for as long as it took to get there. A kernel that falls
    /// silent before that is booted once more: an emulated one does that now and then, on a busy
    /// machine.
    ///
    /// # Errors
    ///
    /// If it is not the guest's doing that the boot is over: the disk is full, or QEMU failed, as one
    /// does that is killed. One whose guest is reset ends well.
    pub fn watch(
        &self,
        cache: &Cache,
        boot: &Boot,
        patience: Duration,
        progress: &Progress,
    ) -> Result<Ended> {
        let ended = self.attempt(cache, boot, patience, progress)?;
        if !ended.early() {
            return Ok(ended);
        }
        let why = ended.result().err().context("it is silent")?;
        print(&format!(
            "boot {}: {why:#}\nbefore the module was loaded: once more",
            boot.name
        ));
        self.attempt(cache, boot, patience, progress)
    }

    fn attempt(
        &self,
        cache: &Cache,
        boot: &Boot,
        patience: Duration,
        progress: &Progress,
    ) -> Result<Ended> {
        let file = |end: &str| cache.log_path(&format!("boot-{}.{end}", boot.name));
        let (console, results, errors) = (file("log"), file("out"), file("qemu"));
        for path in [&console, &results] {
            File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
        }
        let mut command = match self.accel {
            Accel::Um => self.process(cache, boot, &results)?,
            _ => self.qemu(cache, boot, &[&console, &results])?,
        };
        match self.accel {
            Accel::Um => command.stdout(File::options().append(true).open(&console)?),
            _ => command.stdout(Stdio::null()),
        };
        command.stderr(File::create(&errors)?);
        let mut child = command
            .spawn()
            .with_context(|| format!("cannot start: {}", shown(&command)))?;
        let guard = signals::guard(child.id());
        let mut watch = Watch::start(self, patience, &console, &results);
        let end = loop {
            let exited = child.try_wait()?;
            if let Some(end) = watch.look(exited.is_some()) {
                break end;
            }
            progress.say(&watch.last_line());
            std::thread::sleep(TICK);
        };
        guard.kill();
        let status = child.wait()?;
        let ended = Ended {
            sections: Sections::read(&watch.sent),
            console: watch.console,
            log: console,
            errors,
            end,
            status,
        };
        if !matches!(ended.end, End::Done) {
            // What the guest said last may be lost, so nothing can be concluded from it.
            cache.need_space(LOGS, "what a guest says")?;
        }
        if matches!(ended.end, End::Exit) && !status.success() {
            return Err(ended.result().err().context("QEMU failed")?);
        }
        Ok(ended)
    }

    /// QEMU, with the console and what the guest sends in files.
    fn qemu(&self, cache: &Cache, boot: &Boot, files: &[&Path]) -> Result<Command> {
        let root = match self.accel {
            Accel::Kvm => self.root.with_device("kvm"),
            _ => self.root.clone(),
        };
        let append = format!("console=ttyS0 panic=-1 {QUICK} {}", boot.words());
        let mut qemu = root.command(&self.qemu, cache.dir())?;
        qemu.args(["-nodefaults", "-no-reboot", "-display", "none"]);
        qemu.args(["-m", "1024", "-cpu", "max", "-smp", &self.cpus.to_string()]);
        qemu.args(["-accel", self.accel.name()])
            .arg("-kernel")
            .arg(&self.kernel);
        qemu.arg("-initrd")
            .arg(&self.initrd)
            .args(["-append", &append]);
        for path in files {
            qemu.arg("-serial").arg(format!("file:{}", path.display()));
        }
        Ok(qemu)
    }

    /// The kernel itself, whose init writes to a file of the host's.
    fn process(&self, cache: &Cache, boot: &Boot, results: &Path) -> Result<Command> {
        let mut kernel = self.root.command(&self.kernel, cache.dir())?;
        kernel.args(["mem=256M", "con0=fd:0,fd:1", "console=tty0", "panic=-1"]);
        kernel.arg("rdinit=/init");
        kernel.arg(format!("initrd={}", self.initrd.display()));
        kernel.arg(format!("REPMOV_OUT={}", results.display()));
        kernel.args(boot.words().split_whitespace());
        Ok(kernel)
    }
}

impl Boot {
    /// What it says on the kernel's command line.
    fn words(&self) -> String {
        format!(
            "{} REPMOV_JOBS={}",
            self.append.join(" "),
            self.jobs.join(",")
        )
    }
}

/// What a guest has sent so far, and when.
struct Watch<'a> {
    machine: &'a Machine,
    patience: Duration,
    files: [&'a Path; 2],
    console: String,
    sent: String,
    start: Instant,
    last: Instant,
    /// When the guest first sent something.
    ready: Option<Duration>,
}

impl<'a> Watch<'a> {
    fn start(
        machine: &'a Machine,
        patience: Duration,
        console: &'a Path,
        results: &'a Path,
    ) -> Watch<'a> {
        let (start, last) = (Instant::now(), Instant::now());
        let (files, console, sent) = ([console, results], String::new(), String::new());
        Watch {
            machine,
            patience,
            files,
            console,
            sent,
            start,
            last,
            ready: None,
        }
    }

    /// Reads what is new. Says if the boot is over, which it is when QEMU has `exited`.
    fn look(&mut self, exited: bool) -> Option<End> {
        let before = (self.console.len(), self.sent.len());
        let read = |path| String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned();
        let [console, results] = self.files;
        (self.console, self.sent) = (read(console), read(results));
        if before != (self.console.len(), self.sent.len()) {
            self.last = Instant::now();
        }
        if self.ready.is_none() && !self.sent.is_empty() {
            self.ready = Some(self.start.elapsed());
        }
        let silence = self.last.elapsed();
        if crash(&self.console).is_some() {
            // The lines that explain it are still to come.
            return (exited || silence > Duration::from_secs(1)).then_some(End::Crash);
        }
        if Sections::read(&self.sent).done {
            return Some(End::Done);
        }
        if exited {
            return Some(End::Exit);
        }
        let allowed = match self.ready {
            None => self.machine.silence,
            Some(boot) => self.patience.max(boot),
        };
        if silence > allowed {
            return Some(End::Silence(silence));
        }
        let took = self.start.elapsed();
        (took > self.machine.limit).then_some(End::Limit(took))
    }

    fn last_line(&self) -> String {
        let text = if self.sent.is_empty() {
            &self.console
        } else {
            &self.sent
        };
        text.lines().next_back().unwrap_or("starting").to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::sandbox::Root;
    use std::os::unix::fs::PermissionsExt;

    const GOOD: [&str; 6] = [
        "out '=== begin insmod'",
        "out '=== end insmod 0'",
        "out '=== begin verify'",
        "out 'KTAP version 1'",
        "out '=== end verify 0'",
        "out '=== done'; sleep 60",
    ];

    /// Boots a shell script in place of QEMU. It has `out LINE` and `con LINE` to write with.
    fn boot(name: &str, script: &str) -> Result<Sections> {
        with(name, script, |machine, cache, boot| {
            machine.boot(cache, boot, &Progress::silent())
        })
    }

    /// Does something with a machine that boots a script.
    fn with<T>(
        name: &str,
        script: &str,
        work: impl FnOnce(&Machine, &Cache, &Boot) -> Result<T>,
    ) -> Result<T> {
        let dir = std::env::temp_dir().join(format!("repmov-boot-{name}-{}", std::process::id()));
        let cache = Cache::open(Some(dir.clone())).unwrap();
        let qemu = dir.join("qemu");
        let head =
            "#!/bin/sh\nfor word in \"$@\"; do case $word in file:*.log) con=${word#file:} ;; \
                    file:*.out) out=${word#file:} ;; esac; done\n\
                    con() { echo \"$1\" >> $con; }; out() { echo \"$1\" >> $out; }\n";
        // Written in full and closed before it is run.
        fs::write(&qemu, format!("{head}{script}\n")).unwrap();
        fs::set_permissions(&qemu, fs::Permissions::from_mode(0o755)).unwrap();
        let machine = Machine {
            root: Root::machine(),
            qemu,
            accel: Accel::Tcg,
            cpus: 1,
            kernel: "kernel".into(),
            initrd: "initrd".into(),
            silence: Duration::from_secs(2),
            limit: Duration::from_secs(4),
        };
        let boot = Boot {
            name: "test".into(),
            append: Vec::new(),
            jobs: vec!["verify".into()],
        };
        let result = work(&machine, &cache, &boot);
        fs::remove_dir_all(dir).unwrap();
        result
    }

    fn fails(name: &str, script: &str, words: &str) {
        let message = format!("{:#}", boot(name, script).unwrap_err());
        assert!(message.contains(words), "{message}");
    }

    #[test]
    fn a_guest_that_is_done_is_not_waited_for() {
        let start = Instant::now();
        let sent = boot("good", &GOOD.join("\n")).unwrap();
        assert_eq!(sent.text("verify").unwrap(), "KTAP version 1\n");
        assert!(start.elapsed() < Duration::from_secs(2));
    }

    #[test]
    fn a_guest_may_die_at_any_line() {
        for lines in 0..GOOD.len() {
            let script = format!("con booting\n{}\nexit 1", GOOD[..lines].join("\n"));
            fails(
                &format!("dies-{lines}"),
                &script,
                "QEMU ended before the guest was done",
            );
        }
    }

    #[test]
    fn a_qemu_that_fails_is_not_the_guest_s_doing() {
        let watched = |end: &str| {
            let script = format!("{}\n{end}", GOOD[..3].join("\n"));
            with(
                &format!("host-{}", end.len()),
                &script,
                |machine, cache, boot| {
                    machine.watch(cache, boot, machine.silence, &Progress::silent())
                },
            )
        };
        for (end, words) in [
            ("kill -9 $$", "verify (killed by signal 9)"),
            ("exit 1", "verify (exit status: 1)"),
        ] {
            let error = watched(end).err().expect("a QEMU that failed");
            assert!(format!("{error:#}").contains(words), "{error:#}");
        }
        // A guest that is reset ends QEMU well, and is the caller's to judge.
        assert!(matches!(watched("exit 0").unwrap().end, End::Exit));
    }

    #[test]
    fn the_job_that_was_running_is_named() {
        fails(
            "during",
            &GOOD[..4].join("\n"),
            "before the guest was done during verify",
        );
    }

    #[test]
    fn a_crash_is_reported_with_its_trace() {
        let crash =
            "con '[1.0] BUG: unable to handle page fault'; sleep .2; con 'RIP: there'; sleep 9";
        fails(
            "crash",
            crash,
            "crashed: [1.0] BUG: unable to handle page fault",
        );
        fails("trace", crash, "RIP: there");
    }

    #[test]
    fn a_crash_behind_good_results_counts() {
        let script = format!("con 'kernel BUG at x'\n{}", GOOD.join("\n"));
        fails("late", &script, "crashed");
    }

    #[test]
    fn a_guest_that_says_nothing_hangs() {
        fails(
            "silent",
            "con booting\nsleep 60",
            "hangs: nothing from it for 2 s",
        );
    }

    #[test]
    fn a_kernel_that_hangs_early_gets_a_second_try_and_no_third() {
        let script = |tries: u32| {
            format!(
                "n=$(cat $con.tries 2> /dev/null || echo 0); echo $((n + 1)) > $con.tries\n\
                 con booting\n[ $n -lt {tries} ] && sleep 60\n{}",
                GOOD.join("\n")
            )
        };
        boot("second", &script(1)).unwrap();
        fails("third", &script(2), "hangs");
    }

    #[test]
    fn a_guest_that_never_ends_is_ended() {
        fails(
            "endless",
            "while :; do con again; sleep .2; done",
            "not done after 4 s",
        );
    }

    #[test]
    fn a_module_that_is_refused_is_told_apart() {
        let script =
            "out '=== begin insmod'\nout 'invalid module format'\nout '=== end insmod 1'\n\
                      out '=== done'";
        fails("refused", script, "the module does not load");
        fails("why", script, "invalid module format");
    }
}

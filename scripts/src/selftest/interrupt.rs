// SPDX-License-Identifier: GPL-2.0-only

//! The tool itself, ended at any time: by a key, by signals, and by one that it cannot catch. Nothing
//! that it started may run on, nobody may be kept waiting, and the next run must do what it is to do.

use anyhow::{bail, ensure, Context, Result};
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use nix::libc;
use nix::sys::signal::{kill, killpg, Signal};
use nix::sys::wait::{waitpid, WaitPidFlag};
use nix::unistd::Pid;
use std::fs::{self, File};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::lab::cache::Cache;
use crate::lab::Lab;
use crate::os::progress::Progress;
use crate::os::signals;
use crate::selftest::tally::Tally;

/// How long an ended tool and what it started may take to be gone, on a busy machine.
const GONE: Duration = Duration::from_secs(20);

/// How long a run may take that nobody ends.
const WHOLE: Duration = Duration::from_secs(3600);

/// The ways to end it; a key's signal goes to all in the terminal's foreground.
const ENDS: [(Signal, bool); 4] = [
    (Signal::SIGINT, true),
    (Signal::SIGKILL, false),
    (Signal::SIGTERM, false),
    (Signal::SIGHUP, false),
];

/// Commands, each with the seconds in which it is to be ended, and how it ends if it is not.
const CASES: [(&str, f32, i32); 8] = [
    ("setup", 0.012, 0),
    ("module", 1.6, 0),
    ("verify --patch scripts/bad/shorttail.patch", 6.0, 1),
    ("run", 6.0, 0),
    ("kunit --arch um", 4.0, 0),
    ("time --lab um --plan seed-4k --runs 1 --out OUT", 3.0, 0),
    ("report results/reference/aa.tsv -o OUT", 0.05, 0),
    ("readme --check", 0.3, 0),
];

/// The tool, and where it is tried.
struct ToolUnderTest<'a> {
    tool: PathBuf,
    cache: &'a Path,
    checkout: &'a Path,
    kdir: Option<&'a Path>,
}

/// Ends each command `points` times and counts what came of it. The cache is given back for the time
/// of it: it is another tool that uses it. If `whole`, each command then runs to its end.
pub fn check(
    cache: Cache,
    lab: &Lab,
    checkout: &Path,
    (points, whole): (u32, bool),
    tally: &Tally,
) {
    let dir = cache.dir().to_path_buf();
    drop(cache);
    let tried = ToolUnderTest {
        tool: std::env::current_exe().unwrap_or_default(),
        cache: &dir,
        checkout,
        kdir: lab.own.then_some(lab.build.as_path()),
    };
    let seen = tally.check("a process that is left is seen", tried.controls());
    if seen.is_none() {
        return;
    }
    tally.check("a full output is told", tried.full_output());
    let progress = Progress::start("the tool, ended early");
    let mut ways = ENDS.iter().cycle();
    for (words, seconds, status) in CASES {
        let name = words.split(' ').next().unwrap_or_default();
        if lab.own && words.contains(" um") {
            tally.skip(
                &format!("{name}, ended early"),
                "its kernel is built in the toolchain root, which KDIR does without",
            );
            continue;
        }
        let mut hits = 0;
        let mut all = || -> Result<()> {
            for (point, way) in (1..=points).zip(&mut ways) {
                let after = seconds * (point as f32 - 0.4) / points as f32;
                progress.say(&format!("{name}: {} after {after:.2} s", way.0));
                let hit = tried.end(words, Duration::from_secs_f32(after), *way);
                hits += u32::from(hit.with_context(|| format!("{} after {after:.2} s", way.0))?);
            }
            ensure!(hits > 0 || seconds < 1.0, "it was done each time");
            match whole {
                true => tried.ends_with(words, status),
                false => Ok(()),
            }
        };
        let result = all();
        tally.check(&format!("{name}, ended early: {hits} of {points}"), result);
    }
    let last = tried.ends_with(CASES[1].0, 0);
    progress.done();
    tally.check("the module builds after that", last);
}

impl ToolUnderTest<'_> {
    /// Starts the tool in a process group of its own.
    fn start(&self, words: &str) -> Result<Child> {
        let log = File::create(self.log()).context("cannot write the log")?;
        let out = self.cache.join("log/interrupted");
        let words = words.replace("OUT", &out.display().to_string());
        let mut tool = Command::new(&self.tool);
        tool.args(words.split(' ')).current_dir(self.checkout);
        tool.env("REPMOV_CACHE", self.cache).env_remove("KDIR");
        tool.envs(self.kdir.map(|kdir| ("KDIR", kdir)));
        tool.stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log);
        tool.process_group(0).spawn().context("the tool")
    }

    fn log(&self) -> PathBuf {
        self.cache.join("log/interrupted.log")
    }

    /// Starts the tool, ends it, and looks for what is left. False if it was done before.
    fn end(&self, words: &str, after: Duration, (signal, all): (Signal, bool)) -> Result<bool> {
        let mut tool = self.start(words)?;
        let guard = signals::guard(tool.id());
        std::thread::sleep(after);
        let early = tool.try_wait()?.is_none();
        let pid = Pid::from_raw(tool.id() as i32);
        if early {
            match all {
                true => killpg(pid, signal)?,
                false => kill(pid, signal)?,
            }
        }
        let status = wait(&mut tool, GONE);
        guard.kill();
        let status = status?;
        let number = signal as i32;
        let by_it = status.signal() == Some(number) || status.code() == Some(128 + number);
        let done = matches!(status.code(), Some(0 | 1));
        ensure!(
            by_it || done,
            "it ended otherwise: {status}, see {}",
            self.log().display()
        );
        self.nothing_is_left()?;
        Ok(by_it)
    }

    /// Fails unless the tool, left alone, ends with that status.
    fn ends_with(&self, words: &str, wanted: i32) -> Result<()> {
        let mut tool = self.start(words)?;
        let guard = signals::guard(tool.id());
        let status = wait(&mut tool, WHOLE);
        guard.kill();
        let status = status?;
        ensure!(
            status.code() == Some(wanted),
            "afterwards {words}: {status}, see {}",
            self.log().display()
        );
        self.nothing_is_left()
    }

    /// Fails unless the tool says that it cannot write what it is to print.
    fn full_output(&self) -> Result<()> {
        let mut tool = Command::new(&self.tool);
        tool.args(["table", "results/reference/aa.tsv"])
            .current_dir(self.checkout);
        let full = File::options().write(true).open("/dev/full")?;
        let ran = tool.stdout(full).output()?;
        let said = String::from_utf8_lossy(&ran.stderr);
        ensure!(
            ran.status.code() == Some(2) && said.starts_with("repmov: cannot write the output: "),
            "{}: {said}",
            ran.status
        );
        Ok(())
    }

    /// Waits until nothing runs that we or the tool started, and the lock is free.
    fn nothing_is_left(&self) -> Result<()> {
        let start = Instant::now();
        loop {
            let left = left();
            // Twice: one that changes its parent meanwhile may be missed.
            if left.is_empty() && self::left().is_empty() && self.is_free() {
                return Ok(());
            }
            ensure!(
                start.elapsed() < GONE,
                "still there after {} s: {}; the lock is {}",
                GONE.as_secs(),
                left.join(", "),
                if self.is_free() { "free" } else { "held" }
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Whether the lock can be taken, without waiting. It is given back.
    fn is_free(&self) -> bool {
        let file = File::open(self.cache.join("lock"));
        file.is_ok_and(|file| Flock::lock(file, NOW).is_ok())
    }

    /// Fails unless what is looked for is seen where it was put: a process whose parent is gone, and a
    /// lock that is held.
    fn controls(&self) -> Result<()> {
        adopt()?;
        self.nothing_is_left()?;
        let mut parent = Command::new("sh");
        parent.args(["-c", "sleep 60 &"]).process_group(0);
        let mut parent = parent.stdout(Stdio::null()).spawn()?;
        let guard = signals::guard(parent.id());
        parent.wait()?;
        let seen = left();
        guard.kill();
        ensure!(seen.len() == 1, "a process without parent: {seen:?}");
        self.nothing_is_left()?;
        let held = Flock::lock(File::open(self.cache.join("lock"))?, NOW);
        let held = held.map_err(|(_, e)| e)?;
        ensure!(!self.is_free(), "a lock that is held is taken for free");
        drop(held);
        self.nothing_is_left()
    }
}

const NOW: FlockArg = FlockArg::LockExclusiveNonblock;

/// Waits for a process that should end.
fn wait(child: &mut Child, limit: Duration) -> Result<ExitStatus> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if start.elapsed() > limit {
            child.kill()?;
            child.wait()?;
            bail!("it did not end within {} s", limit.as_secs());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Makes us the parent of every process below us whose own parent ends.
fn adopt() -> Result<()> {
    // SAFETY: a system call without pointers.
    let done = unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) };
    Errno::result(done).map(drop).context("prctl")
}

/// The processes below us. Those that have ended are forgotten.
fn left() -> Vec<String> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let stats = entries.filter_map(|entry| fs::read_to_string(entry.path().join("stat")).ok());
    // "PID (NAME) STATE PARENT ...", with anything in the name.
    let read = |stat: String| -> Option<(i32, String, i32)> {
        let (start, rest) = stat.rsplit_once(") ")?;
        let mut words = rest.split(' ');
        let (pid, name) = start.split_once(" (")?;
        let (pid, ended) = (pid.parse().ok()?, words.next() == Some("Z"));
        if ended {
            // Only of our own children there is something to forget.
            let _ = waitpid(Pid::from_raw(pid), Some(WaitPidFlag::WNOHANG));
            return None;
        }
        Some((pid, format!("{name} ({pid})"), words.next()?.parse().ok()?))
    };
    let all: Vec<_> = stats.filter_map(read).collect();
    let mut below = vec![std::process::id() as i32];
    let mut names = Vec::new();
    while let Some(parent) = below.pop() {
        for (pid, name, _) in all.iter().filter(|(_, _, of)| *of == parent) {
            below.push(*pid);
            names.push(name.clone());
        }
    }
    names
}

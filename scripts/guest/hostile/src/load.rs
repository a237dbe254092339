// SPDX-License-Identifier: GPL-2.0-only

//! Loading and unloading.

use std::io::Read;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use crate::files;
use crate::kernel::{self, number, EAGAIN, ENOENT, ENXIO, SIGKILL};
use crate::ktap::{beat, must, Outcome};

pub const MODULE: &str = "/repmov.ko";
pub const NAME: &str = "repmov";

/// As long as init may take to read a line, on a busy host.
const PASSING: Duration = Duration::from_secs(2);

fn load() -> Outcome<()> {
    kernel::load(MODULE, "").map_err(|e| format!("it does not load: {e}"))?;
    for (name, _) in files::FILES {
        must(files::path(name).exists(), || {
            format!("loaded, and no {name}")
        })?;
    }
    Ok(())
}

/// Unloads it. The guest's init has a file open for a moment every few seconds, to say how far it
/// is, and unloading is refused then; for longer nobody has.
pub fn unload() -> Outcome<()> {
    let start = Instant::now();
    while let Err(e) = kernel::unload(NAME) {
        let passing = e.raw_os_error() == Some(EAGAIN) && start.elapsed() < PASSING;
        must(passing, || format!("it does not unload: {e}"))?;
        thread::sleep(Duration::from_millis(10));
    }
    must(!files::path("").exists(), || {
        "unloaded, and files are left".into()
    })
}

/// An attempt to unload that must be refused, and change nothing.
fn is_refused(during: &str) -> Outcome<()> {
    let error = number(&kernel::unload(NAME));
    must(error == EAGAIN, || {
        format!("unloading during {during}: error {error}")
    })?;
    must(files::there(), || {
        format!("unloading during {during} took the files away")
    })
}

/// While a file is open, while the checks are read, and while a plan runs.
pub fn refused() -> Outcome<String> {
    for (name, readable) in files::FILES {
        let mut file = files::open(name, !readable).map_err(|e| format!("{name}: {e}"))?;
        is_refused(&format!("an open {name}"))?;
        // It still works.
        if ["instances", "plan", "status"].contains(&name) {
            let read = file.read(&mut [0; 64]);
            must(read.is_ok_and(|count| count > 0), || {
                format!("{name} broke")
            })?;
        }
    }
    files::put("verify", "depth=full")?;
    files::put("plan", files::LONG)?;
    let mut tries = 0;
    for (verb, name) in [("read", "verify"), ("write", "run")] {
        let mut child = files::spawn(verb, name)?;
        files::running()?;
        for _ in 0..50 {
            is_refused(name)?;
            tries += u64::from(files::text("status")?.starts_with("running "));
        }
        kernel::signal(&child, SIGKILL).map_err(|e| format!("kill: {e}"))?;
        child.wait().map_err(|e| format!("wait: {e}"))?;
    }
    must(tries >= 50, || {
        format!("only {tries} of 100 attempts were made while it ran")
    })?;
    unload()?;
    load()?;
    Ok(format!(
        "{} open files, {tries} attempts during runs",
        files::FILES.len()
    ))
}

/// Unloads and loads so many times; now and then it is used in between.
pub fn cycles(count: u64) -> Outcome<String> {
    for at in 0..count {
        beat("loads", at, count);
        unload()?;
        load()?;
        let status = files::text("status")?;
        must(status == "idle\n", || {
            format!("freshly loaded, status is {status}")
        })?;
        if at % 8 == 0 {
            files::run(files::TINY)?;
        }
    }
    Ok(format!("{count} cycles"))
}

/// The same while another thread opens and reads files all the time.
pub fn raced(count: u64) -> Outcome<String> {
    let over = AtomicBool::new(false);
    let open = || -> Outcome<(u64, u64)> {
        let (mut done, mut gone) = (0, 0);
        while !over.load(Relaxed) {
            for name in ["status", "plan", "instances"] {
                let read = files::read(name);
                match number(&read) {
                    0 => done += 1,
                    // Not there, or on its way out.
                    ENOENT | ENXIO => gone += 1,
                    error => return Err(format!("{name}: error {error}")),
                }
            }
        }
        Ok((done, gone))
    };
    thread::scope(|scope| {
        let opener = scope.spawn(open);
        let cycle = || -> Outcome<u64> {
            let mut refused = 0;
            for at in 0..count {
                beat("loads while files are opened", at, count);
                while let Err(e) = kernel::unload(NAME) {
                    let error = e.raw_os_error();
                    must(error == Some(EAGAIN), || format!("unloading: {e}"))?;
                    refused += 1;
                }
                kernel::load(MODULE, "").map_err(|e| format!("it does not load: {e}"))?;
            }
            Ok(refused)
        };
        let refused = cycle();
        over.store(true, Relaxed);
        let (done, gone) = opener
            .join()
            .map_err(|_| "a thread panicked".to_string())??;
        let refused = refused?;
        must(done > 0 && gone > 0, || {
            format!("no race: {done} opened, {gone} gone, {refused} refused")
        })?;
        Ok(format!(
            "{count} cycles, {refused} attempts refused; {done} files read, {gone} gone"
        ))
    })
}

// SPDX-License-Identifier: GPL-2.0-only

//! Processes that run something and are killed at any time.

use std::os::unix::process::ExitStatusExt;
use std::thread::sleep;
use std::time::Duration;

use crate::files;
use crate::kernel::{self, SIGINT, SIGKILL, SIGTERM};
use crate::ktap::{beat, must, Outcome};
use crate::rng::Rng;

/// So many; how many of them were killed while they ran something.
pub fn run(kills: u64, seed: u64) -> Outcome<String> {
    let mut rng = Rng::new(seed, "kills");
    let record = files::run(files::TINY)?;
    let mut during = [0u64; 2];
    files::put("verify", "depth=full")?;
    for at in 0..kills {
        beat("kills", at, kills);
        files::put("plan", files::LONG)?;
        let (verb, name) = [("write", "run"), ("read", "verify")][at as usize % 2];
        let mut child = files::spawn(verb, name)?;
        // Some at a time of their own, mostly before they come to it, and the others while they run.
        if !rng.once_in(4) {
            files::running()?;
        }
        sleep(Duration::from_micros(rng.below(60_000) as u64));
        let ran = files::text("status")?.starts_with("running ");
        let signal = [SIGKILL, SIGINT, SIGTERM][rng.below(3)];
        kernel::signal(&child, signal).map_err(|e| format!("kill: {e}"))?;
        let ended = child.wait().map_err(|e| format!("wait: {e}"))?;
        must(ended.signal() == Some(signal), || {
            format!("killed by {signal}, {name} ended with {ended}")
        })?;
        let status = files::text("status")?;
        must(status.starts_with("idle\n"), || {
            format!("its process is gone and {name} is {status}")
        })?;
        during[at as usize % 2] += u64::from(ran);
        if ran {
            must(
                status.contains(&format!("error: {name}: ended by a signal")),
                || format!("{name} was killed, and status is {status}"),
            )?;
        }
        must(files::text("timings")? == record, || {
            "a killed run has changed the record".into()
        })?;
    }
    must(
        during.iter().all(|&count| count >= kills / 8 && count > 0),
        || format!("only {during:?} of {kills} were killed while they ran"),
    )?;
    files::run(files::TINY)?;
    Ok(format!(
        "{kills} kills, {} of them during a run and {} during the checks",
        during[0], during[1]
    ))
}

// SPDX-License-Identifier: GPL-2.0-only

//! Mutants run natively, each in a process of its own (child.rs).

use anyhow::{bail, Context, Result};
use nix::sys::signal::Signal;
use std::collections::BTreeMap;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

use super::build::Shop;
use super::fate::{Fate, How, Kill, Stage};
use super::image::Image;
use super::mutant::Mutant;
use crate::lab::kbuild;
use crate::os::command::cannot_start;
use crate::os::parallel;
use crate::os::progress::Progress;
use crate::os::signals;
use crate::verify::attempt::MASKS;

/// A mutant whose text differs from its candidate's only under some masks is run under these.
pub fn run(shop: &Shop, all: &[(&Mutant, &Mutant)]) -> Result<Vec<Fate>> {
    let progress = Progress::start("mutants, natively");
    let mut wholes = BTreeMap::new();
    for (whole, _) in all.iter().filter(|(one, _)| one.is_whole()) {
        let codes = MASKS.iter().map(|mask| code(&shop.reference(whole, mask)));
        wholes.insert(whole.id(), codes.collect::<Result<Vec<_>>>()?);
    }
    let count = std::thread::available_parallelism().map_or(1, |n| n.get());
    let fates = parallel::each(count, all, |_, at, (one, whole)| {
        progress.say(&format!("{at} of {}", all.len()));
        let codes = wholes.get(&whole.id()).context("no candidate of it")?;
        fate(shop, one, codes).with_context(|| one.told())
    })?;
    progress.done();
    Ok(fates)
}

/// What comes of one, whose candidate has such code under each mask.
fn fate(shop: &Shop, one: &Mutant, whole: &[Vec<u8>]) -> Result<Fate> {
    let objects = MASKS.map(|mask| shop.reference(one, mask));
    if objects.iter().any(|object| !object.exists()) {
        return Ok(Fate::Refused);
    }
    let exe = std::env::current_exe().context("cannot find this program")?;
    let mut command = Command::new(exe);
    command.stdin(Stdio::null()).process_group(0);
    command.arg("mutant").arg(one.routine.name);
    command.arg(kbuild::out(shop.cache).join("asm/call.o"));
    let mut any = false;
    for ((mask, object), whole) in MASKS.iter().zip(&objects).zip(whole) {
        if one.is_whole() || code(object)? != *whole {
            let symbol = format!("repmov_{}_{}_{mask}_ref", one.routine.name, one.name);
            command.arg(mask).arg(object).arg(symbol);
            any = true;
        }
    }
    if !any {
        return Ok(Fate::Alive);
    }
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().map_err(|e| cannot_start(&command, e))?;
    let _guard = signals::guard(child.id());
    let ended = child.wait_with_output()?;
    let said = String::from_utf8_lossy(&ended.stdout);
    if !said.starts_with("loaded") {
        bail!("{}", String::from_utf8_lossy(&ended.stderr).trim());
    }
    Ok(judge(&said, ended.status))
}

/// The code of a reference, linked to the same place.
fn code(object: &Path) -> Result<Vec<u8>> {
    let image = Image::link(&[object], 1 << 32)?;
    Ok(image.bytes[..image.code].to_vec())
}

/// What a process that said this and ended so found.
fn judge(said: &str, status: ExitStatus) -> Fate {
    let last = said.lines().last().unwrap_or_default();
    if status.success() && last == "right" {
        return Fate::Alive;
    }
    let (head, found) = last.split_once(": ").unwrap_or((last, ""));
    let check = head.split(' ').next_back().unwrap_or_default().to_string();
    let (how, words) = match status.signal().map(Signal::try_from) {
        None => (How::Words, found.to_string()),
        Some(Ok(Signal::SIGPROF)) => (How::Hang, "it does not come back".into()),
        Some(Ok(signal)) => (How::Crash, format!("it ends by {signal}")),
        Some(Err(_)) => (How::Crash, "it ends by a signal".into()),
    };
    Fate::Killed(Kill {
        place: Stage::Process,
        how,
        check,
        words,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn killed(said: &str, status: i32) -> (String, String) {
        match judge(said, ExitStatus::from_raw(status)) {
            Fate::Killed(kill) => (kill.check, kill.words),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn only_one_that_says_so_at_the_end_is_right() {
        let right = "loaded\ne0f0 every_length\nright\n";
        assert_eq!(judge(right, ExitStatus::from_raw(0)), Fate::Alive);
        let pair = |check: &str, words: &str| (check.to_string(), words.to_string());
        let early = killed("loaded\ne0f0 every_length\n", 0);
        assert_eq!(early, pair("every_length", ""));
        let wrong = killed(
            "loaded\ne0f0 every_length\ne0f0 every_length: len 9\n",
            1 << 8,
        );
        assert_eq!(wrong, pair("every_length", "len 9"));
        let crash = killed("loaded\ne1f1 guard_pages\n", 11);
        assert_eq!(crash, pair("guard_pages", "it ends by SIGSEGV"));
        let hang = killed("loaded\ne1f1 guard_pages\n", 27);
        assert_eq!(hang, pair("guard_pages", "it does not come back"));
    }
}

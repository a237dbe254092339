// SPDX-License-Identifier: GPL-2.0-only

//! Every file read at once, whole and in pieces, while plans are written and run.

use std::io::{self, Read, Seek, SeekFrom};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use crate::files;
use crate::kernel::EBUSY;
use crate::ktap::{beat, must, Outcome};
use crate::rng::Rng;

/// Plans of different lengths, so that a text made of two would show.
const PLANS: [&str; 3] = [
    files::TINY,
    "routine=rep_movs_alternative candidate=movsq,orig mask=e1f0,e0f1 len=0-64/9 rounds=5",
    "routine=copy_user_enhanced_fast_string mask=e0f0 len=1,63 rounds=3 buffers=1M",
];

/// One check of one candidate, thinly: some milliseconds.
const CHECKS: &str = "depth=quick routine=memcpy candidate=orig mask=e0f0 check=return_value";

/// What was done of one kind: how often it worked, and how often something else was running.
#[derive(Default)]
struct Count {
    done: u64,
    busy: u64,
}

impl Count {
    /// Counts a result, which must be one or the other.
    fn add<T>(&mut self, what: &str, result: io::Result<T>) -> Outcome<Option<T>> {
        match result {
            Ok(value) => {
                self.done += 1;
                Ok(Some(value))
            }
            Err(e) if e.raw_os_error() == Some(EBUSY) => {
                self.busy += 1;
                Ok(None)
            }
            Err(e) => Err(format!("{what}: {e}")),
        }
    }
}

/// A file's whole text, then pieces of it, which must be the same bytes.
fn pieces(rng: &mut Rng, name: &str) -> io::Result<Result<Vec<u8>, String>> {
    let mut file = files::open(name, false)?;
    let mut whole = Vec::new();
    file.read_to_end(&mut whole)?;
    for _ in 0..4 {
        let at = rng.below(whole.len() + 10);
        let mut piece = vec![0; 1 + rng.below(5000)];
        file.seek(SeekFrom::Start(at as u64))?;
        let count = file.read(&mut piece)?;
        let there = &whole[at.min(whole.len())..];
        let there = &there[..there.len().min(piece.len())];
        if piece[..count] != *there {
            return Ok(Err(format!(
                "{name}: {count} bytes at {at} are others than before"
            )));
        }
    }
    Ok(Ok(whole))
}

/// Fails unless a file's text is one that it may have.
fn well_formed(name: &str, text: &str, instances: &str, plans: &[String]) -> Outcome<()> {
    let lines: Vec<&str> = text.lines().collect();
    let (first, last) = (lines.first().unwrap_or(&""), lines.last().unwrap_or(&""));
    let holds = match name {
        "instances" => text == instances,
        "plan" => plans.iter().any(|plan| plan == text),
        "timings" => {
            let rows = lines.iter().filter(|line| !line.starts_with('#')).count();
            *last == format!("# end: {} rows", rows.saturating_sub(1))
        }
        "verify" => {
            let results = lines.iter().filter(|line| line.starts_with("ok ")).count();
            *first == "KTAP version 1" && lines.get(1) == Some(&format!("1..{results}").as_str())
        }
        _ => {
            let numbers = first
                .strip_prefix("running ")
                .and_then(|n| n.split_once('/'));
            let running = numbers
                .is_some_and(|(done, of)| done.parse::<u64>().is_ok() && of.parse::<u64>().is_ok());
            (*first == "idle" || running) && text.ends_with('\n')
        }
    };
    must(holds && !text.contains("not ok"), || {
        format!("{name} reads as\n{text}")
    })
}

/// Reads and writes for so many seconds.
pub fn run(seconds: u64, seed: u64) -> Outcome<String> {
    let mut plans = Vec::new();
    for plan in PLANS {
        files::put("plan", plan)?;
        plans.push(files::text("plan")?);
    }
    files::run(files::TINY)?;
    files::put("verify", CHECKS)?;
    let instances = files::text("instances")?;
    let (over, start) = (AtomicBool::new(false), Instant::now());
    let worked = [const { AtomicBool::new(false) }; 16];
    let worked = &worked;
    let reader = |at: usize, name: &'static str| -> Outcome<(String, Count)> {
        let mut rng = Rng::new(seed, name);
        let mut count = Count::default();
        while !over.load(Relaxed) {
            let read = count.add(name, pieces(&mut rng, name))?;
            if let Some(bytes) = read {
                let text = String::from_utf8(bytes?).map_err(|e| format!("{name}: {e}"))?;
                well_formed(name, &text, &instances, &plans)?;
                worked[at].store(true, Relaxed);
            }
            sleep(Duration::from_micros(200 + rng.below(3000) as u64));
        }
        Ok((format!("{name} read"), count))
    };
    let writer = |at: usize, name: &'static str| -> Outcome<(String, Count)> {
        let mut rng = Rng::new(seed, &format!("{name} written"));
        let mut count = Count::default();
        while !over.load(Relaxed) {
            let words = match name {
                "plan" => rng.pick(&PLANS),
                "verify" => CHECKS,
                _ => "1",
            };
            let written = count.add(name, files::write(name, words.as_bytes()))?;
            worked[at].fetch_or(written.is_some(), Relaxed);
            sleep(Duration::from_micros(200 + rng.below(5000) as u64));
        }
        Ok((format!("{name} written"), count))
    };
    let counts: Outcome<Vec<_>> = thread::scope(|scope| {
        let mut threads = Vec::new();
        for (name, readable) in files::FILES {
            // Two of each: they share more than two different ones do.
            for _ in 0..if readable { 2 } else { 0 } {
                let at = threads.len();
                threads.push(scope.spawn(move || reader(at, name)));
            }
        }
        for name in ["plan", "run", "verify"] {
            let at = threads.len();
            threads.push(scope.spawn(move || writer(at, name)));
        }
        // Longer, if something has not yet had its turn: on a busy host that can take a while.
        let most = |at: usize| match worked[..at].iter().all(|one| one.load(Relaxed)) {
            true => seconds,
            false => seconds + 60,
        };
        while start.elapsed() < Duration::from_secs(most(threads.len()))
            && !threads.iter().any(thread::ScopedJoinHandle::is_finished)
        {
            sleep(Duration::from_millis(500));
            beat("readers", start.elapsed().as_secs(), seconds);
        }
        over.store(true, Relaxed);
        let ended = threads.into_iter().map(thread::ScopedJoinHandle::join);
        ended
            .map(|ended| ended.map_err(|_| "a thread panicked".to_string())?)
            .collect()
    });
    let mut words = Vec::new();
    let (mut busy, counts) = (0, counts?);
    for (name, count) in &counts {
        must(count.done > 0, || format!("{name}: never once"))?;
        busy += count.busy;
        words.push(format!("{name} {}", count.done));
    }
    must(busy > 0, || {
        "nothing was ever in the way of anything".into()
    })?;
    files::idle()?;
    Ok(format!("{}; EBUSY {busy}", words.join(", ")))
}

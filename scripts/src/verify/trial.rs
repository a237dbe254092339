// SPDX-License-Identifier: GPL-2.0-only

//! Trying candidates in guests until every check has its outcome, whatever the candidates do to the
//! kernel: a guest that breaks is ended, and another one goes on behind the check that broke it.

use anyhow::{bail, ensure, Context, Result};
use std::time::Duration;

use crate::guest::accel::Accel;
use crate::guest::boot::Boot;
use crate::guest::initramfs::{self, Contents};
use crate::guest::machine::Machine;
use crate::guest::mitigation::{ALIGNED, ITS};
use crate::guest::outcome::{End, Ended};
use crate::guest::protocol::crash;
use crate::lab::cache::Cache;
use crate::os::progress::Progress;
use crate::verify::attempt::{Attempt, Outcome};

/// A guest says something when a check begins, and emulated too the longest takes tenths of a second.
/// On a busy machine, where booting takes longer than this, it has as long as booting took.
const PATIENCE: Duration = Duration::from_secs(3);

/// A kernel that boots says something all the time. One that does not is booted once more.
const BOOTING: Duration = Duration::from_secs(10);

/// The kernel in one state.
pub struct Trial<'a> {
    pub cache: &'a Cache,
    /// Part of the names of its files.
    pub name: String,
    /// A candidate that a check has rejected goes through no other one.
    pub once: bool,
    pub machine: Machine,
    /// ITS is forced, or off.
    pub its: bool,
    pub contents: Contents<'a>,
}

impl Trial<'_> {
    /// The outcomes of all checks, those first that run nothing.
    pub fn run(mut self, mut attempts: Vec<Attempt>, progress: &Progress) -> Result<Vec<Attempt>> {
        attempts.sort_by_key(Attempt::runs);
        self.machine.silence = self.machine.silence.min(BOOTING);
        self.machine.initrd = self.cache.path(&format!("{}.cpio", self.name));
        let job = if self.once { "checks-once" } else { "checks" };
        loop {
            let open = attempts.iter().filter(|attempt| attempt.outcome.is_none());
            let words: Vec<_> = open.map(Attempt::words).collect();
            if words.is_empty() {
                return Ok(attempts);
            }
            let contents = Contents {
                plans: &(words.join("\n") + "\n"),
                ..self.contents
            };
            initramfs::write(&self.machine.initrd, &contents)?;
            let boot = Boot {
                name: self.name.clone(),
                append: self.append(),
                jobs: vec!["its".into(), job.into()],
            };
            let ended = self.machine.watch(self.cache, &boot, PATIENCE, progress)?;
            self.is_as_asked(&ended)?;
            let before = words.len();
            take(&mut attempts, &ended);
            forbid(&mut attempts, self.once);
            let after = attempts
                .iter()
                .filter(|attempt| attempt.outcome.is_none())
                .count();
            if after == before {
                ended.result()?;
                bail!("the guest did no check, and does not say why");
            }
        }
    }

    /// Boot options. A kernel that is broken goes no further, and one that is not says little: each
    /// line takes an emulated one a while.
    fn append(&self) -> Vec<String> {
        let its = match self.its {
            true => ITS,
            false => "indirect_target_selection=off",
        };
        vec![its.into(), "oops=panic".into(), "loglevel=5".into()]
    }

    /// Fails unless the module was loaded, and the mitigation is as it was asked for.
    fn is_as_asked(&self, ended: &Ended) -> Result<()> {
        if ended.sections.all.iter().any(|one| one.name == "insmod") {
            let loaded = ended.sections.text("insmod");
            loaded.with_context(|| {
                format!("the module does not load: see {}", ended.log.display())
            })?;
        }
        let Some(section) = ended.sections.all.iter().find(|one| one.name == "its") else {
            return Ok(());
        };
        let state = section.text.trim();
        let off = self.machine.accel == Accel::Kvm || state == "Not affected";
        ensure!(
            if self.its { state == ALIGNED } else { off },
            "the kernel says of ITS: \"{state}\", not as asked for"
        );
        Ok(())
    }
}

/// Takes from a boot what came of the checks that had no outcome before it.
fn take(attempts: &mut [Attempt], ended: &Ended) {
    let mut open: Vec<&mut Attempt> = attempts
        .iter_mut()
        .filter(|one| one.outcome.is_none())
        .collect();
    for section in &ended.sections.all {
        let number = number(&section.name);
        if let Some(attempt) = number.and_then(|number| open.get_mut(number - 1)) {
            let outcome = Outcome::read(attempt.check, &section.text, section.status);
            attempt.outcome = Some(outcome);
        }
    }
    if matches!(ended.end, End::Done) {
        return;
    }
    let Some(last) = last(ended) else {
        return;
    };
    let Some(attempt) = open.get_mut(last - 1) else {
        return;
    };
    attempt.outcome = Some(broken(ended));
    let broke = attempt.clone();
    let rest = open
        .iter_mut()
        .filter(|one| one.outcome.is_none() && broke.runs() && one.runs());
    for one in rest.filter(|one| one.same(&broke) && one.mask == broke.mask) {
        one.outcome = Some(Outcome::Untried(format!("after {}", broke.check)));
    }
}

/// Marks what the guest did not try for what it had found.
fn forbid(attempts: &mut [Attempt], once: bool) {
    let bad = |attempt: &&Attempt| attempt.outcome.as_ref().is_some_and(|one| !one.good());
    let causes: Vec<Attempt> = attempts.iter().filter(bad).cloned().collect();
    for attempt in attempts
        .iter_mut()
        .filter(|attempt| attempt.outcome.is_none())
    {
        let forbids = |cause: &&Attempt| cause.forbids(attempt) || (once && cause.same(attempt));
        if let Some(cause) = causes.iter().find(forbids) {
            attempt.outcome = Some(Outcome::Untried(format!("after {}", cause.check)));
        }
    }
}

/// The check that was begun last: said on the console, which is written at once, and in what the
/// guest sends, which may be late.
fn last(ended: &Ended) -> Option<usize> {
    let mark = |line: &str| {
        let (_, rest) = line.split_once("repmov: check-")?;
        rest.split(':').next()?.parse().ok()
    };
    let said = ended.console.lines().filter_map(mark).max();
    let open = ended.sections.open.as_deref().and_then(number);
    said.max(open)
}

/// Of "check-7".
fn number(name: &str) -> Option<usize> {
    name.strip_prefix("check-")?
        .parse()
        .ok()
        .filter(|number| *number > 0)
}

/// A boot that was not done, in words.
fn broken(ended: &Ended) -> Outcome {
    if let Some((line, excerpt)) = crash(&ended.console) {
        let at = excerpt.lines().find_map(|line| line.split_once("RIP: "));
        let at = at.map_or(String::new(), |(_, place)| format!(", at {}", place.trim()));
        return Outcome::Crash(format!("{}{at}", without_time(&line)), excerpt);
    }
    match ended.end {
        End::Silence(time) => Outcome::Hang(format!(
            "it does not come back: nothing from the guest for {} s",
            time.as_secs()
        )),
        End::Limit(time) => Outcome::Hang(format!("not done after {} s", time.as_secs())),
        _ => Outcome::Crash(
            "the guest's CPU was reset, as by a fault that its handlers fault on".into(),
            crate::guest::protocol::tail(&ended.console),
        ),
    }
}

/// Of "[    3.141592][  T123] words" the words.
fn without_time(line: &str) -> &str {
    let mut rest = line.trim();
    while let Some((_, words)) = rest.strip_prefix('[').and_then(|text| text.split_once(']')) {
        rest = words.trim();
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guest::protocol::Sections;
    use crate::patch::routine::Routine;

    fn attempts() -> Vec<Attempt> {
        Attempt::all(Routine::named("memcpy").unwrap(), "patch")
    }

    fn ended(sent: &str, console: &str, end: End) -> Ended {
        Ended::of(Sections::read(sent), console, end)
    }

    fn done(number: usize, check: &str) -> String {
        format!("=== begin check-{number}\n    ok 1 {check}\n=== end check-{number} 0\n")
    }

    #[test]
    fn outcomes_go_to_their_checks() {
        let mut attempts = attempts();
        let sent = done(1, "patched_text") + &done(2, "returns") + "=== done\n";
        take(&mut attempts, &ended(&sent, "", End::Done));
        assert_eq!(attempts[0].outcome, Some(Outcome::Right));
        assert!(attempts[1].outcome.is_some() && attempts[2].outcome.is_none());
        // In the next boot they are counted from there.
        take(
            &mut attempts,
            &ended(&done(1, "patched_text"), "", End::Done),
        );
        assert_eq!(attempts[2].outcome, Some(Outcome::Right));
    }

    #[test]
    fn a_crash_is_of_the_check_that_was_begun_last() {
        let mut attempts = attempts();
        let console = "[1.0] repmov: check-9: x\n[1.5] BUG: unable to handle page fault\n\
                       [1.5] RIP: 0010:repmov_memcpy_patch_e0f0_0+0x5/0x80\n";
        // The output of the one before was lost.
        take(&mut attempts, &ended("", console, End::Exit));
        let Some(Outcome::Crash(words, _)) = &attempts[8].outcome else {
            panic!("{:?}", attempts[8]);
        };
        assert!(words.starts_with("BUG: unable to handle page fault, at 0010:repmov_memcpy"));
        assert!(attempts[7].outcome.is_none());
        let untried = |attempt: &&Attempt| matches!(attempt.outcome, Some(Outcome::Untried(_)));
        let untried: Vec<_> = attempts.iter().filter(untried).collect();
        assert_eq!(untried.len(), 4);
        assert!(untried
            .iter()
            .all(|attempt| attempt.mask == "e0f0" && attempt.runs()));
    }

    #[test]
    fn silence_and_a_reset_have_their_words() {
        let mut attempts = attempts();
        let silence = End::Silence(Duration::from_secs(5));
        take(&mut attempts, &ended("=== begin check-9\n", "", silence));
        assert!(matches!(attempts[8].outcome, Some(Outcome::Hang(_))));
        take(&mut attempts, &ended("=== begin check-9\n", "", End::Exit));
        let crashed = |attempt: &&Attempt| matches!(attempt.outcome, Some(Outcome::Crash(..)));
        let crashed = attempts.iter().find(crashed).unwrap();
        assert_eq!(
            (crashed.mask, crashed.check),
            ("e0f1", "calling_convention")
        );
    }

    #[test]
    fn what_would_only_break_the_kernel_is_not_tried() {
        let mut attempts = attempts();
        let sent = "=== begin check-9\n    not ok 1 calling_convention\n=== end check-9 0\n";
        take(&mut attempts, &ended(sent, "", End::Done));
        forbid(&mut attempts, false);
        let untried = |attempt: &&Attempt| matches!(attempt.outcome, Some(Outcome::Untried(_)));
        assert_eq!(attempts.iter().filter(untried).count(), 4);
    }

    #[test]
    fn a_candidate_is_rejected_once() {
        let mut attempts = attempts();
        attempts.extend(Attempt::all(Routine::named("memcpy").unwrap(), "other"));
        let sent = "=== begin check-1\n    not ok 1 patched_text\n=== end check-1 0\n";
        take(&mut attempts, &ended(sent, "", End::Done));
        forbid(&mut attempts, true);
        let open = attempts
            .iter()
            .filter(|attempt| attempt.outcome.is_none())
            .count();
        assert_eq!(open, 28);
    }

    #[test]
    fn a_guest_that_dies_anywhere_is_right_in_no_check_that_was_not_done() {
        let checks = attempts();
        let sent: String = (1..=3)
            .map(|number| done(number, checks[number - 1].check))
            .collect();
        for cut in 0..sent.len() {
            let mut attempts = attempts();
            take(&mut attempts, &ended(&sent[..cut], "", End::Exit));
            let right = |attempt: &&Attempt| attempt.outcome == Some(Outcome::Right);
            let (right, ends) = (
                attempts.iter().filter(right).count(),
                sent[..cut].matches(" 0\n").count(),
            );
            assert_eq!(right, ends, "cut at {cut}: {:?}", &attempts[..3]);
        }
    }

    #[test]
    fn a_boot_without_a_check_changes_nothing() {
        let mut attempts = attempts();
        take(&mut attempts, &ended("=== begin insmod\n", "", End::Exit));
        assert!(attempts.iter().all(|attempt| attempt.outcome.is_none()));
    }
}

// SPDX-License-Identifier: GPL-2.0-only

//! The state behind the files: the plan, the last record, and what is going on.

use core::fmt;

use kernel::{
    new_mutex,
    prelude::*,
    sync::{
        atomic::{
            Acquire,
            Atomic,
            Relaxed,
            Release, //
        },
        Arc,
        Mutex,
        UniqueArc, //
    },
};

use crate::{
    instance::Built,
    pure::{
        plan::Plan,
        refusal::{
            Class,
            Refusal, //
        },
    },
    run,
    text::{
        line,
        Text, //
    },
    verify,
    wanted::{
        self,
        Wanted, //
    },
};

/// A plan of more bytes than this is refused before it is read.
pub(crate) const PLAN_MAX: usize = 4096;

/// Everything that outlives one use of a file.
#[pin_data]
pub(crate) struct Bench {
    #[pin]
    kept: Mutex<Kept>,
    /// Whether a plan or the checks run.
    busy: Atomic<bool>,
    /// Steps done and to do of what runs.
    done: Atomic<usize>,
    total: Atomic<usize>,
}

struct Kept {
    /// None: the default plan.
    plan: Option<Arc<Plan>>,
    record: Option<Text>,
    /// What went wrong last, in words.
    error: Option<Text>,
    wanted: Wanted,
}

/// Held by whoever runs something; there is one.
struct Busy<'a>(&'a Bench);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.busy.store(false, Release);
    }
}

fn errno(class: Class) -> Error {
    match class {
        Class::Invalid => EINVAL,
        Class::Range => ERANGE,
        Class::TooBig => E2BIG,
    }
}

impl Bench {
    pub(crate) fn new() -> impl PinInit<Bench> {
        pin_init!(Bench {
            kept <- new_mutex!(Kept {
                plan: None,
                record: None,
                error: None,
                wanted: Wanted::ALL,
            }),
            busy: Atomic::new(false),
            done: Atomic::new(0),
            total: Atomic::new(0),
        })
    }

    /// Notes an error for `status` and hands it on.
    fn fail(&self, error: Error, words: fmt::Arguments<'_>) -> Error {
        let mut text = Text::new();
        // Without memory for the words the number must do.
        if text.print(words).is_ok() {
            self.kept.lock().error = Some(text);
        }
        error
    }

    fn start(&self) -> Result<Busy<'_>> {
        if self.busy.cmpxchg(false, true, Acquire).is_err() {
            // Not noted: it is the other run's status that matters now.
            return Err(EBUSY);
        }
        self.done.store(0, Relaxed);
        self.total.store(0, Relaxed);
        Ok(Busy(self))
    }

    fn progress(&self, done: usize, total: usize) {
        self.done.store(done, Relaxed);
        self.total.store(total, Relaxed);
    }

    /// The plan in force.
    fn plan(&self) -> Result<Arc<Plan>> {
        if let Some(plan) = &self.kept.lock().plan {
            return Ok(plan.clone());
        }
        read_plan(Plan::DEFAULT)?.map_err(|_| ENOENT)
    }

    /// Reads a plan whole and keeps it, or refuses it whole.
    pub(crate) fn set_plan(&self, words: &[u8]) -> Result {
        if words.len() > PLAN_MAX {
            return Err(self.fail(E2BIG, format_args!("plan: more than {PLAN_MAX} bytes")));
        }
        let Ok(words) = core::str::from_utf8(words) else {
            return Err(self.fail(EINVAL, format_args!("plan: not UTF-8")));
        };
        match read_plan(words)? {
            Ok(plan) => {
                let mut kept = self.kept.lock();
                kept.plan = Some(plan);
                kept.error = None;
                Ok(())
            }
            Err(refusal) => Err(self.fail(errno(refusal.class), format_args!("plan: {refusal}"))),
        }
    }

    /// Runs the plan in force; returns when it is done.
    pub(crate) fn run(&self) -> Result {
        let busy = self.start()?;
        let plan = self.plan()?;
        let mut record = Text::new();
        match run::run(&plan, &mut record, |done, total| self.progress(done, total)) {
            Ok(()) => {
                let mut kept = self.kept.lock();
                kept.record = Some(record);
                kept.error = None;
                drop(kept);
                drop(busy);
                Ok(())
            }
            Err(error) => Err(self.fail(error, format_args!("run: {}", words(error)))),
        }
    }

    /// The last record; the default plan is run for it if there is none yet.
    pub(crate) fn record(&self) -> Result<Text> {
        loop {
            if self.busy.load(Relaxed) {
                return Err(EBUSY);
            }
            if let Some(record) = &self.kept.lock().record {
                return record.duplicate();
            }
            self.run()?;
        }
    }

    /// The checks' results as KTAP.
    pub(crate) fn verify(&self) -> Result<Text> {
        let _busy = self.start()?;
        let wanted = self.kept.lock().wanted;
        let mut out = Text::new();
        verify::run(&wanted, &mut out, |done, total| self.progress(done, total))
            .map_err(|error| self.fail(error, format_args!("verify: {}", words(error))))?;
        Ok(out)
    }

    /// Chooses what the next checks are to be of.
    pub(crate) fn set_wanted(&self, words: &[u8]) -> Result {
        let Some(wanted) = Wanted::read(words) else {
            return Err(self.fail(EINVAL, format_args!("{}", wanted::REFUSED)));
        };
        self.kept.lock().wanted = wanted;
        Ok(())
    }

    /// The plan in force, as words that can be written back.
    pub(crate) fn plan_text(&self) -> Result<Text> {
        let mut out = Text::new();
        line!(out, "{}", &*self.plan()?)?;
        Ok(out)
    }

    /// What goes on, and the last error.
    pub(crate) fn status(&self) -> Result<Text> {
        let mut out = Text::new();
        if self.busy.load(Relaxed) {
            let (done, total) = (self.done.load(Relaxed), self.total.load(Relaxed));
            line!(out, "running {done}/{total}")?;
        } else {
            line!(out, "idle")?;
        }
        if let Some(error) = &self.kept.lock().error {
            let error = core::str::from_utf8(error.as_bytes()).unwrap_or("?");
            line!(out, "error: {error}")?;
        }
        Ok(out)
    }
}

/// Reads a plan on the heap.
fn read_plan(words: &str) -> Result<core::result::Result<Arc<Plan>, Refusal>> {
    let mut plan = UniqueArc::new(Plan::EMPTY, GFP_KERNEL)?;
    Ok(plan.read(words, &Built).map(|()| plan.into()))
}

/// The errors of a run in words.
fn words(error: Error) -> &'static str {
    match error {
        e if e == EINTR => "ended by a signal",
        e if e == ENOMEM => "not enough memory",
        e if e == ENXIO => "the CPU went offline",
        e if e == EIO => "no clock is fine enough: the kernel found no frequency for the TSC",
        e if e == ENODATA => "no suite or check is as the words say",
        e if e == ENOENT => "the plan matches no instance",
        e if e == ESRCH => "mem=user needs a process, and this thread has no memory of one",
        e if e == EPROTO => "a copy went through that was to fault",
        e if e == EFAULT => "a buffer lacks its guard pages",
        _ => "failed",
    }
}

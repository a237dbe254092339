// SPDX-License-Identifier: GPL-2.0-only

//! Running a plan: windows, rounds, and the record they leave.
//!
//! A window is a number of calls of one cell between two readings of the clock, on one CPU with
//! interrupts off. The number is chosen once per cell, so that the window is long against the
//! clock's resolution and short against what interrupts can wait. Rounds go over all cells in
//! turn, forwards and backwards by turns, so that drift and order hit all alike.

use kernel::{
    current,
    error::to_result,
    interrupt::local_interrupt_disable,
    prelude::*, //
};

use crate::{
    arena::{
        self,
        Arena, //
    },
    call,
    cell::{
        self,
        Cell,
        What, //
    },
    clock::Clock,
    counters::Counters,
    machine,
    pure::{
        choice::{
            Choice,
            Draw,
            Mem, //
        },
        copies::Routine,
        plan::Plan,
        record::{
            self,
            Row, //
        },
        stats::Summary,
    },
    text::{
        line,
        Text, //
    },
};

/// Interrupts are off for no longer than this, in nanoseconds.
const WINDOW_MAX: u64 = 100_000;
/// A window is meant to last this long, in nanoseconds: well below the limit, since a window
/// may turn out longer than the one the number of calls was found with.
const WINDOW: u64 = 20_000;
/// And at least so many times the clock's resolution.
const STEPS: u64 = 50;
/// The parts of a window, a power of two, and the calls that each must have at least.
const PARTS: u64 = 8;
const PART: u64 = 16;
/// The worker gives way after so much, in nanoseconds.
const SLICE: u64 = 10_000_000;

/// What a run works on.
struct Run<'a> {
    plan: &'a Plan,
    clock: Clock,
    cells: KVVec<Cell>,
    /// Samples in picoseconds per call, cell by cell.
    samples: KVVec<i64>,
    rounds: usize,
    /// Of a window: one only, where the clock is too coarse for shorter ones.
    parts: u64,
    arena: Arena,
    /// The address space whose user memory the arena has.
    mm: *mut kernel::bindings::mm_struct,
    /// A copy that was to fault did not.
    went_through: bool,
    /// Where the CPU has them. Read in a last round of their own.
    counters: Option<Counters>,
}

/// One window: which round, which cell.
#[derive(Clone, Copy)]
struct Window {
    round: usize,
    at: usize,
}

/// A seed for lengths that train a predictor before a window: never one of a round's.
const TRAINING: u64 = 1 << 32;

impl Run<'_> {
    fn new(plan: &Plan, cpu: u32) -> Result<Run<'_>> {
        let cells = cell::cells(plan)?;
        let rounds = plan.rounds as usize;
        let arena = Arena::new(plan)?;
        let mm = match plan.is_user() {
            // SAFETY: The task is this one; its address space stays while the run goes on.
            true => unsafe { (*kernel::task::Task::current_raw()).mm },
            false => core::ptr::null_mut(),
        };
        let clock = Clock::new()?;
        let fine = clock.ticks(WINDOW) >= PARTS * STEPS * clock.resolution();
        Ok(Run {
            plan,
            parts: if fine { PARTS } else { 1 },
            clock,
            samples: KVVec::from_elem(0, cells.len() * rounds, GFP_KERNEL)?,
            cells,
            rounds,
            arena,
            mm,
            went_through: false,
            counters: Counters::new(cpu),
        })
    }

    /// Ticks that so many calls of a cell take, less what reading the clock takes.
    fn time(&mut self, at: usize, calls: u64, round: usize, quiet: bool) -> u64 {
        let clock = self.clock;
        let took = |before: u64, after: u64| (after - before).saturating_sub(clock.reading());
        let mut ticks = 0;
        self.window(
            at,
            calls,
            round,
            quiet,
            || clock.now(),
            |a, b| ticks += took(a, b),
        );
        ticks
    }

    /// Calls a cell between two readings of some meter. Interrupts are off if `quiet`, but not while
    /// memory and predictors are made ready.
    fn window<T>(
        &mut self,
        at: usize,
        calls: u64,
        round: usize,
        quiet: bool,
        meter: impl Fn() -> T,
        mut took: impl FnMut(T, T),
    ) {
        let cell = &self.cells[at];
        let routine = match cell.what {
            What::Timed(timed) => timed.instance.address(),
            What::Empty => call::empty(),
            What::Chain => call::chain().0,
        };
        let seed = round as u64;
        let mut ring = self.arena.ring(self.plan, &cell.place, seed | TRAINING);
        // SAFETY: The arena made the calls for this place, where both sides are long enough, or
        // fault if the routine is one that mends that. Places of user memory come with its `mm`,
        // which the worker has taken on.
        let run = |ring: &[_], calls| unsafe { call::repeatedly(routine, ring, calls) };
        run(ring, calls.min(ring.len() as u64));
        if self.plan.draw == Draw::Random {
            ring = self.arena.ring(self.plan, &cell.place, seed);
        }
        if cell.timed().is_some() {
            arena::flush(&cell.place, ring);
        }
        // A loop that is entered in another state may take a cycle more in each iteration to its
        // end. So a window of many calls is made of parts, each entered anew.
        let parts = match ring.len() {
            1 if calls >= PARTS * PART => self.parts,
            _ => 1,
        };
        for part in 0..parts {
            if parts > 1 {
                run(ring, PART);
            }
            let end = |part: u64| (calls * part) >> parts.ilog2();
            let calls = end(part + 1) - end(part);
            let off = quiet.then(local_interrupt_disable);
            let before = meter();
            run(ring, calls);
            let after = meter();
            drop(off);
            took(before, after);
        }
    }

    /// Cycles and instructions of a cell, in thousandths per call: what twice as many calls count
    /// more, so that what counting takes is not among them. The least of some tries: interrupts,
    /// which must be on, only add.
    fn count(&mut self, at: usize) {
        if self.cells[at].timed().is_none() {
            return;
        }
        let Some(counters) = self.counters.take() else {
            return;
        };
        let once = (self.cells[at].calls / 2).max(1);
        // Both are to be read equally often.
        let parts = core::mem::replace(&mut self.parts, 1);
        let least = |run: &mut Self, calls: u64| {
            let mut least = [u64::MAX; 2];
            for _ in 0..5 {
                let mut sum = [0; 2];
                run.window(
                    at,
                    calls,
                    0,
                    false,
                    || counters.read(),
                    |a, b| {
                        sum = [sum[0] + b[0] - a[0], sum[1] + b[1] - a[1]];
                    },
                );
                least = [least[0].min(sum[0]), least[1].min(sum[1])];
            }
            least
        };
        let (some, twice) = (least(self, once), least(self, 2 * once));
        let per_call = |of: usize| {
            let more = twice[of].saturating_sub(some[of]).saturating_mul(1000);
            more.checked_div(once).unwrap_or(0) as i64
        };
        self.cells[at].counts = Some([per_call(0), per_call(1)]);
        self.parts = parts;
        self.counters = Some(counters);
    }

    /// Makes sure that the copies of a cell fault where they are to, if they are: a time without
    /// its fault would be no cost of a fix-up.
    fn must_fault(&mut self, at: usize) {
        let cell = &self.cells[at];
        let (Some(timed), Some(byte)) = (cell.timed(), cell.place.fault) else {
            return;
        };
        let call = self.arena.ring(self.plan, &cell.place, 0)[0];
        // SAFETY: As in `window`.
        let left = unsafe {
            timed
                .instance
                .copy(call.dst.cast(), call.src.cast(), call.len)
        };
        self.went_through |= left < call.len - byte;
    }

    /// Finds how many calls of a cell make a window.
    fn calibrate(&mut self, at: usize) {
        self.must_fault(at);
        let most = self.clock.ticks(WINDOW_MAX) / 2;
        let meant = self
            .clock
            .ticks(WINDOW)
            .max(STEPS * self.clock.resolution())
            .min(most);
        let limit = self.arena.most_calls(self.plan, &self.cells[at]);
        let limit = limit.unwrap_or(u64::MAX);
        // With interrupts on first: nobody knows yet how long a call takes. The least of some
        // counts, since an interrupt only makes it longer.
        let least = |run: &mut Self, calls| {
            let times = (0..3).map(|_| run.time(at, calls, 0, false));
            times.min().unwrap_or(0)
        };
        let mut calls = 1;
        let mut ticks = least(self, calls);
        while ticks < meant / 2 && calls < limit {
            calls = (2 * calls).min(limit);
            ticks = least(self, calls);
        }
        let cell = &mut self.cells[at];
        // A fault of user memory may sleep.
        cell.irqs_on = calls == 1 && ticks > most || cell.place.mem != Mem::Kernel;
        let calls = (calls * meant).checked_div(ticks).unwrap_or(calls);
        cell.calls = calls.clamp(1, limit);
    }

    /// Measures from one window on until the slice is over; the next one.
    fn slice(&mut self, from: Window) -> Window {
        let start = self.clock.now();
        let slice = self.clock.ticks(SLICE);
        let Window { mut round, mut at } = from;
        while round < self.last_round() && self.clock.now() - start < slice {
            let cell = match round & 1 {
                0 => at,
                _ => self.cells.len() - 1 - at,
            };
            if self.cells[cell].calls == 0 {
                self.calibrate(cell);
            }
            if round == self.rounds {
                self.count(cell);
                (round, at) = self.next(round, at);
                continue;
            }
            let (calls, quiet) = (self.cells[cell].calls, !self.cells[cell].irqs_on);
            let ticks = self.time(cell, calls, round, quiet);
            let ps = self.clock.per_call(ticks, calls);
            self.samples[cell * self.rounds + round] = ps as i64;
            (round, at) = self.next(round, at);
        }
        Window { round, at }
    }

    /// The window after this one.
    fn next(&self, round: usize, at: usize) -> (usize, usize) {
        match at + 1 == self.cells.len() {
            true => (round + 1, 0),
            false => (round, at + 1),
        }
    }

    /// Where the rounds end, with that of the counters.
    fn last_round(&self) -> usize {
        self.rounds + usize::from(self.counters.is_some())
    }

    /// What a cell's samples say, and the samples themselves as text. To be asked for once.
    fn summary(&mut self, at: usize, text: &mut Text) -> Result<Summary> {
        let samples = &mut self.samples[at * self.rounds..(at + 1) * self.rounds];
        text.clear();
        text.print(format_args!("{}", record::Samples(samples)))?;
        Summary::of(samples).ok_or(EINVAL)
    }

    fn print(&mut self, cpu: u32, out: &mut Text) -> Result {
        line!(out, "{}", record::VERSION)?;
        machine::print(out, &self.clock)?;
        line!(out, "# pinned to cpu: {cpu}")?;
        let named = |cell: &&Cell| cell.timed().is_some_and(|t| t.candidate == record::TWIN);
        if let Some(twin) = self.cells.iter().find(named).and_then(Cell::timed) {
            let (twin, of) = (record::TWIN, twin.instance.candidate());
            line!(out, "# aa: {twin} is {of}, assembled a second time")?;
        }
        line!(out, "# plan: {}", self.plan)?;
        let mut samples = Text::new();
        let mut empties = KVVec::new();
        let empty = |cell: &Cell| matches!(cell.what, What::Empty);
        for at in 0..self.cells.iter().filter(|&cell| empty(cell)).count() {
            let summary = self.summary(at, &mut samples)?;
            line!(
                out,
                "# empty call: {}: min {} ns, median {} ns, of {} calls per window",
                self.cells[at].place.cache.word(),
                record::Ns(summary.min),
                record::Ns(summary.median),
                self.cells[at].calls
            )?;
            empties.push(summary, GFP_KERNEL)?;
        }
        self.print_clock(empties.len(), out)?;
        let (counts, said) = match self.counters {
            Some(_) => (
                record::COUNTS,
                "cycles and instructions of the kernel, by perf",
            ),
            None => ("", "none"),
        };
        line!(out, "# counters: {said}")?;
        line!(out, "{}{counts}", record::COLUMNS)?;
        let first = empties.len() + 1;
        for at in first..self.cells.len() {
            let summary = self.summary(at, &mut samples)?;
            let empty = &empties[self.cells[at].empty];
            self.row(at, &summary, empty, &samples, out)?;
        }
        line!(out, "{}", record::End((self.cells.len() - first) as u64))
    }

    /// The core's clock in each round, by the chain.
    fn print_clock(&mut self, chain: usize, out: &mut Text) -> Result {
        let (_, cycles) = call::chain();
        let samples = &mut self.samples[chain * self.rounds..(chain + 1) * self.rounds];
        for sample in samples.iter_mut() {
            // Picoseconds of so many cycles to MHz.
            let mhz = (cycles * 1_000_000).checked_div(*sample as u64);
            *sample = mhz.unwrap_or(0) as i64;
        }
        let clock = Summary::of(samples).ok_or(EINVAL)?;
        line!(
            out,
            "# core clock: {} MHz, deviating by {}, by a chain of additions",
            clock.median,
            clock.mad
        )
    }

    fn row(
        &mut self,
        at: usize,
        summary: &Summary,
        empty: &Summary,
        samples: &Text,
        out: &mut Text,
    ) -> Result {
        let cell = &self.cells[at];
        let (dst, src) = self.arena.offsets(&cell.place);
        let Some(timed) = cell.timed() else {
            return Ok(());
        };
        let row = Row {
            routine: timed.instance.routine(),
            candidate: timed.candidate,
            mask: timed.mask,
            entry: timed.instance.entry() as u64,
            len: cell.place.len as u64,
            src: src as u64,
            dst: dst as u64,
            mem: cell.place.mem.word(),
            cache: cell.place.cache.word(),
            fault: cell.place.fault.map(|byte| byte as u64),
            draw: self.plan.draw.word(),
            irqs_on: cell.irqs_on,
            calls: cell.calls,
            rounds: self.rounds as u64,
            min: summary.min,
            median: summary.median,
            mad: summary.mad,
            net_min: summary.min - empty.min,
            net_median: summary.median - empty.median,
            samples: core::str::from_utf8(samples.as_bytes()).map_err(|_| EINVAL)?,
            counts: cell.counts,
        };
        line!(out, "{row}")
    }
}

/// What the worker on the chosen CPU gets.
struct Slice<'a, 'b> {
    run: &'a mut Run<'b>,
    next: Window,
}

/// Runs in a worker bound to one CPU.
///
/// # Safety
///
/// `slice` must point to a [`Slice`] that nobody else uses meanwhile.
unsafe extern "C" fn work(slice: *mut c_void) -> c_int {
    // SAFETY: As the caller promises.
    let slice = unsafe { &mut *slice.cast::<Slice<'_, '_>>() };
    let mm = slice.run.mm;
    if !mm.is_null() {
        // SAFETY: A kernel thread without an address space of its own. The one it takes on is that
        // of the thread which waits for this one.
        unsafe { kernel::bindings::kthread_use_mm(mm) };
    }
    slice.next = slice.run.slice(slice.next);
    if !mm.is_null() {
        // SAFETY: Taken on above.
        unsafe { kernel::bindings::kthread_unuse_mm(mm) };
    }
    0
}

/// Runs a plan and writes its record.
///
/// # Errors
///
/// [`EINTR`] if a signal ended it, [`ENOMEM`], [`ENXIO`] if the CPU went away, [`EIO`] if no
/// clock moves, [`ESRCH`] if there is no process whose memory could be used,
/// [`EPROTO`] if a copy went through that was to fault.
pub(crate) fn run(plan: &Plan, out: &mut Text, progress: impl Fn(usize, usize)) -> Result {
    let cpu = match plan.cpu {
        Some(cpu) => cpu as u32,
        // SAFETY: Takes nothing. Any CPU will do; this one is as good as the next.
        None => unsafe { kernel::bindings::raw_smp_processor_id() as u32 },
    };
    let mut run = Run::new(plan, cpu)?;
    let (cells, rounds) = (run.cells.len(), run.last_round());
    let mut next = Window { round: 0, at: 0 };
    while next.round < rounds {
        progress(next.round * cells + next.at, rounds * cells);
        if current!().signal_pending() {
            return Err(EINTR);
        }
        let mut slice = Slice {
            run: &mut run,
            next,
        };
        // SAFETY: `work` gets the slice for as long as this call lasts, and alone.
        to_result(unsafe {
            kernel::bindings::smp_call_on_cpu(cpu, Some(work), (&raw mut slice).cast(), false)
        })?;
        next = slice.next;
        if run.went_through {
            return Err(EPROTO);
        }
    }
    run.print(cpu, out)
}

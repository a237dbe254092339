// SPDX-License-Identifier: GPL-2.0-only

//! Running a plan: windows, rounds, and the record they leave.
//!
//! A window is a number of calls of one cell between two readings of the clock, on one CPU with
//! interrupts off. The number is chosen once per cell, so that the window is long against the
//! clock's resolution and short against what interrupts can wait. Rounds go over all cells in
//! turn, the empty function first, so that drift hits all alike.

use kernel::{
    current,
    error::to_result,
    interrupt::local_interrupt_disable,
    page::PAGE_SIZE,
    prelude::*, //
};

use crate::{
    call,
    clock::Clock,
    instance::{
        self,
        Built,
        Instance, //
    },
    machine,
    pure::{
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
/// The worker gives way after so much, in nanoseconds.
const SLICE: u64 = 10_000_000;

/// An instance at one length and one pair of offsets.
struct Cell {
    /// None: the empty function.
    instance: Option<Instance>,
    len: usize,
    src: usize,
    dst: usize,
    calls: u64,
    irqs_on: bool,
}

/// What a run works on.
struct Run {
    clock: Clock,
    cells: KVVec<Cell>,
    /// Samples in picoseconds per call, cell by cell.
    samples: KVVec<u64>,
    rounds: usize,
    src: VVec<u8>,
    dst: VVec<u8>,
}

/// One window: which round, which cell.
#[derive(Clone, Copy)]
struct Window {
    round: usize,
    at: usize,
}

fn buffer(len: usize, fill: u8) -> Result<VVec<u8>> {
    Ok(VVec::from_elem(
        fill,
        len.next_multiple_of(PAGE_SIZE),
        GFP_KERNEL,
    )?)
}

impl Run {
    fn new(plan: &Plan) -> Result<Run> {
        let mut cells = KVVec::new();
        cells.push(
            Cell {
                instance: None,
                len: 0,
                src: 0,
                dst: 0,
                calls: 0,
                irqs_on: false,
            },
            GFP_KERNEL,
        )?;
        let takes =
            |i: &Instance| plan.takes(i.routine(), i.candidate(), i.mask(), i.entry() as u64);
        for instance in instance::candidates().filter(takes) {
            for len in plan.len.iter() {
                for src in plan.src.iter() {
                    for dst in plan.dst.iter() {
                        let cell = Cell {
                            instance: Some(instance),
                            len: len as usize,
                            src: src as usize,
                            dst: dst as usize,
                            calls: 0,
                            irqs_on: false,
                        };
                        cells.push(cell, GFP_KERNEL)?;
                    }
                }
            }
        }
        let rounds = plan.rounds as usize;
        let size = plan.buffer() as usize;
        Ok(Run {
            clock: Clock::new()?,
            samples: KVVec::from_elem(0, cells.len() * rounds, GFP_KERNEL)?,
            cells,
            rounds,
            src: buffer(size, 0x5a)?,
            dst: buffer(size, 0xa5)?,
        })
    }

    /// Ticks that so many calls of a cell take.
    fn time(&mut self, at: usize, calls: u64) -> u64 {
        let cell = &self.cells[at];
        let routine = cell.instance.map_or(call::empty(), Instance::address);
        let src = self.src[cell.src..cell.src + cell.len].as_ptr();
        let dst = self.dst[cell.dst..cell.dst + cell.len].as_mut_ptr();
        let len = cell.len;
        // SAFETY: The slices were bounds-checked and are of different buffers; the routine is an
        // instance or the empty function.
        let run = |calls| unsafe { call::repeatedly(routine, dst, src, len, calls) };
        run(1);
        let start = self.clock.now();
        run(calls);
        self.clock.now() - start
    }

    /// The same with interrupts off unless the cell's calls are too long for that.
    fn window(&mut self, at: usize) -> u64 {
        let (calls, irqs_on) = (self.cells[at].calls, self.cells[at].irqs_on);
        if irqs_on {
            return self.time(at, calls);
        }
        let _off = local_interrupt_disable();
        self.time(at, calls)
    }

    /// Finds how many calls of a cell make a window.
    fn calibrate(&mut self, at: usize) {
        let most = self.clock.ticks(WINDOW_MAX) / 2;
        let meant = self
            .clock
            .ticks(WINDOW)
            .max(STEPS * self.clock.resolution())
            .min(most);
        // With interrupts on first: nobody knows yet how long a call takes. The least of some
        // counts, since an interrupt only makes it longer.
        let least = |run: &mut Run, calls| (0..3).map(|_| run.time(at, calls)).min().unwrap_or(0);
        let mut calls = 1;
        let mut ticks = least(self, calls);
        while ticks < meant / 2 {
            calls *= 2;
            ticks = least(self, calls);
        }
        self.cells[at].irqs_on = calls == 1 && ticks > most;
        self.cells[at].calls = (calls * meant).checked_div(ticks).unwrap_or(calls).max(1);
    }

    /// Measures from one window on until the slice is over; the next one.
    fn slice(&mut self, from: Window) -> Window {
        let start = self.clock.now();
        let slice = self.clock.ticks(SLICE);
        let Window { mut round, mut at } = from;
        while round < self.rounds && self.clock.now() - start < slice {
            if self.cells[at].calls == 0 {
                self.calibrate(at);
            }
            let ticks = self.window(at);
            let ps = self.clock.per_call(ticks, self.cells[at].calls);
            self.samples[at * self.rounds + round] = ps;
            at += 1;
            if at == self.cells.len() {
                at = 0;
                round += 1;
            }
        }
        Window { round, at }
    }

    fn summary(&mut self, at: usize) -> Result<Summary> {
        let samples = at * self.rounds..(at + 1) * self.rounds;
        Summary::of(&mut self.samples[samples]).ok_or(EINVAL)
    }

    fn print(&mut self, plan: &Plan, cpu: u32, out: &mut Text) -> Result {
        line!(out, "{}", record::VERSION)?;
        machine::print(out, &self.clock)?;
        line!(out, "# pinned to cpu: {cpu}")?;
        line!(out, "# plan: {plan}")?;
        let empty = self.summary(0)?;
        line!(
            out,
            "# empty call: min {} ns, median {} ns, of {} calls per window",
            record::Ns(empty.min as i64),
            record::Ns(empty.median as i64),
            self.cells[0].calls
        )?;
        line!(out, "{}", record::COLUMNS)?;
        for at in 1..self.cells.len() {
            let summary = self.summary(at)?;
            let cell = &self.cells[at];
            let Some(instance) = cell.instance else {
                continue;
            };
            let row = Row {
                routine: instance.routine(),
                candidate: instance.candidate(),
                mask: instance.mask().name(),
                entry: instance.entry() as u64,
                len: cell.len as u64,
                src: cell.src as u64,
                dst: cell.dst as u64,
                irqs_on: cell.irqs_on,
                calls: cell.calls,
                rounds: self.rounds as u64,
                min: summary.min as i64,
                median: summary.median as i64,
                mad: summary.mad as i64,
                net_min: summary.min as i64 - empty.min as i64,
                net_median: summary.median as i64 - empty.median as i64,
            };
            line!(out, "{row}")?;
        }
        Ok(())
    }
}

/// What the worker on the chosen CPU gets.
struct Slice<'a> {
    run: &'a mut Run,
    next: Window,
}

/// Runs in a worker bound to one CPU.
///
/// # Safety
///
/// `slice` must point to a [`Slice`] that nobody else uses meanwhile.
unsafe extern "C" fn work(slice: *mut c_void) -> c_int {
    // SAFETY: As the caller promises.
    let slice = unsafe { &mut *slice.cast::<Slice<'_>>() };
    slice.next = slice.run.slice(slice.next);
    0
}

/// Runs a plan and writes its record.
///
/// # Errors
///
/// [`EINTR`] if a signal ended it, [`ENOMEM`], [`ENXIO`] if the CPU went away, [`EIO`] if the
/// clock does not move.
pub(crate) fn run(plan: &Plan, out: &mut Text, progress: impl Fn(usize, usize)) -> Result {
    if plan.cells(&Built) == 0 {
        return Err(ENOENT);
    }
    let cpu = match plan.cpu {
        Some(cpu) => cpu as u32,
        // SAFETY: Takes nothing. Any CPU will do; this one is as good as the next.
        None => unsafe { kernel::bindings::raw_smp_processor_id() as u32 },
    };
    let mut run = Run::new(plan)?;
    let (cells, rounds) = (run.cells.len(), run.rounds);
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
    }
    run.print(plan, cpu, out)
}

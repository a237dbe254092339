// SPDX-License-Identifier: GPL-2.0-only

//! The clock that windows are timed with.

use core::fmt;

use kernel::prelude::*;

/// What is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    /// The time-stamp counter, at the frequency the kernel found for it.
    Tsc,
    /// The same, at the frequency that it was seen to have against the kernel's clock.
    MeasuredTsc,
    /// The kernel's monotonic clock.
    Ktime,
}

/// A clock, with what is known of it.
#[derive(Clone, Copy)]
pub(crate) struct Clock {
    source: Source,
    /// Ticks per second.
    hz: u64,
    /// By what the clock moves: all differences between readings are multiples of it, in ticks.
    step: u64,
    /// The least difference between two readings, i.e. what a reading takes, in ticks.
    reading: u64,
}

/// Readings from which step and cost are taken.
const READINGS: usize = 2000;

/// How long the TSC is measured, in nanoseconds: two readings that are wrong by 50 ns each are an
/// error of 5 in a million.
const MEASURED: u64 = 20_000_000;

/// The TSC's frequency in kHz, 0 if the kernel has none.
fn tsc_khz() -> u64 {
    #[cfg(not(CONFIG_UML))]
    {
        // SAFETY: Written once, at boot.
        u64::from(unsafe { kernel::bindings::tsc_khz })
    }
    #[cfg(CONFIG_UML)]
    {
        0
    }
}

/// Reads the TSC after all that came before it, and before all that comes after it.
#[inline(always)]
fn rdtsc() -> u64 {
    let (low, high): (u64, u64);
    // SAFETY: Reads a counter. The memory clobber keeps the timed code where it is.
    unsafe {
        core::arch::asm!("lfence", "rdtsc", "lfence", out("rax") low, out("rdx") high,
            options(nostack));
    }
    high << 32 | low
}

/// The kernel's clock, in nanoseconds.
fn ktime() -> u64 {
    // SAFETY: Takes nothing.
    unsafe { kernel::bindings::ktime_get() as u64 }
}

/// Whether the CPU says that its TSC runs at one rate for ever.
fn has_invariant_tsc() -> bool {
    use core::arch::x86_64::__cpuid;

    // SAFETY: Every x86-64 CPU has the instruction.
    unsafe { __cpuid(0x8000_0000).eax >= 0x8000_0007 && __cpuid(0x8000_0007).edx >> 8 & 1 != 0 }
}

/// Both clocks at one time. Of some tries, the one that took least: nothing came between.
fn both_clocks() -> (u64, u64) {
    let (mut best, mut least) = ((0, 0), u64::MAX);
    for _ in 0..20 {
        let before = rdtsc();
        let ns = ktime();
        let took = rdtsc() - before;
        if took < least {
            (best, least) = ((before + took / 2, ns), took);
        }
    }
    best
}

/// The TSC's frequency by the kernel's clock, over [`MEASURED`] nanoseconds.
fn measured_hz() -> u64 {
    let (first_tick, first_ns) = both_clocks();
    while ktime() - first_ns < MEASURED {
        core::hint::spin_loop();
    }
    let (tick, ns) = both_clocks();
    divide(u128::from(tick - first_tick) * 1_000_000_000, ns - first_ns)
}

impl Clock {
    /// The TSC if its frequency is known to the kernel, or can be measured and does not change;
    /// the kernel's clock otherwise.
    pub(crate) fn new() -> Result<Clock> {
        let (source, hz) = match (tsc_khz(), has_invariant_tsc()) {
            (0, true) => (Source::MeasuredTsc, measured_hz()),
            (0, false) => (Source::Ktime, 1_000_000_000),
            (khz, _) => (Source::Tsc, khz * 1000),
        };
        let mut clock = Clock {
            source,
            hz,
            step: 0,
            reading: u64::MAX,
        };
        let mut last = clock.now();
        for _ in 0..READINGS {
            let now = clock.now();
            if now > last {
                clock.reading = clock.reading.min(now - last);
                clock.step = common_divisor(clock.step, now - last);
            }
            last = now;
        }
        // A clock that does not move measures nothing.
        if clock.step == 0 || clock.hz == 0 {
            return Err(EIO);
        }
        Ok(clock)
    }

    /// A reading, in ticks.
    #[inline(always)]
    pub(crate) fn now(&self) -> u64 {
        match self.source {
            Source::Tsc | Source::MeasuredTsc => rdtsc(),
            Source::Ktime => ktime(),
        }
    }

    /// Ticks as picoseconds.
    pub(crate) fn picoseconds(&self, ticks: u64) -> u64 {
        let ps = u128::from(ticks) * 1_000_000_000_000;
        divide(ps, self.hz)
    }

    /// Picoseconds per call, of so many calls in so many ticks.
    pub(crate) fn per_call(&self, ticks: u64, calls: u64) -> u64 {
        let ps = u128::from(ticks) * 1_000_000_000_000;
        divide(ps, self.hz.saturating_mul(calls))
    }

    /// Nanoseconds as ticks.
    pub(crate) fn ticks(&self, ns: u64) -> u64 {
        divide(u128::from(ns) * u128::from(self.hz), 1_000_000_000)
    }

    /// What a reading takes, in ticks.
    pub(crate) fn reading(&self) -> u64 {
        self.reading
    }

    /// The shortest time that is told from none, in ticks: the larger of step and reading.
    pub(crate) fn resolution(&self) -> u64 {
        self.step.max(self.reading)
    }
}

fn common_divisor(mut a: u64, mut b: u64) -> u64 {
    while let Some(rest) = a.checked_rem(b) {
        (a, b) = (b, rest);
    }
    a
}

/// 128 by 64 bits, for which kernels have no library function; saturates.
fn divide(value: u128, by: u64) -> u64 {
    let mut quotient: u64 = 0;
    let mut rest: u128 = 0;
    for bit in (0..128).rev() {
        rest = rest << 1 | (value >> bit & 1);
        if rest >= u128::from(by) {
            rest -= u128::from(by);
            if bit >= 64 {
                return u64::MAX;
            }
            quotient |= 1 << bit;
        }
    }
    quotient
}

impl fmt::Display for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.source {
            Source::Tsc => write!(f, "tsc, {} kHz", self.hz / 1000)?,
            Source::MeasuredTsc => write!(f, "tsc, {} kHz as measured with ktime", self.hz / 1000)?,
            Source::Ktime => f.write_str("ktime, ns")?,
        }
        write!(
            f,
            ", moves by {} ps, a reading takes {} ps",
            self.picoseconds(self.step),
            self.picoseconds(self.reading)
        )
    }
}

// SPDX-License-Identifier: GPL-2.0-only

//! What a plan takes: cells, time, memory.

use super::choice::Draw;
use super::plan::{
    Known,
    Plan, //
};
use super::refusal::{
    refuse,
    Class,
    Refusal,
    Why, //
};

/// The most cells (instance, length, offsets) of a plan.
pub const MAX_CELLS: u64 = 100_000;
/// The most time a plan may be expected to take, in seconds.
pub const MAX_SECONDS: u64 = 600;
/// The calls that one window of `draw=random` makes at most, each of a length of its own.
pub const DRAWN: u64 = 2048;

impl Plan {
    /// Refuses what is too much.
    pub(super) fn fits(&self, known: &impl Known) -> Result<(), Refusal> {
        let cells = self.cells(known);
        if cells > MAX_CELLS {
            return refuse(Class::TooBig, "", Why::Cells(cells));
        }
        let seconds = self.seconds(cells);
        if seconds > MAX_SECONDS {
            return refuse(Class::TooBig, "", Why::Seconds(seconds));
        }
        let need = self.memory(cells);
        if need > self.buffers {
            return refuse(Class::TooBig, "", Why::Buffers(need, self.buffers));
        }
        Ok(())
    }

    /// How many instances the plan takes: those asked for, and the pair that shows what the bench
    /// can tell apart.
    fn instances(&self, known: &impl Known) -> u64 {
        let named = self.named();
        let candidates = match named.len() as u64 {
            0 => known.candidates(self.routine()),
            count
                if named
                    .iter()
                    .any(|n| known.is_base(self.routine(), n.as_str())) =>
            {
                count
            }
            count => count + 1,
        };
        (candidates + 1)
            .saturating_mul(self.masks.count())
            .saturating_mul(self.entries.count())
    }

    /// How many places each instance is measured at.
    fn places(&self) -> u64 {
        let lengths = match self.draw {
            Draw::Each => self.len.count(),
            Draw::Random => 1,
        };
        lengths
            .saturating_mul(self.src.count())
            .saturating_mul(self.dst.count())
            .saturating_mul(self.mem.count())
            .saturating_mul(self.cache.count())
            .saturating_mul(self.fault.count().max(1))
    }

    /// How many cells there are to measure; saturates.
    pub fn cells(&self, known: &impl Known) -> u64 {
        self.instances(known).saturating_mul(self.places())
    }

    /// A cautious guess of the time: the windows of all rounds, and what one byte per nanosecond
    /// takes where a single call exceeds the window. Exact only about what is far too long.
    fn seconds(&self, cells: u64) -> u64 {
        let per_window_us = 30 + self.len.max() / 1000;
        cells
            .saturating_mul(self.rounds)
            .saturating_mul(per_window_us)
            / 1_000_000
    }

    /// Bytes of both copy buffers, of the cells with their samples, and of the record.
    pub fn memory(&self, cells: u64) -> u64 {
        /// A cell and its row, about.
        const CELL: u64 = 320;
        /// A sample, as a number and as text.
        const SAMPLE: u64 = 20;
        /// One call of a window.
        const CALL: u64 = 32;

        let each = self.rounds.saturating_mul(SAMPLE).saturating_add(CELL);
        (2 * self.buffer() + DRAWN * CALL).saturating_add(cells.saturating_mul(each))
    }

    /// Bytes from one place of a copy to the next: the longest at the greatest offset, in whole
    /// pages.
    pub fn stride(&self) -> u64 {
        (self.len.max() + self.src.max().max(self.dst.max()))
            .div_ceil(4096)
            .max(1)
            * 4096
    }

    /// Bytes of one copy buffer.
    pub fn buffer(&self) -> u64 {
        let slots = self.cache.iter().map(|cache| cache.slots(self.stride()));
        self.stride() * slots.max().unwrap_or(1)
    }
}

#[cfg(test)]
mod tests {
    use super::super::plan::tests::{
        parse,
        refused,
        Bench, //
    };
    use super::*;

    #[test]
    fn the_pair_is_timed_whoever_is_asked_for() {
        let cells = |text: &str| parse(text).unwrap().cells(&Bench(true));
        assert_eq!(cells("candidate=erms512 mask=e0f0 len=8"), 3);
        assert_eq!(cells("candidate=orig mask=e0f0 len=8"), 2);
        assert_eq!(cells("candidate=orig mask=e0f0 len=0-99 draw=random"), 2);
        let user =
            "routine=rep_movs_alternative candidate=orig mask=e0f0 len=64 mem=user fault=0,8";
        assert_eq!(cells(user), 2 * 2 * 2);
    }

    #[test]
    fn plans_too_big() {
        let (class, message) = refused("len=0-4095 src=0-4095 dst=0-4095");
        assert_eq!(class, Class::TooBig);
        assert!(message.contains("cells are more than"), "{message}");
        let (class, message) = refused("len=16M");
        assert_eq!(class, Class::TooBig);
        assert!(message.contains("say buffers="), "{message}");
        assert!(parse("len=16M buffers=40M mask=e0f0 candidate=orig").is_ok());
        let (class, message) = refused("len=0-4000 rounds=1001 buffers=48M");
        assert_eq!(class, Class::TooBig);
        assert!(message.contains("would take about"), "{message}");
    }
}

// SPDX-License-Identifier: GPL-2.0-only

//! Plans: what to time, as `key=value` words.
//!
//! | word | values | default |
//! |---|---|---|
//! | `routine` | a routine's name | `memcpy` |
//! | `candidate` | names, or `all` | `all` |
//! | `mask` | `e0f0 e0f1 e1f0 e1f1 native`, or `all` | `all` |
//! | `entry` | entry offsets modulo 64, of those built | `0` |
//! | `len` | bytes, 0 to 16 MiB | the default table's |
//! | `src`, `dst` | offsets from a page boundary, 0 to 4095 | `0` |
//! | `rounds` | 3 to 1001 | `15` |
//! | `cpu` | an online CPU | the one that runs the write |
//! | `buffers` | the most memory the plan may take, 64K to 48M | `8M` |
//!
//! Lists are joined by commas; numbers may be ranges (see [`ranges`](super::ranges)).

use core::fmt;

use super::mask::Mask;
use super::ranges::{
    self,
    Ranges, //
};
use super::refusal::{
    refuse,
    Class,
    Name,
    Refusal,
    Why, //
};

/// The longest length, in bytes.
pub const MAX_LEN: u64 = 16 << 20;
/// The most cells (instance, length, offsets) of a plan.
pub const MAX_CELLS: u64 = 100_000;
/// The most time a plan may be expected to take, in seconds.
pub const MAX_SECONDS: u64 = 600;
/// What the default plan asks for: the lengths people ask about first.
pub const DEFAULT_LENGTHS: &str = "0,1,8,16,31,32,64,128,256,512,1024,2048,4096";

const MAX_NAMES: usize = 12;
const MAX_OFFSET: u64 = 4095;
const BUFFERS: (u64, u64, u64) = (64 << 10, 8 << 20, 48 << 20);
const ROUNDS: (u64, u64, u64) = (3, 15, 1001);

/// A plan that has been read and found sound in itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    routine: Name,
    candidates: [Name; MAX_NAMES],
    /// How many of them; none given means all there are.
    named: usize,
    masks: [bool; Mask::ALL.len()],
    entries: Ranges,
    /// Lengths in bytes.
    pub len: Ranges,
    /// Source offsets from a page boundary.
    pub src: Ranges,
    /// Destination offsets from a page boundary.
    pub dst: Ranges,
    /// How often each cell is measured.
    pub rounds: u64,
    /// Where to run; none: wherever the plan is started.
    pub cpu: Option<u64>,
    /// The most memory to take, in bytes.
    pub buffers: u64,
}

/// What a plan may name: the instances that were built.
pub trait Known {
    /// Whether there is such a routine.
    fn routine(&self, name: &str) -> bool;
    /// Whether the routine has such a candidate.
    fn candidate(&self, routine: &str, name: &str) -> bool;
    /// Whether the routine was built at that entry offset.
    fn entry(&self, routine: &str, entry: u64) -> bool;
    /// How many candidates the routine has.
    fn candidates(&self, routine: &str) -> u64;
    /// Whether the CPU is online.
    fn cpu(&self, cpu: u64) -> bool;
}

fn list(into: &mut Ranges, key: &str, value: &str, most: u64) -> Result<(), Refusal> {
    if let Err(error) = into.read(value) {
        return refuse(Class::Invalid, key, Why::List(error));
    }
    if into.max() > most {
        return refuse(Class::Range, key, Why::Between(0, most));
    }
    Ok(())
}

fn single(key: &str, value: &str, least: u64, most: u64) -> Result<u64, Refusal> {
    if value.contains([',', '-', '/']) {
        return refuse(Class::Invalid, key, Why::Single);
    }
    match ranges::number(value).map(u64::from) {
        Ok(number) if (least..=most).contains(&number) => Ok(number),
        Ok(_) => refuse(Class::Range, key, Why::Between(least, most)),
        Err(error) => refuse(Class::Invalid, key, Why::List(error)),
    }
}

/// The words there are.
pub(super) const KEYS: [&str; 10] = [
    "routine",
    "candidate",
    "mask",
    "entry",
    "len",
    "src",
    "dst",
    "rounds",
    "cpu",
    "buffers",
];

impl Plan {
    /// A plan for nothing, to be read into.
    pub const EMPTY: Plan = Plan {
        routine: Name::EMPTY,
        candidates: [Name::EMPTY; MAX_NAMES],
        named: 0,
        masks: [false; Mask::ALL.len()],
        entries: Ranges::EMPTY,
        len: Ranges::EMPTY,
        src: Ranges::EMPTY,
        dst: Ranges::EMPTY,
        rounds: ROUNDS.1,
        cpu: None,
        buffers: BUFFERS.1,
    };

    /// The words of the plan that is run if none was written.
    pub const DEFAULT: &'static str = "routine=memcpy";

    /// Reads a plan whole, in the place of what was there. (In place, since a plan is too long to
    /// be handed around on a kernel's stack.)
    ///
    /// # Errors
    ///
    /// The first [`Refusal`]; what is there then is no plan.
    pub fn read(&mut self, text: &str, known: &impl Known) -> Result<(), Refusal> {
        let mut values: [Option<&str>; KEYS.len()] = [None; KEYS.len()];
        for word in text.split_ascii_whitespace() {
            let Some((key, value)) = word.split_once('=') else {
                return refuse(Class::Invalid, word, Why::NoValue);
            };
            let Some(at) = KEYS.into_iter().position(|known| known == key) else {
                return refuse(Class::Invalid, key, Why::Unknown);
            };
            if values[at].replace(value).is_some() {
                return refuse(Class::Invalid, key, Why::Twice);
            }
            if value.is_empty() {
                return refuse(Class::Invalid, key, Why::List(ranges::Error::Empty));
            }
        }
        if values.iter().all(Option::is_none) {
            return refuse(Class::Invalid, "", Why::Empty);
        }
        let [routine, candidate, mask, entry, len, src, dst, rounds, cpu, buffers] = values;

        let routine = routine.unwrap_or("memcpy");
        let Some(name) = Name::new(routine).filter(|_| known.routine(routine)) else {
            return refuse(Class::Invalid, routine, Why::NoSuch);
        };
        self.routine = name;
        list(&mut self.entries, "entry", entry.unwrap_or("0"), 63)?;
        if self.entries.iter().any(|e| !known.entry(routine, e)) {
            return refuse(Class::Invalid, "entry", Why::NotBuilt);
        }
        self.name(candidate.unwrap_or("all"), known)?;
        self.masks = masks(mask.unwrap_or("all"))?;
        list(
            &mut self.len,
            "len",
            len.unwrap_or(DEFAULT_LENGTHS),
            MAX_LEN,
        )?;
        list(&mut self.src, "src", src.unwrap_or("0"), MAX_OFFSET)?;
        list(&mut self.dst, "dst", dst.unwrap_or("0"), MAX_OFFSET)?;
        self.rounds = match rounds {
            Some(value) => single("rounds", value, ROUNDS.0, ROUNDS.2)?,
            None => ROUNDS.1,
        };
        self.cpu = match cpu {
            Some(value) => {
                let cpu = single("cpu", value, 0, 8191)?;
                if !known.cpu(cpu) {
                    return refuse(Class::Range, "cpu", Why::Offline(cpu));
                }
                Some(cpu)
            }
            None => None,
        };
        self.buffers = match buffers {
            Some(value) => single("buffers", value, BUFFERS.0, BUFFERS.2)?,
            None => BUFFERS.1,
        };
        self.fits(known)
    }

    /// Takes the candidates' names.
    fn name(&mut self, value: &str, known: &impl Known) -> Result<(), Refusal> {
        self.named = 0;
        if value == "all" {
            return Ok(());
        }
        for word in value.split(',') {
            if word.is_empty() {
                return refuse(Class::Invalid, "candidate", Why::List(ranges::Error::Empty));
            }
            let Some(name) = Name::new(word).filter(|_| known.candidate(self.routine(), word))
            else {
                return refuse(Class::Invalid, word, Why::NoSuch);
            };
            if self.candidates[..self.named].contains(&name) {
                return refuse(Class::Invalid, word, Why::Twice);
            }
            let Some(slot) = self.candidates.get_mut(self.named) else {
                return refuse(
                    Class::TooBig,
                    "candidate",
                    Why::List(ranges::Error::TooMany),
                );
            };
            *slot = name;
            self.named += 1;
        }
        Ok(())
    }

    fn fits(&self, known: &impl Known) -> Result<(), Refusal> {
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

    /// How many instances the plan takes.
    fn instances(&self, known: &impl Known) -> u64 {
        let candidates = match self.named {
            0 => known.candidates(self.routine()),
            named => named as u64,
        };
        let masks = self.masks.iter().filter(|&&on| on).count() as u64;
        candidates
            .saturating_mul(masks)
            .saturating_mul(self.entries.count())
    }

    /// How many cells there are to measure; saturates.
    pub fn cells(&self, known: &impl Known) -> u64 {
        self.instances(known)
            .saturating_mul(self.len.count())
            .saturating_mul(self.src.count())
            .saturating_mul(self.dst.count())
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
        const CELL: u64 = 192;

        let each = self.rounds.saturating_mul(8).saturating_add(CELL);
        (2 * self.buffer()).saturating_add(cells.saturating_mul(each))
    }

    /// Bytes of one copy buffer: the longest copy at the greatest offset, in whole pages.
    pub fn buffer(&self) -> u64 {
        (self.len.max() + self.src.max().max(self.dst.max())).div_ceil(4096) * 4096 + 4096
    }

    /// The routine's name.
    pub fn routine(&self) -> &str {
        self.routine.as_str()
    }

    /// Whether the plan takes an instance.
    pub fn takes(&self, routine: &str, candidate: &str, mask: Mask, entry: u64) -> bool {
        let names = &self.candidates[..self.named];
        (names.is_empty() || names.iter().any(|n| n.as_str() == candidate))
            && self.routine() == routine
            && self.masks[mask.index()]
            && self.entries.iter().any(|e| e == entry)
    }
}

fn masks(value: &str) -> Result<[bool; Mask::ALL.len()], Refusal> {
    if value == "all" {
        return Ok([true; Mask::ALL.len()]);
    }
    let mut masks = [false; Mask::ALL.len()];
    for word in value.split(',') {
        if word.is_empty() {
            return refuse(Class::Invalid, "mask", Why::List(ranges::Error::Empty));
        }
        let Some(mask) = Mask::from_name(word) else {
            return refuse(Class::Invalid, word, Why::NoSuch);
        };
        if core::mem::replace(&mut masks[mask.index()], true) {
            return refuse(Class::Invalid, word, Why::Twice);
        }
    }
    Ok(masks)
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "routine={} candidate=", self.routine())?;
        if self.named == 0 {
            f.write_str("all")?;
        }
        for (i, name) in self.candidates[..self.named].iter().enumerate() {
            write!(f, "{}{}", if i > 0 { "," } else { "" }, name.as_str())?;
        }
        f.write_str(" mask=")?;
        if self.masks.iter().all(|&on| on) {
            f.write_str("all")?;
        } else {
            let on = Mask::ALL
                .into_iter()
                .filter(|mask| self.masks[mask.index()]);
            for (i, mask) in on.enumerate() {
                write!(f, "{}{}", if i > 0 { "," } else { "" }, mask)?;
            }
        }
        write!(
            f,
            " entry={} len={} src={} dst={} rounds={}",
            self.entries, self.len, self.src, self.dst, self.rounds
        )?;
        if let Some(cpu) = self.cpu {
            write!(f, " cpu={cpu}")?;
        }
        write!(f, " buffers={}", self.buffers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Bench;

    impl Known for Bench {
        fn routine(&self, name: &str) -> bool {
            name == "memcpy"
        }
        fn candidate(&self, _routine: &str, name: &str) -> bool {
            ["orig", "erms512", "erms2048"].contains(&name)
        }
        fn entry(&self, _routine: &str, entry: u64) -> bool {
            entry % 16 == 0
        }
        fn candidates(&self, _routine: &str) -> u64 {
            3
        }
        fn cpu(&self, cpu: u64) -> bool {
            cpu < 2
        }
    }

    fn parse(text: &str) -> Result<Plan, Refusal> {
        let mut plan = Plan::EMPTY;
        plan.read(text, &Bench)?;
        Ok(plan)
    }

    fn refused(text: &str) -> (Class, String) {
        let refusal = parse(text).unwrap_err();
        (refusal.class, refusal.to_string())
    }

    #[test]
    fn the_default_plan() {
        let plan = parse(Plan::DEFAULT).unwrap();
        assert_eq!(plan.cells(&Bench), 3 * 5 * 13);
        assert!(plan.takes("memcpy", "orig", Mask::Native, 0));
        assert!(!plan.takes("memcpy", "orig", Mask::Native, 16));
        assert!(plan.memory(plan.cells(&Bench)) < 8 << 20);
    }

    #[test]
    fn a_plan_reads_back_as_written() {
        let text = "routine=memcpy candidate=orig,erms512 mask=e1f0,native entry=0,16 \
                    len=0-64,128,4096 src=0 dst=0-63/9 rounds=21 cpu=1 buffers=16777216";
        let plan = parse(text).unwrap();
        assert_eq!(plan.to_string(), text);
        assert_eq!(parse(&plan.to_string()), Ok(plan));
        assert!(plan.takes("memcpy", "orig", Mask::E1F0, 16));
        assert!(!plan.takes("memcpy", "erms2048", Mask::E1F0, 16));
        assert!(!plan.takes("memcpy", "orig", Mask::E0F0, 16));
    }

    #[test]
    fn words_that_cannot_be_understood() {
        for (text, words) in [
            ("", "no words"),
            ("  \n", "no words"),
            ("len", "key=value"),
            ("size=4", "size: no such word"),
            ("len=1 len=2", "len: given twice"),
            ("len=", "len: an empty list"),
            ("len=1,,2", "len: an empty list"),
            ("len=x", "len: not a number"),
            ("len=9-1", "len: a range that leads nowhere"),
            ("mask=e2f0", "e2f0: there is none"),
            ("mask=e0f0,e0f0", "e0f0: given twice"),
            ("mask=,", "mask: an empty list"),
            ("candidate=best", "best: there is none"),
            ("candidate=orig,orig", "orig: given twice"),
            ("routine=memmove", "memmove: there is none"),
            ("entry=8", "entry: not an entry offset that was built"),
            ("rounds=3-5", "rounds: one value"),
        ] {
            let (class, message) = refused(text);
            assert_eq!(class, Class::Invalid, "{text}");
            assert!(message.contains(words), "{text}: {message}");
        }
    }

    #[test]
    fn values_out_of_range() {
        for (text, words) in [
            ("len=16777217", "len: outside 0 to 16777216"),
            ("src=4096", "src: outside 0 to 4095"),
            ("rounds=2", "rounds: outside 3 to 1001"),
            ("cpu=2", "cpu: CPU 2 is not online"),
            ("buffers=1M buffers=2M", "twice"),
            ("buffers=1K", "buffers: outside"),
            ("entry=64", "entry: outside 0 to 63"),
        ] {
            let (_, message) = refused(text);
            assert!(message.contains(words), "{text}: {message}");
        }
        assert_eq!(refused("len=16777217").0, Class::Range);
        assert_eq!(refused("cpu=2").0, Class::Range);
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
        let (class, message) = refused("len=0-6000 rounds=1001 buffers=48M");
        assert_eq!(class, Class::TooBig);
        assert!(message.contains("would take about"), "{message}");
    }

    #[test]
    fn long_and_odd_words_are_cut() {
        let long = "ü".repeat(500);
        assert!(refused(&long).1.len() < 120);
        assert_eq!(refused(&format!("candidate={long}")).0, Class::Invalid);
    }
}

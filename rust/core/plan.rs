// SPDX-License-Identifier: GPL-2.0-only

//! Plans: what to time, as `key=value` words.
//!
//! | word | values | default |
//! |---|---|---|
//! | `routine` | a routine's name | `memcpy` |
//! | `candidate` | names, or `all` | `all` |
//! | `mask` | `e0f0 e0f1 e1f0 e1f1 native`, or `all` | `all` |
//! | `entry` | entry offsets modulo 64, of those built | `0` |
//! | `len` | bytes, 0 to 16 MiB | the routine's [`lengths`] |
//! | `src`, `dst` | offsets from a page boundary, 0 to 4095 | `0` |
//! | `mem` | `kernel`, `from-user`, `to-user`, or `user` for both of these | `kernel` |
//! | `cache` | `hot`, `l2-src`, `cold-src`, `cold-dst` | `hot` |
//! | `fault` | `none`, or the bytes, counted from 0, at which the copy faults | `none` |
//! | `draw` | `each`: a cell for each length; `random`: one, whose calls draw them | `each` |
//! | `weight` | for `draw=random`, how often each item of `len` comes | all lengths alike |
//! | `rounds` | 3 to 1001 | `15` |
//! | `cpu` | an online CPU | the one that runs the write |
//! | `buffers` | the most memory the plan may take, 64K to 48M | `8M` |
//!
//! Lists are joined by commas; numbers may be ranges (see [`ranges`](super::ranges)).

use core::fmt;

use super::choice::{
    Cache,
    Choice,
    Draw,
    Mem,
    Set,
    L2_BYTES, //
};
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
use super::words::{
    list,
    single,
    values, //
};

/// The longest length, in bytes.
pub const MAX_LEN: u64 = 16 << 20;
const MAX_NAMES: usize = 12;
const MAX_OFFSET: u64 = 4095;
const MAX_WEIGHT: u64 = 1_000_000;
const BUFFERS: (u64, u64, u64) = (64 << 10, 8 << 20, 48 << 20);
const ROUNDS: (u64, u64, u64) = (3, 15, 1001);

/// The lengths that people ask about first: of memcpy() some of each size, of the others those
/// that the patches to them were argued with.
pub fn lengths(routine: &str) -> &'static str {
    match routine {
        "rep_movs_alternative" => "4096",
        "copy_user_enhanced_fast_string" => "0-63",
        _ => "0,1,8,16,31,32,64,128,256,512,1024,2048,4096",
    }
}

/// A plan that has been read and found sound in itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    routine: Name,
    candidates: [Name; MAX_NAMES],
    /// How many of them; none given means all there are.
    named: usize,
    /// The masks.
    pub masks: Set<Mask>,
    /// Entry offsets.
    pub entries: Ranges,
    /// Lengths in bytes.
    pub len: Ranges,
    /// Source offsets from a page boundary.
    pub src: Ranges,
    /// Destination offsets from a page boundary.
    pub dst: Ranges,
    /// Whose memory it is.
    pub mem: Set<Mem>,
    /// Where of the memory is when a copy starts.
    pub cache: Set<Cache>,
    /// Bytes at which the copies fault; empty if they do not.
    pub fault: Ranges,
    /// How the lengths are taken.
    pub draw: Draw,
    /// How often each item of the lengths is drawn; empty if all lengths alike.
    pub weight: Ranges,
    /// How often each cell is measured.
    pub rounds: u64,
    /// Where to run; none: wherever the plan is started.
    pub cpu: Option<u64>,
    /// The most memory to take, in bytes.
    pub buffers: u64,
}

/// What a plan may name: the instances that were built, and what the kernel can do.
pub trait Known {
    /// Whether there is such a routine.
    fn routine(&self, name: &str) -> bool;
    /// Whether the routine has such a candidate.
    fn candidate(&self, routine: &str, name: &str) -> bool;
    /// Whether it is the one that is built twice.
    fn is_base(&self, routine: &str, name: &str) -> bool;
    /// Whether the routine was built at that entry offset.
    fn entry(&self, routine: &str, entry: u64) -> bool;
    /// How many candidates the routine has.
    fn candidates(&self, routine: &str) -> u64;
    /// Whether the CPU is online.
    fn cpu(&self, cpu: u64) -> bool;
    /// Whether the kernel reaches the memory of processes directly, and mends faults.
    fn user(&self) -> bool;
}

impl Plan {
    /// A plan for nothing, to be read into.
    pub const EMPTY: Plan = Plan {
        routine: Name::EMPTY,
        candidates: [Name::EMPTY; MAX_NAMES],
        named: 0,
        masks: Set::EMPTY,
        entries: Ranges::EMPTY,
        len: Ranges::EMPTY,
        src: Ranges::EMPTY,
        dst: Ranges::EMPTY,
        mem: Set::EMPTY,
        cache: Set::EMPTY,
        fault: Ranges::EMPTY,
        draw: Draw::Each,
        weight: Ranges::EMPTY,
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
        let [routine, candidate, mask, entry, len, src, dst, mem, cache, fault, draw, weight, rounds, cpu, buffers] =
            values(text)?;

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
        self.masks = Set::read("mask", mask.unwrap_or("all"), ("", &[]))?;
        let len = len.unwrap_or(lengths(routine));
        list(&mut self.len, "len", len, MAX_LEN)?;
        list(&mut self.src, "src", src.unwrap_or("0"), MAX_OFFSET)?;
        list(&mut self.dst, "dst", dst.unwrap_or("0"), MAX_OFFSET)?;
        let user = ("user", &[Mem::FromUser, Mem::ToUser][..]);
        self.mem = Set::read("mem", mem.unwrap_or("kernel"), user)?;
        self.cache = Set::read("cache", cache.unwrap_or("hot"), ("", &[]))?;
        self.fault.clear();
        if let Some(value) = fault.filter(|&value| value != "none") {
            list(&mut self.fault, "fault", value, MAX_LEN)?;
        }
        let draw = draw.unwrap_or("each");
        let Some(how) = Draw::from_word(draw) else {
            return refuse(Class::Invalid, draw, Why::NoSuch);
        };
        self.draw = how;
        self.weight.clear();
        if let Some(value) = weight {
            list(&mut self.weight, "weight", value, MAX_WEIGHT)?;
        }
        self.rounds = single("rounds", rounds, ROUNDS)?;
        self.cpu = None;
        if cpu.is_some() {
            let cpu = single("cpu", cpu, (0, 0, 8191))?;
            if !known.cpu(cpu) {
                return refuse(Class::Range, "cpu", Why::Offline(cpu));
            }
            self.cpu = Some(cpu);
        }
        self.buffers = single("buffers", buffers, BUFFERS)?;
        self.agrees(known, src.is_some(), dst.is_some())?;
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
            if self.named().contains(&name) {
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

    /// Refuses words that contradict each other, or that ask for what cannot be done here.
    fn agrees(&self, known: &impl Known, src: bool, dst: bool) -> Result<(), Refusal> {
        let no = |key, why| refuse(Class::Invalid, key, Why::Conflict(why));
        let faults = self.faults();
        let special = faults || self.is_user();
        let hot = self.cache.iter().all(|cache| cache == Cache::Hot);
        let key = if faults { "fault" } else { "mem" };
        if special && self.routine() == "memcpy" {
            return no(
                key,
                "memcpy has no fix-ups, so it must meet no fault and no user memory",
            );
        }
        if special && !known.user() {
            return no(
                key,
                "this kernel (User Mode Linux) reaches no user memory and mends no fault",
            );
        }
        if faults && self.fault.max() >= self.len.min() {
            return refuse(Class::Range, "fault", Why::Beyond(self.len.min()));
        }
        if faults && src && self.mem.iter().any(|mem| mem != Mem::ToUser) {
            return no("src", "the place of the fault decides it");
        }
        if faults && dst && self.mem.has(Mem::ToUser) {
            return no("dst", "the place of the fault decides it");
        }
        if !hot && special {
            return no(
                "cache",
                "other than hot is for kernel memory and without a fault",
            );
        }
        if self.cache.has(Cache::L2Src) && 2 * self.stride() >= L2_BYTES {
            return no("cache", "l2-src is for lengths below 64K");
        }
        if self.draw == Draw::Random && (faults || !hot) {
            return no("draw", "random goes with neither fault= nor cache=");
        }
        match (self.weight.count(), self.len.items().len() as u64) {
            (0, _) => Ok(()),
            _ if self.draw != Draw::Random => no("weight", "is for draw=random"),
            (weights, items) if weights != items => {
                refuse(Class::Invalid, "weight", Why::Weights(weights, items))
            }
            _ if self.weight.max() == 0 => no("weight", "all are 0"),
            _ => Ok(()),
        }
    }

    /// The routine's name.
    pub fn routine(&self) -> &str {
        self.routine.as_str()
    }

    /// Whether some of the copies work on user memory.
    pub fn is_user(&self) -> bool {
        self.mem.iter().any(|mem| mem != Mem::Kernel)
    }

    /// Whether the copies fault.
    pub fn faults(&self) -> bool {
        self.fault.count() > 0
    }

    /// The candidates asked for by name; none: all.
    pub(super) fn named(&self) -> &[Name] {
        &self.candidates[..self.named]
    }

    /// Whether the plan asks for a candidate of its routine.
    pub fn names(&self, candidate: &str) -> bool {
        let names = self.named();
        names.is_empty() || names.iter().any(|n| n.as_str() == candidate)
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "routine={} candidate=", self.routine())?;
        if self.named == 0 {
            f.write_str("all")?;
        }
        for (i, name) in self.named().iter().enumerate() {
            write!(f, "{}{}", if i > 0 { "," } else { "" }, name.as_str())?;
        }
        write!(
            f,
            " mask={} entry={} len={}",
            self.masks, self.entries, self.len
        )?;
        // What a fault decides is not written back.
        let both = self.faults();
        if !both || self.mem.iter().all(|mem| mem == Mem::ToUser) {
            write!(f, " src={}", self.src)?;
        }
        if !both || !self.mem.has(Mem::ToUser) {
            write!(f, " dst={}", self.dst)?;
        }
        write!(f, " mem={} cache={}", self.mem, self.cache)?;
        match both {
            true => write!(f, " fault={}", self.fault)?,
            false => f.write_str(" fault=none")?,
        }
        write!(f, " draw={}", self.draw.word())?;
        if self.weight.count() > 0 {
            write!(f, " weight={}", self.weight)?;
        }
        write!(f, " rounds={}", self.rounds)?;
        if let Some(cpu) = self.cpu {
            write!(f, " cpu={cpu}")?;
        }
        write!(f, " buffers={}", self.buffers)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// With user memory or without.
    pub(in super::super) struct Bench(pub bool);

    impl Known for Bench {
        fn routine(&self, name: &str) -> bool {
            ["memcpy", "rep_movs_alternative"].contains(&name)
        }
        fn candidate(&self, _routine: &str, name: &str) -> bool {
            ["orig", "erms512", "erms2048"].contains(&name)
        }
        fn is_base(&self, _routine: &str, name: &str) -> bool {
            name == "orig"
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
        fn user(&self) -> bool {
            self.0
        }
    }

    pub(in super::super) fn parse(text: &str) -> Result<Plan, Refusal> {
        let mut plan = Plan::EMPTY;
        plan.read(text, &Bench(true))?;
        Ok(plan)
    }

    pub(in super::super) fn refused(text: &str) -> (Class, String) {
        let refusal = parse(text).unwrap_err();
        (refusal.class, refusal.to_string())
    }

    #[test]
    fn the_default_plan() {
        let plan = parse(Plan::DEFAULT).unwrap();
        // With the one that is built twice.
        assert_eq!(plan.cells(&Bench(true)), 4 * 5 * 13);
        assert!(plan.names("orig") && plan.masks.has(Mask::Native));
        assert!(plan.memory(plan.cells(&Bench(true))) < 8 << 20);
    }

    #[test]
    fn a_plan_reads_back_as_written() {
        let text = "routine=memcpy candidate=orig,erms512 mask=e1f0,native entry=0,16 \
                    len=0-64,128,4096 src=0 dst=0-63/9 mem=kernel cache=hot fault=none \
                    draw=each rounds=21 cpu=1 buffers=16777216";
        let plan = parse(text).unwrap();
        assert_eq!(plan.to_string(), text);
        assert_eq!(parse(&plan.to_string()), Ok(plan));
        assert!(plan.names("orig") && !plan.names("erms2048"));
        assert!(plan.masks.has(Mask::E1F0) && !plan.masks.has(Mask::E0F0));
    }

    #[test]
    fn every_word_reads_back_as_written() {
        for text in [
            "routine=rep_movs_alternative candidate=orig mask=e0f0 entry=0 len=64,128 dst=3 \
             mem=kernel,from-user cache=hot fault=0-63/9 draw=each rounds=15 buffers=8388608",
            "routine=rep_movs_alternative candidate=orig mask=e0f0 entry=0 len=64 src=1 \
             mem=to-user cache=hot fault=7 draw=each rounds=15 buffers=8388608",
            "routine=memcpy candidate=all mask=all entry=0 len=4096 src=0 dst=0 mem=kernel \
             cache=l2-src,cold-dst fault=none draw=each rounds=15 buffers=8388608",
            "routine=memcpy candidate=all mask=all entry=0 len=0-63,64 src=0 dst=0 mem=kernel \
             cache=hot fault=none draw=random weight=3,1 rounds=15 buffers=8388608",
        ] {
            assert_eq!(parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn words_that_contradict_each_other() {
        for (text, words) in [
            ("mem=user len=8", "mem: memcpy has no fix-ups"),
            ("fault=3 len=8", "fault: memcpy has no fix-ups"),
            ("U fault=8 len=8-64", "fault: beyond the shortest len=8"),
            ("U fault=0 len=0", "fault: beyond the shortest len=0"),
            ("U fault=none,3", "fault: not a number"),
            ("U fault=3 len=8 src=0", "src: the place of the fault"),
            (
                "U fault=3 len=8 dst=0 mem=to-user",
                "dst: the place of the fault",
            ),
            ("U fault=3 len=8 cache=cold-src", "cache: other than hot"),
            ("U mem=user cache=l2-src", "cache: other than hot"),
            ("cache=l2-src len=64K", "cache: l2-src is for"),
            ("draw=random cache=cold-src", "draw: random goes with"),
            ("draw=often", "often: there is none"),
            ("weight=1 len=8", "weight: is for draw=random"),
            ("weight=1,2 len=8 draw=random", "2 weights for the 1 items"),
            ("weight=0 len=8 draw=random", "weight: all are 0"),
            ("mem=disk", "disk: there is none"),
        ] {
            let (_, message) = refused(&text.replace("U ", "routine=rep_movs_alternative "));
            assert!(message.contains(words), "{text}: {message}");
        }
        let mut plan = Plan::EMPTY;
        let user = "routine=rep_movs_alternative mem=user";
        assert!(plan.read(user, &Bench(true)).is_ok());
        let said = plan.read(user, &Bench(false)).unwrap_err().to_string();
        assert!(
            said.contains("mem: this kernel (User Mode Linux)"),
            "{said}"
        );
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
    fn long_and_odd_words_are_cut() {
        let long = "ü".repeat(500);
        assert!(refused(&long).1.len() < 120);
        assert_eq!(refused(&format!("candidate={long}")).0, Class::Invalid);
    }
}

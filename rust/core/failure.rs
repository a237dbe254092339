// SPDX-License-Identifier: GPL-2.0-only

//! What a check found wrong, with what one needs to look for it.

use core::fmt;

use super::faults::{
    Breach,
    Side, //
};

/// One call of a copy routine: `len` bytes between two offsets.
///
/// The offsets are modulo 4096, so that alignment and page crossing can be read off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Case {
    /// Bytes to copy.
    pub len: usize,
    /// Source address modulo 4096.
    pub src: usize,
    /// Destination address modulo 4096.
    pub dst: usize,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "len {} src +{} dst +{}", self.len, self.src, self.dst)
    }
}

/// Why an instance was rejected. The first thing found, not all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// A destination byte is not the source's.
    Content {
        /// The call.
        case: Case,
        /// The byte, from the start of the destination.
        at: usize,
        /// The source byte.
        want: u8,
        /// The destination byte.
        got: u8,
    },
    /// A byte that is not part of the destination changed.
    Outside {
        /// The call after which it was seen.
        case: Case,
        /// The byte, from the start of the destination.
        at: isize,
        /// What it became.
        got: u8,
    },
    /// The source changed.
    Source {
        /// The last call before it was seen.
        case: Case,
        /// The byte, from the start of the source buffer.
        at: usize,
    },
    /// The return value is not what the routine is to return.
    ReturnValue {
        /// The call.
        case: Case,
        /// What it is to be: the destination, or how many bytes were left.
        want: u64,
        /// What came back.
        got: u64,
    },
    /// A register that the routine must preserve changed.
    Register {
        /// The call.
        case: Case,
        /// Its name.
        name: &'static str,
        /// Its value before the call.
        before: u64,
        /// Its value after it.
        after: u64,
    },
    /// The stack pointer is not where it was.
    Stack {
        /// The call.
        case: Case,
        /// After less before, in bytes.
        off_by: i64,
    },
    /// The direction flag was left set.
    Direction {
        /// The call.
        case: Case,
    },
    /// The alignment check flag was left set, which allows access to user memory.
    Access {
        /// The call.
        case: Case,
    },
    /// A copy that faulted returns what it must not.
    Fault {
        /// The call.
        case: Case,
        /// Where it faulted.
        side: Side,
        /// The bytes that can be reached there.
        reach: usize,
        /// What it says is left.
        left: usize,
        /// Why that is wrong.
        breach: Breach,
    },
    /// The instance is not at the entry offset it was built for.
    Entry {
        /// Modulo 64, as built.
        want: usize,
        /// Modulo 64, as loaded.
        got: usize,
    },
    /// Bytes that are no instruction, or none that the decoder knows.
    Undecodable {
        /// From the entry.
        offset: usize,
    },
    /// An instruction is not the one that the mask demands.
    Text {
        /// Its number, fillers not counted.
        index: usize,
        /// Where the demanded one is, from the entry of the reference.
        want: usize,
        /// Where the one found is, from the entry of the instance.
        got: usize,
    },
    /// A site from which the mask takes everything holds more than one NOP.
    Nops {
        /// The site, from the entry.
        offset: usize,
        /// Its length in bytes.
        length: usize,
    },
    /// A return that ITS must send through the thunk does not go there.
    BareReturn {
        /// From the entry.
        offset: usize,
        /// Its address.
        address: u64,
    },
    /// A jump leaves the instance for something that is not the return thunk.
    Escape {
        /// From the entry.
        offset: usize,
        /// Where it goes.
        target: u64,
    },
    /// There is no return in the text at all.
    NoReturn,
    /// An access to memory has no entry in the exception table.
    NoEntry {
        /// From the start.
        offset: usize,
    },
    /// Its entry is not of the type for user access.
    EntryType {
        /// From the start.
        offset: usize,
    },
    /// An entry lies inside an instruction.
    EntryInside {
        /// From the start.
        offset: usize,
    },
}

/// The check's group, for telling whether a control was rejected for the right reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// A wrong byte in the destination.
    Content,
    /// A byte outside changed.
    Outside,
    /// The source changed.
    Source,
    /// The return value.
    ReturnValue,
    /// A register that must survive.
    Register,
    /// The stack pointer.
    Stack,
    /// The direction flag.
    Direction,
    /// User access left allowed.
    Access,
    /// What is left after a fault.
    Fault,
    /// An access without an entry in the exception table.
    NoEntry,
    /// An entry of another type than for user access.
    EntryType,
    /// An entry that lies inside an instruction.
    EntryInside,
    /// The patched text.
    Text,
    /// A return without its thunk.
    Return,
}

impl Failure {
    /// The group this failure belongs to.
    pub fn reason(&self) -> Reason {
        match self {
            Failure::Content { .. } => Reason::Content,
            Failure::Outside { .. } => Reason::Outside,
            Failure::Source { .. } => Reason::Source,
            Failure::ReturnValue { .. } => Reason::ReturnValue,
            Failure::Register { .. } => Reason::Register,
            Failure::Stack { .. } => Reason::Stack,
            Failure::Direction { .. } => Reason::Direction,
            Failure::Access { .. } => Reason::Access,
            Failure::Fault { .. } => Reason::Fault,
            Failure::NoEntry { .. } => Reason::NoEntry,
            Failure::EntryType { .. } => Reason::EntryType,
            Failure::EntryInside { .. } => Reason::EntryInside,
            Failure::Entry { .. }
            | Failure::Undecodable { .. }
            | Failure::Text { .. }
            | Failure::Nops { .. } => Reason::Text,
            Failure::BareReturn { .. } | Failure::Escape { .. } | Failure::NoReturn => {
                Reason::Return
            }
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Failure::Content {
                case,
                at,
                want,
                got,
            } => write!(f, "{case}: byte {at} is {got:#04x}, not {want:#04x}"),
            Failure::Outside { case, at, got } => {
                write!(f, "{case}: byte {at} outside became {got:#04x}")
            }
            Failure::Source { case, at } => {
                write!(f, "{case}: byte {at} of the source buffer changed")
            }
            Failure::ReturnValue { case, want, got } => {
                write!(f, "{case}: returned {got:#x}, not {want:#x}")
            }
            Failure::Register {
                case,
                name,
                before,
                after,
            } => write!(f, "{case}: {name} was {before:#x}, is {after:#x}"),
            Failure::Stack { case, off_by } => write!(f, "{case}: rsp is off by {off_by:+}"),
            Failure::Direction { case } => write!(f, "{case}: DF is left set"),
            Failure::Access { case } => write!(f, "{case}: AC is left set"),
            Failure::Fault {
                case,
                side,
                reach,
                left,
                breach,
            } => write!(
                f,
                "{case}: {} faults behind byte {reach}, left {left}: {}",
                match side {
                    Side::Source => "the source",
                    Side::Destination => "the destination",
                },
                breach.words()
            ),
            Failure::Entry { want, got } => {
                write!(f, "the entry is at {got} modulo 64, not at {want}")
            }
            Failure::Undecodable { offset } => write!(f, "no known instruction at +{offset:#x}"),
            Failure::Text { index, want, got } => write!(
                f,
                "instruction {index} at +{got:#x} is not what the mask demands \
                 (reference +{want:#x})"
            ),
            Failure::Nops { offset, length } => {
                write!(f, "the site at +{offset:#x} is not one {length}-byte NOP")
            }
            Failure::BareReturn { offset, address } => write!(
                f,
                "the return at +{offset:#x} ({address:#x}) lacks the thunk that ITS demands there"
            ),
            Failure::Escape { offset, target } => write!(
                f,
                "the jump at +{offset:#x} leaves for {target:#x}, which is not the return thunk"
            ),
            Failure::NoReturn => f.write_str("the text has no return"),
            Failure::NoEntry { offset } => write!(
                f,
                "the access at +{offset:#x} has no entry in the exception table"
            ),
            Failure::EntryType { offset } => write!(
                f,
                "the exception table's entry for +{offset:#x} is not for user access"
            ),
            Failure::EntryInside { offset } => write!(
                f,
                "the exception table's entry for +{offset:#x} is inside an instruction"
            ),
        }
    }
}

// SPDX-License-Identifier: GPL-2.0-only

//! What became of a mutant.

/// Where it was tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// In a process of its own.
    Process,
    /// While it was built.
    Build,
    /// In the kernel.
    Guest,
}

impl Stage {
    pub fn name(self) -> &'static str {
        match self {
            Stage::Process => "process",
            Stage::Build => "build",
            Stage::Guest => "guest",
        }
    }
}

/// How a check rejects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// It says what is wrong.
    Words,
    /// The process or the kernel breaks.
    Crash,
    /// The mutant never comes back.
    Hang,
}

/// A rejection.
#[derive(Clone, Debug, PartialEq)]
pub struct Kill {
    pub place: Stage,
    pub how: How,
    pub check: String,
    pub words: String,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Fate {
    /// The assembler does not take it: it is none.
    Refused,
    Killed(Kill),
    /// Nothing rejected it.
    Alive,
}

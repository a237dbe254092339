// SPDX-License-Identifier: GPL-2.0-only

//! Feature masks: which of ERMS and FSRM a copy routine is told it has.

use core::fmt;

/// What an instance was assembled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mask {
    /// Neither ERMS nor FSRM.
    E0F0,
    /// FSRM without ERMS.
    E0F1,
    /// ERMS without FSRM.
    E1F0,
    /// Both.
    E1F1,
    /// Whatever the boot CPU has, `clearcpuid=` included.
    Native,
}

impl Mask {
    /// All masks, in the order in which they are shown.
    pub const ALL: [Mask; 5] = [Mask::E0F0, Mask::E0F1, Mask::E1F0, Mask::E1F1, Mask::Native];

    /// The name used in plans, symbols and suites.
    pub fn name(self) -> &'static str {
        match self {
            Mask::E0F0 => "e0f0",
            Mask::E0F1 => "e0f1",
            Mask::E1F0 => "e1f0",
            Mask::E1F1 => "e1f1",
            Mask::Native => "native",
        }
    }

    /// The mask of that name.
    pub fn from_name(name: &str) -> Option<Mask> {
        Mask::ALL.into_iter().find(|mask| mask.name() == name)
    }

    /// The forced mask that says what the CPU says.
    pub fn of_cpu(erms: bool, fsrm: bool) -> Mask {
        match (erms, fsrm) {
            (false, false) => Mask::E0F0,
            (false, true) => Mask::E0F1,
            (true, false) => Mask::E1F0,
            (true, true) => Mask::E1F1,
        }
    }

    /// Where the mask stands in [`Mask::ALL`].
    pub fn index(self) -> usize {
        self as usize
    }
}

impl fmt::Display for Mask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

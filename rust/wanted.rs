// SPDX-License-Identifier: GPL-2.0-only

//! What the `verify` file is to check, from the words written to it.

use crate::{
    checks::Check,
    instance::{
        self,
        Instance, //
    },
    pure::{
        copies::Depth,
        mask::Mask, //
    },
};

/// How much of the sweeps to make.
const DEPTHS: [(&str, Depth); 2] = [("full", Depth::Full), ("quick", Depth::Quick)];

/// What is wrong with words that are refused.
pub(crate) const REFUSED: &str = "verify: neither depth=full nor depth=quick, nor a routine=, \
    candidate=, mask= or check= that there is";

/// The suites and checks to run. What is None is not chosen by: all of them.
#[derive(Clone, Copy)]
pub(crate) struct Wanted {
    pub(crate) depth: Depth,
    routine: Option<&'static str>,
    candidate: Option<&'static str>,
    mask: Option<Mask>,
    check: Option<Check>,
}

impl Wanted {
    /// Everything, in full.
    pub(crate) const ALL: Wanted = Wanted {
        depth: Depth::Full,
        routine: None,
        candidate: None,
        mask: None,
        check: None,
    };

    /// Reads `key=value` words. What is not said has its default. None if a word means nothing
    /// here, or there is none.
    pub(crate) fn read(words: &[u8]) -> Option<Wanted> {
        let words = core::str::from_utf8(words).ok()?.trim();
        let mut wanted = Wanted::ALL;
        for word in words.split(' ') {
            let (key, value) = word.split_once('=')?;
            match key {
                "depth" => wanted.depth = DEPTHS.iter().find(|(name, _)| *name == value)?.1,
                "routine" => wanted.routine = Some(named(value, Instance::routine)?),
                "candidate" => wanted.candidate = Some(named(value, Instance::candidate)?),
                "mask" => wanted.mask = Some(Mask::from_name(value)?),
                "check" => wanted.check = Some(Check::from_name(value)?),
                _ => return None,
            }
        }
        Some(wanted)
    }

    /// Whether the suite of an instance is among what is wanted.
    pub(crate) fn suite(&self, i: Instance) -> bool {
        self.routine.is_none_or(|name| name == i.routine())
            && self.candidate.is_none_or(|name| name == i.candidate())
            && self.mask.is_none_or(|mask| mask == i.mask())
    }

    /// The checks of a routine that are wanted.
    pub(crate) fn checks(&self, routine: &str) -> impl Iterator<Item = Check> + Clone {
        let chosen = self.check;
        let all = Check::of(routine).iter().copied();
        all.filter(move |check| chosen.is_none_or(|chosen| chosen == *check))
    }
}

/// The name as the table of instances has it.
fn named(name: &str, of: fn(Instance) -> &'static str) -> Option<&'static str> {
    instance::candidates().map(of).find(|known| *known == name)
}

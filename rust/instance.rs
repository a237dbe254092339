// SPDX-License-Identifier: GPL-2.0-only

//! The instances of the build: the table that `asm/table.S` makes.

use core::{
    fmt,
    slice, //
};

use kernel::prelude::*;

use crate::{
    bindings,
    pure::{
        abi::Clobbers,
        mask::Mask,
        plan::Known,
        returns::Rule,
        text::Text, //
    },
};

/// What an instance is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// To be checked and timed.
    Candidate,
    /// Never run: shows what a mask demands.
    Reference,
    /// Broken on purpose.
    Control,
    /// A candidate once more, to be timed against itself.
    Twin,
}

/// One row of the table.
#[derive(Clone, Copy)]
pub(crate) struct Instance(&'static bindings::repmov_instance);

/// All rows.
pub(crate) fn all() -> impl Iterator<Item = Instance> + Clone {
    let start = &raw const bindings::repmov_instances;
    let end = &raw const bindings::repmov_instances_end;
    let count = (end as usize - start as usize) / size_of::<bindings::repmov_instance>();
    // SAFETY: `table.S` lays out that many structures between the two symbols, in read-only data
    // that stays as long as the code that runs here.
    let table = unsafe { slice::from_raw_parts(start.cast::<bindings::repmov_instance>(), count) };
    table.iter().map(Instance)
}

/// The instances to check and time.
pub(crate) fn candidates() -> impl Iterator<Item = Instance> + Clone {
    all().filter(|i| i.kind() == Kind::Candidate)
}

/// The first instance of every suite, for the others.
pub(crate) fn suites() -> impl Iterator<Item = Instance> + Clone {
    candidates().filter(|i| i.entry() == 0)
}

/// The instances of one suite.
pub(crate) fn suite(
    routine: &'static str,
    candidate: &'static str,
    mask: Mask,
) -> impl Iterator<Item = Instance> + Clone {
    candidates()
        .filter(move |i| i.routine() == routine && i.candidate() == candidate && i.mask() == mask)
}

impl Instance {
    fn string(text: *const kernel::ffi::c_char) -> &'static str {
        // SAFETY: `table.S` writes NUL-terminated strings into data that stays.
        let text = unsafe { CStr::from_char_ptr(text) };
        text.to_str().unwrap_or("?")
    }

    pub(crate) fn kind(self) -> Kind {
        match self.0.kind {
            bindings::repmov_kind_REPMOV_CANDIDATE => Kind::Candidate,
            bindings::repmov_kind_REPMOV_REFERENCE => Kind::Reference,
            bindings::repmov_kind_REPMOV_TWIN => Kind::Twin,
            _ => Kind::Control,
        }
    }

    pub(crate) fn routine(self) -> &'static str {
        Self::string(self.0.routine)
    }

    pub(crate) fn candidate(self) -> &'static str {
        Self::string(self.0.candidate)
    }

    pub(crate) fn mask(self) -> Mask {
        Mask::from_name(Self::string(self.0.mask)).unwrap_or(Mask::Native)
    }

    /// The entry offset asked for, modulo 64.
    pub(crate) fn entry(self) -> usize {
        self.0.entry_offset as usize
    }

    /// Where it is called.
    pub(crate) fn address(self) -> *const c_void {
        self.0.start.cast()
    }

    /// The routine's own entry modulo 64, behind the site that calls it.
    pub(crate) fn entry_as_loaded(self) -> usize {
        (self.0.start as usize + self.extent().entry as usize) % 64
    }

    /// The registers that it may change.
    pub(crate) fn may_change(self) -> Clobbers {
        Clobbers(self.extent().clobbers as u16)
    }

    fn extent(self) -> &'static bindings::repmov_extent {
        // SAFETY: `table.S` points to the structure that `instance.S` wrote.
        unsafe { &*self.0.extent }
    }

    /// The text as it is now, patched by whoever loaded it.
    pub(crate) fn text(self) -> Text<'static> {
        // SAFETY: The extent is that of the instance's text, which is mapped readable and stays.
        let bytes = unsafe { slice::from_raw_parts(self.0.start, self.extent().size as usize) };
        Text {
            bytes,
            address: self.0.start as u64,
            thunks: thunks(),
        }
    }

    /// Where alternatives patch it: offset from the entry and length, in bytes.
    pub(crate) fn sites(self) -> impl Iterator<Item = (usize, usize)> {
        let extent = self.extent();
        // SAFETY: `instance.S` counts the sites that follow.
        let sites = unsafe { slice::from_raw_parts(extent.site.as_ptr(), extent.sites as usize) };
        sites.iter().map(|s| (s.offset as usize, s.length as usize))
    }

    /// The forced mask whose text this instance must have.
    pub(crate) fn demanded(self) -> Mask {
        match self.mask() {
            Mask::Native => native(),
            forced => forced,
        }
    }

    /// Its twin, if it is a candidate that is built twice. (For native, that of the mask that
    /// native is here.)
    pub(crate) fn twin(self) -> Option<Instance> {
        all().find(|other| {
            other.kind() == Kind::Twin
                && other.routine() == self.routine()
                && other.candidate() == self.candidate()
                && other.mask() == self.demanded()
                && other.entry() == self.entry()
        })
    }

    /// The reference for that mask; none where the assembler chose the text itself.
    pub(crate) fn reference(self) -> Option<Instance> {
        all().find(|other| {
            other.kind() == Kind::Reference
                && other.routine() == self.routine()
                && other.candidate() == self.candidate()
                && other.mask() == self.demanded()
        })
    }
}

impl fmt::Display for Instance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {} {} entry {}",
            self.routine(),
            self.candidate(),
            self.mask(),
            self.entry()
        )
    }
}

/// Whether alternatives follow a feature (`enum repmov_feature`) on this CPU and boot.
pub(crate) fn has(feature: bindings::repmov_feature) -> bool {
    // SAFETY: It takes nothing and only computes a number.
    unsafe { bindings::repmov_features() & feature as usize != 0 }
}

/// The mask that alternatives follow.
pub(crate) fn native() -> Mask {
    Mask::of_cpu(
        has(bindings::repmov_feature_REPMOV_ERMS),
        has(bindings::repmov_feature_REPMOV_FSRM),
    )
}

/// What the loader makes of returns on this boot.
pub(crate) fn return_rule() -> Result<Rule> {
    let probe = |symbol: *const u8| {
        // SAFETY: A return and its filling are five bytes in each of the two probes.
        let bytes = unsafe { slice::from_raw_parts(symbol, 5) };
        (bytes, symbol as u64)
    };
    Rule::observe(
        probe((&raw const bindings::repmov_return_low).cast()),
        probe((&raw const bindings::repmov_return_high).cast()),
    )
    .map_err(|_| EINVAL)
}

/// Where a return may jump to: the thunk as linked and the one in force.
fn thunks() -> [u64; 2] {
    #[cfg(CONFIG_MITIGATION_RETHUNK)]
    let linked = {
        extern "C" {
            fn __x86_return_thunk();
        }
        __x86_return_thunk as usize as u64
    };
    #[cfg(not(CONFIG_MITIGATION_RETHUNK))]
    let linked = 0;
    let in_force = return_rule().ok().and_then(|rule| rule.low);
    [linked, in_force.unwrap_or(linked)]
}

/// The table as plans know it.
pub(crate) struct Built;

impl Known for Built {
    fn routine(&self, name: &str) -> bool {
        suites().any(|i| i.routine() == name)
    }

    fn candidate(&self, routine: &str, name: &str) -> bool {
        suites().any(|i| i.candidate() == name && i.routine() == routine)
    }

    fn is_base(&self, routine: &str, name: &str) -> bool {
        let mut twins = all().filter(|i| i.kind() == Kind::Twin && i.entry() == 0);
        twins.any(|i| i.candidate() == name && i.routine() == routine)
    }

    fn entry(&self, routine: &str, entry: u64) -> bool {
        candidates().any(|i| i.entry() as u64 == entry && i.routine() == routine)
    }

    fn candidates(&self, routine: &str) -> u64 {
        // One native instance stands for each candidate. (A chain of filters has a symbol that is
        // too long for objtool.)
        let mut count = 0;
        for suite in suites() {
            count += u64::from(suite.routine() == routine && suite.mask() == Mask::Native);
        }
        count
    }

    fn cpu(&self, cpu: u64) -> bool {
        crate::machine::is_online(cpu)
    }

    fn user(&self) -> bool {
        !cfg!(CONFIG_UML)
    }
}

// SPDX-License-Identifier: GPL-2.0-only

//! Names of addresses, by kallsyms.

use core::fmt;
use kernel::prelude::*;

/// Shows an address as `name+offset/size`, or as a number if it has no name.
pub(crate) struct Symbol(pub(crate) u64);

/// `KSYM_SYMBOL_LEN` with room to spare: a name of up to 511 bytes, offsets, module, build ID.
const LEN: usize = 1024;

impl fmt::Display for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut buffer = KVec::from_elem(0u8, LEN, GFP_KERNEL).map_err(|_| fmt::Error)?;
        // SAFETY: The buffer is longer than the longest symbol line, and the address is only
        // looked up.
        unsafe { kernel::bindings::sprint_symbol(buffer.as_mut_ptr().cast(), self.0 as usize) };
        let end = buffer.iter().position(|&b| b == 0).unwrap_or(0);
        f.write_str(core::str::from_utf8(&buffer[..end]).map_err(|_| fmt::Error)?)
    }
}

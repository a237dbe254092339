// SPDX-License-Identifier: GPL-2.0-only

//! The exception table that the module's, or the kernel's, code is in.

use core::slice;

use kernel::bindings::exception_table_entry as Raw;

use crate::{
    bindings,
    pure::extable::Entry, //
};

/// The whole table. An entry says where the instruction and its fix-up are, relative to where that
/// is said, and the type in the low byte of the rest.
fn table() -> &'static [Raw] {
    #[cfg(MODULE)]
    {
        let module = kernel::module::this_module::<crate::Repmov>().as_ptr();
        // SAFETY: The module is this one, which is loaded; its loader filled the two fields in,
        // and the table stays as long as the module.
        unsafe { slice::from_raw_parts((*module).extable, (*module).num_exentries as usize) }
    }
    #[cfg(not(MODULE))]
    {
        extern "C" {
            static __start___ex_table: [Raw; 0];
            static __stop___ex_table: [Raw; 0];
        }
        let start = &raw const __start___ex_table;
        let count = (&raw const __stop___ex_table as usize - start as usize) / size_of::<Raw>();
        // SAFETY: The linker puts the kernel's table between the two symbols.
        unsafe { slice::from_raw_parts(start.cast(), count) }
    }
}

/// The entries for the text that starts at an address; those before it have offsets past any
/// text.
pub(crate) fn entries(start: u64) -> impl Iterator<Item = Entry> + Clone {
    // SAFETY: A constant, in read-only data.
    let user = unsafe { bindings::repmov_ex_type_uaccess };
    table().iter().map(move |raw| {
        let insn = (&raw const raw.insn as u64).wrapping_add_signed(raw.insn.into());
        Entry {
            offset: insn.wrapping_sub(start) as usize,
            user: raw.data as u32 & 0xff == user,
        }
    })
}

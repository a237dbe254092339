// SPDX-License-Identifier: GPL-2.0-only

//! Buffers between guard pages.

use kernel::{
    bindings,
    page::PAGE_SIZE,
    prelude::*, //
};

/// A buffer of whole pages with an unmapped page before and behind it.
pub(crate) struct Guarded(VVec<u8>);

/// Whether a vmalloc address is mapped, by the page tables. (Trying to read it would not do: User
/// Mode Linux takes such a fault for one that a flush mends, and tries again for ever.)
fn is_mapped(address: *const u8) -> bool {
    // SAFETY: Looks the address up and does not follow it.
    !unsafe { bindings::vmalloc_to_page(address.cast()) }.is_null()
}

impl Guarded {
    /// Allocates `len` bytes, a multiple of the page size.
    ///
    /// vmalloc leaves a page unmapped behind each area, and so in front of the next. That is not
    /// relied on but looked at: if a neighbour is mapped after all, [`EFAULT`].
    pub(crate) fn new(len: usize) -> Result<Guarded> {
        if len == 0 || len % PAGE_SIZE != 0 {
            return Err(EINVAL);
        }
        let buffer = VVec::from_elem(0u8, len, GFP_KERNEL)?;
        let start = buffer.as_ptr();
        if is_mapped(start.wrapping_sub(1)) || is_mapped(start.wrapping_add(len)) {
            return Err(EFAULT);
        }
        // The look-up must be able to say yes, or its no is worth nothing.
        if !is_mapped(start) || !is_mapped(start.wrapping_add(len - 1)) {
            return Err(EFAULT);
        }
        Ok(Guarded(buffer))
    }

    pub(crate) fn as_mut_slice(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

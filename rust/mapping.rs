// SPDX-License-Identifier: GPL-2.0-only

//! User memory: mappings in the address space of whoever uses a file, or in one that KUnit gives
//! its thread; taken away again when dropped.

use core::ptr;

use kernel::{
    bindings, current,
    error::to_result,
    page::PAGE_SIZE,
    prelude::*,
    uaccess::{
        UserPtr,
        UserSlice, //
    },
};

use crate::bindings::repmov_mman;

/// Gives a thread without user memory some, where that can be done; whether there is any.
pub(crate) fn give() -> bool {
    // SAFETY: The task is this one.
    let mm = unsafe { (*kernel::task::Task::current_raw()).mm };
    if !mm.is_null() {
        return true;
    }
    #[cfg(CONFIG_KUNIT = "y")]
    {
        // SAFETY: A thread of KUnit's, which has no mm yet and takes this one with it.
        kernel::kunit::in_kunit_test() && unsafe { bindings::kunit_attach_mm() == 0 }
    }
    #[cfg(not(CONFIG_KUNIT = "y"))]
    false
}

/// Anonymous pages of this process.
pub(crate) struct Mapping {
    address: usize,
    len: usize,
}

impl Mapping {
    /// Maps pages that may be read, and written or not, at an address or wherever there is room.
    fn map(at: Option<usize>, pages: usize, writable: bool) -> Result<Mapping> {
        let len = pages * PAGE_SIZE;
        // SAFETY: Constants, in read-only data.
        let mman = unsafe { repmov_mman };
        let rights = mman.prot_read | if writable { mman.prot_write } else { 0 };
        let fixed = at.map_or(0, |_| mman.map_fixed);
        let flags = mman.map_private | mman.map_anonymous | fixed;
        // SAFETY: New pages; a fixed address is only given inside a mapping of ours.
        let address =
            unsafe { bindings::vm_mmap(ptr::null_mut(), at.unwrap_or(0), len, rights, flags, 0) };
        if address > usize::MAX - 4096 {
            return Err(Error::from_errno(address as i32));
        }
        Ok(Mapping { address, len })
    }

    /// Pages that come in when they are touched.
    pub(crate) fn new(pages: usize) -> Result<Mapping> {
        Self::map(None, pages, true)
    }

    /// Pages behind which nothing is mapped.
    pub(crate) fn before_nothing(pages: usize) -> Result<Mapping> {
        let mut mapping = Self::map(None, pages + 1, true)?;
        let last = mapping.address + pages * PAGE_SIZE;
        // SAFETY: The last page is ours, and from here on nobody's. (Splitting a mapping takes
        // memory.)
        to_result(unsafe { bindings::vm_munmap(last, PAGE_SIZE) })?;
        mapping.len -= PAGE_SIZE;
        Ok(mapping)
    }

    /// Pages behind which there is one that may not be written.
    pub(crate) fn before_read_only(pages: usize) -> Result<Mapping> {
        let mapping = Self::map(None, pages + 1, true)?;
        let last = mapping.address + pages * PAGE_SIZE;
        // It lies inside the other, which unmaps it.
        core::mem::forget(Self::map(Some(last), 1, false)?);
        Ok(mapping)
    }

    pub(crate) fn address(&self) -> usize {
        self.address
    }

    fn slice(&self, offset: usize, len: usize) -> UserSlice {
        UserSlice::new(UserPtr::from_addr(self.address + offset), len)
    }

    pub(crate) fn fill(&self, offset: usize, bytes: &[u8]) -> Result {
        let mut writer = self.slice(offset, bytes.len()).writer();
        writer.write_slice(bytes).map_err(|_| absent())
    }

    pub(crate) fn read(&self, offset: usize, bytes: &mut [u8]) -> Result {
        let mut reader = self.slice(offset, bytes.len()).reader();
        reader.read_slice(bytes).map_err(|_| absent())
    }
}

/// Why a page of a mapping that is there does not come in.
fn absent() -> Error {
    match current!().signal_pending() {
        true => EINTR,
        false => ENOMEM,
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: The pages are ours. A failure leaves them to the end of the process.
        unsafe { bindings::vm_munmap(self.address, self.len) };
    }
}

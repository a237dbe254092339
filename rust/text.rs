// SPDX-License-Identifier: GPL-2.0-only

//! Text of any length, to be written by formatting.

use core::fmt;
use kernel::prelude::*;

/// A growing buffer. Memory running out makes the formatting fail, and nothing else does.
#[derive(Default)]
pub(crate) struct Text(KVVec<u8>);

impl Text {
    pub(crate) const fn new() -> Text {
        Text(KVVec::new())
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Formats behind what is there.
    pub(crate) fn print(&mut self, args: fmt::Arguments<'_>) -> Result {
        fmt::Write::write_fmt(self, args).map_err(|_| ENOMEM)
    }

    /// A copy.
    pub(crate) fn duplicate(&self) -> Result<Text> {
        let mut copy = KVVec::with_capacity(self.0.len(), GFP_KERNEL)?;
        copy.extend_from_slice(&self.0, GFP_KERNEL)?;
        Ok(Text(copy))
    }
}

impl fmt::Write for Text {
    fn write_str(&mut self, s: &str) -> fmt::Result {
        self.0
            .extend_from_slice(s.as_bytes(), GFP_KERNEL)
            .map_err(|_| fmt::Error)
    }
}

/// Formats a line into a [`Text`].
macro_rules! line {
    ($text:expr, $($arg:tt)*) => {
        $text.print(core::format_args!("{}\n", core::format_args!($($arg)*)))
    };
}
pub(crate) use line;

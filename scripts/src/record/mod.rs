// SPDX-License-Identifier: GPL-2.0-only

//! Records: the text that measuring leaves, where it comes from and where it is kept. Knows nothing
//! of statistics or of how it is shown.

pub mod comparable;
pub mod experiment;
pub mod parse;
pub mod provenance;
pub mod store;
#[cfg(test)]
pub mod synthetic;

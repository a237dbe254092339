// SPDX-License-Identifier: GPL-2.0-only

//! The parts of repmov that need no kernel.
//!
//! The module and the host tool both use this code; it uses neither. It is compiled into the
//! module as it stands, so there is no allocation in it and no floating point.

pub mod abi;
pub mod choice;
pub mod copies;
pub mod cost;
pub mod draw;
pub mod extable;
pub mod failure;
pub mod faults;
pub mod insn;
pub mod mask;
pub mod plan;
pub mod ranges;
pub mod record;
pub mod refusal;
pub mod returns;
pub mod stats;
pub mod text;
mod words;

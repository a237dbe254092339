// SPDX-License-Identifier: GPL-2.0-only

//! The project's own tests: `repmov check` and what it is made of. Nothing else uses them.

pub mod bad;
pub mod check;
pub mod interrupt;
pub mod lint;
pub mod plans;
pub mod stress;
pub mod suites;
pub mod tally;
pub mod truncated;

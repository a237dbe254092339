// SPDX-License-Identifier: GPL-2.0-only

//! The commands that measure and report, one file each. They know every room but `selftest`, which
//! runs them; no room below knows a command.

pub mod readme;
pub mod records;
pub mod run;
pub mod time;
pub mod verify;

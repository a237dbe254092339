// SPDX-License-Identifier: GPL-2.0-only

//! What the host's system offers, made convenient: signals, files, threads, commands and their logs.
//! Knows nothing of kernels.

pub mod atomic;
pub mod command;
pub mod files;
pub mod log;
pub mod parallel;
pub mod progress;
pub mod signals;

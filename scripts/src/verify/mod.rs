// SPDX-License-Identifier: GPL-2.0-only

//! Verdicts: candidates that a user gives, built alone, tried in guests, and what is found wrong with
//! them. Knows nothing of mails and of how a verdict is asked for.

pub mod attempt;
pub mod candidate;
pub mod compile;
pub mod given;
pub mod judge;
mod timed;
pub mod trial;
mod verdict;

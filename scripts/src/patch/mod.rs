// SPDX-License-Identifier: GPL-2.0-only

//! Patches as people send them: from a mail to the routine's source with the change applied. Knows
//! nothing of builds and guests.

pub mod apply;
pub mod diff;
pub mod mail;
pub mod page;
pub mod quote;
pub mod routine;
pub mod series;

// SPDX-License-Identifier: GPL-2.0-only

//! Reports: what records say, as text and as a page. Reads records and measures nothing.

pub mod answers;
pub mod cliffs;
pub mod cmp;
pub mod counters;
pub mod heading;
pub mod html;
pub mod rank;
pub mod table;
pub mod text;

// SPDX-License-Identifier: GPL-2.0-only

//! Statistics over records: estimates, comparisons and what follows from them. Knows nothing of how
//! it is shown.

pub mod cliff;
pub mod comparison;
pub mod crossover;
pub mod dataset;
pub mod estimate;
pub mod fit;
pub mod format;

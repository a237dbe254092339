// SPDX-License-Identifier: GPL-2.0-only

//! What an experiment was made for, in sentences.

use crate::stats::crossover;
use crate::stats::dataset::Pool;
use crate::stats::fit;

/// What an experiment was made for, where that is more than differences.
pub fn answers(pool: &Pool<'_>) -> Vec<String> {
    match pool.title {
        "setup-cost" => fit::sentences(pool),
        "threshold" => crossover::sentences(pool),
        _ => Vec::new(),
    }
}

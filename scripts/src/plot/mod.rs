// SPDX-License-Identifier: GPL-2.0-only

//! Pictures: charts and maps as SVG, and which of them a record calls for. Knows nothing of files.

pub mod axis;
pub mod bars;
pub mod chart;
pub mod choose;
pub mod heatmap;
pub mod lines;
pub mod svg;

// SPDX-License-Identifier: GPL-2.0-only

//! Maps: how a time depends on two offsets.

use crate::plot::axis::{Axis, Scale};
use crate::plot::chart::{head, left_axis, lower_axis, Frame, BOTTOM, HEIGHT, LEFT, TOP, WIDTH};
use crate::plot::svg::{Anchor, Svg};

/// A value for each of two offsets.
pub struct Map {
    pub title: String,
    pub about: String,
    pub x: String,
    pub y: String,
    /// Across, up, and how many times the middle one it is.
    pub cells: Vec<(u64, u64, f64)>,
}

impl Map {
    pub fn draw(&self) -> Svg {
        let frame = Frame {
            left: LEFT,
            right: WIDTH - 130.0,
            top: TOP,
            bottom: HEIGHT + 160.0 - BOTTOM,
        };
        let mut svg = Svg::new(WIDTH, HEIGHT + 160.0, &self.title);
        head(&mut svg, &self.title, &self.about);
        let axis = |label: &str, of: fn(&(u64, u64, f64)) -> u64| {
            let mut values: Vec<_> = self.cells.iter().map(of).collect();
            values.sort_unstable();
            values.dedup();
            let count = values.len().max(1) as f64;
            let values = values.into_iter().map(|value| value as f64);
            (Axis::new(Scale::Offset, label, values), count)
        };
        let (x, across) = axis(&self.x, |cell| cell.0);
        let (y, up) = axis(&self.y, |cell| cell.1);
        let size = (
            (frame.right - frame.left) / across,
            (frame.bottom - frame.top) / up,
        );
        let x = x.on(frame.left + size.0 / 2.0, frame.right - size.0 / 2.0);
        let y = y.on(frame.bottom - size.1 / 2.0, frame.top + size.1 / 2.0);
        left_axis(&mut svg, frame, &y);
        lower_axis(&mut svg, frame, &x);
        for &(across, up, ratio) in &self.cells {
            let centre = (x.at(across as f64), y.at(up as f64));
            let corner = (centre.0 - size.0 / 2.0, centre.1 - size.1 / 2.0);
            let hint = format!("{across}, {up}: {ratio:.2} times the median");
            svg.shade(corner, size, cover(ratio), &hint);
        }
        for (i, ratio) in [0.8, 1.0, 1.25, 1.5, 2.0, 3.0].into_iter().enumerate() {
            let corner = (frame.right + 22.0, frame.top + 24.0 * i as f64);
            svg.shade(corner, (18.0, 18.0), cover(ratio), "");
            let at = (corner.0 + 26.0, corner.1 + 13.0);
            svg.text(at, "dim", Anchor::Start, &format!("{ratio} x"));
        }
        svg
    }
}

/// How dark a cell is: from 0.8 times the median on, to 3 times.
fn cover(ratio: f64) -> f64 {
    let part = (ratio.max(0.01) / 0.8).ln() / (3.0_f64 / 0.8).ln();
    0.06 + 0.94 * part.clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_gets_darker_with_the_ratio() {
        let covers: Vec<_> = [0.5, 0.8, 1.0, 2.0, 3.0, 9.0]
            .iter()
            .map(|&r| cover(r))
            .collect();
        assert!(
            covers.windows(2).all(|pair| pair[0] <= pair[1]),
            "{covers:?}"
        );
        assert!(covers.iter().all(|cover| (0.0..=1.0).contains(cover)));
    }
}

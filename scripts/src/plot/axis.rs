// SPDX-License-Identifier: GPL-2.0-only

//! Axes: where a value lies on one, and which values are written beside it.

/// How values are spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Evenly, with round decimal ticks.
    Linear,
    /// Evenly, with ticks at multiples of a power of two.
    Offset,
    /// By their logarithm.
    Log,
    /// By their logarithm to the base 2, and 0 one step below 1.
    Bytes,
}

/// An axis from one pixel to another.
#[derive(Clone, Debug)]
pub struct Axis {
    pub kind: Scale,
    pub label: String,
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

/// A value and what is written beside it.
pub type Tick = (f64, String);

impl Axis {
    /// An axis on which all values have room.
    pub fn new(kind: Scale, label: &str, values: impl Iterator<Item = f64>) -> Axis {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values.filter(|value| value.is_finite()) {
            (low, high) = (low.min(value), high.max(value));
        }
        if low > high {
            (low, high) = (0.0, 1.0);
        }
        match kind {
            Scale::Linear => {
                let room = (0.06 * (high - low)).max(0.5);
                (low, high) = (low - room, high + room);
            }
            Scale::Log => (low, high) = (low.max(0.01) / 1.12, high.max(0.01) * 1.12),
            Scale::Offset | Scale::Bytes if low == high => high += 1.0,
            Scale::Offset | Scale::Bytes => {}
        }
        Axis {
            kind,
            label: label.into(),
            low,
            high,
            from: 0.0,
            to: 1.0,
        }
    }

    /// Puts it on the page.
    pub fn on(mut self, from: f64, to: f64) -> Axis {
        (self.from, self.to) = (from, to);
        self
    }

    fn spread(&self, value: f64) -> f64 {
        match self.kind {
            Scale::Linear | Scale::Offset => value,
            Scale::Log => value.max(0.001).ln(),
            Scale::Bytes => value.max(0.5).log2(),
        }
    }

    /// The pixel of a value.
    pub fn at(&self, value: f64) -> f64 {
        let (low, high) = (self.spread(self.low), self.spread(self.high));
        let part = (self.spread(value) - low) / (high - low);
        self.from + part * (self.to - self.from)
    }

    /// The values to write, at least `room` pixels apart.
    pub fn ticks(&self, room: f64) -> Vec<Tick> {
        let most = ((self.to - self.from).abs() / room).max(2.0);
        match self.kind {
            Scale::Linear => even(
                self.low,
                self.high,
                decimal_step(self.high - self.low, most),
            ),
            Scale::Offset => {
                let step = ((self.high - self.low) / most)
                    .max(1.0)
                    .log2()
                    .ceil()
                    .exp2();
                even(self.low, self.high, step)
            }
            Scale::Log => self.decades(room),
            Scale::Bytes => self.powers(room),
        }
    }

    /// 1, 2 and 5 of each decade, or fewer of them if there is no room, or even steps if these would
    /// be too few.
    fn decades(&self, room: f64) -> Vec<Tick> {
        for digits in [&[1.0, 2.0, 5.0][..], &[1.0]] {
            let mut ticks = Vec::new();
            for decade in -3..=9 {
                let values = digits.iter().map(|digit| digit * 10_f64.powi(decade));
                ticks.extend(values.filter(|v| (self.low..=self.high).contains(v)));
            }
            let gap = |pair: &[f64]| (self.at(pair[1]) - self.at(pair[0])).abs();
            if ticks.len() < 3 && digits.len() == 3 {
                let most = ((self.to - self.from).abs() / room / 2.0).max(2.0);
                return even(
                    self.low,
                    self.high,
                    decimal_step(self.high - self.low, most),
                );
            }
            if digits.len() == 1 || ticks.windows(2).all(|pair| gap(pair) >= room) {
                return ticks.into_iter().map(|v| (v, number(v))).collect();
            }
        }
        Vec::new()
    }

    /// Powers of two, and 0 if it is on the axis.
    fn powers(&self, room: f64) -> Vec<Tick> {
        let octaves = self.spread(self.high) - self.spread(self.low);
        let pixels = (self.to - self.from).abs() / octaves;
        let step = (room / pixels).ceil().max(1.0) as usize;
        let first = self.low.max(1.0).log2().ceil() as i32;
        let last = self.high.max(1.0).log2().floor() as i32;
        let powers = (first..=last).step_by(step).map(|power| {
            let value = f64::from(power).exp2();
            (value, bytes(value))
        });
        let nought = (self.low <= 0.0).then(|| (0.0, "0".into()));
        nought.into_iter().chain(powers).collect()
    }
}

/// The least of 1, 2 and 5 with noughts that makes at most so many steps.
fn decimal_step(span: f64, most: f64) -> f64 {
    let rough = (span / most).max(1e-9);
    let decade = 10_f64.powf(rough.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|digit| digit * decade);
    steps
        .into_iter()
        .find(|step| *step >= rough * 0.999)
        .unwrap_or(10.0 * decade)
}

/// Multiples of a step.
fn even(low: f64, high: f64, step: f64) -> Vec<Tick> {
    let first = (low / step).ceil() as i64;
    let last = (high / step).floor() as i64;
    let values = (first..=last).map(|i| i as f64 * step);
    values.map(|value| (value, number(value))).collect()
}

/// A number with no more digits than it needs.
pub fn number(value: f64) -> String {
    let text = format!("{value:.3}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" {
        "0".into()
    } else {
        text.into()
    }
}

/// Bytes with K and M, where these leave no remainder.
pub fn bytes(value: f64) -> String {
    match value as u64 {
        count if count >= 1 << 20 && count % (1 << 20) == 0 => format!("{}M", count >> 20),
        count if count >= 1 << 10 && count % (1 << 10) == 0 => format!("{}K", count >> 10),
        count => count.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(kind: Scale, values: &[f64], pixels: f64, room: f64) -> Vec<String> {
        let axis = Axis::new(kind, "", values.iter().copied()).on(0.0, pixels);
        let ticks = axis.ticks(room);
        for pair in ticks.windows(2) {
            assert!(
                axis.at(pair[1].0) - axis.at(pair[0].0) > 0.5 * room,
                "{pair:?}"
            );
        }
        ticks.into_iter().map(|(_, label)| label).collect()
    }

    #[test]
    fn ticks_are_round_and_have_room() {
        assert_eq!(
            labels(Scale::Bytes, &[0.0, 64.0], 600.0, 40.0)[..3],
            ["0", "1", "2"]
        );
        assert_eq!(
            labels(Scale::Bytes, &[1.0, 16_777_216.0], 400.0, 40.0),
            ["1", "8", "64", "512", "4K", "32K", "256K", "2M", "16M"]
        );
        assert_eq!(
            labels(Scale::Offset, &[0.0, 63.0], 600.0, 60.0)[..3],
            ["0", "8", "16"]
        );
        assert_eq!(labels(Scale::Offset, &[0.0, 4095.0], 600.0, 60.0)[1], "512");
        assert_eq!(
            labels(Scale::Linear, &[-10.0, 30.0], 300.0, 50.0),
            ["-10", "0", "10", "20", "30"]
        );
        assert_eq!(
            labels(Scale::Log, &[5.0, 800.0], 300.0, 24.0),
            ["5", "10", "20", "50", "100", "200", "500"]
        );
        assert_eq!(
            labels(Scale::Log, &[1.0, 1e6], 200.0, 24.0)[..2],
            ["1", "10"]
        );
        assert!(labels(Scale::Log, &[20.0, 21.0], 300.0, 24.0).len() >= 3);
        assert!(!labels(Scale::Log, &[], 300.0, 24.0).is_empty());
    }

    #[test]
    fn places() {
        let axis = Axis::new(Scale::Bytes, "", [0.0, 8.0].into_iter()).on(0.0, 400.0);
        let pixels: Vec<_> = [0.0, 1.0, 2.0, 8.0].iter().map(|&v| axis.at(v)).collect();
        assert_eq!(pixels, [0.0, 100.0, 200.0, 400.0]);
        assert_eq!(number(-0.0001), "0");
        assert_eq!(bytes(1536.0), "1536");
    }
}

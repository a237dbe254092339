// SPDX-License-Identifier: GPL-2.0-only

//! Charts: lines with their intervals, and bars.

use crate::plot::axis::{Axis, Scale};
use crate::plot::svg::{width, Anchor, Point, Svg, COLOURS};

pub const WIDTH: f64 = 860.0;
pub const HEIGHT: f64 = 400.0;
/// Left of the axis, above it, below it.
pub const LEFT: f64 = 66.0;
pub const TOP: f64 = 54.0;
pub const BOTTOM: f64 = 52.0;
/// Between two lines of text.
const LINE: f64 = 15.0;
/// Dots are drawn if there are no more than so many.
const DOTS: usize = 80;

/// A value and the interval in which it lies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Value {
    pub middle: f64,
    pub low: f64,
    pub high: f64,
    /// Nothing that could be said of it was resolved.
    pub unsure: bool,
}

/// A line, or the bars of one colour.
#[derive(Debug)]
pub struct Curve {
    pub name: String,
    pub colour: usize,
    pub points: Vec<(f64, Value)>,
}

/// What the bench cannot tell apart, as a band: at each value of the axis from where to where.
pub type Twins = Vec<(f64, f64, f64)>;

/// LineChart over an axis.
pub struct LineChart {
    pub title: String,
    /// What kind of plot it is, in a line below the title.
    pub about: String,
    pub x: (Scale, String),
    pub y: (Scale, String),
    pub series: Vec<Curve>,
    pub twins: Twins,
}

/// Groups of bars about nought.
pub struct BarChart {
    pub title: String,
    pub about: String,
    pub y: String,
    /// A group's name, in lines.
    pub groups: Vec<Vec<String>>,
    /// The points' places are the numbers of the groups.
    pub series: Vec<Curve>,
    /// The same.
    pub twins: Twins,
}

/// Where the plot itself lies.
#[derive(Clone, Copy)]
pub struct Frame {
    pub left: f64,
    pub right: f64,
    pub top: f64,
    pub bottom: f64,
}

fn class(series: &Curve) -> String {
    format!("s{}", series.colour % COLOURS)
}

pub fn head(svg: &mut Svg, title: &str, about: &str) {
    svg.text((LEFT, 20.0), "title", Anchor::Start, title);
    svg.text((LEFT, 38.0), "dim", Anchor::Start, about);
}

pub fn left_axis(svg: &mut Svg, frame: Frame, axis: &Axis) {
    for (value, label) in axis.ticks(26.0) {
        let y = axis.at(value);
        svg.line((frame.left, y), (frame.right, y), "grid");
        svg.text((frame.left - 7.0, y + 4.0), "dim", Anchor::End, &label);
    }
    let middle = (frame.top + frame.bottom) / 2.0;
    svg.upright((16.0, middle), "dim", &axis.label);
}

pub fn lower_axis(svg: &mut Svg, frame: Frame, axis: &Axis) {
    for (value, label) in axis.ticks(44.0) {
        let x = axis.at(value);
        svg.line((x, frame.top), (x, frame.bottom), "grid");
        svg.text((x, frame.bottom + 17.0), "dim", Anchor::Middle, &label);
    }
    let middle = (frame.left + frame.right) / 2.0;
    svg.text(
        (middle, frame.bottom + 38.0),
        "dim",
        Anchor::Middle,
        &axis.label,
    );
}

impl LineChart {
    pub fn draw(&self) -> Svg {
        let names = self.series.iter().map(|series| width(&series.name));
        let frame = Frame {
            left: LEFT,
            right: WIDTH - names.fold(90.0, f64::max) - 26.0,
            top: TOP,
            bottom: HEIGHT - BOTTOM,
        };
        let points = || self.series.iter().flat_map(|series| &series.points);
        let x = Axis::new(self.x.0, &self.x.1, points().map(|(x, _)| *x));
        let x = x.on(frame.left, frame.right);
        let spans = points().flat_map(|(_, v)| [v.low, v.high]);
        let twins = self.twins.iter().flat_map(|&(_, low, high)| [low, high]);
        let y = Axis::new(self.y.0, &self.y.1, spans.chain(twins));
        let y = y.on(frame.bottom, frame.top);
        let mut svg = Svg::new(WIDTH, HEIGHT, &self.title);
        head(&mut svg, &self.title, &self.about);
        left_axis(&mut svg, frame, &y);
        lower_axis(&mut svg, frame, &x);
        let edge = |of: fn(&(f64, f64, f64)) -> (f64, f64)| -> Vec<Point> {
            let ends = self.twins.iter().map(of);
            ends.map(|(at, value)| (x.at(at), y.at(value))).collect()
        };
        svg.band(&edge(|t| (t.0, t.1)), &edge(|t| (t.0, t.2)), "twin");
        if self.y.0 == Scale::Linear {
            svg.line((frame.left, y.at(0.0)), (frame.right, y.at(0.0)), "axis");
        }
        for series in &self.series {
            series.draw(&mut svg, &x, &y);
        }
        self.names(&mut svg, frame, &x, &y);
        svg
    }

    /// The names at the ends of their lines, moved apart where they would cover each other.
    fn names(&self, svg: &mut Svg, frame: Frame, x: &Axis, y: &Axis) {
        let ends = self.series.iter().filter_map(|series| {
            let (at, value) = series.points.last()?;
            Some((
                series.name.as_str(),
                class(series),
                (x.at(*at), y.at(value.middle)),
            ))
        });
        let mut ends: Vec<_> = ends.collect();
        if let (Some(&(at, low, high)), false) = (self.twins.last(), self.series.is_empty()) {
            let middle = (y.at(low) + y.at(high)) / 2.0;
            ends.push(("A/A", String::new(), (x.at(at), middle)));
        }
        ends.sort_by(|a, b| a.2 .1.total_cmp(&b.2 .1));
        let wanted: Vec<_> = ends.iter().map(|(.., (_, y))| *y).collect();
        let places = apart(&wanted, frame.top + 6.0, frame.bottom);
        for ((name, class, end), place) in ends.iter().zip(places) {
            let colour = if class.is_empty() { "dim" } else { class };
            let start = (frame.right + 18.0, place);
            svg.line(
                (end.0 + 3.0, end.1),
                (start.0 - 3.0, place),
                &format!("{colour} lead"),
            );
            let class = if class.is_empty() {
                "dim".into()
            } else {
                format!("{class} name")
            };
            svg.text((start.0, place + 4.0), &class, Anchor::Start, name);
        }
    }
}

/// Moves sorted places apart by [`LINE`], between two ends as far as that goes.
fn apart(wanted: &[f64], top: f64, bottom: f64) -> Vec<f64> {
    let mut places = wanted.to_vec();
    let mut least = top;
    for place in &mut places {
        *place = place.max(least);
        least = *place + LINE;
    }
    let mut most = bottom;
    for place in places.iter_mut().rev() {
        *place = place.min(most);
        most = *place - LINE;
    }
    places
}

impl Curve {
    fn draw(&self, svg: &mut Svg, x: &Axis, y: &Axis) {
        let class = class(self);
        let along = |of: fn(&Value) -> f64| -> Vec<Point> {
            let points = self.points.iter();
            points
                .map(|(at, value)| (x.at(*at), y.at(of(value))))
                .collect()
        };
        svg.band(
            &along(|v| v.low),
            &along(|v| v.high),
            &format!("{class} band"),
        );
        let line = along(|v| v.middle);
        svg.path(&line, &format!("{class} line"));
        if line.len() > DOTS {
            return;
        }
        for (&at, (place, value)) in line.iter().zip(&self.points) {
            let shape = if value.unsure { "ring" } else { "dot" };
            let hint = self.hint(&crate::plot::axis::number(*place), value);
            svg.dot(at, &format!("{class} {shape}"), &hint);
        }
    }

    fn hint(&self, place: &str, value: &Value) -> String {
        format!(
            "{} at {place}: {:.2} ({:.2} to {:.2}){}",
            self.name,
            value.middle,
            value.low,
            value.high,
            if value.unsure { ", not resolved" } else { "" }
        )
    }
}

impl BarChart {
    pub fn draw(&self) -> Svg {
        let lines = self.groups.iter().map(Vec::len).max().unwrap_or(0);
        let names: Vec<_> = self.series.iter().map(|s| s.name.as_str()).collect();
        let frame = Frame {
            left: LEFT,
            right: WIDTH - 20.0,
            top: TOP + 24.0,
            bottom: HEIGHT - 14.0 - LINE * lines as f64,
        };
        let points = || self.series.iter().flat_map(|series| &series.points);
        let spans = points().flat_map(|(_, v)| [v.low, v.high, 0.0]);
        let twins = self.twins.iter().flat_map(|&(_, low, high)| [low, high]);
        let y = Axis::new(Scale::Linear, &self.y, spans.chain(twins));
        let y = y.on(frame.bottom, frame.top);
        let mut svg = Svg::new(WIDTH, HEIGHT, &self.title);
        head(&mut svg, &self.title, &self.about);
        legend(&mut svg, &names, |at| class(&self.series[at]));
        left_axis(&mut svg, frame, &y);
        let step = (frame.right - frame.left) / self.groups.len().max(1) as f64;
        let left = |group: f64| frame.left + group * step;
        for &(group, low, high) in &self.twins {
            let corner = (left(group) + 1.0, y.at(high));
            svg.rect(corner, (step - 2.0, y.at(low) - y.at(high)), "twin", "A/A");
        }
        svg.line((frame.left, y.at(0.0)), (frame.right, y.at(0.0)), "axis");
        for (i, series) in self.series.iter().enumerate() {
            let bar = (0.8 * step / self.series.len() as f64).min(36.0);
            let shift = (step - bar * self.series.len() as f64) / 2.0 + i as f64 * bar;
            for (group, value) in &series.points {
                series.bar(&mut svg, &y, left(*group) + shift, bar, value);
            }
        }
        for (i, group) in self.groups.iter().enumerate() {
            for (line, text) in group.iter().enumerate() {
                let at = (
                    left(i as f64 + 0.5),
                    frame.bottom + LINE * (line as f64 + 1.0),
                );
                svg.text(at, "dim", Anchor::Middle, text);
            }
        }
        svg
    }
}

impl Curve {
    /// A bar from nought, with its interval as a whisker; a faint one if nothing was resolved.
    fn bar(&self, svg: &mut Svg, y: &Axis, left: f64, width: f64, value: &Value) {
        let (from, to) = (y.at(0.0), y.at(value.middle));
        let shape = if value.unsure { "faint" } else { "bar" };
        let corner = (left + 1.0, from.min(to));
        let size = ((width - 2.0).max(1.0), (from - to).abs().max(0.5));
        let class = format!("{} {shape}", class(self));
        svg.rect(corner, size, &class, &self.hint("this group", value));
        let middle = left + width / 2.0;
        svg.line(
            (middle, y.at(value.low)),
            (middle, y.at(value.high)),
            "whisker",
        );
    }
}

/// Names beside squares of their colour, in a row below the title.
fn legend(svg: &mut Svg, names: &[&str], class: impl Fn(usize) -> String) {
    let mut x = LEFT;
    for (i, name) in names.iter().enumerate() {
        svg.rect((x, 50.0), (11.0, 11.0), &format!("{} bar", class(i)), "");
        svg.text(
            (x + 16.0, 60.0),
            &format!("{} name", class(i)),
            Anchor::Start,
            name,
        );
        x += 36.0 + width(name);
    }
    svg.rect((x, 50.0), (11.0, 11.0), "twin", "");
    svg.text(
        (x + 16.0, 60.0),
        "dim",
        Anchor::Start,
        "A/A: nothing smaller is resolved",
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_do_not_cover_each_other() {
        for wanted in [
            vec![100.0, 100.0, 101.0, 300.0],
            vec![349.0, 349.0, 349.5],
            vec![1.0, 2.0],
        ] {
            let places = apart(&wanted, 60.0, 350.0);
            assert!(
                places.iter().all(|place| (60.0..=350.0).contains(place)),
                "{places:?}"
            );
            assert!(
                places.windows(2).all(|pair| pair[1] - pair[0] >= LINE),
                "{places:?}"
            );
        }
    }

    #[test]
    fn an_empty_chart_is_no_error() {
        let lines = LineChart {
            title: "t".into(),
            about: String::new(),
            x: (Scale::Bytes, "x".into()),
            y: (Scale::Log, "y".into()),
            series: Vec::new(),
            twins: Vec::new(),
        };
        let text = lines.draw().file();
        assert!(text.contains("</svg>") && !text.contains("NaN"), "{text}");
    }
}

// SPDX-License-Identifier: GPL-2.0-only

//! A picture as SVG. What it looks like is in a style sheet of classes, so that it follows the page,
//! light or dark; a crate for plots would write colours into every element.

use std::fmt::{Display, Write};

/// The style of every picture. The colours of the series differ in lightness as well as in hue, so
/// that they can be told apart by whoever does not see all hues.
pub const STYLE: &str = "\
svg.plot{--paper:#fff;--ink:#1b1d21;--dim:#5d636d;--grid:#e4e6ea;--twin:#8a909a;
--s0:#4b5058;--s1:#1464c0;--s2:#c24a0a;--s3:#0f8050;--s4:#8436b8;--s5:#967000;--s6:#007f94;--s7:#c02a62;
background:var(--paper);font:12px system-ui,sans-serif;max-width:100%;height:auto}
@media(prefers-color-scheme:dark){svg.plot{--paper:#15171b;--ink:#e8eaee;--dim:#a3a9b4;--grid:#2d3138;
--twin:#8a909a;--s0:#c3c8d0;--s1:#6cb0ff;--s2:#ff9a5c;--s3:#4fd69a;--s4:#cf9bf5;--s5:#e3bd45;--s6:#4fcfe3;--s7:#ff86b0}}
svg.plot text{fill:var(--ink)}
svg.plot .paper{fill:var(--paper)}
svg.plot .title{font-size:14px;font-weight:600}
svg.plot text.warn{fill:var(--s2);font-weight:600}
svg.plot .dim{fill:var(--dim)}
svg.plot .grid{stroke:var(--grid)}
svg.plot .axis{stroke:var(--dim)}
svg.plot .twin{fill:var(--twin);opacity:.28}
svg.plot .s0{--c:var(--s0)} svg.plot .s1{--c:var(--s1)} svg.plot .s2{--c:var(--s2)} svg.plot .s3{--c:var(--s3)}
svg.plot .s4{--c:var(--s4)} svg.plot .s5{--c:var(--s5)} svg.plot .s6{--c:var(--s6)} svg.plot .s7{--c:var(--s7)}
svg.plot .line{fill:none;stroke:var(--c);stroke-width:1.7;stroke-linejoin:round}
svg.plot .band{fill:var(--c);opacity:.25}
svg.plot .bar{fill:var(--c)}
svg.plot .faint{fill:var(--c);opacity:.35}
svg.plot .dot{fill:var(--c)}
svg.plot .ring{fill:var(--paper);stroke:var(--c);stroke-width:1.3}
svg.plot .lead{stroke:var(--c,var(--dim));opacity:.6}
svg.plot .whisker{stroke:var(--ink)}
svg.plot text.name{fill:var(--c);font-weight:600}
";

/// How many colours the style has.
pub const COLOURS: usize = 8;

pub type Point = (f64, f64);

/// Which end of a text its place is.
#[derive(Clone, Copy)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

/// A picture; the units are pixels, from the upper left corner.
pub struct Svg {
    width: f64,
    height: f64,
    title: String,
    body: String,
}

impl Svg {
    /// `title` is what a screen reader says.
    pub fn new(width: f64, height: f64, title: &str) -> Svg {
        Svg {
            width,
            height,
            title: title.into(),
            body: String::new(),
        }
    }

    pub fn text(&mut self, at: Point, class: &str, anchor: Anchor, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        self.push(format_args!(
            "<text x=\"{:.1}\" y=\"{:.1}\" class=\"{class}\" text-anchor=\"{anchor}\">{}</text>",
            at.0,
            at.1,
            escape(text)
        ));
    }

    /// A text that is read from below.
    pub fn upright(&mut self, at: Point, class: &str, text: &str) {
        self.push(format_args!(
            "<text transform=\"translate({:.1} {:.1}) rotate(-90)\" class=\"{class}\" \
             text-anchor=\"middle\">{}</text>",
            at.0,
            at.1,
            escape(text)
        ));
    }

    /// A line of warning below all of it.
    pub fn stamp(&mut self, words: &str) {
        self.height += 20.0;
        let at = (self.width / 2.0, self.height - 8.0);
        self.text(at, "warn", Anchor::Middle, words);
    }

    pub fn line(&mut self, from: Point, to: Point, class: &str) {
        self.push(format_args!(
            "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" class=\"{class}\"/>",
            from.0, from.1, to.0, to.1
        ));
    }

    pub fn path(&mut self, points: &[Point], class: &str) {
        let points = joined(points.iter());
        self.push(format_args!(
            "<polyline points=\"{points}\" class=\"{class}\"/>"
        ));
    }

    /// What is between two lines that have as many points each.
    pub fn band(&mut self, lower: &[Point], upper: &[Point], class: &str) {
        let points = joined(lower.iter().chain(upper.iter().rev()));
        self.push(format_args!(
            "<polygon points=\"{points}\" class=\"{class}\"/>"
        ));
    }

    /// `corner` is the upper left one; `hint` is shown to whoever points at it.
    pub fn rect(&mut self, corner: Point, size: Point, class: &str, hint: &str) {
        let hint = title(hint);
        self.push(format_args!(
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" class=\"{class}\">\
             {hint}</rect>",
            corner.0, corner.1, size.0, size.1
        ));
    }

    /// The same, more or less covering: 0 to 1.
    pub fn shade(&mut self, corner: Point, size: Point, cover: f64, hint: &str) {
        let hint = title(hint);
        self.push(format_args!(
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.2}\" height=\"{:.2}\" class=\"s1 bar\" \
             fill-opacity=\"{cover:.2}\">{hint}</rect>",
            corner.0, corner.1, size.0, size.1
        ));
    }

    pub fn dot(&mut self, at: Point, class: &str, hint: &str) {
        let hint = title(hint);
        self.push(format_args!(
            "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"2.6\" class=\"{class}\">{hint}</circle>",
            at.0, at.1
        ));
    }

    fn push(&mut self, element: impl Display) {
        let _ = writeln!(self.body, "{element}");
    }

    /// As part of a page that has [`STYLE`].
    pub fn inline(&self) -> String {
        self.element("", "")
    }

    /// As a file of its own.
    pub fn file(&self) -> String {
        let style = format!("<style>{STYLE}</style>\n");
        self.element(" xmlns=\"http://www.w3.org/2000/svg\"", &style)
    }

    fn element(&self, attributes: &str, style: &str) -> String {
        let (width, height) = (self.width, self.height);
        format!(
            "<svg{attributes} class=\"plot\" width=\"{width:.0}\" height=\"{height:.0}\" \
             viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\">\n{}\n{style}\
             <rect width=\"100%\" height=\"100%\" class=\"paper\"/>\n{}</svg>\n",
            title(&self.title),
            self.body
        )
    }
}

fn joined<'p>(points: impl Iterator<Item = &'p Point>) -> String {
    let points = points.map(|(x, y)| format!("{x:.1},{y:.1}"));
    points.collect::<Vec<_>>().join(" ")
}

fn title(text: &str) -> String {
    match text.is_empty() {
        true => String::new(),
        false => format!("<title>{}</title>", escape(text)),
    }
}

/// A text as markup takes it.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// About how wide a text is, in pixels: it is not known here which font there will be, so rather
/// more than less.
pub fn width(text: &str) -> f64 {
    7.0 * text.chars().count() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_record_says_is_no_markup() {
        let mut svg = Svg::new(10.0, 10.0, "<a & \"b\">");
        svg.text((0.0, 0.0), "dim", Anchor::End, "<script>");
        let text = svg.file();
        assert!(text.contains("&lt;script&gt;"), "{text}");
        assert!(text.contains("<title>&lt;a &amp; &quot;b&quot;&gt;</title>"));
        assert!(text.contains("prefers-color-scheme:dark"));
        assert!(!svg.inline().contains("<style>"));
    }

    #[test]
    fn there_is_a_colour_for_every_class_in_light_and_dark() {
        for i in 0..COLOURS {
            assert!(STYLE.contains(&format!(".s{i}{{--c:var(--s{i})}}")));
            assert_eq!(STYLE.matches(&format!("--s{i}:#")).count(), 2);
        }
    }
}

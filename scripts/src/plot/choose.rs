// SPDX-License-Identifier: GPL-2.0-only

//! Which charts tell what a pool holds.

use crate::plot::axis::{bytes, Scale};
use crate::plot::bars::{bars, Bar};
use crate::plot::heatmap::Map;
use crate::plot::lines::{Scene, View};
use crate::plot::svg::Svg;
use crate::record::parse::Place;
use crate::stats::comparison::{contrasts, group, places, title, Chosen, Contrast, Side};
use crate::stats::dataset::Pool;
use crate::stats::format::{distinct, ns};

/// With fewer lengths there are bars, no lines.
const LENGTHS: usize = 5;
/// With more offsets they are the axis.
const OFFSETS: usize = 8;
const PAGE: u64 = 4096;

/// A picture and what its file is called.
pub struct Plot {
    pub name: String,
    pub svg: Svg,
}

/// All charts of the pools of one experiment, each with the stamp if there is one.
pub fn plots(pools: &[&Pool<'_>], stamp: Option<&str>) -> Vec<Plot> {
    let mut charts = Vec::new();
    let mut rest: Vec<Bar<'_, '_>> = Vec::new();
    for &pool in pools {
        for scene in scenes(pool) {
            for of in distinct(&pool.places, group) {
                let places = places(pool, of, scene.sides[0].mask);
                let offsets = distinct(&places, |p| (p.src, p.dst, p.fault));
                let lengths = distinct(&places, |p| p.len);
                let name = format!("{} {}", title(&of), scene.name);
                if offsets.len() > OFFSETS {
                    by_offset(pool, &scene, &name, &places, &mut charts);
                } else if lengths.len() >= LENGTHS {
                    by_length(pool, &scene, &name, &places, &mut charts);
                } else {
                    let routine = of.routine;
                    rest.extend(places.into_iter().map(|place| Bar {
                        pool,
                        name: format!("{routine} {}", scene.name),
                        contrasts: scene.contrasts.clone(),
                        place,
                    }));
                }
            }
        }
    }
    for name in distinct(&rest, |bar| bar.name.clone()) {
        let of: Vec<_> = rest.iter().filter(|bar| bar.name == name).collect();
        charts.extend(bars(&name, &of));
    }
    let experiment = pools.first().map_or("timings", |pool| pool.title);
    let stem = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let experiment: String = experiment.chars().take(32).map(stem).collect();
    for (chart, words) in charts.iter_mut().zip(stamp.into_iter().cycle()) {
        chart.stamp(words);
    }
    let named = charts.into_iter().enumerate().map(|(i, svg)| Plot {
        name: format!("{experiment}-{:02}.svg", i + 1),
        svg,
    });
    named.collect()
}

/// A scene for each mask, or one for all masks if there is but one candidate.
fn scenes<'a>(pool: &Pool<'a>) -> Vec<Scene<'a>> {
    // Nobody was chosen, so nobody can be missing.
    let all = contrasts(pool, Chosen::default()).unwrap_or_default();
    let name = |contrast: &Contrast<'a>| match contrast.before.mask == contrast.after.mask {
        true => contrast.before.mask,
        false => contrast.before.candidate,
    };
    let mut scenes = Vec::new();
    for of in distinct(&all, name) {
        let contrasts: Vec<_> = all.iter().filter(|c| name(c) == of).copied().collect();
        let mut sides = vec![contrasts[0].before];
        sides.extend(contrasts.iter().map(|contrast| contrast.after));
        scenes.push(Scene {
            name: of,
            sides,
            contrasts,
        });
    }
    if scenes.is_empty() {
        // One candidate under one mask.
        scenes.extend(pool.places.first().map(|place| Scene {
            name: place.mask,
            sides: vec![Side {
                candidate: pool.base,
                mask: place.mask,
            }],
            contrasts: Vec::new(),
        }));
    }
    scenes
}

/// Two charts over the length for each pair of offsets.
fn by_length<'a>(
    pool: &Pool<'a>,
    scene: &Scene<'a>,
    name: &str,
    places: &[Place<'a>],
    charts: &mut Vec<Svg>,
) {
    for (src, dst, fault) in distinct(places, |p| (p.src, p.dst, p.fault)) {
        let here = |p: &&Place<'a>| (p.src, p.dst, p.fault) == (src, dst, fault);
        let mut title = name.to_string();
        if (src, dst) != (0, 0) {
            title += &format!(", src={src} dst={dst}");
        }
        if let Some(byte) = fault {
            title += &format!(" fault={byte}");
        }
        let view = View {
            pool,
            scene,
            title,
            places: sorted(places.iter().filter(here).copied().collect(), |p| p.len),
            x: length_axis(places),
            of: |p| p.len,
        };
        charts.extend(view.charts("length"));
    }
}

/// Evenly if every length of a short span was measured.
fn length_axis(places: &[Place<'_>]) -> (Scale, &'static str) {
    let lengths = distinct(places, |p| p.len);
    let longest = lengths.iter().max().copied().unwrap_or(0);
    match longest <= 2 * lengths.len() as u64 {
        true => (Scale::Offset, "bytes per call"),
        false => (Scale::Bytes, "bytes per call (logarithmic)"),
    }
}

/// Two charts over the offset for each length, or a map if both offsets vary.
fn by_offset<'a>(
    pool: &Pool<'a>,
    scene: &Scene<'a>,
    name: &str,
    places: &[Place<'a>],
    charts: &mut Vec<Svg>,
) {
    let varies = |of: fn(&Place<'a>) -> u64| distinct(places, of).len() > 1;
    let faults = places[0].fault.is_some();
    let (src, dst) = (varies(|p| p.src), varies(|p| p.dst));
    for len in distinct(places, |p| p.len) {
        let here: Vec<_> = places.iter().filter(|p| p.len == len).copied().collect();
        let title = format!("{name}, {} bytes", bytes(len as f64));
        if src && dst && !faults {
            charts.extend(
                scene
                    .sides
                    .iter()
                    .map(|side| map(pool, *side, &title, &here)),
            );
            continue;
        }
        let (x, of): (_, fn(&Place<'a>) -> u64) = match (faults, src) {
            (true, _) => ("byte that faults", |p| p.fault.unwrap_or(0)),
            (_, true) => ("(source - destination) modulo 4096, bytes", |p| {
                (PAGE + p.src - p.dst % PAGE) % PAGE
            }),
            _ => ("destination's offset from a page, bytes", |p| p.dst),
        };
        let view = View {
            pool,
            scene,
            title,
            places: sorted(here, of),
            x: (Scale::Offset, x),
            of,
        };
        charts.extend(view.charts("offset"));
    }
}

fn sorted<'a>(mut places: Vec<Place<'a>>, of: fn(&Place<'a>) -> u64) -> Vec<Place<'a>> {
    places.sort_by_key(of);
    places
}

/// The times of one side over both offsets.
fn map<'a>(pool: &Pool<'a>, side: Side<'a>, title: &str, places: &[Place<'a>]) -> Svg {
    let times = places.iter().filter_map(|&place| {
        let time = pool.time(side.at(place))?.median;
        Some((place, time))
    });
    let times: Vec<_> = times.collect();
    let mut sorted: Vec<_> = times.iter().map(|(_, time)| *time).collect();
    sorted.sort_unstable();
    let middle = sorted.get(sorted.len() / 2).copied().unwrap_or(1).max(1);
    let cell =
        |(place, time): &(Place<'a>, i64)| (place.src, place.dst, *time as f64 / middle as f64);
    Map {
        title: format!("{title}: {} {} by both offsets", side.candidate, side.mask),
        about: format!("time as a multiple of the median of all, {} ns", ns(middle)),
        x: "source's offset from a page, bytes".into(),
        y: "destination's offset from a page, bytes".into(),
        cells: times.iter().map(cell).collect(),
    }
    .draw()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::parse::parts;
    use crate::record::synthetic::Synthetic;
    use crate::stats::dataset::pools;

    /// The charts' titles, which are the pictures' first elements.
    fn titles(synthetic: &Synthetic) -> Vec<String> {
        let files = [synthetic.file()];
        let parts = parts(&files).unwrap();
        let pools = pools(&parts).unwrap();
        let plots = plots(&pools.iter().collect::<Vec<_>>(), Some("a stamp"));
        let title = |plot: &Plot| {
            let text = plot.svg.file();
            assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
            assert!(text.contains(">a stamp<"), "{text}");
            let title = text.split("<title>").nth(1).unwrap();
            title.split('<').next().unwrap().to_string()
        };
        plots.iter().map(title).collect()
    }

    #[test]
    fn lengths_are_lines_for_each_mask() {
        let mut synthetic =
            Synthetic::lengths(&[0, 8, 64, 512, 4096]).candidate("new", |time| time * 0.9);
        synthetic.masks = vec!["e0f0", "e1f0"];
        assert_eq!(
            titles(&synthetic),
            [
                "memcpy e0f0: time by length",
                "memcpy e0f0: change against orig",
                "memcpy e1f0: time by length",
                "memcpy e1f0: change against orig"
            ]
        );
    }

    #[test]
    fn offsets_are_lines_or_maps() {
        let mut synthetic = Synthetic::lengths(&[512]);
        synthetic.masks = vec!["e0f0", "e0f1"];
        synthetic.dst = (0..64).collect();
        assert_eq!(
            titles(&synthetic),
            [
                "memcpy orig, 512 bytes: time by offset",
                "memcpy orig, 512 bytes: change against e0f0"
            ]
        );
        synthetic.dst = (0..8).collect();
        synthetic.src = (0..8).collect();
        assert_eq!(
            titles(&synthetic)[1],
            "memcpy orig, 512 bytes: orig e0f1 by both offsets"
        );
    }

    #[test]
    fn few_places_are_bars() {
        let mut synthetic = Synthetic::lengths(&[512, 4096]).candidate("new", |time| time * 0.9);
        synthetic.caches = vec!["l2-src", "cold-dst"];
        assert_eq!(
            titles(&synthetic),
            ["memcpy e1f0: change against orig e1f0"]
        );
    }

    #[test]
    fn a_lone_candidate_is_shown_too() {
        let titles = titles(&Synthetic::lengths(&[0, 8, 64, 512, 4096]));
        assert_eq!(
            titles,
            [
                "memcpy e1f0: time by length",
                "memcpy e1f0: change against orig"
            ]
        );
    }
}

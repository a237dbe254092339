// SPDX-License-Identifier: GPL-2.0-only

//! `repmov readme`: the README's tables and pictures, made again from the records that are kept.
//!
//! A table stands between a line `<!-- table EXPERIMENT words -->`, where the words say which of its
//! rows (`len=0,8 mask=e1f0`) and candidates (`after=NAME`), or that only what the experiment was
//! made for is wanted (`only=answers`), and a line `<!-- end -->`. A picture
//! is one that the README names in [`FOLDER`].

use anyhow::{bail, ensure, Context, Result};
use std::fs;
use std::path::Path;

use crate::os::atomic::put;
use crate::os::progress::print;
use crate::plot::choose::plots;
use crate::record::comparable::{admit, Alike};
use crate::record::parse::{parts, read, Place};
use crate::report::answers::answers;
use crate::report::{heading, table};
use crate::stats::comparison::Chosen;
use crate::stats::dataset::{pools, Pool};
use crate::stats::format::wrap;

/// Where the records and the pictures are, from the checkout.
const FOLDER: &str = "results/reference";

/// Writes what is not as the records say, or fails if it is not and `only_look`.
pub fn run(checkout: &Path, only_look: bool) -> Result<bool> {
    let path = checkout.join("README.md");
    let old = fs::read_to_string(&path).context("README.md")?;
    let mut stale = Vec::new();
    let new = tables(checkout, &old)?;
    if new != old {
        stale.push("README.md".to_string());
        if !only_look {
            put(&path, &new)?;
        }
    }
    for name in pictures(&old) {
        let path = checkout.join(FOLDER).join(name);
        let new = picture(checkout, name)?;
        if fs::read_to_string(&path).ok().as_deref() != Some(&new) {
            stale.push(format!("{FOLDER}/{name}"));
            if !only_look {
                put(&path, new)?;
            }
        }
    }
    ensure!(
        !only_look || stale.is_empty(),
        "not as the records say: {} (make readme)",
        stale.join(" ")
    );
    for name in stale {
        print(&name);
    }
    Ok(true)
}

/// The text with every table made again.
fn tables(checkout: &Path, text: &str) -> Result<String> {
    let mut new = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        new += line;
        new.push('\n');
        let words = line.strip_prefix("<!-- table ");
        let Some(words) = words.and_then(|words| words.strip_suffix(" -->")) else {
            continue;
        };
        let table = table_of(checkout, words).with_context(|| line.to_string())?;
        new += &format!("```\n{}\n```\n<!-- end -->\n", table.trim_matches('\n'));
        ensure!(
            lines.by_ref().any(|line| line == "<!-- end -->"),
            "{line} has no end"
        );
    }
    Ok(new)
}

/// One table, by the words of its line.
fn table_of(checkout: &Path, words: &str) -> Result<String> {
    let mut words = words.split_whitespace();
    let name = words.next().context("no experiment")?;
    let words: Vec<_> = words.filter_map(|word| word.split_once('=')).collect();
    let value = |key| words.iter().find(|(k, _)| *k == key).map(|(_, v)| *v);
    let files = read(&[checkout.join(FOLDER).join(format!("{name}.tsv"))])?;
    let parts = parts(&files)?;
    admit(&parts, Alike::Machine, false)?;
    let chosen = Chosen {
        before: value("before"),
        after: value("after"),
    };
    let mut text = String::new();
    for mut pool in pools(&parts)? {
        let said = answers(&pool);
        // Of all places, not of those that are shown.
        let trust = [heading::twins(&pool), heading::resolution(&pool)];
        keep(&mut pool, &words)?;
        if pool.places.is_empty() {
            continue;
        }
        if value("only") != Some("answers") {
            text += &table::blocks(&pool, chosen)?;
        }
        for answer in said {
            text += &wrap(&format!("- {answer}"), 2);
        }
        for line in trust {
            text += &wrap(&line, 2);
        }
    }
    ensure!(!text.is_empty(), "no rows");
    Ok(text)
}

/// Keeps the places that are asked for.
fn keep(pool: &mut Pool<'_>, words: &[(&str, &str)]) -> Result<()> {
    for (key, values) in words {
        let of = |place: &Place<'_>| -> Option<String> {
            Some(match *key {
                "routine" => place.routine.into(),
                "mask" => place.mask.into(),
                "cache" => place.cache.into(),
                "draw" => place.draw.into(),
                "entry" => place.entry.to_string(),
                "len" => place.len.to_string(),
                "src" => place.src.to_string(),
                "dst" => place.dst.to_string(),
                _ => return None,
            })
        };
        if matches!(*key, "before" | "after" | "only") {
            continue;
        }
        let among = |value: String| values.split(',').any(|one| one == value);
        if pool.places.iter().any(|place| of(place).is_none()) {
            bail!("{key}: no such word");
        }
        pool.places.retain(|place| of(place).is_some_and(among));
    }
    Ok(())
}

/// The pictures that a text names.
fn pictures(text: &str) -> Vec<&str> {
    let mut names: Vec<_> = text
        .split(&format!("{FOLDER}/"))
        .skip(1)
        .filter_map(|rest| {
            let end = rest.find(".svg")? + 4;
            rest.get(..end)
                .filter(|name| !name.contains(char::is_whitespace))
        })
        .collect();
    names.sort();
    names.dedup();
    names
}

/// One picture, by its name: the experiment's and a number.
fn picture(checkout: &Path, name: &str) -> Result<String> {
    let experiment = name
        .rsplit_once('-')
        .map_or(name, |(experiment, _)| experiment);
    let files = read(&[checkout.join(FOLDER).join(format!("{experiment}.tsv"))])?;
    let parts = parts(&files)?;
    admit(&parts, Alike::Machine, false)?;
    let pools = pools(&parts)?;
    let all = plots(&pools.iter().collect::<Vec<_>>(), None);
    let plot = all.iter().find(|plot| plot.name == name);
    let names = || {
        all.iter()
            .map(|plot| plot.name.as_str())
            .collect::<Vec<_>>()
    };
    let plot = plot.with_context(|| format!("no picture {name}: there are {:?}", names()))?;
    Ok(plot.svg.file())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::atomic::on_a_full_disk;
    use crate::record::synthetic::Synthetic;

    fn checkout(name: &str, readme: &str) -> std::path::PathBuf {
        let dir = std::env::temp_dir().join(format!("repmov-{name}-{}", std::process::id()));
        fs::create_dir_all(dir.join(FOLDER)).unwrap();
        let record = Synthetic::lengths(&[8, 64, 512]).candidate("new", |time| time * 0.5);
        fs::write(dir.join(FOLDER).join("lengths.tsv"), record.text()).unwrap();
        fs::write(dir.join("README.md"), readme).unwrap();
        dir
    }

    #[test]
    fn what_is_stale_is_made_again() {
        let readme = "# x\n<!-- table lengths len=8,64 -->\nold\n<!-- end -->\nlast\n\
                      ![x](results/reference/lengths-01.svg)\n";
        let dir = checkout("readme", readme);
        let stale = run(&dir, true).unwrap_err().to_string();
        assert!(
            stale.contains("README.md results/reference/lengths-01.svg"),
            "{stale}"
        );
        run(&dir, false).unwrap();
        let text = fs::read_to_string(dir.join("README.md")).unwrap();
        assert!(text.contains("-50.0 %") && !text.contains("old"), "{text}");
        assert!(!text.contains("     512"), "{text}");
        assert!(text.ends_with("lengths-01.svg)\n"), "{text}");
        run(&dir, true).unwrap();
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn on_a_full_disk_the_old_text_stays() {
        on_a_full_disk(
            "cmd::readme::tests::on_a_full_disk_the_old_text_stays",
            || {
                let (table, end) = ("<!-- table lengths -->\nold\n", "<!-- end -->\n");
                let dir = checkout("full", &(table.to_string() + end));
                // What a reader has written stays, and that is more than the disk now holds.
                let readme = dir.join("README.md");
                let page = "x".repeat(32_700) + "\n";
                fs::write(&readme, page.clone() + table + end).unwrap();
                let old = fs::read_to_string(&readme).unwrap();
                let error = format!("{:#}", run(&dir, false).unwrap_err());
                assert!(error.contains("README.md: File too large"), "{error}");
                assert_eq!(fs::read_to_string(&readme).unwrap(), old);
                fs::remove_dir_all(dir).unwrap();
            },
        );
    }

    #[test]
    fn what_cannot_be_made_is_told() {
        for (line, words) in [
            ("<!-- table nothing -->\n<!-- end -->\n", "cannot read"),
            ("<!-- table lengths len=7 -->\n<!-- end -->\n", "no rows"),
            (
                "<!-- table lengths size=7 -->\n<!-- end -->\n",
                "size: no such word",
            ),
            ("<!-- table lengths -->\n", "has no end"),
            (
                "results/reference/lengths-77.svg\n",
                "no picture lengths-77.svg",
            ),
        ] {
            let dir = checkout("untold", line);
            let error = format!("{:#}", run(&dir, false).unwrap_err());
            assert!(error.contains(words), "{line}: {error}");
            fs::remove_dir_all(dir).unwrap();
        }
    }
}

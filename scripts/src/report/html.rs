// SPDX-License-Identifier: GPL-2.0-only

//! `repmov report`: a page that needs nothing else, and its pictures as files.

use anyhow::{Context, Result};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use crate::os::atomic::put;
use crate::plot::choose::{plots, Plot};
use crate::plot::svg::{escape, STYLE};
use crate::report::answers::answers;
use crate::report::cliffs::warnings;
use crate::report::heading;
use crate::report::table;
use crate::stats::comparison::Chosen;
use crate::stats::dataset::Pool;
use crate::stats::format::distinct;

const PAGE_STYLE: &str = "\
:root{color-scheme:light dark;--page:#fff;--text:#1b1d21;--faint:#5d636d;--rule:#d9dce2;--warn:#8a3b00;--warnback:#fff1e2}
@media(prefers-color-scheme:dark){:root{--page:#15171b;--text:#e8eaee;--faint:#a3a9b4;--rule:#343942;--warn:#ffc48a;--warnback:#3a2610}}
body{background:var(--page);color:var(--text);font:15px/1.5 system-ui,sans-serif;max-width:54rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.5rem} h2{font-size:1.2rem;border-top:1px solid var(--rule);padding-top:1rem;margin-top:2.5rem} h3{font-size:1rem}
p.warn{color:var(--warn);background:var(--warnback);padding:.5rem .8rem;font-weight:600}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.1rem 1rem;font-size:.9rem} dt{color:var(--faint)} dd{margin:0} dd,li,p,code{overflow-wrap:anywhere}
pre{font-size:.82rem;line-height:1.35;overflow-x:auto}
figure{margin:1.2rem 0} summary{cursor:pointer;color:var(--faint)}
";

/// Headers that the report has said otherwise, or that are different for each boot.
const SAID: [&str; 5] = ["plan", "experiment", "boot", "about", "empty call"];

/// So many values of one header are shown.
const VALUES: usize = 3;

/// Writes the page and its pictures; where the page is.
///
/// # Errors
///
/// Names the file or folder that cannot be written.
pub fn write(pools: &[Pool<'_>], stamp: Option<&str>, folder: &Path) -> Result<PathBuf> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let mut sections = String::new();
    for title in distinct(pools, |pool| pool.title) {
        let of: Vec<_> = pools.iter().filter(|pool| pool.title == title).collect();
        let plots = plots(&of, stamp);
        for plot in &plots {
            put(&folder.join(&plot.name), plot.svg.file())?;
        }
        sections += &section(&of, &plots, stamp)?;
    }
    let page = folder.join("report.html");
    put(&page, html(pools, stamp, &sections))?;
    Ok(page)
}

fn html(pools: &[Pool<'_>], stamp: Option<&str>, sections: &str) -> String {
    let mut text = format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>repmov</title>\n\
         <style>\n{PAGE_STYLE}{STYLE}</style>\n<h1>repmov: {}</h1>\n",
        escape(&distinct(pools, |pool| pool.title).join(", "))
    );
    text += &warning(stamp);
    let machine = pools.first().map(heading::machine).unwrap_or_default();
    let _ = writeln!(text, "<p>{}</p>", escape(&machine));
    text += "<details><summary>All that the records say of where they were made</summary>\n<dl>\n";
    for (key, value) in facts(pools) {
        let _ = writeln!(text, "<dt>{}</dt><dd>{}</dd>", escape(&key), escape(&value));
    }
    text += "</dl></details>\n";
    let _ = writeln!(text, "<p>{}</p>", escape(heading::HOW));
    let cliffs = warnings(pools);
    text += &list("Cliffs", &cliffs);
    text + sections
}

fn warning(stamp: Option<&str>) -> String {
    match stamp {
        Some(words) => format!("<p class=\"warn\">{}</p>\n", escape(words)),
        None => String::new(),
    }
}

/// What the headers say, each value once.
fn facts(pools: &[Pool<'_>]) -> Vec<(String, String)> {
    let parts: Vec<_> = pools.iter().flat_map(|pool| &pool.parts).collect();
    let all: Vec<_> = parts.iter().flat_map(|part| &part.headers).collect();
    let keys = distinct(&all, |(key, _)| *key);
    let told = keys.into_iter().filter(|key| !SAID.contains(key));
    told.map(|key| {
        let of: Vec<_> = all.iter().filter(|(other, _)| *other == key).collect();
        let values = distinct(&of, |(_, value)| *value);
        let mut shown = values[..values.len().min(VALUES)].join("; ");
        if values.len() > VALUES {
            shown += &format!("; and {} others", values.len() - VALUES);
        }
        (key.to_string(), shown)
    })
    .collect()
}

fn list(title: &str, sentences: &[String]) -> String {
    if sentences.is_empty() {
        return String::new();
    }
    let mut text = format!("<h3>{title}</h3>\n<ul>\n");
    for sentence in sentences {
        let sentence = escape(sentence);
        let sentence = match sentence.split_once(" Plan: ") {
            Some((words, plan)) => format!("{words} Plan: <code>{plan}</code>"),
            None => sentence,
        };
        let _ = writeln!(text, "<li>{sentence}</li>");
    }
    text + "</ul>\n"
}

/// All pools of one experiment.
fn section(pools: &[&Pool<'_>], plots: &[Plot], stamp: Option<&str>) -> Result<String> {
    let mut text = format!("<h2>{}</h2>\n", escape(pools[0].title));
    if let Some(about) = pools[0].parts[0].header("about") {
        let _ = writeln!(text, "<p>{}</p>", escape(about));
    }
    text += &warning(stamp);
    let answers: Vec<_> = pools.iter().flat_map(|pool| answers(pool)).collect();
    text += &list("Answers", &answers);
    for pool in pools {
        text += "<ul>\n";
        for paragraph in heading::paragraphs(pool) {
            let _ = writeln!(text, "<li>{}</li>", escape(&paragraph));
        }
        text += "</ul>\n";
    }
    for plot in plots {
        let _ = writeln!(text, "<figure>\n{}</figure>", plot.svg.inline());
    }
    for pool in pools {
        let _ = writeln!(
            text,
            "<details><summary>Table: {}</summary>\n<pre>{}</pre></details>",
            escape(&heading::plan(pool)),
            escape(&table::blocks(pool, Chosen::default())?)
        );
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::parse::parts;
    use crate::record::synthetic::Synthetic;
    use crate::stats::dataset::pools;

    #[test]
    fn a_page_holds_everything() {
        let mut synthetic =
            Synthetic::lengths(&[0, 8, 64, 512, 4096]).candidate("new", |time| time * 4.0);
        synthetic.model = "A<B>";
        let files = [synthetic.file()];
        let parts = parts(&files).unwrap();
        let folder = std::env::temp_dir().join(format!("repmov-report-{}", std::process::id()));
        let page = write(&pools(&parts).unwrap(), Some("stamped"), &folder).unwrap();
        let text = fs::read_to_string(page).unwrap();
        for words in [
            "<p class=\"warn\">stamped</p>",
            "A&lt;B&gt;",
            "<svg",
            "resolution:",
            "A/A: within",
            "<h3>Cliffs</h3>",
            "<code>routine=memcpy",
            "+300",
        ] {
            assert!(text.contains(words), "{words}");
        }
        assert!(!text.contains("http"), "something is to be fetched");
        assert!(folder.join("lengths-02.svg").exists());
        fs::remove_dir_all(folder).unwrap();
    }
}

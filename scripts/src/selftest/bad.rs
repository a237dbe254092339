// SPDX-License-Identifier: GPL-2.0-only

//! Patches that are bad on purpose: each must be refused or found wrong, in the words that its own
//! lines `expect:` say.

use anyhow::{ensure, Context, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::lab::cache::Cache;
use crate::lab::Lab;
use crate::selftest::tally::Tally;
use crate::verify::candidate::Candidates;
use crate::verify::given::Given;
use crate::verify::judge::judge;

/// The patches, in the order of their names.
fn all(checkout: &Path) -> Result<Vec<PathBuf>> {
    let folder = checkout.join("scripts/bad");
    let entries = fs::read_dir(&folder).with_context(|| format!("no {}", folder.display()))?;
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|end| end == "patch"));
    paths.sort();
    Ok(paths)
}

/// Counts what comes of each patch, or of those that are named.
pub fn check(
    cache: &Cache,
    lab: &Lab,
    checkout: &Path,
    silence: Duration,
    names: &[String],
    tally: &Tally,
) {
    let paths = match all(checkout) {
        Ok(paths) => paths,
        Err(e) => return tally.fail("bad patches", &e),
    };
    for path in paths {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        if names.is_empty() || names.iter().any(|wanted| *wanted == name) {
            let result = one(cache, lab, checkout, silence, &path);
            tally.check(&format!("bad patch {name}"), result);
        }
    }
}

/// Fails unless a patch is told to be what it is.
fn one(cache: &Cache, lab: &Lab, checkout: &Path, silence: Duration, path: &Path) -> Result<()> {
    let text = fs::read_to_string(path)?;
    let made = Candidates::make(cache, lab, &Given::patch(path));
    let verdict = made.and_then(|made| judge(cache, lab, checkout, silence, &made));
    let said = match verdict {
        Ok(verdict) => {
            ensure!(!verdict.right, "it is taken for right:\n{}", verdict.text);
            verdict.text
        }
        Err(e) => format!("{e:#}"),
    };
    let missing: Vec<_> = expected(&text)
        .filter(|words| !said.contains(words))
        .collect();
    ensure!(
        missing.is_empty(),
        "the verdict lacks \"{}\":\n{said}",
        missing.join("\" and \"")
    );
    Ok(())
}

/// The words that the verdict must have.
fn expected(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .filter_map(|line| line.strip_prefix("expect: "))
        .map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_says_what_is_expected_of_it() {
        let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let all = all(checkout).unwrap();
        assert!(all.len() >= 10);
        for path in all {
            let text = fs::read_to_string(&path).unwrap();
            assert!(expected(&text).count() > 0, "{}", path.display());
        }
    }
}

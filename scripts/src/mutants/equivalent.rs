// SPDX-License-Identifier: GPL-2.0-only

//! Mutants that no check can tell from their candidate, each with the reason: scripts/equivalent.
//!
//! A paragraph is of one reason. Its lines with `=` in front are the reason, the others mutants: what
//! a mutant's key says, between bars.

use anyhow::{bail, ensure, Context, Result};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::mutant::{plain, MutantKey};

/// The reasons by mutant.
pub struct Equivalents(BTreeMap<MutantKey, String>);

impl Equivalents {
    pub fn read(checkout: &Path) -> Result<Equivalents> {
        let path = checkout.join("scripts/equivalent");
        let text = fs::read_to_string(&path);
        let text = text.with_context(|| format!("cannot read {}", path.display()))?;
        Equivalents::parse(&text)
    }

    fn parse(text: &str) -> Result<Equivalents> {
        let mut reasons = BTreeMap::new();
        let mut reason = String::new();
        let mut complete = true;
        for (i, line) in text.lines().enumerate() {
            let number = i + 1;
            if line.starts_with('#') || line.trim().is_empty() {
                complete = true;
                continue;
            }
            if let Some(words) = line.strip_prefix('=') {
                if complete {
                    reason.clear();
                }
                complete = false;
                reason = plain(&format!("{reason} {words}"));
                continue;
            }
            ensure!(!reason.is_empty(), "scripts/equivalent:{number}: no reason");
            complete = true;
            let parts: Vec<_> = line.split('|').map(plain).collect();
            let Ok(key) = <MutantKey>::try_from(parts) else {
                bail!("scripts/equivalent:{number}: not the six parts of a mutant");
            };
            let before = reasons.insert(key, reason.clone());
            ensure!(
                before.is_none(),
                "scripts/equivalent:{number}: a second time"
            );
        }
        Ok(Equivalents(reasons))
    }

    pub fn reason(&self, key: &MutantKey) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }

    /// Those that are not among the keys of all mutants.
    pub fn stale<'a>(&'a self, all: &'a [&MutantKey]) -> impl Iterator<Item = &'a MutantKey> {
        self.0.keys().filter(|key| !all.contains(key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mutants_have_the_reason_above_them() {
        let text =
            "# words\n= both\n= ways\na|b|c|d $1,  %x|e|1\na|b|c|d|e|2\n\n= other\na|b|c|d|f|1\n";
        let all = Equivalents::parse(text).unwrap();
        let key = |d: &str, e: &str, n: &str| ["a", "b", "c", d, e, n].map(str::to_string);
        assert_eq!(all.reason(&key("d $1, %x", "e", "1")), Some("both ways"));
        assert_eq!(all.reason(&key("d", "e", "2")), Some("both ways"));
        assert_eq!(all.reason(&key("d", "f", "1")), Some("other"));
        assert_eq!(all.reason(&key("d", "f", "2")), None);
        assert_eq!(all.stale(&[&key("d", "e", "2")]).count(), 2);
    }

    #[test]
    fn what_is_not_understood_is_told() {
        for (text, words) in [
            ("a|b|c|d|e|1\n", ":1: no reason"),
            ("= x\na|b\n", ":2: not the six"),
            ("= x\na|b|c|d|e|1\na|b|c|d|e|1\n", ":3: a second time"),
        ] {
            let message = Equivalents::parse(text).err().unwrap().to_string();
            assert!(message.contains(words), "{message}");
        }
    }
}

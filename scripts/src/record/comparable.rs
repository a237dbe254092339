// SPDX-License-Identifier: GPL-2.0-only

//! Which records may be told together, and which not at all.

use anyhow::{ensure, Context, Result};

use crate::record::parse::Part;

/// Said of everything that was timed under TCG.
pub const EMULATED: &str = "emulated: these times say nothing about hardware";

/// How parts must be alike to be told together.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Alike {
    /// Made in one lab on one machine.
    Machine,
    /// Only not emulated ones beside others.
    Kind,
}

/// Refuses parts that must not be told together, and emulated ones unless `force` is set. The line
/// to stamp on everything that is printed, if there is to be one.
///
/// # Errors
///
/// Names the first two parts that differ, and in what.
pub fn admit<'p, 'a: 'p>(
    parts: impl IntoIterator<Item = &'p Part<'a>>,
    alike: Alike,
    force: bool,
) -> Result<Option<&'static str>> {
    let mut parts = parts.into_iter();
    let first = parts.next().context("no records")?;
    first.base()?;
    let emulated = first.is_emulated()?;
    for other in parts {
        other.base()?;
        ensure!(
            other.is_emulated()? == emulated,
            "one of these is emulated, the other is not: {} and {}",
            first.name,
            other.name
        );
        for key in ["lab", "cpu model"] {
            let (one, two) = (first.header(key), other.header(key));
            ensure!(
                alike == Alike::Kind || one == two,
                "records of more than one machine: {key} is \"{}\" in {}, \"{}\" in {}",
                one.unwrap_or_default(),
                first.name,
                two.unwrap_or_default(),
                other.name
            );
        }
    }
    ensure!(
        !emulated || force,
        "{}: {EMULATED}; --force tells them all the same",
        first.name
    );
    Ok(emulated.then_some(EMULATED))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::parse::{parts, File};
    use crate::record::synthetic::Synthetic;

    fn good() -> String {
        Synthetic::lengths(&[1, 64]).text()
    }

    fn file(text: String) -> File {
        let name = "some.tsv".into();
        File { name, text }
    }

    /// What [`admit`] says of two texts.
    fn admitted(
        one: String,
        two: String,
        alike: Alike,
        force: bool,
    ) -> Result<Option<&'static str>> {
        let files = [file(one), file(two)];
        admit(&parts(&files).unwrap(), alike, force)
    }

    #[test]
    fn what_must_not_be_compared_is_refused() {
        let other = |from: &str, to: &str| good().replace(from, to);
        let emulated = other("emulated: no", "emulated: yes");
        for (two, words) in [
            (other("lab: host", "lab: um"), "lab is \"host\""),
            (other("cpu model: A", "cpu model: B"), "cpu model is"),
            (emulated.clone(), "is emulated, the other is not"),
            (other("# emulated: no\n", ""), "does not say whether"),
            (other("# aa: aa is orig", "# ab: aa is orig"), "no A/A rows"),
            (other("\taa\t", "\tab\t"), "no A/A rows"),
        ] {
            let error = admitted(good(), two, Alike::Machine, true).unwrap_err();
            assert!(error.to_string().contains(words), "{error}");
        }
        let two = other("lab: host", "lab: um");
        let across = admitted(good(), two, Alike::Kind, false).unwrap();
        assert_eq!(across, None);
        let mixed = admitted(good(), emulated.clone(), Alike::Kind, true);
        assert!(mixed.is_err());
        let refused = admitted(emulated.clone(), emulated.clone(), Alike::Kind, false);
        assert!(refused.unwrap_err().to_string().contains("--force"));
        let forced = admitted(emulated.clone(), emulated, Alike::Kind, true);
        assert_eq!(forced.unwrap(), Some(EMULATED));
    }
}

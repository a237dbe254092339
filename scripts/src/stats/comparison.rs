// SPDX-License-Identifier: GPL-2.0-only

//! What is compared with what: a candidate with the base, or a mask with the first one.

use anyhow::{ensure, Result};
use repmov_core::record::TWIN;
use std::fmt;

use crate::record::parse::Place;
use crate::stats::dataset::{Key, Pool};
use crate::stats::estimate::Difference;
use crate::stats::format::distinct;

/// Who is compared with whom; what is not said is the base, and all others.
#[derive(Clone, Copy, Default)]
pub struct Chosen<'c> {
    pub before: Option<&'c str>,
    pub after: Option<&'c str>,
}

/// Some code: a candidate under a mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Side<'a> {
    pub candidate: &'a str,
    pub mask: &'a str,
}

impl<'a> Side<'a> {
    /// Its row at a place, whatever the mask there.
    pub fn at(self, place: Place<'a>) -> Key<'a> {
        Key {
            place: Place {
                mask: self.mask,
                ..place
            },
            candidate: self.candidate,
        }
    }
}

/// Two sides, of which the second is the changed one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contrast<'a> {
    pub before: Side<'a>,
    pub after: Side<'a>,
}

/// What they have in common, then what they have not.
impl fmt::Display for Contrast<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (before, after) = (self.before, self.after);
        let (common, before, after) = match before.mask == after.mask {
            true => (before.mask, before.candidate, after.candidate),
            false => (before.candidate, before.mask, after.mask),
        };
        write!(f, "{common}: {before} (before), {after} (after)")
    }
}

impl<'a> Contrast<'a> {
    /// The name of the second side, in so far as it is not the first's.
    pub fn name(&self) -> &'a str {
        match self.before.mask == self.after.mask {
            true => self.after.candidate,
            false => self.after.mask,
        }
    }

    /// The difference at a place, whatever the mask there.
    pub fn difference(&self, pool: &Pool<'a>, place: Place<'a>) -> Option<Difference> {
        pool.difference(self.before.at(place), self.after.at(place))
    }
}

/// What there is to compare in a pool: under each mask the candidates, or, if there is but one, its
/// masks with the first of them, or, under one mask, its twin. The experiment called after the
/// twin compares that.
///
/// # Errors
///
/// If a chosen candidate is not there.
pub fn contrasts<'a>(pool: &Pool<'a>, chosen: Chosen<'_>) -> Result<Vec<Contrast<'a>>> {
    let before = match chosen.before {
        Some(name) => named(pool, name)?,
        None => pool.base,
    };
    let after = match chosen.after {
        Some(name) => vec![named(pool, name)?],
        None if pool.title == TWIN => vec![TWIN],
        None => {
            let all = pool.candidates.iter().copied();
            all.filter(|&name| name != before).collect()
        }
    };
    let masks = distinct(&pool.places, |place| place.mask);
    // One candidate under one mask has only its twin to stand beside.
    let after = match after[..] {
        [] if masks.len() == 1 => vec![TWIN],
        _ => after,
    };
    let side = |candidate, mask| Side { candidate, mask };
    let mut contrasts = Vec::new();
    for &mask in &masks {
        contrasts.extend(after.iter().map(|&after| Contrast {
            before: side(before, mask),
            after: side(after, mask),
        }));
        if after.is_empty() && mask != masks[0] {
            contrasts.push(Contrast {
                before: side(before, masks[0]),
                after: side(before, mask),
            });
        }
    }
    Ok(contrasts)
}

/// The candidate of that name, the twin included.
fn named<'a>(pool: &Pool<'a>, name: &str) -> Result<&'a str> {
    let mut all = pool.candidates.iter().copied().chain([TWIN]);
    let found = all.find(|&other| other == name);
    ensure!(
        found.is_some(),
        "no candidate {name} in {}; there are {}",
        pool.parts[0].name,
        pool.candidates.join(", ")
    );
    Ok(found.unwrap_or_default())
}

/// What all places of a block or a plot have in common: all but the mask, the length and the
/// offsets.
pub fn group<'a>(place: &Place<'a>) -> Place<'a> {
    Place {
        mask: "",
        len: 0,
        src: 0,
        dst: 0,
        fault: None,
        ..*place
    }
}

/// What distinguishes a group, in words: the routine, and what has not its default.
pub fn title(group: &Place<'_>) -> String {
    let words = group.to_string();
    let words = words.split(' ');
    let said = words.filter(|word| !["mask=", "len=0"].contains(word));
    said.collect::<Vec<_>>().join(" ").replace("routine=", "")
}

/// The places of a group under one mask.
pub fn places<'a>(pool: &Pool<'a>, of: Place<'a>, mask: &str) -> Vec<Place<'a>> {
    let all = pool.places.iter().copied();
    all.filter(|place| place.mask == mask && group(place) == of)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::parse::parts;
    use crate::record::synthetic::Synthetic;
    use crate::stats::dataset::pools;

    fn shown(synthetic: &Synthetic, chosen: Chosen<'_>) -> Result<Vec<String>> {
        let files = [synthetic.file()];
        let parts = parts(&files).unwrap();
        let pools = pools(&parts).unwrap();
        let contrasts = contrasts(&pools[0], chosen)?;
        Ok(contrasts.iter().map(Contrast::to_string).collect())
    }

    #[test]
    fn candidates_or_else_masks() {
        let mut synthetic = Synthetic::lengths(&[8]);
        synthetic.masks = vec!["e0f0", "e0f1"];
        let all = Chosen::default();
        assert_eq!(
            shown(&synthetic, all).unwrap(),
            ["orig: e0f0 (before), e0f1 (after)"]
        );
        let synthetic = synthetic.candidate("new", |time| time);
        assert_eq!(
            shown(&synthetic, all).unwrap(),
            [
                "e0f0: orig (before), new (after)",
                "e0f1: orig (before), new (after)"
            ]
        );
        let chosen = Chosen {
            before: Some("new"),
            after: Some("aa"),
        };
        assert_eq!(shown(&synthetic, chosen).unwrap().len(), 2);
        let chosen = Chosen {
            before: None,
            after: Some("best"),
        };
        let error = shown(&synthetic, chosen).unwrap_err().to_string();
        assert!(error.contains("no candidate best in lengths"), "{error}");
    }
}

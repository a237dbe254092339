// SPDX-License-Identifier: GPL-2.0-only

//! From which length on a change pays for good: REP MOVSB against the scalar code, for one.

use crate::record::parse::Place;
use crate::stats::comparison::{contrasts, title, Chosen, Contrast, Side};
use crate::stats::dataset::Pool;
use crate::stats::estimate::Significance;
use crate::stats::format::distinct;

/// With fewer lengths there is no threshold to find.
const LENGTHS: usize = 5;

/// Where the second of two sides begins to be faster at all lengths measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threshold {
    /// It is, from the second length on. At the first one it is not, or not resolved; none if there
    /// is no shorter length.
    Between(Option<u64>, u64),
    /// At the greatest length it is slower, or no difference is resolved.
    Never(u64),
}

/// Finds it from the verdicts, in the order of the lengths. None if there are none.
fn threshold(verdicts: &[(u64, Significance)]) -> Option<Threshold> {
    let last = verdicts.last()?.0;
    let not = verdicts
        .iter()
        .rposition(|(_, v)| *v != Significance::Faster);
    Some(match not {
        None => Threshold::Between(None, verdicts[0].0),
        Some(at) => match verdicts.get(at + 1) {
            Some(first) => Threshold::Between(Some(verdicts[at].0), first.0),
            None => Threshold::Never(last),
        },
    })
}

/// The threshold of a comparison at places that differ in length alone.
pub fn find<'a>(
    pool: &Pool<'a>,
    contrast: &Contrast<'a>,
    places: &[Place<'a>],
) -> Option<Threshold> {
    let mut verdicts: Vec<_> = places
        .iter()
        .filter_map(|&place| Some((place.len, contrast.difference(pool, place)?.verdict())))
        .collect();
    verdicts.sort_by_key(|(len, _)| *len);
    threshold(&verdicts).filter(|_| verdicts.len() >= LENGTHS)
}

/// What places that differ in length and mask alone have in common.
fn sort<'a>(place: &Place<'a>) -> Place<'a> {
    Place {
        len: 0,
        mask: "",
        ..*place
    }
}

/// A sentence for each comparison and pair of offsets.
pub fn sentences(pool: &Pool<'_>) -> Vec<String> {
    let mut said = Vec::new();
    // Nobody was chosen, so nobody can be missing.
    for contrast in contrasts(pool, Chosen::default()).unwrap_or_default() {
        for of in distinct(&pool.places, sort) {
            let mask = contrast.before.mask;
            let all = pool.places.iter().copied();
            let places: Vec<_> = all.filter(|p| p.mask == mask && sort(p) == of).collect();
            if let Some(found) = find(pool, &contrast, &places) {
                said.push(sentence(&contrast, &of, found));
            }
        }
    }
    said
}

fn sentence(contrast: &Contrast<'_>, of: &Place<'_>, found: Threshold) -> String {
    let side = |side: Side<'_>| format!("{} {}", side.candidate, side.mask);
    let (before, after) = (side(contrast.before), side(contrast.after));
    let found = match found {
        Threshold::Between(Some(not), first) => {
            format!("{after} is faster than {before} from {first} bytes on, not yet at {not}")
        }
        Threshold::Between(None, first) => {
            format!("{after} is faster than {before} at every length measured, {first} and more")
        }
        Threshold::Never(last) => {
            format!(
                "up to {last} bytes there is no length from which {after} is faster than {before}"
            )
        }
    };
    let offsets = match of.fault {
        Some(_) => String::new(),
        None => format!(", src={} dst={}", of.src, of.dst),
    };
    let of = Place {
        src: 0,
        dst: 0,
        ..*of
    };
    format!("{}{offsets}: {found}", title(&of))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::parse::parts;
    use crate::record::synthetic::Synthetic;
    use crate::stats::dataset::pools;

    #[test]
    fn verdicts_in_a_row() {
        use Significance::{Faster, NotResolved, Slower};
        let of = |verdicts: &[Significance]| {
            let lengths = (1..).map(|i| 16 * i);
            threshold(&lengths.zip(verdicts.iter().copied()).collect::<Vec<_>>())
        };
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[Faster, Faster]), Some(Threshold::Between(None, 16)));
        assert_eq!(
            of(&[Slower, Faster, NotResolved, Faster]),
            Some(Threshold::Between(Some(48), 64))
        );
        assert_eq!(of(&[Faster, Slower]), Some(Threshold::Never(32)));
    }

    #[test]
    fn a_planted_threshold_is_found() {
        let lengths: Vec<u64> = (2..64).map(|i| 16 * i).collect();
        let mut synthetic = Synthetic::lengths(&lengths).base(|row| match row.mask {
            "e0f1" => 35.0 + row.len as f64 / 40.0,
            _ => 5.0 + row.len as f64 / 10.0,
        });
        synthetic.masks = vec!["e0f0", "e0f1"];
        synthetic.src = vec![0, 1];
        let files = [synthetic.file()];
        let parts = parts(&files).unwrap();
        let said = sentences(&pools(&parts).unwrap()[0]);
        assert_eq!(said.len(), 2, "{said:?}");
        // They cross at 400 bytes.
        assert_eq!(
            said[0],
            "memcpy, src=0 dst=0: orig e0f1 is faster than orig e0f0 from 416 bytes on, not yet at 400"
        );
        assert!(said[1].contains("src=1"), "{said:?}");
    }

    #[test]
    fn twins_have_no_threshold() {
        let lengths: Vec<u64> = (2..64).map(|i| 16 * i).collect();
        let same = Synthetic::lengths(&lengths).candidate("same", |time| time);
        let files = [same.file()];
        let parts = parts(&files).unwrap();
        let said = sentences(&pools(&parts).unwrap()[0]);
        assert!(
            said[0].contains("up to 1008 bytes there is no length"),
            "{said:?}"
        );
    }
}

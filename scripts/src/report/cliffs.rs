// SPDX-License-Identifier: GPL-2.0-only

//! Cliffs in words, each with the smallest plan that shows it.

use crate::record::parse::Place;
use crate::stats::cliff::{self, Cliff, Coordinate};
use crate::stats::dataset::Pool;
use crate::stats::format::{distinct, list, ns};

/// So many are put in words.
const SAID: usize = 8;

/// All cliffs of some pools, the steepest first, each in a sentence with the plan that shows it. At
/// most eight, then a line that counts the others. None if there are none.
pub fn warnings(pools: &[Pool<'_>]) -> Vec<String> {
    shortened(pools.iter().flat_map(sentences).collect())
}

fn shortened(mut said: Vec<(f64, String)>) -> Vec<String> {
    said.sort_by(|a, b| b.0.total_cmp(&a.0));
    let more = said.len().saturating_sub(SAID);
    let mut said: Vec<_> = said.into_iter().take(SAID).map(|(_, text)| text).collect();
    if more > 0 {
        said.push(format!("and {more} more, none steeper"));
    }
    said
}

/// The sentences with how steep they are.
fn sentences(pool: &Pool<'_>) -> Vec<(f64, String)> {
    let cliffs = cliff::cliffs(pool);
    let families = distinct(&cliffs, Cliff::family);
    let mut said = Vec::new();
    for family in families {
        let of: Vec<_> = cliffs.iter().filter(|c| c.family() == family).collect();
        for run in runs(pool, &of) {
            said.extend(sentence(pool, &run));
        }
    }
    said
}

/// Splits cliffs of one family where a value between two of them is none.
fn runs<'a, 'c>(pool: &Pool<'a>, cliffs: &[&'c Cliff<'a>]) -> Vec<Vec<&'c Cliff<'a>>> {
    let Some(axis) = cliffs.first().map(|cliff| cliff.axis) else {
        return Vec::new();
    };
    let mut values = distinct(&pool.places, |place| axis.of(place));
    values.sort_unstable();
    let mut runs: Vec<Vec<&Cliff<'a>>> = Vec::new();
    let mut before = None;
    for (at, value) in values.iter().enumerate() {
        let here = cliffs.iter().filter(|c| axis.of(&c.key.place) == *value);
        let here: Vec<_> = here.copied().collect();
        if here.is_empty() {
            continue;
        }
        match runs.last_mut() {
            Some(run) if before == at.checked_sub(1) => run.extend(here),
            _ => runs.push(here),
        }
        before = Some(at);
    }
    runs
}

/// One run in words.
fn sentence(pool: &Pool<'_>, run: &[&Cliff<'_>]) -> Option<(f64, String)> {
    let worst = run.iter().max_by(|a, b| a.ratio().total_cmp(&b.ratio()))?;
    let axis = worst.axis;
    let Place { routine, .. } = worst.key.place;
    let mut values = distinct(run, |cliff| axis.of(&cliff.key.place));
    values.sort_unstable();
    let masks = distinct(run, |cliff| cliff.key.place.mask).join(", ");
    let lengths = match axis {
        Coordinate::Len => String::new(),
        _ => {
            let lengths = distinct(run, |cliff| cliff.key.place.len);
            format!(", len={}", list(&lengths))
        }
    };
    let span = match values[..] {
        [one] => format!("{}={one}", axis.word()),
        [.., last] => format!(
            "{}={} to {last} ({} of them)",
            axis.word(),
            values[0],
            values.len()
        ),
        [] => return None,
    };
    let than = match worst.rival() {
        Some(rival) => format!("times what {rival} takes there ({} ns)", ns(worst.expected)),
        None => format!(
            "times what the {} beside it let expect ({} ns)",
            if axis == Coordinate::Len {
                "lengths"
            } else {
                "offsets"
            },
            ns(worst.expected)
        ),
    };
    let at = match values.len() {
        1 => String::new(),
        _ => format!(" at {}={}", axis.word(), axis.of(&worst.key.place)),
    };
    let text = format!(
        "{routine} {} under {masks}, {span}{lengths}: takes up to {:.1} {than}: {} ns{at}. Plan: {}",
        worst.key.candidate,
        worst.ratio(),
        ns(worst.time),
        plan(pool, worst)
    );
    Some((worst.ratio(), text))
}

/// The smallest plan that shows a cliff.
fn plan(pool: &Pool<'_>, cliff: &Cliff<'_>) -> String {
    let (here, there) = (&cliff.key.place, &cliff.against.place);
    let mut candidates = vec![cliff.key.candidate];
    candidates.extend(cliff.rival());
    let mut words = vec![
        format!("routine={}", here.routine),
        format!("candidate={}", candidates.join(",")),
        format!("mask={}", here.mask),
    ];
    if here.entry != 0 {
        words.push(format!("entry={}", here.entry));
    }
    if here.draw == "random" {
        let given = pool.parts[0].header("plan").unwrap_or_default().split(' ');
        let drawn = given.filter(|word| word.starts_with("len=") || word.starts_with("weight="));
        words.extend(drawn.map(str::to_string));
    } else {
        words.push(format!("len={}", list(&[here.len, there.len])));
    }
    // Where copies fault decides the offset on that side.
    let decided = |to_user: bool| here.fault.is_some() && (here.mem == "to-user") == to_user;
    for (key, one, two, decided) in [
        ("src", here.src, there.src, decided(false)),
        ("dst", here.dst, there.dst, decided(true)),
    ] {
        if !decided && (one, two) != (0, 0) {
            words.push(format!("{key}={}", list(&[one, two])));
        }
    }
    for (key, value, default) in [
        ("mem", here.mem, "kernel"),
        ("cache", here.cache, "hot"),
        ("draw", here.draw, "each"),
    ] {
        if value != default {
            words.push(format!("{key}={value}"));
        }
    }
    words.extend(here.fault.map(|byte| format!("fault={byte}")));
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::experiment::Experiment;
    use crate::record::parse::parts;
    use crate::record::synthetic::Synthetic;
    use crate::stats::dataset::pools;

    fn found(synthetic: &Synthetic) -> Vec<String> {
        let files = [synthetic.file()];
        let parts = parts(&files).unwrap();
        warnings(&pools(&parts).unwrap())
    }

    fn dense() -> Vec<u64> {
        let mut lengths: Vec<u64> = (0..=128).collect();
        lengths.extend((8..=64).map(|i| 32 * i));
        lengths.extend([4096, 8192, 65536, 1 << 20]);
        lengths
    }

    #[test]
    fn smooth_growth_is_no_cliff() {
        assert_eq!(found(&Synthetic::lengths(&dense())), [""; 0]);
        let few = Synthetic::lengths(&[0, 1, 8, 64, 512, 4096]);
        assert_eq!(found(&few), [""; 0]);
        // A start-up of REP MOVSB at one length, twice what it was.
        let step =
            few.base(|row| 5.0 + row.len as f64 / 12.0 + if row.len >= 64 { 10.0 } else { 0.0 });
        assert_eq!(found(&step), [""; 0]);
    }

    #[test]
    fn a_spike_is_found_with_its_plan() {
        let spike = Synthetic::lengths(&dense()).model("new", |row| {
            let time = 5.0 + row.len as f64 / 12.0;
            if row.len == 77 {
                2.9 * time
            } else {
                time
            }
        });
        assert_eq!(found(&spike), [""; 0]);
        let spike = Synthetic::lengths(&dense()).model("new", |row| {
            let time = 5.0 + row.len as f64 / 12.0;
            if row.len == 77 {
                4.0 * time
            } else {
                time
            }
        });
        let said = found(&spike);
        assert_eq!(said.len(), 2, "{said:#?}");
        assert!(
            said[0].contains("memcpy new under e1f0, len=77: "),
            "{said:#?}"
        );
        assert!(said
            .iter()
            .any(|s| s.ends_with("Plan: routine=memcpy candidate=new mask=e1f0 len=76,77")));
        assert!(said
            .iter()
            .any(|s| s.ends_with("candidate=new,orig mask=e1f0 len=77")));
    }

    #[test]
    fn a_run_of_cliffs_is_one_sentence() {
        let step = Synthetic::lengths(&dense()).model("new", |row| {
            let time = 5.0 + row.len as f64 / 12.0;
            if row.len >= 512 {
                5.0 * time
            } else {
                time
            }
        });
        let said = found(&step);
        assert_eq!(said.len(), 2, "{said:#?}");
        assert!(
            said.iter().any(|s| s.contains("len=512 to 1048576")),
            "{said:#?}"
        );
        assert!(
            said.iter().any(|s| s.contains("the lengths beside it")),
            "{said:#?}"
        );
    }

    #[test]
    fn an_offset_that_stands_out_is_found() {
        let mut offsets = Synthetic::lengths(&[1024]);
        offsets.dst = (0..64).collect();
        assert_eq!(found(&offsets), [""; 0]);
        let slow = offsets.base(|row| {
            if row.dst % 64 < 4 && row.dst > 0 {
                90.0
            } else {
                20.0
            }
        });
        let said = found(&slow);
        assert_eq!(said.len(), 1, "{said:#?}");
        assert!(said[0].contains("dst=1 to 3 (3 of them)"), "{said:#?}");
        assert!(said[0].contains("len=1024 dst="), "{said:#?}");
    }

    #[test]
    fn many_are_counted() {
        let comb = Synthetic::lengths(&dense()).base(|row| {
            if row.len % 8 == 3 {
                100.0
            } else {
                5.0 + row.len as f64 / 12.0
            }
        });
        let said = found(&comb);
        assert_eq!(said.len(), 9, "{said:#?}");
        assert!(said[8].starts_with("and "), "{said:#?}");
    }

    /// The plans of what is said are plans.
    #[test]
    fn plans_are_accepted() {
        let mut synthetic = Synthetic::lengths(&[512]).base(|row| match row.dst {
            32 => 90.0,
            _ => 20.0,
        });
        synthetic.dst = (0..64).collect();
        synthetic.caches = vec!["cold-src"];
        let faults = synthetic
            .text()
            .replace("memcpy\t", "rep_movs_alternative\t")
            .replace("=memcpy", "=rep_movs_alternative")
            .replace("kernel\tcold-src\tnone", "from-user\thot\t7");
        let mut file = synthetic.file();
        file.text += &faults;
        let files = [file];
        let parts = parts(&files).unwrap();
        let said = warnings(&pools(&parts).unwrap());
        let plans: Vec<_> = said
            .iter()
            .map(|sentence| sentence.split_once("Plan: ").unwrap().1)
            .collect();
        assert!(
            plans.iter().any(|plan| plan.contains("fault=7")),
            "{said:#?}"
        );
        assert!(
            plans.iter().any(|plan| plan.contains("cache=cold-src")),
            "{said:#?}"
        );
        let path = std::env::temp_dir().join(format!("repmov-{}.plan", std::process::id()));
        std::fs::write(&path, plans.join("\n")).unwrap();
        let path_name = path.display().to_string();
        let experiment = Experiment::find(&path, &path_name).unwrap();
        assert_eq!(experiment.plans.len(), plans.len());
        std::fs::remove_file(path).unwrap();
    }
}

// SPDX-License-Identifier: GPL-2.0-only

//! Everything that records say, as text for a commit message.

use anyhow::Result;

use crate::record::parse::Part;
use crate::report::answers::answers;
use crate::report::cliffs::warnings;
use crate::report::counters;
use crate::report::heading;
use crate::report::table;
use crate::stats::comparison::Chosen;
use crate::stats::dataset::pools;
use crate::stats::format::wrap;

/// Everything that the parts of one machine say, at most 72 columns wide. `stamp` is what
/// [`admit`] returned.
///
/// # Errors
///
/// Those of [`pools`], and if a candidate chosen is not there.
pub fn text(parts: &[Part<'_>], chosen: Chosen<'_>, stamp: Option<&str>) -> Result<String> {
    let pools = pools(parts)?;
    let mut text = String::new();
    for pool in &pools {
        let machine = heading::machine(pool);
        if text.is_empty() {
            text += &wrap(&machine, 2);
            text += &wrap(heading::HOW, 2);
        }
        text.push('\n');
        text += &wrap(pool.title, 2);
        for line in stamp.iter() {
            text += &wrap(line, 2);
        }
        for paragraph in heading::paragraphs(pool) {
            text += &wrap(&paragraph, 2);
        }
        text += &table::blocks(pool, chosen)?;
        text += &counters::lines(pool);
        for (i, answer) in answers(pool).iter().enumerate() {
            text += if i == 0 { "\n" } else { "" };
            text += &wrap(&format!("- {answer}"), 2);
        }
    }
    if parts.iter().any(Part::irqs_on) {
        text += "\n* timed with interrupts on\n";
    }
    let cliffs = warnings(&pools);
    if !cliffs.is_empty() {
        text += "\ncliffs:\n";
    }
    for cliff in cliffs {
        text += &wrap(&format!("- {cliff}"), 2);
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::parse::parts;
    use crate::record::synthetic::Synthetic;
    use crate::stats::format::WIDTH;

    #[test]
    fn a_table_fits_a_commit_message() {
        let mut synthetic = Synthetic::lengths(&[8, 64, 65]).candidate("erms2048", |time| {
            if time > 10.0 {
                time * 4.0
            } else {
                time
            }
        });
        synthetic.model = "A processor with a name that is much longer than most names of \
            processors are @ 2.00 GHz";
        let file = synthetic.file();
        let files = [file];
        let parts = parts(&files).unwrap();
        let text = text(
            &parts,
            Chosen::default(),
            Some(crate::record::comparable::EMULATED),
        )
        .unwrap();
        assert!(text.lines().all(|line| line.len() <= WIDTH), "{text}");
        assert!(text.contains(crate::record::comparable::EMULATED), "{text}");
        assert!(
            text.contains("cliffs:\n- memcpy erms2048 under e1f0"),
            "{text}"
        );
        assert!(text.contains("1 boot of 31 rounds"), "{text}");
    }
}

// SPDX-License-Identifier: GPL-2.0-only

//! The commands that only read records.

use anyhow::Result;
use clap::{Args, Subcommand};
use std::path::{Path, PathBuf};

use crate::admit::{admit, Alike};
use crate::cmp;
use crate::contrast::Chosen;
use crate::counts;
use crate::fit;
use crate::heading;
use crate::pool::{pools, Pool};
use crate::progress::print;
use crate::rank;
use crate::record::{parts, read, Part};
use crate::report;
use crate::show::wrap;
use crate::table;
use crate::threshold;
use crate::warning::warnings;

/// Which records, and whether emulated ones are taken.
#[derive(Args)]
pub struct Records {
    /// Files that `make time` left, or several of them behind one another
    #[arg(required = true, value_name = "RECORD")]
    files: Vec<PathBuf>,
    /// Take emulated times too, and say so in everything
    #[arg(long)]
    force: bool,
}

#[derive(Subcommand)]
pub enum Tell {
    /// What a change costs or gains, as text for a commit message
    Table {
        #[command(flatten)]
        records: Records,
        /// The candidate before the change [default: the one that was built twice]
        #[arg(long, value_name = "NAME")]
        before: Option<String>,
        /// The one after it [default: each other one]
        #[arg(long, value_name = "NAME")]
        after: Option<String>,
    },
    /// Whether two records of the same plan, made here or there, say the same
    Cmp {
        a: PathBuf,
        b: PathBuf,
        /// Take emulated times too, and say so in everything
        #[arg(long)]
        force: bool,
    },
    /// Which candidate is best at which lengths, on every machine there are records of
    Rank(Records),
    /// A page with plots of everything
    Report {
        #[command(flatten)]
        records: Records,
        /// Where to put it [default: beside the first record, under its name]
        #[arg(short, value_name = "DIR")]
        out: Option<PathBuf>,
    },
}

impl Tell {
    /// Does what was asked for. Always true: there is no verdict in it.
    pub fn run(&self) -> Result<bool> {
        match self {
            Tell::Table {
                records,
                before,
                after,
            } => table_of(records, before.as_deref(), after.as_deref())?,
            Tell::Cmp { a, b, force } => cmp(a, b, *force)?,
            Tell::Rank(records) => rank(records)?,
            Tell::Report { records, out } => report_of(records, out.as_deref())?,
        }
        Ok(true)
    }
}

fn table_of(records: &Records, before: Option<&str>, after: Option<&str>) -> Result<()> {
    let files = read(&records.files)?;
    let parts = parts(&files)?;
    let stamp = admit(&parts, Alike::Machine, records.force)?;
    print(&text(&parts, Chosen { before, after }, stamp)?);
    Ok(())
}

fn cmp(a: &Path, b: &Path, force: bool) -> Result<()> {
    let files = read(&[a.into(), b.into()])?;
    let (a, b) = (parts(&files[..1])?, parts(&files[1..])?);
    let stamp = admit(a.iter().chain(&b), Alike::Kind, force)?;
    print(&cmp::text(&pools(&a)?, &pools(&b)?, stamp)?);
    Ok(())
}

fn rank(records: &Records) -> Result<()> {
    let files = read(&records.files)?;
    let parts = parts(&files)?;
    let stamp = admit(&parts, Alike::Kind, records.force)?;
    let pools = pools(&parts)?;
    print(&rank::text(&rank::machines(&pools), stamp));
    Ok(())
}

fn report_of(records: &Records, out: Option<&Path>) -> Result<()> {
    let files = read(&records.files)?;
    let parts = parts(&files)?;
    let stamp = admit(&parts, Alike::Machine, records.force)?;
    let beside = records.files[0].with_extension("report");
    let page = report::write(&pools(&parts)?, stamp, out.unwrap_or(&beside))?;
    print(&page.display().to_string());
    Ok(())
}

/// What an experiment was made for, where that is more than differences.
pub fn answers(pool: &Pool<'_>) -> Vec<String> {
    match pool.title {
        "setup-cost" => fit::sentences(pool),
        "threshold" => threshold::sentences(pool),
        _ => Vec::new(),
    }
}

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
        text += &counts::lines(pool);
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
    use crate::show::WIDTH;
    use crate::synthetic::Synthetic;

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
        let text = text(&parts, Chosen::default(), Some(crate::bench::EMULATED)).unwrap();
        assert!(text.lines().all(|line| line.len() <= WIDTH), "{text}");
        assert!(text.contains(crate::bench::EMULATED), "{text}");
        assert!(
            text.contains("cliffs:\n- memcpy erms2048 under e1f0"),
            "{text}"
        );
        assert!(text.contains("1 boot of 31 rounds"), "{text}");
    }
}

// SPDX-License-Identifier: GPL-2.0-only

//! The commands that only read records.

use anyhow::Result;
use clap::{Args, Subcommand};
use std::path::{Path, PathBuf};

use crate::os::progress::print;
use crate::record::comparable::{admit, Alike};
use crate::record::parse::{parts, read, File};
use crate::report::cmp;
use crate::report::html;
use crate::report::rank;
use crate::report::text::text;
use crate::stats::comparison::Chosen;
use crate::stats::dataset::pools;

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
pub enum Command {
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

impl Command {
    /// Does what was asked for. Always true: there is no verdict in it.
    pub fn run(&self) -> Result<bool> {
        match self {
            Command::Table {
                records,
                before,
                after,
            } => table_of(records, before.as_deref(), after.as_deref())?,
            Command::Cmp { a, b, force } => cmp(a, b, *force)?,
            Command::Rank(records) => rank(records)?,
            Command::Report { records, out } => report_of(records, out.as_deref())?,
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
    let page = html::write(&pools(&parts)?, stamp, out.unwrap_or(&beside))?;
    print(&page.display().to_string());
    Ok(())
}

/// Prints what a record says, and where it is.
pub fn show(path: &Path, record: String) -> Result<()> {
    let name = path.display().to_string();
    let files = [File { name, text: record }];
    let parts = parts(&files)?;
    let stamp = admit(&parts, Alike::Machine, true)?;
    let told = text(&parts, Chosen::default(), stamp)?;
    print(&format!("\n{told}\nrecord: {}", path.display()));
    Ok(())
}

// SPDX-License-Identifier: GPL-2.0-only

//! A boot that is over, and in words why.

use anyhow::{anyhow, bail, Context, Result};
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

use crate::guest::protocol::{crash, tail, Sections};

/// A boot that is over.
pub struct Ended {
    pub sections: Sections,
    /// What the kernel said.
    pub console: String,
    /// Where that is kept.
    pub log: PathBuf,
    /// What QEMU said.
    pub errors: PathBuf,
    pub end: End,
    /// How QEMU ended, or the kernel that is a process.
    pub status: ExitStatus,
}

/// Why a boot is over.
pub enum End {
    Done,
    Crash,
    Silence(Duration),
    Limit(Duration),
    Exit,
}

impl Ended {
    /// One that never was.
    #[cfg(test)]
    pub fn of(sections: Sections, console: &str, end: End) -> Ended {
        let (log, errors) = (PathBuf::new(), PathBuf::new());
        let console = console.to_string();
        Ended {
            sections,
            console,
            log,
            errors,
            end,
            status: ExitStatus::default(),
        }
    }

    /// It fell silent before its init ran.
    pub fn early(&self) -> bool {
        let sent = self.sections.open.is_some() || !self.sections.all.is_empty();
        matches!(self.end, End::Silence(_)) && !sent
    }

    /// The sections, if all jobs were done; else why not.
    pub fn result(self) -> Result<Sections> {
        let (sections, console) = (self.sections, &self.log);
        let doing = sections
            .open
            .as_deref()
            .map(|job| format!(" during {job}"))
            .unwrap_or_default();
        let told = format!(
            "console: {}, which ends{}",
            console.display(),
            tail(&self.console)
        );
        match self.end {
            End::Done => {
                sections
                    .text("insmod")
                    .context("the module does not load")
                    .map_err(|e| {
                        let refused = tail(&self.console);
                        anyhow!("{e:#}\nconsole: {}, which ends{refused}", console.display())
                    })?;
                Ok(sections)
            }
            End::Crash => {
                let (line, excerpt) = crash(&self.console).context("no crash")?;
                bail!(
                    "the guest crashed{doing}: {line}\nconsole: {}{excerpt}",
                    console.display()
                )
            }
            End::Silence(time) => {
                bail!(
                    "the guest hangs{doing}: nothing from it for {} s\n{told}",
                    time.as_secs()
                )
            }
            End::Limit(time) => {
                bail!(
                    "the guest was not done after {} s{doing}\n{told}",
                    time.as_secs()
                )
            }
            End::Exit => {
                let words = fs::read(&self.errors).unwrap_or_default();
                let words = String::from_utf8_lossy(&words);
                bail!(
                    "QEMU ended before the guest was done{doing} ({})\n{}\n{told}",
                    how(self.status),
                    words.trim()
                )
            }
        }
    }
}

/// How a command ended. One that is confined has others around it, which say a signal as shells do.
fn how(status: ExitStatus) -> String {
    let confined = status.code().map(|code| code - 128);
    match status.signal().or(confined.filter(|&signal| signal > 0)) {
        Some(signal) => format!("killed by signal {signal}"),
        None => status.to_string(),
    }
}

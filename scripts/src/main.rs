// SPDX-License-Identifier: GPL-2.0-only

//! repmov's host tool: sets up the labs, builds the module, boots it and tells what came of it.

mod cli;
mod cmd;
mod guest;
mod lab;
mod mutants;
mod os;
mod patch;
mod plot;
mod record;
mod report;
mod selftest;
mod stats;
mod verify;

use anyhow::Context;
use clap::Parser;
use std::process::ExitCode;

use cli::Options;
use os::progress::say;
use os::signals;

fn main() -> ExitCode {
    // Make hands on variables that nobody set as empty ones.
    for name in ["KDIR", "REPMOV_CACHE", "REPMOV_SILENCE"] {
        if std::env::var_os(name).is_some_and(|value| value.is_empty()) {
            std::env::remove_var(name);
        }
    }
    match signals::install()
        .context("signals")
        .and_then(|()| cli::run(Options::parse()))
    {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(e) => {
            say(&format!("repmov: {e:#}"));
            ExitCode::from(2)
        }
    }
}

// SPDX-License-Identifier: GPL-2.0-only

//! The command line: what can be asked for, and which room does it.

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use crate::cmd::{readme, records, run, time, verify};
use crate::guest::kunit;
use crate::lab::cache::Cache;
use crate::lab::{kbuild, open};
use crate::mutants;
use crate::os::command::cannot_start;
use crate::os::progress::print;
use crate::os::signals;
use crate::record::experiment;
use crate::selftest::{bad, check, interrupt, stress, tally};
use crate::verify::candidate::Candidates;
use crate::verify::given::Given;

#[derive(Parser)]
#[command(
    name = "repmov",
    about = "Tests and times x86 copy routines inside a kernel"
)]
pub struct Options {
    /// Where everything is kept that is made once [default: ~/.cache/repmov]
    #[arg(long, env = "REPMOV_CACHE", value_name = "DIR", global = true)]
    cache: Option<PathBuf>,
    /// Your own Rust-enabled kernel build tree; then nothing is installed
    #[arg(long, env = "KDIR", value_name = "DIR", global = true)]
    kdir: Option<PathBuf>,
    /// Seconds without a word from a guest after which it is taken to hang
    #[arg(
        long,
        env = "REPMOV_SILENCE",
        value_name = "SECONDS",
        default_value_t = 60,
        global = true
    )]
    silence: u64,
    #[command(subcommand)]
    command: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Make the toolchain root and the build tree for Debian's kernel
    Setup,
    /// Build the module
    Module,
    /// Check every candidate in a guest and time it
    Run,
    /// Say whether a patch or a source is right under every mask, with ITS and without
    Verify(Given),
    /// Try the patches that are bad on purpose, or those that are named
    #[command(hide = true)]
    VerifyBad { names: Vec<String> },
    /// Try whether the checks find what is wrong with mutants of the candidates
    Mutants {
        /// Try one in N
        #[arg(long, value_name = "N", default_value_t = 1)]
        every: usize,
    },
    /// Run one mutant in this process
    #[command(hide = true)]
    Mutant {
        routine: String,
        call: PathBuf,
        /// Mask, object and symbol of each
        #[arg(required = true)]
        given: Vec<String>,
    },
    /// Time a plan in a lab and keep the record
    Time {
        /// An experiment of scripts/plans, or a file of one's own
        #[arg(long, value_name = "NAME|FILE")]
        plan: Option<String>,
        /// Where to run it [default: qemu where KVM works, else um]
        #[arg(long, value_enum)]
        lab: Option<time::LabKind>,
        /// How often to boot [default: as the experiment says]
        #[arg(long, value_name = "N", value_parser = experiment::boots)]
        runs: Option<u32>,
        /// A folder for the record, under the experiment's name [default: results, by date]
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
        /// Load the module into this machine's kernel without asking
        #[arg(long)]
        yes: bool,
        #[command(flatten)]
        given: Given,
    },
    /// Make the README's tables and pictures again from the records in results/reference
    Readme {
        /// Only say whether they are as the records say
        #[arg(long)]
        check: bool,
    },
    /// Run the KUnit suites with kunit.py
    Kunit {
        #[arg(long, value_enum, default_value = "um")]
        arch: kunit::Arch,
        /// Only the suites (or suite.case) that match
        #[arg(long, value_name = "GLOB")]
        filter: Option<String>,
    },
    /// Run every check there is and count the results
    Check,
    /// End each command that often, at times spread over it, and let it run to its end after that
    #[command(hide = true)]
    Interrupt { points: u32 },
    /// Mistreat the module in a kernel that finds more, and count what it stood
    Stress {
        /// As much of it as is part of check
        #[arg(long)]
        short: bool,
        /// Of what is generated
        #[arg(long, value_name = "N", default_value_t = stress::SEED)]
        seed: u64,
    },
    /// Run a command inside the toolchain root, in the current folder
    Exec {
        #[arg(required = true, trailing_var_arg = true)]
        words: Vec<String>,
    },
    #[command(flatten)]
    Records(records::Command),
}

/// Does what was asked for. False if that was done and the answer is no.
pub fn run(options: Options) -> Result<bool> {
    if let Action::Readme { check } = options.command {
        return readme::run(&checkout()?, check);
    }
    if let Action::Mutant {
        routine,
        call,
        given,
    } = &options.command
    {
        signals::end_with_parent()?;
        return mutants::child(call, routine, &mutants::Reference::read(given)).map(|()| true);
    }
    if let Action::Records(records) = &options.command {
        // Neither a checkout nor a lab is in it.
        return records.run();
    }
    let checkout = checkout()?;
    let cache = Cache::open(options.cache)?;
    let mut lab = open::open(&cache, &checkout, options.kdir.as_deref())?;
    let silence = Duration::from_secs(options.silence);
    match options.command {
        Action::Setup => {
            print(&format!(
                "ready: Linux {} in {}",
                lab.release,
                lab.build.display()
            ));
            Ok(true)
        }
        Action::Module => {
            let module = kbuild::build(&cache, &lab, &checkout)?;
            print(&module.display().to_string());
            Ok(true)
        }
        Action::Run => run::run(&cache, &lab, &checkout, silence),
        Action::Verify(given) => verify::run(&cache, &lab, &checkout, silence, &given),
        Action::VerifyBad { names } => {
            let tally = tally::Tally::default();
            bad::check(&cache, &lab, &checkout, silence, &names, &tally);
            Ok(tally.end())
        }
        Action::Time {
            plan,
            lab: place,
            runs,
            out,
            yes,
            given,
        } => {
            let given = Candidates::of(&cache, &lab, &given)?;
            lab.extra = given.as_ref().map(|given| given.folder.clone());
            let request = time::Request {
                plan,
                place,
                runs,
                out,
                yes,
                given,
            };
            time::run(&cache, &lab, &checkout, silence, &request)
        }
        Action::Kunit { arch, filter } => {
            kunit::command(&cache, &lab, &checkout, arch, filter.as_deref())
        }
        Action::Mutants { every } => mutants::run(&cache, &lab, &checkout, silence, every),
        Action::Check => {
            let tally = check::run(&cache, &lab, &checkout, silence);
            interrupt::check(cache, &lab, &checkout, (2, false), &tally);
            Ok(tally.end())
        }
        Action::Interrupt { points } => {
            let tally = tally::Tally::default();
            interrupt::check(cache, &lab, &checkout, (points, true), &tally);
            Ok(tally.end())
        }
        Action::Stress { short, seed } => {
            let tally = tally::Tally::default();
            let form = if short { "short" } else { "full" };
            stress::run(&cache, &lab, &checkout, silence, (form, seed), &tally);
            Ok(tally.end())
        }
        Action::Exec { words } => {
            let mut command = lab.root.command(&words[0], &std::env::current_dir()?)?;
            // In our own process group, so that it may read the terminal.
            command
                .stdin(Stdio::inherit())
                .process_group(nix::unistd::getpgrp().as_raw());
            let ended = command.args(&words[1..]).status();
            Ok(ended.map_err(|e| cannot_start(&command, e))?.success())
        }
        Action::Records(records) => records.run(),
        Action::Readme { check } => readme::run(&checkout, check),
        Action::Mutant { .. } => unreachable!("it has run"),
    }
}

/// The folder that holds the module's sources: the current one, or one above it.
fn checkout() -> Result<PathBuf> {
    let here = std::env::current_dir()?;
    let found = here
        .ancestors()
        .find(|dir| dir.join("scripts/Cargo.toml").is_file());
    let found = found.map(Path::to_path_buf);
    found.context("run this inside a repmov checkout")
}

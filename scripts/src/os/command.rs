// SPDX-License-Identifier: GPL-2.0-only

//! Commands: where their programs are, how they read, and why one did not start.

use anyhow::{anyhow, Context, Error, Result};
use std::path::PathBuf;
use std::process::Command;

/// Where a program of the machine's is.
pub fn tool(program: &str) -> Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places = std::env::split_paths(&path).map(|dir| dir.join(program));
    let place = places.find(|place| place.is_file());
    place.with_context(|| format!("{program} is not installed on this machine"))
}

/// The error that says why a command did not even start.
pub fn cannot_start(command: &Command, e: std::io::Error) -> Error {
    let program = command.get_program().to_string_lossy();
    match e.raw_os_error() {
        Some(nix::libc::ENOENT) => {
            anyhow!("{program} is not there, or the folder to run it in is not")
        }
        Some(nix::libc::EPERM) => anyhow!(
            "cannot start {program} in the toolchain root: this user may not mount or chroot \
             (run as root, in a container with CAP_SYS_ADMIN)"
        ),
        _ => anyhow!("cannot start {program}: {e}"),
    }
}

/// A command as a person would type it.
pub fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    format!("$ {}", words.join(" "))
}

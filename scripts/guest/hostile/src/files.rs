// SPDX-License-Identifier: GPL-2.0-only

//! The module's files, and a child process that uses one of them.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::ktap::{must, Outcome};

const FOLDER: &str = "/sys/kernel/debug/repmov";

/// All files, and whether each can be read.
pub const FILES: [(&str, bool); 6] = [
    ("instances", true),
    ("plan", true),
    ("run", false),
    ("timings", true),
    ("verify", true),
    ("status", true),
];

/// A plan that takes next to no time.
pub const TINY: &str = "candidate=orig mask=e0f0 len=8 rounds=3";

/// One that takes longer than anybody waits here.
pub const LONG: &str = "len=0-4096/64 rounds=101";

pub fn path(name: &str) -> PathBuf {
    PathBuf::from(FOLDER).join(name)
}

pub fn there() -> bool {
    path("status").exists()
}

/// Opens a file for the one thing that it is opened for here.
pub fn open(name: &str, write: bool) -> io::Result<File> {
    let mut how = OpenOptions::new();
    how.read(!write).write(write).open(path(name))
}

/// All of a file's text, with as few system calls as it takes: here they are slow. What does not
/// fill the buffer is the end.
pub fn read(name: &str) -> io::Result<Vec<u8>> {
    let (mut file, mut bytes, mut buffer) = (open(name, false)?, Vec::new(), [0; 16384]);
    loop {
        let count = file.read(&mut buffer)?;
        bytes.extend_from_slice(&buffer[..count]);
        if count < buffer.len() {
            return Ok(bytes);
        }
    }
}

/// Writes all in one go.
pub fn write(name: &str, bytes: &[u8]) -> io::Result<()> {
    let count = open(name, true)?.write(bytes)?;
    match count == bytes.len() {
        true => Ok(()),
        false => Err(io::Error::other(format!("only {count} bytes were taken"))),
    }
}

/// What must be readable, as text.
pub fn text(name: &str) -> Outcome<String> {
    let bytes = read(name).map_err(|e| format!("{name}: {e}"))?;
    String::from_utf8(bytes).map_err(|e| format!("{name}: {e}"))
}

/// What must be taken.
pub fn put(name: &str, words: &str) -> Outcome<()> {
    write(name, words.as_bytes()).map_err(|e| format!("{name} does not take \"{words}\": {e}"))
}

/// Runs a plan, which must work.
pub fn run(plan: &str) -> Outcome<String> {
    put("plan", plan)?;
    put("run", "1")?;
    let record = text("timings")?;
    let end = record.lines().last().unwrap_or_default();
    must(end.starts_with("# end: "), || {
        format!("the record ends with \"{end}\"")
    })?;
    Ok(record)
}

/// Waits until nothing runs any more; the words of `status`.
pub fn idle() -> Outcome<String> {
    let start = Instant::now();
    loop {
        let status = text("status")?;
        if status.starts_with("idle\n") {
            return Ok(status);
        }
        must(start.elapsed() < Duration::from_secs(60), || {
            format!("it never comes to rest: {status}")
        })?;
        sleep(Duration::from_millis(2));
    }
}

/// Waits until something runs.
pub fn running() -> Outcome<()> {
    let start = Instant::now();
    while !text("status")?.starts_with("running ") {
        must(start.elapsed() < Duration::from_secs(60), || {
            "nothing runs".into()
        })?;
        sleep(Duration::from_millis(1));
    }
    Ok(())
}

/// A process of its own that reads or writes a file.
pub fn spawn(verb: &str, name: &str) -> Outcome<Child> {
    let mut child = Command::new("/proc/self/exe");
    child.args(["child", verb, name]);
    child.stdin(Stdio::null()).stderr(Stdio::null());
    child.spawn().map_err(|e| format!("no child: {e}"))
}

/// What such a process does.
pub fn child(verb: &str, name: &str) -> ExitCode {
    let done = match verb {
        "read" => read(name).map(drop),
        _ => write(name, b"1"),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => ExitCode::from(e.raw_os_error().unwrap_or(255) as u8),
    }
}

/// A number or text from a file of the kernel's.
pub fn kernel_file(path: &str) -> Outcome<String> {
    let text = fs::read_to_string(path).map_err(|e| format!("{path}: {e}"))?;
    Ok(text.trim_end().to_string())
}

pub fn set_kernel_file(path: &str, words: &str) -> Outcome<()> {
    fs::write(path, words).map_err(|e| format!("{path} does not take \"{words}\": {e}"))
}

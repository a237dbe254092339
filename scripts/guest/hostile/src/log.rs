// SPDX-License-Identifier: GPL-2.0-only

//! The kernel's log, and what in it is a finding.

use std::fs::OpenOptions;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;

use crate::files::kernel_file;
use crate::kernel::EAGAIN;
use crate::ktap::{must, Outcome};

/// What a kernel begins a finding with. (Memory that is made to run out leaves words and traces
/// that are none.)
const MARKS: [&str; 9] = [
    "WARNING:",
    "BUG:",
    "UBSAN:",
    "KASAN:",
    "INFO: ",
    "Oops",
    "corruption",
    "DEADLOCK",
    "kmemleak disabled",
];

/// Bits of the kernel's taint that a finding sets: a bad page, a death, a warning, a lockup.
const TAINTS: u64 = (1 << 5) | (1 << 7) | (1 << 9) | (1 << 14);

/// The lines of the log from its start.
pub fn lines() -> Outcome<Vec<String>> {
    let mut how = OpenOptions::new();
    let log = how.read(true).custom_flags(0o4000).open("/dev/kmsg");
    let mut log = log.map_err(|e| format!("/dev/kmsg: {e}"))?;
    let (mut lines, mut record) = (Vec::new(), [0; 8192]);
    loop {
        let count = match log.read(&mut record) {
            Ok(count) => count,
            Err(e) if e.raw_os_error() == Some(EAGAIN) => return Ok(lines),
            Err(e) => return Err(format!("/dev/kmsg: {e}")),
        };
        // "priority,number,time,flags;text"
        let text = String::from_utf8_lossy(&record[..count]).into_owned();
        let (head, text) = text.split_once(';').unwrap_or(("", &text));
        if lines.is_empty() {
            must(head.split(',').nth(1) == Some("0"), || {
                format!("the start of the kernel's log is lost: {head}")
            })?;
        }
        lines.extend(text.lines().take(1).map(str::to_string));
    }
}

/// The findings among some lines.
pub fn findings(lines: &[String]) -> Vec<&String> {
    let is_finding = |line: &&String| MARKS.iter().any(|mark| line.contains(mark));
    lines.iter().filter(is_finding).collect()
}

/// Fails if the kernel found anything since it booted.
pub fn clean() -> Outcome<String> {
    let lines = lines()?;
    let found = findings(&lines);
    must(found.is_empty(), || format!("{found:#?}"))?;
    let taint = kernel_file("/proc/sys/kernel/tainted")?;
    let bits: u64 = taint.parse().map_err(|_| format!("taint {taint}"))?;
    must(bits & TAINTS == 0, || {
        format!("the kernel is tainted: {bits}")
    })?;
    // It would be, after its first finding or somebody else's.
    let lockdep = kernel_file("/proc/lockdep_stats")?;
    let on = |line: &str| line.split_whitespace().eq(["debug_locks:", "1"]);
    must(lockdep.lines().any(on), || "lockdep is off".into())?;
    Ok(format!("{} lines, taint {bits}", lines.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_are_found_and_other_lines_are_not() {
        let lines = [
            "BUG: KASAN: slab-use-after-free in init",
            "WARNING: possible circular locking dependency detected",
            "repmov: loading",
            "hostile: vmalloc error: size 4096, failed to allocate pages",
            "BUG: sleeping function called from invalid context at x",
        ]
        .map(str::to_string);
        assert_eq!(findings(&lines), [&lines[0], &lines[1], &lines[4]]);
    }
}

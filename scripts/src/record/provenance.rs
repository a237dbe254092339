// SPDX-License-Identifier: GPL-2.0-only

//! What a record says besides what the kernel that measured knows: where, when, on which machine.

use anyhow::{Context, Result};
use repmov_core::record::VERSION;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::record::experiment::Experiment;

/// Header lines: keys and values.
pub type Facts = Vec<(String, String)>;

/// What every record says.
pub fn common(checkout: &Path, lab: &str, experiment: &Experiment, boot: u32) -> Result<Facts> {
    let fact = |key: &str, value: String| (key.to_string(), value);
    Ok(vec![
        fact("lab", lab.into()),
        fact("experiment", experiment.name.clone()),
        fact("about", experiment.about.clone()),
        fact("boot", boot.to_string()),
        fact("date", date()?),
        fact("repmov", version(checkout)),
    ])
}

/// Of this machine, for a kernel that runs its instructions.
pub fn host() -> Facts {
    let cpu = Path::new("/sys/devices/system/cpu");
    let read = |path: &Path| {
        let text = fs::read_to_string(path).ok();
        text.map(|text| text.trim().to_string())
    };
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = |key: &str| {
        let mut lines = info.lines().filter_map(|line| line.split_once(':'));
        let value = lines.find(|(name, _)| name.trim() == key);
        value.map(|(_, value)| value.trim().to_string())
    };
    let mut facts = Facts::new();
    let mut say = |key: &str, value: Option<String>| {
        let value = value.unwrap_or_else(|| "not readable".into());
        facts.push((format!("host {key}"), value));
    };
    say("kernel", read(Path::new("/proc/sys/kernel/osrelease")));
    say("microcode", line("microcode"));
    say("flags", line("flags"));
    say("mitigations", mitigations(&cpu.join("vulnerabilities")));
    let mhz = line("cpu MHz").map(|mhz| format!("{mhz} MHz when asked"));
    say("frequency", mhz);
    say("governor", read(&cpu.join("cpu0/cpufreq/scaling_governor")));
    let boost = read(&cpu.join("cpufreq/boost"));
    let no_turbo = read(&cpu.join("intel_pstate/no_turbo"));
    say(
        "boost",
        boost.or(no_turbo.map(|off| format!("no_turbo {off}"))),
    );
    say("load", read(Path::new("/proc/loadavg")));
    facts
}

/// What a kernel does against the faults of its CPU, on one line.
fn mitigations(folder: &Path) -> Option<String> {
    let mut entries: Vec<_> = fs::read_dir(folder).ok()?.flatten().collect();
    entries.sort_by_key(|entry| entry.file_name());
    let one = |entry: &fs::DirEntry| {
        let text = fs::read_to_string(entry.path()).unwrap_or_default();
        format!("{}: {}", entry.file_name().to_string_lossy(), text.trim())
    };
    Some(entries.iter().map(one).collect::<Vec<_>>().join("; "))
}

/// Of a guest, from what its init sent as `info`.
pub fn guest(info: &str) -> Facts {
    let mut facts = Facts::new();
    let mut mitigations = Vec::new();
    for line in info.lines() {
        match line.split_once(' ') {
            Some(("vulnerability", rest)) => mitigations.push(rest.replacen(' ', ": ", 1)),
            Some(("flags", flags)) => facts.push(("flags".into(), flags.trim().into())),
            // Where the files lie on the host is nobody's business.
            Some(("cmdline", words)) => {
                let words = words.split(' ').filter(|word| !word.contains('/'));
                let words = words.collect::<Vec<_>>().join(" ");
                facts.push(("command line".into(), words));
            }
            _ => {}
        }
    }
    if !mitigations.is_empty() {
        facts.push(("mitigations".into(), mitigations.join("; ")));
    }
    facts
}

/// The time, as files are named by it and records say it.
pub fn date() -> Result<String> {
    let date = Command::new("date").arg("+%Y-%m-%dT%H%M%S%z").output();
    let date = date.context("date")?;
    Ok(String::from_utf8_lossy(&date.stdout).trim().to_string())
}

/// The commit of a checkout, and whether something in it was changed.
pub fn version(checkout: &Path) -> String {
    let said = Command::new("git")
        .arg("-C")
        .arg(checkout)
        .args(["describe", "--always", "--dirty"])
        .output();
    match said {
        Ok(said) if said.status.success() => {
            String::from_utf8_lossy(&said.stdout).trim().to_string()
        }
        _ => "unknown".into(),
    }
}

/// Puts facts into each part of a record, behind its first line.
pub fn add(record: &str, facts: &Facts) -> String {
    let mut text = String::new();
    for line in record.lines() {
        text += line;
        text.push('\n');
        if line == VERSION {
            for (key, value) in facts {
                text += &format!("# {key}: {value}\n");
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_gets_them() {
        let facts = vec![("lab".to_string(), "um".to_string())];
        let part = format!("{VERSION}\nrows\n");
        let both = add(&format!("{part}{part}"), &facts);
        assert_eq!(both, format!("{VERSION}\n# lab: um\nrows\n").repeat(2));
    }

    #[test]
    fn a_guest_tells_of_itself() {
        let info =
            "release 7\ncmdline a OUT=/b b\nflags  fpu erms\nvulnerability its Not affected\n";
        let facts = guest(info);
        assert_eq!(facts[0], ("command line".into(), "a b".into()));
        assert_eq!(facts[1], ("flags".into(), "fpu erms".into()));
        assert_eq!(facts[2], ("mitigations".into(), "its: Not affected".into()));
    }

    #[test]
    fn this_machine_tells_of_itself() {
        let facts = host();
        let flags = |(key, value): &(String, String)| key == "host flags" && value.contains("sse2");
        assert!(facts.iter().any(flags));
    }
}

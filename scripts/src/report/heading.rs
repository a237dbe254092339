// SPDX-License-Identifier: GPL-2.0-only

//! What stands above every table: which machine it was, how often it was measured, and what can be
//! told apart.

use crate::stats::dataset::{Pool, NEAR_PART, NEAR_PS};
use crate::stats::format::{distinct, ns};

/// The headers that tell a machine, in the order in which they are told, by a name if the value
/// does not speak for itself.
const MACHINE: [(&str, &str); 12] = [
    ("cpu model", ""),
    ("cpu family/model/stepping", "family/model/stepping"),
    ("microcode", "microcode"),
    ("hypervisor", "hypervisor"),
    ("kernel", "Linux"),
    ("repmov", "repmov"),
    ("lab", "lab"),
    ("returns", "returns"),
    ("indirect calls", "indirect calls"),
    ("clock", "clock"),
    ("core clock", "core clock"),
    ("date", "date"),
];

/// The machine, in one sentence's words.
pub fn machine(pool: &Pool<'_>) -> String {
    let said = MACHINE.iter().filter_map(|(key, name)| {
        let values = distinct(&pool.parts, |part| part.header(key).map(|v| short(key, v)));
        let values: Vec<_> = values.into_iter().flatten().collect();
        let shown = match (values.len(), *key) {
            (0, _) => return None,
            (1, _) => values[0].to_string(),
            (_, "core clock") => {
                let least = values.iter().min().copied().unwrap_or_default();
                let most = values.iter().max().copied().unwrap_or_default();
                format!("{least} to {most}")
            }
            (_, "date") => values[0].to_string(),
            (count, _) => format!("{} and {} others", values[0], count - 1),
        };
        Some(format!("{name} {shown}").trim().to_string())
    });
    said.collect::<Vec<_>>().join(", ")
}

/// What of a header's value is told: of the clocks, without what changes from boot to boot.
fn short<'a>(key: &str, value: &'a str) -> &'a str {
    let end = match key {
        "clock" => ", moves by",
        "core clock" => ", deviating",
        _ => return value.trim(),
    };
    let value = value.split(end).next().unwrap_or(value).trim();
    match value.split_once(" kHz as measured") {
        Some(_) => "tsc, measured with ktime",
        None => value,
    }
}

/// How often it was measured.
pub fn effort(pool: &Pool<'_>) -> String {
    let boots = pool.parts.len();
    let s = if boots == 1 { "" } else { "s" };
    format!("{boots} boot{s} of {} rounds", pool.rounds())
}

/// What an empty call took, by the first boot.
pub fn empty(pool: &Pool<'_>) -> String {
    let headers = &pool.parts[0].headers;
    let calls = headers.iter().filter(|(key, _)| *key == "empty call");
    let calls: Vec<_> = calls
        .filter_map(|(_, value)| {
            let (head, rest) = value.split_once("median ")?;
            let median = rest.split(" ns").next()?;
            let cache = head.split_once(": min").map_or("", |(cache, _)| cache);
            Some(format!("{cache} {median} ns").trim().to_string())
        })
        .collect();
    match calls.len() {
        0 => "times include the call".into(),
        _ => format!("times include the call, empty: {}", calls.join(", ")),
    }
}

/// By how much the A/A pairs differ.
pub fn twins(pool: &Pool<'_>) -> String {
    let (near, all) = (pool.near(), pool.places.len());
    format!(
        "A/A: within {} ns or {:.1} % in {near} of {all} cells ({:.0} %)",
        ns(NEAR_PS),
        100.0 * NEAR_PART,
        (100.0 * near as f64 / all.max(1) as f64).floor()
    )
}

/// What can be told apart, in each state of memory if there are several.
pub fn resolution(pool: &Pool<'_>) -> String {
    let several = pool.resolutions.len() > 1;
    let said = pool.resolutions.iter().map(|((mem, cache), resolution)| {
        let state = match (several, *mem) {
            (false, _) => String::new(),
            (true, "kernel") => format!("{cache} "),
            (true, _) => format!("{mem} "),
        };
        let part = 100.0 * resolution.part;
        format!("{state}{} ns or {part:.1} %", ns(resolution.ps))
    });
    format!(
        "resolution: {}, whichever is more, or what the A/A pair at the place differs by",
        said.collect::<Vec<_>>().join("; ")
    )
}

/// What was measured: the plan, without what it says of how.
pub fn plan(pool: &Pool<'_>) -> String {
    let plan = pool.parts[0].header("plan").unwrap_or_default();
    let how = [
        "entry=0",
        "src=0",
        "dst=0",
        "mem=kernel",
        "cache=hot",
        "fault=none",
        "draw=each",
    ];
    let said = plan.split(' ').filter(|word| {
        let key = word.split('=').next().unwrap_or_default();
        !how.contains(word) && !["rounds", "cpu", "buffers"].contains(&key)
    });
    format!("plan: {}", said.collect::<Vec<_>>().join(" "))
}

/// How the numbers are to be read, of every record.
pub const HOW: &str =
    "change: the median of what each round's pair differs by; the intervals are of \
                       95 % and hold every boot's median";

/// What is a pool's own, a paragraph each.
pub fn paragraphs(pool: &Pool<'_>) -> Vec<String> {
    vec![
        plan(pool),
        format!("{}; {}", effort(pool), empty(pool)),
        twins(pool),
        resolution(pool),
    ]
}

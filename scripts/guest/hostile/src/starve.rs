// SPDX-License-Identifier: GPL-2.0-only

//! Allocations that fail: the first of a use of the module, then the second, and so on, until one
//! use gets through whole. The kernel's fault injection counts those that the module's own code
//! asks for, in whatever way.

use std::cell::RefCell;
use std::io;

use crate::files::{self, set_kernel_file};
use crate::kernel::{self, number, ENOMEM};
use crate::ktap::{beat, must, Outcome};
use crate::load::{self, MODULE};

const NTH: &str = "/proc/thread-self/fail-nth";

/// The part of the address space where modules are. There is no other than this one.
const MODULES: [(&str, &str); 2] = [
    ("require-start", "0xffffffffa0000000"),
    ("require-end", "0xffffffffff000000"),
];

fn set_up() -> Outcome<()> {
    for kind in ["failslab", "fail_page_alloc"] {
        let set = |name: &str, value: &str| {
            set_kernel_file(&format!("/sys/kernel/debug/{kind}/{name}"), value)
        };
        set("ignore-gfp-wait", "N")?;
        set("stacktrace-depth", "32")?;
        set("verbose", "0")?;
        for (name, value) in MODULES {
            set(name, value)?;
        }
    }
    set_kernel_file("/sys/kernel/debug/fail_page_alloc/min-order", "0")
}

/// Does something with its `nth` allocation failing. Whether there were so many, and how it ended.
fn failing<T>(nth: u64, act: impl FnOnce() -> io::Result<T>) -> Outcome<(bool, io::Result<T>)> {
    set_kernel_file(NTH, &nth.to_string())?;
    let result = act();
    let left = files::kernel_file(NTH)?;
    set_kernel_file(NTH, "0")?;
    Ok((left == "0", result))
}

/// One use of the module.
struct Walk<'a> {
    name: &'a str,
    act: &'a dyn Fn() -> io::Result<Vec<u8>>,
    /// What must hold after it, however it ended: whether it worked, and what it gave.
    after: &'a dyn Fn(&io::Result<Vec<u8>>) -> Outcome<()>,
    /// How far it is from one of its allocations that fails to the next.
    stride: u64,
}

impl Walk<'_> {
    /// How many allocations failed, and how many uses with them.
    fn run(&self) -> Outcome<(u64, u64)> {
        let (mut nth, mut failed, mut injected) = (1, 0, 0);
        loop {
            beat(self.name, nth, 0);
            let (was, result) = failing(nth, self.act)?;
            let here = |words: String| format!("{}, allocation {nth}: {words}", self.name);
            let error = number(&result);
            must(error == 0 || (was && error == ENOMEM), || {
                here(format!("error {error}"))
            })?;
            (self.after)(&result).map_err(here)?;
            if !was {
                must(failed > 0, || {
                    format!("{}: no failure did any harm", self.name)
                })?;
                return Ok((injected, failed));
            }
            injected += 1;
            failed += u64::from(error != 0);
            // The first ones are all different, and those that follow more of the same.
            nth += if nth < 20 { 1 } else { self.stride };
            must(nth < 100_000, || format!("{}: it never ends", self.name))?;
        }
    }
}

/// Loads it, if it is not.
fn loaded() -> Outcome<()> {
    if !files::there() {
        kernel::load(MODULE, "").map_err(|e| format!("it does not load: {e}"))?;
    }
    Ok(())
}

pub fn run(stride: u64) -> Outcome<String> {
    const CHECKS: &str = "depth=quick routine=rep_movs_alternative candidate=movsq mask=e1f0";
    set_up()?;
    let mut said = Vec::new();
    let mut walk = |walk: Walk<'_>| -> Outcome<()> {
        let (injected, failed) = walk.run()?;
        said.push(format!("{} {failed}/{injected}", walk.name));
        Ok(())
    };

    // Loading: all of it is there, or nothing.
    load::unload()?;
    walk(Walk {
        name: "load",
        act: &|| kernel::load(MODULE, "").map(|()| Vec::new()),
        after: &|result| {
            let files = files::FILES
                .iter()
                .filter(|(name, _)| files::path(name).exists());
            let (count, all) = (files.count(), files::FILES.len());
            let holds = match result {
                Ok(_) => count == all,
                Err(_) => !files::path("").exists(),
            };
            must(holds, || format!("{count} of {all} files are there"))?;
            if result.is_ok() {
                load::unload()?;
            }
            Ok(())
        },
        stride,
    })?;
    loaded()?;

    // Everything else changes nothing if it fails.
    let record = files::run(files::TINY)?;
    files::put("verify", CHECKS)?;
    let checks = files::text("verify")?;
    let plan = files::text("plan")?;
    let instances = files::text("instances")?;
    let same = |result: &io::Result<Vec<u8>>, text: &str| -> Outcome<()> {
        if let Ok(bytes) = result {
            must(bytes == text.as_bytes(), || {
                format!("it reads as\n{}", String::from_utf8_lossy(bytes))
            })?;
        }
        let status = files::text("status")?;
        must(status.starts_with("idle\n"), || {
            format!("status is {status}")
        })?;
        must(files::text("plan")? == plan, || {
            "the plan is another".into()
        })
    };
    for (name, text) in [
        ("instances", &instances),
        ("plan", &plan),
        ("timings", &record),
        ("verify", &checks),
    ] {
        walk(Walk {
            name,
            act: &|| files::read(name),
            after: &|result| same(result, text),
            stride,
        })?;
    }
    walk(Walk {
        name: "status",
        act: &|| files::read("status"),
        after: &|_| Ok(()),
        stride,
    })?;
    walk(Walk {
        name: "plan written",
        act: &|| files::write("plan", files::TINY.as_bytes()).map(|()| Vec::new()),
        after: &|_| {
            must(files::text("plan")? == plan, || {
                "the plan is another".into()
            })
        },
        stride,
    })?;
    walk(Walk {
        name: "verify written",
        act: &|| files::write("verify", CHECKS.as_bytes()).map(|()| Vec::new()),
        after: &|_| Ok(()),
        stride,
    })?;
    for (name, plan) in [
        ("run", files::TINY),
        ("run with faults", "routine=rep_movs_alternative candidate=movsq mask=e1f0 len=64 mem=all fault=0,7 rounds=3"),
    ] {
        files::put("plan", plan)?;
        let reading = files::text("plan")?;
        let record = RefCell::new(files::text("timings")?);
        walk(Walk {
            name,
            act: &|| files::write("run", b"1").map(|()| Vec::new()),
            after: &|result| {
                let (now, status) = (files::text("timings")?, files::text("status")?);
                let before = record.replace(now.clone());
                must(result.is_ok() || now == before, || "the record is another".into())?;
                let end = now.lines().last().unwrap_or_default();
                must(end.starts_with("# end: "), || format!("the record ends with {end}"))?;
                must(files::text("plan")? == reading, || "the plan is another".into())?;
                must(status.starts_with("idle\n"), || format!("status is {status}"))
            },
            stride,
        })?;
    }
    files::run(files::TINY)?;
    Ok(format!("failed/injected: {}", said.join(", ")))
}

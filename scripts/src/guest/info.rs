// SPDX-License-Identifier: GPL-2.0-only

//! What a guest's init says of its CPU.

use anyhow::{ensure, Result};

use crate::guest::accel::Accel;
use crate::guest::mitigation::ALIGNED;

/// Fails unless the guest's CPU has what was asked for.
pub fn as_asked(info: &str, without: &[&str], its: bool, accel: Accel) -> Result<()> {
    let line = |start: &str| {
        info.lines()
            .find_map(|line| line.strip_prefix(start))
            .unwrap_or("")
    };
    for feature in ["erms", "fsrm"] {
        let has = line("flags ")
            .split_whitespace()
            .any(|flag| flag == feature);
        let wanted = !without.contains(&feature);
        // A real CPU may lack it by itself.
        let free = accel == Accel::Kvm && wanted;
        ensure!(
            has == wanted || free,
            "the guest's CPU has {feature}: {has}, wanted: {wanted}"
        );
    }
    let state = line("vulnerability indirect_target_selection ");
    if its {
        ensure!(
            state == ALIGNED,
            "the kernel says of ITS: \"{state}\", not \"{ALIGNED}\""
        );
    } else if accel == Accel::Tcg {
        ensure!(
            state == "Not affected",
            "the kernel says of ITS: \"{state}\""
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(flags: &str, its: &str) -> String {
        format!("release 7\nflags  {flags}\nvulnerability indirect_target_selection {its}\n")
    }

    #[test]
    fn a_guest_that_is_not_as_asked_for_is_refused() {
        let forced = info("fpu erms fsrm", ALIGNED);
        as_asked(&forced, &[], true, Accel::Tcg).unwrap();
        let message = as_asked(&forced, &["fsrm"], true, Accel::Tcg)
            .unwrap_err()
            .to_string();
        assert!(message.contains("fsrm: true"), "{message}");
        assert!(as_asked(&info("erms", ALIGNED), &[], true, Accel::Tcg).is_err());
        as_asked(&info("erms", ALIGNED), &[], true, Accel::Kvm).unwrap();
        assert!(as_asked(&info("erms fsrm", "Vulnerable"), &[], true, Accel::Tcg).is_err());
        assert!(as_asked(&forced, &[], false, Accel::Tcg).is_err());
        assert!(as_asked("", &[], true, Accel::Tcg).is_err());
    }
}

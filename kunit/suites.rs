// SPDX-License-Identifier: GPL-2.0-only

//! A KUnit suite for every candidate and mask, with a case for every check.
//!
//! A failed case means that the candidate, so patched, must not go into a kernel. The message
//! names the instance and the first thing found.

use kernel::prelude::*;

use crate::{
    checks::{
        Check,
        Outcome,
        Space, //
    },
    instance,
    pure::{
        copies::Depth,
        mask::Mask, //
    },
};

/// Marks the running test as skipped, with the reason.
pub(crate) fn skip(reason: &str) {
    // SAFETY: Always safe to call.
    let test = unsafe { kernel::bindings::kunit_get_current_test() };
    if test.is_null() {
        return;
    }
    // SAFETY: The test runs on this thread, so it is alive and its status is this thread's.
    let test = unsafe { &mut *test };
    test.status = kernel::bindings::kunit_status_KUNIT_SKIPPED;
    let room = test.status_comment.len() - 1;
    for (to, from) in test.status_comment[..room].iter_mut().zip(reason.bytes()) {
        *to = from as _;
    }
}

/// Runs one check over the instances of a suite, at all entry offsets.
fn check(
    check: Check,
    routine: &'static str,
    candidate: &'static str,
    mask: &'static str,
) -> Result {
    let mask = Mask::from_name(mask).ok_or(EINVAL)?;
    let mut space = Space::new(Depth::Full)?;
    let mut count = 0;
    let mut skipped = None;
    for instance in instance::suite(routine, candidate, mask) {
        count += 1;
        match check.run(instance, &mut space)? {
            Ok(Outcome::Passed) => {}
            Ok(Outcome::Skipped(reason)) => skipped = Some(reason),
            Err(failure) => {
                kernel::kunit::err(format_args!(
                    "    # {}: {routine} {candidate} {mask} entry {}: {failure}\n",
                    check.name(),
                    instance.entry()
                ));
                return Err(EINVAL);
            }
        }
    }
    if let Some(reason) = skipped {
        skip(reason);
    }
    // A suite without instances would pass whatever the code is.
    if count == 0 {
        return Err(ENOENT);
    }
    Ok(())
}

macro_rules! suite {
    ($suite:ident, $module:ident, $routine:literal, $candidate:literal, $mask:literal) => {
        #[kunit_tests($suite)]
        mod $module {
            use super::*;

            #[test]
            fn every_length() -> Result {
                check(Check::EveryLength, $routine, $candidate, $mask)
            }

            #[test]
            fn every_alignment() -> Result {
                check(Check::EveryAlignment, $routine, $candidate, $mask)
            }

            #[test]
            fn guard_pages() -> Result {
                check(Check::GuardPages, $routine, $candidate, $mask)
            }

            #[test]
            fn return_value() -> Result {
                check(Check::ReturnValue, $routine, $candidate, $mask)
            }

            #[test]
            fn calling_convention() -> Result {
                check(Check::CallingConvention, $routine, $candidate, $mask)
            }

            #[test]
            fn patched_text() -> Result {
                check(Check::PatchedText, $routine, $candidate, $mask)
            }

            #[test]
            fn returns() -> Result {
                check(Check::Returns, $routine, $candidate, $mask)
            }
        }
    };
}

include!(concat!(env!("REPMOV_GEN"), "/suites.rs"));

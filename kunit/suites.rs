// SPDX-License-Identifier: GPL-2.0-only

//! A KUnit suite for every candidate and mask, with a case for every check.
//!
//! A failed case means that the candidate, so patched, must not go into a kernel. The message
//! names the instance and the first thing found.

use kernel::prelude::*;

use crate::{
    checks::{
        Check,
        Space,
        Verdict, //
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
    let instances = instance::suite(routine, candidate, mask);
    match check.run_suite(instances, &mut Space::new(Depth::Full)?)? {
        Verdict::Passed => {}
        Verdict::Skipped(reason) => skip(reason),
        Verdict::Failed(instance, failure) => {
            let name = check.name();
            kernel::kunit::err(format_args!("    # {name}: {instance}: {failure}\n"));
            return Err(EINVAL);
        }
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

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
        Verdict::Passed(Some(count)) => {
            let name = check.name();
            kernel::kunit::info(format_args!("    # {name}: {count}\n"));
        }
        Verdict::Passed(None) => {}
        Verdict::Skipped(reason) => skip(reason),
        Verdict::Failed(instance, failure) => {
            let name = check.name();
            kernel::kunit::err(format_args!("    # {name}: {instance}: {failure}\n"));
            return Err(EINVAL);
        }
    }
    Ok(())
}

macro_rules! cases {
    (
        $suite:ident, $module:ident, $routine:literal, $candidate:literal, $mask:literal:
        $($case:ident: $check:ident,)*
    ) => {
        #[kunit_tests($suite)]
        mod $module {
            use super::*;

            $(
                #[test]
                fn $case() -> Result {
                    check(Check::$check, $routine, $candidate, $mask)
                }
            )*
        }
    };
}

/// What [`Check::of`] says of a routine, as test cases.
macro_rules! suite {
    (memcpy, $($name:tt)*) => {
        cases! {
            $($name)*:
            every_length: EveryLength,
            every_alignment: EveryAlignment,
            guard_pages: GuardPages,
            return_value: ReturnValue,
            calling_convention: CallingConvention,
            patched_text: PatchedText,
            returns: Returns,
        }
    };
    ($copy_user:ident, $($name:tt)*) => {
        cases! {
            $($name)*:
            every_length: EveryLength,
            every_alignment: EveryAlignment,
            guard_pages: GuardPages,
            return_value: ReturnValue,
            calling_convention: CallingConvention,
            patched_text: PatchedText,
            returns: Returns,
            exception_table: ExceptionTable,
            source_faults: SourceFaults,
            destination_faults: DestinationFaults,
            user_memory: UserMemory,
        }
    };
}

include!(concat!(env!("REPMOV_GEN"), "/suites.rs"));

// SPDX-License-Identifier: GPL-2.0-only

//! The negative controls: every check must reject a candidate that is broken for it, and for the
//! right reason. A case that fails here means that the check of that name would let such code by.

use kernel::prelude::*;

use crate::{
    checks::{
        Check,
        Outcome,
        Space, //
    },
    instance::{
        self,
        Instance,
        Kind, //
    },
    pure::{
        copies::Depth,
        failure::Reason, //
    },
    suites::skip,
};

/// The control of that name.
fn control(name: &str) -> Result<Instance> {
    instance::all()
        .find(|i| i.kind() == Kind::Control && i.candidate() == name)
        .ok_or(ENOENT)
}

/// Runs a check on a control; it must fail, and for that reason.
fn rejects(check: Check, name: &str, reason: Reason) -> Result {
    let instance = control(name)?;
    match check.run(instance, &mut Space::new(Depth::Full)?)? {
        Err(failure) if failure.reason() == reason => {
            kernel::kunit::info(format_args!("    # {name}: rejected: {failure}\n"));
            Ok(())
        }
        Err(failure) => {
            kernel::kunit::err(format_args!(
                "    # {name}: rejected for another reason: {failure}\n"
            ));
            Err(EINVAL)
        }
        Ok(Outcome::Skipped(why)) => {
            skip(why);
            Ok(())
        }
        Ok(Outcome::Passed(_)) => {
            kernel::kunit::err(format_args!("    # {name}: let by\n"));
            Err(EINVAL)
        }
    }
}

#[kunit_tests(repmov_controls)]
mod controls {
    use super::*;

    #[test]
    fn short_tail() -> Result {
        rejects(Check::EveryLength, "shorttail", Reason::Content)
    }

    #[test]
    fn short_tail_at_some_alignment() -> Result {
        rejects(Check::EveryAlignment, "shorttail", Reason::Content)
    }

    #[test]
    fn short_tail_at_the_guard() -> Result {
        rejects(Check::GuardPages, "shorttail", Reason::Content)
    }

    #[test]
    fn byte_past_the_end() -> Result {
        rejects(Check::EveryLength, "pastend", Reason::Outside)
    }

    #[test]
    fn byte_before_the_start() -> Result {
        rejects(Check::EveryAlignment, "beforestart", Reason::Outside)
    }

    #[test]
    fn wrong_return_value() -> Result {
        rejects(Check::ReturnValue, "retval", Reason::ReturnValue)
    }

    #[test]
    fn callee_saved_register() -> Result {
        rejects(Check::CallingConvention, "savedreg", Reason::Register)
    }

    #[test]
    fn register_beyond_the_contract() -> Result {
        rejects(Check::CallingConvention, "clobbersr8", Reason::Register)
    }

    #[test]
    fn stack_pointer() -> Result {
        rejects(Check::CallingConvention, "stack", Reason::Stack)
    }

    #[test]
    fn direction_flag() -> Result {
        rejects(Check::CallingConvention, "direction", Reason::Direction)
    }

    #[test]
    fn access_left_allowed() -> Result {
        rejects(Check::CallingConvention, "leavesac", Reason::Access)
    }

    /// Off by one on user memory. (A copy that lacks STAC is no control: SMAP makes an oops of it,
    /// whatever the exception table says.)
    #[test]
    fn user_memory_one_too_few() -> Result {
        rejects(Check::UserMemory, "toofew", Reason::Fault)
    }

    #[test]
    fn user_memory_one_too_many() -> Result {
        rejects(Check::UserMemory, "toomany", Reason::Outside)
    }

    /// Takes a destination for written that can be read. Only where it may not be written is that
    /// wrong, and only there does it go wrong.
    #[test]
    fn user_memory_read_only() -> Result {
        rejects(Check::UserMemory, "readonly", Reason::Fault)
    }

    /// Gives up where nothing faults, in copies that only the pages of first touch get.
    #[test]
    fn user_memory_on_first_touch() -> Result {
        rejects(Check::UserMemory, "givesup", Reason::ReturnValue)
    }

    /// An access without an entry: to be reported, not to be run into.
    #[test]
    fn missing_table_entry() -> Result {
        rejects(Check::ExceptionTable, "noentry", Reason::NoEntry)
    }

    /// An entry that mends any fault, and not only one of user access.
    #[test]
    fn table_entry_of_another_type() -> Result {
        rejects(Check::ExceptionTable, "wrongtype", Reason::EntryType)
    }

    /// A fix-up that says one byte less is left than is.
    #[test]
    fn fix_up_one_too_few() -> Result {
        rejects(Check::SourceFaults, "toofew", Reason::Fault)
    }

    /// A fix-up that says one byte more is left than is.
    #[test]
    fn fix_up_one_too_many() -> Result {
        rejects(Check::DestinationFaults, "toomany", Reason::Outside)
    }

    /// What only the way out of a fault leaves behind.
    #[test]
    fn access_left_allowed_after_a_fault() -> Result {
        rejects(Check::SourceFaults, "lateac", Reason::Access)
    }

    /// The way in which cycles are counted, with a counter that every kernel has: one that stands
    /// still would make all copies cost nothing.
    #[test]
    fn counters_count() -> Result {
        #[cfg(CONFIG_PERF_EVENTS)]
        {
            use crate::counters::events::{
                Event,
                CPU_CLOCK, //
            };

            // SAFETY: Takes nothing.
            let cpu = unsafe { kernel::bindings::raw_smp_processor_id() as u32 };
            let event = Event::new(cpu, CPU_CLOCK).ok_or(ENODEV)?;
            let before = event.read();
            kernel::time::delay::fsleep(kernel::time::Delta::from_millis(50));
            let counted = event.read() - before;
            kernel::kunit::info(format_args!(
                "    # counted {counted} ns in 50 ms or more\n"
            ));
            if counted < 20_000_000 {
                return Err(EINVAL);
            }
        }
        #[cfg(not(CONFIG_PERF_EVENTS))]
        skip("this kernel has no perf events");
        Ok(())
    }

    /// The gate of another mask. Needs patching, so it is skipped where there is none.
    #[test]
    fn wrong_gate() -> Result {
        rejects(Check::PatchedText, "wronggate", Reason::Text)
    }

    /// The copied return that lost its thunk. Needs ITS in force: where every return is thunked,
    /// or none, the loader cannot get it wrong.
    #[test]
    fn return_without_its_thunk() -> Result {
        if !instance::return_rule()?.is_its() {
            skip("ITS is not in force");
            return Ok(());
        }
        rejects(Check::Returns, "nothunk", Reason::Return)
    }
}

// SPDX-License-Identifier: GPL-2.0-only

//! The checks an instance goes through. KUnit and the `verify` file run the same ones.

use kernel::{
    current,
    prelude::*, //
};

use crate::{
    guard::Guarded,
    instance::{
        self,
        Instance, //
    },
    pure::{
        abi,
        copies::{
            Buffers,
            Depth,
            BUFFER, //
        },
        failure::Failure,
        faults::{
            self,
            Side, //
        },
        mask::Mask,
    },
};

/// One check.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Check {
    /// Every length at some alignments.
    EveryLength,
    /// The branch points at every alignment.
    EveryAlignment,
    /// Up to the guard pages on both sides of both buffers.
    GuardPages,
    /// The destination comes back.
    ReturnValue,
    /// Callee-saved registers, stack pointer, direction flag.
    CallingConvention,
    /// The text is what the mask demands, at the offset asked for.
    PatchedText,
    /// Every return goes where ITS demands.
    Returns,
    /// Every access of the patched text has its entry in the exception table.
    ExceptionTable,
    /// What is left after a fault of the source.
    SourceFaults,
    /// And of the destination.
    DestinationFaults,
    /// Both on real user memory.
    UserMemory,
}

/// What became of a check over all instances of a suite.
pub(crate) enum Verdict {
    /// It was run on all of them and found nothing; of faults it tells their number.
    Passed(Option<faults::Count>),
    /// It could not be run, and why.
    Skipped(&'static str),
    /// It rejected one.
    Failed(Instance, Failure),
}

/// What became of a check that found nothing wrong.
pub(crate) enum Outcome {
    /// It was run; of faults it tells their number.
    Passed(Option<faults::Count>),
    /// It could not be, and why.
    Skipped(&'static str),
}

/// What to say where nothing is patched.
const UNPATCHED: &str = "this kernel patches no alternatives";

impl Check {
    const ALL: [Check; 11] = [
        Check::EveryLength,
        Check::EveryAlignment,
        Check::GuardPages,
        Check::ReturnValue,
        Check::CallingConvention,
        Check::PatchedText,
        Check::Returns,
        Check::ExceptionTable,
        Check::SourceFaults,
        Check::DestinationFaults,
        Check::UserMemory,
    ];

    /// Those that apply to a routine, in the order in which they run.
    pub(crate) fn of(routine: &str) -> &'static [Check] {
        match routine {
            // It has no fix-ups: a fault is the caller's fault.
            "memcpy" => &Self::ALL[..7],
            _ => &Self::ALL,
        }
    }

    /// The check of that name.
    pub(crate) fn from_name(name: &str) -> Option<Check> {
        Self::ALL.into_iter().find(|check| check.name() == name)
    }

    /// The name of the test case.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Check::EveryLength => "every_length",
            Check::EveryAlignment => "every_alignment",
            Check::GuardPages => "guard_pages",
            Check::ReturnValue => "return_value",
            Check::CallingConvention => "calling_convention",
            Check::PatchedText => "patched_text",
            Check::Returns => "returns",
            Check::ExceptionTable => "exception_table",
            Check::SourceFaults => "source_faults",
            Check::DestinationFaults => "destination_faults",
            Check::UserMemory => "user_memory",
        }
    }

    /// Runs the check on the instances of a suite, at all their entry offsets.
    ///
    /// # Errors
    ///
    /// [`ENOENT`] if there are none: a suite without instances would pass whatever the code is.
    /// [`EINTR`] if a signal came.
    pub(crate) fn run_suite(
        self,
        instances: impl Iterator<Item = Instance>,
        space: &mut Space,
    ) -> Result<Verdict> {
        let mut verdict = None;
        for instance in instances {
            if current!().signal_pending() {
                return Err(EINTR);
            }
            match self.run(instance, space)? {
                Ok(Outcome::Passed(count)) => {
                    verdict = match (verdict, count) {
                        (Some(Verdict::Passed(Some(sum))), Some(count)) => {
                            Some(Verdict::Passed(Some(sum.and(count))))
                        }
                        (Some(before), _) => Some(before),
                        (None, _) => Some(Verdict::Passed(count)),
                    }
                }
                Ok(Outcome::Skipped(reason)) => verdict = Some(Verdict::Skipped(reason)),
                Err(failure) => return Ok(Verdict::Failed(instance, failure)),
            }
        }
        verdict.ok_or(ENOENT)
    }

    /// Runs the check on one instance.
    pub(crate) fn run(
        self,
        instance: Instance,
        space: &mut Space,
    ) -> Result<core::result::Result<Outcome, Failure>> {
        let passed =
            |result: core::result::Result<u64, Failure>| result.map(|_| Outcome::Passed(None));
        // The same bytes run at every entry offset (that is what PatchedText shows), so one
        // offset gets the whole sweep.
        let depth = match instance.entry() {
            0 => space.depth,
            _ => space.depth.thinner(),
        };
        Ok(match self {
            Check::EveryLength => passed(space.buffers()?.every_length(&instance, depth)),
            Check::EveryAlignment => passed(space.buffers()?.every_alignment(&instance, depth)),
            Check::GuardPages => passed(space.buffers()?.up_to_the_guards(&instance, depth)),
            Check::ReturnValue => {
                let (src, dst) = space.both();
                abi::return_value(&instance, src, dst).map(|()| Outcome::Passed(None))
            }
            Check::CallingConvention => {
                let (src, dst) = space.both();
                abi::calling_convention(&instance, src, dst).map(|()| Outcome::Passed(None))
            }
            Check::PatchedText => patched_text(instance),
            Check::Returns => returns(instance)?,
            Check::ExceptionTable => exception_table(instance),
            Check::SourceFaults => faults(instance, space, depth, Side::Source)?,
            Check::DestinationFaults => faults(instance, space, depth, Side::Destination)?,
            Check::UserMemory => user_memory(instance, depth)?,
        })
    }
}

/// The memory that checks work on.
pub(crate) struct Space {
    depth: Depth,
    src: Guarded,
    dst: Guarded,
}

impl Space {
    pub(crate) fn new(depth: Depth) -> Result<Space> {
        Ok(Space {
            depth,
            src: Guarded::new(BUFFER)?,
            dst: Guarded::new(BUFFER)?,
        })
    }

    /// Source and destination.
    fn both(&mut self) -> (&mut [u8], &mut [u8]) {
        (self.src.as_mut_slice(), self.dst.as_mut_slice())
    }

    fn buffers(&mut self) -> Result<Buffers<'_>> {
        let (src, dst) = self.both();
        Buffers::new(src, dst).ok_or(EINVAL)
    }
}

fn patched_text(instance: Instance) -> core::result::Result<Outcome, Failure> {
    let got = instance.entry_as_loaded();
    if got != instance.entry() {
        return Err(Failure::Entry {
            want: instance.entry(),
            got,
        });
    }
    let Some(reference) = instance.reference() else {
        return Ok(Outcome::Skipped(UNPATCHED));
    };
    let text = instance.text();
    text.demand(&reference.text())?;
    for (offset, length) in instance.sites() {
        text.empty_site_is_one_nop(offset, length)?;
    }
    if instance.mask() == Mask::Native {
        // Not only what the assembler says of this CPU's mask: also what the loader made of it.
        let forced = instance::suite(
            instance.routine(),
            instance.candidate(),
            instance.demanded(),
        );
        for forced in forced.filter(|forced| forced.entry() == instance.entry()) {
            text.demand(&forced.text())?;
        }
    }
    Ok(Outcome::Passed(None))
}

fn returns(instance: Instance) -> Result<core::result::Result<Outcome, Failure>> {
    if !cfg!(CONFIG_MITIGATION_RETHUNK) {
        return Ok(Ok(Outcome::Skipped("this kernel patches no returns")));
    }
    let rule = instance::return_rule()?;
    if rule.low.is_none() {
        // Then every return must be bare, which the rule says too; but nothing was demanded.
        return Ok(rule
            .check(&instance.text())
            .map(|_| Outcome::Skipped("no return thunk is in force")));
    }
    Ok(rule.check(&instance.text()).map(|_| Outcome::Passed(None)))
}

fn faults(
    instance: Instance,
    space: &mut Space,
    depth: Depth,
    side: Side,
) -> Result<core::result::Result<Outcome, Failure>> {
    if cfg!(CONFIG_UML) {
        return Ok(Ok(Outcome::Skipped(
            "User Mode Linux hangs at an access to an unmapped kernel page",
        )));
    }
    let (src, dst) = space.both();
    let mut guarded = faults::Guarded::new(src, dst).ok_or(EINVAL)?;
    Ok(guarded
        .sweep(&instance, side, depth)
        .map(|count| Outcome::Passed(Some(count))))
}

fn exception_table(instance: Instance) -> core::result::Result<Outcome, Failure> {
    #[cfg(CONFIG_UML)]
    {
        let _ = instance;
        Ok(Outcome::Skipped(
            "User Mode Linux does not mend such faults",
        ))
    }
    #[cfg(not(CONFIG_UML))]
    {
        let text = instance.text();
        crate::pure::extable::check(&text, crate::extable::entries(text.address))
            .map(|_| Outcome::Passed(None))
    }
}

fn user_memory(instance: Instance, depth: Depth) -> Result<core::result::Result<Outcome, Failure>> {
    #[cfg(CONFIG_UML)]
    {
        let _ = (instance, depth);
        Ok(Ok(Outcome::Skipped(
            "User Mode Linux does not map user memory into the kernel",
        )))
    }
    #[cfg(not(CONFIG_UML))]
    {
        let step = match depth {
            Depth::Full => 1,
            Depth::Quick => 9,
            Depth::Glance => 67,
        };
        Ok(match crate::user::check(instance, step)? {
            Some(result) => result.map(|()| Outcome::Passed(None)),
            None => Ok(Outcome::Skipped("there is no user memory here")),
        })
    }
}

// SPDX-License-Identifier: GPL-2.0-only

//! Cycles and instructions, by the CPU's own counters, where it has any for its kernel.

/// Both counters of one CPU, counting what its kernel does.
pub(crate) struct Counters {
    #[cfg(CONFIG_PERF_EVENTS)]
    events: [events::Event; 2],
}

impl Counters {
    /// None if the CPU, or what runs it, has no such counters: most virtual machines have none.
    pub(crate) fn new(cpu: u32) -> Option<Counters> {
        #[cfg(CONFIG_PERF_EVENTS)]
        {
            let [cycles, instructions] = events::HARDWARE;
            Some(Counters {
                events: [
                    events::Event::new(cpu, cycles)?,
                    events::Event::new(cpu, instructions)?,
                ],
            })
        }
        #[cfg(not(CONFIG_PERF_EVENTS))]
        {
            let _ = cpu;
            None
        }
    }

    /// Cycles and instructions so far. To be read on that CPU, with interrupts on.
    pub(crate) fn read(&self) -> [u64; 2] {
        #[cfg(CONFIG_PERF_EVENTS)]
        {
            self.events.each_ref().map(events::Event::read)
        }
        #[cfg(not(CONFIG_PERF_EVENTS))]
        [0; 2]
    }
}

#[cfg(CONFIG_PERF_EVENTS)]
pub(crate) mod events {
    use core::ptr;

    use kernel::{
        bindings,
        ffi::c_int,
        prelude::*, //
    };

    /// What to count: type and number, as perf_event_open(2) has them.
    #[derive(Clone, Copy)]
    pub(crate) struct Which {
        kind: u32,
        number: u64,
    }

    /// Cycles and instructions, of PERF_TYPE_HARDWARE.
    pub(super) const HARDWARE: [Which; 2] =
        [Which { kind: 0, number: 0 }, Which { kind: 0, number: 1 }];

    /// The CPU's time in nanoseconds, of PERF_TYPE_SOFTWARE: every kernel has it.
    #[cfg(CONFIG_KUNIT = "y")]
    pub(crate) const CPU_CLOCK: Which = Which { kind: 1, number: 0 };

    /// The beginning of struct perf_event_attr, which is ABI and which the kernel crate does not
    /// have, and zeroes for more than any kernel has behind it.
    #[repr(C)]
    struct Attributes {
        kind: u32,
        size: u32,
        number: u64,
        sample_period: u64,
        sample_type: u64,
        read_format: u64,
        flags: u64,
        more: [u64; 58],
    }

    /// PERF_ATTR_SIZE_VER0.
    const SIZE: u32 = 64;
    /// pinned, exclude_user, exclude_hv.
    const FLAGS: u64 = 1 << 2 | 1 << 4 | 1 << 6;

    extern "C" {
        fn perf_event_create_kernel_counter(
            attributes: *mut Attributes,
            cpu: c_int,
            task: *mut c_void,
            callback: *mut c_void,
            context: *mut c_void,
        ) -> *mut bindings::perf_event;
        fn perf_event_read_value(
            event: *mut bindings::perf_event,
            enabled: *mut u64,
            running: *mut u64,
        ) -> u64;
        fn perf_event_release_kernel(event: *mut bindings::perf_event) -> c_int;
    }

    /// A counter that runs.
    pub(crate) struct Event(*mut bindings::perf_event);

    impl Event {
        pub(crate) fn new(cpu: u32, which: Which) -> Option<Event> {
            let mut attributes = Attributes {
                kind: which.kind,
                size: SIZE,
                number: which.number,
                sample_period: 0,
                sample_type: 0,
                read_format: 0,
                flags: FLAGS,
                more: [0; 58],
            };
            // SAFETY: The attributes begin as perf's do and are longer; no task, no callback.
            let event = unsafe {
                perf_event_create_kernel_counter(
                    &mut attributes,
                    cpu as c_int,
                    ptr::null_mut(),
                    ptr::null_mut(),
                    ptr::null_mut(),
                )
            };
            let event = Event(kernel::error::from_err_ptr(event).ok()?);
            // One that never got onto the CPU counts nothing.
            event.is_running().then_some(event)
        }

        /// Whether it moves within some milliseconds: what a CPU executes does so at once, a coarse
        /// clock of the kernel's not until its next step.
        fn is_running(&self) -> bool {
            let first = self.read();
            (0..100_000).any(|_| self.read() != first)
        }

        pub(crate) fn read(&self) -> u64 {
            let (mut enabled, mut running) = (0, 0);
            // SAFETY: The event is ours; both places are written.
            unsafe { perf_event_read_value(self.0, &mut enabled, &mut running) }
        }
    }

    impl Drop for Event {
        fn drop(&mut self) {
            // SAFETY: Created by `new`, and read by nobody any more.
            unsafe { perf_event_release_kernel(self.0) };
        }
    }
}

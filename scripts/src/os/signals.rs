// SPDX-License-Identifier: GPL-2.0-only

//! Ending early: a signal ends us and every command that we started.

use nix::libc;
use nix::sys::signal::{sigaction, SaFlags, SigAction, SigHandler, SigSet, Signal};
use std::io::{Error, Result};
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

/// Process groups that run on our behalf; 0 is a free place.
static GROUPS: [AtomicI32; 32] = [const { AtomicI32::new(0) }; 32];

/// The thread that has something to put back before we end, as pthread_self() tells it; or 0.
static GENTLE: AtomicU64 = AtomicU64::new(0);

/// The signal that asked that thread to end; or 0.
static ASKED: AtomicI32 = AtomicI32::new(0);

/// A process group that is ended with us while this value lives.
pub struct Guard(usize);

/// Ends everything on SIGINT, SIGTERM and SIGHUP from now on, with the exit status 128 + signal. If
/// whoever started us has SIGHUP ignored, as nohup does, it stays so.
pub fn install() -> nix::Result<()> {
    extern "C" fn stop(signal: libc::c_int) {
        // SAFETY: takes nothing, and may be called by a signal handler.
        let here = unsafe { libc::pthread_self() };
        match GENTLE.load(Ordering::Relaxed) {
            0 => {}
            thread if thread == here => return ASKED.store(signal, Ordering::Relaxed),
            thread => {
                // SAFETY: the thread is there as long as it is named, and this may be called.
                unsafe { libc::pthread_kill(thread, signal) };
                return;
            }
        }
        for group in &GROUPS {
            let group = group.load(Ordering::Relaxed);
            if group > 0 {
                // SAFETY: kill() may be called by a signal handler.
                unsafe { libc::kill(-group, libc::SIGKILL) };
            }
        }
        let word = b"\nstopped\n";
        // SAFETY: write() and _exit() may be called by a signal handler.
        unsafe {
            libc::write(2, word.as_ptr().cast(), word.len());
            libc::_exit(128 + signal)
        }
    }
    let action = SigAction::new(SigHandler::Handler(stop), SaFlags::empty(), SigSet::empty());
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        // SAFETY: the handler calls only what a handler may call.
        let before = unsafe { sigaction(signal, &action)? };
        if signal == Signal::SIGHUP && before.handler() == SigHandler::SigIgn {
            // SAFETY: no handler is called.
            unsafe { sigaction(signal, &before)? };
        }
    }
    Ok(())
}

/// While this value lives, a signal only interrupts the system call that its thread is in. When it is
/// dropped, what else the thread held being dropped already, that signal ends us.
pub struct Gentle;

/// Makes the calling thread one that has something to put back.
pub fn gently() -> Gentle {
    // SAFETY: takes nothing.
    GENTLE.store(unsafe { libc::pthread_self() }, Ordering::Relaxed);
    Gentle
}

impl Gentle {
    /// Whether a signal came.
    pub fn asked(&self) -> bool {
        ASKED.load(Ordering::Relaxed) != 0
    }
}

impl Drop for Gentle {
    fn drop(&mut self) {
        GENTLE.store(0, Ordering::Relaxed);
        match ASKED.swap(0, Ordering::Relaxed) {
            0 => {}
            signal => {
                eprintln!("\nstopped");
                std::process::exit(128 + signal)
            }
        }
    }
}

/// Has process group `group` ended with us.
pub fn guard(group: u32) -> Guard {
    for (at, place) in GROUPS.iter().enumerate() {
        let taken = place.compare_exchange(0, group as i32, Ordering::Relaxed, Ordering::Relaxed);
        if taken.is_ok() {
            return Guard(at);
        }
    }
    unreachable!("more commands at once than we ever start")
}

impl Guard {
    /// Ends the group.
    pub fn kill(&self) {
        let group = GROUPS[self.0].load(Ordering::Relaxed);
        // SAFETY: a system call without pointers.
        unsafe { libc::kill(-group, libc::SIGKILL) };
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        GROUPS[self.0].store(0, Ordering::Relaxed);
    }
}

/// Has the caller killed when its parent ends, however that happens. Only system calls.
pub fn end_with_parent() -> Result<()> {
    // SAFETY: a system call without pointers.
    if unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) } < 0 {
        return Err(Error::last_os_error());
    }
    Ok(())
}

/// The same for a child of process `parent`, which may have ended by now. Only system calls.
pub fn end_with(parent: u32) -> Result<()> {
    end_with_parent()?;
    // SAFETY: a system call without pointers.
    if unsafe { libc::getppid() } != parent as i32 {
        return Err(Error::from_raw_os_error(libc::ESRCH));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::CommandExt;
    use std::process::{id, Command};

    #[test]
    fn a_signal_waits_for_what_is_put_back() {
        install().unwrap();
        let gentle = gently();
        assert!(!gentle.asked());
        // Sent to whatever thread: it is ours that learns of it.
        // SAFETY: a system call without pointers.
        unsafe { libc::kill(libc::getpid(), libc::SIGTERM) };
        while !gentle.asked() {
            std::thread::yield_now();
        }
        ASKED.store(0, Ordering::Relaxed);
    }

    #[test]
    fn a_command_whose_parent_is_gone_does_not_start() {
        let start = |parent| {
            let mut command = Command::new("true");
            // SAFETY: only system calls.
            unsafe { command.pre_exec(move || end_with(parent)) };
            command.status()
        };
        assert!(start(id()).unwrap().success());
        assert_eq!(start(1).unwrap_err().raw_os_error(), Some(libc::ESRCH));
    }
}

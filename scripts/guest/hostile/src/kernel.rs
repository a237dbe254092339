// SPDX-License-Identifier: GPL-2.0-only

//! System calls that the standard library does not make, and numbers of errors.

use std::ffi::{c_int, c_long, CString};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::process::Child;

extern "C" {
    fn syscall(number: c_long, ...) -> c_long;
    fn kill(process: c_int, signal: c_int) -> c_int;
}

const FINIT_MODULE: c_long = 313;
const DELETE_MODULE: c_long = 176;
const O_NONBLOCK: c_int = 0o4000;

pub const ENOENT: i32 = 2;
pub const ENXIO: i32 = 6;
pub const EAGAIN: i32 = 11;
pub const ENOMEM: i32 = 12;
pub const EBUSY: i32 = 16;
pub const EINVAL: i32 = 22;
pub const E2BIG: i32 = 7;
pub const ERANGE: i32 = 34;

pub const SIGINT: i32 = 2;
pub const SIGKILL: i32 = 9;
pub const SIGTERM: i32 = 15;

fn done(returned: c_long) -> io::Result<()> {
    match returned < 0 {
        true => Err(io::Error::last_os_error()),
        false => Ok(()),
    }
}

/// Loads a module from a file with its parameters.
pub fn load(file: &str, parameters: &str) -> io::Result<()> {
    let file = File::open(file)?;
    let parameters = CString::new(parameters)?;
    // SAFETY: the descriptor is open and the string ends in a zero byte.
    done(unsafe {
        syscall(
            FINIT_MODULE,
            file.as_raw_fd(),
            parameters.as_ptr(),
            0 as c_int,
        )
    })
}

/// Unloads a module, or says at once why not.
pub fn unload(name: &str) -> io::Result<()> {
    let name = CString::new(name)?;
    // SAFETY: the string ends in a zero byte.
    done(unsafe { syscall(DELETE_MODULE, name.as_ptr(), O_NONBLOCK) })
}

pub fn signal(child: &Child, signal: i32) -> io::Result<()> {
    // SAFETY: no pointers. The child was not waited for, so its number is still its own.
    done(c_long::from(unsafe { kill(child.id() as c_int, signal) }))
}

/// The number of an error; 0 for none.
pub fn number<T>(result: &io::Result<T>) -> i32 {
    match result {
        Ok(_) => 0,
        Err(e) => e.raw_os_error().unwrap_or(-1),
    }
}

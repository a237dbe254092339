// SPDX-License-Identifier: GPL-2.0-only

//! What runs a mutant natively: a process of its own, which can compute and write and nothing else,
//! and puts it through the checks of KUnit that need no kernel.

use anyhow::{ensure, Result};
use nix::libc;
use nix::sys::mman::{mmap_anonymous, mprotect, MapFlags, ProtFlags};
use repmov_core::abi::{self, Clobbers, Registers, Watched};
use repmov_core::copies::{Buffers, Depth, Returns, Routine, BUFFER};
use repmov_core::failure::Failure;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;

use super::image::Image;

/// CPU seconds for all checks of one mutant; a right one takes a tenth.
const SECONDS: libc::time_t = 5;

/// A reference, and what it is called in the words for its outcome.
#[derive(Clone, Debug)]
pub struct Reference {
    pub mask: String,
    pub object: PathBuf,
    pub symbol: String,
}

impl Reference {
    /// Of words in threes: mask, object, symbol.
    pub fn read(words: &[String]) -> Vec<Reference> {
        let threes = words.chunks_exact(3);
        let one = |three: &[String]| Reference {
            mask: three[0].clone(),
            object: (&three[1]).into(),
            symbol: three[2].clone(),
        };
        threes.map(one).collect()
    }
}

type Copy = unsafe extern "C" fn(*mut u8, *const u8, usize) -> usize;
type Checked = unsafe extern "C" fn(Copy, *mut u8, *const u8, usize);

/// Code in this process.
struct Native {
    copy: Copy,
    checked: Checked,
    /// Before and after, as call.S records them.
    registers: [*const Registers; 2],
    returns: Returns,
    clobbers: Clobbers,
}

impl Routine for Native {
    fn returns(&self) -> Returns {
        self.returns
    }

    unsafe fn copy(&self, dst: *mut u8, src: *const u8, len: usize) -> usize {
        // SAFETY: The caller vouches for the buffers; what the code does is what is to be found out.
        unsafe { (self.copy)(dst, src, len) }
    }
}

impl Watched for Native {
    fn clobbers(&self) -> Clobbers {
        self.clobbers
    }

    unsafe fn watched(&self, dst: *mut u8, src: *const u8, len: usize) -> (Registers, Registers) {
        // SAFETY: As above; the two records are where call.S has them, in memory that stays.
        unsafe {
            (self.checked)(self.copy, dst, src, len);
            let [before, after] = self.registers;
            (before.read_volatile(), after.read_volatile())
        }
    }
}

/// Runs the checks on references of a routine, says each before it starts, and does not return.
pub fn run(call: &Path, routine: &str, given: &[Reference]) -> Result<()> {
    let mut paths = vec![call];
    paths.extend(given.iter().map(|one| one.object.as_path()));
    let image = load(&paths)?;
    let returns = match routine {
        "memcpy" => Returns::Destination,
        _ => Returns::Left,
    };
    let natives = given.iter().map(|one| {
        let native = native(&image, &one.symbol, returns)?;
        Ok((one.mask.as_str(), native))
    });
    let natives: Vec<_> = natives.collect::<Result<_>>()?;
    let (src, dst) = (guarded()?, guarded()?);
    println!("loaded");
    confine()?;
    for (mask, native) in &natives {
        for (name, check) in CHECKS {
            println!("{mask} {name}");
            if let Err(failure) = check(native, src, dst) {
                println!("{mask} {name}: {failure}");
                leave(1);
            }
        }
    }
    println!("right");
    leave(0)
}

type Check = fn(&Native, &mut [u8], &mut [u8]) -> Result<(), Failure>;

/// By their names in KUnit. Whether it may be called at all comes first.
const CHECKS: [(&str, Check); 5] = [
    ("calling_convention", |routine, src, dst| {
        abi::calling_convention(routine, src, dst)
    }),
    ("return_value", |routine, src, dst| {
        abi::return_value(routine, src, dst)
    }),
    ("every_length", |routine, src, dst| {
        buffers(src, dst)
            .every_length(routine, Depth::Full)
            .map(drop)
    }),
    ("every_alignment", |routine, src, dst| {
        buffers(src, dst)
            .every_alignment(routine, Depth::Full)
            .map(drop)
    }),
    ("guard_pages", |routine, src, dst| {
        buffers(src, dst)
            .up_to_the_guards(routine, Depth::Full)
            .map(drop)
    }),
];

fn buffers<'a>(src: &'a mut [u8], dst: &'a mut [u8]) -> Buffers<'a> {
    Buffers::new(src, dst).expect("buffers of that size")
}

/// Pages of our own.
fn pages(length: usize) -> Result<NonNull<u8>> {
    let length = NonZeroUsize::new(length).expect("a length");
    let rights = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
    // SAFETY: New memory, at an address that the kernel chooses.
    let start = unsafe { mmap_anonymous(None, length, rights, MapFlags::MAP_PRIVATE)? };
    Ok(start.cast())
}

/// Links objects into memory, the code so that it can be run.
fn load(paths: &[&Path]) -> Result<Image> {
    // Any address will do to learn how long it is.
    let length = Image::link(paths, 1 << 32)?.bytes.len();
    let start = pages(length)?;
    let image = Image::link(paths, start.as_ptr() as usize)?;
    let rights = ProtFlags::PROT_READ | ProtFlags::PROT_EXEC;
    // SAFETY: The pages are ours and as long as that, and nothing refers to them.
    unsafe {
        start.copy_from_nonoverlapping(NonNull::from(&image.bytes[..]).cast(), length);
        mprotect(start.cast(), image.code, rights)?;
    }
    Ok(image)
}

/// An instance in the image.
fn native(image: &Image, symbol: &str, returns: Returns) -> Result<Native> {
    let at = |name: &str| image.symbol(name);
    let extent = at(&format!("{symbol}__extent"))? as *const u32;
    // SAFETY: Addresses of the image: its functions are of these types, and struct repmov_extent
    // has the registers in its third place.
    unsafe {
        Ok(Native {
            copy: std::mem::transmute::<usize, Copy>(at(symbol)?),
            checked: std::mem::transmute::<usize, Checked>(at("repmov_call_checked")?),
            registers: [
                at("repmov_regs_before")? as *const Registers,
                at("repmov_regs_after")? as *const Registers,
            ],
            returns,
            clobbers: Clobbers(extent.add(2).read() as u16),
        })
    }
}

/// A buffer between two pages that cannot be accessed.
fn guarded() -> Result<&'static mut [u8]> {
    const PAGE: usize = 4096;
    let start = pages(BUFFER + 2 * PAGE)?;
    // SAFETY: The pages are ours, and they stay.
    unsafe {
        for guard in [start, start.add(PAGE + BUFFER)] {
            mprotect(guard.cast(), PAGE, ProtFlags::PROT_NONE)?;
        }
        let buffer = start.add(PAGE);
        Ok(std::slice::from_raw_parts_mut(buffer.as_ptr(), BUFFER))
    }
}

/// From here on only reading, writing and leaving are allowed, and only for a time. A fault ends the
/// process at once.
fn confine() -> Result<()> {
    let limit = libc::timeval {
        tv_sec: SECONDS,
        tv_usec: 0,
    };
    let timer = libc::itimerval {
        it_interval: limit,
        it_value: limit,
    };
    let no_core = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: System calls, with structures that they only read.
    let ended = unsafe {
        for signal in [
            libc::SIGSEGV,
            libc::SIGBUS,
            libc::SIGILL,
            libc::SIGFPE,
            libc::SIGTRAP,
        ] {
            libc::signal(signal, libc::SIG_DFL);
        }
        libc::setrlimit(libc::RLIMIT_CORE, &raw const no_core) == 0
            && libc::setitimer(libc::ITIMER_PROF, &raw const timer, std::ptr::null_mut()) == 0
            && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_STRICT) == 0
    };
    let why = std::io::Error::last_os_error();
    ensure!(ended, "a mutant cannot be confined: {why}");
    Ok(())
}

/// The one way out that is allowed.
fn leave(status: i32) -> ! {
    // SAFETY: Takes a number and does not return.
    unsafe { libc::syscall(libc::SYS_exit, status) };
    unreachable!("it has left")
}

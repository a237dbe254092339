// SPDX-License-Identifier: GPL-2.0-only

//! The copies of user memory on real user memory, with SMAP on if the CPU has it.

use kernel::{
    page::PAGE_SIZE,
    prelude::*, //
};

use crate::{
    instance::Instance,
    mapping::{
        self,
        Mapping, //
    },
    pure::{
        copies::{
            Routine,
            CANARY, //
        },
        failure::{
            Case,
            Failure, //
        },
        faults::{
            judge,
            Breach,
            Side, //
        },
    },
};

/// Lengths that are tried, besides all of a page.
const LONGEST: usize = 136;

/// One copy between the kernel's buffer and user memory, judged.
struct Copy<'a> {
    instance: Instance,
    user: &'a Mapping,
    /// Bytes from the mapping's start to the first that cannot be reached.
    end: usize,
    /// Which side user memory is.
    side: Side,
}

impl Copy<'_> {
    /// Copies `len` bytes of which `reach` can be reached.
    fn one(
        &self,
        kernel: &mut [u8],
        spare: &mut [u8],
        len: usize,
        reach: usize,
    ) -> Result<core::result::Result<(), Failure>> {
        let offset = self.end - reach;
        let address = self.user.address() + offset;
        let pattern = |i: usize| (i % 127) as u8;
        let from_user = self.side == Side::Source;
        // What is copied, and what it is copied over.
        for (i, byte) in kernel.iter_mut().enumerate() {
            *byte = if from_user { CANARY } else { pattern(i) };
        }
        for (i, byte) in spare[..reach].iter_mut().enumerate() {
            *byte = if from_user { pattern(i) } else { CANARY };
        }
        self.user.fill(offset, &spare[..reach])?;
        let buffer = kernel.as_mut_ptr();
        let (dst, src) = match self.side {
            Side::Source => (buffer, address as *const u8),
            Side::Destination => (address as *mut u8, buffer.cast_const()),
        };
        // SAFETY: The kernel's buffer is longer than any copy; the other address is the user's,
        // which the routine is made for.
        let left = unsafe { self.instance.copy(dst, src, len) };
        let case = Case {
            len,
            src: src as usize % 4096,
            dst: dst as usize % 4096,
        };
        let breach = |breach| {
            Ok(Err(Failure::Fault {
                case,
                side: self.side,
                reach,
                left,
                breach,
            }))
        };
        let copied = match judge(len, reach, left) {
            Ok(copied) => copied,
            // Unless something was copied all the same, which is worse.
            Err(Breach::Refused) => 0,
            Err(other) => return breach(other),
        };
        self.user.read(offset, &mut spare[..reach])?;
        let got = if from_user {
            &kernel[..]
        } else {
            &spare[..reach]
        };
        for (i, &byte) in got.iter().enumerate() {
            let want = if i < copied { pattern(i) } else { CANARY };
            if byte != want {
                return Ok(Err(match i < copied {
                    true => Failure::Content {
                        case,
                        at: i,
                        want,
                        got: byte,
                    },
                    false => Failure::Outside {
                        case,
                        at: i as isize,
                        got: byte,
                    },
                }));
            }
        }
        if copied == 0 && reach > 0 {
            return breach(Breach::Refused);
        }
        Ok(Ok(()))
    }

    /// Lengths up to [`LONGEST`], whole and cut off at some places.
    fn sweep(&self, step: usize) -> Result<core::result::Result<(), Failure>> {
        let mut kernel = KVec::from_elem(0u8, 2 * LONGEST, GFP_KERNEL)?;
        let mut spare = KVec::from_elem(0u8, 2 * LONGEST, GFP_KERNEL)?;
        for len in (1..=LONGEST).step_by(step) {
            for reach in [0, 1, 7, 8, 9, len / 2, len - 1, len] {
                if reach > len {
                    continue;
                }
                if let Err(failure) = self.one(&mut kernel, &mut spare, len, reach)? {
                    return Ok(Err(failure));
                }
            }
        }
        Ok(Ok(()))
    }
}

/// Both directions, up to a page that is not there; to a page that may not be written; and a page
/// that comes in on first touch. None if there is no user memory here.
pub(crate) fn check(
    instance: Instance,
    step: usize,
) -> Result<Option<core::result::Result<(), Failure>>> {
    if !mapping::give() {
        return Ok(None);
    }
    let absent = Mapping::before_nothing(1)?;
    let protected = Mapping::before_read_only(1)?;

    for (user, side) in [
        (&absent, Side::Source),
        (&absent, Side::Destination),
        (&protected, Side::Destination),
    ] {
        let copy = Copy {
            instance,
            user,
            end: PAGE_SIZE,
            side,
        };
        if let Err(failure) = copy.sweep(step)? {
            return Ok(Some(Err(failure)));
        }
    }
    first_touch(instance).map(Some)
}

/// Copies to and from pages that nobody has touched. A page may fail to come in for lack of memory,
/// which the routine can only report as a fault: so a failure counts if there is memory and the
/// routine fails again.
fn first_touch(instance: Instance) -> Result<core::result::Result<(), Failure>> {
    let mut kernel = KVVec::from_elem(CANARY, PAGE_SIZE, GFP_KERNEL)?;
    for side in [Side::Source, Side::Destination] {
        if touch(instance, side, &mut kernel)?.is_ok() {
            continue;
        }
        for at in [0, PAGE_SIZE] {
            Mapping::new(2)?.fill(at, &kernel)?;
        }
        if let Err(failure) = touch(instance, side, &mut kernel)? {
            return Ok(Err(failure));
        }
    }
    Ok(Ok(()))
}

/// A page's worth over the border of two pages that nobody has touched: to them, whole, or from
/// them, which gives zeroes.
fn touch(
    instance: Instance,
    side: Side,
    kernel: &mut [u8],
) -> Result<core::result::Result<(), Failure>> {
    let fresh = Mapping::new(2)?;
    let address = fresh.address() + PAGE_SIZE / 2;
    let buffer = kernel.as_mut_ptr();
    let (dst, src, want) = match side {
        Side::Source => (buffer, address as *const u8, 0),
        Side::Destination => (address as *mut u8, buffer.cast_const(), 0x5a),
    };
    kernel.fill(match side {
        Side::Source => CANARY,
        Side::Destination => want,
    });
    // SAFETY: As in `Copy::one`.
    let left = unsafe { instance.copy(dst, src, PAGE_SIZE) };
    let case = Case {
        len: PAGE_SIZE,
        src: src as usize % 4096,
        dst: dst as usize % 4096,
    };
    if left != 0 {
        return Ok(Err(Failure::ReturnValue {
            case,
            want: 0,
            got: left as u64,
        }));
    }
    if side == Side::Destination {
        kernel.fill(CANARY);
        fresh.read(PAGE_SIZE / 2, kernel)?;
    }
    if let Some(at) = kernel.iter().position(|&byte| byte != want) {
        return Ok(Err(Failure::Content {
            case,
            at,
            want,
            got: kernel[at],
        }));
    }
    Ok(Ok(()))
}

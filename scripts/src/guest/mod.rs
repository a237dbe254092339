// SPDX-License-Identifier: GPL-2.0-only

//! Guests: the kernels that are booted, in QEMU or as a process, what goes into them and what they
//! send back. Knows nothing of candidates, patches or verdicts.

pub mod accel;
pub mod boot;
pub mod host;
pub mod info;
pub mod initramfs;
pub mod ktap;
pub mod kunit;
pub mod kvm;
pub mod machine;
pub mod mitigation;
pub mod outcome;
pub mod protocol;

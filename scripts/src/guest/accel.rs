// SPDX-License-Identifier: GPL-2.0-only

//! What executes a guest's instructions.

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Accel {
    Kvm,
    /// QEMU, one by one.
    Tcg,
    /// The machine: the kernel is a process of it.
    Um,
}

impl Accel {
    pub fn name(self) -> &'static str {
        match self {
            Accel::Kvm => "kvm",
            Accel::Tcg => "tcg",
            Accel::Um => "um",
        }
    }
}

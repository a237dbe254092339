// SPDX-License-Identifier: GPL-2.0-only

//! What a record says of the machine it was made on.

use core::{
    arch::x86_64::{
        __cpuid,
        __cpuid_count, //
    },
    fmt,
};

use kernel::prelude::*;

use crate::{
    bindings,
    clock::Clock,
    instance,
    symbol::Symbol,
    text::{
        line,
        Text, //
    },
};

fn cpuid(leaf: u32) -> [u32; 4] {
    // SAFETY: Every x86-64 CPU has the instruction.
    let r = unsafe { __cpuid(leaf) };
    [r.eax, r.ebx, r.ecx, r.edx]
}

/// Registers as the characters they hold.
struct Characters<'a>(&'a [u32]);

impl fmt::Display for Characters<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.0.iter().flat_map(|r| r.to_le_bytes());
        for byte in bytes.filter(|b| matches!(b, b' '..=b'~')) {
            fmt::Write::write_char(f, char::from(byte))?;
        }
        Ok(())
    }
}

/// The signature of the hypervisor, or none on bare metal.
fn hypervisor() -> Option<[u32; 3]> {
    if cpuid(1)[2] & 1 << 31 == 0 {
        return None;
    }
    let [_, b, c, d] = cpuid(0x4000_0000);
    Some([b, c, d])
}

/// Whether instructions are emulated one by one, so that times say nothing of hardware.
pub(crate) fn is_emulated() -> bool {
    /// QEMU's signature without an accelerator: "TCGTCGTCGTCG".
    const TCG: [u32; 3] = [0x5447_4354, 0x4354_4743, 0x4743_5447];

    hypervisor() == Some(TCG)
}

/// The microcode revision, where the kernel knows it.
fn microcode() -> Option<u32> {
    #[cfg(not(CONFIG_UML))]
    {
        // SAFETY: Written at boot, and by microcode updates, as one word.
        Some(unsafe { (&raw const kernel::bindings::boot_cpu_data.microcode).read() })
    }
    #[cfg(CONFIG_UML)]
    {
        None
    }
}

/// Whether a CPU is online.
pub(crate) fn is_online(cpu: u64) -> bool {
    if cpu >= u64::from(kernel::cpu::nr_cpu_ids()) {
        return false;
    }
    let bits = kernel::ffi::c_ulong::BITS as usize;
    // SAFETY: The mask has a bit for every possible CPU; a word is read at once.
    let word = unsafe {
        (&raw const kernel::bindings::__cpu_online_mask)
            .cast::<kernel::ffi::c_ulong>()
            .add(cpu as usize / bits)
            .read_volatile()
    };
    word >> (cpu as usize % bits) & 1 != 0
}

/// What the loader makes of indirect calls, such as those of the timing loop.
fn indirect_calls() -> &'static str {
    let retpoline = instance::has(bindings::repmov_feature_REPMOV_RETPOLINE);
    let lfence = instance::has(bindings::repmov_feature_REPMOV_RETPOLINE_LFENCE);
    let its = instance::has(bindings::repmov_feature_REPMOV_ITS_THUNK);
    match (retpoline, lfence, its) {
        (_, true, _) => "behind an LFENCE",
        (true, false, _) => "by retpoline",
        (false, false, true) => "by thunk in lower halves of lines",
        (false, false, false) => "plain",
    }
}

/// Prints the facts as `# key: value` lines.
pub(crate) fn print(out: &mut Text, clock: &Clock) -> Result {
    line!(out, "# kernel: {}", env!("REPMOV_KERNEL"))?;
    let lab = if cfg!(CONFIG_UML) { "um" } else { "x86_64" };
    line!(out, "# arch: {lab}")?;

    let [_, b, c, d] = cpuid(0);
    line!(out, "# cpu vendor: {}", Characters(&[b, d, c]))?;
    let mut brand = [0; 12];
    if cpuid(0x8000_0000)[0] >= 0x8000_0004 {
        for (i, part) in brand.chunks_mut(4).enumerate() {
            part.copy_from_slice(&cpuid(0x8000_0002 + i as u32));
        }
    }
    line!(out, "# cpu model: {}", Characters(&brand))?;
    let signature = cpuid(1)[0];
    let family = (signature >> 8 & 0xf) + (signature >> 20 & 0xff);
    let model = signature >> 4 & 0xf | signature >> 12 & 0xf0;
    line!(
        out,
        "# cpu family/model/stepping: {family}/{model}/{}",
        signature & 0xf
    )?;
    match microcode() {
        Some(revision) => line!(out, "# microcode: {revision:#x}")?,
        None => line!(out, "# microcode: unknown")?,
    }
    // SAFETY: As in `cpuid`; leaf 7 has a subleaf 0 wherever it exists, and reads 0 elsewhere.
    let leaf = unsafe { __cpuid_count(7, 0) };
    line!(
        out,
        "# cpuid: erms={} fsrm={}",
        leaf.ebx >> 9 & 1,
        leaf.edx >> 4 & 1
    )?;
    line!(out, "# native mask: {}", instance::native())?;
    match hypervisor() {
        Some(signature) => line!(out, "# hypervisor: {}", Characters(&signature))?,
        None => line!(out, "# hypervisor: none")?,
    }
    line!(
        out,
        "# emulated: {}",
        if is_emulated() { "yes" } else { "no" }
    )?;

    let rule = instance::return_rule()?;
    match (rule.low, rule.high) {
        (None, _) => line!(out, "# returns: bare")?,
        (Some(thunk), None) => line!(out, "# returns: {} in lower halves of lines", Symbol(thunk))?,
        (Some(thunk), Some(_)) => line!(out, "# returns: {} everywhere", Symbol(thunk))?,
    }
    line!(out, "# indirect calls: {}", indirect_calls())?;
    line!(out, "# clock: {clock}")
}

// SPDX-License-Identifier: GPL-2.0-only

//! Where x86-64 instructions end, and what the few that patching touches are.
//!
//! A length decoder for the integer and SSE encodings; VEX and EVEX, which a kernel copy routine
//! cannot use, are refused. The tests hold it against another decoder.

/// What an instruction is, as far as the text checks care.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Does nothing: any NOP encoding.
    Nop,
    /// `int3`, which fills the space behind returns.
    Int3,
    /// A bare near return.
    Ret,
    /// An unconditional direct jump, and its displacement from the next instruction.
    Jump(i32),
    /// A direct call, and its displacement.
    Call(i32),
    /// `stac` or `clac`.
    Access,
    /// A conditional jump: condition code, displacement.
    Branch(u8, i32),
    /// Anything else.
    Other,
}

/// One decoded instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Insn {
    /// Bytes, 1 to 15.
    pub len: usize,
    /// What it is.
    pub kind: Kind,
    /// Whether it goes to memory by a pointer: not by the stack's, and not relative to itself.
    pub memory: bool,
}

/// What follows an opcode besides ModRM.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Imm {
    None,
    /// So many bytes, whatever the prefixes.
    Bytes(usize),
    /// Two bytes with an operand-size prefix, four without.
    Z,
    /// Like [`Imm::Z`], but eight with REX.W.
    V,
    /// A 64-bit address, 32-bit with an address-size prefix.
    Moffs,
}

struct Prefixes {
    opsize: bool,
    addrsize: bool,
    rep: bool,
    rexw: bool,
}

const MAX_LEN: usize = 15;

fn byte(bytes: &[u8], at: usize) -> Option<u8> {
    if at < MAX_LEN {
        bytes.get(at).copied()
    } else {
        None
    }
}

/// Reads prefixes; returns them and where the opcode is.
fn prefixes(bytes: &[u8]) -> Option<(Prefixes, usize)> {
    let mut p = Prefixes {
        opsize: false,
        addrsize: false,
        rep: false,
        rexw: false,
    };
    let mut at = 0;
    loop {
        match byte(bytes, at)? {
            0x66 => p.opsize = true,
            0x67 => p.addrsize = true,
            0xf3 => p.rep = true,
            0xf2 | 0xf0 | 0x2e | 0x36 | 0x3e | 0x26 | 0x64 | 0x65 => {}
            rex @ 0x40..=0x4f => {
                // REX counts only right before the opcode.
                if !matches!(
                    byte(bytes, at + 1)?,
                    0x40..=0x4f
                        | 0x66
                        | 0x67
                        | 0xf0
                        | 0xf2
                        | 0xf3
                        | 0x2e
                        | 0x36
                        | 0x3e
                        | 0x26
                        | 0x64
                        | 0x65
                ) {
                    p.rexw = rex & 8 != 0;
                    return Some((p, at + 1));
                }
            }
            _ => return Some((p, at)),
        }
        at += 1;
    }
}

/// Whether an opcode of the one-byte map has a ModRM byte, and its immediate.
fn one_byte(opcode: u8, modrm: u8) -> Option<(bool, Imm)> {
    let reg = (modrm >> 3) & 7;
    Some(match opcode {
        0x06 | 0x07 | 0x0e | 0x16 | 0x17 | 0x1e | 0x1f | 0x27 | 0x2f | 0x37 | 0x3f => return None,
        0x00..=0x3f => match opcode & 7 {
            0..=3 => (true, Imm::None),
            4 => (false, Imm::Bytes(1)),
            5 => (false, Imm::Z),
            _ => return None,
        },
        0x50..=0x5f => (false, Imm::None),
        0x63 => (true, Imm::None),
        0x68 => (false, Imm::Z),
        0x69 => (true, Imm::Z),
        0x6a => (false, Imm::Bytes(1)),
        0x6b => (true, Imm::Bytes(1)),
        0x6c..=0x6f => (false, Imm::None),
        0x70..=0x7f => (false, Imm::Bytes(1)),
        0x80 | 0x83 => (true, Imm::Bytes(1)),
        0x81 => (true, Imm::Z),
        0x84..=0x8e => (true, Imm::None),
        0x8f if reg == 0 => (true, Imm::None),
        0x90..=0x99 | 0x9b..=0x9f => (false, Imm::None),
        0xa0..=0xa3 => (false, Imm::Moffs),
        0xa4..=0xa7 | 0xaa..=0xaf => (false, Imm::None),
        0xa8 => (false, Imm::Bytes(1)),
        0xa9 => (false, Imm::Z),
        0xb0..=0xb7 => (false, Imm::Bytes(1)),
        0xb8..=0xbf => (false, Imm::V),
        0xc0 | 0xc1 => (true, Imm::Bytes(1)),
        0xc2 | 0xca => (false, Imm::Bytes(2)),
        0xc3 | 0xc9 | 0xcb | 0xcc | 0xcf => (false, Imm::None),
        0xc6 if reg == 0 => (true, Imm::Bytes(1)),
        0xc7 if reg == 0 => (true, Imm::Z),
        0xc8 => (false, Imm::Bytes(3)),
        0xcd => (false, Imm::Bytes(1)),
        0xd0..=0xd3 => (true, Imm::None),
        0xd7 => (false, Imm::None),
        0xd8..=0xdf => (true, Imm::None),
        0xe0..=0xe7 => (false, Imm::Bytes(1)),
        // In 64-bit mode the operand size of near branches stays 64: no 16-bit displacement.
        0xe8 | 0xe9 => (false, Imm::Bytes(4)),
        0xeb => (false, Imm::Bytes(1)),
        0xec..=0xef | 0xf1 | 0xf4 | 0xf5 | 0xf8..=0xfd => (false, Imm::None),
        0xf6 => (true, if reg < 2 { Imm::Bytes(1) } else { Imm::None }),
        0xf7 => (true, if reg < 2 { Imm::Z } else { Imm::None }),
        0xfe if reg < 2 => (true, Imm::None),
        0xff if reg < 7 => (true, Imm::None),
        _ => return None,
    })
}

/// The same for the map behind 0x0f.
fn two_byte(opcode: u8) -> Option<(bool, Imm)> {
    Some(match opcode {
        0x00..=0x03 | 0x0d | 0x10..=0x1f | 0x28..=0x2f => (true, Imm::None),
        0x05..=0x09 | 0x0b | 0x30..=0x35 | 0x37 | 0x77 | 0xa0..=0xa2 | 0xa8..=0xaa => {
            (false, Imm::None)
        }
        0x40..=0x6f | 0x74..=0x76 | 0x7e | 0x7f | 0x90..=0x9f => (true, Imm::None),
        0x70..=0x73 | 0xa4 | 0xac | 0xba | 0xc2 | 0xc4..=0xc6 => (true, Imm::Bytes(1)),
        0x80..=0x8f => (false, Imm::Bytes(4)),
        0xa3 | 0xa5 | 0xab | 0xad..=0xb9 | 0xbb..=0xc1 | 0xc3 | 0xc7 => (true, Imm::None),
        0xc8..=0xcf => (false, Imm::None),
        0xd0..=0xff => (true, Imm::None),
        _ => return None,
    })
}

/// How many bytes ModRM, SIB and displacement take.
fn modrm_len(bytes: &[u8], at: usize) -> Option<usize> {
    let modrm = byte(bytes, at)?;
    let (mode, rm) = (modrm >> 6, modrm & 7);
    if mode == 3 {
        return Some(1);
    }
    let mut len = 1;
    let mut base = rm;
    if rm == 4 {
        base = byte(bytes, at + 1)? & 7;
        len += 1;
    }
    Some(
        len + match mode {
            0 if base == 5 => 4,
            0 => 0,
            1 => 1,
            _ => 4,
        },
    )
}

/// Whether a ModRM byte names memory by a register other than rsp or rip.
fn by_pointer(bytes: &[u8], at: usize) -> bool {
    const RSP: u8 = 4;

    match (bytes[at] >> 6, bytes[at] & 7) {
        (3, _) | (0, 5) => false,
        (_, 4) => bytes.get(at + 1).is_some_and(|sib| sib & 7 != RSP),
        _ => true,
    }
}

fn signed(bytes: &[u8], at: usize, len: usize) -> Option<i32> {
    match len {
        1 => Some(i32::from(*bytes.get(at)? as i8)),
        4 => Some(i32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?)),
        _ => None,
    }
}

/// Decodes the first instruction of `bytes`; [`None`] if it is unknown or cut off.
pub fn decode(bytes: &[u8]) -> Option<Insn> {
    let (p, start) = prefixes(bytes)?;
    let mut at = start;
    let mut opcode = byte(bytes, at)?;
    let escaped = opcode == 0x0f;
    at += 1;

    let (modrm, imm) = if escaped {
        opcode = byte(bytes, at)?;
        at += 1;
        match opcode {
            0x38 => {
                byte(bytes, at)?;
                at += 1;
                (true, Imm::None)
            }
            0x3a => {
                byte(bytes, at)?;
                at += 1;
                (true, Imm::Bytes(1))
            }
            _ => two_byte(opcode)?,
        }
    } else {
        one_byte(opcode, byte(bytes, at).unwrap_or(0))?
    };

    let modrm_at = at;
    if modrm {
        at += modrm_len(bytes, at)?;
    }
    let imm_at = at;
    let imm_len = match imm {
        Imm::None => 0,
        Imm::Bytes(n) => n,
        Imm::V if p.rexw => 8,
        Imm::Z | Imm::V => {
            if p.opsize && !p.rexw {
                2
            } else {
                4
            }
        }
        Imm::Moffs => {
            if p.addrsize {
                4
            } else {
                8
            }
        }
    };
    at += imm_len;
    if at > MAX_LEN || at > bytes.len() {
        return None;
    }

    let kind = match (escaped, opcode) {
        (false, 0x90) if !p.rep && bytes[start.saturating_sub(1)] & 0xf1 != 0x41 => Kind::Nop,
        (true, 0x1f) if (bytes[modrm_at] >> 3) & 7 == 0 => Kind::Nop,
        (false, 0xcc) => Kind::Int3,
        (false, 0xc3) => Kind::Ret,
        (false, 0xe8) => Kind::Call(signed(bytes, imm_at, imm_len)?),
        (true, 0x01) if matches!(bytes[modrm_at], 0xca | 0xcb) => Kind::Access,
        (false, 0xe9 | 0xeb) => Kind::Jump(signed(bytes, imm_at, imm_len)?),
        (false, 0x70..=0x7f) | (true, 0x80..=0x8f) => {
            Kind::Branch(opcode & 0xf, signed(bytes, imm_at, imm_len)?)
        }
        _ => Kind::Other,
    };
    let memory = match (escaped, opcode) {
        // lea and prefetches go nowhere, string instructions always by rsi or rdi.
        (false, 0x8d) | (true, 0x0d | 0x18..=0x1f) => false,
        (false, 0x6c..=0x6f | 0xa4..=0xa7 | 0xaa..=0xaf) => true,
        _ => modrm && by_pointer(bytes, modrm_at),
    };
    Some(Insn {
        len: at,
        kind,
        memory,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A decoder that skips wrongly would compare the wrong bytes. Any byte string on which it
    /// and iced disagree about the length shows that.
    #[test]
    fn lengths_agree_with_iced() {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        let mut agreed = 0;
        for _ in 0..400_000 {
            let mut bytes = [0u8; 16];
            bytes[..8].copy_from_slice(&next().to_le_bytes());
            bytes[8..].copy_from_slice(&next().to_le_bytes());
            let mut iced = iced_x86::Decoder::new(64, &bytes, iced_x86::DecoderOptions::NONE);
            let theirs = iced.decode();
            if theirs.is_invalid() {
                continue;
            }
            if let Some(ours) = decode(&bytes) {
                assert_eq!(ours.len, theirs.len(), "{bytes:02x?}");
                agreed += 1;
            }
        }
        assert!(agreed > 200_000, "only {agreed} instructions compared");
    }

    #[test]
    fn accesses() {
        let memory = |bytes: &[u8]| decode(bytes).unwrap().memory;
        for bytes in [
            &[0x48, 0x8b, 0x06][..],         // mov (%rsi),%rax
            &[0x4c, 0x89, 0x4c, 0x17, 0xf8], // mov %r9,-8(%rdi,%rdx)
            &[0xf3, 0x48, 0xa5],             // rep movsq
            &[0x0f, 0xb6, 0x0e],             // movzbl (%rsi),%ecx
        ] {
            assert!(memory(bytes), "{bytes:02x?}");
        }
        for bytes in [
            &[0x48, 0x8d, 0x7f, 0x20][..],         // lea 32(%rdi),%rdi
            &[0x0f, 0x1f, 0x40, 0x00],             // nop
            &[0x48, 0x89, 0xf8],                   // mov %rdi,%rax
            &[0x48, 0x81, 0x0c, 0x24, 0, 0, 4, 0], // orq $0x40000,(%rsp)
            &[0x48, 0x8b, 0x05, 0, 0, 0, 0],       // mov 0(%rip),%rax
        ] {
            assert!(!memory(bytes), "{bytes:02x?}");
        }
    }

    #[test]
    fn kinds() {
        let kind = |bytes: &[u8]| decode(bytes).map(|i| (i.len, i.kind));
        assert_eq!(kind(&[0x90]), Some((1, Kind::Nop)));
        assert_eq!(kind(&[0x66, 0x90]), Some((2, Kind::Nop)));
        assert_eq!(
            kind(&[0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0]),
            Some((10, Kind::Nop))
        );
        // pause and xchg %r8,%rax are no NOPs.
        assert_eq!(kind(&[0xf3, 0x90]), Some((2, Kind::Other)));
        assert_eq!(kind(&[0x49, 0x90]), Some((2, Kind::Other)));
        assert_eq!(kind(&[0xc3]), Some((1, Kind::Ret)));
        assert_eq!(kind(&[0xcc]), Some((1, Kind::Int3)));
        assert_eq!(kind(&[0xeb, 0xfe]), Some((2, Kind::Jump(-2))));
        assert_eq!(kind(&[0xe9, 1, 0, 0, 0]), Some((5, Kind::Jump(1))));
        assert_eq!(kind(&[0x75, 0x10]), Some((2, Kind::Branch(5, 16))));
        assert_eq!(
            kind(&[0x0f, 0x82, 0, 1, 0, 0]),
            Some((6, Kind::Branch(2, 256)))
        );
        assert_eq!(kind(&[0xf3, 0xa4]), Some((2, Kind::Other)));
        assert_eq!(kind(&[0xe8, 2, 0, 0, 0]), Some((5, Kind::Call(2))));
        assert_eq!(kind(&[0x0f, 0x01, 0xcb]), Some((3, Kind::Access)));
        assert_eq!(kind(&[0x0f, 0x01, 0xf8]), Some((3, Kind::Other)));
        assert_eq!(kind(&[0x0f, 0x82, 0, 1]), None);
        assert_eq!(kind(&[0x06]), None);
    }
}

// SPDX-License-Identifier: GPL-2.0-only

//! Registers in the text of an instruction.

use std::ops::Range;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    B,
    W,
    L,
    Q,
}

impl Width {
    /// Of a mnemonic.
    pub fn suffix(self) -> &'static str {
        match self {
            Width::B => "b",
            Width::W => "w",
            Width::L => "l",
            Width::Q => "q",
        }
    }
}

/// One mention of a register.
#[derive(Clone, Debug, PartialEq)]
pub struct Register {
    /// As its parts have it in common: `ax`, `si`, `8`.
    pub family: &'static str,
    pub width: Width,
    /// With its percent sign.
    pub at: Range<usize>,
    /// It holds data, and is no part of an address.
    pub data: bool,
}

/// The families, and for each the one that it is taken for.
const FAMILIES: [(&str, &str); 10] = [
    ("ax", "cx"),
    ("cx", "dx"),
    ("dx", "cx"),
    ("bx", "ax"),
    ("si", "di"),
    ("di", "si"),
    ("8", "9"),
    ("9", "10"),
    ("10", "11"),
    ("11", "8"),
];

const WIDTHS: [Width; 4] = [Width::Q, Width::L, Width::W, Width::B];

/// All mentions, in their order.
pub fn registers(text: &str) -> Vec<Register> {
    let mut found = Vec::new();
    for (start, _) in text.match_indices('%') {
        let rest = &text[start + 1..];
        let length = rest
            .find(|c: char| !c.is_ascii_alphanumeric())
            .unwrap_or(rest.len());
        let names = FAMILIES.iter().flat_map(|(family, _)| {
            let of = |width| (*family, width);
            WIDTHS.map(of)
        });
        let known = names
            .into_iter()
            .find(|(family, width)| name(family, *width)[1..] == rest[..length]);
        let Some((family, width)) = known else {
            continue;
        };
        let before = &text[..start];
        let data = before.matches('(').count() == before.matches(')').count();
        found.push(Register {
            family,
            width,
            at: start..start + 1 + length,
            data,
        });
    }
    found
}

impl Register {
    /// The same register in that width.
    pub fn name(&self, width: Width) -> String {
        name(self.family, width)
    }

    /// The one that it is taken for.
    pub fn other(&self) -> String {
        let other = FAMILIES.iter().find(|(family, _)| *family == self.family);
        name(other.map_or(self.family, |(_, other)| other), self.width)
    }
}

fn name(family: &str, width: Width) -> String {
    let numbered = family.starts_with(|c: char| c.is_ascii_digit());
    let stem = family.trim_end_matches('x');
    match (width, numbered) {
        (Width::Q, _) => format!("%r{family}"),
        (Width::L, true) => format!("%r{family}d"),
        (Width::W, true) => format!("%r{family}w"),
        (Width::B, true) => format!("%r{family}b"),
        (Width::L, false) => format!("%e{family}"),
        (Width::W, false) => format!("%{family}"),
        (Width::B, false) => format!("%{stem}l"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_all_widths() {
        let names = |family| WIDTHS.map(|width| name(family, width));
        assert_eq!(names("ax"), ["%rax", "%eax", "%ax", "%al"]);
        assert_eq!(names("si"), ["%rsi", "%esi", "%si", "%sil"]);
        assert_eq!(names("10"), ["%r10", "%r10d", "%r10w", "%r10b"]);
    }

    #[test]
    fn mentions() {
        let all = registers("movq %r8b, -2*8(%rdi, %rdx)");
        let told: Vec<_> = all
            .iter()
            .map(|one| (one.family, one.width, one.data))
            .collect();
        assert_eq!(
            told,
            [
                ("8", Width::B, true),
                ("di", Width::Q, false),
                ("dx", Width::Q, false)
            ]
        );
        assert_eq!(all[1].other(), "%rsi");
        assert!(registers("jmp *%rsp").is_empty());
    }
}

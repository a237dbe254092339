// SPDX-License-Identifier: GPL-2.0-only

//! The operators: what each makes of a statement. Changes that are known beforehand to mean the same
//! are not made: a load twice, a threshold of a register that is compared as a longer one.

use super::register::{registers, Register, Width};
use super::statement::{Statement, StatementKind};

/// One change: the operator's name, and what stands in the statement's place.
#[derive(Clone, Debug, PartialEq)]
pub struct Mutation {
    pub operator: &'static str,
    pub after: String,
}

/// All changes of a statement. `targets` are the labels that fix-ups go to.
pub fn changes(one: &Statement, text: &str, targets: &[&str]) -> Vec<Mutation> {
    let mut all = Changes(Vec::new());
    match one.kind {
        StatementKind::Align => all.add("alignment dropped", ""),
        StatementKind::Fixup => {
            all.add("fix-up dropped", "");
            let plain = text.replacen("_ASM_EXTABLE_UA", "_ASM_EXTABLE", 1);
            all.add("fix-up of another type", plain);
            all.elsewhere(text, targets);
        }
        StatementKind::Insn => {
            all.add("dropped", "");
            all.doubled(text);
            all.displaced(text);
            all.immediates(text);
            all.conditions(text);
            all.widths(text);
            all.registers(text);
            all.macros(text);
        }
    }
    all.0
}

struct Changes(Vec<Mutation>);

impl Changes {
    fn add(&mut self, operator: &'static str, after: impl Into<String>) {
        let after = after.into();
        self.0.push(Mutation { operator, after });
    }

    /// A fix-up that goes to where another one does.
    fn elsewhere(&mut self, text: &str, targets: &[&str]) {
        let Some((head, own)) = text.rsplit_once(',') else {
            return;
        };
        let own = own.trim().trim_end_matches(')');
        let named = |target: &&&str| target.starts_with('.') && **target != own;
        if let Some(other) = targets.iter().find(named) {
            self.add("fix-up elsewhere", format!("{head}, {other})"));
        }
    }

    /// Only what makes a difference the second time.
    fn doubled(&mut self, text: &str) {
        let counts = ["add", "sub", "inc", "dec", "shr", "shl", "neg"];
        let mnemonic = mnemonic(text);
        let moves = mnemonic.starts_with("lea") && registers(text).len() == 2 && {
            let all = registers(text);
            all[0].family == all[1].family
        };
        if counts.iter().any(|count| mnemonic.starts_with(count)) || moves {
            self.add("doubled", format!("{text}; {text}"));
        }
    }

    /// Another place in memory.
    fn displaced(&mut self, text: &str) {
        let Some(open) = text.find("(%") else {
            return;
        };
        let start = text[..open].rfind([' ', '\t', ',']).map_or(0, |i| i + 1);
        let (head, displacement, rest) = (&text[..start], &text[start..open], &text[open..]);
        let old = if displacement.is_empty() {
            "0"
        } else {
            displacement
        };
        for by in ["+1", "-1", "+8"] {
            self.add("displaced", format!("{head}{old}{by}{rest}"));
        }
    }

    /// Another number.
    fn immediates(&mut self, text: &str) {
        let Some(dollar) = text.find('$') else {
            return;
        };
        let rest = &text[dollar + 1..];
        let end = dollar + 1 + rest.find(',').unwrap_or(rest.len());
        let (head, number, rest) = (&text[..=dollar], text[dollar + 1..end].trim(), &text[end..]);
        let operator = match mnemonic(text).starts_with("cmp") {
            true => "threshold",
            false => "immediate",
        };
        for by in ["+1", "-1", "*2", "/2"] {
            self.add(operator, format!("{head}({number}){by}{rest}"));
        }
    }

    /// The other branch, one length further, or always.
    fn conditions(&mut self, text: &str) {
        const OTHER: [(&str, &str, &str); 10] = [
            ("jb", "jae", "jbe"),
            ("jae", "jb", "ja"),
            ("ja", "jbe", "jae"),
            ("jbe", "ja", "jb"),
            ("jz", "jnz", "jbe"),
            ("jnz", "jz", "jns"),
            ("je", "jne", "jbe"),
            ("jne", "je", "jns"),
            ("jl", "jge", "jle"),
            ("jge", "jl", "jg"),
        ];
        let (name, rest) = text.split_at(mnemonic(text).len());
        let Some((_, opposite, near)) = OTHER.iter().find(|(known, ..)| *known == name) else {
            return;
        };
        self.add("condition flipped", format!("{opposite}{rest}"));
        self.add("condition off by one", format!("{near}{rest}"));
        self.add("always", format!("jmp{rest}"));
    }

    /// Moves of another width, and counts or pointers of fewer bits. (32 bits are enough for a
    /// count, since no copy is of 4 GiB.)
    fn widths(&mut self, text: &str) {
        let mnemonic = mnemonic(text);
        for (from, to) in [("rep movsb", "rep movsq"), ("rep movsq", "rep movsb")] {
            if text == from {
                self.add("width", to);
            }
        }
        let all = registers(text);
        let Some(first) = all.iter().find(|one| one.data) else {
            return;
        };
        let moves = mnemonic.starts_with("mov") && !mnemonic.starts_with("movz");
        let is_pointer = |one: &Register| ["si", "di"].contains(&one.family);
        let widths: &[Width] = match (moves && text.contains('('), first.width) {
            (true, Width::Q) => &[Width::L, Width::B],
            (true, Width::L) => &[Width::Q, Width::W],
            (true, Width::B) => &[Width::W, Width::Q],
            (true, Width::W) => &[],
            (false, Width::Q) if all.iter().any(is_pointer) => &[Width::L, Width::B],
            (false, Width::Q | Width::L) => &[Width::B],
            (false, _) => &[],
        };
        if mnemonic.starts_with("lea") || mnemonic.starts_with("movz") {
            return;
        }
        for width in widths {
            let suffixed = mnemonic.ends_with(first.width.suffix()) && mnemonic != "sub";
            let stem = match suffixed {
                true => &mnemonic[..mnemonic.len() - 1],
                false => mnemonic,
            };
            let mut after = text.to_string();
            for one in all.iter().rev().filter(|one| one.data) {
                after.replace_range(one.at.clone(), &one.name(*width));
            }
            let after = after.replacen(mnemonic, &format!("{stem}{}", width.suffix()), 1);
            self.add("width", after);
        }
    }

    /// Each register taken for another one, and two operands the wrong way round.
    fn registers(&mut self, text: &str) {
        let all = registers(text);
        for one in &all {
            let mut after = text.to_string();
            after.replace_range(one.at.clone(), &one.other());
            self.add("register", after);
        }
        if let [a, b] = &all[..] {
            let commutes = mnemonic(text).starts_with("test");
            if a.data && b.data && a.family != b.family && !commutes {
                let mut after = text.to_string();
                after.replace_range(b.at.clone(), &a.name(a.width));
                after.replace_range(a.at.clone(), &b.name(b.width));
                self.add("operands swapped", after);
            }
        }
    }

    /// What stands for a return, and for what user access is allowed by.
    fn macros(&mut self, text: &str) {
        match text {
            "RET" => {
                self.add("direction flag left set", "std; RET");
                self.add("bare return", "ret");
            }
            "rep movsb" | "rep movsq" => {
                self.add("direction flag not cleared", format!("std; {text}; cld"));
                self.add("no prefix", &text[4..]);
            }
            "ASM_CLAC" => self.add("access left allowed", "ASM_STAC"),
            _ => {}
        }
    }
}

/// The first word of an instruction.
pub fn mnemonic(text: &str) -> &str {
    text.split_whitespace().next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(text: &str, operator: &str) -> Vec<String> {
        let one = |kind| Statement {
            kind,
            line: 1,
            at: 0..text.len(),
        };
        let kind = match mnemonic(text).starts_with("_ASM") {
            true => StatementKind::Fixup,
            false => StatementKind::Insn,
        };
        let all = changes(&one(kind), text, &["1b", ".Lx", ".Ly"]).into_iter();
        let of = all.filter(|change| change.operator == operator);
        of.map(|change| change.after).collect()
    }

    #[test]
    fn what_is_twice_the_same_is_not_doubled() {
        assert_eq!(
            made("subq $8, %rcx", "doubled"),
            ["subq $8, %rcx; subq $8, %rcx"]
        );
        assert_eq!(made("leaq 8(%rsi), %rsi", "doubled").len(), 1);
        assert!(made("leaq 8(%rdi), %rax", "doubled").is_empty());
        assert!(made("movq (%rsi), %r8", "doubled").is_empty());
    }

    #[test]
    fn displacements() {
        let made = |text| made(text, "displaced");
        assert_eq!(
            made("movq -1*8(%rsi, %rdx),\t%r9")[0],
            "movq -1*8+1(%rsi, %rdx),\t%r9"
        );
        assert_eq!(made("movb %al,(%rdi)")[1], "movb %al,0-1(%rdi)");
        assert!(made("incq %rsi").is_empty());
    }

    #[test]
    fn numbers() {
        assert_eq!(
            made("cmpq $0x20, %rdx", "threshold")[2],
            "cmpq $(0x20)*2, %rdx"
        );
        assert_eq!(made("subl $1, %edx", "immediate")[1], "subl $(1)-1, %edx");
        assert_eq!(made("andq $-8,%rax", "immediate")[0], "andq $(-8)+1,%rax");
    }

    #[test]
    fn conditions() {
        assert_eq!(made("jb\t.Lx", "condition flipped"), ["jae\t.Lx"]);
        assert_eq!(made("jb\t.Lx", "condition off by one"), ["jbe\t.Lx"]);
        assert_eq!(made("jb\t.Lx", "always"), ["jmp\t.Lx"]);
        assert!(made("jmp .Lx", "always").is_empty());
    }

    #[test]
    fn widths() {
        let made = |text| made(text, "width");
        assert_eq!(
            made("movq 8(%rsi),\t%r9"),
            ["movl 8(%rsi),\t%r9d", "movb 8(%rsi),\t%r9b"]
        );
        assert_eq!(
            made("movb %al, (%rdi)"),
            ["movw %ax, (%rdi)", "movq %rax, (%rdi)"]
        );
        assert_eq!(made("addq $8,%rsi"), ["addl $8,%esi", "addb $8,%sil"]);
        assert_eq!(made("sub $8,%ecx"), ["subb $8,%cl"]);
        assert_eq!(made("rep movsb"), ["rep movsq"]);
        assert!(made("jb .Lx").is_empty());
    }

    #[test]
    fn registers_and_operands() {
        assert_eq!(
            made("movq %r8, 8(%rdi)", "register"),
            ["movq %r9, 8(%rdi)", "movq %r8, 8(%rsi)"]
        );
        assert_eq!(
            made("movq %rdi, %rax", "operands swapped"),
            ["movq %rax, %rdi"]
        );
        assert!(made("movq %r8, (%rdi)", "operands swapped").is_empty());
    }

    #[test]
    fn fixups() {
        let text = "_ASM_EXTABLE_UA( 0b, .Lx)";
        assert_eq!(
            made(text, "fix-up elsewhere"),
            ["_ASM_EXTABLE_UA( 0b, .Ly)"]
        );
        assert_eq!(
            made(text, "fix-up of another type"),
            ["_ASM_EXTABLE( 0b, .Lx)"]
        );
        assert_eq!(made(text, "fix-up dropped"), [""]);
    }
}

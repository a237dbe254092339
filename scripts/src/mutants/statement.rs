// SPDX-License-Identifier: GPL-2.0-only

//! The statements of an assembly source that can be mutated: where they are, and what they are.

use std::ops::Range;

/// What a statement is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatementKind {
    /// An instruction, or a macro that stands for one.
    Insn,
    /// An entry of the exception table.
    Fixup,
    /// An alignment.
    Align,
}

/// One statement.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    pub kind: StatementKind,
    /// Its line, from 1.
    pub line: usize,
    /// Its bytes in the source.
    pub at: Range<usize>,
}

/// Macros that stand for instructions.
const MACROS: [&str; 3] = ["RET", "ASM_STAC", "ASM_CLAC"];

/// The statements of a source, in its order. Of alternatives, those that they choose from.
pub fn statements(text: &str) -> Vec<Statement> {
    let code = without_comments(text);
    let mut found = Vec::new();
    let mut start = 0;
    // A line that goes on behind a backslash is of the same kind as the one before it.
    let (mut quoted, mut skipped) = (false, false);
    for (i, line) in code.split_inclusive('\n').enumerate() {
        let goes_on = line.trim_end().ends_with('\\');
        let first = !quoted && !skipped;
        let at = start + label(line);
        let words = code[at..start + line.len()].trim();
        if first {
            quoted = words.starts_with("ALTERNATIVE");
            skipped = words.starts_with('#');
        }
        let mut add = |kind, at: Range<usize>| {
            let at = trimmed(&code, at);
            if !at.is_empty() {
                let line = i + 1;
                found.push(Statement { kind, line, at });
            }
        };
        if quoted {
            for part in chosen(&code, start..start + line.len()) {
                add(StatementKind::Insn, part);
            }
        } else if !skipped {
            if let Some(kind) = kind(words) {
                add(kind, at..start + line.len());
            }
        }
        quoted &= goes_on;
        skipped &= goes_on;
        start += line.len();
    }
    found
}

/// What a line without its label is, if it can be mutated.
fn kind(words: &str) -> Option<StatementKind> {
    let word = words
        .split(|c: char| c.is_whitespace() || c == '(')
        .next()?;
    match word {
        "" => None,
        "_ASM_EXTABLE_UA" => Some(StatementKind::Fixup),
        ".p2align" | ".balign" => Some(StatementKind::Align),
        _ if MACROS.contains(&word) => Some(StatementKind::Insn),
        _ if word.starts_with(|c: char| c.is_ascii_lowercase()) && !word.contains('_') => {
            Some(StatementKind::Insn)
        }
        _ => None,
    }
}

/// The length of the labels before a line's statement.
fn label(line: &str) -> usize {
    let mut length = 0;
    while let Some((name, _)) = line[length..].split_once(':') {
        let is_label = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '_';
        if !name.trim().chars().all(is_label) || name.trim().is_empty() {
            break;
        }
        length += name.len() + 1;
    }
    length
}

/// The instructions in a line of an alternative: in quotation marks, or in __stringify().
fn chosen(code: &str, line: Range<usize>) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let mut at = line.start;
    while at < line.end {
        let rest = &code[at..line.end];
        let quote = rest.find('"').map(|i| (i + 1, '"'));
        let open = rest.find("__stringify(").map(|i| (i + 12, ')'));
        let Some((begin, close)) = quote.into_iter().chain(open).min() else {
            break;
        };
        let begin = at + begin;
        let end = begin + closing(&code[begin..line.end], close);
        let mut start = begin;
        for part in code[begin..end].split_inclusive(';') {
            let stop = start + part.trim_end_matches(';').len();
            parts.push(start..stop);
            start += part.len();
        }
        at = end + 1;
    }
    parts
}

/// Where what was opened before a text is closed.
fn closing(text: &str, close: char) -> usize {
    let mut depth = 0;
    for (i, c) in text.char_indices() {
        match c {
            _ if c == close && depth == 0 => return i,
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
    }
    text.len()
}

/// A range without the white space at its ends.
fn trimmed(text: &str, at: Range<usize>) -> Range<usize> {
    let part = &text[at.clone()];
    let start = at.start + (part.len() - part.trim_start().len());
    start..start + part.trim().len()
}

/// The same text with blanks for comments, so that places stay what they are.
fn without_comments(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    let mut at = 0;
    while let Some(start) = text[at..].find("/*").map(|i| at + i) {
        let end = text[start..]
            .find("*/")
            .map_or(text.len(), |i| start + i + 2);
        for byte in &mut bytes[start..end] {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
        at = end;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(StatementKind, usize, &str)> {
        let all = statements(text).into_iter();
        all.map(|one| (one.kind, one.line, &text[one.at])).collect()
    }

    #[test]
    fn statements_are_found_behind_labels_and_outside_comments() {
        let text = "/* jmp no\n * movq no */\n#define x \\\n\tjmp no\nSYM_FUNC_START(f)\n\
                    1: .Lx:\tmovq (%rsi), %r8 /* here */\n\tRET\n\t.p2align 4\n\
                    \t_ASM_EXTABLE_UA( 0b, .Lx)\n\trepmov_may_clobber 1\n.Ly:\n";
        assert_eq!(
            found(text),
            [
                (StatementKind::Insn, 6, "movq (%rsi), %r8"),
                (StatementKind::Insn, 7, "RET"),
                (StatementKind::Align, 8, ".p2align 4"),
                (StatementKind::Fixup, 9, "_ASM_EXTABLE_UA( 0b, .Lx)"),
            ]
        );
    }

    #[test]
    fn alternatives_are_what_they_choose_from() {
        let text = "0:\tALTERNATIVE \"jmp .Lx\", \"\", X86_FEATURE_A\n\
                    \tALTERNATIVE_2 \"jmp y\", \\\n\
                    \t\t__stringify(cmpq $(1 + 2), %rdx; jb y), X86_FEATURE_A, \\\n\t\t\"\", B\n\tRET\n";
        assert_eq!(
            found(text),
            [
                (StatementKind::Insn, 1, "jmp .Lx"),
                (StatementKind::Insn, 2, "jmp y"),
                (StatementKind::Insn, 3, "cmpq $(1 + 2), %rdx"),
                (StatementKind::Insn, 3, "jb y"),
                (StatementKind::Insn, 5, "RET"),
            ]
        );
    }
}

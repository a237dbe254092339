// SPDX-License-Identifier: GPL-2.0-only

//! How numbers and lists look in what is printed.

/// The width of what goes into a commit message.
pub const WIDTH: usize = 72;

/// Picoseconds as nanoseconds: two digits behind the point, none of ten thousand and more.
pub fn ns(ps: i64) -> String {
    let digits = if ps.abs() < 10_000_000 { 2 } else { 0 };
    format!("{:.digits$}", ps as f64 / 1000.0)
}

/// A change with its sign: `-4.4 %`.
pub fn percent(value: f64) -> String {
    format!("{} %", signed(value))
}

/// The same without the unit.
pub fn signed(value: f64) -> String {
    // Not "-0.0".
    let value = if value.abs() < 0.05 { 0.0 } else { value };
    format!("{value:+.1}")
}

/// Numbers as a plan writes them: `0-64,128,256-4096/256`.
pub fn list(values: &[u64]) -> String {
    let mut values = values.to_vec();
    values.sort_unstable();
    values.dedup();
    let mut items = Vec::new();
    let mut rest = &values[..];
    while let Some(&first) = rest.first() {
        let step = rest.get(1).map_or(1, |second| second - first);
        let run = (1..rest.len()).take_while(|&i| rest[i] - rest[i - 1] == step);
        let count = 1 + run.count();
        let taken = if count < 3 { 1 } else { count };
        items.push(match (taken, step) {
            (1, _) => first.to_string(),
            (_, 1) => format!("{first}-{}", rest[taken - 1]),
            _ => format!("{first}-{}/{step}", rest[taken - 1]),
        });
        rest = &rest[taken..];
    }
    items.join(",")
}

/// The values that occur, each once, in the order of their first item.
pub fn distinct<I, T: PartialEq>(items: &[I], of: impl Fn(&I) -> T) -> Vec<T> {
    let mut values = Vec::new();
    for item in items {
        let value = of(item);
        if !values.contains(&value) {
            values.push(value);
        }
    }
    values
}

/// Breaks a text into lines of at most [`WIDTH`] columns, the second and later ones indented. A
/// longer word has a line of its own.
pub fn wrap(text: &str, indent: usize) -> String {
    wrap_from(0, text, indent)
}

/// The same with all lines indented.
pub fn indented(text: &str, indent: usize) -> String {
    wrap_from(indent, text, indent)
}

fn wrap_from(start: usize, text: &str, indent: usize) -> String {
    let mut lines = " ".repeat(start);
    let mut column = 0;
    for word in text.split_whitespace() {
        let width = word.chars().count();
        if column == 0 {
            column = start + width;
        } else if column + 1 + width <= WIDTH {
            lines.push(' ');
            column += 1 + width;
        } else {
            lines += &format!("\n{:indent$}", "");
            column = indent + width;
        }
        lines += word;
    }
    lines + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        assert_eq!(ns(-4), "-0.00");
        assert_eq!(ns(1_237), "1.24");
        assert_eq!(ns(12_345_678), "12346");
        assert_eq!(percent(-4.44), "-4.4 %");
        assert_eq!(signed(-0.01), "+0.0");
    }

    #[test]
    fn lists() {
        assert_eq!(list(&[]), "");
        assert_eq!(list(&[3, 1, 2, 2]), "1-3");
        assert_eq!(list(&[0, 64, 128, 192, 193]), "0-192/64,193");
        assert_eq!(list(&[5, 9]), "5,9");
    }

    #[test]
    fn long_texts_are_broken() {
        let text = "word ".repeat(40) + &"x".repeat(80);
        let wrapped = wrap(&text, 2);
        let widths: Vec<_> = wrapped.lines().map(str::len).collect();
        assert_eq!(widths.last(), Some(&82));
        assert!(widths[..widths.len() - 1].iter().all(|&w| w <= WIDTH));
        assert!(wrapped.contains("\n  word"));
    }
}

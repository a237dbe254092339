// SPDX-License-Identifier: GPL-2.0-only

//! Text that remembers where its lines came from.

/// A line, and its number in what the user has.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    pub number: usize,
    pub text: String,
}

/// Some of the lines of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Page {
    /// The file, as a person would look for it.
    pub name: String,
    pub lines: Vec<Line>,
}

impl Page {
    /// A text whose first line is number `first` of the file.
    pub fn new(name: &str, first: usize, text: &str) -> Page {
        let line = |(i, text): (usize, &str)| Line {
            number: first + i,
            text: text.trim_end_matches('\r').to_string(),
        };
        Page {
            name: name.to_string(),
            lines: text.split('\n').enumerate().map(line).collect(),
        }
    }

    #[cfg(test)]
    pub fn text(&self) -> String {
        let lines: Vec<_> = self.lines.iter().map(|line| line.text.as_str()).collect();
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_keep_their_numbers() {
        let page = Page::new("x", 5, "a\r\nb\n");
        assert_eq!(page.lines[1].number, 6);
        assert_eq!(page.text(), "a\nb\n");
    }
}

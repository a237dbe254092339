// SPDX-License-Identifier: GPL-2.0-only

//! Diffs that a reply quotes.

use anyhow::{bail, ensure, Result};

use crate::patch::diff::Diff;
use crate::patch::page::{Line, Page};

/// What the quoted lines of a page hold, as they stood in the mail that is quoted.
pub struct Quoted {
    pub page: Page,
    /// Lines that stand behind quoted ones: comments, or what was too long when it was quoted.
    doubtful: Vec<Line>,
}

/// Takes the marks from the quoted diffs of a page; None if no diff is quoted there.
pub fn unquoted(page: &Page) -> Option<Quoted> {
    let (start, mark) = start(page)?;
    let (mut lines, mut doubtful) = (Vec::new(), Vec::new());
    let mut follows = false;
    for line in &page.lines[start..] {
        let text = inside(&line.text, &mark);
        match text {
            Some(text) => lines.push(Line {
                number: line.number,
                text: text.to_string(),
            }),
            None if follows && !line.text.trim().is_empty() => doubtful.push(line.clone()),
            None => {}
        }
        follows = text.is_some();
    }
    let name = page.name.clone();
    let page = Page { name, lines };
    Some(Quoted { page, doubtful })
}

impl Quoted {
    /// Fails if something stands in a diff that may be the rest of one of its lines.
    pub fn is_exact(&self, diff: &Diff) -> Result<()> {
        let rows = diff.hunks.iter().flat_map(|hunk| &hunk.rows);
        let last = rows.map(|row| row.number).max().unwrap_or(diff.line);
        let within = diff.line..=last + 1;
        if let Some(line) = self
            .doubtful
            .iter()
            .find(|line| within.contains(&line.number))
        {
            bail!(
                "{}:{}: the diff is quoted, and \"{}\" may be a comment or the rest of the line \
                 above: take the mail that is quoted, or put an empty line before the comment",
                self.page.name,
                line.number,
                line.text
            );
        }
        Ok(())
    }
}

/// The place of the first quoted diff, and what stands before each of its lines.
fn start(page: &Page) -> Option<(usize, String)> {
    page.lines.iter().enumerate().find_map(|(i, line)| {
        let text = line.text.trim_start_matches(['>', ' ']);
        let mark = &line.text[..line.text.len() - text.len()];
        let starts = text.starts_with("diff --git ") || text.starts_with("--- a/");
        (starts && mark.starts_with('>')).then(|| (i, mark.to_string()))
    })
}

/// A line without the mark. Of a mark before nothing the blank may be gone.
fn inside<'a>(text: &'a str, mark: &str) -> Option<&'a str> {
    let rest = text.strip_prefix(mark);
    rest.or_else(|| (text == mark.trim_end()).then_some(""))
}

/// Fails if the diffstat in a page counts other lines than there are. True if there is one.
pub fn as_counted(page: &Page, (added, taken): (usize, usize)) -> Result<bool> {
    let is_sum = |text: &str| text.contains(" changed, ") && text.contains("file");
    let mut text = page.lines.iter().map(|line| {
        let bare = line.text.trim_start_matches(['>', ' ']);
        (line.number, bare)
    });
    let Some((number, sum)) = text.find(|(_, text)| is_sum(text)) else {
        return Ok(false);
    };
    let count = |word: &str| {
        let part = sum.split(", ").find(|part| part.contains(word));
        let number = part.and_then(|part| part.split_whitespace().next()?.parse().ok());
        number.unwrap_or(0)
    };
    let (plus, minus) = (count("insertion"), count("deletion"));
    ensure!(
        (added, taken) == (plus, minus),
        "{}:{number}: {plus} lines added and {minus} taken, it says, and the diff quoted adds \
         {added} and takes {taken}: it is not whole; take the mail that is quoted",
        page.name
    );
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::patch::diff;

    const REPLY: &str =
        "A wrote:\n> Why.\n> ---\n>  x | 2 +-\n>  1 file changed, 1 insertion(+)\n>\n\
                         > --- a/x\n> +++ b/x\n> @@ -1,1 +1,2 @@\n>  a\n> +b\n>\nWhy?\n";

    fn read(text: &str) -> Option<String> {
        unquoted(&Page::new("in", 1, text)).map(|quoted| quoted.page.text())
    }

    fn exact(text: &str) -> Result<()> {
        let quoted = unquoted(&Page::new("in", 1, text)).unwrap();
        quoted.is_exact(&diff::find(&quoted.page)?[0])
    }

    #[test]
    fn a_quoted_diff_is_as_it_was() {
        let quoted = unquoted(&Page::new("in", 1, REPLY)).unwrap();
        let diff = "--- a/x\n+++ b/x\n@@ -1,1 +1,2 @@\n a\n+b\n";
        assert_eq!(quoted.page.text(), diff);
        assert_eq!(quoted.page.lines[0].number, 7);
        exact(REPLY).unwrap();
        assert!(as_counted(&Page::new("in", 1, REPLY), (1, 0)).unwrap());
    }

    #[test]
    fn comments_between_go_and_so_does_a_quote_in_a_quote() {
        let text = REPLY.replace("> +b", "\nWhat?\n\n> +b");
        assert!(read(&text).unwrap().ends_with("\n a\n+b\n"));
        exact(&text).unwrap();
        let twice = text.replace("> ", "> > ").replace("What", "> What");
        assert!(read(&twice).unwrap().starts_with("--- a/x\n+++"));
    }

    #[test]
    fn what_may_be_the_rest_of_a_line_is_not_dropped() {
        for text in [
            REPLY.replace("> +b", "What?\n> +b"),
            REPLY.replace(">\nWhy", "Why"),
        ] {
            let error = exact(&text).unwrap_err().to_string();
            assert!(error.contains("may be a comment or the rest"), "{error}");
        }
    }

    #[test]
    fn a_diff_that_lost_lines_does_not_count_up() {
        let error = as_counted(&Page::new("in", 1, REPLY), (1, 1)).unwrap_err();
        assert!(error
            .to_string()
            .contains("in:5: 1 lines added and 0 taken"));
        assert!(!as_counted(&Page::new("in", 1, "> none\n"), (1, 1)).unwrap());
    }

    #[test]
    fn nothing_is_quoted_where_nothing_is() {
        assert_eq!(read("--- a/x\n+++ b/x\n"), None);
    }
}

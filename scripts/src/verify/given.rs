// SPDX-License-Identifier: GPL-2.0-only

//! What the user gives: a patch or a whole source, and what to make of it.

use anyhow::{bail, ensure, Context, Result};
use std::fs;
use std::io::{self, Read};
use std::path::Path;

use crate::patch::routine::Routine;

/// The words of the command line.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Given {
    /// A mail, a mailbox or a diff with changes of a routine; `-` is the standard input
    #[arg(long, value_name = "FILE|-")]
    pub patch: Option<String>,
    /// A whole source of a routine
    #[arg(long, value_name = "FILE")]
    pub asm: Option<String>,
    /// The routine that the source defines [default: that of the file which the patch changes]
    #[arg(long, value_name = "NAME")]
    pub routine: Option<String>,
    /// What the patch is of, if not the kernel tree's own file
    #[arg(long, value_name = "FILE")]
    pub base: Option<String>,
}

/// What was given, in its two kinds.
pub enum Input<'a> {
    Patch(&'a str),
    Source(&'a str, &'static Routine),
}

impl Given {
    /// A patch in a file.
    pub fn patch(file: &Path) -> Given {
        Given {
            patch: Some(file.display().to_string()),
            ..Given::default()
        }
    }

    /// Whether no word was said.
    pub fn is_nothing(&self) -> bool {
        let words = [&self.patch, &self.asm, &self.routine, &self.base];
        words.iter().all(|word| word.is_none())
    }

    /// The routine that is named, if one is.
    pub fn routine(&self) -> Result<Option<&'static Routine>> {
        self.routine.as_deref().map(Routine::named).transpose()
    }

    pub fn kind(&self) -> Result<Input<'_>> {
        let routine = self.routine()?;
        match (&self.patch, &self.asm) {
            (Some(patch), None) => Ok(Input::Patch(patch)),
            (None, Some(asm)) => {
                ensure!(
                    self.base.is_none(),
                    "BASE is for PATCH: a whole source has none"
                );
                let routine = routine.context(
                    "ASM wants ROUTINE: memcpy, rep_movs_alternative or \
                     copy_user_enhanced_fast_string",
                )?;
                Ok(Input::Source(asm, routine))
            }
            (Some(_), Some(_)) => bail!("PATCH and ASM: one of them"),
            (None, None) => bail!("say PATCH=FILE (a mail or a diff; - reads it from the standard input) or ASM=FILE ROUTINE=NAME"),
        }
    }
}

/// Reads a text that the user names; what it is called, and the text.
pub fn read(file: &str) -> Result<(String, String)> {
    let (name, bytes) = match file {
        "-" => {
            let mut bytes = Vec::new();
            io::stdin()
                .lock()
                .read_to_end(&mut bytes)
                .context("cannot read the standard input")?;
            ("standard input".to_string(), bytes)
        }
        _ => {
            let about = fs::metadata(file).with_context(|| format!("{file} is not there"))?;
            ensure!(!about.is_dir(), "{file} is a folder, not a file");
            let bytes = fs::read(file).with_context(|| format!("cannot read {file}"))?;
            (file.to_string(), bytes)
        }
    };
    let text = text(&bytes).with_context(|| name.clone())?;
    Ok((name, text))
}

/// What bytes say. Those that are no UTF-8 are marked, and refused if they matter.
fn text(bytes: &[u8]) -> Result<String> {
    ensure!(!bytes.trim_ascii().is_empty(), "it is empty");
    let utf16 = bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff");
    ensure!(
        !utf16 && !bytes.iter().take(64).skip(1).step_by(2).all(|b| *b == 0),
        "it is UTF-16, not UTF-8: iconv -f UTF-16 -t UTF-8 makes it that"
    );
    let packed = [
        &b"\x1f\x8b"[..],
        b"\xfd7zXZ",
        b"\x28\xb5\x2f\xfd",
        b"PK",
        b"BZh",
    ];
    ensure!(
        !packed.iter().any(|magic| bytes.starts_with(magic)),
        "it is packed: unpack it first"
    );
    ensure!(
        !bytes.contains(&0),
        "it is no text: there are zero bytes in it"
    );
    let text = String::from_utf8_lossy(bytes);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let start = text.trim_start().to_ascii_lowercase();
    ensure!(
        !start.starts_with("<!doctype html") && !start.starts_with("<html"),
        "it is a web page: take the raw message (on lore.kernel.org: \"raw\" or \"mbox.gz\")"
    );
    // A lone CR is no line end.
    Ok(text.replace("\r\n", "\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_text_is_told_apart() {
        for (bytes, words) in [
            (&b" \n"[..], "it is empty"),
            (b"\xff\xfed\0i\0f\0f\0", "UTF-16"),
            (b"d\0i\0f\0f\0", "UTF-16"),
            (b"\x1f\x8b\x08\0", "packed"),
            (b"diff\n\0\n", "zero bytes"),
            (b"\n<!DOCTYPE html>", "web page"),
        ] {
            let error = text(bytes).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
        assert_eq!(text(b"\xef\xbb\xbfa\r\nb").unwrap(), "a\nb");
        assert_eq!(text(b"\xe4\n").unwrap(), "\u{fffd}\n");
    }

    #[test]
    fn what_is_not_there() {
        assert!(format!("{:#}", read("/nowhere").unwrap_err()).contains("/nowhere is not there"));
        assert!(read("/").unwrap_err().to_string().contains("is a folder"));
    }

    #[test]
    fn words_that_do_not_go_together() {
        let word = |text: &str| (!text.is_empty()).then(|| text.to_string());
        let given = |patch, asm, routine, base| Given {
            patch: word(patch),
            asm: word(asm),
            routine: word(routine),
            base: word(base),
        };
        for (given, words) in [
            (given("a", "b", "", ""), "one of them"),
            (given("", "", "", ""), "say PATCH=FILE"),
            (given("", "b", "", ""), "ASM wants ROUTINE"),
            (
                given("", "b", "memmove", ""),
                "ROUTINE=memmove: there is none",
            ),
            (given("", "b", "memcpy", "c"), "BASE is for PATCH"),
            (
                given("a", "", "strcpy", ""),
                "there is none; there are memcpy, rep_movs",
            ),
        ] {
            let error = given.kind().err().unwrap().to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}

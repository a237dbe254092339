// SPDX-License-Identifier: GPL-2.0-only

//! What people have: a mail, a mailbox, what an archive shows of one, or a bare diff.

use anyhow::{Context, Result};
use mailparse::body::Body;
use mailparse::{MailHeaderMap, ParsedMail};
use std::path::Path;

use crate::patch::page::Page;

/// Headers of which a mail has at least one.
const HEADERS: [&str; 7] = [
    "from",
    "to",
    "subject",
    "date",
    "message-id",
    "mime-version",
    "content-type",
];

/// A message: its subject, and the texts in it.
#[derive(Debug)]
pub struct Message {
    pub subject: String,
    pub parts: Vec<Page>,
}

/// Takes a file apart. Texts that a mail carries encoded are written beside `decoded`, so that
/// there is something that line numbers can be of.
pub fn messages(name: &str, text: &str, decoded: &Path) -> Result<Vec<Message>> {
    let mut messages = Vec::new();
    for (first, block) in blocks(text) {
        let at = || format!("{name}:{first}: a mail that cannot be read");
        messages.push(match is_mail(block) {
            true => mail(name, first, block, decoded).with_context(at)?,
            false => plain(name, first, block),
        });
    }
    Ok(messages)
}

/// The messages of a mailbox, each with the number of its first line. What is no mailbox is one.
fn blocks(text: &str) -> Vec<(usize, &str)> {
    let mut starts = vec![(0, 1)];
    let (mut at, mut empty) = (0, true);
    for (i, line) in text.split_inclusive('\n').enumerate() {
        let next = &text[at + line.len()..];
        if line.starts_with("From ") && empty && header(next).is_some() && at > 0 {
            starts.push((at, i + 1));
        }
        empty = line.trim().is_empty();
        at += line.len();
    }
    let ends = starts.iter().skip(1).map(|(at, _)| *at).chain([text.len()]);
    let ends: Vec<_> = ends.collect();
    let block = |((start, line), end): (&(usize, usize), usize)| (*line, &text[*start..end]);
    starts.iter().zip(ends).map(block).collect()
}

/// The name of the header that a text begins with.
fn header(text: &str) -> Option<String> {
    let (name, _) = text.lines().next()?.split_once(':')?;
    let is_name = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    is_name.then(|| name.to_ascii_lowercase())
}

/// Whether a text begins as mails do.
fn is_mail(block: &str) -> bool {
    let head = block.lines().skip_while(|line| line.starts_with("From "));
    let mut head = head.take_while(|line| !line.trim().is_empty()).peekable();
    let first = head.peek().is_some_and(|line| header(line).is_some());
    first && head.any(|line| header(line).is_some_and(|name| HEADERS.contains(&name.as_str())))
}

/// What is no mail: an archive's text, whose first line is the subject, or a bare diff.
fn plain(name: &str, first: usize, block: &str) -> Message {
    let subject = block.lines().next().unwrap_or_default().trim();
    let subject = match subject.contains("[PATCH") || subject.starts_with("Re:") {
        true => subject.to_string(),
        false => String::new(),
    };
    let parts = vec![Page::new(name, first, block)];
    Message { subject, parts }
}

fn mail(name: &str, first: usize, block: &str, decoded: &Path) -> Result<Message> {
    let from = match block.starts_with("From ") {
        true => block.find('\n').map_or(block.len(), |end| end + 1),
        false => 0,
    };
    let first = first + usize::from(from > 0);
    let block = &block[from..];
    let mail = mailparse::parse_mail(block.as_bytes())?;
    let subject = mail.headers.get_first_value("Subject").unwrap_or_default();
    let mut parts = Vec::new();
    for part in mail.parts().filter(|part| is_text(part)) {
        parts.push(match part.get_body_encoded() {
            Body::Base64(_) | Body::QuotedPrintable(_) => {
                let text = part.get_body()?.replace("\r\n", "\n");
                let file = decoded.with_extension(format!("{first}.{}", parts.len() + 1));
                std::fs::write(&file, &text)
                    .with_context(|| format!("cannot write {}", file.display()))?;
                Page::new(&file.display().to_string(), 1, &text)
            }
            Body::SevenBit(body) | Body::EightBit(body) => {
                plain_part(name, first, block, body.get_raw())
            }
            Body::Binary(body) => plain_part(name, first, block, body.get_raw()),
        });
    }
    Ok(Message { subject, parts })
}

/// A part that stands in the mail as it is.
fn plain_part(name: &str, first: usize, block: &str, body: &[u8]) -> Page {
    let start = (body.as_ptr() as usize).wrapping_sub(block.as_ptr() as usize);
    let before = block.as_bytes().get(..start).unwrap_or_default();
    let first = first + before.iter().filter(|byte| **byte == b'\n').count();
    Page::new(name, first, &String::from_utf8_lossy(body))
}

/// Whether a diff may be in it.
fn is_text(part: &ParsedMail) -> bool {
    if !part.subparts.is_empty() {
        return false;
    }
    let file = part.get_content_disposition().params.remove("filename");
    let is_patch = |name: &String| name.ends_with(".patch") || name.ends_with(".diff");
    let kind = part.ctype.mimetype.as_str();
    (kind.starts_with("text/") && kind != "text/html") || file.is_some_and(|name| is_patch(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIFF: &str = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a = b\n+\u{e4}\n";

    fn read(name: &str, text: &str) -> Vec<Message> {
        let file = std::env::temp_dir().join(format!("repmov-{name}-{}", std::process::id()));
        let messages = messages("in", text, &file).unwrap();
        for message in &messages {
            for part in message.parts.iter().filter(|part| part.name != "in") {
                std::fs::remove_file(&part.name).unwrap();
            }
        }
        messages
    }

    #[test]
    fn a_bare_diff_is_one_message() {
        let [message] = &read("bare", DIFF)[..] else {
            panic!("not one");
        };
        assert_eq!(message.parts[0].text(), DIFF);
        assert_eq!(message.subject, "");
    }

    #[test]
    fn a_mail_as_it_was_sent() {
        let mail = format!("From: A\nSubject: [PATCH] b\n\nWhy.\n---\n{DIFF}");
        let message = &read("sent", &mail)[0];
        assert_eq!(message.subject, "[PATCH] b");
        let line = &message.parts[0].lines[2];
        assert_eq!((line.number, line.text.as_str()), (6, "--- a/x"));
    }

    #[test]
    fn what_an_archive_shows() {
        let message = &read(
            "archive",
            &format!("[PATCH] x\n\n[A B]\n\n{DIFF}-- \n2.1\n"),
        )[0];
        assert_eq!(message.subject, "[PATCH] x");
        assert_eq!(message.parts[0].lines[4].number, 5);
    }

    #[test]
    fn line_ends_of_mails_go() {
        let mail = format!("From: A\nSubject: b\n\n{DIFF}").replace('\n', "\r\n");
        assert_eq!(read("crlf", &mail)[0].parts[0].text(), DIFF);
    }

    #[test]
    fn encoded_mails_are_decoded() {
        let head = "From: A\nSubject: =?utf-8?q?b=C3=A4?=\nMIME-Version: 1.0\n\
                    Content-Type: text/plain; charset=iso-8859-1\nContent-Transfer-Encoding: ";
        let quoted = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a =3D=\n b\n+=E4\n";
        let message = &read("qp", &format!("{head}quoted-printable\n\n{quoted}"))[0];
        assert_eq!(message.parts[0].text(), DIFF);
        assert_eq!(message.parts[0].lines[0].number, 1);
        assert_eq!(message.subject, "b\u{e4}");
        let base64 = "LS0tIGEveAorKysgYi94CkBAIC0xICsxIEBACi1hID0gYgor5Ao=\n";
        let message = &read("base64", &format!("{head}base64\n\n{base64}"))[0];
        assert_eq!(message.parts[0].text(), DIFF);
    }

    #[test]
    fn attachments_count_and_html_does_not() {
        let mail = format!(
            "From: A\nContent-Type: multipart/mixed; boundary=z\n\n--z\n\nHi.\n--z\n\
             Content-Type: text/html\n\n<p>\n--z\nContent-Type: application/octet-stream\n\
             Content-Disposition: attachment; filename=a.patch\n\n{DIFF}--z--\n"
        );
        let message = &read("parts", &mail)[0];
        assert_eq!(message.parts.len(), 2);
        assert_eq!(message.parts[1].lines[0].text, "--- a/x");
        assert_eq!(message.parts[1].lines[0].number, 15);
    }

    #[test]
    fn a_mailbox_has_many() {
        let one = |n: u32| {
            format!(
                "From 1 Mon Sep 17 00:00:00 2001\nFrom: A\nSubject: {n}\n\nFrom here.\n{DIFF}\n"
            )
        };
        let messages = read("mbox", &(one(1) + &one(2)));
        let subjects: Vec<_> = messages.iter().map(|m| m.subject.as_str()).collect();
        assert_eq!(subjects, ["1", "2"]);
        assert_eq!(messages[1].parts[0].lines[1].number, 17);
    }
}

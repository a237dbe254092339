// SPDX-License-Identifier: GPL-2.0-only

//! The timings of a record as tables: a block for each mask, a row for each length.

use anyhow::{bail, Context, Result};
use repmov_core::record::{header, Ns, Row, COLUMNS, VERSION};
use std::fmt::Write;

/// The rows of a record, and what it says of its circumstances.
pub struct Record<'a> {
    pub headers: Vec<(&'a str, &'a str)>,
    rows: Vec<Row<'a>>,
}

impl<'a> Record<'a> {
    pub fn parse(text: &'a str) -> Result<Record<'a>> {
        let mut lines = text.lines();
        let first = lines.next().unwrap_or_default();
        if first != VERSION {
            bail!("the timings do not start with \"{VERSION}\" but with \"{first}\"");
        }
        let (heads, body): (Vec<_>, Vec<_>) = lines.partition(|line| line.starts_with('#'));
        let (columns, rows) = body.split_first().context("the timings have no rows")?;
        if *columns != COLUMNS {
            bail!("the timings have other columns than this tool knows: {columns}");
        }
        let row = |line: &&'a str| match Row::parse(line) {
            Ok(row) => Ok(row),
            Err(_) => bail!("this line of the timings cannot be read: {line}"),
        };
        let rows = rows.iter().map(row).collect::<Result<_>>()?;
        let headers = heads.iter().filter_map(|line| header(line)).collect();
        Ok(Record { headers, rows })
    }

    /// A block for each routine and mask. Cells hold the least and the median, less an empty call.
    pub fn tables(&self) -> String {
        let mut text = String::new();
        for (routine, mask) in distinct(&self.rows, |row| (row.routine, row.mask)) {
            let mut rows = self.rows.iter();
            let of_block = |row: &&Row<'a>| (row.routine, row.mask) == (routine, mask);
            let rows: Vec<_> = rows.by_ref().filter(of_block).copied().collect();
            self.block(&mut text, &format!("{routine} {mask}"), &rows);
        }
        text
    }

    fn block(&self, text: &mut String, title: &str, rows: &[Row<'a>]) {
        let candidates = distinct(rows, |row| row.candidate);
        let _ = write!(text, "\n{title:>16}");
        for candidate in &candidates {
            let _ = write!(text, "{candidate:>20}");
        }
        text.push('\n');
        for cell in distinct(rows, place) {
            let here: Vec<_> = rows.iter().filter(|row| place(row) == cell).collect();
            let _ = write!(text, "{:>16}", self.label(here[0]));
            for candidate in &candidates {
                let cell = here.iter().find(|row| row.candidate == *candidate);
                let cell = cell.map_or("-".into(), |row| {
                    format!("{} {:>9}", short(row.net_min), short(row.net_median))
                });
                let _ = write!(text, "{cell:>20}");
            }
            text.push('\n');
        }
    }

    /// A row's length, and what else tells it from others.
    fn label(&self, row: &Row) -> String {
        let mut label = row.len.to_string();
        if row.irqs_on {
            label.insert(0, '*');
        }
        for (name, of) in [
            ("entry", (|row| row.entry) as fn(&Row) -> u64),
            ("src", |row| row.src),
            ("dst", |row| row.dst),
        ] {
            if self.rows.iter().any(|other| of(other) != of(row)) {
                label.insert_str(0, &format!("{name}={} ", of(row)));
            }
        }
        label
    }

    /// Whether some rows were timed with interrupts on.
    pub fn irqs_on(&self) -> bool {
        self.rows.iter().any(|row| row.irqs_on)
    }
}

/// Where and how much a row copies.
fn place(row: &Row) -> (u64, u64, u64, u64) {
    (row.entry, row.src, row.dst, row.len)
}

/// The values that occur, each once, in the order of their first row.
fn distinct<'a, T: PartialEq>(rows: &[Row<'a>], of: impl Fn(&Row<'a>) -> T) -> Vec<T> {
    let mut values = Vec::new();
    for row in rows {
        let value = of(row);
        if !values.contains(&value) {
            values.push(value);
        }
    }
    values
}

/// Nanoseconds with two digits.
fn short(ps: i64) -> String {
    let text = Ns((ps + if ps < 0 { -5 } else { 5 }) / 10 * 10).to_string();
    text[..text.len() - 1].to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(rows: &str) -> String {
        format!("{VERSION}\n# clock: tsc\n{COLUMNS}\n{rows}")
    }

    #[test]
    fn candidates_stand_side_by_side() {
        let row = |candidate: &str, len: u64, min: &str| {
            format!("memcpy\t{candidate}\te1f0\t0\t{len}\t0\t0\toff\t64\t15\t9.000\t9.000\t0.000\t{min}\t2.000\n")
        };
        let rows = [
            row("orig", 8, "1.237"),
            row("new", 8, "-0.004"),
            row("orig", 16, "3.000"),
        ];
        let text = record(&rows.concat());
        let record = Record::parse(&text).unwrap();
        assert_eq!(record.headers, [("clock", "tsc")]);
        let tables = record.tables();
        let lines: Vec<Vec<&str>> = tables
            .lines()
            .map(|line| line.split_whitespace().collect())
            .collect();
        assert_eq!(lines[1], ["memcpy", "e1f0", "orig", "new"]);
        assert_eq!(lines[2], ["8", "1.24", "2.00", "0.00", "2.00"]);
        assert_eq!(lines[3], ["16", "3.00", "2.00", "-"]);
    }

    #[test]
    fn what_varies_is_in_the_label() {
        let row = |src: u64, irqs: &str| {
            format!("memcpy\torig\te1f0\t0\t8\t{src}\t0\t{irqs}\t64\t15\t9.000\t9.000\t0.000\t1.000\t2.000\n")
        };
        let text = record(&[row(0, "off"), row(3, "on")].concat());
        let record = Record::parse(&text).unwrap();
        assert!(record.irqs_on());
        assert!(record.tables().contains("src=3 *8"), "{}", record.tables());
    }

    #[test]
    fn a_record_that_is_not_one_is_refused() {
        assert!(Record::parse("").is_err());
        assert!(Record::parse("# repmov timings: 2\n").is_err());
        assert!(Record::parse(&format!("{VERSION}\n")).is_err());
        assert!(Record::parse(&record("memcpy\torig\n")).is_err());
    }
}

// SPDX-License-Identifier: GPL-2.0-only

//! Cycles and instructions, of records whose CPU counted them.

use repmov_core::record::Ns;
use std::fmt::Write;

use crate::record::parse::Cell;
use crate::stats::dataset::Pool;

/// A line for each cell of the first boot: cycles and instructions per call, as the kernel's
/// performance events counted them. Empty where they did not.
pub fn lines(pool: &Pool<'_>) -> String {
    let mut text = String::new();
    for Cell { row, .. } in &pool.parts[0].cells {
        let Some([cycles, instructions]) = row.counts else {
            continue;
        };
        if text.is_empty() {
            text += "\n     len    cycles  instructions   counted per call, first boot\n";
        }
        let _ = writeln!(
            text,
            "{:>8} {:>9} {:>13}   {} {}",
            row.len,
            Ns(cycles).to_string(),
            Ns(instructions).to_string(),
            row.candidate,
            row.mask
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::parse::{parts, File};
    use crate::record::synthetic::Synthetic;
    use crate::stats::dataset::pools;
    use repmov_core::record::{COLUMNS, COUNTS};

    /// A record as a CPU with counters leaves it.
    fn counted(rows: bool) -> File {
        let mut file = Synthetic::lengths(&[8, 64]).file();
        let add = |line: &str| match line {
            COLUMNS => format!("{line}{COUNTS}\n"),
            _ if rows && line.starts_with("memcpy") => format!("{line}\t12.250\t9.000\n"),
            _ => format!("{line}\n"),
        };
        file.text = file.text.lines().map(add).collect();
        file
    }

    #[test]
    fn what_was_counted_is_told() {
        let files = [counted(true)];
        let parts = parts(&files).unwrap();
        let text = lines(&pools(&parts).unwrap()[0]);
        assert_eq!(text.matches("12.250         9.000").count(), 4, "{text}");
    }

    #[test]
    fn what_was_not_is_absent() {
        let files = [Synthetic::lengths(&[8]).file()];
        let parts = parts(&files).unwrap();
        assert_eq!(lines(&pools(&parts).unwrap()[0]), "");
    }

    #[test]
    fn rows_without_the_columns_they_claim_are_refused() {
        let files = [counted(false)];
        let error = format!("{:#}", parts(&files).err().unwrap());
        assert!(error.contains("not a row"), "{error}");
    }
}

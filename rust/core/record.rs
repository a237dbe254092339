// SPDX-License-Identifier: GPL-2.0-only

//! The record: what a timing run leaves, as text between measuring and telling.
//!
//! `#` lines of the form `# key: value` state the circumstances; the first one is [`VERSION`].
//! Then a line of column names, then a row per cell. Columns are separated by one tab. Times are
//! in nanoseconds with three digits behind the point; inside they are picoseconds. The last line is
//! [`End`]. Records may stand behind one another in a file.

use core::fmt;

/// The first line of a record.
pub const VERSION: &str = "# repmov timings: 2";

/// The candidate of the rows that hold the routine's first one, assembled a second time. What it
/// differs by from that one is what the bench cannot tell apart.
pub const TWIN: &str = "aa";

/// The line of column names.
pub const COLUMNS: &str = "routine\tcandidate\tmask\tentry\tlen\tsrc\tdst\tmem\tcache\tfault\t\
                           draw\tirqs\tcalls\trounds\tmin_ns\tmedian_ns\tmad_ns\tnet_min_ns\t\
                           net_median_ns\tsamples_ns";

/// What follows the column names where the CPU counts cycles and instructions.
pub const COUNTS: &str = "\tcycles\tinstructions";

/// One cell: an instance at one length and one pair of offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row<'a> {
    /// The routine.
    pub routine: &'a str,
    /// The candidate.
    pub candidate: &'a str,
    /// The mask's name.
    pub mask: &'a str,
    /// The entry offset modulo 64.
    pub entry: u64,
    /// Bytes per call.
    pub len: u64,
    /// The source's offset from a page boundary.
    pub src: u64,
    /// The destination's.
    pub dst: u64,
    /// Whose memory: [`Mem`](super::choice::Mem)'s word.
    pub mem: &'a str,
    /// What was in which cache: [`Cache`](super::choice::Cache)'s word.
    pub cache: &'a str,
    /// The byte at which every call faults.
    pub fault: Option<u64>,
    /// `each`, or `random`: then `len` is the mean of what is drawn.
    pub draw: &'a str,
    /// Whether interrupts stayed on, since a call takes longer than the window or may meet a fault.
    pub irqs_on: bool,
    /// Calls per timed window.
    pub calls: u64,
    /// Windows.
    pub rounds: u64,
    /// Picoseconds per call: the least window's.
    pub min: i64,
    /// The median window's.
    pub median: i64,
    /// The median absolute deviation.
    pub mad: i64,
    /// The least, less the least of an empty call.
    pub net_min: i64,
    /// The median, less the median of an empty call.
    pub net_median: i64,
    /// Of every window, in the order of the rounds: [`Samples`] as text.
    pub samples: &'a str,
    /// Thousandths of cycles and instructions per call, where the CPU counts them.
    pub counts: Option<[i64; 2]>,
}

/// Samples in picoseconds, shown as nanoseconds with commas between them.
pub struct Samples<'a>(pub &'a [i64]);

impl fmt::Display for Samples<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, &sample) in self.0.iter().enumerate() {
            let comma = if i > 0 { "," } else { "" };
            write!(f, "{comma}{}", Ns(sample))?;
        }
        Ok(())
    }
}

/// Picoseconds shown as nanoseconds.
#[derive(Clone, Copy)]
pub struct Ns(pub i64);

impl fmt::Display for Ns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let ps = self.0.unsigned_abs();
        write!(f, "{sign}{}.{:03}", ps / 1000, ps % 1000)
    }
}

impl fmt::Display for Row<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t",
            self.routine,
            self.candidate,
            self.mask,
            self.entry,
            self.len,
            self.src,
            self.dst,
            self.mem,
            self.cache
        )?;
        match self.fault {
            Some(byte) => write!(f, "{byte}\t")?,
            None => f.write_str("none\t")?,
        }
        write!(
            f,
            "{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}",
            self.draw,
            if self.irqs_on { "on" } else { "off" },
            self.calls,
            self.rounds,
            Ns(self.min),
            Ns(self.median),
            Ns(self.mad),
            Ns(self.net_min),
            Ns(self.net_median),
            self.samples
        )?;
        match self.counts {
            // Thousandths are shown alike, whatever of.
            Some([cycles, instructions]) => write!(f, "\t{}\t{}", Ns(cycles), Ns(instructions)),
            None => Ok(()),
        }
    }
}

/// A line that is no part of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadLine;

impl<'a> Row<'a> {
    /// Reads a row.
    ///
    /// # Errors
    ///
    /// [`BadLine`] unless every column is there and of its form; those of [`COUNTS`] may be missing.
    pub fn parse(line: &'a str) -> Result<Row<'a>, BadLine> {
        let mut columns = line.split('\t');
        let mut next = || columns.next().ok_or(BadLine);
        let mut row = Row {
            routine: next()?,
            candidate: next()?,
            mask: next()?,
            entry: integer(next()?)?,
            len: integer(next()?)?,
            src: integer(next()?)?,
            dst: integer(next()?)?,
            mem: next()?,
            cache: next()?,
            fault: match next()? {
                "none" => None,
                byte => Some(integer(byte)?),
            },
            draw: next()?,
            irqs_on: match next()? {
                "on" => true,
                "off" => false,
                _ => return Err(BadLine),
            },
            calls: integer(next()?)?,
            rounds: integer(next()?)?,
            min: picoseconds(next()?)?,
            median: picoseconds(next()?)?,
            mad: picoseconds(next()?)?,
            net_min: picoseconds(next()?)?,
            net_median: picoseconds(next()?)?,
            samples: next()?,
            counts: None,
        };
        if let Some(cycles) = columns.next() {
            let instructions = columns.next().ok_or(BadLine)?;
            row.counts = Some([picoseconds(cycles)?, picoseconds(instructions)?]);
        }
        let count = row.samples().try_fold(0, |n, sample| sample.map(|_| n + 1));
        match columns.next() {
            None if count == Ok(row.rounds) => Ok(row),
            _ => Err(BadLine),
        }
    }

    /// Every window's picoseconds per call.
    pub fn samples(&self) -> impl Iterator<Item = Result<i64, BadLine>> + 'a {
        self.samples.split(',').map(picoseconds)
    }
}

fn integer(text: &str) -> Result<u64, BadLine> {
    text.parse().map_err(|_| BadLine)
}

fn picoseconds(text: &str) -> Result<i64, BadLine> {
    let (digits, sign) = match text.strip_prefix('-') {
        Some(digits) => (digits, -1),
        None => (text, 1),
    };
    let (whole, fraction) = digits.split_once('.').ok_or(BadLine)?;
    if fraction.len() != 3 || !digits.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
        return Err(BadLine);
    }
    let whole: i64 = whole.parse().map_err(|_| BadLine)?;
    let fraction: i64 = fraction.parse().map_err(|_| BadLine)?;
    let ps = whole.checked_mul(1000).ok_or(BadLine)?;
    Ok(sign * (ps + fraction))
}

/// The last line of a record, which shows that nothing is missing: how many rows there are.
pub struct End(pub u64);

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "# end: {} rows", self.0)
    }
}

/// Splits a `# key: value` line.
pub fn header(line: &str) -> Option<(&str, &str)> {
    line.strip_prefix("# ")?.split_once(": ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: Row<'_> = Row {
        routine: "memcpy",
        candidate: "erms2048",
        mask: "e1f0",
        entry: 16,
        len: 4096,
        src: 0,
        dst: 1,
        mem: "kernel",
        cache: "hot",
        fault: None,
        draw: "each",
        irqs_on: false,
        calls: 64,
        rounds: 3,
        min: 61_250,
        median: 61_400,
        mad: 7,
        net_min: -50,
        net_median: 60_001,
        samples: "61.250,61.400,900.000",
        counts: None,
    };

    #[test]
    fn a_row_reads_back_as_written() {
        let line = ROW.to_string();
        assert_eq!(Row::parse(&line), Ok(ROW));
        assert!(line.contains("61.250\t61.400\t0.007\t-0.050\t60.001\t61.250,"));
        let faulty = Row {
            fault: Some(7),
            mem: "to-user",
            irqs_on: true,
            ..ROW
        }
        .to_string();
        assert_eq!(Row::parse(&faulty).unwrap().fault, Some(7));
        let counted = Row {
            counts: Some([12_345, 6_000]),
            ..ROW
        };
        assert_eq!(Row::parse(&counted.to_string()), Ok(counted));
        assert!(counted.to_string().ends_with("\t12.345\t6.000"));
        let samples: Vec<_> = ROW.samples().map(Result::unwrap).collect();
        assert_eq!(samples, [61_250, 61_400, 900_000]);
        assert_eq!(Samples(&samples).to_string(), ROW.samples);
        assert_eq!(line.split('\t').count(), COLUMNS.split('\t').count());
    }

    #[test]
    fn bad_rows() {
        let line = ROW.to_string();
        assert_eq!(Row::parse(&line[..line.len() - 1]), Err(BadLine));
        assert_eq!(Row::parse(&format!("{line}\t1")), Err(BadLine));
        assert_eq!(Row::parse(&format!("{line},1.000")), Err(BadLine));
        assert_eq!(Row::parse(&line.replace("off", "no")), Err(BadLine));
        assert_eq!(Row::parse(&line.replace("61.250", "61,250")), Err(BadLine));
        assert_eq!(Row::parse(""), Err(BadLine));
    }

    #[test]
    fn headers() {
        assert_eq!(header("# cpu: A: B"), Some(("cpu", "A: B")));
        assert_eq!(header("cpu: A"), None);
    }
}

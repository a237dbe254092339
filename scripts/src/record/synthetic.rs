// SPDX-License-Identifier: GPL-2.0-only

//! Records made up for the tests: times that are known, with noise that comes again.

use repmov_core::record::{End, Row, Samples, COLUMNS, VERSION};
use repmov_core::stats::Summary;
use std::rc::Rc;

use crate::record::parse::File;

type Model = Rc<dyn Fn(&Row<'_>) -> f64>;

/// A record to be: places, and the nanoseconds of each candidate there.
#[derive(Clone)]
pub struct Synthetic {
    pub experiment: &'static str,
    pub masks: Vec<&'static str>,
    pub lengths: Vec<u64>,
    pub src: Vec<u64>,
    pub dst: Vec<u64>,
    pub caches: Vec<&'static str>,
    pub rounds: u64,
    /// Standard deviation of a sample, as a part of its time.
    pub noise: f64,
    pub model: &'static str,
    /// The core's clock.
    pub mhz: u64,
    candidates: Vec<(&'static str, Model)>,
    seed: u64,
}

/// What an ordinary copy costs.
fn plain(len: u64) -> f64 {
    5.0 + len as f64 / 12.0
}

impl Synthetic {
    /// `orig` and its twin at some lengths under one mask, on a machine called A.
    pub fn lengths(lengths: &[u64]) -> Synthetic {
        let model: Model = Rc::new(|row| plain(row.len));
        Synthetic {
            experiment: "lengths",
            masks: vec!["e1f0"],
            lengths: lengths.to_vec(),
            src: vec![0],
            dst: vec![0],
            caches: vec!["hot"],
            rounds: 31,
            noise: 0.002,
            model: "A",
            mhz: 2000,
            candidates: vec![("orig", model.clone()), ("aa", model)],
            seed: 1,
        }
    }

    /// One more candidate, by what it makes of the time of `orig`.
    pub fn candidate(self, name: &'static str, of: impl Fn(f64) -> f64 + 'static) -> Synthetic {
        let base = self.candidates[0].1.clone();
        self.model(name, move |row| of(base(row)))
    }

    /// A candidate by its nanoseconds; one of that name is replaced.
    pub fn model(
        mut self,
        name: &'static str,
        of: impl Fn(&Row<'_>) -> f64 + 'static,
    ) -> Synthetic {
        self.candidates.retain(|(other, _)| *other != name);
        self.candidates.push((name, Rc::new(of)));
        self
    }

    /// `orig` by its nanoseconds, and its twin with it.
    pub fn base(mut self, of: impl Fn(&Row<'_>) -> f64 + 'static) -> Synthetic {
        let model: Model = Rc::new(of);
        self.candidates = vec![("orig", model.clone()), ("aa", model)];
        self
    }

    /// Has the twin differ.
    pub fn twin(self, of: impl Fn(f64) -> f64 + 'static) -> Synthetic {
        self.candidate("aa", of)
    }

    /// Has the twin differ at one length.
    pub fn twin_at(self, len: u64, of: impl Fn(f64) -> f64 + 'static) -> Synthetic {
        let base = self.candidates[0].1.clone();
        self.model("aa", move |row| match row.len == len {
            true => of(base(row)),
            false => base(row),
        })
    }

    /// Has a core of that clock.
    pub fn mhz(mut self, mhz: u64) -> Synthetic {
        self.mhz = mhz;
        self
    }

    /// Has other noise.
    pub fn seed(mut self, seed: u64) -> Synthetic {
        self.seed = seed;
        self
    }

    pub fn file(&self) -> File {
        let name = format!("{}.tsv", self.experiment);
        let text = self.text();
        File { name, text }
    }

    pub fn text(&self) -> String {
        let mut text = format!("{VERSION}\n");
        let list = |values: &[u64]| {
            let words: Vec<_> = values.iter().map(u64::to_string).collect();
            words.join(",")
        };
        for (key, value) in [
            ("kernel", "7.3.4".into()),
            ("arch", "x86_64".into()),
            ("cpu model", self.model.into()),
            ("microcode", "0x1".into()),
            ("emulated", "no".into()),
            ("clock", "tsc, 2000000 kHz, moves by 500 ps".into()),
            ("core clock", format!("{} MHz, deviating by 2", self.mhz)),
            ("aa", "aa is orig, assembled a second time".into()),
            (
                "plan",
                format!(
                    "routine=memcpy candidate=all mask={} entry=0 len={} src={} dst={} mem=kernel \
                 cache={} fault=none draw=each rounds={} cpu=1 buffers=8388608",
                    self.masks.join(","),
                    list(&self.lengths),
                    list(&self.src),
                    list(&self.dst),
                    self.caches.join(","),
                    self.rounds
                ),
            ),
            (
                "empty call",
                "hot: min 2.100 ns, median 2.110 ns, of 9000 calls per window".to_string(),
            ),
            ("lab", "host".into()),
            ("experiment", self.experiment.into()),
        ] {
            text += &format!("# {key}: {value}\n");
        }
        text += &format!("{COLUMNS}\n");
        let rows = self.rows();
        text += &rows.concat();
        text += &format!("{}\n", End(rows.len() as u64));
        text
    }

    fn rows(&self) -> Vec<String> {
        let mut noise = Noise(self.seed);
        let mut rows = Vec::new();
        for &mask in &self.masks {
            for &cache in &self.caches {
                for &len in &self.lengths {
                    for &src in &self.src {
                        for &dst in &self.dst {
                            for (candidate, of) in &self.candidates {
                                let row = Row {
                                    candidate,
                                    mask,
                                    len,
                                    src,
                                    dst,
                                    cache,
                                    rounds: self.rounds,
                                    ..EMPTY
                                };
                                rows.push(self.row(row, of(&row), &mut noise));
                            }
                        }
                    }
                }
            }
        }
        rows
    }

    fn row(&self, row: Row<'_>, ns: f64, noise: &mut Noise) -> String {
        let sample = |noise: &mut Noise| (1000.0 * ns * (1.0 + self.noise * noise.next())) as i64;
        let mut samples: Vec<_> = (0..self.rounds).map(|_| sample(noise)).collect();
        let text = Samples(&samples).to_string();
        let summary = Summary::of(&mut samples).unwrap();
        let row = Row {
            samples: &text,
            min: summary.min,
            median: summary.median,
            mad: summary.mad,
            net_min: summary.min - 2_100,
            net_median: summary.median - 2_110,
            ..row
        };
        format!("{row}\n")
    }
}

const EMPTY: Row<'_> = Row {
    routine: "memcpy",
    candidate: "",
    mask: "",
    entry: 0,
    len: 0,
    src: 0,
    dst: 0,
    mem: "kernel",
    cache: "hot",
    fault: None,
    draw: "each",
    irqs_on: false,
    calls: 64,
    rounds: 0,
    min: 0,
    median: 0,
    mad: 0,
    net_min: 0,
    net_median: 0,
    samples: "",
    counts: None,
};

/// Numbers that are spread about nought as errors are, by about one.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f64 {
        // The sum of twelve even ones, of which each has a variance of a twelfth.
        let even = |state: &mut u64| {
            *state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (*state >> 11) as f64 / (1_u64 << 53) as f64
        };
        (0..12).map(|_| even(&mut self.0)).sum::<f64>() - 6.0
    }
}

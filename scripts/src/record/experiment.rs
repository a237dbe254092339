// SPDX-License-Identifier: GPL-2.0-only

//! Experiments: files of plans, with a paragraph on what they answer.

use anyhow::{bail, ensure, Context, Result};
use repmov_core::plan::{Known, Plan};
use std::fs;
use std::path::{Path, PathBuf};

/// Boots that one command may ask for.
pub const MOST_BOOTS: u32 = 100;

#[derive(Debug)]
pub struct Experiment {
    pub name: String,
    /// What it answers.
    pub about: String,
    /// Each as the words that the `plan` file takes.
    pub plans: Vec<String>,
    /// How often the kernel is to be booted.
    pub boots: u32,
}

/// Whatever is asked for: what was built, only the kernel knows.
struct Anything;

impl Known for Anything {
    fn routine(&self, _: &str) -> bool {
        true
    }
    fn candidate(&self, _: &str, _: &str) -> bool {
        true
    }
    fn is_base(&self, _: &str, _: &str) -> bool {
        true
    }
    fn entry(&self, _: &str, _: u64) -> bool {
        true
    }
    fn candidates(&self, _: &str) -> u64 {
        1
    }
    fn cpu(&self, _: u64) -> bool {
        true
    }
    fn user(&self) -> bool {
        true
    }
}

impl Experiment {
    /// What is run if nothing is asked for: every routine at the lengths people ask about first.
    pub fn default_set() -> Experiment {
        Self::routines(
            "default",
            "all",
            "Every routine under every mask, at the lengths that people ask about first.",
        )
    }

    /// The same as this CPU would run them.
    pub fn native() -> Experiment {
        let about = "Every routine as this CPU would have it, at the lengths that people ask \
                     about first.";
        Self::routines("native", "native", about)
    }

    fn routines(name: &str, mask: &str, about: &str) -> Experiment {
        let routines = [
            "memcpy",
            "rep_movs_alternative",
            "copy_user_enhanced_fast_string",
        ];
        let plan = |routine| format!("routine={routine} mask={mask}");
        Experiment {
            name: name.into(),
            about: about.into(),
            plans: routines.map(plan).to_vec(),
            boots: 1,
        }
    }

    /// The plans, one a line, as the guest's init takes them.
    pub fn lines(&self) -> String {
        self.plans.join("\n") + "\n"
    }

    /// All that come with the project.
    pub fn all(checkout: &Path) -> Result<Vec<Experiment>> {
        let names = names(&checkout.join("scripts/plans"))?;
        names
            .iter()
            .map(|name| Self::find(checkout, name))
            .collect()
    }

    /// The experiment of that name, or of a file of one's own.
    pub fn find(checkout: &Path, name: &str) -> Result<Experiment> {
        let own = Path::new(name);
        let folder = checkout.join("scripts/plans");
        let path = match name.contains(['/', '.']) {
            true => own.to_path_buf(),
            false => folder.join(format!("{name}.plan")),
        };
        if !path.exists() {
            bail!(
                "no plan {}: there are {} (or all); or name a file",
                path.display(),
                names(&folder)?.join(" ")
            );
        }
        let text =
            fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        Self::parse(&path, &text)
    }

    /// Reads a file: the paragraph behind `#`, an optional line `boots=N`, and a plan a line.
    fn parse(path: &Path, text: &str) -> Result<Experiment> {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let mut experiment = Experiment {
            name: stem.into_owned(),
            about: String::new(),
            plans: Vec::new(),
            boots: 1,
        };
        let mut about = Vec::new();
        for (i, line) in text.lines().enumerate() {
            let at = || format!("{}:{}", path.display(), i + 1);
            let line = line.trim();
            if let Some(words) = line.strip_prefix('#') {
                let words = words.trim();
                if !words.starts_with("SPDX") {
                    about.push(words);
                }
            } else if let Some(count) = line.strip_prefix("boots=") {
                experiment.boots = boots(count).with_context(at)?;
            } else if !line.is_empty() {
                experiment.plans.push(plan(path, line).with_context(at)?);
            }
        }
        ensure!(
            !experiment.plans.is_empty(),
            "{} holds no plan",
            path.display()
        );
        experiment.about = about.join(" ").trim().to_string();
        Ok(experiment)
    }
}

/// How often to boot.
pub fn boots(count: &str) -> Result<u32> {
    match count.parse() {
        Ok(count) if (1..=MOST_BOOTS).contains(&count) => Ok(count),
        _ => bail!("boots: 1 to {MOST_BOOTS}, not {count}"),
    }
}

/// The names of the experiments in a folder.
fn names(folder: &Path) -> Result<Vec<String>> {
    let entries = fs::read_dir(folder).with_context(|| format!("no {}", folder.display()))?;
    let stem = |path: PathBuf| match path.extension()? == "plan" {
        true => Some(path.file_stem()?.to_string_lossy().into_owned()),
        false => None,
    };
    let mut names: Vec<_> = entries.flatten().filter_map(|e| stem(e.path())).collect();
    names.sort();
    Ok(names)
}

/// A plan as the kernel takes it: a table of lengths is put in its place. Refused here, with the
/// line, if it is no plan at all.
fn plan(path: &Path, line: &str) -> Result<String> {
    let mut words = Vec::new();
    for word in line.split_whitespace() {
        words.push(match word.strip_prefix("lengths=") {
            Some(file) => lengths(&path.with_file_name(file))?,
            None => word.to_string(),
        });
    }
    let words = words.join(" ");
    let mut plan = Plan::EMPTY;
    if let Err(refusal) = plan.read(&words, &Anything) {
        bail!("plan: {refusal}");
    }
    Ok(words)
}

/// The words `len=` and `weight=` for a table: on each line a length or a range, and how often it
/// comes.
fn lengths(path: &Path) -> Result<String> {
    let text =
        fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let (mut lengths, mut weights) = (Vec::new(), Vec::new());
    for (i, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default();
        match line.split_whitespace().collect::<Vec<_>>()[..] {
            [] => {}
            [length, weight] => {
                lengths.push(length.to_string());
                weights.push(weight.to_string());
            }
            _ => bail!("{}:{}: a length and a weight", path.display(), i + 1),
        }
    }
    ensure!(!lengths.is_empty(), "{} holds no lengths", path.display());
    Ok(format!(
        "len={} weight={}",
        lengths.join(","),
        weights.join(",")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Experiment> {
        Experiment::parse(Path::new("/plans/x.plan"), text)
    }

    #[test]
    fn what_comes_with_the_project() {
        let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let names = names(&checkout.join("scripts/plans")).unwrap();
        assert!(names.len() >= 9, "{names:?}");
        for name in names {
            let experiment = Experiment::find(checkout, &name).unwrap();
            assert!(experiment.about.len() > 80, "{name}: {}", experiment.about);
        }
        assert!(Experiment::default_set().plans.len() == 3);
    }

    #[test]
    fn an_experiment() {
        let text = "# What\n# for.\nboots=5\n\nlen=8\nlen=16 mask=e0f0\n";
        let experiment = parse(text).unwrap();
        assert_eq!(experiment.about, "What for.");
        assert_eq!((experiment.boots, experiment.plans.len()), (5, 2));
        assert_eq!(experiment.name, "x");
    }

    #[test]
    fn what_is_no_experiment() {
        for (text, words) in [
            ("# nothing\n", "holds no plan"),
            ("len=8\nlen=x\n", "/plans/x.plan:2: plan: len: not a number"),
            ("boots=0\nlen=8\n", "x.plan:1: boots: 1 to 100, not 0"),
            ("boots=many\n", "boots: 1 to 100, not many"),
            (
                "len=8 lengths=none draw=random\n",
                "cannot read /plans/none",
            ),
            ("mem=user\n", "memcpy has no fix-ups"),
        ] {
            let error = format!("{:#}", parse(text).unwrap_err());
            assert!(error.contains(words), "{text}: {error}");
        }
        let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let error = Experiment::find(checkout, "nonsense")
            .unwrap_err()
            .to_string();
        assert!(error.contains("there are aa alias"), "{error}");
    }
}

// SPDX-License-Identifier: GPL-2.0-only

//! What is to be timed of candidates that the user gives: they beside what they are to replace.

use anyhow::{ensure, Result};

use crate::record::experiment::Experiment;
use crate::verify::candidate::Candidates;

impl Candidates {
    /// At the lengths that people ask about first.
    pub fn experiment(&self) -> Experiment {
        let plan = |routine: &&str| {
            let own = if self.own_base { "base," } else { "" };
            let base = match *routine {
                "copy_user_enhanced_fast_string" => "plain",
                _ => "orig",
            };
            format!("routine={routine} candidate={base},{own}{}", self.name)
        };
        let routines: Vec<_> = self.all.iter().map(|one| one.routine.name).collect();
        Experiment {
            name: self.name.into(),
            about: self.title.clone(),
            plans: routines.iter().map(plan).collect(),
            boots: 1,
        }
    }

    /// Puts them into an experiment, which is left with the plans of their routines.
    ///
    /// # Errors
    ///
    /// If there is no such plan.
    pub fn join(&self, mut experiment: Experiment) -> Result<Experiment> {
        let plans = experiment.plans.iter().filter_map(|plan| self.joined(plan));
        let plans: Vec<_> = plans.collect();
        let routines: Vec<_> = self.all.iter().map(|one| one.routine.name).collect();
        ensure!(
            !plans.is_empty(),
            "{} has no plan of {}",
            experiment.name,
            routines.join(" or ")
        );
        experiment.plans = plans;
        experiment.about = format!("{} With {}", experiment.about, self.title);
        Ok(experiment)
    }

    /// A plan with them among its candidates; None if it is of another routine.
    fn joined(&self, plan: &str) -> Option<String> {
        let value = |word: &str, key: &str| word.strip_prefix(key).map(str::to_string);
        let mut words: Vec<String> = plan.split_whitespace().map(str::to_string).collect();
        let routine = words.iter().find_map(|word| value(word, "routine="));
        let routine = routine.unwrap_or("memcpy".into());
        self.all.iter().find(|one| one.routine.name == routine)?;
        for word in &mut words {
            if word.starts_with("candidate=") && word != "candidate=all" {
                *word += &format!(",{}", self.name);
            }
        }
        Some(words.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::patch::apply::Source;
    use crate::patch::routine::Routine;
    use crate::verify::candidate::Candidate;

    fn candidates() -> Candidates {
        Candidates {
            name: "patch",
            title: "a.patch".into(),
            own_base: false,
            folder: "/sources".into(),
            all: vec![Candidate {
                routine: Routine::named("memcpy").unwrap(),
                source: Source::default(),
                path: "/sources/memcpy/patch.S".into(),
                base: None,
            }],
            notes: Vec::new(),
        }
    }

    fn experiment(plans: &[&str]) -> Experiment {
        Experiment {
            name: "x".into(),
            about: "Why.".into(),
            plans: plans.iter().map(|plan| plan.to_string()).collect(),
            boots: 1,
        }
    }

    #[test]
    fn by_themselves_they_are_beside_the_kernels_own() {
        let plans = candidates().experiment().plans;
        assert_eq!(plans, ["routine=memcpy candidate=orig,patch"]);
    }

    #[test]
    fn in_a_plan_they_join_its_candidates() {
        let plans = [
            "candidate=orig mask=e1f0",
            "routine=rep_movs_alternative",
            "len=8",
        ];
        let joined = candidates().join(experiment(&plans)).unwrap();
        assert_eq!(joined.plans, ["candidate=orig,patch mask=e1f0", "len=8"]);
        assert_eq!(joined.about, "Why. With a.patch");
        let error = candidates().join(experiment(&plans[1..2])).unwrap_err();
        assert_eq!(error.to_string(), "x has no plan of memcpy");
    }
}

// SPDX-License-Identifier: GPL-2.0-only

//! The candidates that mutants are made of: all that the module has.

use anyhow::{Context, Result};
use std::fs;
use std::path::Path;

use super::mutant::Origin;
use crate::lab::cache::Cache;
use crate::lab::kbuild;
use crate::lab::Lab;
use crate::patch::routine::{Routine, ROUTINES};

/// All of them. The module must have been built, since that applies the patches.
pub fn origins(cache: &Cache, lab: &Lab, checkout: &Path) -> Result<Vec<Origin>> {
    let read = |path: &Path| {
        fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
    };
    let mut all = Vec::new();
    for routine in &ROUTINES {
        let kernels = match routine.old {
            true => None,
            false => Some(read(&lab.source.join(routine.file))?),
        };
        if let Some(text) = &kernels {
            all.push(origin(routine, "orig", text.clone(), None));
        }
        for (name, is_patch) in names(&checkout.join("asm").join(routine.name))? {
            let folder = match is_patch {
                true => kbuild::out(cache).join("asm/gen"),
                false => checkout.join("asm"),
            };
            let text = read(&folder.join(routine.name).join(format!("{name}.S")))?;
            let base = kernels.clone().filter(|_| is_patch);
            all.push(origin(routine, &name, text, base));
        }
    }
    Ok(all)
}

fn origin(routine: &'static Routine, name: &str, text: String, base: Option<String>) -> Origin {
    Origin {
        routine,
        candidate: name.into(),
        text,
        base,
    }
}

/// The candidates in a folder, and whether each is a patch, by name.
fn names(folder: &Path) -> Result<Vec<(String, bool)>> {
    let entries = fs::read_dir(folder).with_context(|| format!("no {}", folder.display()))?;
    let mut names = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let Some(end) = path.extension() else {
            continue;
        };
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        match end.to_str() {
            Some("patch") => names.push((name.into_owned(), true)),
            Some("S") => names.push((name.into_owned(), false)),
            _ => {}
        }
    }
    names.sort();
    Ok(names)
}

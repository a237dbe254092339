// SPDX-License-Identifier: GPL-2.0-only

//! The routines, and where the kernel's tree has them.

use anyhow::{bail, Result};

/// A routine as the module knows it.
#[derive(Debug, PartialEq)]
pub struct Routine {
    pub name: &'static str,
    /// The symbol that is its entry.
    pub entry: &'static str,
    /// Its file in the kernel's tree; of old trees alone if `old`.
    pub file: &'static str,
    pub old: bool,
    /// Whether its faults are mended.
    pub user: bool,
}

pub const ROUTINES: [Routine; 3] = [
    Routine {
        name: "memcpy",
        entry: "__memcpy",
        file: "arch/x86/lib/memcpy_64.S",
        old: false,
        user: false,
    },
    Routine {
        name: "rep_movs_alternative",
        entry: "rep_movs_alternative",
        file: "arch/x86/lib/copy_user_64.S",
        old: false,
        user: true,
    },
    Routine {
        name: "copy_user_enhanced_fast_string",
        entry: "copy_user_enhanced_fast_string",
        file: "arch/x86/lib/copy_user_64.S",
        old: true,
        user: true,
    },
];

impl Routine {
    /// The one of that name.
    pub fn named(name: &str) -> Result<&'static Routine> {
        if let Some(routine) = ROUTINES.iter().find(|routine| routine.name == name) {
            return Ok(routine);
        }
        let names: Vec<_> = ROUTINES.iter().map(|routine| routine.name).collect();
        bail!(
            "ROUTINE={name}: there is none; there are {}",
            names.join(", ")
        )
    }

    /// The one that a diff's path is of: in the tree, below a tree, or the file alone. The copies
    /// in tools/ are others.
    pub fn of(path: &str) -> Option<&'static Routine> {
        ROUTINES
            .iter()
            .filter(|routine| !routine.old)
            .find(|routine| {
                let file = routine.file;
                let above = path.strip_suffix(file);
                let below = above.is_some_and(|above| {
                    above.is_empty() || (above.ends_with('/') && !above.ends_with("tools/"))
                });
                below || path == routine.base()
            })
    }

    /// The name of its file alone.
    pub fn base(&self) -> &'static str {
        self.file.rsplit('/').next().unwrap_or(self.file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_known_wherever_the_tree_is() {
        let name = |path| Routine::of(path).map(|routine| routine.name);
        assert_eq!(name("arch/x86/lib/memcpy_64.S"), Some("memcpy"));
        assert_eq!(name("linux-7.3/arch/x86/lib/memcpy_64.S"), Some("memcpy"));
        assert_eq!(name("copy_user_64.S"), Some("rep_movs_alternative"));
        assert_eq!(name("tools/arch/x86/lib/memcpy_64.S"), None);
        assert_eq!(name("arch/x86/lib/memmove_64.S"), None);
        assert!(Routine::named("memmove").is_err());
    }
}

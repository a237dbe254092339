// SPDX-License-Identifier: GPL-2.0-only

//! The ITS mitigation, as boots ask for it and kernels report it.

/// Has the kernel apply the mitigation on every CPU.
pub const ITS: &str = "indirect_target_selection=force";

/// What the kernel says of a CPU with the mitigation in force.
pub const ALIGNED: &str = "Mitigation: Aligned branch/return thunks";

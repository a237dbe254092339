/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For a candidate that is assembled by itself (Kbuild): what instance.h offers
 * to sources, without effect.
 */
#ifdef __ASSEMBLER__
.macro repmov_may_clobber registers:vararg
.endm
#endif

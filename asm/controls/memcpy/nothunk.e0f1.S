/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * erms2048 without the alignment of its replacement, whose storage is put
 * where that matters: the loader finds the return in the upper half of a line
 * and makes it a bare RET, the alternative then copies it into the lower half
 * of the routine's first line. Returns: the thunk is missing there.
 */
	.pushsection .altinstr_replacement, "ax"
	.balign 64
	.skip 40
	.popsection
#undef CONFIG_MITIGATION_ITS
#include "asm/gen/memcpy/erms2048.S"

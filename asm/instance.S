/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One instance: the candidate's source as instance.h makes it, and what the
 * table says of it (struct repmov_extent): its size and its sites, which
 * instance.h appends as it meets them.
 */
#include "instance.h"

	.pushsection .rodata.repmov_extent, "a"
	.balign 4
SYM_INNER_LABEL(__PASTE(REPMOV_SYMBOL, __extent), SYM_L_GLOBAL)
	.long .Lrepmov_end - REPMOV_SYMBOL
	.long (.Lrepmov_sites_end - .Lrepmov_sites) / 8
.Lrepmov_sites:
	.popsection

	.text
#include REPMOV_SOURCE
.Lrepmov_end:

	.pushsection .rodata.repmov_extent, "a"
.Lrepmov_sites_end:
	.popsection

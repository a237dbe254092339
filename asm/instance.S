/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One instance: the candidate's source as instance.h makes it, behind the site
 * that calls it if it needs one, and what the table says of it (struct
 * repmov_extent). The sites are behind that, in a subsection of their own, as
 * instance.h meets them.
 */
#include "instance.h"

	.text
	.globl REPMOV_ENTRY_SYMBOL
	repmov_may_clobber REPMOV_CLOBBERS
#include "site.h"

#include REPMOV_SOURCE
.Lrepmov_end:

	.pushsection .rodata.repmov_extent, 0, "a"
	.balign 4
SYM_INNER_LABEL(__PASTE(REPMOV_SYMBOL, __extent), SYM_L_GLOBAL)
	.long .Lrepmov_end - REPMOV_SYMBOL
	.long REPMOV_ENTRY_SYMBOL - REPMOV_SYMBOL
	.long .Lrepmov_clobbers
	.long (.Lrepmov_sites_end - .Lrepmov_sites) / 8
.Lrepmov_sites:
	.popsection
	.pushsection .rodata.repmov_extent, 1, "a"
.Lrepmov_sites_end:
	.popsection

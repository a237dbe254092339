/* SPDX-License-Identifier: GPL-2.0-only */
/* The table of instances; Kbuild writes its list, one INSTANCE line each. */
#include <linux/linkage.h>

.macro INSTANCE symbol, routine, candidate, mask, entry, kind
	.pushsection .rodata.repmov_names, "aMS", @progbits, 1
770:	.asciz "\routine"
771:	.asciz "\candidate"
772:	.asciz "\mask"
	.popsection
	.quad \symbol, \symbol\()__extent
	.quad 770b, 771b, 772b
	.long \entry, \kind
.endm

	.section .rodata.repmov_table, "a"
	.balign 8
SYM_DATA_START(repmov_instances)
#include REPMOV_LIST
SYM_DATA_END(repmov_instances)
SYM_INNER_LABEL(repmov_instances_end, SYM_L_GLOBAL)

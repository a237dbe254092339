/* SPDX-License-Identifier: GPL-2.0-only */
/* Uses r8, which its callers do not expect. ABI: a register that must survive. */
SYM_FUNC_START(rep_movs_alternative)
	ANNOTATE_NOENDBR
	movq %rcx, %r8
10:	rep movsb
11:	RET
	_ASM_EXTABLE_UA(10b, 11b)
SYM_FUNC_END(rep_movs_alternative)

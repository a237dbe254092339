/* SPDX-License-Identifier: GPL-2.0-only */
/* Says after a fault that one byte less is left than is. Faults: unreachable. */
SYM_FUNC_START(rep_movs_alternative)
	ANNOTATE_NOENDBR
10:	rep movsb
	RET
11:	cmpq $2, %rcx
	cmc
	sbbq $0, %rcx
	RET
	_ASM_EXTABLE_UA(10b, 11b)
SYM_FUNC_END(rep_movs_alternative)

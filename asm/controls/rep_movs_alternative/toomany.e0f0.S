/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Says after a fault that one byte more is left than is, unless that is all.
 * Faults: touched behind.
 */
SYM_FUNC_START(rep_movs_alternative)
	ANNOTATE_NOENDBR
	movq %rcx, %rax
10:	rep movsb
	RET
11:	cmpq %rax, %rcx
	adcq $0, %rcx
	RET
	_ASM_EXTABLE_UA(10b, 11b)
SYM_FUNC_END(rep_movs_alternative)

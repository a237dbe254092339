/* SPDX-License-Identifier: GPL-2.0-only */
/* Copies no more than 2048 bytes, and says so. User memory: not all of it. */
SYM_FUNC_START(rep_movs_alternative)
	ANNOTATE_NOENDBR
	movq %rcx, %rax
	cmpq $2048, %rcx
	jbe .Lall
	movl $2048, %ecx
.Lall:
	subq %rcx, %rax
10:	rep movsb
11:	addq %rax, %rcx
	RET
	_ASM_EXTABLE_UA(10b, 11b)
SYM_FUNC_END(rep_movs_alternative)

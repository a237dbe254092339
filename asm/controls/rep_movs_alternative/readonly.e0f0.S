/* SPDX-License-Identifier: GPL-2.0-only */
/* Takes a destination for written that can be read. User memory: complete. */
SYM_FUNC_START(rep_movs_alternative)
	ANNOTATE_NOENDBR
10:	rep movsb
	RET
11:	movb (%rsi), %al
12:	movb (%rdi), %al
	xorl %ecx, %ecx
13:	RET
	_ASM_EXTABLE_UA(10b, 11b)
	_ASM_EXTABLE_UA(11b, 13b)
	_ASM_EXTABLE_UA(12b, 13b)
SYM_FUNC_END(rep_movs_alternative)

/* SPDX-License-Identifier: GPL-2.0-only */
/* Its load has a fix-up, its store has none. Exception table: no entry. */
SYM_FUNC_START(rep_movs_alternative)
	ANNOTATE_NOENDBR
	testq %rcx, %rcx
	jz .Ldone
.Lbytes:
10:	movb (%rsi), %al
	movb %al, (%rdi)
	incq %rsi
	incq %rdi
	decq %rcx
	jnz .Lbytes
.Ldone:
	RET
	_ASM_EXTABLE_UA(10b, .Ldone)
SYM_FUNC_END(rep_movs_alternative)

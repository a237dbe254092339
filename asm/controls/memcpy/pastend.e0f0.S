/* SPDX-License-Identifier: GPL-2.0-only */
/* Clears the byte behind 33 copied ones. Copies: touched outside. */
SYM_TYPED_FUNC_START(__memcpy)
	movq %rdi, %rax
	movq %rdx, %rcx
	rep movsb
	cmpq $33, %rdx
	jne .Ldone
	movb $0, (%rdi)
.Ldone:
	RET
SYM_FUNC_END(__memcpy)

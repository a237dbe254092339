/* SPDX-License-Identifier: GPL-2.0-only */
/* Clears the byte before the destination if it is odd. Copies: touched outside. */
SYM_TYPED_FUNC_START(__memcpy)
	movq %rdi, %rax
	movq %rdx, %rcx
	rep movsb
	testb $1, %al
	jz .Ldone
	movb $0, -1(%rax)
.Ldone:
	RET
SYM_FUNC_END(__memcpy)

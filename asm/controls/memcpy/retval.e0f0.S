/* SPDX-License-Identifier: GPL-2.0-only */
/* Returns the end of the destination, as mempcpy() would. Copies: return value. */
SYM_TYPED_FUNC_START(__memcpy)
	movq %rdx, %rcx
	rep movsb
	movq %rdi, %rax
	RET
SYM_FUNC_END(__memcpy)

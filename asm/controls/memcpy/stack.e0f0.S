/* SPDX-License-Identifier: GPL-2.0-only */
/* Takes eight bytes off its caller's stack. ABI: RSP. */
#include <asm/unwind_hints.h>

SYM_TYPED_FUNC_START(__memcpy)
	movq %rdi, %rax
	movq %rdx, %rcx
	rep movsb
	popq %rcx
	movq %rcx, (%rsp)
	UNWIND_HINT_FUNC
	RET
SYM_FUNC_END(__memcpy)

/* SPDX-License-Identifier: GPL-2.0-only */
/* Leaves the direction flag set. ABI: DF. */
#include <asm/processor-flags.h>

SYM_TYPED_FUNC_START(__memcpy)
	movq %rdi, %rax
	movq %rdx, %rcx
	rep movsb
	pushfq
	orq $X86_EFLAGS_DF, (%rsp)
	popfq
	RET
SYM_FUNC_END(__memcpy)

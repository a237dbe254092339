/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Leaves user access allowed, in a way that objtool does not follow. ABI: AC.
 */
#include <asm/processor-flags.h>

SYM_FUNC_START(copy_user_enhanced_fast_string)
	ANNOTATE_NOENDBR
	movl %edx, %ecx
	rep movsb
	xorl %eax, %eax
	pushfq
	orq $X86_EFLAGS_AC, (%rsp)
	popfq
	RET
SYM_FUNC_END(copy_user_enhanced_fast_string)

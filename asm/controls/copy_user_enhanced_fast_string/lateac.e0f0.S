/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Leaves user access allowed, but only after a fault, and in a way that objtool
 * does not follow. Faults: AC.
 */
#include <asm/processor-flags.h>

SYM_FUNC_START(copy_user_enhanced_fast_string)
	ANNOTATE_NOENDBR
	ASM_STAC
	movl %edx, %ecx
10:	rep movsb
	xorl %eax, %eax
	ASM_CLAC
	RET
11:	movl %ecx, %eax
	ASM_CLAC
	pushfq
	orq $X86_EFLAGS_AC, (%rsp)
	popfq
	RET
	_ASM_EXTABLE_UA(10b, 11b)
SYM_FUNC_END(copy_user_enhanced_fast_string)

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The copy of 4.4 for CPUs with ERMS, before it knew short strings: REP MOVSB
 * for every length. What a fault leaves over is tried again bytewise, as
 * copy_user_handle_tail() did it there.
 */
#include <linux/linkage.h>
#include <asm/alternative.h>
#include <asm/asm.h>
#include <asm/smap.h>

SYM_FUNC_START(copy_user_enhanced_fast_string)
	ANNOTATE_NOENDBR
	ASM_STAC
	movl %edx, %ecx
10:	rep movsb
	xorl %eax, %eax
	ASM_CLAC
	RET

.Lbytes:
20:	movb (%rsi), %al
21:	movb %al, (%rdi)
	incq %rsi
	incq %rdi
	decl %ecx
	jnz .Lbytes
.Lleft:
	movl %ecx, %eax
	ASM_CLAC
	RET
	_ASM_EXTABLE_UA(10b, .Lbytes)
	_ASM_EXTABLE_UA(20b, .Lleft)
	_ASM_EXTABLE_UA(21b, .Lleft)
SYM_FUNC_END(copy_user_enhanced_fast_string)

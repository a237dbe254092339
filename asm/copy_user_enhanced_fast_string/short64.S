/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The same after it: below 64 bytes a loop of words and one of bytes spare the
 * cost of starting REP MOVSB.
 */
#include <linux/linkage.h>
#include <asm/alternative.h>
#include <asm/asm.h>
#include <asm/smap.h>

SYM_FUNC_START(copy_user_enhanced_fast_string)
	ANNOTATE_NOENDBR
	ASM_STAC
	cmpl $64, %edx
	jb .Lshort
	movl %edx, %ecx
10:	rep movsb
	xorl %eax, %eax
	ASM_CLAC
	RET

.Lshort:
	movl %edx, %ecx
	andl $7, %edx
	shrl $3, %ecx
	jz .Ltail
.Lwords:
30:	movq (%rsi), %r8
31:	movq %r8, (%rdi)
	addq $8, %rsi
	addq $8, %rdi
	decl %ecx
	jnz .Lwords
.Ltail:
	movl %edx, %ecx
	testl %ecx, %ecx
	jz .Lleft

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

	/* Words that are left over, and the bytes behind them. */
.Lwordfault:
	leal (%rdx, %rcx, 8), %ecx
	jmp .Lbytes
	_ASM_EXTABLE_UA(10b, .Lbytes)
	_ASM_EXTABLE_UA(20b, .Lleft)
	_ASM_EXTABLE_UA(21b, .Lleft)
	_ASM_EXTABLE_UA(30b, .Lwordfault)
	_ASM_EXTABLE_UA(31b, .Lwordfault)
SYM_FUNC_END(copy_user_enhanced_fast_string)

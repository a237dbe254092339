/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The copy before that: from 64 bytes REP MOVSB with ERMS, a loop of eight
 * moves through r8 to r11 without it. The loads of a half come before its
 * stores, so a fault anywhere in it goes on bytewise at its start.
 */
#include <linux/linkage.h>
#include <asm/alternative.h>
#include <asm/asm.h>

	repmov_may_clobber REPMOV_CLOBBERS | REPMOV_R8_R11

.macro half offset
100:	movq \offset(%rsi), %r8
101:	movq \offset + 8(%rsi), %r9
102:	movq \offset + 16(%rsi), %r10
103:	movq \offset + 24(%rsi), %r11
104:	movq %r8, \offset(%rdi)
105:	movq %r9, \offset + 8(%rdi)
106:	movq %r10, \offset + 16(%rdi)
107:	movq %r11, \offset + 24(%rdi)
	_ASM_EXTABLE_UA(100b, .Lbytes)
	_ASM_EXTABLE_UA(101b, .Lbytes)
	_ASM_EXTABLE_UA(102b, .Lbytes)
	_ASM_EXTABLE_UA(103b, .Lbytes)
	_ASM_EXTABLE_UA(104b, .Lbytes)
	_ASM_EXTABLE_UA(105b, .Lbytes)
	_ASM_EXTABLE_UA(106b, .Lbytes)
	_ASM_EXTABLE_UA(107b, .Lbytes)
.endm

SYM_FUNC_START(rep_movs_alternative)
	ANNOTATE_NOENDBR
	cmpq $64, %rcx
	jae .Llarge
	cmpl $8, %ecx
	jae .Lwords
	testl %ecx, %ecx
	jz .Ldone

.Lbytes:
10:	movb (%rsi), %al
11:	movb %al, (%rdi)
	incq %rsi
	incq %rdi
	decq %rcx
	jnz .Lbytes
.Ldone:
	RET
	_ASM_EXTABLE_UA(10b, .Ldone)
	_ASM_EXTABLE_UA(11b, .Ldone)

	.p2align 4
.Lwords:
20:	movq (%rsi), %rax
21:	movq %rax, (%rdi)
	addq $8, %rsi
	addq $8, %rdi
	subl $8, %ecx
	jz .Ldone
	cmpl $8, %ecx
	jae .Lwords
	jmp .Lbytes
	_ASM_EXTABLE_UA(20b, .Lbytes)
	_ASM_EXTABLE_UA(21b, .Lbytes)

.Llarge:
30:	ALTERNATIVE "jmp .Lunrolled", "rep movsb", X86_FEATURE_ERMS
31:	RET
	_ASM_EXTABLE_UA(30b, 31b)

	.p2align 4
.Lunrolled:
	half 0
	half 32
	addq $64, %rsi
	addq $64, %rdi
	subq $64, %rcx
	cmpq $64, %rcx
	jae .Lunrolled
	cmpl $8, %ecx
	jae .Lwords
	testl %ecx, %ecx
	jnz .Lbytes
	RET
SYM_FUNC_END(rep_movs_alternative)

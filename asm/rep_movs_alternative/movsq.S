/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The copy of 6.5 and its stable releases: from 64 bytes REP MOVSB with ERMS,
 * REP MOVSQ without it, which needs no register but rax. A fault in the words
 * leaves their number in rcx, from which the bytes are counted.
 */
#include <linux/linkage.h>
#include <asm/alternative.h>
#include <asm/asm.h>

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
30:	ALTERNATIVE "jmp .Lrepwords", "rep movsb", X86_FEATURE_ERMS
31:	RET
	_ASM_EXTABLE_UA(30b, 31b)

.Lrepwords:
	movq %rcx, %rax
	shrq $3, %rcx
	andl $7, %eax
40:	rep movsq
	movl %eax, %ecx
	testl %ecx, %ecx
	jnz .Lbytes
	RET
41:	leaq (%rax, %rcx, 8), %rcx
	jmp .Lbytes
	_ASM_EXTABLE_UA(40b, 41b)
SYM_FUNC_END(rep_movs_alternative)

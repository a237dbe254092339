/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The two ways in which an instance is called, one for timing and one for
 * checking, and the probes that ask the loader what it patches.
 *
 * fn is called indirectly as the kernel would do it (CALL_NOSPEC), with
 * rdi = dst, rsi = src, rdx = len.
 */
#include <linux/linkage.h>
#include <linux/cfi_types.h>
#include <linux/objtool.h>
#include <uapi/asm-generic/mman-common.h>
#include <asm/alternative.h>
#include <asm/cpufeatures.h>
#include <asm/extable_fixup_types.h>
#include <asm/nospec-branch.h>
#include <asm/unwind_hints.h>

	.text

/*
 * void repmov_call_loop(fn, args, mask, calls)
 *
 * The one loop behind every timing: fn gets the arguments of one struct
 * repmov_args after the other, round a ring of them. It fits one 64-byte line
 * and starts it, so that what it costs does not depend on what was linked
 * before it.
 */
	.balign 64, 0xcc
SYM_FUNC_START(repmov_call_loop)
	pushq %rbx
	pushq %rbp
	pushq %r12
	pushq %r13
	pushq %r14
	movq %rdi, %rbx
	movq %rsi, %r12
	movq %rdx, %r13
	movq %rcx, %rbp
	xorl %r14d, %r14d
	.balign 64
.Lcall:
	movq (%r12, %r14), %rdi
	movq 8(%r12, %r14), %rsi
	movq 16(%r12, %r14), %rdx
	addq $32, %r14
	andq %r13, %r14
	CALL_NOSPEC rbx
	decq %rbp
	jnz .Lcall
	popq %r14
	popq %r13
	popq %r12
	popq %rbp
	popq %rbx
	RET
SYM_FUNC_END(repmov_call_loop)

/*
 * void repmov_call_checked(fn, dst, src, len)
 *
 * The callee gets a known value in every register, and whatever it leaves in
 * them is recorded. Nothing that survives the call is kept in a register or on
 * the stack: a callee under test may have broken either.
 */
#define BEFORE(n)	(repmov_regs_before + 8 * n)(%rip)
#define AFTER(n)	(repmov_regs_after + 8 * n)(%rip)

SYM_FUNC_START(repmov_call_checked)
	/* What the caller expects back: its registers, and DF clear. */
	pushfq
	popq repmov_caller + 48(%rip)
	movq %rbx, repmov_caller + 0(%rip)
	movq %rbp, repmov_caller + 8(%rip)
	movq %r12, repmov_caller + 16(%rip)
	movq %r13, repmov_caller + 24(%rip)
	movq %r14, repmov_caller + 32(%rip)
	movq %r15, repmov_caller + 40(%rip)
	movq %rsp, BEFORE(7)

	movq %rdi, %r11
	movq %rsi, %rdi
	movq %rdx, %rsi
	movq %rcx, %rdx

	movq $0x5241005241005241, %rax
	movq $0x5242115242115242, %rbx
	movq $0x5243225243225243, %rcx
	movq $0x5244335244335244, %rbp
	movq $0x5245445245445245, %r8
	movq $0x5246555246555246, %r9
	movq $0x5247665247665247, %r10
	movq $0x5248775248775248, %r12
	movq $0x5249885249885249, %r13
	movq $0x524a99524a99524a, %r14
	movq $0x524baa524baa524b, %r15
	movq %rax, BEFORE(0)
	movq %rbx, BEFORE(1)
	movq %rcx, BEFORE(2)
	movq %rdx, BEFORE(3)
	movq %rsi, BEFORE(4)
	movq %rdi, BEFORE(5)
	movq %rbp, BEFORE(6)
	movq %r8, BEFORE(8)
	movq %r9, BEFORE(9)
	movq %r10, BEFORE(10)
	movq %r11, BEFORE(11)
	movq %r12, BEFORE(12)
	movq %r13, BEFORE(13)
	movq %r14, BEFORE(14)
	movq %r15, BEFORE(15)

	subq $8, %rsp
	CALL_NOSPEC r11
	movq %rax, AFTER(0)
	movq %rbx, AFTER(1)
	movq %rcx, AFTER(2)
	movq %rdx, AFTER(3)
	movq %rsi, AFTER(4)
	movq %rdi, AFTER(5)
	movq %rbp, AFTER(6)
	leaq 8(%rsp), %rax
	movq %rax, AFTER(7)
	movq %r8, AFTER(8)
	movq %r9, AFTER(9)
	movq %r10, AFTER(10)
	movq %r11, AFTER(11)
	movq %r12, AFTER(12)
	movq %r13, AFTER(13)
	movq %r14, AFTER(14)
	movq %r15, AFTER(15)

	movq BEFORE(7), %rsp
	UNWIND_HINT_FUNC
	pushfq
	popq AFTER(16)
	pushq repmov_caller + 48(%rip)
	popfq

	movq repmov_caller + 0(%rip), %rbx
	movq repmov_caller + 8(%rip), %rbp
	movq repmov_caller + 16(%rip), %r12
	movq repmov_caller + 24(%rip), %r13
	movq repmov_caller + 32(%rip), %r14
	movq repmov_caller + 40(%rip), %r15
	RET
SYM_FUNC_END(repmov_call_checked)

	.balign 64, 0xcc
SYM_TYPED_FUNC_START(repmov_empty)
	RET
SYM_FUNC_END(repmov_empty)

/*
 * A chain of repmov_chain_length additions, each of which waits for the one
 * before it: one cycle each, whatever else the CPU can do at once. (Of
 * registers: some CPUs add constants in no time at all.)
 */
#define ADDITIONS	40
#define TURNS		100
	.balign 64, 0xcc
SYM_TYPED_FUNC_START(repmov_chain)
	movl $TURNS, %ecx
	.balign 64
.Lturn:
	.rept ADDITIONS
	addq %rsi, %rax
	.endr
	decl %ecx
	jnz .Lturn
	RET
SYM_FUNC_END(repmov_chain)

/* Never called: the loader shows here what it makes of a return. */
	.balign 64, 0xcc
SYM_FUNC_START(repmov_return_low)
	ANNOTATE_NOENDBR
	RET
SYM_FUNC_END(repmov_return_low)

	.balign 64, 0xcc
	.skip 32, 0xcc
SYM_FUNC_START(repmov_return_high)
	ANNOTATE_NOENDBR
	RET
SYM_FUNC_END(repmov_return_high)

/* unsigned long repmov_features(void): asked in the way that patching asks. */
SYM_FUNC_START(repmov_features)
	xorl %eax, %eax
	ALTERNATIVE "", "orl $1, %eax", X86_FEATURE_ERMS
	ALTERNATIVE "", "orl $2, %eax", X86_FEATURE_FSRM
	ALTERNATIVE "", "orl $4, %eax", X86_FEATURE_RETPOLINE
	ALTERNATIVE "", "orl $8, %eax", X86_FEATURE_RETPOLINE_LFENCE
	ALTERNATIVE "", "orl $16, %eax", X86_FEATURE_INDIRECT_THUNK_ITS
	RET
SYM_FUNC_END(repmov_features)

	.section .rodata
	.balign 4
SYM_DATA(repmov_ex_type_uaccess, .long EX_TYPE_UACCESS)
SYM_DATA(repmov_chain_length, .long ADDITIONS * TURNS)

/* In the order of struct repmov_mman. */
	.balign 8
SYM_DATA_START(repmov_mman)
	.quad PROT_READ, PROT_WRITE
	.quad 2		/* MAP_PRIVATE, whose header is for C alone */
	.quad MAP_ANONYMOUS, MAP_FIXED
SYM_DATA_END(repmov_mman)

	.bss
	.balign 8
SYM_DATA(repmov_regs_before, .skip 17 * 8)
SYM_DATA(repmov_regs_after, .skip 17 * 8)
SYM_DATA_LOCAL(repmov_caller, .skip 7 * 8)

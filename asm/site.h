/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How the routines that copy to and from user memory are entered: a function
 * for (dst, src, len) that returns the bytes not copied.
 */
#ifdef REPMOV_ROUTINE_rep_movs_alternative
/*
 * As copy_user_generic() does it: REP MOVSB in the place of the call on FSRM,
 * user access allowed around both. The length is in rcx alone, as there: what
 * rdx has is turned over for as long as that takes. objtool knows by its name that the kernel's
 * rep_movs_alternative() may be called with it allowed; ours has another name,
 * so objtool is told to leave this one alternative alone.
 */
	.balign REPMOV_START, 0xcc
SYM_START(REPMOV_SYMBOL, SYM_L_GLOBAL, SYM_A_NONE)
	ENDBR
	movq %rdx, %rcx
	notq %rdx
	ASM_STAC
.Lrepmov_call:
	ALTERNATIVE "rep movsb", \
		    __stringify(ANNOTATE_IGNORE_ALTERNATIVE; call REPMOV_ENTRY_SYMBOL), \
		    ALT_NOT(X86_FEATURE_FSRM)
.Lrepmov_called:
	ASM_CLAC
	notq %rdx
	movq %rcx, %rax
	RET
SYM_FUNC_END(REPMOV_SYMBOL)
	_ASM_EXTABLE_UA(.Lrepmov_call, .Lrepmov_called)
#endif

#ifdef REPMOV_ROUTINE_copy_user_enhanced_fast_string
/* It allows user access itself and returns in eax, so the call is all. */
	.balign REPMOV_START, 0xcc
SYM_START(REPMOV_SYMBOL, SYM_L_GLOBAL, SYM_A_NONE)
	ENDBR
	subq $8, %rsp
	call REPMOV_ENTRY_SYMBOL
	addq $8, %rsp
	RET
SYM_FUNC_END(REPMOV_SYMBOL)
#endif

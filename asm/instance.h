/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Makes one instance out of any assembly source of a copy routine.
 *
 * An instance is a candidate assembled for one feature mask, at one entry
 * offset within a 64-byte line, under a symbol of its own. Kbuild says which:
 *
 *   REPMOV_SYMBOL	the instance's symbol
 *   REPMOV_ENTRY	its address modulo 64
 *   REPMOV_ERMS	1 or 0: what the code is told of X86_FEATURE_ERMS
 *   REPMOV_FSRM	1 or 0: the same for X86_FEATURE_FSRM
 *			(neither defined: native, the boot CPU decides)
 *   REPMOV_TIMED	it is one to be timed
 *   REPMOV_STATIC	choose alternatives while assembling, not at run time
 *   REPMOV_ROUTINE_x	the routine, i.e. which symbol is the entry
 *
 * The headers that the source will include are included here first, so that
 * their macros can be replaced and the source itself stays as it is.
 */
#ifndef REPMOV_INSTANCE_H
#define REPMOV_INSTANCE_H

#include <linux/export.h>
#include <linux/linkage.h>
#include <linux/cfi_types.h>
#include <asm/errno.h>
#include <asm/cpufeatures.h>
#include <asm/alternative.h>
#include <asm/asm.h>
#include <asm/smap.h>

/*
 * Symbols: the instance is reached through the table alone. Nothing is
 * exported, and no alias of the kernel's own memcpy() may appear.
 */
#undef EXPORT_SYMBOL
#define EXPORT_SYMBOL(name)
#undef EXPORT_SYMBOL_GPL
#define EXPORT_SYMBOL_GPL(name)
#undef SYM_FUNC_ALIAS_MEMFUNC
#define SYM_FUNC_ALIAS_MEMFUNC(alias, name)
#undef SYM_FUNC_ALIAS
#define SYM_FUNC_ALIAS(alias, name)
#undef SYM_PIC_ALIAS
#define SYM_PIC_ALIAS(name)

/*
 * The routine's entry gets a name of the instance, at the offset asked for.
 * memcpy() is called as it is and so is the whole instance; the others are
 * called by a site of ours (site.h), which comes before them.
 *
 * REPMOV_CLOBBERS are the registers that a routine may change, as a bit set in
 * the order of struct repmov_regs. A source that may change more says so with
 * the macro repmov_may_clobber.
 */
#define REPMOV_RAX	(1 << 0)
#define REPMOV_RCX	(1 << 2)
#define REPMOV_RDX	(1 << 3)
#define REPMOV_RSI	(1 << 4)
#define REPMOV_RDI	(1 << 5)
#define REPMOV_R8_R11	(0xf << 8)
#define REPMOV_CALL_CLOBBERS	(REPMOV_RAX | REPMOV_RCX | REPMOV_RDX | \
				 REPMOV_RSI | REPMOV_RDI | REPMOV_R8_R11)

#ifdef REPMOV_ROUTINE_memcpy
#define REPMOV_ENTRY_SYMBOL		REPMOV_SYMBOL
#else
#define REPMOV_ENTRY_SYMBOL		__PASTE(REPMOV_SYMBOL, __entry)
#endif

#if defined(REPMOV_ROUTINE_memcpy)
#define __memcpy			REPMOV_ENTRY_SYMBOL
#define REPMOV_CLOBBERS			REPMOV_CALL_CLOBBERS
#elif defined(REPMOV_ROUTINE_rep_movs_alternative)
#define rep_movs_alternative		REPMOV_ENTRY_SYMBOL
#define REPMOV_CLOBBERS			(REPMOV_RAX | REPMOV_RCX | REPMOV_RSI | REPMOV_RDI)
#elif defined(REPMOV_ROUTINE_copy_user_enhanced_fast_string)
#define copy_user_enhanced_fast_string	REPMOV_ENTRY_SYMBOL
#define REPMOV_CLOBBERS			REPMOV_CALL_CLOBBERS
#endif

.macro repmov_may_clobber registers
	.set .Lrepmov_clobbers, \registers
.endm

/*
 * What is timed starts 256 bytes: predictors look at more of an address than
 * the line's bits, and what is compared must lie alike to them.
 */
#ifdef REPMOV_TIMED
#define REPMOV_START			256
#else
#define REPMOV_START			64
#endif

#ifdef REPMOV_ROUTINE_memcpy
#define REPMOV_ENTRY_START		REPMOV_START
#else
/* Behind its site, which starts them. */
#define REPMOV_ENTRY_START		64
#endif

#define REPMOV_ALIGN					\
	.balign REPMOV_ENTRY_START, 0xcc ASM_NL		\
	.fill REPMOV_ENTRY, 1, 0xcc ASM_NL

/* Other functions of a source stay its own: each of its instances has them. */
#undef SYM_TYPED_FUNC_START
#define SYM_TYPED_FUNC_START(name)			\
	REPMOV_ALIGN					\
	SYM_START(name, SYM_L_LOCAL, SYM_A_NONE)	\
	ENDBR
#undef SYM_FUNC_START
#define SYM_FUNC_START(name)				\
	REPMOV_ALIGN					\
	SYM_START(name, SYM_L_LOCAL, SYM_A_NONE)

/*
 * The mask: the two flags become "always" or "never", which the kernel's
 * patching then obeys on any CPU. ALT_NOT() must undo itself for that.
 */
#undef ALT_NOT
#define ALT_NOT(feature)	((ALT_FLAG_NOT << ALT_FLAGS_SHIFT) ^ (feature))
#define REPMOV_NEVER		ALT_NOT(X86_FEATURE_ALWAYS)

#if !defined(REPMOV_ERMS) && defined(REPMOV_STATIC)
/* Nothing patches here, so native is what the kernel runs unpatched. */
#define REPMOV_ERMS 0
#define REPMOV_FSRM 0
#endif

#ifdef REPMOV_ERMS
#undef X86_FEATURE_ERMS
#undef X86_FEATURE_FSRM
#if REPMOV_ERMS
#define X86_FEATURE_ERMS	X86_FEATURE_ALWAYS
#else
#define X86_FEATURE_ERMS	REPMOV_NEVER
#endif
#if REPMOV_FSRM
#define X86_FEATURE_FSRM	X86_FEATURE_ALWAYS
#else
#define X86_FEATURE_FSRM	REPMOV_NEVER
#endif
#endif

#ifdef REPMOV_STATIC
/* Nothing is known of SMAP; the comparison of texts leaves its instructions out. */
#undef X86_FEATURE_SMAP
#define X86_FEATURE_SMAP	REPMOV_NEVER
#undef __ALTERNATIVE
#define __ALTERNATIVE(oldinst, newinst, flag)				\
	.if (flag) == X86_FEATURE_ALWAYS ;				\
	newinst ;							\
	.elseif (flag) == REPMOV_NEVER ;				\
	oldinst ;							\
	.else ;								\
	.error "an alternative on a feature that no mask decides" ;	\
	.endif
#endif

/*
 * Sites: where the alternatives are, as offset from the entry and length,
 * for the text checks and for whoever reads `instances`.
 */
.macro repmov_site_begin
760:
.endm

.macro repmov_site_end
761:
	.pushsection .rodata.repmov_extent, 1, "a"
	.long 760b - REPMOV_SYMBOL
	.long 761b - 760b
	.popsection
.endm

.purgem ALTERNATIVE
.macro ALTERNATIVE oldinstr, newinstr, ft_flags
	repmov_site_begin
	__ALTERNATIVE(\oldinstr, \newinstr, \ft_flags)
	repmov_site_end
.endm

.purgem ALTERNATIVE_2
.macro ALTERNATIVE_2 oldinstr, newinstr1, ft_flags1, newinstr2, ft_flags2
	repmov_site_begin
	__ALTERNATIVE(__ALTERNATIVE(\oldinstr, \newinstr1, \ft_flags1),
		      \newinstr2, \ft_flags2)
	repmov_site_end
.endm

.purgem ALTERNATIVE_3
.macro ALTERNATIVE_3 oldinstr, newinstr1, ft_flags1, newinstr2, ft_flags2, newinstr3, ft_flags3
	repmov_site_begin
	__ALTERNATIVE(__ALTERNATIVE(__ALTERNATIVE(\oldinstr,
		      \newinstr1, \ft_flags1),
		      \newinstr2, \ft_flags2),
		      \newinstr3, \ft_flags3)
	repmov_site_end
.endm

#endif /* REPMOV_INSTANCE_H */

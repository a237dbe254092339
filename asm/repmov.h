/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the module's Rust code sees of the assembly. bindgen reads this file by
 * itself, so it includes nothing.
 */
#ifndef REPMOV_H
#define REPMOV_H

/* A place that alternatives patch: bytes from the start, and its length. */
struct repmov_site {
	unsigned int offset;
	unsigned int length;
};

/* Of an instance's text, in bytes from its start. */
struct repmov_extent {
	unsigned int size;
	unsigned int entry;		/* the routine's, behind the site that calls it */
	unsigned int clobbers;		/* registers it may change, by their place in repmov_regs */
	unsigned int sites;
	struct repmov_site site[];
};

enum repmov_kind {
	REPMOV_CANDIDATE,	/* to be checked and timed */
	REPMOV_REFERENCE,	/* a candidate with alternatives chosen by the assembler */
	REPMOV_CONTROL,		/* broken on purpose, must be rejected */
	REPMOV_TWIN,		/* a candidate once more, to be timed against itself */
};

struct repmov_instance {
	const unsigned char *start;	/* where it is called: (dst, src, len) */
	const struct repmov_extent *extent;
	const char *routine;
	const char *candidate;
	const char *mask;
	unsigned int entry_offset;	/* asked for, modulo 64 */
	unsigned int kind;		/* enum repmov_kind */
};

/* Every instance of the build, in the order of their names (table.S). */
extern const struct repmov_instance repmov_instances[];
extern const struct repmov_instance repmov_instances_end[];

/* Registers around a checked call, in the order in which call.S stores them. */
struct repmov_regs {
	unsigned long rax, rbx, rcx, rdx, rsi, rdi, rbp, rsp;
	unsigned long r8, r9, r10, r11, r12, r13, r14, r15;
	unsigned long flags;
};

/* Written by repmov_call_checked(); one caller at a time. */
extern struct repmov_regs repmov_regs_before;
extern struct repmov_regs repmov_regs_after;

/*
 * Calls fn(dst, src, len) once with a known value in every register and
 * records all of them after it. Interrupts are to be off.
 */
void repmov_call_checked(const void *fn, void *dst, const void *src, unsigned long len);

/* One call, in a ring of a power of two of them. */
struct repmov_args {
	void *dst;
	const void *src;
	unsigned long len;
	unsigned long unused;		/* so that an index grows by a power of two */
};

/*
 * Calls fn(dst, src, len) `calls` times, at least once, going round a ring of
 * n arguments; mask is (n - 1) * sizeof(struct repmov_args).
 */
void repmov_call_loop(const void *fn, const struct repmov_args *args, unsigned long mask,
		      unsigned long calls);

/* A function that does nothing, for what a call by the loop costs. */
extern const unsigned char repmov_empty[];

/* A function that takes repmov_chain_length cycles, whatever its arguments. */
extern const unsigned char repmov_chain[];
extern const unsigned int repmov_chain_length;

/* Plain returns in the lower and the upper half of a 64-byte line. */
extern const unsigned char repmov_return_low[];
extern const unsigned char repmov_return_high[];

/* The exception table's type for user access. */
extern const unsigned int repmov_ex_type_uaccess;

/* Rights and flags of mappings, which the kernel crate does not have. */
struct repmov_mman {
	unsigned long prot_read, prot_write;
	unsigned long map_private, map_anonymous, map_fixed;
};

extern const struct repmov_mman repmov_mman;

/* What alternatives are told of this CPU and boot. */
enum repmov_feature {
	REPMOV_ERMS = 1,
	REPMOV_FSRM = 2,
	REPMOV_RETPOLINE = 4,		/* indirect calls go through retpolines */
	REPMOV_RETPOLINE_LFENCE = 8,	/* or behind an LFENCE */
	REPMOV_ITS_THUNK = 16,		/* those in the lower half of a line go through a thunk */
};

/* A set of enum repmov_feature. */
unsigned long repmov_features(void);

#endif /* REPMOV_H */

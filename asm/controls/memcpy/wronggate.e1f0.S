/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Asks for the gate where ERMS is missing: the flag is inverted, but not in
 * the reference that shows what the mask demands. Text: differs from it.
 */
#ifndef REPMOV_STATIC
#undef X86_FEATURE_ERMS
#define X86_FEATURE_ERMS REPMOV_NEVER
#endif
#include "asm/gen/memcpy/erms2048.S"

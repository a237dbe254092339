/* SPDX-License-Identifier: GPL-2.0-only */
/* Its entry mends every kind of fault. Exception table: another type. */
SYM_FUNC_START(rep_movs_alternative)
	ANNOTATE_NOENDBR
10:	rep movsb
11:	RET
	_ASM_EXTABLE(10b, 11b)
SYM_FUNC_END(rep_movs_alternative)

#ifndef BASE_VEC_H
#define BASE_VEC_H
/*
 * Typed growing arrays: struct VEC(int) numbers = {0}; vec_push(&numbers, 7); vec_done(&numbers).
 * Elements move when it grows; indexes stay, pointers into it do not.
 */
#include "base/compat.h"
#include <stddef.h>

#define VEC(T)                                                                                     \
	{                                                                                          \
		T *items;                                                                          \
		size_t len;                                                                        \
		size_t cap;                                                                        \
	}

#define vec_reserve(v, n)                                                                          \
	do {                                                                                       \
		size_t need_ = (n);                                                                \
		if (need_ > (v)->cap) {                                                            \
			size_t cap_ = (v)->cap ? (v)->cap * 2 : 8;                                 \
			(v)->cap = cap_ < need_ ? need_ : cap_;                                    \
			(v)->items = xrealloc((v)->items, (v)->cap * sizeof(*(v)->items));         \
		}                                                                                  \
	} while (0)

#define vec_push(v, ...)                                                                           \
	do {                                                                                       \
		vec_reserve((v), (v)->len + 1);                                                    \
		(v)->items[(v)->len++] = (__VA_ARGS__);                                            \
	} while (0)

#define vec_done(v)                                                                                \
	do {                                                                                       \
		free((v)->items);                                                                  \
		(v)->items = NULL;                                                                 \
		(v)->len = (v)->cap = 0;                                                           \
	} while (0)

#define vec_clear(v) ((void)((v)->len = 0))

/* for each element, as a pointer: vec_foreach (&numbers, n) sum += *n; */
#define vec_foreach(v, it)                                                                         \
	for (__typeof__(*(v)->items) *it = (v)->items; it && it < (v)->items + (v)->len; it++)

#endif

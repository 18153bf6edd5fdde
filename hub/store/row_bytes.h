#ifndef STORE_ROW_BYTES_H
#define STORE_ROW_BYTES_H
/* Reading within bounds and plain writing, for row.c alone. */
#include "base/span.h"

struct row_cursor {
	const char *p;
	size_t left;
	bool bad; /* sticks */
};

static inline struct span take(struct row_cursor *c, size_t n)
{
	if (c->bad || n > c->left) {
		c->bad = true;
		return SPAN("");
	}
	struct span s = span_make(c->p, n);
	c->p += n;
	c->left -= n;
	return s;
}

#define TAKE_INTEGER(c, T)                                                                         \
	({                                                                                         \
		T v_ = 0;                                                                          \
		struct span s_ = take((c), sizeof(v_));                                            \
		if (s_.len)                                                                        \
			memcpy(&v_, s_.ptr, sizeof(v_));                                           \
		v_;                                                                                \
	})

#define PUT_INTEGER(p, T, value)                                                                   \
	do {                                                                                       \
		T v_ = (value);                                                                    \
		memcpy(*(p), &v_, sizeof(v_));                                                     \
		*(p) += sizeof(v_);                                                                \
	} while (0)

static inline void put_span(char **p, struct span s)
{
	if (s.len)
		memcpy(*p, s.ptr, s.len);
	*p += s.len;
}

#endif

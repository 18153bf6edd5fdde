#ifndef BASE_COMPAT_H
#define BASE_COMPAT_H
/*
 * Attributes shared by every header, and the calls that this project does not use.
 *
 * Include it after the system headers: the poisoned names are declared there.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MUST_CHECK	  __attribute__((warn_unused_result))
#define PRINTF_LIKE(f, a) __attribute__((format(printf, f, a)))
#define AUTO(fn)	  __attribute__((cleanup(fn)))
#define ARRAY_LEN(a)	  (sizeof(a) / sizeof((a)[0]))

/* Moves a pointer out of a variable that has a cleanup attribute. */
#define steal_ptr(p)                                                                               \
	({                                                                                         \
		__typeof__(*(p)) stolen_ = *(p);                                                   \
		*(p) = NULL;                                                                       \
		stolen_;                                                                           \
	})

#pragma GCC poison strcpy strcat sprintf vsprintf strtok gmtime localtime atoi atol gets strncat

static inline void base_auto_free(void *p)
{
	free(*(void **)p);
}
#define auto_free AUTO(base_auto_free)

/* Allocation of small internal objects: running out of memory ends the process; the store
 * replays (c-style rule 24). Whatever an outsider sizes goes through struct buf, which is bounded.
 */
static inline void *xcalloc(size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size ? size : 1);
	if (!p)
		abort();
	return p;
}

static inline void *xrealloc(void *old, size_t size)
{
	void *p = realloc(old, size ? size : 1);
	if (!p)
		abort();
	return p;
}

static inline char *xstrndup(const char *s, size_t len)
{
	char *p = xcalloc(1, len + 1);
	if (len)
		memcpy(p, s, len);
	return p;
}

static inline char *xstrdup(const char *s)
{
	return s ? xstrndup(s, strlen(s)) : NULL;
}

#endif

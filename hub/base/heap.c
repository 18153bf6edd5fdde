#include "base/heap.h"

#include <malloc.h>
#include <stdlib.h>

#define KEPT_BYTES  (8 << 20)
#define TAKEN_BYTES (256 << 10) /* at once, by the first thread's heap */
#define OWN_BYTES   (1 << 20)

void heap_setup(void)
{
#ifdef __GLIBC__
	(void)mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
	(void)mallopt(M_TOP_PAD, TAKEN_BYTES);
	(void)mallopt(M_MMAP_THRESHOLD, OWN_BYTES);
#endif
}

void heap_ahead(size_t bytes)
{
#ifdef __GLIBC__
	/* What is given back at the end of a heap stays there. */
	void *p = malloc(bytes);
	__asm__ volatile("" : : "r"(p) : "memory"); /* else the pair is left out */
	free(p);
#else
	(void)bytes;
#endif
}

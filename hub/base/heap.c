#include "base/heap.h"

#include <malloc.h>

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

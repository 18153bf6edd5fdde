#ifndef BASE_ARENA_H
#define BASE_ARENA_H
/*
 * A bump allocator for what lives as long as one request, decision or decode.
 *
 * Memory comes zeroed, aligned to 16 bytes; nothing is freed singly; reset keeps the largest
 * block for reuse. Nothing from an arena is stored beyond its reset. Belongs to one thread.
 */
#include "base/compat.h"
#include "base/span.h"

struct arena_block;
struct arena {
	struct arena_block *head;
};

#define ARENA_INIT ((struct arena){0})
#define auto_arena AUTO(arena_done) struct arena

void *arena_alloc(struct arena *a, size_t size);	     /* zeroed; never NULL */
void *arena_alloc_n(struct arena *a, size_t n, size_t size); /* aborts on overflow */
char *arena_strndup(struct arena *a, const char *s, size_t len);
struct span arena_span(struct arena *a, struct span s); /* copy; absent stays absent */
/* Before the first allocation: the first block holds `size` bytes instead of the usual 4 KB, for
 * small things that wait in great numbers. Else does nothing. */
void arena_reserve(struct arena *a, size_t size);
size_t arena_size(const struct arena *a); /* bytes of its blocks */
size_t arena_used(const struct arena *a); /* bytes handed out: what a copy would have to reserve */
void arena_reset(struct arena *a);
void arena_done(struct arena *a);
#define arena_new(a, T)	     ((T *)arena_alloc((a), sizeof(T)))
#define arena_array(a, T, n) ((T *)arena_alloc_n((a), (n), sizeof(T)))

#endif

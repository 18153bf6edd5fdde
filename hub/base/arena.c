#include "base/arena.h"

struct arena_block {
	struct arena_block *next;
	size_t used;
	size_t size;
	_Alignas(16) char bytes[];
};

/* With its head a size that malloc has at hand: many arenas need no more. */
#define ARENA_FIRST_BLOCK 976

static struct arena_block *block_create(size_t size, struct arena_block *next)
{
	struct arena_block *b = xrealloc(NULL, sizeof(*b) + size);
	b->next = next;
	b->used = 0;
	b->size = size;
	return b;
}

void arena_reserve(struct arena *a, size_t size)
{
	if (!a->head)
		a->head = block_create(size, NULL);
}

size_t arena_used(const struct arena *a)
{
	size_t used = 0;

	for (const struct arena_block *b = a->head; b; b = b->next)
		used += b->used;
	return used;
}

size_t arena_size(const struct arena *a)
{
	size_t total = 0;

	for (const struct arena_block *b = a->head; b; b = b->next)
		total += sizeof(*b) + b->size;
	return total;
}

void *arena_alloc(struct arena *a, size_t size)
{
	size_t n = (size + 15) & ~(size_t)15;
	if (n < size)
		abort();
	if (!a->head || a->head->size - a->head->used < n) {
		size_t grow = a->head ? a->head->size * 2 : ARENA_FIRST_BLOCK;
		a->head = block_create(grow > n ? grow : n, a->head);
	}
	void *p = a->head->bytes + a->head->used;
	a->head->used += n;
	memset(p, 0, n);
	return p;
}

void *arena_alloc_n(struct arena *a, size_t n, size_t size)
{
	size_t total;
	if (__builtin_mul_overflow(n, size, &total))
		abort();
	return arena_alloc(a, total);
}

char *arena_strndup(struct arena *a, const char *s, size_t len)
{
	char *p = arena_alloc(a, len + 1);
	if (len)
		memcpy(p, s, len);
	return p;
}

struct span arena_span(struct arena *a, struct span s)
{
	return s.ptr ? (struct span){arena_strndup(a, s.ptr, s.len), s.len} : s;
}

void arena_reset(struct arena *a)
{
	if (!a->head)
		return;
	struct arena_block *keep = a->head;
	for (struct arena_block *b = keep->next; b;) {
		struct arena_block *next = b->next;
		free(b);
		b = next;
	}
	keep->next = NULL;
	keep->used = 0;
}

void arena_done(struct arena *a)
{
	arena_reset(a);
	free(a->head);
	a->head = NULL;
}

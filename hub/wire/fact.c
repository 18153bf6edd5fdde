#include "wire/fact.h"

struct fact *fact_create(enum fact_op op, uint32_t member)
{
	struct fact *f = xcalloc(1, sizeof(*f));
	f->op = op;
	f->member = member;
	f->mem = ARENA_INIT;
	f->bytes = sizeof(*f);
	return f;
}

struct fact *fact_destroy(struct fact *f)
{
	if (!f)
		return NULL;
	arena_done(&f->mem);
	free(f);
	return NULL;
}

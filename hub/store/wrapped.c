#include "store/wrapped.h"

static struct store *inner_of(const struct store *s)
{
	return ((const struct wrapped_store *)s)->inner;
}

uint64_t wrapped_revision(const struct store *s)
{
	return store_revision(inner_of(s));
}

uint64_t wrapped_floor(const struct store *s)
{
	return store_floor(inner_of(s));
}

const uint8_t *wrapped_incarnation(const struct store *s)
{
	return store_incarnation(inner_of(s));
}

bool wrapped_has_room(struct store *s)
{
	return store_has_room(inner_of(s));
}

void wrapped_stats(struct store *s, struct store_stats *ret)
{
	store_stats(inner_of(s), ret);
}

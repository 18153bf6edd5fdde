#include "core/kueue/usage.h"

#include "base/num.h"

static struct kueue_use *find(const struct usage *u, uint32_t flavor, uint32_t resource)
{
	vec_foreach (&u->items, i)
		if (i->flavor == flavor && i->resource == resource)
			return i;
	return NULL;
}

void usage_add(struct usage *u, const struct kueue_use *uses, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct kueue_use *at = find(u, uses[i].flavor, uses[i].resource);
		if (at)
			at->value = num_add_sat(at->value, uses[i].value);
		else
			vec_push(&u->items, uses[i]);
	}
}

void usage_subtract(struct usage *u, const struct kueue_use *uses, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct kueue_use *at = find(u, uses[i].flavor, uses[i].resource);
		if (!at)
			continue;
		at->value -= uses[i].value;
		if (at->value <= 0)
			*at = u->items.items[--u->items.len];
	}
}

int64_t usage_of(const struct usage *u, uint32_t flavor, uint32_t resource)
{
	const struct kueue_use *at = find(u, flavor, resource);
	return at ? at->value : 0;
}

void usage_done(struct usage *u)
{
	vec_done(&u->items);
}

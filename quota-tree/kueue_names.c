/*
 * Numbers for the names of resources and flavors, which they keep for ever, and the flavors
 * themselves.
 */
#include "quota-tree/kueue_forest.h"

#include "quota-tree/kueue_node.h"

uint32_t kueue_number_of(const struct map *m, struct span name)
{
	/* Absent gives 0 - 1, which is KUEUE_NONE. */
	return (uint32_t)(uintptr_t)map_get(m, name) - 1;
}

void *kueue_number_value(uint32_t number)
{
	return (void *)((uintptr_t)number + 1);
}

struct span kueue_name_dup(struct span s)
{
	return span_make(xstrndup(s.ptr, s.len), s.len);
}

uint32_t kueue_forest_find_resource(const struct kueue_forest *f, struct span name)
{
	return kueue_number_of(&f->resources.numbers, name);
}

struct span kueue_forest_resource_name(const struct kueue_forest *f, uint32_t resource)
{
	return resource < f->resources.names.len ? f->resources.names.items[resource] : SPAN_NONE;
}

/* Files a new name among the others by its bytes; those behind it move up by one. */
static void rank_resource(struct kueue_forest *f, uint32_t number)
{
	const struct span *names = f->resources.names.items;
	uint32_t *sorted;
	size_t from = 0, to = number;

	while (from < to) {
		size_t mid = from + (to - from) / 2;
		if (span_cmp(names[f->resources_sorted.items[mid]], names[number]) < 0)
			from = mid + 1;
		else
			to = mid;
	}
	vec_push(&f->resources_sorted, number);
	vec_push(&f->resource_ranks, 0);
	sorted = f->resources_sorted.items;
	memmove(sorted + from + 1, sorted + from, (number - from) * sizeof(*sorted));
	sorted[from] = number;
	for (uint32_t i = (uint32_t)from; i <= number; i++)
		f->resource_ranks.items[sorted[i]] = i;
}

uint32_t kueue_forest_resource(struct kueue_forest *f, struct span name)
{
	uint32_t number = kueue_forest_find_resource(f, name);

	if (number != KUEUE_NONE || f->resources.names.len >= KUEUE_MAX_NAMES)
		return number;
	number = (uint32_t)f->resources.names.len;
	vec_push(&f->resources.names, kueue_name_dup(name));
	map_put(&f->resources.numbers, name, kueue_number_value(number));
	rank_resource(f, number);
	return number;
}

uint32_t kueue_forest_flavor(const struct kueue_forest *f, struct span name)
{
	return kueue_number_of(&f->flavor_numbers, name);
}

uint32_t kueue_forest_intern_flavor(struct kueue_forest *f, struct span name)
{
	uint32_t number = kueue_forest_flavor(f, name);
	struct kueue_flavor *flavor;

	if (number != KUEUE_NONE || f->flavors.len >= KUEUE_MAX_NAMES)
		return number;
	number = (uint32_t)f->flavors.len;
	flavor = xcalloc(1, sizeof(*flavor));
	flavor->name = kueue_name_dup(name);
	vec_push(&f->flavors, flavor);
	map_put(&f->flavor_numbers, name, kueue_number_value(number));
	return number;
}

struct span kueue_forest_flavor_name(const struct kueue_forest *f, uint32_t flavor)
{
	return flavor < f->flavors.len ? f->flavors.items[flavor]->name : SPAN_NONE;
}

const struct kueue_flavor_spec *kueue_forest_flavor_spec(const struct kueue_forest *f,
							 uint32_t flavor)
{
	if (flavor >= f->flavors.len || !f->flavors.items[flavor]->declared)
		return NULL;
	return &f->flavors.items[flavor]->spec;
}

int kueue_forest_full(struct err *reterr)
{
	return err_set(reterr, ERR_TOO_MANY, "there are too many queues, cohorts or flavors");
}

int kueue_forest_set_flavor(struct kueue_forest *f, const struct kueue_flavor_spec *spec,
			    struct err *reterr)
{
	uint32_t number;
	int r = kueue_spec_check_flavor(spec, reterr);

	if (r < 0)
		return r;
	number = kueue_forest_intern_flavor(f, spec->name);
	if (number == KUEUE_NONE)
		return kueue_forest_full(reterr);
	struct kueue_flavor *flavor = f->flavors.items[number];
	/* It may be set from its own copy. */
	struct arena mem = ARENA_INIT;
	flavor->spec = kueue_spec_dup_flavor(&mem, spec, &flavor->keys);
	arena_done(&flavor->mem);
	flavor->mem = mem;
	flavor->declared = true;
	f->flavor_edits++;
	return 0;
}

void kueue_forest_remove_flavor(struct kueue_forest *f, struct span name)
{
	uint32_t number = kueue_forest_flavor(f, name);

	if (number == KUEUE_NONE)
		return;
	struct kueue_flavor *flavor = f->flavors.items[number];
	arena_done(&flavor->mem);
	flavor->mem = ARENA_INIT;
	flavor->spec = (struct kueue_flavor_spec){0};
	flavor->declared = false;
	f->flavor_edits++;
}

/* ---- topologies ---- */

static void topology_free(struct kueue_topology *t)
{
	if (!t)
		return;
	arena_done(&t->mem);
	free(t);
}

int kueue_forest_set_topology(struct kueue_forest *f, const struct kueue_topology_spec *spec,
			      struct err *reterr)
{
	struct kueue_topology *t;

	if (spec->n_levels > KUEUE_MAX_LEVELS)
		return err_set_field(reterr, ERR_INVALID, "spec.levels",
				     "has %zu entries, at most %d are allowed", spec->n_levels,
				     KUEUE_MAX_LEVELS);
	if (f->topologies.len >= KUEUE_MAX_NAMES && !map_has(&f->topologies, spec->name))
		return kueue_forest_full(reterr);
	t = xcalloc(1, sizeof(*t));
	t->levels = label_values_dup(&t->mem, spec->levels, spec->n_levels);
	t->n_levels = spec->n_levels;
	topology_free(map_put(&f->topologies, spec->name, t));
	return 0;
}

void kueue_forest_remove_topology(struct kueue_forest *f, struct span name)
{
	topology_free(map_remove(&f->topologies, name));
}

void kueue_topologies_done(struct kueue_forest *f)
{
	map_foreach (&f->topologies, e)
		topology_free(e->value);
	map_done(&f->topologies);
}

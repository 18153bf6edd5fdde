#include "quota-tree/kueue_forest.h"

#include "quota-tree/kueue_node.h"
#include <assert.h>

struct kueue_forest *kueue_forest_create(const struct kueue_options *options)
{
	struct kueue_forest *f = xcalloc(1, sizeof(*f));

	f->self = f;
	f->flavor_edits = 1;
	f->options = *options;
	f->pods = kueue_forest_resource(f, SPAN("pods"));
	return f;
}

struct kueue_forest *kueue_forest_destroy(struct kueue_forest *f)
{
	if (!f)
		return NULL;
	for (size_t i = 0; i < f->nodes.len; i++)
		if (f->nodes.items[i])
			kueue_tree_spoil(f, f->nodes.items[i]);
	vec_foreach (&f->stale, tree)
		kueue_tree_free(*tree);
	for (size_t i = 0; i < f->nodes.len; i++)
		if (f->nodes.items[i])
			kueue_node_free(f, f->nodes.items[i]);
	vec_foreach (&f->flavors, it) {
		arena_done(&(*it)->mem);
		base_auto_free(&(*it)->name.ptr);
		free(*it);
	}
	vec_foreach (&f->resources.names, name)
		base_auto_free(&name->ptr);
	map_done(&f->queues);
	map_done(&f->cohorts);
	map_done(&f->flavor_numbers);
	kueue_topologies_done(f);
	map_done(&f->resources.numbers);
	vec_done(&f->nodes);
	vec_done(&f->free_numbers);
	vec_done(&f->flavors);
	vec_done(&f->resources.names);
	vec_done(&f->resource_ranks);
	vec_done(&f->resources_sorted);
	vec_done(&f->stale);
	vec_done(&f->journal);
	kueue_search_free(f->search);
	free(f);
	return NULL;
}

const struct kueue_options *kueue_forest_options(const struct kueue_forest *f)
{
	return &f->options;
}

/* ---- names of nodes ---- */

/* A node that only waits to be buried has no number any more. */
static uint32_t number_of_living(const struct kueue_forest *f, const struct map *m,
				 struct span name)
{
	uint32_t number = kueue_number_of(m, name);

	if (number == KUEUE_NONE || kueue_node(f, number)->declared ||
	    kueue_node(f, number)->n_wanting)
		return number;
	kueue_tree_settle(f);
	return kueue_number_of(m, name);
}

uint32_t kueue_forest_queue(const struct kueue_forest *f, struct span name)
{
	return number_of_living(f, &f->queues, name);
}

uint32_t kueue_forest_cohort(const struct kueue_forest *f, struct span name)
{
	return number_of_living(f, &f->cohorts, name);
}

/* ---- nodes ---- */

/* NULL when the forest is full. */
static struct kueue_node *node_make(struct kueue_forest *f, struct span name, bool queue)
{
	struct kueue_node *n;
	uint32_t number = (uint32_t)f->nodes.len;

	if (f->free_numbers.len)
		number = f->free_numbers.items[--f->free_numbers.len];
	else if (number < KUEUE_MAX_NODES)
		vec_push(&f->nodes, NULL);
	else
		return NULL;
	n = xcalloc(1, sizeof(*n));
	*n = (struct kueue_node){
	    .number = number,
	    .name = kueue_name_dup(name),
	    .queue = queue,
	    .wanted = KUEUE_NONE,
	    .parent = KUEUE_NONE,
	    .weight = 1,
	};
	n->tree = xcalloc(1, sizeof(*n->tree));
	vec_push(&n->tree->members, number);
	f->nodes.items[number] = n;
	map_put(queue ? &f->queues : &f->cohorts, name, kueue_number_value(number));
	return n;
}

static struct kueue_node *node_find(struct kueue_forest *f, struct span name, bool queue)
{
	uint32_t number = kueue_number_of(queue ? &f->queues : &f->cohorts, name);

	return number == KUEUE_NONE ? node_make(f, name, queue) : kueue_node(f, number);
}

/* Both ends of the edge, old and new, are compiled again. */
static int hang_below(struct kueue_forest *f, struct kueue_node *n, struct span parent,
		      struct err *reterr)
{
	struct kueue_node *p = NULL;

	if (parent.len && !(p = node_find(f, parent, false)))
		return kueue_forest_full(reterr);
	kueue_tree_spoil(f, n);
	if (p) {
		p->n_wanting++;
		kueue_tree_spoil(f, p);
	}
	if (n->wanted != KUEUE_NONE)
		kueue_node(f, n->wanted)->n_wanting--;
	n->wanted = p ? p->number : KUEUE_NONE;
	return 0;
}

static int cmp_covered(const void *a, const void *b)
{
	const struct kueue_covered *x = a, *y = b;
	return (x->resource > y->resource) - (x->resource < y->resource);
}

/* Numbers for the names of groups that are copied in n->mem already. */
static int number_groups(struct kueue_forest *f, struct kueue_node *n,
			 const struct kueue_group_spec *specs, size_t n_groups, struct err *reterr)
{
	struct kueue_group *groups = arena_array(&n->mem, struct kueue_group, n_groups);
	struct kueue_covered *covered;
	size_t n_covered = 0;

	for (size_t g = 0; g < n_groups; g++) {
		uint32_t *r = arena_array(&n->mem, uint32_t, specs[g].n_resources);
		uint32_t *fl = arena_array(&n->mem, uint32_t, specs[g].n_flavors);

		for (size_t i = 0; i < specs[g].n_resources; i++)
			if ((r[i] = kueue_forest_resource(f, specs[g].resources[i])) == KUEUE_NONE)
				return kueue_forest_full(reterr);
		for (size_t i = 0; i < specs[g].n_flavors; i++)
			if ((fl[i] = kueue_forest_intern_flavor(f, specs[g].flavors[i])) ==
			    KUEUE_NONE)
				return kueue_forest_full(reterr);
		groups[g] = (struct kueue_group){
		    .resources = r,
		    .flavors = fl,
		    .n_resources = (uint32_t)specs[g].n_resources,
		    .n_flavors = (uint32_t)specs[g].n_flavors,
		    .quotas = specs[g].quotas,
		};
		n_covered += specs[g].n_resources;
	}
	covered = arena_array(&n->mem, struct kueue_covered, n_covered);
	n_covered = 0;
	for (uint32_t g = 0; g < n_groups; g++)
		for (uint32_t i = 0; i < groups[g].n_resources; i++)
			covered[n_covered++] = (struct kueue_covered){groups[g].resources[i], g};
	if (n_covered)
		qsort(covered, n_covered, sizeof(*covered), cmp_covered);
	n->groups = groups;
	n->n_groups = n_groups;
	n->covered = covered;
	n->n_covered = n_covered;
	return 0;
}

/* Forgets what its object said. */
static void strip(struct kueue_node *n)
{
	arena_done(&n->mem);
	n->mem = ARENA_INIT;
	n->spec = (struct kueue_queue_spec){0};
	n->groups = NULL;
	n->covered = NULL;
	n->n_groups = n->n_covered = 0;
	n->weight = 1;
	n->declared = false;
	n->looked = 0;
}

/* Gives a node its groups and its place. After an error it stands as if it had been removed. What
 * is given may be what the node had: it is copied before that goes. */
static int declare(struct kueue_forest *f, struct kueue_node *n,
		   const struct kueue_group_spec *groups, size_t n_groups, struct span *parent,
		   double weight, struct err *reterr)
{
	struct arena mem = ARENA_INIT;
	int r;

	assert(f->trials == 0);
	groups = kueue_spec_dup_groups(&mem, groups, n_groups);
	*parent = arena_span(&mem, *parent);
	strip(n);
	n->mem = mem;
	n->spec.groups = groups;
	r = number_groups(f, n, groups, n_groups, reterr);
	if (r == 0)
		r = hang_below(f, n, *parent, reterr);
	if (r < 0) {
		strip(n);
		kueue_tree_spoil(f, n);
		return r;
	}
	n->weight = weight;
	n->declared = true;
	return 0;
}

int kueue_forest_set_cohort(struct kueue_forest *f, const struct kueue_cohort_spec *spec,
			    struct err *reterr)
{
	struct span parent = spec->parent;
	struct kueue_node *n;
	int r = kueue_spec_check_groups(spec->groups, spec->n_groups, reterr);

	if (r < 0)
		return r;
	n = node_find(f, spec->name, false);
	if (!n)
		return kueue_forest_full(reterr);
	return declare(f, n, spec->groups, spec->n_groups, &parent, spec->weight, reterr);
}

int kueue_forest_set_queue(struct kueue_forest *f, const struct kueue_queue_spec *spec,
			   struct err *reterr)
{
	struct kueue_queue_spec copy = *spec;
	struct kueue_node *n;
	int r = kueue_spec_check_groups(spec->groups, spec->n_groups, reterr);

	if (r < 0)
		return r;
	n = node_find(f, spec->name, true);
	if (!n)
		return kueue_forest_full(reterr);
	r = declare(f, n, spec->groups, spec->n_groups, &copy.cohort, spec->weight, reterr);
	if (r < 0)
		return r;
	copy.name = n->name;
	copy.groups = n->spec.groups;
	n->spec = copy;
	return 0;
}

static void undeclare(struct kueue_forest *f, struct span name, bool queue)
{
	uint32_t number = kueue_number_of(queue ? &f->queues : &f->cohorts, name);

	if (number == KUEUE_NONE)
		return;
	assert(f->trials == 0);
	strip(kueue_node(f, number));
	/* Hanging below nothing cannot fail. */
	(void)hang_below(f, kueue_node(f, number), SPAN_NONE, NULL);
}

void kueue_forest_remove_cohort(struct kueue_forest *f, struct span name)
{
	undeclare(f, name, false);
}

void kueue_forest_remove_queue(struct kueue_forest *f, struct span name)
{
	undeclare(f, name, true);
}

/* ---- reading ---- */

struct span kueue_forest_name(const struct kueue_forest *f, uint32_t node)
{
	return kueue_node(f, node)->name;
}

bool kueue_forest_is_queue(const struct kueue_forest *f, uint32_t node)
{
	return kueue_node(f, node)->queue;
}

/* The way up is known from objects alone, so that loading many of them compiles nothing. */
uint32_t kueue_forest_parent(const struct kueue_forest *f, uint32_t node)
{
	const struct kueue_node *n = kueue_node(f, node);

	if (!n->tree->stale && !n->cyclic)
		return n->parent;
	return kueue_node_ends(f, n) ? n->wanted : KUEUE_NONE;
}

uint32_t kueue_forest_root(const struct kueue_forest *f, uint32_t node)
{
	const struct kueue_node *n = kueue_node(f, node);

	/* A cohort that nobody names any more is gone; somebody may still know its number. */
	if (!n)
		return node;
	if (!n->tree->stale && !n->cyclic)
		return n->tree->members.items[0];
	while (kueue_node_ends(f, n) && n->wanted != KUEUE_NONE)
		n = kueue_node(f, n->wanted);
	return n->number;
}

uint32_t kueue_forest_child(const struct kueue_forest *f, uint32_t node, size_t i)
{
	kueue_tree_settle(f);
	const struct kueue_node *n = kueue_node(f, node);
	return i < n->children.len ? n->children.items[i] : KUEUE_NONE;
}

const struct kueue_queue_spec *kueue_forest_queue_spec(const struct kueue_forest *f, uint32_t queue)
{
	const struct kueue_node *n = kueue_node(f, queue);

	/* One that was removed is gone; its lane still knows its number. */
	return n && n->queue && n->declared ? &n->spec : NULL;
}

void kueue_node_look(const struct kueue_forest *f, struct kueue_node *n)
{
	if (n->looked == f->flavor_edits)
		return;
	n->looked = f->flavor_edits;
	n->lacks_flavor = false;
	n->topologies_only = n->n_groups > 0;
	for (size_t g = 0; g < n->n_groups; g++)
		for (uint32_t i = 0; i < n->groups[g].n_flavors; i++) {
			const struct kueue_flavor *flavor =
			    f->flavors.items[n->groups[g].flavors[i]];
			if (!flavor->declared)
				n->lacks_flavor = true;
			if (flavor->spec.topology.len == 0)
				n->topologies_only = false;
		}
}

enum kueue_inactive kueue_forest_active(const struct kueue_forest *f, uint32_t queue)
{
	struct kueue_node *n = kueue_node(f, queue);

	if (!n->declared)
		return KUEUE_INACTIVE_BY_CORE;
	if (n->spec.stop != KUEUE_STOP_NONE)
		return KUEUE_STOPPED;
	kueue_node_look(f, n);
	if (n->lacks_flavor)
		return KUEUE_FLAVOR_NOT_FOUND;
	if ((n->tree->stale || n->cyclic) && !kueue_node_ends(f, n))
		return KUEUE_COHORT_CYCLE;
	return n->spec.inactive ? KUEUE_INACTIVE_BY_CORE : KUEUE_ACTIVE;
}

uint64_t kueue_forest_generation(const struct kueue_forest *f, uint32_t queue)
{
	kueue_tree_settle(f);
	return kueue_node(f, queue)->generation;
}

uint64_t kueue_forest_tree_generation(const struct kueue_forest *f, uint32_t node)
{
	kueue_tree_settle(f);
	return kueue_node(f, node)->tree->generation;
}

void kueue_forest_set_local_usage(struct kueue_forest *f, const double *by_local_queue, size_t n)
{
	f->local_usage = by_local_queue;
	f->n_local_usage = by_local_queue ? n : 0;
}

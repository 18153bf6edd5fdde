#include "policies/fit_topology.h"

#include "policies/node_state.h"

struct domain {
	uint32_t value;	   /* interned value of the label */
	uint32_t first, n; /* in `members` */
	bool taken;
};

struct member {
	uint32_t value, node;
};

struct item {
	uint32_t set;
	uint32_t pods; /* of one group */
};

struct topology {
	struct VEC(struct member) members; /* by domain */
	struct VEC(struct domain) domains; /* in order of the label's value */
	struct VEC(struct item) items;	   /* one per group, most pods first */
};

static uint32_t label_value(const struct node *n, uint32_t key)
{
	for (uint32_t i = 0; i < n->n_labels; i++)
		if (n->labels[i].key == key)
			return n->labels[i].value;
	return 0;
}

static int cmp_member(const void *a, const void *b)
{
	const struct member *x = a, *y = b;
	if (x->value != y->value)
		return x->value < y->value ? -1 : 1;
	return (x->node > y->node) - (x->node < y->node);
}

static int cmp_domain(const void *a, const void *b, void *names)
{
	const struct domain *x = a, *y = b;
	return span_cmp(intern_text(names, x->value), intern_text(names, y->value));
}

static void collect_domains(struct fleet *f, const struct cluster *k, struct span label,
			    struct topology *t)
{
	uint32_t key = intern_find(&f->names, label);

	for (uint32_t i = 0; key && i < k->n_nodes; i++) {
		uint32_t value = label_value(&k->nodes[i], key);
		if (k->spots[i].state != STATE_NONE && value)
			vec_push(&t->members, (struct member){value, i});
	}
	if (!t->members.len)
		return;
	qsort(t->members.items, t->members.len, sizeof(*t->members.items), cmp_member);
	for (uint32_t i = 0; i < t->members.len; i++) {
		const struct member *m = &t->members.items[i];
		if (!t->domains.len || t->domains.items[t->domains.len - 1].value != m->value)
			vec_push(&t->domains, (struct domain){.value = m->value, .first = i});
		struct domain *d = &t->domains.items[t->domains.len - 1];
		d->n++;
		d->taken |= k->nodes[m->node].exclusive > 0;
	}
	qsort_r(t->domains.items, t->domains.len, sizeof(*t->domains.items), cmp_domain, &f->names);
}

/* Larger pods first (parts are in that order), then more pods, then set order. */
static bool goes_before(const struct shape *s, const struct item *a, const struct item *b)
{
	uint32_t x = s->part_of_set[a->set], y = s->part_of_set[b->set];
	if (x != y)
		return x < y;
	return a->pods > b->pods;
}

static void collect_items(const struct shape *shape, struct topology *t)
{
	for (uint32_t set = 0; set < shape->spec.n_sets; set++) {
		const struct pod_set *p = &shape->spec.sets[set];
		for (uint32_t g = 0; p->count > 0 && g < p->groups; g++) {
			struct item it = {set, (uint32_t)(p->count / p->groups)};
			vec_push(&t->items, it);
			size_t at = t->items.len - 1;
			for (; at > 0 && goes_before(shape, &it, &t->items.items[at - 1]); at--)
				t->items.items[at] = t->items.items[at - 1];
			t->items.items[at] = it;
		}
	}
}

static uint64_t domain_room(const struct fleet *f, const struct cluster *k,
			    const struct topology *t, const struct domain *d, const struct row *r)
{
	uint64_t room = 0;

	for (uint32_t i = 0; i < d->n; i++) {
		uint32_t node = t->members.items[d->first + i].node;
		room += fill_pods(node_state_fill(f, k->spots[node].state, r));
	}
	return room;
}

static struct domain *choose_domain(const struct fleet *f, const struct cluster *k,
				    const struct topology *t, const struct row *r, uint32_t pods)
{
	struct domain *best = NULL;
	uint64_t best_room = UINT64_MAX;

	vec_foreach (&t->domains, d) {
		if (d->taken)
			continue;
		uint64_t room = domain_room(f, k, t, d, r);
		if (room >= pods && room < best_room) {
			best = d;
			best_room = room;
		}
	}
	return best;
}

/* The domain holds nothing else of this gang, so the states of its nodes are what is free. */
static void fill_domain(struct fleet *f, const struct cluster *k, const struct topology *t,
			const struct domain *d, const struct shape *shape, const struct item *it)
{
	struct fit_scratch *s = f->scratch;
	const struct row *r = shape->parts[shape->part_of_set[it->set]].row;
	uint32_t need = it->pods;

	vec_clear(&s->choices);
	for (uint32_t i = 0; i < d->n; i++) {
		uint32_t node = t->members.items[d->first + i].node;
		fit_scratch_add(s, node_state_fill(f, k->spots[node].state, r), node, false);
	}
	fit_scratch_sort(s);
	for (size_t i = 0; i < s->choices.len && need > 0; i++) {
		uint32_t pods = fill_pods(s->choices.items[i].fill);
		uint32_t n = need < pods ? need : pods;
		vec_push(&s->slots, (struct fit_slot){s->choices.items[i].index, it->set, n});
		need -= n;
	}
}

uint32_t fit_topology_groups(struct fleet *f, uint32_t cluster, const struct shape *shape,
			     uint32_t *ret_all)
{
	const struct cluster *k = &f->clusters[cluster];
	struct topology t = {0};
	uint32_t placed = 0;

	fit_scratch_begin(fit_scratch_of(f), shape);
	collect_domains(f, k, shape->spec.exclusive_topology, &t);
	collect_items(shape, &t);
	vec_foreach (&t.items, it) {
		const struct row *r = shape->parts[shape->part_of_set[it->set]].row;
		struct domain *d = choose_domain(f, k, &t, r, it->pods);
		if (!d)
			continue;
		fill_domain(f, k, &t, d, shape, it);
		d->taken = true;
		placed++;
	}
	*ret_all = (uint32_t)t.items.len;
	vec_done(&t.members);
	vec_done(&t.domains);
	vec_done(&t.items);
	return placed;
}

bool fit_topology_pack(struct fleet *f, uint32_t cluster, const struct shape *shape)
{
	uint32_t all;

	return fit_topology_groups(f, cluster, shape, &all) == all;
}

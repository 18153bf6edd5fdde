#include "policies/hot_swap_groups.h"

#include "policies/fleet.h"
#include "policies/hot_swap.h"
#include "policies/ledger_private.h"
#include "policies/placer.h"

/* The pods of one set in one domain. */
struct group {
	struct span domain;
	uint32_t set;
	int64_t pods;
	bool whole;
};

struct search {
	const struct fleet *f;
	const struct shape *shape;
	uint32_t cluster;
	struct VEC(struct fit_slot) slots; /* on nodes that are well */
	struct VEC(struct group) groups;
	uint32_t n_whole[POD_SET_MAX_SETS];
};

static int64_t n_groups(const struct pod_set *p)
{
	return p->count > 0 ? (p->groups ? p->groups : 1) : 0;
}

static struct span domain_of(const struct search *s, uint32_t node)
{
	return cluster_view_node_label(s->f, s->cluster, node, s->shape->spec.exclusive_topology);
}

static struct group *group_of(const struct search *s, uint32_t set, struct span domain)
{
	vec_foreach (&s->groups, g)
		if (g->set == set && span_eq(g->domain, domain))
			return g;
	return NULL;
}

static void add_slot(struct search *s, const struct fit_slot *slot)
{
	if (!slot->count || slot->set >= s->shape->spec.n_sets ||
	    hot_swap_node(s->f, s->cluster, slot->node, s->shape, slot->set) != HOT_SWAP_NODE_OK)
		return;
	struct span domain = domain_of(s, slot->node);
	if (!domain.len)
		return;
	vec_push(&s->slots, *slot);
	struct group *g = group_of(s, slot->set, domain);
	if (g)
		g->pods += slot->count;
	else
		vec_push(&s->groups, ((struct group){domain, slot->set, slot->count, false}));
}

/* A group has one domain, and all its pods there. */
static void judge(struct search *s)
{
	vec_foreach (&s->groups, g) {
		const struct pod_set *p = &s->shape->spec.sets[g->set];
		g->whole = s->n_whole[g->set] < n_groups(p) && g->pods >= p->count / n_groups(p);
		s->n_whole[g->set] += g->whole;
	}
}

/* The domain of the only broken group, absent when there are more, or it has no pod left. */
static struct span home_of(const struct search *s, int64_t n_broken)
{
	struct span home = SPAN_NONE;

	vec_foreach (&s->groups, g) {
		if (g->whole)
			continue;
		if (home.len)
			return SPAN_NONE;
		home = g->domain;
	}
	return n_broken == 1 ? home : SPAN_NONE;
}

/* The gang without its whole groups; home: held to that domain. */
static struct ask *ask_for(const struct search *s, struct placer *p, const struct ask *whole,
			   struct span home)
{
	const struct job_shape *of = &s->shape->spec;
	struct pod_set sets[POD_SET_MAX_SETS];
	struct label labels[POD_SET_MAX_SELECTOR + 1];
	struct job_shape spec = {
	    .exclusive_topology = of->exclusive_topology, .sets = sets, .n_sets = of->n_sets};
	struct shape *part;
	struct ask *ask = NULL;

	for (size_t i = 0; i < of->n_sets; i++) {
		int64_t groups = n_groups(&of->sets[i]);
		sets[i] = of->sets[i];
		sets[i].groups = (uint32_t)groups - s->n_whole[i];
		sets[i].count = groups ? of->sets[i].count / groups * sets[i].groups : 0;
		if (!home.len || !sets[i].count)
			continue;
		if (sets[i].n_selector >= POD_SET_MAX_SELECTOR)
			return NULL;
		for (size_t k = 0; k < sets[i].n_selector; k++)
			labels[k] = sets[i].selector[k];
		labels[sets[i].n_selector++] = (struct label){of->exclusive_topology, home};
		sets[i].selector = labels;
	}
	if (fleet_shape_ref(p->f, &spec, &part, NULL) < 0)
		return NULL;
	(void)!placer_ask_ref(p, part, &whole->placement, &whole->kind, &ask, NULL);
	fleet_shape_unref(p->f, part);
	return ask;
}

static void keep(const struct search *s, struct hot_swap_groups *ret)
{
	vec_foreach (&s->slots, slot) {
		const struct group *g = group_of(s, slot->set, domain_of(s, slot->node));
		if (g->whole)
			vec_push(&ret->kept, *slot);
	}
}

void hot_swap_groups_find(struct placer *p, const struct fleet *f, const struct ledger *l,
			  struct ask *whole, uint32_t cluster, uint64_t job,
			  const struct fit_slot *standing, size_t n, struct hot_swap_groups *ret)
{
	struct search s = {.f = f, .shape = whole->shape, .cluster = cluster};
	const struct entry *e = ledger_entry(l, job);
	int64_t n_broken = 0, n_whole = 0;

	*ret = (struct hot_swap_groups){0};
	if (!s.shape->exclusive)
		return;
	for (size_t i = 0; i < n; i++)
		add_slot(&s, &standing[i]);
	for (uint32_t i = 0; e && e->cluster == cluster && i < e->n_slots; i++)
		add_slot(&s, &e->slots[i]);
	judge(&s);
	for (size_t i = 0; i < s.shape->spec.n_sets; i++) {
		n_whole += s.n_whole[i];
		n_broken += n_groups(&s.shape->spec.sets[i]) - s.n_whole[i];
	}
	struct span home = home_of(&s, n_broken);
	if (n_broken && n_whole)
		ret->missing = ask_for(&s, p, whole, SPAN_NONE);
	if (n_broken && home.len)
		ret->home = ask_for(&s, p, whole, home);
	if (ret->missing || ret->home)
		keep(&s, ret);
	vec_done(&s.slots);
	vec_done(&s.groups);
}

void hot_swap_groups_done(struct placer *p, struct hot_swap_groups *g)
{
	placer_ask_unref(p, g->missing);
	placer_ask_unref(p, g->home);
	vec_done(&g->kept);
}

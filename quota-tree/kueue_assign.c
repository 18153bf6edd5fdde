/*
 * Pod sets in order, resource groups in the order of their first resource's name: the turns of an
 * assignment. A later turn sees what earlier ones took.
 */
#include "quota-tree/kueue_assign.h"

#include "quota-tree/kueue_flavor.h"

enum { MAX_ASKS = KUEUE_MAX_POD_SETS * (KUEUE_MAX_REQUESTS + 1) };

struct run {
	struct kueue_forest *f;
	const struct kueue_workload *w;
	const struct kueue_node *queue;
	struct kueue_assignment *a;
	size_t turn;			       /* the next one */
	size_t fixed;			       /* turns before it stand as they are */
	uint64_t refused;		       /* of the turn `fixed`; later ones begin anew */
	const struct kueue_assignment *replay; /* whose turns are taken again, or NULL */
	/* the group of pod sets at hand */
	uint32_t pod_sets[KUEUE_MAX_POD_SETS];
	size_t n_pod_sets;
	struct kueue_ask asks[MAX_ASKS];
	size_t n_asks;
	enum kueue_no_fit no_fit; /* most severe of its resource groups */
	bool attempted;
	/* of a run that failed: where its group's reasons begin, and those of what failed */
	size_t group_reasons, last_reasons;
};

/* The rest is set by run(). */
static void begin(struct run *r, struct kueue_forest *f, const struct kueue_workload *w,
		  struct kueue_assignment *a)
{
	r->f = f;
	r->w = w;
	r->queue = kueue_node(f, w->queue);
	r->a = a;
	r->fixed = 0;
	r->refused = 0;
	r->replay = NULL;
}

void kueue_assignment_done(struct kueue_assignment *a)
{
	vec_done(&a->choices);
	vec_done(&a->requests);
	vec_done(&a->uses);
	vec_done(&a->reasons);
	vec_done(&a->attempts);
	vec_done(&a->turns);
}

const char *kueue_no_fit_to_string(enum kueue_no_fit reason)
{
	static const char *const names[] = {
	    [KUEUE_NO_FIT_NONE] = "",
	    [KUEUE_TOPOLOGY_PLACEMENT_FAILED] = "TopologyPlacementFailed",
	    [KUEUE_WAITING_FOR_QUOTA] = "WaitingForQuota",
	    [KUEUE_EXCEEDS_MAX_QUOTA] = "ExceedsMaxQuota",
	    [KUEUE_NO_MATCHING_FLAVOR] = "NoMatchingFlavor",
	};
	return names[reason];
}

/* ---- what is asked ---- */

static void lay_out(struct run *r, const int32_t *counts)
{
	struct kueue_assignment *a = r->a;
	size_t n_sets = r->w->shape->n_sets;

	vec_clear(&a->choices);
	vec_clear(&a->requests);
	for (size_t i = 0; i < n_sets; i++) {
		struct kueue_use uses[KUEUE_MAX_REQUESTS + 1];
		size_t n;

		a->counts[i] = counts ? counts[i] : kueue_workload_count(r->w, i);
		a->first_choice[i] = (uint32_t)a->choices.len;
		n = kueue_workload_requests(r->f, r->w, r->queue->number, i, a->counts[i], uses);
		for (size_t u = 0; u < n; u++) {
			vec_push(&a->requests, uses[u]);
			vec_push(&a->choices, (struct kueue_choice){.resource = uses[u].resource,
								    .flavor = KUEUE_NONE,
								    .tried = -1});
		}
	}
	a->first_choice[n_sets] = (uint32_t)a->choices.len;
}

static void ask(struct run *r, const struct kueue_use *use)
{
	const uint32_t *ranks = r->f->resource_ranks.items;
	size_t at = r->n_asks;

	while (at > 0 && ranks[r->asks[at - 1].resource] > ranks[use->resource])
		at--;
	if (at > 0 && r->asks[at - 1].resource == use->resource) {
		r->asks[at - 1].value = kueue_amount_add(r->asks[at - 1].value, use->value);
		return;
	}
	memmove(r->asks + at + 1, r->asks + at, (r->n_asks - at) * sizeof(*r->asks));
	r->asks[at] = (struct kueue_ask){use->resource, use->value};
	r->n_asks++;
}

/* The pod sets that share their flavors with `first`, and what they ask together, by name. */
static void gather(struct run *r, uint32_t first)
{
	const struct kueue_shape *shape = r->w->shape;
	struct span group = shape->sets[first].group;

	r->n_pod_sets = r->n_asks = 0;
	r->no_fit = KUEUE_NO_FIT_NONE;
	r->attempted = false;
	for (uint32_t i = first; i < shape->n_sets; i++) {
		if (i != first && (group.len == 0 || !span_eq(shape->sets[i].group, group)))
			continue;
		r->pod_sets[r->n_pod_sets++] = i;
		for (uint32_t c = r->a->first_choice[i]; c < r->a->first_choice[i + 1]; c++)
			ask(r, &r->a->requests.items[c]);
	}
}

/* The first pod set of its group. */
static uint32_t leader_of(const struct run *r, uint32_t set)
{
	const struct kueue_shape_set *sets = r->w->shape->sets;

	for (uint32_t i = 0; i < set && sets[set].group.len; i++)
		if (span_eq(sets[i].group, sets[set].group))
			return i;
	return set;
}

/* ---- one turn ---- */

static struct kueue_choice *choice_of(const struct run *r, uint32_t set, uint32_t resource)
{
	for (uint32_t c = r->a->first_choice[set]; c < r->a->first_choice[set + 1]; c++)
		if (r->a->choices.items[c].resource == resource)
			return &r->a->choices.items[c];
	return NULL;
}

/* NextFlavorToTryForPodSetResource: by the first pod set and the resource that led to the group. */
static uint32_t resume_at(const struct run *r, uint32_t resource, const struct kueue_group *group)
{
	const struct kueue_choice *c = choice_of(r, r->pod_sets[0], resource);

	if (!c || !r->w->tried || r->w->n_tried != r->a->choices.len ||
	    !r->f->options.flavor_fungibility)
		return 0;
	uint32_t next = (uint32_t)(r->w->tried[c - r->a->choices.items] + 1);
	return next < group->n_flavors ? next : 0;
}

/* The flavor of an earlier nomination that a recomputation sticks to (NominationMapping). */
static uint32_t pinned_to(const struct run *r, uint32_t resource)
{
	const struct kueue_choice *c = choice_of(r, r->pod_sets[0], resource);

	return c && r->w->pinned ? r->w->pinned[c - r->a->choices.items] : KUEUE_NONE;
}

static void use_add(struct kueue_assignment *a, uint32_t flavor, uint32_t resource, int64_t value)
{
	if (value == 0)
		return;
	vec_foreach (&a->uses, use)
		if (use->flavor == flavor && use->resource == resource) {
			use->value = kueue_amount_add(use->value, value);
			return;
		}
	vec_push(&a->uses, (struct kueue_use){flavor, resource, value});
}

/* The asks that a group covers, in order; *ret_at maps them to the run's. */
static size_t asks_of(const struct run *r, const struct kueue_group *group, struct kueue_ask *out)
{
	size_t n = 0;

	for (size_t i = 0; i < r->n_asks; i++)
		if (kueue_node_covering(r->queue, r->asks[i].resource) == group)
			out[n++] = r->asks[i];
	return n;
}

/* Writes what was found into the choices of every pod set that asks for it. */
static void settle(struct run *r, const struct kueue_group *group, const struct kueue_ask *asks,
		   size_t n_asks, const struct kueue_found *found)
{
	for (size_t i = 0; i < r->n_pod_sets; i++)
		for (size_t k = 0; k < n_asks; k++) {
			struct kueue_choice *c = choice_of(r, r->pod_sets[i], asks[k].resource);
			if (!c)
				continue;
			c->flavor = group->flavors[found->flavor];
			c->mode = found->grades[k].mode;
			c->borrow_level = found->grades[k].level;
			c->tried = found->tried;
		}
}

/* Adds what the choices of a group's resources take, for later turns to see. */
static void take(struct run *r, const struct kueue_ask *asks, size_t n_asks)
{
	for (size_t i = 0; i < r->n_pod_sets; i++)
		for (size_t k = 0; k < n_asks; k++) {
			struct kueue_choice *c = choice_of(r, r->pod_sets[i], asks[k].resource);
			if (c)
				use_add(r->a, c->flavor, c->resource,
					r->a->requests.items[c - r->a->choices.items].value);
		}
}

static uint64_t refused_of(const struct run *r)
{
	if (r->replay)
		return r->turn < r->replay->turns.len ? r->replay->turns.items[r->turn].refused : 0;
	return r->turn == r->fixed ? r->refused : 0;
}

/* False when no flavor was found. */
static bool turn(struct run *r, const struct kueue_group *group, uint32_t resource)
{
	struct kueue_ask asks[KUEUE_MAX_COVERED];
	struct kueue_found found;
	size_t n_asks = asks_of(r, group, asks);
	struct kueue_seek seek = {
	    .f = r->f,
	    .w = r->w,
	    .queue = r->queue,
	    .a = r->a,
	    .group = group,
	    .pod_sets = r->pod_sets,
	    .n_pod_sets = r->n_pod_sets,
	    .asks = asks,
	    .n_asks = n_asks,
	    .from = resume_at(r, resource, group),
	    .refused = refused_of(r),
	    .tells = r->replay != NULL,
	    .pinned = pinned_to(r, resource),
	};

	if (r->turn < r->fixed) {
		r->a->reasons.len = r->a->turns.items[r->turn++].reasons;
		take(r, asks, n_asks);
		return true;
	}
	kueue_flavor_find(&seek, &found);
	if (found.attempted && found.no_fit > r->no_fit)
		r->no_fit = found.no_fit;
	r->attempted = r->attempted || found.attempted;
	if (found.flavor == KUEUE_NONE)
		return false;
	settle(r, group, asks, n_asks, &found);
	take(r, asks, n_asks);
	vec_push(&r->a->turns, (struct kueue_turn){.flavor = found.flavor,
						   .reasons = (uint32_t)r->a->reasons.len,
						   .refused = seek.refused});
	r->turn++;
	return true;
}

/* ---- all turns ---- */

/* A resource without a group: whether it needs none. */
static bool is_spared(struct run *r, const struct kueue_ask *ask)
{
	if (ask->value != 0 && !r->f->options.ignore_undeclared) {
		vec_push(&r->a->reasons, (struct kueue_reason){.why = KUEUE_WHY_NOT_COVERED,
							       .pod_set = r->pod_sets[0],
							       .flavor = KUEUE_NONE,
							       .resource = ask->resource});
		r->no_fit = KUEUE_NO_MATCHING_FLAVOR;
		return false;
	}
	for (size_t i = 0; i < r->n_pod_sets; i++) {
		struct kueue_choice *c = choice_of(r, r->pod_sets[i], ask->resource);
		if (c)
			c->mode = KUEUE_FIT;
	}
	return true;
}

static bool assign_group(struct run *r)
{
	size_t first_reason = r->a->reasons.len;
	uint32_t done = 0; /* resource groups, as bits */

	for (size_t i = 0; i < r->n_asks; i++) {
		const struct kueue_group *group =
		    kueue_node_covering(r->queue, r->asks[i].resource);
		size_t last_reason = r->a->reasons.len;
		bool ok;

		if (group) {
			uint32_t bit = 1u << (group - r->queue->groups);
			if (done & bit)
				continue;
			done |= bit;
			ok = turn(r, group, r->asks[i].resource);
		} else {
			ok = is_spared(r, &r->asks[i]);
		}
		if (!ok) {
			r->group_reasons = first_reason;
			r->last_reasons = last_reason;
			return false;
		}
	}
	return true;
}

static void sum_up(struct kueue_assignment *a)
{
	a->mode = KUEUE_FIT;
	a->borrow_level = 0;
	vec_foreach (&a->choices, c) {
		if (c->mode < a->mode)
			a->mode = c->mode;
		if (c->borrow_level > a->borrow_level)
			a->borrow_level = c->borrow_level;
	}
}

/* Runs all turns, of which the first `fixed` stand as they are. */
static void run(struct run *r)
{
	struct kueue_assignment *a = r->a;

	vec_clear(&a->uses);
	a->reasons.len = 0;
	a->no_fit = KUEUE_NO_FIT_NONE;
	a->turns.len = r->fixed;
	r->turn = 0;
	for (uint32_t i = 0; i < r->w->shape->n_sets; i++) {
		if (leader_of(r, i) != i)
			continue;
		gather(r, i);
		if (!assign_group(r)) {
			a->mode = KUEUE_NO_FIT;
			a->borrow_level = 0;
			a->no_fit =
			    r->attempted || r->no_fit ? r->no_fit : KUEUE_NO_MATCHING_FLAVOR;
			return;
		}
	}
	sum_up(a);
}

/* Pod sets from `first` on, unless an earlier one brought them along, got nothing. */
static void wipe(const struct run *r, uint32_t first)
{
	struct kueue_assignment *a = r->a;

	for (uint32_t set = first; set < r->w->shape->n_sets; set++)
		for (uint32_t c = a->first_choice[set];
		     leader_of(r, set) >= first && c < a->first_choice[set + 1]; c++)
			a->choices.items[c] =
			    (struct kueue_choice){.resource = a->choices.items[c].resource,
						  .flavor = KUEUE_NONE,
						  .tried = -1};
}

/* Of a group of pod sets that failed only the reasons of what failed are kept. */
static void keep_last_reasons(const struct run *r)
{
	struct kueue_assignment *a = r->a;

	if (a->reasons.len > r->last_reasons)
		memmove(a->reasons.items + r->group_reasons, a->reasons.items + r->last_reasons,
			(a->reasons.len - r->last_reasons) * sizeof(*a->reasons.items));
	a->reasons.len -= r->last_reasons - r->group_reasons;
}

void kueue_assign(struct kueue_forest *f, const struct kueue_workload *w, const int32_t *counts,
		  struct kueue_assignment *ret)
{
	kueue_tree_settle(f);
	struct run r;

	kueue_node_look(f, kueue_node(f, w->queue));
	begin(&r, f, w, ret);
	lay_out(&r, counts);
	ret->pass = KUEUE_PASS_NONE;
	ret->combinations = 0;
	run(&r);
	if (ret->mode != KUEUE_NO_FIT)
		return;
	wipe(&r, r.pod_sets[0]);
	keep_last_reasons(&r);
}

bool kueue_assign_attempts(struct kueue_forest *f, const struct kueue_workload *w,
			   const struct kueue_assignment *a, struct kueue_assignment *ret)
{
	bool first = a->borrow_level == 0;
	struct run r;

	vec_foreach (&a->turns, t)
		first = first && t->flavor == 0;
	if (first)
		return false;
	kueue_tree_settle(f);
	begin(&r, f, w, ret);
	lay_out(&r, a->counts);
	vec_clear(&ret->attempts);
	r.replay = a;
	run(&r);
	return true;
}

/* ---- for the odometer (kueue_odometer.c) ---- */

void kueue_assign_rerun(struct kueue_forest *f, const struct kueue_workload *w,
			struct kueue_assignment *a, size_t fixed, uint64_t refused)
{
	struct run r;

	begin(&r, f, w, a);
	r.fixed = fixed;
	r.refused = refused;
	run(&r);
}

void kueue_assign_wipe(struct kueue_forest *f, const struct kueue_workload *w,
		       struct kueue_assignment *a)
{
	struct run r;

	begin(&r, f, w, a);
	wipe(&r, 0);
	vec_clear(&a->uses);
	vec_clear(&a->turns);
	a->reasons.len = 0;
	a->borrow_level = 0;
}

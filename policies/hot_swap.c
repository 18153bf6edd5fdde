#include "policies/hot_swap.h"

#include "policies/fleet.h"
#include "policies/ledger_private.h"
#include "policies/placer.h"

#define MAX_EXCLUDED 64

/* ---- nodes ---- */

static bool is_condition(struct span key)
{
	return span_is(key, "node.kubernetes.io/not-ready") ||
	       span_is(key, "node.kubernetes.io/unreachable");
}

/* For how many seconds a pod of the set may still stay on the node; INT64_MAX: without end. */
static int64_t time_left(const struct fleet *f, const struct node *n, const struct pod_set *set)
{
	int64_t least = INT64_MAX;

	for (uint32_t i = 0; i < n->n_taints; i++) {
		struct taint t = {intern_text(&f->names, n->taints[i].key),
				  intern_text(&f->names, n->taints[i].value), n->taints[i].effect};
		if (t.effect != TAINT_NO_EXECUTE || is_condition(t.key))
			continue;
		int64_t time = toleration_time(set->tolerations, set->n_tolerations, &t);
		least = time < least ? time : least;
	}
	return least < 0 ? 0 : least;
}

enum hot_swap_node hot_swap_node(const struct fleet *f, uint32_t cluster, uint32_t node,
				 const struct shape *shape, uint32_t set)
{
	const struct cluster *k = &f->clusters[cluster];

	if (node == NODE_NONE || node >= k->n_nodes || k->spots[node].state == STATE_NONE ||
	    !k->nodes[node].known)
		return HOT_SWAP_NODE_GONE;
	if (!k->nodes[node].ready)
		return HOT_SWAP_NODE_NOT_READY;
	if (hot_swap_time(f, cluster, node, shape, set) < INT64_MAX)
		return HOT_SWAP_NODE_TAINTED;
	return HOT_SWAP_NODE_OK;
}

int64_t hot_swap_time(const struct fleet *f, uint32_t cluster, uint32_t node,
		      const struct shape *shape, uint32_t set)
{
	const struct node *n = &f->clusters[cluster].nodes[node];
	int64_t least = INT64_MAX;

	for (uint32_t i = 0; i < shape->spec.n_sets; i++) {
		if (set != UINT32_MAX && set != i)
			continue;
		int64_t time = time_left(f, n, &shape->spec.sets[i]);
		least = time < least ? time : least;
	}
	return least;
}

const char *hot_swap_node_to_string(enum hot_swap_node s)
{
	static const char *const words[] = {"is fine", "is gone", "is not ready",
					    "is tainted NoExecute"};
	return words[s];
}

bool hot_swap_holds(const struct fleet *f, const struct ledger *l, uint64_t job)
{
	const struct entry *e = ledger_entry(l, job);

	for (uint32_t i = 0; e && i < e->n_slots; i++)
		if (e->slots[i].count && hot_swap_node(f, e->cluster, e->slots[i].node, e->shape,
						       e->slots[i].set) != HOT_SWAP_NODE_OK)
			return false;
	return true;
}

/* ---- what is missing ---- */

struct ask *hot_swap_missing(struct placer *p, struct ask *whole, const int64_t *counts)
{
	const struct shape *s = whole->shape;
	struct pod_set sets[POD_SET_MAX_SETS];
	struct job_shape spec = {.sets = sets, .n_sets = s->spec.n_sets};
	struct shape *part;
	struct ask *ask = NULL;
	int64_t n = 0;

	if (s->exclusive || s->leveled)
		return NULL;
	for (size_t i = 0; i < s->spec.n_sets; i++) {
		sets[i] = s->spec.sets[i];
		sets[i].count = counts[i];
		n += counts[i];
	}
	if (n == 0 || fleet_shape_ref(p->f, &spec, &part, NULL) < 0)
		return NULL;
	(void)!placer_ask_ref(p, part, &whole->placement, &whole->kind, &ask, NULL);
	fleet_shape_unref(p->f, part);
	return ask;
}

/* ---- one trial ---- */

/* For what room is sought. */
enum part { PART_MISSING, PART_HOME, PART_GROUPS, PART_WHOLE };

struct trial {
	struct evict_fit *fit;
	const struct hot_swap_gang *gang;
	const struct hot_swap_job *jobs;
	size_t n_jobs;
	enum part part;
	struct evict_job assumed; /* of the gang, what only the ledger holds */
	struct VEC(size_t) lower; /* in the order in which they would go */
	struct hot_swap_plan *plan;
};

static struct ask *ask_for(const struct hot_swap_gang *g, enum part part)
{
	switch (part) {
	case PART_MISSING:
		return g->missing;
	case PART_HOME:
		return g->groups ? g->groups->home : NULL;
	case PART_GROUPS:
		return g->groups ? g->groups->missing : NULL;
	case PART_WHOLE:
	default:
		return g->ask;
	}
}

/* The pods of groups that stay are there, however many of them are just being made anew: sign 1,
 * or -1 to undo that. */
static void charge_kept(const struct trial *t, const struct hot_swap_fleet *fleet, int sign)
{
	const struct hot_swap_groups *g = t->gang->groups;
	const struct job_shape *spec = &t->gang->ask->shape->spec;
	struct amount amounts[POD_SET_MAX_REQUESTS + 1];

	if (t->part != PART_HOME && t->part != PART_GROUPS)
		return;
	vec_foreach (&g->kept, slot) {
		const struct pod_set *set = &spec->sets[slot->set];
		struct pod_usage usage = {.requests = amounts, .exclusive = true};
		for (size_t i = 0; i < set->n_requests; i++)
			if (set->requests[i].resource != RESOURCE_PODS)
				amounts[usage.n_requests++] = (struct amount){
				    set->requests[i].resource, set->requests[i].amount};
		for (uint32_t n = 0; n < slot->count; n++)
			(sign > 0 ? cluster_view_pod_charge : cluster_view_pod_release)(
			    fleet->f, t->gang->cluster, slot->node, &usage);
	}
}

static bool begin(struct trial *t, const struct hot_swap_fleet *fleet, enum part part)
{
	struct ask *ask = ask_for(t->gang, part);

	if (!ask || !evict_fit_begin(t->fit, fleet->f, fleet->l, ask, t->gang->cluster))
		return false;
	t->part = part;
	t->assumed = (struct evict_job){.number = t->gang->own.number};
	evict_fit_take(t->fit, part == PART_MISSING ? &t->assumed : &t->gang->own);
	charge_kept(t, fleet, 1);
	for (size_t i = 0; i < t->n_jobs; i++)
		if (t->jobs[i].leaving)
			evict_fit_take(t->fit, &t->jobs[i].pods);
	return true;
}

static void end(struct trial *t, const struct hot_swap_fleet *fleet)
{
	charge_kept(t, fleet, -1);
	evict_fit_end(t->fit);
}

static bool found(struct trial *t, enum hot_swap_action action)
{
	const struct fit_result *r = evict_fit_result(t->fit);

	t->plan->action = action;
	t->plan->whole = t->part == PART_WHOLE;
	t->plan->cluster = t->gang->cluster;
	vec_clear(&t->plan->slots);
	for (size_t i = 0; i < r->n_slots; i++)
		vec_push(&t->plan->slots, r->slots[i]);
	return true;
}

static bool try_spare(struct trial *t, const struct hot_swap_fleet *fleet, enum part part)
{
	if (!begin(t, fleet, part))
		return false;
	bool fits = evict_fit_fits(t->fit) && found(t, HOT_SWAP_SPARE);
	end(t, fleet);
	return fits;
}

/* ---- victims ---- */

/* Lowest priority, then least work lost, then the youngest. */
static int goes_before(const void *a, const void *b, void *jobs)
{
	const struct hot_swap_job *x = (const struct hot_swap_job *)jobs + *(const size_t *)a;
	const struct hot_swap_job *y = (const struct hot_swap_job *)jobs + *(const size_t *)b;

	if (x->priority != y->priority)
		return x->priority < y->priority ? -1 : 1;
	if (x->lost_us != y->lost_us)
		return x->lost_us < y->lost_us ? -1 : 1;
	return (x->pods.number < y->pods.number) - (x->pods.number > y->pods.number);
}

static void collect_lower(struct trial *t)
{
	vec_clear(&t->lower);
	for (size_t i = 0; i < t->n_jobs; i++) {
		const struct hot_swap_job *j = &t->jobs[i];
		if (!j->leaving && j->priority < t->gang->priority &&
		    j->pods.number != t->gang->own.number && evict_fit_useful(t->fit, &j->pods))
			vec_push(&t->lower, i);
	}
	if (t->lower.len)
		qsort_r(t->lower.items, t->lower.len, sizeof(*t->lower.items), goes_before,
			(void *)(uintptr_t)t->jobs);
	t->plan->n_lower = t->lower.len;
}

static const struct evict_job *lower(const struct trial *t, size_t i)
{
	return &t->jobs[t->lower.items[i]].pods;
}

static bool one_is_enough(struct trial *t)
{
	for (size_t i = 0; i < t->lower.len; i++) {
		evict_fit_take(t->fit, lower(t, i));
		if (evict_fit_fits(t->fit)) {
			vec_push(&t->plan->victims, t->lower.items[i]);
			return true;
		}
		evict_fit_give_back(t->fit, lower(t, i));
	}
	return false;
}

/* Takes as many as it needs; then those stay without whom it fits too, the highest first. */
static bool several_are_enough(struct trial *t)
{
	size_t n = 0;

	while (n < t->lower.len) {
		evict_fit_take(t->fit, lower(t, n++));
		if (evict_fit_fits(t->fit))
			break;
	}
	if (!evict_fit_fits(t->fit))
		return false;
	auto_free bool *stays = xcalloc(n, sizeof(*stays));
	for (size_t i = n - 1; i-- > 0;) {
		evict_fit_give_back(t->fit, lower(t, i));
		stays[i] = evict_fit_fits(t->fit);
		if (!stays[i])
			evict_fit_take(t->fit, lower(t, i));
	}
	for (size_t i = 0; i < n; i++)
		if (!stays[i])
			vec_push(&t->plan->victims, t->lower.items[i]);
	return evict_fit_fits(t->fit);
}

static bool try_victims(struct trial *t, const struct hot_swap_fleet *fleet, enum part part)
{
	if (!begin(t, fleet, part))
		return false;
	collect_lower(t);
	bool fits = t->lower.len > 0 && (one_is_enough(t) || several_are_enough(t)) &&
		    found(t, HOT_SWAP_PREEMPT);
	end(t, fleet);
	return fits;
}

/* ---- another member ---- */

static bool try_move(const struct hot_swap_fleet *fleet, const struct hot_swap_gang *gang,
		     const struct placement_exclusion *excluded, size_t n, int64_t now_us,
		     struct hot_swap_plan *plan)
{
	struct placement_exclusion all[MAX_EXCLUDED];
	struct placement_decision d;

	n = n < MAX_EXCLUDED - 1 ? n : MAX_EXCLUDED - 1;
	if (n)
		memcpy(all, excluded, n * sizeof(*all));
	all[n++] = (struct placement_exclusion){.cluster = gang->cluster, .until_us = INT64_MAX};
	if (!placement_decide(fleet->p, gang->ask, all, n, now_us, &d))
		return false;
	plan->action = HOT_SWAP_MOVE;
	plan->cluster = d.cluster;
	vec_clear(&plan->slots);
	for (size_t i = 0; i < d.n_slots; i++)
		vec_push(&plan->slots, d.slots[i]);
	return true;
}

/* ---- the plan ---- */

static void decide_here(struct trial *t, const struct hot_swap_fleet *fleet)
{
	const struct hot_swap_gang *g = t->gang;

	if (try_spare(t, fleet, PART_MISSING) || try_spare(t, fleet, PART_HOME) ||
	    try_spare(t, fleet, PART_GROUPS))
		return;
	if (g->restarts_whole && try_spare(t, fleet, PART_WHOLE))
		return;
	if (try_victims(t, fleet, PART_GROUPS))
		return;
	(void)try_victims(t, fleet, g->restarts_whole ? PART_WHOLE : PART_MISSING);
}

void hot_swap_decide(const struct hot_swap_fleet *fleet, const struct hot_swap_gang *gang,
		     const struct hot_swap_job *jobs, size_t n_jobs,
		     const struct placement_exclusion *excluded, size_t n_excluded, int64_t now_us,
		     struct hot_swap_plan *ret)
{
	struct trial t = {
	    .fit = fleet->trial, .gang = gang, .jobs = jobs, .n_jobs = n_jobs, .plan = ret};

	ret->action = HOT_SWAP_WAIT;
	ret->cluster = CLUSTER_NONE;
	ret->n_lower = 0;
	vec_clear(&ret->slots);
	vec_clear(&ret->victims);
	decide_here(&t, fleet);
	vec_done(&t.lower);
	if (ret->action == HOT_SWAP_WAIT)
		(void)try_move(fleet, gang, excluded, n_excluded, now_us, ret);
}

void hot_swap_plan_done(struct hot_swap_plan *p)
{
	vec_done(&p->slots);
	vec_done(&p->victims);
}

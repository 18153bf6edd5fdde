#include "core/admission/starvation.h"

#include "base/num.h"
#include "core/admission/elastic_wait.h"
#include "core/admission/pump.h"
#include "core/admission/reclaim.h"
#include "core/admission/running.h"
#include "core/admission/settle.h"
#include "core/admission/starving.h"
#include "core/job.h"
#include "core/kueue/admission.h"
#include "core/member.h"

#define LOOK_INTERVAL USEC_PER_SEC
#define AGAIN_SOON    (5 * USEC_PER_SEC)
#define MOVE_INTERVAL (30 * USEC_PER_SEC)  /* how often a better cluster is looked for */
#define HOPELESS_TIME (300 * USEC_PER_SEC) /* nothing else is kept for one without a cluster */
#define SOON_LISTED   (10 * USEC_PER_SEC)  /* after it was parked, at the latest */

struct starvation *starvation_create(void)
{
	struct starvation *s = xcalloc(1, sizeof(*s));
	s->look_at = INT64_MAX;
	return s;
}

struct starvation *starvation_destroy(struct starvation *s)
{
	if (!s)
		return NULL;
	vec_done(&s->items);
	evict_fit_done(&s->trial);
	free(s);
	return NULL;
}

/* ---- what others may not have ---- */

size_t starvation_exclude(const struct core *c, const struct job *j,
			  struct placement_exclusion *out)
{
	size_t n = 0;

	vec_foreach (&c->starvation->items, it) {
		if (it->held.cluster == CLUSTER_NONE || (j && it->job == j->number) ||
		    n == STARVATION_EXCLUSIONS)
			continue;
		if (!reservation_allows(&it->held, c->now, running_limit(j)))
			out[n++] = (struct placement_exclusion){it->held.cluster, INT64_MAX, true};
	}
	uint32_t claimed = reclaim_cluster(c, j);
	if (claimed != CLUSTER_NONE && n < STARVATION_EXCLUSIONS)
		out[n++] = (struct placement_exclusion){claimed, INT64_MAX, true};
	return n;
}

/* ---- a job's reservation ---- */

/* Reserved for want of nodes, or since its checks are Ready. */
static bool holds_quota_ahead(const struct workload *w)
{
	return w->unit && w->unit->state == KUEUE_RESERVING && w->ready_to_place;
}

/* One of a Kueue queue that waits for nodes: no member took it, or it holds quota already. */
static bool waits_for_nodes(const struct workload *w)
{
	return w->unit && !w->provisioning &&
	       (holds_quota_ahead(w) || (w->lacking_at && !w->claims));
}

static bool waits(const struct job *j)
{
	return j && j->ask && !j->holds && !j->finished && !j->deleting && !j->gone &&
	       j->hold == HOLD_NONE && dispatch_is_free(&j->dispatch) &&
	       (j->unit || j->heap_at || (j->workload && waits_for_nodes(j->workload)));
}

static void tell_reserved(struct core *c, struct job *j, const struct reservation *r)
{
	const struct cluster_spec *spec = cluster_view_spec(c->fleet, r->cluster);
	char when[CLOCK_TEXT_MAX];

	job_event_add(c, j, "Normal", "CapacityReserved",
		      "Cluster %.*s is kept free for the job, which has waited long: it starts by "
		      "%s if running jobs keep their limits.",
		      SPAN_ARGS(spec ? spec->name : SPAN_NONE), clock_format(r->shadow_us, when));
	core_job_dirty(c, j);
}

/* Gives back what was charged ahead of a job that waits on. In a Kueue queue not at once: that
 * would be told, and after a restart members come one by one. */
static void give_back_quota(struct core *c, struct starving *it, struct job *j)
{
	struct workload *w = j->workload;

	if (j->unit && !j->holds && elastic_unit_is_admitted(j->unit))
		elastic_queue_requeue(c->quota.queues, j->unit);
	if (w && w->ahead && !it->in_doubt)
		it->look_at = c->now + AGAIN_SOON;
	else if (w)
		admission_give_back(c, w);
	it->in_doubt = w && w->ahead;
}

/* Among the clusters that are not kept for somebody else. */
static struct reservation choose(struct core *c, const struct starving *it, const struct job *j,
				 struct running *g)
{
	struct reservation_cluster *open;
	size_t n = 0;

	running_gather(c, g);
	open = arena_array(&g->mem, struct reservation_cluster, g->n);
	for (size_t i = 0; i < g->n; i++)
		if (!starving_holds(c, g->clusters[i].cluster, it))
			open[n++] = g->clusters[i];
	return reservation_choose(&c->starvation->trial, c->fleet, c->ledger, j->ask, open, n,
				  &it->held, c->now);
}

/* Quota comes before the cluster, in the engine's order: its next try may be promised one. */
static void try_again(struct core *c, struct starving *it, struct job *j)
{
	it->woken = true;
	kueue_queues_wake_shape(c->kueue->queues, j->workload->unit->shape->number);
	c->pump_wanted = true;
}

/* A cluster is free to be promised again: all are asked, in order. */
static void look_at_all(struct core *c)
{
	vec_foreach (&c->starvation->items, it)
		if (it->held.cluster == CLUSTER_NONE)
			it->look_at = c->now;
	pump_wake_all(c);
}

/* What quota was kept for one without a cluster is others' now. */
static void mark_hope(struct core *c, const struct starving *it, struct job *j)
{
	bool hopeless = it->held.cluster == CLUSTER_NONE;

	if (hopeless && j->hopeless_until <= c->now) {
		c->kueue->shadows_moved = c->pump_wanted = true;
		elastic_wait_wake(c);
	}
	j->hopeless_until = hopeless ? c->now + HOPELESS_TIME : 0;
}

/* Quota of the tree, unless it passes one that starves for that. */
static bool charge_ahead(struct core *c, struct job *j)
{
	if (!elastic_wait_lets(c, j->unit) ||
	    elastic_queue_admit(c->quota.queues, j->unit, NULL) < 0)
		return false;
	elastic_wait_took(c, j->unit);
	return true;
}

/* Chooses, or chooses again. */
static void reserve(struct core *c, struct starving *it, struct job *j, struct running *g)
{
	struct reservation was = it->held;

	bool full =
	    was.cluster == CLUSTER_NONE && starving_reserved(c) >= starving_most_reserved(c);

	it->look_at = c->now + MOVE_INTERVAL;
	if (full && !(j->workload && j->workload->ahead))
		return;
	if (j->workload && !holds_quota_ahead(j->workload)) {
		try_again(c, it, j);
		return;
	}
	if (!full) {
		it->held = choose(c, it, j, g);
		mark_hope(c, it, j);
	}
	if (it->held.cluster != CLUSTER_NONE && j->unit && !elastic_unit_is_admitted(j->unit) &&
	    !charge_ahead(c, j))
		it->held = (struct reservation){CLUSTER_NONE, RESERVATION_NEVER};
	if (it->held.cluster == CLUSTER_NONE)
		give_back_quota(c, it, j);
	else
		it->in_doubt = false;
	if (it->held.cluster != CLUSTER_NONE && it->held.cluster != was.cluster)
		tell_reserved(c, j, &it->held);
	if (was.cluster != CLUSTER_NONE && it->held.cluster == CLUSTER_NONE)
		look_at_all(c);
	else if (was.cluster != CLUSTER_NONE && it->held.cluster != was.cluster)
		pump_wake_all(c);
}

/* Everything that may have it: nobody else was asked yet. */
static bool try_start(struct core *c, struct job *j)
{
	struct placement_exclusion excluded[STARVATION_EXCLUSIONS];
	struct placement_decision d;
	size_t n = starvation_exclude(c, j, excluded);

	if (j->workload)
		return admission_start(c, j->workload);
	if (!placement_decide(c->placer, j->ask, excluded, n, c->now, &d))
		return false;
	settle_place(c, j, &d);
	return j->holds;
}

/* Its quota was taken back meanwhile, by a preemption or an edit: then nothing is kept for it. */
static bool lost_its_quota(struct starving *it, const struct job *j)
{
	if (it->held.cluster == CLUSTER_NONE || !j || !j->workload || j->holds ||
	    holds_quota_ahead(j->workload))
		return false;
	it->held = (struct reservation){CLUSTER_NONE, RESERVATION_NEVER};
	return true;
}

/* Its cluster left, or its quota was taken back by an edit of the tree: it is chosen for anew. */
static bool lost_its_place(struct core *c, const struct starving *it, const struct job *j)
{
	const struct member *m =
	    it->held.cluster == CLUSTER_NONE ? NULL : member_by_view(c, it->held.cluster);

	if (it->held.cluster == CLUSTER_NONE || !j || j->holds || c->quota.edited ||
	    c->observed.len)
		return false;
	return !m || m->leaving || (j->unit && !elastic_unit_is_admitted(j->unit));
}

/* Starts, or forgets, those for which it is over. */
static void look_after(struct core *c)
{
	struct starvation *s = c->starvation;
	bool freed = false;

	for (size_t i = 0; i < s->items.len;) {
		struct starving *it = &s->items.items[i];
		struct job *j = job_by_number(c, it->job);
		freed |= lost_its_quota(it, j);
		if (lost_its_place(c, it, j))
			it->look_at = c->now;
		if (waits(j) && !(it->held.cluster != CLUSTER_NONE && try_start(c, j))) {
			i++;
			continue;
		}
		freed |= it->held.cluster != CLUSTER_NONE;
		*it = s->items.items[--s->items.len];
	}
	if (freed)
		look_at_all(c);
}

/* ---- who starves ---- */

static usec starves_at(const struct core *c, const struct job *j)
{
	return num_add_sat(j->first_attempt, c->settings.starve_after);
}

void starvation_parked(struct core *c, const struct job *j)
{
	struct starving *it = starving_find(c, j);

	if (!c->settings.starve_after)
		return;
	c->starvation->look_at = num_min(c->starvation->look_at, starves_at(c, j));
	/* It was woken and tried: perhaps a cluster can be promised now. */
	if (it && it->held.cluster == CLUSTER_NONE && !it->woken)
		it->look_at = num_min(it->look_at, c->now + AGAIN_SOON);
	if (it)
		it->woken = false;
}

bool starvation_wants(const struct core *c, const struct job *j)
{
	const struct starving *it = starving_find(c, j);

	return it && it->held.cluster == CLUSTER_NONE &&
	       starving_reserved(c) - it->woken < starving_most_reserved(c);
}

bool starvation_promise(struct core *c, struct job *j)
{
	struct running g = {.mem = ARENA_INIT};
	struct starving *it = starving_find(c, j);

	if (!starvation_wants(c, j))
		return false;
	it->held = choose(c, it, j, &g);
	arena_done(&g.mem);
	mark_hope(c, it, j);
	if (it->held.cluster == CLUSTER_NONE)
		return false;
	it->look_at = c->now + MOVE_INTERVAL;
	it->woken = false;
	tell_reserved(c, j, &it->held);
	return true;
}

/* Looks after it from now on when its time has come. */
static void consider(struct core *c, const struct job *j)
{
	const struct starving it = {j->number, {CLUSTER_NONE, RESERVATION_NEVER}, c->now, 0, 0};
	struct starvation *s = c->starvation;
	usec at = starves_at(c, j);

	if (at <= c->now && starving_has_place(c, &it))
		vec_push(&s->items, it);
	else
		s->look_at = num_min(s->look_at, num_max(at, c->now + LOOK_INTERVAL));
}

static void find_starving(struct core *c)
{
	c->starvation->look_at = INT64_MAX;
	for (size_t i = 0; i < pump_asks(c); i++) {
		const struct job *j = pump_parked_first(c, i);
		if (j && !starving_find(c, j))
			consider(c, j);
	}
	for (size_t i = 0; i < c->kueue->lacking.len; i++) {
		const struct job *j = c->kueue->lacking.items[i]->job;
		if (waits(j) && !starving_find(c, j))
			consider(c, j);
	}
}

void starvation_run(struct core *c)
{
	struct running g = {.mem = ARENA_INIT};
	struct starvation *s = c->starvation;

	if (!c->settings.starve_after)
		return;
	look_after(c);
	if (s->look_at <= c->now)
		find_starving(c);
	starving_sort(c);
	vec_foreach (&s->items, it)
		it->woken = false;
	vec_foreach (&s->items, it) {
		struct job *j = it->look_at <= c->now ? job_by_number(c, it->job) : NULL;
		if (j)
			reserve(c, it, j, &g);
	}
	arena_done(&g.mem);
}

usec starvation_due(const struct core *c)
{
	usec due = c->starvation->look_at;

	vec_foreach (&c->starvation->items, it)
		due = num_min(due, it->look_at);
	return due;
}

bool starvation_holds(const struct core *c, const struct job *j)
{
	const struct starving *it = starving_find(c, j);
	return it && it->held.cluster != CLUSTER_NONE;
}

usec starvation_shadow(const struct core *c, const struct job *j)
{
	const struct starving *it = starving_find(c, j);
	return it ? it->held.shadow_us : RESERVATION_NEVER;
}

size_t starvation_jobs(const struct core *c, struct job **out)
{
	size_t n = 0;

	vec_foreach (&c->starvation->items, it) {
		struct job *j = n < STARVATION_MOST ? job_by_number(c, it->job) : NULL;
		if (j)
			out[n++] = j;
	}
	return n;
}

bool starvation_is_hopeless(const struct core *c, const struct job *j)
{
	return j && j->hopeless_until > c->now;
}

bool starvation_may_promise(const struct core *c, const struct job *j)
{
	return waits(j) && !starvation_is_hopeless(c, j) &&
	       (starving_find(c, j) || c->now < num_add_sat(j->unplaced_since, SOON_LISTED));
}

bool starvation_tell(const struct core *c, const struct job *j, char *out, size_t size)
{
	const struct starving *it = starving_find(c, j);
	char when[CLOCK_TEXT_MAX];

	if (!it)
		return false;
	const struct cluster_spec *spec =
	    it->held.cluster == CLUSTER_NONE ? NULL : cluster_view_spec(c->fleet, it->held.cluster);
	if (spec)
		(void)snprintf(out, size,
			       "Cluster %.*s is kept free for it: it starts by %s if running jobs "
			       "keep their limits.",
			       SPAN_ARGS(spec->name), clock_format(it->held.shadow_us, when));
	else
		(void)snprintf(out, size,
			       "No bound on its wait exists: it would fit on no cluster once the "
			       "jobs there reach their time limits, if they have any, or enough "
			       "clusters are kept free for others already.");
	return true;
}

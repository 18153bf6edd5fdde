#include "core/admission/starvation.h"

#include "base/num.h"
#include "core/admission/pump.h"
#include "core/admission/reclaim.h"
#include "core/admission/settle.h"
#include "core/job.h"
#include "core/member.h"
#include "policies/reservation.h"

#define LOOK_INTERVAL USEC_PER_SEC
#define AGAIN_SOON    (5 * USEC_PER_SEC)
#define MOVE_INTERVAL (30 * USEC_PER_SEC) /* how often a better cluster is looked for */
#define MAX_STARVING  32		  /* that are looked after at a time */

struct starving {
	uint64_t job;
	struct reservation held; /* cluster CLUSTER_NONE: no cluster can be promised */
	usec look_at;
};

struct starvation {
	struct VEC(struct starving) items;
	struct evict_fit trial;
	usec look_at; /* for new ones; INT64_MAX: nobody waits */
};

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

static struct starving *find(const struct core *c, const struct job *j)
{
	struct starvation *s = c->starvation;
	for (size_t i = 0; j && i < s->items.len; i++)
		if (s->items.items[i].job == j->number)
			return &s->items.items[i];
	return NULL;
}

static bool holds_cluster(const struct core *c, uint32_t cluster, const struct starving *but)
{
	vec_foreach (&c->starvation->items, it)
		if (it != but && it->held.cluster == cluster)
			return true;
	return false;
}

/* ---- what others may not have ---- */

static int64_t limit_of(const struct job *j)
{
	if (!j || j->digest.limit_seconds < 0)
		return RESERVATION_NEVER;
	return num_mul_sat(j->digest.limit_seconds, USEC_PER_SEC);
}

size_t starvation_exclude(const struct core *c, const struct job *j,
			  struct placement_exclusion *out)
{
	size_t n = 0;

	for (size_t i = 0; j && i < j->n_excluded; i++)
		out[n++] = j->excluded[i];
	vec_foreach (&c->starvation->items, it) {
		if (it->held.cluster == CLUSTER_NONE || (j && it->job == j->number) ||
		    n == STARVATION_EXCLUSIONS)
			continue;
		if (!reservation_allows(&it->held, c->now, limit_of(j)))
			out[n++] = (struct placement_exclusion){it->held.cluster, INT64_MAX, true};
	}
	uint32_t claimed = reclaim_cluster(c, j);
	if (claimed != CLUSTER_NONE && n < STARVATION_EXCLUSIONS)
		out[n++] = (struct placement_exclusion){claimed, INT64_MAX, true};
	return n;
}

/* ---- who runs where, and until when ---- */

/* Made when somebody asks, at most once a turn. */
struct gathered {
	struct arena mem;
	struct reservation_cluster *clusters;
	size_t n;
	bool done;
};

struct pods_of { /* of one job, while they are collected */
	struct VEC(struct evict_pods) pods;
};

static int64_t end_of(const struct core *c, const struct job *j)
{
	int64_t limit = limit_of(j);

	if (j->dispatch.step == DISPATCH_WITHDRAWING || j->dispatch.step == DISPATCH_STOPPING ||
	    j->finished)
		return c->now;
	return limit == RESERVATION_NEVER ? RESERVATION_NEVER : num_add_sat(j->decided_at, limit);
}

static void gather_pods(const struct member *m, const struct map *index, struct arena *mem)
{
	map_foreach (&m->pods, e) {
		const struct member_pod *p = e->value;
		struct pods_of *to =
		    p->job && p->node != NODE_NONE
			? map_get(index, span_make((const char *)&p->job, sizeof(p->job)))
			: NULL;
		if (!to)
			continue;
		struct pod_usage *usage = arena_new(mem, struct pod_usage);
		*usage = (struct pod_usage){p->amounts, p->n_amounts, p->exclusive};
		vec_push(&to->pods, ((struct evict_pods){p->node, 1, usage}));
	}
}

static void gather_member(struct core *c, const struct member *m, struct gathered *g)
{
	struct reservation_job *jobs = arena_array(&g->mem, struct reservation_job, m->jobs.len);
	struct pods_of *of = arena_array(&g->mem, struct pods_of, m->jobs.len);
	struct map index = MAP_INIT;
	size_t n = 0;

	vec_foreach (&m->jobs, number) {
		const struct job *j = job_by_number(c, *number);
		if (!j || !j->holds || member_placed(c, j) != m)
			continue;
		jobs[n] =
		    (struct reservation_job){.pods.number = j->number, .ends_us = end_of(c, j)};
		map_put(&index, span_make((const char *)&jobs[n].pods.number, sizeof(uint64_t)),
			&of[n]);
		n++;
	}
	gather_pods(m, &index, &g->mem);
	for (size_t i = 0; i < n; i++) {
		size_t k = of[i].pods.len;
		struct evict_pods *copy = arena_array(&g->mem, struct evict_pods, k);
		if (k)
			memcpy(copy, of[i].pods.items, k * sizeof(*copy));
		jobs[i].pods.pods = copy;
		jobs[i].pods.n_pods = k;
		vec_done(&of[i].pods);
	}
	map_done(&index);
	reservation_sort(jobs, n);
	g->clusters[g->n++] = (struct reservation_cluster){m->view, jobs, n};
}

static void gather(struct core *c, struct gathered *g)
{
	if (g->done)
		return;
	g->done = true;
	g->clusters = arena_array(&g->mem, struct reservation_cluster, c->members.len);
	vec_foreach (&c->members, p)
		if (*p && !(*p)->leaving)
			gather_member(c, *p, g);
}

/* ---- a job's reservation ---- */

static bool waits(const struct job *j)
{
	return j && j->ask && !j->holds && !j->finished && !j->deleting && !j->gone &&
	       j->hold == HOLD_NONE && dispatch_is_free(&j->dispatch) && (j->unit || j->heap_at);
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

static size_t n_reserved(const struct core *c)
{
	size_t n = 0;
	vec_foreach (&c->starvation->items, it)
		n += it->held.cluster != CLUSTER_NONE;
	return n;
}

static size_t most_reserved(const struct core *c)
{
	size_t n = 0;
	vec_foreach (&c->members, m)
		n += *m != NULL;
	return n / 4 > 0 ? n / 4 : 1;
}

/* Gives back what was charged ahead of a job that waits on. */
static void give_back_quota(struct core *c, struct job *j)
{
	if (j->unit && !j->holds && elastic_unit_is_admitted(j->unit))
		elastic_queue_requeue(c->quota.queues, j->unit);
}

/* Among the clusters that are not kept for somebody else. */
static struct reservation choose(struct core *c, const struct starving *it, const struct job *j,
				 struct gathered *g)
{
	struct reservation_cluster *open;
	size_t n = 0;

	gather(c, g);
	open = arena_array(&g->mem, struct reservation_cluster, g->n);
	for (size_t i = 0; i < g->n; i++)
		if (!holds_cluster(c, g->clusters[i].cluster, it))
			open[n++] = g->clusters[i];
	return reservation_choose(&c->starvation->trial, c->fleet, c->ledger, j->ask, open, n,
				  &it->held, c->now);
}

/* Chooses, or chooses again. */
static void reserve(struct core *c, struct starving *it, struct job *j, struct gathered *g)
{
	struct reservation was = it->held;

	it->look_at = c->now + MOVE_INTERVAL;
	if (was.cluster == CLUSTER_NONE && n_reserved(c) >= most_reserved(c))
		return;
	it->held = choose(c, it, j, g);
	if (it->held.cluster != CLUSTER_NONE && j->unit && !elastic_unit_is_admitted(j->unit) &&
	    elastic_queue_admit(c->quota.queues, j->unit, NULL) < 0)
		it->held = (struct reservation){CLUSTER_NONE, RESERVATION_NEVER};
	if (it->held.cluster == CLUSTER_NONE)
		give_back_quota(c, j);
	else if (it->held.cluster != was.cluster)
		tell_reserved(c, j, &it->held);
	if (was.cluster != CLUSTER_NONE && it->held.cluster != was.cluster)
		pump_wake_all(c);
}

/* Everything that may have it: nobody else was asked yet. */
static bool try_start(struct core *c, struct job *j)
{
	struct placement_exclusion excluded[STARVATION_EXCLUSIONS];
	struct placement_decision d;
	size_t n = starvation_exclude(c, j, excluded);

	if (!placement_decide(c->placer, j->ask, excluded, n, c->now, &d))
		return false;
	settle_place(c, j, &d);
	return j->holds;
}

static void look_after(struct core *c, struct gathered *g)
{
	struct starvation *s = c->starvation;
	bool freed = false;

	for (size_t i = 0; i < s->items.len;) {
		struct starving *it = &s->items.items[i];
		struct job *j = job_by_number(c, it->job);
		bool over = !waits(j) || (it->held.cluster != CLUSTER_NONE && try_start(c, j));
		if (!over) {
			if (it->look_at <= c->now)
				reserve(c, it, j, g);
			i++;
			continue;
		}
		freed = freed || it->held.cluster != CLUSTER_NONE;
		*it = s->items.items[--s->items.len];
	}
	if (freed)
		pump_wake_all(c);
}

/* ---- who starves ---- */

static usec starves_at(const struct core *c, const struct job *j)
{
	return num_add_sat(j->first_attempt, c->settings.starve_after);
}

void starvation_parked(struct core *c, const struct job *j)
{
	struct starving *it = find(c, j);

	if (!c->settings.starve_after)
		return;
	c->starvation->look_at = num_min(c->starvation->look_at, starves_at(c, j));
	/* It was woken and tried: perhaps a cluster can be promised now. */
	if (it && it->held.cluster == CLUSTER_NONE)
		it->look_at = num_min(it->look_at, c->now + AGAIN_SOON);
}

static void find_starving(struct core *c, struct gathered *g)
{
	struct starvation *s = c->starvation;

	s->look_at = INT64_MAX;
	for (size_t i = 0; i < pump_asks(c); i++) {
		struct job *j = pump_parked_first(c, i);
		if (!j || find(c, j))
			continue;
		usec at = starves_at(c, j);
		if (at > c->now || s->items.len == MAX_STARVING) {
			s->look_at = num_min(s->look_at, num_max(at, c->now + LOOK_INTERVAL));
			continue;
		}
		vec_push(&s->items, ((struct starving){.job = j->number,
						       .held = {CLUSTER_NONE, RESERVATION_NEVER}}));
		reserve(c, &s->items.items[s->items.len - 1], j, g);
	}
}

void starvation_run(struct core *c)
{
	struct gathered g = {.mem = ARENA_INIT};

	if (!c->settings.starve_after)
		return;
	look_after(c, &g);
	if (c->starvation->look_at <= c->now)
		find_starving(c, &g);
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
	const struct starving *it = find(c, j);
	return it && it->held.cluster != CLUSTER_NONE;
}

bool starvation_tell(const struct core *c, const struct job *j, char *out, size_t size)
{
	const struct starving *it = find(c, j);
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

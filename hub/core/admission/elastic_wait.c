#include "core/admission/elastic_wait.h"

#include "base/num.h"
#include "core/admission/running.h"
#include "core/admission/starvation.h"
#include "core/job.h"
#include "core/member.h"
#include "quota-tree/elastic_shadow.h"

#define MOST_STARVING 32
#define MOST_HEADS    1024
#define CAST_INTERVAL USEC_PER_SEC
#define LOOK_INTERVAL (10 * USEC_PER_SEC)

struct waiter {
	uint64_t job;
	struct elastic_shadow of;
};

struct elastic_wait {
	struct VEC(struct waiter *) items; /* in the order of the queues */
	usec look_at;			   /* for new ones; INT64_MAX: nobody waits */
	usec cast_at;
	uint64_t generation; /* of the queues when they were cast */
	bool stale, moved;   /* behind what is held; some are offered again */
	bool held;	     /* somebody was held back since */
};

struct elastic_wait *elastic_wait_create(void)
{
	struct elastic_wait *w = xcalloc(1, sizeof(*w));
	w->look_at = INT64_MAX;
	return w;
}

static void drop_at(struct elastic_wait *w, size_t i)
{
	elastic_shadow_done(&w->items.items[i]->of);
	free(w->items.items[i]);
	w->items.len--;
	memmove(w->items.items + i, w->items.items + i + 1,
		(w->items.len - i) * sizeof(*w->items.items));
	w->moved = w->stale = true;
}

static void drop_all(struct elastic_wait *w)
{
	while (w->items.len)
		drop_at(w, w->items.len - 1);
}

struct elastic_wait *elastic_wait_destroy(struct elastic_wait *w)
{
	if (!w)
		return NULL;
	drop_all(w);
	vec_done(&w->items);
	free(w);
	return NULL;
}

void elastic_wait_forget(struct core *c, const struct job *j)
{
	struct elastic_wait *w = c->elastic_wait;

	for (size_t i = 0; w && i < w->items.len; i++)
		if (w->items.items[i]->job == j->number) {
			drop_at(w, i);
			w->look_at = c->now;
			return;
		}
}

void elastic_wait_drop(struct core *c)
{
	drop_all(c->elastic_wait);
	c->elastic_wait->look_at = c->now;
}

void elastic_wait_wake(struct core *c)
{
	c->elastic_wait->moved = c->elastic_wait->stale = true;
}

/* ---- who starves ---- */

static usec starves_at(const struct core *c, const struct job *j)
{
	return num_add_sat(j->first_attempt, c->settings.starve_after);
}

void elastic_wait_added(struct core *c, const struct job *j)
{
	if (c->settings.starve_after)
		c->elastic_wait->look_at = num_min(c->elastic_wait->look_at, starves_at(c, j));
}

static struct job *job_of(const struct core *c, const struct waiter *it)
{
	struct job *j = job_by_number(c, it->job);

	return j && j->unit && j->unit == it->of.unit && !elastic_unit_is_admitted(j->unit) ? j
											    : NULL;
}

static bool is_known(const struct core *c, const struct job *j)
{
	vec_foreach (&c->elastic_wait->items, it)
		if ((*it)->job == j->number)
			return true;
	return false;
}

enum fit { FITS, FITS_LATER, FITS_NEVER };

static enum fit fit_of(const struct core *c, const struct elastic_unit *u)
{
	struct quota_request asks = elastic_unit_request(u);
	struct quota_verdict v;

	if (quota_tree_test(elastic_tree_quota(c->quota.tree), elastic_unit_node(u), &asks, &v))
		return FITS;
	return v.never ? FITS_NEVER : FITS_LATER;
}

/* In their place; the last makes way. */
static void add(struct core *c, struct job *j)
{
	struct elastic_wait *w = c->elastic_wait;
	struct waiter *it;
	size_t at = w->items.len;

	while (at > 0 && elastic_unit_before(j->unit, w->items.items[at - 1]->of.unit))
		at--;
	if (at == MOST_STARVING)
		return;
	if (w->items.len == MOST_STARVING)
		drop_at(w, MOST_STARVING - 1);
	it = xcalloc(1, sizeof(*it));
	*it = (struct waiter){j->number, {.unit = j->unit, .at = ELASTIC_SHADOW_NEVER}};
	vec_push(&w->items, it);
	memmove(w->items.items + at + 1, w->items.items + at,
		(w->items.len - 1 - at) * sizeof(*w->items.items));
	w->items.items[at] = it;
	w->moved = w->stale = true;
}

/* The first of every lane that quota refuses and whose time has come. */
static void look(struct core *c)
{
	struct elastic_wait *w = c->elastic_wait;
	struct elastic_unit **heads = xcalloc(MOST_HEADS, sizeof(struct elastic_unit *));
	size_t n = elastic_queue_heads(c->quota.queues, heads, MOST_HEADS);

	w->look_at = INT64_MAX;
	for (size_t i = 0; i < n; i++) {
		struct job *j = elastic_unit_owner(heads[i]);
		usec at = starves_at(c, j);
		if (at > c->now)
			w->look_at = num_min(w->look_at, at);
		else if (fit_of(c, heads[i]) != FITS_LATER)
			w->look_at = num_min(w->look_at, c->now + LOOK_INTERVAL);
		else if (!is_known(c, j))
			add(c, j);
	}
	free(heads);
}

/* Those that were admitted, or left. The next of their lane may starve as well. */
static void drop_gone(struct core *c)
{
	struct elastic_wait *w = c->elastic_wait;

	for (size_t i = 0; i < w->items.len;) {
		if (job_of(c, w->items.items[i])) {
			i++;
			continue;
		}
		drop_at(w, i);
		w->look_at = c->now;
	}
}

/* Whether quota is kept for it: it lacks quota that it could ever have, or it has some and will be
 * promised a cluster. */
static bool holds(const struct core *c, const struct waiter *it)
{
	const struct job *j = job_of(c, it);
	enum fit fit = j && j->hold == HOLD_NONE ? fit_of(c, j->unit) : FITS_NEVER;

	if (fit != FITS)
		return fit == FITS_LATER;
	return !elastic_queue_shape_is_parked(c->quota.queues, elastic_unit_shape(j->unit)) ||
	       starvation_may_promise(c, j);
}

/* ---- shadow times ---- */

struct endings VEC(struct elastic_ending);

static void add_running(struct core *c, struct endings *out)
{
	vec_foreach (&c->members, p) {
		const struct member *m = *p;
		for (size_t i = 0; m && i < m->jobs.len; i++) {
			const struct job *j = job_by_number(c, m->jobs.items[i]);
			if (!j || !j->holds || !j->unit || !elastic_unit_is_admitted(j->unit) ||
			    member_placed(c, j) != m)
				continue;
			int64_t at = running_end(c, j);
			if (at != RESERVATION_NEVER)
				vec_push(out, (struct elastic_ending){at, j->unit});
		}
	}
}

/* Those that wait for a cluster that is kept free, with quota ahead. */
static void add_ahead(struct core *c, struct endings *out)
{
	struct job *jobs[STARVATION_MOST];
	size_t n = starvation_jobs(c, jobs);

	for (size_t i = 0; i < n; i++) {
		const struct job *j = jobs[i];
		int64_t limit = running_limit(j), at = starvation_shadow(c, j);
		if (!j->unit || j->holds || !elastic_unit_is_admitted(j->unit) ||
		    limit == RESERVATION_NEVER || at == RESERVATION_NEVER)
			continue;
		vec_push(out, (struct elastic_ending){num_add_sat(at, limit), j->unit});
	}
}

static void cast(struct core *c)
{
	struct elastic_wait *w = c->elastic_wait;
	struct elastic_shadow *list[MOST_STARVING];
	struct endings endings = {0};
	size_t n = 0;

	vec_foreach (&w->items, it) {
		struct job *j = job_of(c, *it);
		(*it)->of.at = ELASTIC_SHADOW_NEVER;
		if (j && fit_of(c, j->unit) != FITS)
			j->unplaced_since = 0;
		if (!j || !holds(c, *it) || starvation_is_hopeless(c, j))
			continue;
		(*it)->of.limit = running_limit(j);
		list[n++] = &(*it)->of;
	}
	add_running(c, &endings);
	add_ahead(c, &endings);
	elastic_ending_sort(endings.items, endings.len);
	elastic_shadow_cast(c->quota.queues, list, n, endings.items, endings.len, c->now);
	vec_done(&endings);
	w->cast_at = c->now;
	w->generation = elastic_queue_releases(c->quota.queues);
	w->stale = false;
	w->moved = true;
}

static bool is_stale(const struct core *c)
{
	const struct elastic_wait *w = c->elastic_wait;

	return w->stale || w->generation != elastic_queue_releases(c->quota.queues);
}

void elastic_wait_run(struct core *c)
{
	struct elastic_wait *w = c->elastic_wait;

	if (!c->settings.starve_after || !c->quota.queues)
		return;
	drop_gone(c);
	if (w->look_at <= c->now)
		look(c);
	if (w->items.len && is_stale(c) && (w->moved || c->now - w->cast_at >= CAST_INTERVAL))
		cast(c);
	if (!w->moved)
		return;
	w->moved = w->held = false;
	elastic_queue_let_go(c->quota.queues);
}

usec elastic_wait_due(const struct core *c)
{
	const struct elastic_wait *w = c->elastic_wait;

	if (!c->settings.starve_after || !c->quota.queues)
		return INT64_MAX;
	if (!w->held)
		return w->look_at;
	if (!w->items.len)
		return c->now;
	return is_stale(c) ? num_min(w->look_at, w->cast_at + CAST_INTERVAL) : w->look_at;
}

/* ---- who is held back ---- */

static int64_t ends_if_started(const struct core *c, const struct elastic_unit *u)
{
	int64_t limit = running_limit(elastic_unit_owner(u));

	return limit == RESERVATION_NEVER ? limit : num_add_sat(c->now, limit);
}

/* The first that must not be passed by it; NULL. */
static const struct waiter *first_of(const struct core *c, const struct elastic_unit *u)
{
	vec_foreach (&c->elastic_wait->items, p) {
		const struct waiter *it = *p;
		if (it->of.unit == u)
			return NULL;
		if (holds(c, it) && elastic_unit_before(it->of.unit, u) &&
		    !elastic_shadow_lets(c->quota.queues, &it->of, u, ends_if_started(c, u)))
			return it;
	}
	return NULL;
}

bool elastic_wait_lets(struct core *c, const struct elastic_unit *unit)
{
	if (!c->elastic_wait->items.len || !first_of(c, unit))
		return true;
	c->elastic_wait->held = true;
	return false;
}

void elastic_wait_took(struct core *c, const struct elastic_unit *unit)
{
	vec_foreach (&c->elastic_wait->items, it) {
		if ((*it)->of.unit == unit)
			continue;
		elastic_shadow_took(c->quota.queues, &(*it)->of, unit, ends_if_started(c, unit));
		c->elastic_wait->stale = true;
	}
}

/* ---- words ---- */

static void tell_kept(const struct core *c, const struct waiter *it, char *out, size_t size)
{
	const struct elastic_tree *tree = c->quota.tree;
	struct span own = elastic_tree_path(tree, elastic_unit_node(it->of.unit));
	char when[CLOCK_TEXT_MAX];

	clock_format(it->of.at, when);
	if (it->of.lender != QUOTA_NO_NODE)
		(void)snprintf(
		    out, size,
		    "Quota that comes free for %.*s is kept for it, which has waited "
		    "long; no bound on its wait exists, as it has to borrow what %.*s may "
		    "take back. Else it has its quota by %s if running jobs keep their "
		    "limits.",
		    SPAN_ARGS(own), SPAN_ARGS(elastic_tree_path(tree, it->of.lender)), when);
	else
		(void)snprintf(out, size,
			       "Quota that comes free for %.*s is kept for it, which has waited "
			       "long: it has its quota by %s if running jobs keep their limits and "
			       "none that goes before it comes.",
			       SPAN_ARGS(own), when);
}

static const struct waiter *find(const struct core *c, const struct job *j)
{
	vec_foreach (&c->elastic_wait->items, it)
		if ((*it)->job == j->number)
			return *it;
	return NULL;
}

bool elastic_wait_tell(struct core *c, const struct job *j, char *out, size_t size)
{
	const struct waiter *it, *first;

	if (!j->unit || !c->quota.queues || elastic_unit_is_admitted(j->unit) ||
	    !c->elastic_wait->items.len)
		return false;
	elastic_wait_run(c);
	it = find(c, j);
	first = first_of(c, j->unit);
	if (first && !it) {
		const struct job *o = job_by_number(c, first->job);
		(void)snprintf(
		    out, size,
		    "Quota of %.*s is kept for job %s/%s, which goes before it and has "
		    "waited long.",
		    SPAN_ARGS(elastic_tree_path(c->quota.tree, elastic_unit_node(first->of.unit))),
		    o->ns, o->name);
		return true;
	}
	if (!it || !holds(c, it))
		return false;
	if (it->of.at != ELASTIC_SHADOW_NEVER)
		tell_kept(c, it, out, size);
	else
		(void)snprintf(
		    out, size,
		    "Quota that comes free for %.*s is kept for it, which has waited "
		    "long; no bound on its wait exists, as jobs without a time limit "
		    "hold what it needs, or come before it.",
		    SPAN_ARGS(elastic_tree_path(c->quota.tree, elastic_unit_node(j->unit))));
	return true;
}

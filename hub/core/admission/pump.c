#include "core/admission/pump.h"

#include "core/admission/elastic_wait.h"
#include "core/admission/reclaim.h"
#include "core/admission/settle.h"
#include "core/admission/starvation.h"
#include "core/job.h"
#include "core/kueue/admission.h"
#include "core/provisioning/consumer.h"
#include "core/swap/swap.h"

/* ---- jobs outside any queue: one heap per ask ---- */

/* Higher priority first, then the older, then the smaller name. */
static bool before(const struct job *a, const struct job *b)
{
	if (a->priority != b->priority)
		return a->priority > b->priority;
	if (a->first_attempt != b->first_attempt)
		return a->first_attempt < b->first_attempt;
	return strcmp(a->elastic_name, b->elastic_name) < 0;
}

static void heap_set(struct waiting_jobs *w, size_t at, struct job *j)
{
	w->heap.items[at] = j;
	j->heap_at = at + 1;
}

static void sift_up(struct waiting_jobs *w, size_t at)
{
	struct job *j = w->heap.items[at];
	while (at > 0 && before(j, w->heap.items[(at - 1) / 2])) {
		heap_set(w, at, w->heap.items[(at - 1) / 2]);
		at = (at - 1) / 2;
	}
	heap_set(w, at, j);
}

static void sift_down(struct waiting_jobs *w, size_t at)
{
	struct job *j = w->heap.items[at];
	for (;;) {
		size_t child = at * 2 + 1;
		if (child >= w->heap.len)
			break;
		if (child + 1 < w->heap.len &&
		    before(w->heap.items[child + 1], w->heap.items[child]))
			child++;
		if (!before(w->heap.items[child], j))
			break;
		heap_set(w, at, w->heap.items[child]);
		at = child;
	}
	heap_set(w, at, j);
}

static struct waiting_jobs *waiting_of(struct core *c, const struct ask *ask)
{
	uint32_t id = ask_id(ask);
	while (c->asks.len <= id)
		vec_push(&c->asks, (struct waiting_jobs){0});
	return &c->asks.items[id];
}

static void make_ready(struct core *c, const struct ask *ask)
{
	struct waiting_jobs *w = waiting_of(c, ask);
	if (w->ready || w->heap.len == 0)
		return;
	w->ready = true;
	vec_push(&c->ready_asks, ask_id(ask));
}

/* ---- why not ---- */

#define MAX_VERDICTS	 256
#define EXPLAIN_INTERVAL USEC_PER_SEC

static void forget_why(struct waiting_jobs *w)
{
	free(w->reason);
	free(w->summary);
	w->reason = w->summary = NULL;
}

static void explain(struct core *c, struct ask *ask, struct waiting_jobs *w)
{
	struct verdict verdicts[MAX_VERDICTS];
	char summary[512] = "No cluster has joined the fleet yet.";
	const char *reason = "NoClusters";

	struct placement_exclusion excluded[STARVATION_EXCLUSIONS];
	size_t n = starvation_exclude(c, NULL, excluded);
	n = placement_explain(c->placer, ask, excluded, n, c->now, verdicts, MAX_VERDICTS);
	n = n < MAX_VERDICTS ? n : MAX_VERDICTS;
	if (n) {
		reason = placement_never_fits(verdicts, n)
			     ? "NeverFits"
			     : verdict_reason(verdicts[verdict_top(verdicts, n)].code);
		verdict_summary(c->fleet, verdicts, n, summary, sizeof(summary));
	}
	forget_why(w);
	w->reason = xstrdup(reason);
	w->summary = xstrdup(summary);
	w->explained_at = c->now;
}

static struct waiting_jobs *explained(struct core *c, struct ask *ask)
{
	struct waiting_jobs *w = waiting_of(c, ask);

	if (!w->reason || c->now - w->explained_at >= EXPLAIN_INTERVAL)
		explain(c, ask, w);
	return w;
}

const char *pump_summary(struct core *c, struct ask *ask)
{
	return explained(c, ask)->summary;
}

/* Tells a waiting job's top reason when it is a new one. Looked for at most once a second per
 * ask: all its jobs have the same. */
static void tell_why(struct core *c, struct job *j)
{
	struct waiting_jobs *w = explained(c, j->ask);

	if (j->top_reason && strcmp(j->top_reason, w->reason) == 0)
		return;
	free(j->top_reason);
	j->top_reason = xstrdup(w->reason);
	j->binding_dirty = true;
	job_event_add(c, j, "Warning", "ScheduleBindingFailed", "%s", w->summary);
}

const char *pump_why(const struct core *c, const struct job *j)
{
	const struct waiting_jobs *w =
	    j->ask && ask_id(j->ask) < c->asks.len ? &c->asks.items[ask_id(j->ask)] : NULL;

	if (w && w->reason && j->top_reason && strcmp(w->reason, j->top_reason) == 0)
		return w->summary;
	return "The job waits for its turn.";
}

void pump_enter_ask(struct core *c, const struct ask *ask)
{
	waiting_of(c, ask)->n_jobs++;
}

void pump_leave_ask(struct core *c, struct ask *ask)
{
	struct waiting_jobs *w = waiting_of(c, ask);
	struct ask *parked = w->parked;

	if (--w->n_jobs > 0)
		return;
	forget_why(w);
	vec_done(&w->newcomers);
	vec_done(&w->shapes);
	w->parked = NULL;
	/* Its number may be another one's next: that one is not parked. */
	if (c->quota.queues)
		elastic_queue_wake_shape(c->quota.queues, ask_id(ask));
	if (parked)
		waiting_unpark(c->waiting, parked);
	placer_ask_unref(c->placer, parked);
}

/* ---- filing ---- */

void pump_add(struct core *c, struct job *j)
{
	struct waiting_jobs *w = waiting_of(c, j->ask);

	if (j->heap_at)
		return;
	vec_push(&w->heap, j);
	sift_up(w, w->heap.len - 1);
	/* A newcomer behind others of its ask that wait for room waits with them. */
	if (waiting_is_parked(c->waiting, j->ask)) {
		tell_why(c, j);
		return;
	}
	make_ready(c, j->ask);
	vec_push(&w->newcomers, j->number);
}

void pump_remove(struct core *c, struct job *j)
{
	if (!j->heap_at || !j->ask)
		return;
	struct waiting_jobs *w = waiting_of(c, j->ask);
	size_t at = j->heap_at - 1;
	struct job *last = w->heap.items[--w->heap.len];

	j->heap_at = 0;
	if (last != j) {
		heap_set(w, at, last);
		sift_up(w, at);
		sift_down(w, last->heap_at - 1);
	}
}

/* The best job over all asks that may be tried, NULL when there is none. */
static struct job *best_ready(struct core *c)
{
	struct job *best = NULL;

	for (size_t i = 0; i < c->ready_asks.len;) {
		struct waiting_jobs *w = &c->asks.items[c->ready_asks.items[i]];
		if (!w->ready || w->heap.len == 0) {
			w->ready = false;
			vec_clear(&w->newcomers);
			c->ready_asks.items[i] = c->ready_asks.items[--c->ready_asks.len];
			continue;
		}
		if (!best || before(w->heap.items[0], best))
			best = w->heap.items[0];
		i++;
	}
	return best;
}

/* Those that came with it: they wait behind it for the same. */
static void tell_newcomers(struct core *c, struct waiting_jobs *w)
{
	vec_foreach (&w->newcomers, number) {
		struct job *j = job_by_number(c, *number);
		if (j && j->heap_at && j->ask == w->parked)
			tell_why(c, j);
	}
	vec_clear(&w->newcomers);
}

/* A parked ask is kept alive until it is woken: waiting.h holds no reference. */
static struct waiting_jobs *park(struct core *c, struct ask *ask)
{
	struct waiting_jobs *w = waiting_of(c, ask);

	if (!w->parked)
		w->parked = ask_dup_ref(ask);
	waiting_park(c->waiting, ask);
	return w;
}

void pump_park(struct core *c, struct ask *ask, uint32_t shape)
{
	struct waiting_jobs *w = park(c, ask);

	vec_foreach (&w->shapes, s)
		if (*s == shape)
			return;
	vec_push(&w->shapes, shape);
}

static bool try_place(struct core *c, struct job *j)
{
	struct placement_exclusion excluded[STARVATION_EXCLUSIONS];
	struct placement_decision d;
	size_t n = starvation_exclude(c, j, excluded);

	if (consumer_decide(c, j, excluded, n, &d)) {
		settle_place(c, j, &d);
		return j->holds;
	}
	struct waiting_jobs *w = park(c, j->ask);
	if (!j->unplaced_since)
		j->unplaced_since = c->now;
	starvation_parked(c, j);
	tell_why(c, j);
	tell_newcomers(c, w);
	return false;
}

void pump_try_first(struct core *c, struct job *j)
{
	struct quota_request asks = elastic_unit_request(j->unit);

	if (quota_tree_test(elastic_tree_quota(c->quota.tree), elastic_unit_node(j->unit), &asks,
			    NULL) &&
	    !try_place(c, j))
		elastic_queue_park(c->quota.queues, j->unit);
}

void pump_try_now(struct core *c, struct job *j)
{
	if (j->heap_at)
		(void)try_place(c, j);
	else if (j->unit && !elastic_unit_is_admitted(j->unit) && c->quota.queues)
		pump_try_first(c, j);
}

/* ---- the run ---- */

static void wake_shapes(struct core *c, struct waiting_jobs *w)
{
	vec_foreach (&w->shapes, s)
		kueue_queues_wake_shape(c->kueue->queues, *s);
	vec_clear(&w->shapes);
}

static void wake_ask(struct core *c, struct ask *a)
{
	struct waiting_jobs *w = waiting_of(c, a);
	struct ask *parked = w->parked;

	make_ready(c, a);
	if (c->quota.queues)
		elastic_queue_wake_shape(c->quota.queues, ask_id(a));
	w->parked = NULL;
	wake_shapes(c, w);
	placer_ask_unref(c->placer, parked);
}

static void wake(struct core *c)
{
	struct ask *a;

	while ((a = waiting_next(c->waiting)))
		wake_ask(c, a);
}

void pump_wake_all(struct core *c)
{
	for (size_t i = 0; i < c->asks.len; i++) {
		struct ask *a = c->asks.items[i].parked;
		if (!a)
			continue;
		waiting_unpark(c->waiting, a);
		wake_ask(c, a);
	}
	c->pump_wanted = true;
}

size_t pump_asks(const struct core *c)
{
	return c->asks.len;
}

struct job *pump_parked_first(const struct core *c, size_t ask)
{
	const struct waiting_jobs *w = &c->asks.items[ask];
	struct job *best = w->parked && w->heap.len ? w->heap.items[0] : NULL;
	struct elastic_unit *u = w->parked && c->quota.queues
				     ? elastic_queue_parked_first(c->quota.queues, (uint32_t)ask)
				     : NULL;

	if (u && (!best || before(elastic_unit_owner(u), best)))
		best = elastic_unit_owner(u);
	return best;
}

static bool run_queues(struct core *c)
{
	struct elastic_unit *u;

	if (!c->quota.queues)
		return false;
	/* The tree of the queues is not the one that this commit, or the last one, wrote. */
	if (c->quota.edited || c->observed.len)
		return true;
	elastic_wait_run(c);
	elastic_queue_rewind(c->quota.queues);
	while ((u = elastic_queue_next(c->quota.queues))) {
		struct job *j = elastic_unit_owner(u);
		if (c->pump_budget == 0)
			return true;
		c->pump_budget--;
		if (!reclaim_lets(c, u))
			elastic_queue_skip(c->quota.queues, u);
		else if (!elastic_wait_lets(c, u))
			elastic_queue_hold(c->quota.queues, u);
		else if (!try_place(c, j))
			elastic_queue_park(c->quota.queues, u);
	}
	return false;
}

static bool run_unqueued(struct core *c)
{
	struct job *j;

	while ((j = best_ready(c))) {
		if (c->pump_budget == 0)
			return true;
		c->pump_budget--;
		if (!try_place(c, j))
			waiting_of(c, j->ask)->ready = false;
	}
	return false;
}

bool pump_run(struct core *c)
{
	/* Each admission writes about five rows: decide no more than a few batches can carry. */
	c->pump_budget = 64;
	ledger_rehome(c->ledger);
	swap_run(c);
	wake(c);
	starvation_run(c);
	reclaim_run(c);
	bool more = run_queues(c);
	more |= admission_run(c);
	return run_unqueued(c) || more;
}

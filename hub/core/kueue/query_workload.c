#include "core/kueue/query_workload.h"

#include "base/num.h"
#include "core/admission/settle.h"
#include "core/admission/starvation.h"
#include "core/job.h"
#include "core/kueue/admission_ask.h"
#include "core/kueue/cluster_queue.h"
#include "core/kueue/local_queue.h"
#include "core/kueue/provisioning_check.h"
#include "core/kueue/workload_status.h"
#include "quota-tree/kueue_message.h"

#include <inttypes.h>

#define MAX_VICTIMS  20
#define MAX_PLACED   8 /* flavors for which members are asked: each is a look at the fleet */
#define MAX_CLUSTERS 1024

void query_workload_begin(struct core *c, const struct job *j, struct query_workload *ret)
{
	const struct workload *w = j->workload;

	*ret = (struct query_workload){0};
	if (!w->unit || w->unit->queue == KUEUE_NONE || workload_holds_quota(w) ||
	    !kueue_forest_queue_spec(c->kueue->forest, w->unit->queue))
		return;
	kueue_explain(c->kueue->forest, w->unit, &ret->e);
	ret->explained = true;
}

void query_workload_done(struct query_workload *q)
{
	kueue_explanation_done(&q->e);
}

/* ---- gates ---- */

static bool is_active(const struct core *c, const struct cluster_queue *q)
{
	auto_buf unused = BUF_INIT;
	bool active = false;

	if (q)
		(void)cluster_queue_activity(c, q, &active, &unused);
	return active;
}

void query_workload_gates(const struct core *c, const struct query_workload *q, const struct job *j,
			  struct buf *b)
{
	const struct workload *w = j->workload;
	const struct cluster_queue *behind = local_queue_cluster(c, w->queue);
	bool holds = workload_holds_quota(w);
	bool queue = holds || (w->wait == WORKLOAD_READY && is_active(c, behind));
	/* One that is parked has had its turn. */
	bool turn = holds || !w->unit || kueue_queues_parked_reason(w->unit)[0] ||
		    kueue_queues_position(c->kueue->queues, w->unit) == 0;
	bool quota = holds || (q->explained && q->e.assignment.mode == KUEUE_FIT);
	bool checks = !holds || w->unit->state != KUEUE_RESERVING || w->ready_to_place;
	struct kueue_counts n = {0};

	buf_addf(b, ",\"gates\":{\"policy\":%s,\"queue\":%s,\"turn\":%s,\"quota\":%s",
		 j->hold == HOLD_NO_POLICY ? "false" : "true", queue ? "true" : "false",
		 turn ? "true" : "false", quota ? "true" : "false");
	buf_addf(b, ",\"checks\":%s,\"placement\":%s}", checks ? "true" : "false",
		 dispatch_is_free(&j->dispatch) ? "false" : "true");
	if (behind && behind->node != KUEUE_NONE)
		n = kueue_queues_count(c->kueue->queues, behind->node);
	buf_addf(b, ",\"pending\":%zu", n.pending);
}

/* ---- members ---- */

/* Counts and flavors by pod set as the assignment has them; pod set `set` takes `flavor` for the
 * group that it belongs to (KUEUE_NONE: as the assignment has it). */
static struct workload_set *sets_of(const struct core *c, const struct workload *w,
				    const struct kueue_assignment *a, uint32_t set, uint32_t flavor,
				    struct arena *mem)
{
	const struct kueue_forest *f = c->kueue->forest;
	struct workload_set *sets = arena_array(mem, struct workload_set, w->unit->shape->n_sets);

	for (size_t i = 0; i < w->unit->shape->n_sets; i++) {
		struct workload_set *s = &sets[i];
		s->count = a->counts[i];
		s->flavors =
		    arena_array(mem, uint32_t, a->first_choice[i + 1] - a->first_choice[i] + 1);
		for (uint32_t k = a->first_choice[i]; k < a->first_choice[i + 1]; k++) {
			const struct kueue_choice *choice = &a->choices.items[k];
			bool here = i == set && flavor != KUEUE_NONE &&
				    kueue_forest_lists(f, w->unit->queue, flavor, choice->resource);
			uint32_t it = here ? flavor : choice->flavor;
			uint32_t n = 0;
			while (n < s->n_flavors && s->flavors[n] != it)
				n++;
			if (n == s->n_flavors && it != KUEUE_NONE)
				s->flavors[s->n_flavors++] = it;
		}
	}
	return sets;
}

static struct ask *ask_for(struct core *c, struct job *j, const struct kueue_assignment *a,
			   uint32_t set, uint32_t flavor)
{
	auto_arena mem = ARENA_INIT;
	struct workload *w = j->workload;
	struct workload_set *sets = sets_of(c, w, a, set, flavor, &mem);
	struct job_term *terms = admission_terms(c, w, sets, w->unit->shape->n_sets, &mem);
	const struct propagation_policy *policy = settle_policy(c, j);
	struct err err = ERR_INIT;
	struct ask *ask;

	return policy && job_ask_trial(c, j, policy, terms, &ask, &err) == 0 ? ask : NULL;
}

struct ask *query_workload_ask(struct core *c, const struct query_workload *q, struct job *j)
{
	if (!q->explained || q->e.assignment.mode == KUEUE_NO_FIT)
		return NULL;
	return ask_for(c, j, &q->e.assignment, 0, KUEUE_NONE);
}

/* How many members have room for the gang with this flavor, and what most of the others say. */
static void add_clusters(struct core *c, const struct query_workload *q, struct job *j,
			 const struct kueue_flavor_verdict *f, struct buf *b)
{
	struct placement_exclusion excluded[STARVATION_EXCLUSIONS];
	size_t n_excluded = starvation_exclude(c, j, excluded), n, fit = 0, top = 0;
	struct ask *ask = ask_for(c, j, &q->e.assignment, f->pod_set, f->flavor);
	size_t by_code[VERDICT_MAX] = {0};

	if (!ask)
		return;
	struct verdict *v = xcalloc(MAX_CLUSTERS, sizeof(*v));
	n = placement_explain(c->placer, ask, excluded, n_excluded, c->now, v, MAX_CLUSTERS);
	n = n < MAX_CLUSTERS ? n : MAX_CLUSTERS;
	for (size_t i = 0; i < n; i++) {
		bool fits = v[i].code == VERDICT_FITS || v[i].code == VERDICT_LOWER_SCORE;
		fit += fits;
		by_code[v[i].code] += !fits;
	}
	for (size_t i = 0; i < VERDICT_MAX; i++)
		top = by_code[i] > by_code[top] ? i : top;
	buf_addf(b, ",\"clusters\":%zu,\"clustersThatFit\":%zu", n, fit);
	if (fit < n)
		buf_addf(b, ",\"clusterReason\":\"%s\"", verdict_reason((enum verdict_code)top));
	free(v);
	placer_ask_unref(c->placer, ask);
}

/* ---- flavors ---- */

static void add_reasons(const struct core *c, const struct query_workload *q,
			const struct kueue_flavor_verdict *f, struct buf *b)
{
	char text[512];

	buf_add_str(b, ",\"reasons\":[");
	for (size_t i = 0; i < f->n_reasons; i++) {
		kueue_message_reason(c->kueue->forest, &q->e.reasons.items[f->first_reason + i],
				     text, sizeof(text));
		buf_add_str(b, i ? "," : "");
		buf_add_json_str(b, span_of(text));
	}
	buf_add_char(b, ']');
}

static void add_flavors(struct core *c, const struct query_workload *q, struct job *j,
			struct buf *b)
{
	const struct kueue_forest *forest = c->kueue->forest;
	size_t placed = 0;

	buf_add_str(b, ",\"flavors\":[");
	for (size_t i = 0; i < q->e.flavors.len; i++) {
		const struct kueue_flavor_verdict *f = &q->e.flavors.items[i];
		buf_add_str(b, i ? ",{\"podSet\":" : "{\"podSet\":");
		buf_add_json_str(b, j->workload->unit->shape->sets[f->pod_set].name);
		buf_add_str(b, ",\"name\":");
		buf_add_json_str(b, kueue_forest_flavor_name(forest, f->flavor));
		buf_addf(b, ",\"verdict\":\"%s\",\"borrows\":%s", kueue_mode_to_string(f->mode),
			 f->borrow_level ? "true" : "false");
		add_reasons(c, q, f, b);
		if (f->mode > KUEUE_NO_CANDIDATES && q->e.assignment.mode != KUEUE_NO_FIT &&
		    placed++ < MAX_PLACED)
			add_clusters(c, q, j, f, b);
		buf_add_char(b, '}');
	}
	buf_add_char(b, ']');
}

/* ---- preemption ---- */

static const char *policy_word(enum kueue_preempt_policy p)
{
	static const char *const words[] = {[KUEUE_PREEMPT_NEVER] = "Never",
					    [KUEUE_PREEMPT_LOWER_PRIORITY] = "LowerPriority",
					    [KUEUE_PREEMPT_LOWER_OR_NEWER_EQUAL] =
						"LowerOrNewerEqualPriority",
					    [KUEUE_PREEMPT_ANY] = "Any"};
	return words[p];
}

static void add_victims(const struct core *c, const struct kueue_victims *v, struct buf *b)
{
	buf_addf(b, ",\"victimCount\":%zu,\"victims\":[", v->items.len);
	for (size_t i = 0; i < v->items.len && i < MAX_VICTIMS; i++) {
		const struct kueue_victim *it = &v->items.items[i];
		buf_add_str(b, i ? ",{\"workload\":" : "{\"workload\":");
		buf_add_json_str(b, it->workload->name);
		buf_add_str(b, ",\"clusterQueue\":");
		buf_add_json_str(b, kueue_forest_name(c->kueue->forest, it->workload->queue));
		buf_addf(b, ",\"priority\":%d,\"reason\":\"%s\"}", it->workload->priority,
			 kueue_preempt_reason_to_string(it->reason));
	}
	buf_add_char(b, ']');
}

/* Whether all that would have to leave have been told so. */
static bool are_stopping(const struct kueue_victims *v)
{
	vec_foreach (&v->items, it)
		if (it->workload->state != KUEUE_EVICTED)
			return false;
	return true;
}

/* What preemption could do for the flavors that it would be tried with. */
static void add_preemption(const struct core *c, const struct query_workload *q,
			   const struct workload *w, struct buf *b)
{
	const struct kueue_queue_spec *s =
	    kueue_forest_queue_spec(c->kueue->forest, w->unit->queue);
	const struct kueue_preemption *p = &s->preemption;
	enum kueue_mode mode = q->e.assignment.mode;
	const char *words = "is not needed: quota fits";

	if (mode == KUEUE_NO_FIT)
		words = "cannot help: no flavor could hold the workload";
	else if (mode != KUEUE_FIT && q->e.victims.items.len)
		words = are_stopping(&q->e.victims) ? "is under way" : "would free the quota";
	else if (mode != KUEUE_FIT)
		words = "finds nobody that the policies allow to preempt, or too few";
	buf_addf(b,
		 ",\"preemption\":{\"withinClusterQueue\":\"%s\",\"reclaimWithinCohort\":\"%s\","
		 "\"borrowWithinCohort\":\"%s\",\"message\":\"%s\"",
		 policy_word(p->within_cluster_queue), policy_word(p->reclaim_within_cohort),
		 policy_word(p->borrow_within_cohort), words);
	add_victims(c, &q->e.victims, b);
	buf_add_char(b, '}');
}

/* ---- what it waits for beside quota ---- */

/* Attempts beyond the count that the check shows, which begins anew when it was rejected. */
#define UNCOUNTED_ATTEMPTS 32

/* Before the next attempt the check itself says no more than that it is Pending again. */
static void add_last_attempt(const struct core *c, const struct workload *w,
			     const struct workload_check *k, struct buf *b)
{
	auto_buf words = BUF_MAX(8192);
	int32_t least = (int32_t)num_max(1, num_min(k->retries, INT32_MAX - UNCOUNTED_ATTEMPTS));
	int32_t attempt = least + UNCOUNTED_ATTEMPTS;

	if (workload_holds_quota(w))
		return;
	while (attempt >= least && !provisioning_check_last_words(c, w, k->name, attempt, &words))
		attempt--;
	if (attempt < least)
		return;
	buf_addf(b, ",\"attempt\":%d,\"lastAttempt\":", attempt);
	buf_add_json_str(b, buf_span(&words));
}

static void add_checks(struct core *c, const struct workload *w, struct buf *b)
{
	auto_arena mem = ARENA_INIT;
	struct workload_status status;
	struct store_object o;

	if (registry_get(c->batch, kind_by_type(c->kinds, TYPE_WORKLOAD), w->ns, w->name, &o) < 0)
		return;
	workload_status_read(&o, &mem, &status);
	if (!status.n_checks)
		return;
	buf_add_str(b, ",\"checks\":[");
	for (size_t i = 0; i < status.n_checks; i++) {
		buf_add_str(b, i ? ",{\"name\":" : "{\"name\":");
		buf_add_json_str(b, status.checks[i].name);
		add_last_attempt(c, w, &status.checks[i], b);
		buf_add_str(b, ",\"state\":");
		buf_add_json_str(b, status.checks[i].state);
		buf_add_str(b, ",\"message\":");
		buf_add_json_str(b, status.checks[i].message);
		buf_add_char(b, '}');
	}
	buf_add_char(b, ']');
}

static void add_back_off(const struct core *c, const struct workload *w, struct buf *b)
{
	char when[CLOCK_TEXT_MAX];

	if (w->requeues)
		buf_addf(b, ",\"requeues\":%d", w->requeues);
	if (w->requeue_at > c->now)
		buf_addf(b, ",\"backoffUntil\":\"%s\"", clock_format(w->requeue_at, when));
}

static void add_queue(const struct core *c, const struct workload *w, struct buf *b)
{
	const struct cluster_queue *q = local_queue_cluster(c, w->queue);
	const struct kueue_queues *queues = c->kueue->queues;
	auto_buf message = BUF_INIT;
	bool active;

	buf_add_str(b, ",\"localQueue\":");
	buf_add_json_str(b, w->queue ? w->queue->name : SPAN(""));
	buf_add_str(b, ",\"clusterQueue\":");
	buf_add_json_str(b, span_of(q ? q->name : ""));
	if (w->unit && !workload_holds_quota(w)) {
		size_t at = kueue_queues_position(queues, w->unit);
		size_t local = kueue_queues_position_local(queues, w->unit);
		if (at != SIZE_MAX)
			buf_addf(b, ",\"position\":%zu,\"positionInLocalQueue\":%zu", at + 1,
				 local == SIZE_MAX ? 0 : local + 1);
	}
	if (!q)
		return;
	const char *reason = cluster_queue_activity(c, q, &active, &message);
	buf_addf(b, ",\"active\":%s,\"activeReason\":\"%s\",\"activeMessage\":",
		 active ? "true" : "false", reason);
	buf_add_json_str(b, buf_span(&message));
}

/* One sentence on where quota stands now, with today's numbers. */
static void add_message(const struct core *c, const struct query_workload *q,
			const struct workload *w, struct buf *b)
{
	const struct kueue_assignment *a = &q->e.assignment;
	char *text = xcalloc(1, KUEUE_MESSAGE_MAX);
	const char *reason = "WaitingForQuota";

	kueue_message_assignment(c->kueue->forest, w->unit, a, text, KUEUE_MESSAGE_MAX);
	if (a->mode == KUEUE_NO_FIT)
		reason = kueue_no_fit_to_string(a->no_fit);
	else if (a->mode == KUEUE_FIT)
		reason = "";
	buf_addf(b, ",\"reason\":\"%s\",\"message\":", reason);
	buf_add_json_str(b, span_of(text));
	free(text);
}

void query_workload_add(struct core *c, const struct query_workload *q, struct job *j,
			struct buf *b)
{
	const struct workload *w = j->workload;

	buf_add_str(b, ",\"kueue\":{\"workload\":");
	buf_add_json_str(b, w->name);
	buf_addf(b, ",\"priority\":%d,\"priorityClass\":", w->priority);
	buf_add_json_str(b, span_of(w->priority_class ? w->priority_class : ""));
	add_queue(c, w, b);
	add_back_off(c, w, b);
	if (q->explained) {
		add_message(c, q, w, b);
		add_flavors(c, q, j, b);
		add_preemption(c, q, w, b);
	}
	if (!w->admitted_at)
		add_checks(c, w, b);
	buf_add_char(b, '}');
}

#include "core/provisioning/consumer.h"

#include "core/admission/settle.h"
#include "core/job.h"
#include "core/kueue/admission_ask.h"
#include "core/kueue/cluster_queue.h"
#include "core/kueue/local_queue.h"
#include "core/kueue/provisioning_check.h"
#include "core/kueue/provisioning_config.h"
#include "core/member.h"
#include "core/provisioning/request_phase.h"
#include "core/swap/swap_hold.h"

enum source { SOURCE_NONE, SOURCE_UNKNOWN, SOURCE_REQUEST };

/* Where its nodes come from. */
static enum source source_of(const struct core *c, const struct job *j,
			     struct provisioning_request **ret)
{
	bool known = true;

	*ret = NULL;
	if (j->digest.provisioning_request.len)
		*ret = request_find(c, span_of(j->ns), j->digest.provisioning_request);
	else if (j->workload)
		*ret = provisioning_check_request(c, j->workload, &known);
	if (*ret)
		return SOURCE_REQUEST;
	if (!known || j->digest.provisioning_request.len ||
	    (j->workload && j->workload->provisioning))
		return SOURCE_UNKNOWN;
	return SOURCE_NONE;
}

/* The pods that its check does not manage find room on the member as any others do. */
static bool fit_others(struct core *c, struct job *j, uint32_t view, struct placement_decision *ret)
{
	const struct workload *w = j->workload;
	auto_arena mem = ARENA_INIT;
	const struct propagation_policy *policy = settle_policy(c, j);
	struct err err = ERR_INIT;
	struct ask *ask;
	bool any = false;

	*ret = (struct placement_decision){.cluster = view};
	if (j->digest.provisioning_request.len || !w || !w->provisioning)
		return true;
	uint64_t asked_for = provisioning_check_managed(w);
	struct job_term *terms = admission_terms(c, w, w->sets, w->n_sets, &mem);
	for (size_t i = 0; i < j->digest.n_pod_sets; i++) {
		bool managed = i >= 64 || asked_for & UINT64_C(1) << i;
		any = any || (!managed && j->digest.pod_sets[i].count > 0);
		if (managed)
			terms[i].count = 0;
	}
	if (!any)
		return true;
	if (job_ask_trial(c, j, policy, terms, &ask, &err) < 0)
		return false;
	bool fits = placement_decide_on(c->placer, ask, view, ret);
	placer_ask_unref(c->placer, ask);
	return fits;
}

static bool is_excluded(const struct placement_exclusion *excluded, size_t n, uint32_t cluster)
{
	for (size_t i = 0; i < n; i++)
		if (excluded[i].cluster == cluster)
			return true;
	return false;
}

/* A gang that moves goes where room is kept for it, when it fits there still. */
static bool decide_any(struct core *c, const struct job *j,
		       const struct placement_exclusion *excluded, size_t n,
		       struct placement_decision *ret)
{
	uint32_t kept = swap_hold_lift(c, j);

	if (kept != CLUSTER_NONE && !is_excluded(excluded, n, kept) &&
	    placement_decide_on(c->placer, j->ask, kept, ret))
		return true;
	if (placement_decide(c->placer, j->ask, excluded, n, c->now, ret))
		return true;
	swap_hold_back(c, j);
	return false;
}

bool consumer_decide(struct core *c, const struct job *j,
		     const struct placement_exclusion *excluded, size_t n_excluded,
		     struct placement_decision *ret)
{
	struct provisioning_request *r;

	switch (source_of(c, j, &r)) {
	case SOURCE_NONE:
		return decide_any(c, j, excluded, n_excluded, ret);
	case SOURCE_REQUEST: {
		const struct request_try *t = request_winner(r);
		const struct member *m = t ? member_by_number(c, t->member) : NULL;
		if (!m || m->condition != MEMBER_READY || m->view == CLUSTER_NONE)
			return false;
		return fit_others(c, job_by_number(c, j->number), m->view, ret);
	}
	case SOURCE_UNKNOWN:
	default:
		return false;
	}
}

static void wait_for_news(struct core *c, const struct job *j)
{
	vec_foreach (&c->provisioning->consumers, n)
		if (*n == j->number)
			return;
	vec_push(&c->provisioning->consumers, j->number);
}

bool consumer_is_held(struct core *c, const struct job *j, struct buf *words)
{
	struct span name = j->digest.provisioning_request;
	struct provisioning_request *r;
	auto_buf why = BUF_INIT;

	if (!name.len)
		return false;
	r = request_find(c, span_of(j->ns), name);
	if (r && request_winner(r))
		return false;
	wait_for_news(c, j);
	if (!r || !r->exists) {
		buf_addf(words, "ProvisioningRequest \"%.*s\" does not exist at the hub.",
			 SPAN_ARGS(name));
		return true;
	}
	const struct request_try *t = request_shown(r);
	buf_addf(words, "ProvisioningRequest \"%.*s\" has no nodes: %s", SPAN_ARGS(name),
		 request_phase_name(t ? t->phase : PROVISION_PENDING));
	if (t && t->status)
		request_phase_words(span_of(t->status), &why);
	if (why.len)
		buf_addf(words, " (%s)", why.ptr);
	buf_add_char(words, '.');
	return true;
}

/* ---- why ---- */

bool consumer_gets_nodes(const struct core *c, const struct job *j)
{
	const struct cluster_queue *q;

	if (j->digest.provisioning_request.len)
		return true;
	q = j->workload ? local_queue_cluster(c, j->workload->queue) : NULL;
	if (q)
		vec_foreach (&q->checks, k)
			if (provisioning_config_is_check(c, k->name))
				return true;
	return false;
}

static void add_verdict(const struct member *m, const struct request_try *t, struct buf *b)
{
	const char *name = t ? request_phase_name(t->phase) : "NotAsked";
	auto_buf words = BUF_INIT;

	if (!t)
		buf_add_str(&words, "it was not asked for nodes yet");
	else if (t->message)
		buf_add_str(&words, t->message);
	else if (t->status)
		request_phase_words(span_of(t->status), &words);
	if (!words.len)
		buf_add_str(&words, "it was asked for nodes, and has said nothing yet");
	buf_add_str(b, "{\"cluster\":");
	buf_add_json_str(b, span_of(m->name));
	buf_addf(b, ",\"verdict\":\"%s\",\"never\":false,\"decider\":\"%s\",\"message\":", name,
		 t && t->phase == PROVISION_FAILED ? "cluster admin" : "wait");
	buf_add_json_str(b, buf_span(&words));
	buf_add_str(b, ",\"remedy\":\"\",\"need\":0,\"free\":0,\"total\":0,\"largest\":0}");
}

static int by_name(const void *a, const void *b)
{
	const struct member *const *x = a, *const *y = b;
	return strcmp((*x)->name, (*y)->name);
}

bool consumer_add_verdicts(struct core *c, const struct job *j, struct buf *b)
{
	struct VEC(const struct member *) all = {0};
	struct provisioning_request *r;

	if (source_of(c, j, &r) != SOURCE_REQUEST)
		return false;
	buf_add_str(b, ",\"neverFits\":false,\"clusters\":[");
	vec_foreach (&c->members, m)
		if (*m)
			vec_push(&all, *m);
	if (all.len)
		qsort(all.items, all.len, sizeof(*all.items), by_name);
	for (size_t i = 0; i < all.len; i++) {
		buf_add_str(b, i ? "," : "");
		add_verdict(all.items[i], request_try_on(r, all.items[i]->number), b);
	}
	buf_add_char(b, ']');
	vec_done(&all);
	return true;
}

void consumer_news(struct core *c, const struct provisioning_request *r)
{
	struct VEC(uint64_t) all = {0};

	vec_foreach (&c->provisioning->consumers, n)
		vec_push(&all, *n);
	vec_clear(&c->provisioning->consumers);
	vec_foreach (&all, n) {
		struct job *j = job_by_number(c, *n);
		if (!j || !dispatch_is_free(&j->dispatch) || j->finished)
			continue;
		if (span_is(j->digest.provisioning_request, r->name) && strcmp(j->ns, r->ns) == 0)
			settle_offer(c, j);
		else
			wait_for_news(c, j);
	}
	vec_done(&all);
}

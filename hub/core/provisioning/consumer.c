#include "core/provisioning/consumer.h"

#include "core/admission/pump.h"
#include "core/admission/settle.h"
#include "core/job.h"
#include "core/kueue/cluster_queue.h"
#include "core/kueue/local_queue.h"
#include "core/kueue/provisioning_check.h"
#include "core/kueue/provisioning_config.h"
#include "core/member.h"
#include "core/provisioning/request_claim.h"
#include "core/provisioning/request_nodes.h"
#include "core/provisioning/request_phase.h"
#include "core/provisioning/request_share.h"
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

static void wait_for_news(struct core *c, const struct job *j)
{
	vec_foreach (&c->provisioning->consumers, n)
		if (*n == j->number)
			return;
	vec_push(&c->provisioning->consumers, j->number);
}

/* ---- what it asks ---- */

/* Borrowed; NULL while no member has nodes for it. */
static const struct request_try *nodes_of(const struct provisioning_request *r)
{
	return r && r->exists ? request_winner(r) : NULL;
}

static struct span value_of(const struct request_try *t)
{
	return t->nodes ? span_of(t->nodes) : SPAN_NONE;
}

static struct job_term *own_terms(const struct job *j, const struct job_term *terms,
				  struct arena *mem)
{
	size_t n = job_n_placed(j);
	struct job_term *own = arena_array(mem, struct job_term, n);

	for (size_t i = 0; i < n; i++)
		own[i] = terms ? terms[i] : (struct job_term){.count = -1};
	return own;
}

static bool has(uint64_t bits, size_t set)
{
	return set >= 64 || bits & UINT64_C(1) << set;
}

/* Of the request that its pods name. */
static const struct job_term *terms_of_named(const struct core *c, const struct job *j,
					     const struct job_term *terms, struct arena *mem)
{
	const struct request_try *t =
	    nodes_of(request_find(c, span_of(j->ns), j->digest.provisioning_request));

	if (!t)
		return terms;
	struct job_term *own = own_terms(j, terms, mem);
	for (size_t i = 0; i < j->digest.n_pod_sets; i++)
		if (has(j->digest.consumers, i))
			request_nodes_term(value_of(t), mem, &own[i]);
	return own;
}

const struct job_term *consumer_terms(struct core *c, const struct job *j,
				      const struct job_term *terms, struct arena *mem)
{
	const struct workload *w = j->workload;
	struct job_term *own = NULL;

	if (j->digest.provisioning_request.len)
		return terms_of_named(c, j, terms, mem);
	for (const struct provisioning_check *p = w ? w->provisioning : NULL; p; p = p->next) {
		const struct provisioning_request *r = request_find(c, w->ns, span_of(p->request));
		const struct request_try *t = nodes_of(r);
		if (!t)
			continue;
		own = own ? own : own_terms(j, terms, mem);
		for (size_t i = 0; i < j->digest.n_pod_sets; i++) {
			if (!has(p->managed, i))
				continue;
			request_nodes_term(value_of(t), mem, &own[i]);
			provisioning_check_labels(c, p, r, mem, &own[i]);
		}
	}
	return own ? own : terms;
}

/* ---- where it goes ---- */

#define MOST_REQUESTS 16 /* of one workload */

struct requests {
	struct provisioning_request *items[MOST_REQUESTS];
	size_t n;
};

/* All whose nodes it takes; `lead` is one of them. */
static struct requests requests_of(const struct core *c, const struct job *j,
				   struct provisioning_request *lead)
{
	struct requests all = {{lead}, 1};
	const struct workload *w = j->digest.provisioning_request.len ? NULL : j->workload;

	for (const struct provisioning_check *p = w ? w->provisioning : NULL; p; p = p->next) {
		struct provisioning_request *r = request_find(c, w->ns, span_of(p->request));
		if (r && r != lead && all.n < MOST_REQUESTS)
			all.items[all.n++] = r;
	}
	return all;
}

/* With what is claimed for it out of the way. Lifting claims wakes others, so not in vain. */
static bool fits_on(struct core *c, const struct job *j, const struct requests *all,
		    uint32_t cluster)
{
	struct evict_fit trial = {0};
	struct evict_job own[MOST_REQUESTS];
	bool fits = false;

	if (evict_fit_begin(&trial, c->fleet, c->ledger, j->ask, cluster)) {
		for (size_t i = 0; i < all->n; i++)
			request_claim_lift(c, all->items[i], &trial, &own[i]);
		fits = evict_fit_fits(&trial);
		evict_fit_end(&trial);
	}
	evict_fit_done(&trial);
	return fits;
}

static bool decide_on_nodes(struct core *c, const struct job *j, struct provisioning_request *lead,
			    struct placement_decision *ret)
{
	const struct request_try *t = request_winner(lead);
	const struct member *m = t ? member_by_number(c, t->member) : NULL;
	struct requests all = requests_of(c, j, lead);

	if (!m || m->condition != MEMBER_READY || m->view == CLUSTER_NONE ||
	    !fits_on(c, j, &all, m->view)) {
		wait_for_news(c, j);
		request_claim_await(c, lead);
		return false;
	}
	for (size_t i = 0; i < all.n; i++) {
		request_claim_drop(c, all.items[i]);
		request_due(c, all.items[i], c->now); /* claims again, when nobody is placed */
	}
	return placement_decide_on(c->placer, j->ask, m->view, ret);
}

void consumer_placed(struct core *c, const struct job *j)
{
	struct provisioning_request *r =
	    j->digest.provisioning_request.len
		? request_find(c, span_of(j->ns), j->digest.provisioning_request)
		: NULL;

	if (!r || !request_share_take(c, r, j))
		return;
	/* At once: others are placed in the same batch. */
	request_claim_drop(c, r);
	request_claim_look(c, r);
	r->row_dirty = true;
	request_dirty(c, r);
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
	case SOURCE_REQUEST:
		return decide_on_nodes(c, j, r, ret);
	case SOURCE_UNKNOWN:
	default:
		return false;
	}
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

/* Why a member that says Provisioned is not gone to: its nodes are not to be seen, or are full. */
static void add_misfit(struct core *c, const struct job *j, const struct member *m, struct buf *out)
{
	size_t most = c->members.len + 1, n;
	struct verdict *all = xcalloc(most, sizeof(*all));
	char text[512];

	n = placement_explain(c->placer, j->ask, NULL, 0, c->now, all, most);
	for (size_t i = 0; i < n && i < most; i++) {
		if (all[i].cluster != m->view || all[i].code == VERDICT_FITS ||
		    all[i].code == VERDICT_LOWER_SCORE)
			continue;
		verdict_sentence(c->fleet, &all[i], c->now, text, sizeof(text));
		buf_addf(out, "%s%s", out->len ? "; its nodes as the hub sees them: " : "", text);
	}
	free(all);
}

static void add_verdict(struct core *c, const struct job *j, const struct member *m,
			const struct request_try *t, bool won, struct buf *b)
{
	const char *name = t ? request_phase_name(t->phase) : "NotAsked";
	auto_buf words = BUF_INIT;

	if (!t)
		buf_add_str(&words, "it was not asked for nodes yet");
	else if (t->message)
		buf_add_str(&words, t->message);
	else if (t->status)
		request_phase_words(span_of(t->status), &words);
	if (won && j->ask && !j->holds)
		add_misfit(c, j, m, &words);
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
		const struct request_try *t = request_try_on(r, all.items[i]->number);
		add_verdict(c, j, all.items[i], t, t && t == request_winner(r), b);
	}
	buf_add_char(b, ']');
	vec_done(&all);
	return true;
}

/* What its ask lacks cannot be seen from nodes alone, of which some are claimed for it: it is tried
 * now, not when the ask is woken. */
static void offer(struct core *c, struct job *j)
{
	settle_offer(c, j);
	pump_try_now(c, j);
	if (j->workload && j->workload->unit)
		kueue_queues_wake_shape(c->kueue->queues, j->workload->unit->shape->number);
}

void consumer_news(struct core *c, struct provisioning_request *r)
{
	struct VEC(uint64_t) all = {0};

	request_claim_awaited(c, r);

	vec_foreach (&c->provisioning->consumers, n)
		vec_push(&all, *n);
	vec_clear(&c->provisioning->consumers);
	vec_foreach (&all, n) {
		struct job *j = job_by_number(c, *n);
		if (!j || !dispatch_is_free(&j->dispatch) || j->finished)
			continue;
		if (span_is(j->digest.provisioning_request, r->name) && strcmp(j->ns, r->ns) == 0)
			offer(c, j);
		else
			wait_for_news(c, j);
	}
	vec_done(&all);
}

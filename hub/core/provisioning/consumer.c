#include "core/provisioning/consumer.h"

#include "core/admission/settle.h"
#include "core/job.h"
#include "core/kueue/provisioning_check.h"
#include "core/member.h"
#include "core/provisioning/request_phase.h"

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

bool consumer_decide(struct core *c, const struct job *j,
		     const struct placement_exclusion *excluded, size_t n_excluded,
		     struct placement_decision *ret)
{
	struct provisioning_request *r;

	switch (source_of(c, j, &r)) {
	case SOURCE_NONE:
		return placement_decide(c->placer, j->ask, excluded, n_excluded, c->now, ret);
	case SOURCE_REQUEST: {
		const struct request_try *t = request_winner(r);
		const struct member *m = t ? member_by_number(c, t->member) : NULL;
		if (!m || m->condition != MEMBER_READY || m->view == CLUSTER_NONE)
			return false;
		*ret = (struct placement_decision){.cluster = m->view};
		return true;
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

void consumer_news(struct core *c, const struct provisioning_request *r)
{
	struct VEC(uint64_t) all = {0};

	vec_foreach (&c->provisioning->consumers, n)
		vec_push(&all, *n);
	vec_clear(&c->provisioning->consumers);
	vec_foreach (&all, n) {
		struct job *j = job_by_number(c, *n);
		if (!j || j->dispatch.step != DISPATCH_IDLE || j->finished)
			continue;
		if (span_is(j->digest.provisioning_request, r->name) && strcmp(j->ns, r->ns) == 0)
			settle_offer(c, j);
		else
			wait_for_news(c, j);
	}
	vec_done(&all);
}

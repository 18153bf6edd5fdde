#include "core/provisioning/request_claim.h"

#include "core/job.h"
#include "core/kueue/workload.h"
#include "core/member.h"
#include "core/provisioning/request_sets.h"
#include "core/provisioning/request_share.h"
#include "policies/fit.h"

#define CLAIM_BIT     (UINT64_C(1) << 62) /* of the ledger's number: jobs' own count from 1 */
#define LOOK_INTERVAL (5 * USEC_PER_SEC)  /* while the nodes are not to be seen, or are full */

static uint64_t number_of(const struct provisioning_request *r)
{
	return r->number | CLAIM_BIT;
}

/* Whether nodes of its member are looked at for it. */
static void watch(struct core *c, struct provisioning_request *r, bool unclaimed, bool awaited)
{
	bool was = r->unclaimed || r->awaited, is = unclaimed || awaited;

	r->unclaimed = unclaimed;
	r->awaited = awaited;
	c->provisioning->n_watched += (size_t)is - (size_t)was;
	if (is)
		request_due(c, r, c->now + LOOK_INTERVAL);
}

void request_claim_await(struct core *c, struct provisioning_request *r)
{
	watch(c, r, r->unclaimed, true);
}

void request_claim_awaited(struct core *c, struct provisioning_request *r)
{
	watch(c, r, r->unclaimed, false);
}

void request_claim_forget(struct core *c, struct provisioning_request *r)
{
	request_claim_drop(c, r);
	watch(c, r, false, false);
}

/* ---- what is claimed ---- */

/* What nobody has taken of it, with a reference; NULL when its PodTemplates cannot be read. */
static struct shape *shape_of(struct core *c, const struct provisioning_request *r,
			      struct span nodes)
{
	auto_arena mem = ARENA_INIT;
	struct pod_set *sets = arena_array(&mem, struct pod_set, REQUEST_MAX_SETS);
	struct job_shape spec = {.sets = sets};
	struct shape *shape;

	if (request_sets_read(c, r, nodes, &mem, sets, &spec.n_sets) < 0)
		return NULL;
	for (size_t i = 0; i < spec.n_sets; i++)
		sets[i].count = request_share_left(r, i, sets[i].count);
	return fleet_shape_ref(c->fleet, &spec, &shape, NULL) < 0 ? NULL : shape;
}

static bool claim(struct core *c, struct provisioning_request *r, const struct request_try *t,
		  const struct member *m)
{
	struct span nodes = t->nodes ? span_of(t->nodes) : SPAN_NONE;
	struct shape *shape = shape_of(c, r, nodes);
	struct fit_result where;

	if (!shape)
		return false;
	if (fit_gang(c->fleet, m->view, shape, FIT_NODES, &where))
		r->claimed = ledger_claim(c->ledger, number_of(r), shape, m->view, where.slots,
					  where.n_slots, NULL) == 0;
	fleet_shape_unref(c->fleet, shape);
	return r->claimed;
}

/* ---- when ---- */

static bool is_taken(const struct core *c, const struct provisioning_request *r)
{
	const struct workload *w =
	    r->workload ? workload_find(c, span_of(r->ns), span_of(r->workload)) : NULL;

	return r->taken || r->retired || (w && w->job && w->job->holds);
}

static const struct member *member_of_try(const struct core *c, const struct request_try *t)
{
	const struct member *m = t ? member_by_number(c, t->member) : NULL;

	return m && m->view != CLUSTER_NONE && !m->deleting && !m->dead ? m : NULL;
}

void request_claim_look(struct core *c, struct provisioning_request *r)
{
	const struct request_try *t = request_winner(r);
	const struct member *m = member_of_try(c, t);

	if (!r->exists || !m || t->phase != PROVISION_PROVISIONED || is_taken(c, r)) {
		request_claim_drop(c, r);
		watch(c, r, false, r->awaited);
		return;
	}
	if (r->claimed && ledger_cluster(c->ledger, number_of(r)) == m->view)
		return;
	request_claim_drop(c, r);
	watch(c, r, !claim(c, r, t, m), r->awaited);
}

void request_claim_drop(struct core *c, struct provisioning_request *r)
{
	if (!r->claimed)
		return;
	(void)ledger_drop(c->ledger, number_of(r));
	r->claimed = false;
	c->pump_wanted = true;
}

void request_claim_lift(const struct core *c, const struct provisioning_request *r,
			struct evict_fit *trial, struct evict_job *job)
{
	*job = (struct evict_job){.number = number_of(r)};
	if (r->claimed && ledger_cluster(c->ledger, job->number) == trial->cluster)
		evict_fit_take(trial, job);
}

void request_claim_nodes_changed(struct core *c, const struct member *m)
{
	if (!c->provisioning || !c->provisioning->n_watched)
		return;
	map_foreach (&c->provisioning->by_number, e) {
		struct provisioning_request *r = e->value;
		bool watched = r->unclaimed || r->awaited;
		const struct request_try *t = watched ? request_winner(r) : NULL;
		if (t && t->member == m->number)
			request_due(c, r, c->now);
	}
}

void request_claim_leave(struct core *c, const struct member *m)
{
	if (!c->provisioning)
		return;
	map_foreach (&c->provisioning->by_number, e) {
		struct provisioning_request *r = e->value;
		if (r->claimed && ledger_cluster(c->ledger, number_of(r)) == m->view)
			request_claim_drop(c, r);
	}
}

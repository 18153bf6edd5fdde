#include "core/admission/reclaim.h"

#include "core/admission/pump.h"
#include "core/admission/settle.h"
#include "core/dispatch/courier.h"
#include "core/job.h"

#define LOOK_INTERVAL (100 * USEC_PER_MS)
#define LOOK_AGAIN    USEC_PER_SEC /* protection ends, nodes change */
#define HEADS	      8		   /* owners that are looked at in one round */
#define LANES	      64	   /* heads among which they are sought */

struct reclaim_claim {
	uint64_t owner; /* job numbers */
	uint32_t cluster;
	enum elastic_reclaim_reason reason;
	struct VEC(uint64_t) victims;
};

/* ---- the claim ---- */

void reclaim_done(struct core *c)
{
	struct reclaim_claim *k = c->quota.claim;

	if (!k)
		return;
	vec_done(&k->victims);
	free(k);
	c->quota.claim = NULL;
}

static struct job *owner_of(const struct core *c)
{
	struct job *j = c->quota.claim ? job_by_number(c, c->quota.claim->owner) : NULL;

	return j && j->unit && !elastic_unit_is_admitted(j->unit) ? j : NULL;
}

static size_t n_leaving(const struct core *c)
{
	size_t n = 0;

	vec_foreach (&c->quota.claim->victims, number) {
		const struct job *v = job_by_number(c, *number);
		n += v && v->holds;
	}
	return n;
}

static void stop(struct core *c, struct job *victim, const struct job *owner,
		 enum elastic_reclaim_reason reason)
{
	struct span quota = elastic_tree_path(c->quota.tree, elastic_unit_node(owner->unit));

	if (reason == ELASTIC_RECLAIM)
		job_event_add(c, victim, "Normal", "Preempted",
			      "Stopped: quota %.*s takes back its min for %s %s/%s; the job keeps "
			      "its place in the queue",
			      SPAN_ARGS(quota), owner->kind->kind, owner->ns, owner->name);
	else
		job_event_add(c, victim, "Normal", "Preempted",
			      "Stopped for %s %s/%s of higher priority in quota %.*s; the job "
			      "keeps its place in the queue",
			      owner->kind->kind, owner->ns, owner->name, SPAN_ARGS(quota));
	courier_feed(c, victim, &(struct dispatch_event){EVENT_STOP});
}

static void make_claim(struct core *c, struct job *owner, uint32_t cluster,
		       const struct elastic_victims *victims)
{
	const struct cluster_spec *spec = cluster_view_spec(c->fleet, cluster);
	struct reclaim_claim *k = xcalloc(1, sizeof(*k));

	k->owner = owner->number;
	k->cluster = cluster;
	k->reason = victims->reason;
	c->quota.claim = k;
	job_event_add(c, owner, "Normal", "PreemptedOthers",
		      "%zu job(s) of the quota tree are stopped so that this one can start on "
		      "cluster %.*s",
		      victims->items.len, SPAN_ARGS(spec ? spec->name : SPAN("")));
	vec_foreach (&victims->items, v) {
		struct job *j = (*v)->owner;
		vec_push(&k->victims, j->number);
		stop(c, j, owner, victims->reason);
	}
}

/* The owner goes first once all its victims are gone; tried once, whatever comes of it. */
static void serve(struct core *c)
{
	struct job *j = owner_of(c);

	if (j && n_leaving(c) > 0)
		return;
	if (j)
		pump_try_first(c, j);
	reclaim_done(c);
	c->quota.reclaim_wanted = true;
	pump_wake_all(c);
}

static void look(struct core *c)
{
	struct elastic_unit *heads[LANES];
	size_t n = elastic_queue_heads(c->quota.queues, heads, LANES), tried = 0;
	struct elastic_victims victims = {0};
	struct reclaim_round r;
	uint32_t cluster;
	bool found = false;

	if (n == 0)
		return;
	reclaim_round_begin(&r, c, c->quota.tree);
	bool any = false;
	vec_foreach (&r.running, it) {
		if (it->leaving)
			n = 0; /* one round at a time */
		any |= !it->request.nonpreemptible;
	}
	for (size_t i = 0; any && i < n && tried < HEADS && !found; i++) {
		struct job *j = elastic_unit_owner(heads[i]);
		struct elastic_standing s;
		elastic_queue_standing(c->quota.queues, heads[i], &s);
		if ((s.state != ELASTIC_QUOTA && s.state != ELASTIC_PLACEMENT) || !j->ask ||
		    j->hold != HOLD_NONE || s.verdict.never)
			continue;
		tried++;
		found = reclaim_find(&r, heads[i], &victims, &cluster);
		if (found)
			make_claim(c, j, cluster, &victims);
	}
	elastic_victims_done(&victims);
	reclaim_round_end(&r);
}

static usec look_at(const struct core *c)
{
	return c->quota.reclaim_at + (c->quota.reclaim_wanted ? 0 : LOOK_AGAIN);
}

void reclaim_run(struct core *c)
{
	if (!c->quota.queues || !elastic_tree_reclaims(c->quota.tree))
		return;
	/* The tree of the queues is not the one that this commit, or the last one, wrote. */
	if (c->quota.edited || c->observed.len)
		return;
	if (c->quota.claim)
		serve(c);
	if (c->quota.claim || c->now < look_at(c))
		return;
	c->quota.reclaim_wanted = false;
	c->quota.reclaim_at = c->now + LOOK_INTERVAL;
	look(c);
}

usec reclaim_due(const struct core *c)
{
	if (!c->quota.queues || !elastic_tree_reclaims(c->quota.tree) || c->quota.claim ||
	    elastic_queue_pending_total(c->quota.queues) == 0)
		return INT64_MAX;
	return look_at(c);
}

/* ---- what others are told, and kept from ---- */

bool reclaim_lets(struct core *c, const struct elastic_unit *unit)
{
	const struct job *owner = owner_of(c);
	struct quota_tree *tree;
	bool lets = true;

	if (!owner || elastic_unit_owner(unit) == owner)
		return true;
	tree = elastic_tree_quota(c->quota.tree);
	struct quota_request asks = elastic_unit_request(unit);
	struct quota_request owns = elastic_unit_request(owner->unit);
	/* As it will be: without the victims. */
	vec_foreach (&c->quota.claim->victims, number) {
		const struct job *v = job_by_number(c, *number);
		if (v && v->holds && v->unit) {
			struct quota_request q = elastic_unit_request(v->unit);
			quota_tree_release(tree, elastic_unit_node(v->unit), &q);
		}
	}
	if (quota_tree_charge_forced(tree, elastic_unit_node(unit), &asks) == 0) {
		lets = quota_tree_test(tree, elastic_unit_node(owner->unit), &owns, NULL);
		quota_tree_release(tree, elastic_unit_node(unit), &asks);
	}
	vec_foreach (&c->quota.claim->victims, number) {
		const struct job *v = job_by_number(c, *number);
		if (v && v->holds && v->unit) {
			struct quota_request q = elastic_unit_request(v->unit);
			(void)!quota_tree_charge_forced(tree, elastic_unit_node(v->unit), &q);
		}
	}
	return lets;
}

uint32_t reclaim_cluster(const struct core *c, const struct job *j)
{
	const struct job *owner = owner_of(c);

	return owner && owner != j ? c->quota.claim->cluster : CLUSTER_NONE;
}

bool reclaim_tell(const struct core *c, const struct job *j, char *out, size_t size)
{
	const struct job *owner = owner_of(c);
	struct elastic_standing s;

	if (!owner || !j->unit || elastic_unit_is_admitted(j->unit))
		return false;
	const struct cluster_spec *spec = cluster_view_spec(c->fleet, c->quota.claim->cluster);
	if (j == owner) {
		(void)snprintf(out, size,
			       "%s: it starts on cluster %.*s when %zu job(s) there have stopped.",
			       c->quota.claim->reason == ELASTIC_RECLAIM
				   ? "Its quota takes back its min from jobs that borrowed it"
				   : "It takes the place of jobs of lower priority in its quota",
			       SPAN_ARGS(spec ? spec->name : SPAN("")), n_leaving(c));
		return true;
	}
	elastic_queue_standing(c->quota.queues, j->unit, &s);
	if (s.state != ELASTIC_SKIPPED)
		return false;
	(void)snprintf(out, size,
		       "What it asks is kept for %s %s/%s, whose quota takes back its min.",
		       owner->kind->kind, owner->ns, owner->name);
	return true;
}

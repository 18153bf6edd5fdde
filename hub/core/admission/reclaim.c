#include "core/admission/reclaim.h"

#include "core/admission/pump.h"
#include "core/admission/settle.h"
#include "core/dispatch/courier.h"
#include "core/job.h"
#include "core/member.h"

#define LOOK_INTERVAL (100 * USEC_PER_MS)
#define LOOK_AGAIN    USEC_PER_SEC	  /* protection ends, nodes change */
#define HEADS	      8			  /* owners that are looked at in one round */
#define LANES	      64		  /* heads among which they are sought */
#define MEMBER_WAIT   (60 * USEC_PER_SEC) /* after a restart, for the member that is kept */

struct reclaim_claim {
	uint64_t owner; /* job numbers */
	uint32_t cluster;
	enum elastic_reclaim_reason reason;
	struct VEC(uint64_t) victims;
	usec until; /* 0, or kept until its member has been seen again, or this time */
};

/* ---- its row ---- */

#define ROW_KEY SPAN("reclaim")

/* Before the uids of the victims. */
struct claim_head {
	uint32_t member, reason;
	uint8_t owner[STORE_UID_LEN];
};

static void put_row(struct core *c, const struct job *owner)
{
	const struct reclaim_claim *k = c->quota.claim;
	const struct member *m = member_by_view(c, k->cluster);
	struct claim_head head = {.member = m ? m->number : 0, .reason = (uint32_t)k->reason};
	auto_buf row = BUF_MAX(STORE_MAX_OBJECT);

	memcpy(head.owner, owner->uid, STORE_UID_LEN);
	buf_add(&row, &head, sizeof(head));
	vec_foreach (&k->victims, number) {
		const struct job *v = job_by_number(c, *number);
		if (v)
			buf_add(&row, v->uid, STORE_UID_LEN);
	}
	registry_put_aux(c->batch, false, STORE_AUX_SETTING, ROW_KEY, buf_span(&row));
}

static struct job *job_of(const struct core *c, const void *uid)
{
	char text[OBJECT_UID_TEXT];

	return job_by_uid(c, span_of(object_uid_format(uid, text)));
}

void reclaim_restore(struct core *c)
{
	struct claim_head head;
	struct span row;

	if (registry_get_aux(c->batch, false, STORE_AUX_SETTING, ROW_KEY, &row) < 0)
		return;
	struct reclaim_claim *k = xcalloc(1, sizeof(*k));
	c->quota.claim = k;
	k->cluster = CLUSTER_NONE;
	if (row.len >= sizeof(head)) {
		memcpy(&head, row.ptr, sizeof(head));
		const struct job *owner = job_of(c, head.owner);
		const struct member *m = member_by_number(c, head.member);
		k->owner = owner ? owner->number : 0;
		k->cluster = m ? m->view : CLUSTER_NONE;
		k->reason =
		    head.reason == ELASTIC_RECLAIM ? ELASTIC_RECLAIM : ELASTIC_PREEMPT_LOWER;
		row = span_make(row.ptr + sizeof(head), row.len - sizeof(head));
	}
	/* Those whose own rows did not come as far run on: the owner asks for them anew. */
	for (; row.len >= STORE_UID_LEN;
	     row = span_make(row.ptr + STORE_UID_LEN, row.len - STORE_UID_LEN)) {
		const struct job *v = job_of(c, row.ptr);
		if (v && v->holds && reclaim_is_leaving(v))
			vec_push(&k->victims, v->number);
	}
	k->until = c->now + MEMBER_WAIT;
}

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

void reclaim_drop(struct core *c)
{
	if (c->quota.claim)
		registry_delete_aux(c->batch, false, STORE_AUX_SETTING, ROW_KEY);
	reclaim_done(c);
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
	put_row(c, owner);
}

/* After a restart members come one by one. */
static bool waits_for_member(const struct core *c)
{
	const struct reclaim_claim *k = c->quota.claim;
	const struct cluster_spec *spec =
	    k->cluster == CLUSTER_NONE ? NULL : cluster_view_spec(c->fleet, k->cluster);

	return c->now < k->until && spec && !spec->fresh;
}

/* The owner goes first once all its victims are gone; tried once, whatever comes of it. */
static void serve(struct core *c)
{
	struct job *j = owner_of(c);

	if (j && (n_leaving(c) > 0 || waits_for_member(c)))
		return;
	if (j)
		pump_try_first(c, j);
	reclaim_drop(c);
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
	if (!c->quota.queues || !elastic_tree_reclaims(c->quota.tree) ||
	    elastic_queue_pending_total(c->quota.queues) == 0)
		return INT64_MAX;
	if (c->quota.claim)
		return c->quota.claim->until > c->now ? c->quota.claim->until : INT64_MAX;
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

size_t reclaim_victims(const struct core *c, const struct job *owner, const struct job **out,
		       size_t max)
{
	size_t n = 0;

	if (owner_of(c) != owner)
		return 0;
	vec_foreach (&c->quota.claim->victims, number) {
		const struct job *v = job_by_number(c, *number);
		if (!v || !v->holds)
			continue;
		if (n < max)
			out[n] = v;
		n++;
	}
	return n;
}

const struct job *reclaim_owner(const struct core *c, const struct job *victim)
{
	const struct job *owner = owner_of(c);

	if (!owner)
		return NULL;
	vec_foreach (&c->quota.claim->victims, number)
		if (*number == victim->number)
			return owner;
	return NULL;
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

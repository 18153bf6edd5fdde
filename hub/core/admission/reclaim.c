#include "core/admission/reclaim.h"

#include "core/admission/pump.h"
#include "core/admission/settle.h"
#include "core/admission/starvation.h"
#include "core/dispatch/courier.h"
#include "core/job.h"
#include "core/member.h"
#include "core/quota.h"
#include "policies/evict_fit.h"

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

/* ---- who is there ---- */

static bool is_leaving(const struct job *j)
{
	return j->dispatch.step == DISPATCH_WITHDRAWING || j->dispatch.step == DISPATCH_STOPPING;
}

static void add_running(struct reclaim_round *r, struct job *j)
{
	struct quota_amount amounts[ELASTIC_REQUEST_AMOUNTS], *kept;
	struct elastic_unit_spec spec;
	uint32_t node;

	if (elastic_tree_resolve(r->tree, j->digest.quota_name, SPAN_NONE, span_of(j->ns), &node,
				 NULL) < 0 ||
	    quota_unit_spec(r->tree, j, node, amounts, &spec, NULL) < 0)
		return;
	kept = arena_array(&r->mem, struct quota_amount, spec.n_amounts);
	for (size_t i = 0; i < spec.n_amounts; i++)
		kept[i] = spec.amounts[i];
	vec_push(&r->running, (struct elastic_job){
				  .name = spec.name,
				  .node = node,
				  .priority = spec.priority,
				  .leaving = is_leaving(j),
				  .admitted_at = j->decided_at,
				  .request = {.amounts = kept,
					      .n_amounts = spec.n_amounts,
					      .nonpreemptible = spec.nonpreemptible},
				  .owner = j,
			      });
}

void reclaim_round_begin(struct reclaim_round *r, struct core *c, struct elastic_tree *tree)
{
	*r = (struct reclaim_round){.c = c, .tree = tree, .mem = ARENA_INIT};
	map_foreach (&c->jobs_by_number, e) {
		struct job *j = e->value;
		if (j->must_queue && j->holds && !j->finished && j->ask)
			add_running(r, j);
	}
}

void reclaim_round_end(struct reclaim_round *r)
{
	vec_done(&r->running);
	map_foreach (&r->sites, e)
		map_done(e->value);
	map_done(&r->sites);
	arena_done(&r->mem);
}

/* ---- what they hold on a member ---- */

struct held {
	struct evict_job job;
	struct VEC(struct evict_pods) pods;
};

static struct held *held_by(struct reclaim_round *r, struct map *site, uint64_t number)
{
	struct span key = span_make((const char *)&number, sizeof(number));
	struct held *h = map_get(site, key);

	if (!h) {
		h = arena_new(&r->mem, struct held);
		h->job.number = number;
		map_put(site, key, h);
	}
	return h;
}

/* Its jobs by number, each with its bound pods. */
static struct map *site_of(struct reclaim_round *r, const struct member *m)
{
	struct span key = span_make((const char *)&m->number, sizeof(m->number));
	struct map *site = map_get(&r->sites, key);

	if (site)
		return site;
	site = arena_new(&r->mem, struct map);
	map_put(&r->sites, key, site);
	map_foreach (&m->pods, e) {
		const struct member_pod *p = e->value;
		if (!p->job || p->node == NODE_NONE)
			continue;
		struct held *h = held_by(r, site, p->job);
		struct pod_usage *usage = arena_new(&r->mem, struct pod_usage);
		*usage = (struct pod_usage){p->amounts, p->n_amounts, p->exclusive};
		vec_push(&h->pods, (struct evict_pods){p->node, 1, usage});
	}
	map_foreach (site, e) {
		struct held *h = e->value;
		struct evict_pods *pods = arena_array(&r->mem, struct evict_pods, h->pods.len);
		memcpy(pods, h->pods.items, h->pods.len * sizeof(*pods));
		h->job.pods = pods;
		h->job.n_pods = h->pods.len;
		vec_done(&h->pods);
	}
	return site;
}

/* A trial on one member: the room of elastic_reclaim.h. */
struct trial {
	struct reclaim_round *r;
	const struct member *m;
	struct map *site;
	struct evict_fit fit;
};

static const struct evict_job *job_there(struct trial *t, const struct elastic_job *job)
{
	const struct job *j = job->owner;

	return member_placed(t->r->c, j) == t->m ? &held_by(t->r, t->site, j->number)->job : NULL;
}

static bool is_useful(void *context, const struct elastic_job *job)
{
	struct trial *t = context;
	const struct evict_job *there = job_there(t, job);

	return there && evict_fit_useful(&t->fit, there);
}

static void take(void *context, const struct elastic_job *job)
{
	struct trial *t = context;
	const struct evict_job *there = job_there(t, job);

	if (there)
		evict_fit_take(&t->fit, there);
}

static void give_back(void *context, const struct elastic_job *job)
{
	struct trial *t = context;
	const struct evict_job *there = job_there(t, job);

	if (there)
		evict_fit_give_back(&t->fit, there);
}

static bool fits(void *context)
{
	struct trial *t = context;
	return evict_fit_fits(&t->fit);
}

/* ---- the search ---- */

static struct evict_option weigh(struct trial *t, const struct elastic_victims *victims)
{
	struct evict_option o = {.cluster = t->m->view, .n_victims = victims->items.len};

	vec_foreach (&victims->items, v) {
		const struct job *j = (*v)->owner;
		o.lost_us += evict_lost_work(job_pods(j), j->decided_at, t->r->c->now);
		take(t, *v);
	}
	if (evict_fit_fits(&t->fit))
		o.score = evict_fit_score(&t->fit);
	vec_foreach (&victims->items, v)
		give_back(t, *v);
	return o;
}

static struct elastic_job waiting_job(const struct elastic_unit *u)
{
	return (struct elastic_job){
	    .name = elastic_unit_name(u),
	    .node = elastic_unit_node(u),
	    .priority = elastic_unit_priority(u),
	    .request = elastic_unit_request(u),
	    .owner = elastic_unit_owner(u),
	};
}

static struct elastic_reclaim_options options_of(const struct elastic_tree *tree)
{
	return (struct elastic_reclaim_options){
	    .protect = elastic_tree_reclaim_protect(tree),
	    .jobs_resource = elastic_tree_jobs_resource(tree),
	};
}

static void search(struct reclaim_round *r, const struct elastic_job *job,
		   const struct elastic_room *room, struct elastic_victims *ret)
{
	const struct elastic_reclaim_options options = options_of(r->tree);

	elastic_reclaim(elastic_tree_quota(r->tree), &options, job, r->running.items,
			r->running.len, room, r->c->now, ret);
}

/* False when nobody's leaving lets it start there. */
static bool try_member(struct reclaim_round *r, const struct member *m,
		       const struct elastic_job *job, struct elastic_victims *ret,
		       struct evict_option *ret_option)
{
	const struct job *j = job->owner;
	struct trial t = {.r = r, .m = m};
	const struct elastic_room room = {&t, is_useful, take, give_back, fits};
	bool found = false;

	if (evict_fit_begin(&t.fit, r->c->fleet, r->c->ledger, j->ask, m->view)) {
		t.site = site_of(r, m);
		search(r, job, &room, ret);
		found = ret->items.len > 0;
		if (found)
			*ret_option = weigh(&t, ret);
		evict_fit_end(&t.fit);
	}
	evict_fit_done(&t.fit);
	return found;
}

static bool is_excluded(const struct placement_exclusion *excluded, size_t n, uint32_t cluster,
			usec now)
{
	for (size_t i = 0; i < n; i++)
		if (excluded[i].cluster == cluster && now < excluded[i].until_us)
			return true;
	return false;
}

/* Whether quota alone could be had: saves the members a search that finds nobody. */
static bool is_hopeless(struct reclaim_round *r, const struct elastic_job *job)
{
	struct elastic_victims v = {0};

	if (quota_tree_test(elastic_tree_quota(r->tree), job->node, &job->request, NULL))
		return false;
	search(r, job, NULL, &v);
	bool none = v.items.len == 0;
	elastic_victims_done(&v);
	return none;
}

bool reclaim_find(struct reclaim_round *r, const struct elastic_unit *unit,
		  struct elastic_victims *ret, uint32_t *ret_cluster)
{
	struct placement_exclusion excluded[STARVATION_EXCLUSIONS];
	const struct elastic_job job = waiting_job(unit);
	size_t n = starvation_exclude(r->c, job.owner, excluded);
	struct evict_option best;
	bool any = false;

	if (is_hopeless(r, &job))
		return false;
	vec_foreach (&r->c->members, p) {
		struct elastic_victims victims = {0};
		struct evict_option o;
		if (!*p || (*p)->view == CLUSTER_NONE ||
		    is_excluded(excluded, n, (*p)->view, r->c->now))
			continue;
		if (try_member(r, *p, &job, &victims, &o) &&
		    (!any || evict_option_cmp(&o, &best) < 0)) {
			struct elastic_victims worse = *ret;
			*ret = victims;
			victims = worse;
			best = o;
			any = true;
		}
		elastic_victims_done(&victims);
	}
	if (any)
		*ret_cluster = best.cluster;
	return any;
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

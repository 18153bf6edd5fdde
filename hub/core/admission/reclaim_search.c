#include "core/admission/reclaim_search.h"

#include "core/admission/starvation.h"
#include "core/job.h"
#include "core/member.h"
#include "core/quota.h"
#include "core/swap/swap_hold.h"
#include "core/victim.h"

/* ---- who is there ---- */

bool reclaim_is_leaving(const struct job *j)
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
				  .leaving = reclaim_is_leaving(j),
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
	map_done(&r->held);
	arena_done(&r->mem);
}

/* ---- what they hold on a member ---- */

/* A trial on one member: the room of elastic_reclaim.h. */
struct trial {
	struct reclaim_round *r;
	const struct member *m;
	struct evict_fit fit;
};

static const struct evict_job *job_there(struct trial *t, const struct elastic_job *job)
{
	const struct job *j = job->owner;

	return member_placed(t->r->c, j) == t->m
		   ? victim_find(&t->r->held, j, t->m->number, &t->r->mem)
		   : NULL;
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
	struct evict_job kept;
	bool found = false;

	if (evict_fit_begin(&t.fit, r->c->fleet, r->c->ledger, j->ask, m->view)) {
		swap_hold_try(r->c, j, &t.fit, &kept);
		search(r, job, &room, ret);
		found = ret->items.len > 0;
		if (found)
			*ret_option = weigh(&t, ret);
		evict_fit_end(&t.fit);
	}
	evict_fit_done(&t.fit);
	return found;
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
		    placement_is_excluded(excluded, n, (*p)->view, r->c->now))
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

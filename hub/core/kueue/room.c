#include "core/kueue/room.h"

#include "core/admission/starvation.h"
#include "core/job.h"
#include "core/member.h"
#include "policies/evict_fit.h"

/* A trial on one member. */
struct trial {
	struct core *c;
	const struct member *m;
	struct arena mem;
	struct evict_fit fit;
	struct map jobs; /* number, 8 bytes -> struct evict_job, in mem */
};

struct pods {
	struct VEC(struct evict_pods) items;
};

static struct span number_key(const uint64_t *number)
{
	return span_make((const char *)number, sizeof(*number));
}

/* ---- who is there ---- */

static void collect_pods(struct trial *t)
{
	struct map by_job = MAP_INIT;

	map_foreach (&t->m->pods, e) {
		const struct member_pod *p = e->value;
		if (!p->job || p->node == NODE_NONE)
			continue;
		struct pods *all = map_get(&by_job, number_key(&p->job));
		if (!all) {
			all = arena_new(&t->mem, struct pods);
			map_put(&by_job, number_key(&p->job), all);
		}
		struct pod_usage *usage = arena_new(&t->mem, struct pod_usage);
		*usage = (struct pod_usage){p->amounts, p->n_amounts, p->exclusive};
		vec_push(&all->items, (struct evict_pods){p->node, 1, usage});
	}
	map_foreach (&by_job, e) {
		struct pods *all = e->value;
		struct evict_job *job = arena_new(&t->mem, struct evict_job);
		struct evict_pods *pods = arena_array(&t->mem, struct evict_pods, all->items.len);
		memcpy(pods, all->items.items, all->items.len * sizeof(*pods));
		memcpy(&job->number, e->key, sizeof(job->number));
		job->pods = pods;
		job->n_pods = all->items.len;
		map_put(&t->jobs, span_make(e->key, e->key_len), job);
		vec_done(&all->items);
	}
	map_done(&by_job);
}

/* The workload's job on this member, NULL when it is not there. One without bound pods is known to
 * the ledger. */
static const struct evict_job *job_there(struct trial *t, const struct kueue_workload *w)
{
	const struct workload *l = w->owner;

	if (!l->job || !l->job->holds || member_of(t->c, l->job) != t->m)
		return NULL;
	struct evict_job *job = map_get(&t->jobs, number_key(&l->job->number));
	if (!job) {
		job = arena_new(&t->mem, struct evict_job);
		job->number = l->job->number;
		map_put(&t->jobs, number_key(&job->number), job);
	}
	return job;
}

/* ---- the room of kueue_preempt.h ---- */

static bool is_useful(void *context, const struct kueue_workload *w)
{
	struct trial *t = context;
	const struct evict_job *job = job_there(t, w);

	return job && evict_fit_useful(&t->fit, job);
}

static void take(void *context, const struct kueue_workload *w)
{
	struct trial *t = context;
	const struct evict_job *job = job_there(t, w);

	if (job)
		evict_fit_take(&t->fit, job);
}

static void give_back(void *context, const struct kueue_workload *w)
{
	struct trial *t = context;
	const struct evict_job *job = job_there(t, w);

	if (job)
		evict_fit_give_back(&t->fit, job);
}

static bool fits(void *context)
{
	struct trial *t = context;
	return evict_fit_fits(&t->fit);
}

/* ---- the choice ---- */

static struct evict_option weigh(struct trial *t, const struct kueue_victims *victims)
{
	struct evict_option o = {.cluster = t->m->view, .n_victims = victims->items.len};

	vec_foreach (&victims->items, v) {
		const struct workload *l = v->workload->owner;
		if (l->job)
			o.lost_us += evict_lost_work(job_pods(l->job), l->admitted_at, t->c->now);
		take(t, v->workload);
	}
	if (evict_fit_fits(&t->fit))
		o.score = evict_fit_score(&t->fit);
	vec_foreach (&victims->items, v)
		give_back(t, v->workload);
	return o;
}

/* False when nobody's leaving helps there. */
static bool try_member(struct core *c, struct member *m, const struct kueue_entry *e,
		       struct kueue_victims *ret, struct evict_option *ret_option)
{
	struct workload *w = e->workload->owner;
	struct trial t = {.c = c, .m = m};
	const struct kueue_room room = {&t, is_useful, take, give_back, fits};
	bool found = false;

	if (evict_fit_begin(&t.fit, c->fleet, c->ledger, w->job->ask, m->view)) {
		collect_pods(&t);
		kueue_preempt(c->kueue->forest, e->workload, &e->assignment, &room, ret);
		found = ret->items.len > 0;
		if (found)
			*ret_option = weigh(&t, ret);
		evict_fit_end(&t.fit);
	}
	evict_fit_done(&t.fit);
	map_done(&t.jobs);
	arena_done(&t.mem);
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

bool room_choose(struct core *c, struct kueue_entry *e)
{
	const struct workload *w = e->workload->owner;
	struct placement_exclusion excluded[STARVATION_EXCLUSIONS];
	size_t n = starvation_exclude(c, w->job, excluded);
	struct kueue_victims best = {0};
	struct evict_option best_option;
	bool any = false;

	vec_foreach (&c->members, p) {
		struct kueue_victims victims = {0};
		struct evict_option option;
		if (!*p || (*p)->view == CLUSTER_NONE ||
		    is_excluded(excluded, n, (*p)->view, c->now))
			continue;
		bool found = try_member(c, *p, e, &victims, &option);
		if (found && (!any || evict_option_cmp(&option, &best_option) < 0)) {
			struct kueue_victims worse = best;
			best = victims;
			victims = worse;
			best_option = option;
			any = true;
		}
		kueue_victims_done(&victims);
	}
	if (any) {
		vec_clear(&e->victims.items);
		vec_foreach (&best.items, v)
			vec_push(&e->victims.items, *v);
		e->victims.borrows = best.borrows;
	}
	kueue_victims_done(&best);
	return any;
}

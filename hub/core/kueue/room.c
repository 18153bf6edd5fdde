#include "core/kueue/room.h"

#include "base/num.h"
#include "core/admission/starvation.h"
#include "core/job.h"
#include "core/kueue/claim.h"
#include "core/member.h"
#include "core/swap/swap_hold.h"
#include "core/victim.h"

/* A search over the members that could gain. */
struct search {
	struct core *c;
	struct kueue_entry *e;
	struct arena mem;
	struct map jobs; /* of victim_find() */
	bool *asked;	 /* by member number */
};

/* A trial on one member. */
struct trial {
	struct search *s;
	const struct member *m;
	struct evict_fit fit;
	struct evict_job own, kept; /* what it claims, and what is kept for it */
};

/* What is found on one. */
struct option {
	struct evict_option weight;
	struct kueue_victims victims;
	const struct fit_slot *slots; /* in the search's mem */
	size_t n_slots;
};

/* ---- who is there ---- */

/* The workload's job on this member, NULL when it is not there. */
static const struct evict_job *job_there(struct trial *t, const struct kueue_workload *w)
{
	const struct workload *l = w->owner;

	if (!l->job || !l->job->holds || member_placed(t->s->c, l->job) != t->m)
		return NULL;
	return victim_find(&t->s->jobs, l->job, t->m->number, &t->s->mem);
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

/* ---- one member ---- */

/* Those who go already cost nothing more. Ends the trial: all of them are taken. */
static void weigh(struct trial *t, struct option *o)
{
	struct search *s = t->s;

	vec_foreach (&o->victims.items, v) {
		const struct workload *l = v->workload->owner;
		take(t, v->workload);
		if (v->workload->state == KUEUE_EVICTED)
			continue;
		o->weight.n_victims++;
		if (l->job)
			o->weight.lost_us = num_add_sat(
			    o->weight.lost_us,
			    evict_lost_work(job_pods(l->job), l->admitted_at, s->c->now));
	}
	if (evict_fit_fits(&t->fit)) {
		const struct fit_result *r = evict_fit_result(&t->fit);
		struct fit_slot *slots = arena_array(&s->mem, struct fit_slot, r->n_slots);
		if (r->n_slots)
			memcpy(slots, r->slots, r->n_slots * sizeof(*slots));
		o->slots = slots;
		o->n_slots = r->n_slots;
		o->weight.score = evict_fit_score(&t->fit);
	}
}

/* False when nobody's leaving helps there. */
static bool try_member(struct search *s, struct member *m, struct option *ret)
{
	const struct kueue_entry *e = s->e;
	struct workload *w = e->workload->owner;
	struct trial t = {.s = s, .m = m};
	const struct kueue_room room = {&t, is_useful, take, give_back, fits};

	ret->weight.cluster = m->view;
	if (evict_fit_begin(&t.fit, s->c->fleet, s->c->ledger, w->job->ask, m->view)) {
		claim_lift(s->c, w, &t.fit, &t.own);
		swap_hold_try(s->c, w->job, &t.fit, &t.kept);
		kueue_preempt(s->c->kueue->forest, e->workload, &e->assignment, &room,
			      &ret->victims);
		if (ret->victims.items.len)
			weigh(&t, ret);
		evict_fit_end(&t.fit);
	}
	evict_fit_done(&t.fit);
	return ret->victims.items.len > 0;
}

/* ---- which members ---- */

static void ask_member(struct search *s, const struct member *m)
{
	if (m)
		s->asked[m->number] = true;
}

static void ask_where_it_runs(void *context, const struct kueue_workload *u)
{
	struct search *s = context;
	const struct workload *l = u->owner;

	if (l->job && l->job->holds)
		ask_member(s, member_placed(s->c, l->job));
}

/* Where candidates run; and where nodes are no question, the place that placement would choose: the
 * victims are the same on all others of this kind. */
static void ask_members(struct search *s, const struct placement_exclusion *excluded, size_t n)
{
	const struct workload *w = s->e->workload->owner;
	struct placement_decision d;

	s->asked = arena_array(&s->mem, bool, s->c->members.len);
	kueue_preempt_visit(s->c->kueue->forest, s->e->workload, &s->e->assignment,
			    ask_where_it_runs, s);
	if (s->e->assignment.mode == KUEUE_FIT)
		return;
	if (!placement_decide(s->c->placer, w->job->ask, excluded, n, s->c->now, &d))
		d.cluster = CLUSTER_NONE;
	uint32_t claimed = ledger_cluster(s->c->ledger, w->job->number);
	uint32_t kept = swap_hold_cluster(s->c, w->job);
	vec_foreach (&s->c->members, p)
		if (*p && (*p)->view != CLUSTER_NONE &&
		    ((*p)->view == d.cluster || (*p)->view == claimed || (*p)->view == kept))
			ask_member(s, *p);
}

/* Exchanges it for the better one. */
static void keep_better(struct option *best, struct option *o)
{
	bool better = o->victims.items.len &&
		      (!best->victims.items.len || evict_option_cmp(&o->weight, &best->weight) < 0);

	if (better) {
		struct option worse = *best;
		*best = *o;
		*o = worse;
	}
	kueue_victims_done(&o->victims);
}

static void take_option(struct search *s, const struct option *o)
{
	struct kueue_entry *e = s->e;

	vec_clear(&e->victims.items);
	vec_foreach (&o->victims.items, v)
		vec_push(&e->victims.items, *v);
	e->victims.borrows = o->victims.borrows;
	claim_take(s->c, e->workload->owner, o->weight.cluster, o->slots, o->n_slots);
}

bool room_choose(struct core *c, struct kueue_entry *e)
{
	const struct workload *w = e->workload->owner;
	struct placement_exclusion excluded[STARVATION_EXCLUSIONS];
	size_t n = starvation_exclude(c, w->job, excluded);
	struct search s = {.c = c, .e = e};
	struct option best = {0};

	ask_members(&s, excluded, n);
	vec_foreach (&c->members, p) {
		struct option o = {0};
		if (!*p || !s.asked[(*p)->number] || (*p)->view == CLUSTER_NONE ||
		    placement_is_excluded(excluded, n, (*p)->view, c->now))
			continue;
		(void)try_member(&s, *p, &o);
		keep_better(&best, &o);
	}
	bool any = best.victims.items.len > 0;
	if (any)
		take_option(&s, &best);
	kueue_victims_done(&best.victims);
	map_done(&s.jobs);
	arena_done(&s.mem);
	return any;
}

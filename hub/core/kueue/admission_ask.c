#include "core/kueue/admission_ask.h"

#include "core/admission/pump.h"
#include "core/admission/settle.h"
#include "core/admission/starvation.h"
#include "core/job.h"
#include "core/kueue/check_updates.h"
#include "core/kueue/topology.h"
#include "core/kueue/workload_restore.h"

static void add_flavor(const struct core *c, uint32_t flavor, struct arena *mem, struct job_term *t)
{
	const struct kueue_flavor_spec *s = kueue_forest_flavor_spec(c->kueue->forest, flavor);

	if (!s)
		return;
	struct label *labels = arena_array(mem, struct label, t->n_labels + s->n_labels);
	struct toleration *tolerations =
	    arena_array(mem, struct toleration, t->n_tolerations + s->n_tolerations);
	for (size_t i = 0; i < t->n_labels; i++)
		labels[i] = t->labels[i];
	for (size_t i = 0; i < s->n_labels; i++)
		labels[t->n_labels++] = s->labels[i];
	for (size_t i = 0; i < t->n_tolerations; i++)
		tolerations[i] = t->tolerations[i];
	for (size_t i = 0; i < s->n_tolerations; i++)
		tolerations[t->n_tolerations++] = s->tolerations[i];
	t->labels = labels;
	t->tolerations = tolerations;
}

struct job_term *admission_terms(const struct core *c, const struct workload *w,
				 const struct workload_set *sets, size_t n_sets, struct arena *mem)
{
	const struct job *j = w->job;
	size_t n = job_n_placed(j);
	struct job_term *terms = arena_array(mem, struct job_term, n);

	for (size_t i = 0; i < n; i++) {
		terms[i].count = -1;
		if (i >= n_sets)
			continue;
		if (sets[i].count < job_placed(j, i)->count)
			terms[i].count = sets[i].count;
		for (uint32_t k = 0; k < sets[i].n_flavors; k++) {
			struct span topology = topology_of_flavor(c, sets[i].flavors[k]);
			add_flavor(c, sets[i].flavors[k], mem, &terms[i]);
			if (topology.len)
				terms[i].topology = topology;
		}
	}
	check_updates_terms(c, w, mem, terms, n);
	return terms;
}

int admission_ask(struct core *c, struct workload *w, struct err *reterr)
{
	struct job *j = w->job;
	auto_arena mem = ARENA_INIT;

	return job_ask_with(c, j, settle_policy(c, j),
			    admission_terms(c, w, w->sets, w->n_sets, &mem), reterr);
}

void admission_ask_drop(struct core *c, struct workload *w)
{
	vec_foreach (&w->asks, a) {
		pump_leave_ask(c, *a);
		placer_ask_unref(c->placer, *a);
	}
	vec_done(&w->asks);
	if (!w->lacking_at)
		return;
	struct kueue *k = c->kueue;
	struct workload *last = k->lacking.items[--k->lacking.len];
	k->lacking.items[w->lacking_at - 1] = last;
	last->lacking_at = w->lacking_at;
	w->lacking_at = 0;
}

void workload_forget_asks(struct core *c, struct workload *w)
{
	/* Others of its shape may be parked behind it: one of them tries for itself. */
	if (w->asks.len && w->unit)
		kueue_queues_wake_shape(c->kueue->queues, w->unit->shape->number);
	admission_ask_drop(c, w);
}

void admission_ask_wait(struct core *c, struct workload *w, struct ask *a)
{
	vec_foreach (&w->asks, p)
		if (*p == a)
			return;
	vec_push(&w->asks, ask_dup_ref(a));
	pump_enter_ask(c, a);
	pump_park(c, a, w->unit->shape->number);
	if (!w->lacking_at) {
		vec_push(&c->kueue->lacking, w);
		w->lacking_at = c->kueue->lacking.len;
	}
	if (!w->job->unplaced_since)
		w->job->unplaced_since = c->now;
	starvation_parked(c, w->job);
}

bool admission_ask_make(struct core *c, struct workload *w)
{
	struct err err = ERR_INIT;
	bool fine = admission_ask(c, w, &err) == 0;

	free(w->misasked);
	w->misasked = fine ? NULL : xstrdup(err.text);
	return fine;
}

#include "kueue_model.h"

#include "bench.h"
#include "kueue_world.h"
#include <stdlib.h>

struct job {
	const struct kueue_class *kind;
	struct kueue_workload *w;
	int64_t created, started, ends; /* ends: INT64_MAX while it does not run */
	size_t place;			/* in the heap of ends */
	uint64_t number;
	uint32_t queue;
};

struct sim {
	struct kueue_world w;
	const struct kueue_scenario *s;
	int64_t now;
	struct job *jobs;
	size_t n_jobs, created, finished;
	struct kueue_creation *creations;
	struct VEC(struct job *) heap;	   /* of those that run, by end */
	struct VEC(struct job *) stopping; /* evicted in this cycle */
	size_t admissions[KUEUE_CLASSES], evictions;
	double useful, lost;	     /* CPU seconds */
	double waits[KUEUE_CLASSES]; /* s, to each admission, by kind */
};

static bool ends_before(const struct job *a, const struct job *b)
{
	return a->ends != b->ends ? a->ends < b->ends : a->number < b->number;
}

static void heap_set(struct sim *s, size_t k, struct job *j)
{
	s->heap.items[k] = j;
	j->place = k;
}

static void heap_settle(struct sim *s, size_t k)
{
	struct job *j = s->heap.items[k];
	for (; k > 0 && ends_before(j, s->heap.items[(k - 1) / 2]); k = (k - 1) / 2)
		heap_set(s, k, s->heap.items[(k - 1) / 2]);
	for (;;) {
		size_t c = 2 * k + 1;
		if (c + 1 < s->heap.len && ends_before(s->heap.items[c + 1], s->heap.items[c]))
			c++;
		if (c >= s->heap.len || !ends_before(s->heap.items[c], j))
			break;
		heap_set(s, k, s->heap.items[c]);
		k = c;
	}
	heap_set(s, k, j);
}

static void heap_remove(struct sim *s, struct job *j)
{
	size_t k = j->place;
	struct job *last = s->heap.items[--s->heap.len];
	if (last == j)
		return;
	heap_set(s, k, last);
	heap_settle(s, k);
}

static void start(struct sim *s, struct kueue_workload *w)
{
	struct job *j = w->owner;
	j->started = s->now;
	j->ends = s->now + j->kind->runs;
	vec_push(&s->heap, j);
	j->place = s->heap.len - 1;
	heap_settle(s, j->place);
	s->admissions[j->kind - s->s->classes]++;
	s->waits[j->kind - s->s->classes] += (double)(s->now - j->created) / 1e6;
}

static void stop(struct sim *s, struct job *j)
{
	double ran = (double)(s->now - j->started) / 1e6;
	s->lost += ran * (double)j->kind->cpu / 1000;
	s->evictions++;
	heap_remove(s, j);
	kueue_queues_released(s->w.q, j->w);
}

/* Cycles until nothing has anything to do; victims stop between them. */
static void settle(struct sim *s)
{
	while (kueue_queues_is_due(s->w.q)) {
		struct kueue_entry *e;
		vec_clear(&s->stopping);
		kueue_cycle_begin(s->w.q, s->now);
		while ((e = kueue_cycle_next(s->w.q))) {
			if (e->kind == KUEUE_ENTRY_FITS) {
				kueue_cycle_admit(s->w.q, e, false);
				start(s, e->workload);
			} else if (e->kind == KUEUE_ENTRY_PREEMPTS) {
				vec_foreach (&e->victims.items, v) {
					if (v->workload->state != KUEUE_EVICTED)
						vec_push(&s->stopping, v->workload->owner);
				}
				kueue_cycle_preempt(s->w.q, e);
			}
		}
		(void)kueue_cycle_end(s->w.q);
		vec_foreach (&s->stopping, j)
			stop(s, *j);
	}
}

static void create_jobs(struct sim *s)
{
	s->n_jobs = kueue_scenario_workloads(s->s);
	s->jobs = xcalloc(s->n_jobs, sizeof(*s->jobs));
	s->creations = kueue_scenario_creations(s->s);
	for (size_t i = 0; i < s->n_jobs; i++) {
		const struct kueue_creation *k = &s->creations[i];
		s->jobs[k->number] = (struct job){.kind = &s->s->classes[k->class],
						  .created = k->at,
						  .number = k->number,
						  .queue = s->w.queues[k->queue]};
	}
}

/* The next moment at which something happens, and all that happens then. */
static void advance(struct sim *s)
{
	int64_t create = s->created < s->n_jobs ? s->creations[s->created].at : INT64_MAX;
	int64_t end = s->heap.len ? s->heap.items[0]->ends : INT64_MAX;
	s->now = create < end ? create : end;
	while (s->heap.len && s->heap.items[0]->ends == s->now) {
		struct job *j = s->heap.items[0];
		s->useful += (double)j->kind->runs / 1e6 * (double)j->kind->cpu / 1000;
		s->finished++;
		heap_remove(s, j);
		kueue_queues_remove(s->w.q, j->w);
	}
	while (s->created < s->n_jobs && s->creations[s->created].at == s->now) {
		struct job *j = &s->jobs[s->creations[s->created++].number];
		j->w = kueue_world_add(&s->w, j->queue, j->number, j->kind->priority, j->created,
				       j->kind->cpu, j);
	}
	settle(s);
}

void kueue_model_run(const struct kueue_scenario *sc, struct kueue_model_result *ret)
{
	struct sim s = {.s = sc,
			.w = kueue_world_make(sc->cohorts, sc->width, KUEUE_NOMINAL_MILLI,
					      KUEUE_BORROWING_MILLI)};

	create_jobs(&s);
	uint64_t began = bench_cpu_now_ns();
	while (s.finished < s.n_jobs)
		advance(&s);
	*ret = (struct kueue_model_result){.wall = (double)s.now / 1e6,
					   .evictions = s.evictions,
					   .useful = s.useful,
					   .lost = s.lost,
					   .cpu_us = (double)(bench_cpu_now_ns() - began) / 1e3 /
						     (double)s.n_jobs};
	for (size_t i = 0; i < KUEUE_CLASSES; i++) {
		ret->admissions[i] = s.admissions[i];
		ret->waits[i] = s.waits[i] / (double)s.admissions[i];
	}
	kueue_world_done(&s.w);
	vec_done(&s.heap);
	vec_done(&s.stopping);
	free(s.creations);
	free(s.jobs);
}

#include "kueue_world.h"

#include <stdio.h>
#include <stdlib.h>

enum { MAX_CYCLES = 400 };

void texts_push(struct texts *t, struct buf *b)
{
	vec_push(t, buf_steal(b, NULL));
}

static void describe_admission(struct world *w, const struct kueue_entry *e, struct buf *b)
{
	const struct job *job = e->workload->owner;
	const struct kueue_assignment *a = &e->assignment;
	buf_addf(b, "admit %.*s", SPAN_ARGS(job->name));
	for (size_t i = 0; i < job->pod_sets.len; i++) {
		buf_addf(b, " %.*s*%d:", SPAN_ARGS(job->pod_sets.items[i]), (int)a->counts[i]);
		bool first = true;
		struct names sorted = {0};
		for (uint32_t c = a->first_choice[i]; c < a->first_choice[i + 1]; c++)
			names_note(&sorted, kueue_forest_resource_name(
						w->forest, a->choices.items[c].resource));
		for (size_t k = 0; k < sorted.len; k++)
			for (uint32_t c = a->first_choice[i]; c < a->first_choice[i + 1]; c++) {
				const struct kueue_choice *x = &a->choices.items[c];
				if (x->flavor == KUEUE_NONE ||
				    !span_eq(sorted.items[k],
					     kueue_forest_resource_name(w->forest, x->resource)))
					continue;
				struct span flavor = kueue_forest_flavor_name(w->forest, x->flavor);
				buf_addf(b, "%s%.*s=%.*s", first ? "" : ",",
					 SPAN_ARGS(sorted.items[k]), SPAN_ARGS(flavor));
				first = false;
			}
		vec_done(&sorted);
	}
}

/* The victims that still run; false when there are none. */
static bool describe_preemption(const struct kueue_entry *e, struct buf *b)
{
	bool any = false;
	buf_addf(b, "preempt %.*s", SPAN_ARGS(e->workload->name));
	for (size_t i = 0; i < e->victims.items.len; i++) {
		const struct kueue_victim *v = &e->victims.items.items[i];
		if (v->workload->state == KUEUE_EVICTED)
			continue;
		buf_addf(b, " %.*s/%s", SPAN_ARGS(v->workload->name),
			 kueue_preempt_reason_to_string(v->reason));
		any = true;
	}
	return any;
}

static void told(struct kueue_entry *e, const char *why)
{
	struct job *job = e->workload->owner;
	job->waits = why != NULL;
	snprintf(job->why, sizeof(job->why), "%s", why ? why : "");
}

/* An eviction that had sent it to the back is over (reference/kueue.md 2.1). */
static void admit(struct world *w, struct kueue_entry *e)
{
	struct job *job = e->workload->owner;
	struct span queue = kueue_forest_name(w->forest, e->workload->queue);

	kueue_cycle_admit(w->queues, e, checks_apply(w, queue, &e->assignment));
	kueue_queues_set_queue_order(w->queues, e->workload, job->created);
	job->evicted_as = NULL;
	job->requeue_at = 0;
}

static void decide(struct world *w, struct kueue_entry *e, struct texts *out)
{
	auto_buf b = BUF_INIT;
	struct span tree =
	    kueue_forest_name(w->forest, kueue_forest_root(w->forest, e->workload->queue));
	buf_addf(&b, "%.*s|", SPAN_ARGS(tree));
	switch (e->kind) {
	case KUEUE_ENTRY_FITS:
		describe_admission(w, e, &b);
		texts_push(out, &b);
		told(e, NULL);
		admit(w, e);
		break;
	case KUEUE_ENTRY_PREEMPTS:
		if (describe_preemption(e, &b))
			texts_push(out, &b);
		told(e, "WaitingForPreemptedWorkloads");
		kueue_cycle_preempt(w->queues, e);
		break;
	case KUEUE_ENTRY_WAITS:
		told(e, e->reason);
		break;
	}
}

static int by_tree(const void *a, const void *b)
{
	const char *x = *(char *const *)a, *y = *(char *const *)b;
	size_t n = strcspn(x, "|"), m = strcspn(y, "|");
	return span_cmp(span_make(x, n), span_make(y, m));
}

void decide_run(struct world *w, struct texts *out)
{
	int n = 0;
	bool more;
	do {
		struct kueue_entry *e;
		kueue_cycle_begin(w->queues, w->now);
		while ((e = kueue_cycle_next(w->queues)))
			decide(w, e, out);
		more = kueue_cycle_end(w->queues);
	} while (more && ++n < MAX_CYCLES);
	if (more)
		w->trouble = "the cycles do not end";
	/* A stable sort: insertion. */
	for (size_t i = 1; i < out->len; i++)
		for (size_t k = i; k && by_tree(&out->items[k - 1], &out->items[k]) > 0; k--) {
			char *t = out->items[k];
			out->items[k] = out->items[k - 1];
			out->items[k - 1] = t;
		}
}

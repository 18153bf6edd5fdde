#include "kueue_world.h"

#include <stdio.h>
#include <stdlib.h>

static void check(int r, const struct err *err)
{
	if (r == 0)
		return;
	fprintf(stderr, "%s: %s\n", err->field, err->text);
	exit(2);
}

struct kueue_world kueue_world_make(size_t cohorts, size_t width, int64_t nominal,
				    int64_t borrowing)
{
	static const struct span cpu[] = {SPAN("cpu")}, flavor[] = {SPAN("default")};
	const struct kueue_quota quota = {nominal, borrowing, QUOTA_UNLIMITED};
	const struct kueue_group_spec group = {cpu, 1, flavor, 1, &quota};
	const struct kueue_flavor_spec plain = {.name = SPAN("default")};
	const struct kueue_options options = kueue_options_default();
	struct err err = ERR_INIT;
	struct kueue_world w = {.f = kueue_forest_create(&options), .n_queues = cohorts * width};

	w.q = kueue_queues_create(w.f, &options);
	w.queues = xcalloc(w.n_queues, sizeof(*w.queues));
	check(kueue_forest_set_flavor(w.f, &plain, &err), &err);
	for (size_t i = 0; i < w.n_queues; i++) {
		char name[32], cohort[32];
		snprintf(name, sizeof(name), "queue-%04zu", i);
		snprintf(cohort, sizeof(cohort), "cohort-%zu", i / width);
		const struct kueue_queue_spec spec = {
		    .name = span_of(name),
		    .cohort = cohorts > 0 && width > 1 ? span_of(cohort) : SPAN_NONE,
		    .groups = &group,
		    .n_groups = 1,
		    .weight = 1,
		    .preemption = {.within_cluster_queue = KUEUE_PREEMPT_LOWER_PRIORITY,
				   .reclaim_within_cohort = KUEUE_PREEMPT_ANY},
		};
		check(kueue_forest_set_queue(w.f, &spec, &err), &err);
		w.queues[i] = kueue_forest_queue(w.f, spec.name);
	}
	return w;
}

void kueue_world_done(struct kueue_world *w)
{
	struct err err = ERR_INIT;
	check(kueue_queues_check(w->q, &err), &err);
	check(kueue_forest_check(w->f, &err), &err);
	kueue_queues_destroy(w->q);
	kueue_forest_destroy(w->f);
	free(w->queues);
}

struct kueue_workload *kueue_world_add(struct kueue_world *w, uint32_t queue, uint64_t number,
				       int32_t priority, int64_t at, int64_t cpu, void *owner)
{
	char name[24];
	snprintf(name, sizeof(name), "w%010llu", (unsigned long long)number);
	const struct kueue_request request = {SPAN("cpu"), cpu};
	const struct kueue_pod_set set = {
	    .name = SPAN("main"), .count = 1, .requests = &request, .n_requests = 1};
	const struct kueue_workload_spec spec = {.name = span_of(name),
						 .uid = span_of(name),
						 .priority = priority,
						 .created = at,
						 .queue_order = at,
						 .pod_sets = &set,
						 .n_pod_sets = 1,
						 .owner = owner};
	struct kueue_workload *wl = NULL;
	struct err err = ERR_INIT;
	check(kueue_queues_add(w->q, queue, &spec, &wl, &err), &err);
	return wl;
}

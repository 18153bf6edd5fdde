#ifndef TESTS_UNIT_QUOTA_TREE_KUEUE_WORLD_H
#define TESTS_UNIT_QUOTA_TREE_KUEUE_WORLD_H
/*
 * Queues over a small forest, and cycles whose answers a test scripts: what is admitted, who is
 * evicted, in order, as names.
 */
#include "kueue_testing.h"
#include "quota-tree/kueue_queues.h"

struct world {
	struct kueue_forest *f;
	struct kueue_queues *q;
	int64_t now;
	char story[4096]; /* "+a" admitted, "!b" evicted for somebody, "-c" parked or waiting */
	bool (*places)(const struct kueue_entry *e); /* placement; NULL: everything fits */
	size_t entries;
};

static inline struct world world_with(struct kueue_options options)
{
	struct world w = {.f = kt_forest_with(options)};

	w.q = kueue_queues_create(w.f, &options);
	return w;
}

/* Kueue's pace: what every test of the rules counts by. */
static inline struct kueue_options world_options(void)
{
	struct kueue_options o = kueue_options_default();

	o.one_head_per_cycle = true;
	return o;
}

static inline void world_done(struct world *w)
{
	kueue_queues_destroy(w->q);
	kueue_forest_destroy(w->f);
}

static inline void world_check(struct world *w)
{
	struct err err = ERR_INIT;

	assert_ok(kueue_queues_check(w->q, &err), &err);
	assert_ok(kueue_forest_check(w->f, &err), &err);
}

static inline struct kueue_workload *world_add_sets_to(struct world *w, uint32_t queue,
						       uint32_t local, const char *name,
						       int32_t priority, int64_t at,
						       const struct kueue_pod_set *sets, size_t n)
{
	const struct kueue_workload_spec spec = {
	    .name = span_of(name),
	    .uid = span_of(name),
	    .local_queue = local,
	    .priority = priority,
	    .created = at,
	    .queue_order = at,
	    .pod_sets = sets,
	    .n_pod_sets = n,
	};
	struct kueue_workload *wl = NULL;
	struct err err = ERR_INIT;

	assert_ok(kueue_queues_add(w->q, queue, &spec, &wl, &err), &err);
	return wl;
}

static inline struct kueue_workload *world_add_to(struct world *w, uint32_t queue, uint32_t local,
						  const char *name, int32_t priority, int64_t at,
						  int64_t cpu)
{
	const struct kueue_request request = {SPAN("cpu"), cpu};
	const struct kueue_pod_set set = {
	    .name = SPAN("main"), .count = 1, .requests = &request, .n_requests = 1};

	return world_add_sets_to(w, queue, local, name, priority, at, &set, 1);
}

/* One pod of that much cpu. */
static inline struct kueue_workload *world_add(struct world *w, uint32_t queue, const char *name,
					       int32_t priority, int64_t at, int64_t cpu)
{
	return world_add_to(w, queue, 0, name, priority, at, cpu);
}

static inline void world_tell(struct world *w, char sign, struct span name)
{
	size_t len = strlen(w->story);

	snprintf(w->story + len, sizeof(w->story) - len, "%s%c%.*s", len ? " " : "", sign,
		 SPAN_ARGS(name));
}

/* One cycle; returns whether another has something to do. The story is what it did. */
static inline bool world_cycle(struct world *w)
{
	struct kueue_entry *e;

	w->story[0] = '\0';
	kueue_cycle_begin(w->q, ++w->now);
	while ((e = kueue_cycle_next(w->q))) {
		struct span name = e->workload->name;
		bool goes_on = true;

		w->entries++;
		while (goes_on && e->kind != KUEUE_ENTRY_WAITS && w->places && !w->places(e))
			goes_on = kueue_cycle_refuse(w->q, e);
		if (!goes_on || e->kind == KUEUE_ENTRY_WAITS) {
			world_tell(w, '-', name);
		} else if (e->kind == KUEUE_ENTRY_FITS) {
			kueue_cycle_admit(w->q, e, false);
			world_tell(w, '+', name);
		} else {
			for (size_t i = 0; i < e->victims.items.len; i++) {
				const struct kueue_workload *v = e->victims.items.items[i].workload;
				if (v->state != KUEUE_EVICTED)
					world_tell(w, '!', v->name);
			}
			kueue_cycle_preempt(w->q, e);
		}
	}
	bool more = kueue_cycle_end(w->q);

	world_check(w);
	return more;
}

#define assert_story(w, want)                                                                      \
	do {                                                                                       \
		world_cycle(w);                                                                    \
		assert_string_equal((w)->story, want);                                             \
	} while (0)

#endif

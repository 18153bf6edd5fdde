#ifndef TESTS_UNIT_QUOTA_TREE_KUEUE_ASSIGNING_H
#define TESTS_UNIT_QUOTA_TREE_KUEUE_ASSIGNING_H
/*
 * Queues of two flavors, and what an attempt gave, for the tests of flavor assignment. cpu is in
 * milli-units: 1000 reads as "1".
 */
#include "kueue_testing.h"

static const struct span two_flavors[] = {SPAN("one"), SPAN("two")};

/* A queue with cpu in flavors one and two. */
static inline uint32_t queue_of_two(struct kt_world *w, const char *name, const char *cohort,
				    struct kueue_quota one, struct kueue_quota two,
				    const struct kueue_queue_spec *more)
{
	return kt_queue_in(w, name, cohort, "one two", (const struct kueue_quota[]){one, two},
			   more);
}

static inline struct kueue_quota nominal(int64_t value)
{
	return (struct kueue_quota){value, NO, NO};
}

static inline const char *flavor_of(struct kt_world *w, size_t choice)
{
	uint32_t flavor = w->a.choices.items[choice].flavor;

	return flavor == KUEUE_NONE ? "" : kueue_forest_flavor_name(w->f, flavor).ptr;
}

static inline const char *message(struct kt_world *w, const struct kueue_workload *wl)
{
	static char text[KUEUE_MESSAGE_MAX];

	kueue_message_assignment(w->f, wl, &w->a, text, sizeof(text));
	return text;
}

#endif

#ifndef TESTS_UNIT_QUOTA_TREE_KUEUE_TESTING_H
#define TESTS_UNIT_QUOTA_TREE_KUEUE_TESTING_H
/*
 * Small Kueue forests in a few words. Quotas are {nominal, borrowing, lending}; NO is "no limit
 * stated". Unless a test says more, there is one flavor, "default", and one resource, "cpu", in
 * milli-units that are written as plain numbers.
 */
#include "quota-tree/kueue_holders.h"
#include "testing.h"

#define NO UNLIMITED

static const struct span kt_cpu[] = {SPAN("cpu")}, kt_default[] = {SPAN("default")};

/* Aborts the test with the error's words. */
#define assert_ok(call, err)                                                                       \
	do {                                                                                       \
		if ((call) != 0)                                                                   \
			fail_msg("%s: %s", (err)->field, (err)->text);                             \
	} while (0)

static inline void kt_flavor(struct kueue_forest *f, const char *name)
{
	const struct kueue_flavor_spec spec = {.name = span_of(name)};
	struct err err = ERR_INIT;

	assert_ok(kueue_forest_set_flavor(f, &spec, &err), &err);
}

static inline struct kueue_forest *kt_forest_with(struct kueue_options options)
{
	struct kueue_forest *f = kueue_forest_create(&options);

	kt_flavor(f, "default");
	return f;
}

static inline struct kueue_forest *kt_forest(void)
{
	return kt_forest_with(kueue_options_default());
}

/* A ClusterQueue of one group; returns its number. `more` gives policies, or NULL. */
static inline uint32_t kt_queue_of(struct kueue_forest *f, const char *name, const char *cohort,
				   const struct kueue_group_spec *groups, size_t n_groups,
				   const struct kueue_queue_spec *more)
{
	struct kueue_queue_spec spec = more ? *more : (struct kueue_queue_spec){.weight = 1};
	struct err err = ERR_INIT;

	spec.name = span_of(name);
	spec.cohort = span_of(cohort);
	spec.groups = groups;
	spec.n_groups = n_groups;
	assert_ok(kueue_forest_set_queue(f, &spec, &err), &err);
	return kueue_forest_queue(f, spec.name);
}

static inline uint32_t kt_queue_with(struct kueue_forest *f, const char *name, const char *cohort,
				     struct kueue_quota quota, const struct kueue_queue_spec *more)
{
	const struct kueue_group_spec group = {kt_cpu, 1, kt_default, 1, &quota};

	return kt_queue_of(f, name, cohort, &group, 1, more);
}

static inline uint32_t kt_queue(struct kueue_forest *f, const char *name, const char *cohort,
				int64_t nominal, int64_t borrowing, int64_t lending)
{
	return kt_queue_with(f, name, cohort, (struct kueue_quota){nominal, borrowing, lending},
			     NULL);
}

static inline uint32_t kt_cohort_with(struct kueue_forest *f, const char *name, const char *parent,
				      struct kueue_quota quota, double weight)
{
	const struct kueue_group_spec group = {kt_cpu, 1, kt_default, 1, &quota};
	const struct kueue_cohort_spec spec = {
	    .name = span_of(name),
	    .parent = span_of(parent),
	    .groups = &group,
	    .n_groups = 1,
	    .weight = weight,
	};
	struct err err = ERR_INIT;

	assert_ok(kueue_forest_set_cohort(f, &spec, &err), &err);
	return kueue_forest_cohort(f, spec.name);
}

static inline uint32_t kt_cohort(struct kueue_forest *f, const char *name, const char *parent,
				 int64_t nominal, int64_t borrowing, int64_t lending)
{
	return kt_cohort_with(f, name, parent, (struct kueue_quota){nominal, borrowing, lending},
			      1);
}

static inline struct kueue_use kt_use(struct kueue_forest *f, const char *flavor,
				      const char *resource, int64_t value)
{
	return (struct kueue_use){kueue_forest_intern_flavor(f, span_of(flavor)),
				  kueue_forest_resource(f, span_of(resource)), value};
}

/* default/cpu of a node */
static inline void kt_charge(struct kueue_forest *f, uint32_t queue, int64_t value)
{
	struct kueue_use use = kt_use(f, "default", "cpu", value);

	kueue_forest_charge(f, queue, &use, 1);
}

static inline void kt_release(struct kueue_forest *f, uint32_t queue, int64_t value)
{
	struct kueue_use use = kt_use(f, "default", "cpu", value);

	kueue_forest_release(f, queue, &use, 1);
}

static inline int64_t kt_available(struct kueue_forest *f, uint32_t queue)
{
	struct kueue_use use = kt_use(f, "default", "cpu", 0);

	return kueue_forest_available(f, queue, use.flavor, use.resource);
}

static inline int64_t kt_potential(struct kueue_forest *f, uint32_t node)
{
	struct kueue_use use = kt_use(f, "default", "cpu", 0);

	return kueue_forest_potential(f, node, use.flavor, use.resource);
}

static inline int64_t kt_usage(struct kueue_forest *f, uint32_t node)
{
	struct kueue_use use = kt_use(f, "default", "cpu", 0);

	return kueue_forest_usage(f, node, use.flavor, use.resource);
}

static inline int64_t kt_subtree(struct kueue_forest *f, uint32_t node)
{
	struct kueue_use use = kt_use(f, "default", "cpu", 0);

	return kueue_forest_subtree(f, node, use.flavor, use.resource);
}

static inline void kt_check(struct kueue_forest *f)
{
	struct err err = ERR_INIT;

	assert_ok(kueue_forest_check(f, &err), &err);
}

#endif

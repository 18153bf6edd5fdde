#ifndef TESTS_UNIT_QUOTA_TREE_KUEUE_TESTING_H
#define TESTS_UNIT_QUOTA_TREE_KUEUE_TESTING_H
/*
 * Small Kueue forests in a few words. Quotas are {nominal, borrowing, lending}; NO is "no limit
 * stated". Unless a test says more, there is one flavor, "default", and one resource, "cpu", in
 * milli-units that are written as plain numbers.
 */
#include "quota-tree/kueue_holders.h"
#include "quota-tree/kueue_message.h"
#include "quota-tree/kueue_preempt.h"
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

/* ---- workloads ---- */

struct kt_world {
	struct kueue_forest *f;
	struct kueue_shapes shapes;
	struct kueue_workload *workloads[64];
	size_t n;
	struct kueue_assignment a;
	struct kueue_victims v;
};

static inline struct kt_world kt_world_with(struct kueue_options options)
{
	return (struct kt_world){.f = kt_forest_with(options)};
}

static inline struct kt_world kt_world(void)
{
	return kt_world_with(kueue_options_default());
}

static inline void kt_done(struct kt_world *w)
{
	kueue_assignment_done(&w->a);
	kueue_victims_done(&w->v);
	for (size_t i = 0; i < w->n; i++) {
		if (rank_has(&w->workloads[i]->by_victim))
			kueue_holders_remove(w->f, w->workloads[i]);
		kueue_workload_free(&w->shapes, w->workloads[i]);
	}
	kueue_shapes_done(&w->shapes);
	kueue_forest_destroy(w->f);
}

/* Pod sets as they are; its name is its uid, `at` its age and, once it holds quota, since when. */
static inline struct kueue_workload *kt_workload_of(struct kt_world *w, uint32_t queue,
						    const char *name, int32_t priority, int64_t at,
						    const struct kueue_pod_set *sets, size_t n)
{
	const struct kueue_workload_spec spec = {
	    .name = span_of(name),
	    .uid = span_of(name),
	    .priority = priority,
	    .created = at,
	    .queue_order = at,
	    .pod_sets = sets,
	    .n_pod_sets = n,
	};
	struct err err = ERR_INIT;

	assert_true(w->n < ARRAY_LEN(w->workloads));
	assert_ok(kueue_workload_create(&w->shapes, w->f, queue, &spec, &w->workloads[w->n], &err),
		  &err);
	return w->workloads[w->n++];
}

/* One pod of that much cpu. */
static inline struct kueue_workload *kt_workload(struct kt_world *w, uint32_t queue,
						 const char *name, int32_t priority, int64_t at,
						 int64_t cpu)
{
	const struct kueue_request request = {SPAN("cpu"), cpu};
	const struct kueue_pod_set set = {
	    .name = SPAN("main"), .count = 1, .requests = &request, .n_requests = 1};

	return kt_workload_of(w, queue, name, priority, at, &set, 1);
}

/* Makes it hold quota. */
static inline void kt_hold_as(struct kt_world *w, struct kueue_workload *wl, enum kueue_state state,
			      const struct kueue_use *uses, size_t n)
{
	wl->uses = xcalloc(n, sizeof(*uses));
	memcpy(wl->uses, uses, n * sizeof(*uses));
	wl->n_uses = n;
	wl->state = state;
	wl->reserved_at = wl->queue_order;
	kueue_holders_add(w->f, wl);
}

/* Admitted with that much cpu of a flavor. */
static inline struct kueue_workload *kt_hold(struct kt_world *w, uint32_t queue, const char *name,
					     int32_t priority, int64_t at, const char *flavor,
					     int64_t cpu)
{
	struct kueue_workload *wl = kt_workload(w, queue, name, priority, at, cpu);
	struct kueue_use use = kt_use(w->f, flavor, "cpu", cpu);

	kt_hold_as(w, wl, KUEUE_ADMITTED, &use, 1);
	return wl;
}

static inline void kt_check(struct kueue_forest *f)
{
	struct err err = ERR_INIT;

	assert_ok(kueue_forest_check(f, &err), &err);
}

/* ---- flavors and victims, as texts ---- */

/* A ClusterQueue of cpu in several flavors, "one two", with a quota each. */
static inline uint32_t kt_queue_in(struct kt_world *w, const char *name, const char *cohort,
				   const char *flavors, const struct kueue_quota *quotas,
				   const struct kueue_queue_spec *more)
{
	struct span names[8], rest = span_of(flavors);
	struct kueue_group_spec group = {kt_cpu, 1, names, 0, quotas};

	while (rest.len) {
		struct span flavor = span_split(&rest, ' ');
		const struct kueue_flavor_spec spec = {.name = flavor};
		struct err err = ERR_INIT;
		assert_true(group.n_flavors < ARRAY_LEN(names));
		names[group.n_flavors++] = flavor;
		uint32_t known = kueue_forest_flavor(w->f, flavor);
		if (known == KUEUE_NONE || !kueue_forest_flavor_spec(w->f, known))
			assert_ok(kueue_forest_set_flavor(w->f, &spec, &err), &err);
	}
	return kt_queue_of(w->f, name, cohort, &group, 1, more);
}

/* "name:Reason name:Reason" of w->v. */
static inline const char *kt_victims_text(const struct kt_world *w)
{
	static char text[512];
	size_t len = 0;

	text[0] = '\0';
	vec_foreach (&w->v.items, v)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%.*s:%s", len ? " " : "",
					SPAN_ARGS(v->workload->name),
					kueue_preempt_reason_to_string(v->reason));
	kt_check(w->f);
	return text;
}

/* The same of one that is assigned first; "NoFit" when it has no flavor. */
static inline const char *kt_victims(struct kt_world *w, const struct kueue_workload *wl,
				     const struct kueue_room *room)
{
	kueue_assign(w->f, wl, NULL, &w->a);
	if (w->a.mode == KUEUE_NO_FIT)
		return "NoFit";
	kueue_preempt(w->f, wl, &w->a, room, &w->v);
	return kt_victims_text(w);
}

#endif

#include "fixture.h"

#include "base/arena.h"
#include "policies/propagation.h"

#include <errno.h>

#define PYTORCH SPAN("kubeflow.org/v1"), SPAN("PyTorchJob")

static const struct label train[] = {{SPAN("team"), SPAN("a")}, {SPAN("app"), SPAN("train")}};
static const struct propagation_object job = {PYTORCH, SPAN("team-a"), SPAN("llm"), train, 2};

static const struct resource_selector by_kind = {PYTORCH};
static const struct resource_selector by_name = {PYTORCH, .name = SPAN("llm")};
static const struct resource_selector by_labels = {
    PYTORCH, .has_labels = true, .labels = {.match_labels = train, .n_match_labels = 1}};
static const struct resource_selector other_name = {PYTORCH, .name = SPAN("other")};
static const struct resource_selector other_ns = {PYTORCH, .ns = SPAN("team-b")};
static const struct resource_selector own_ns = {PYTORCH, .ns = SPAN("team-a")};
static const struct resource_selector other_kind = {SPAN("batch/v1"), SPAN("Job")};
static const struct label serve = {SPAN("app"), SPAN("serve")};
static const struct resource_selector other_labels = {
    PYTORCH, .has_labels = true, .labels = {.match_labels = &serve, .n_match_labels = 1}};

static void put(struct propagation_index *x, const char *ns, const char *name,
		const struct resource_selector *s, int64_t priority)
{
	struct propagation_policy p = {.ns = span_of(ns),
				       .name = span_of(name),
				       .selectors = s,
				       .n_selectors = 1,
				       .priority = priority};
	struct err err = ERR_INIT;

	assert_int_equal(propagation_index_put(x, &p, &err), 0);
}

struct entry {
	const char *ns, *name;
	const struct resource_selector *s;
	int64_t priority;
};

static void precedence_is_karmadas(void **state)
{
	static const struct {
		const char *why;
		struct entry entries[3];
		const char *wins; /* NULL: none matches */
	} rows[] = {
	    {"the only one", {{"team-a", "p", &by_kind, 0}}, "p"},
	    {"none", {{"team-b", "p", &by_kind, 0}}, NULL},
	    {"own namespace before cluster-wide, whatever the priority",
	     {{NULL, "aa", &by_name, 9}, {"team-a", "zz", &by_kind, 0}},
	     "zz"},
	    {"higher priority before precision",
	     {{"team-a", "a", &by_name, 0}, {"team-a", "b", &by_kind, 1}},
	     "b"},
	    {"name before labels",
	     {{"team-a", "a", &by_labels, 0}, {"team-a", "b", &by_name, 0}},
	     "b"},
	    {"labels before kind",
	     {{"team-a", "a", &by_kind, 0}, {"team-a", "b", &by_labels, 0}},
	     "b"},
	    {"smaller name on a tie",
	     {{"team-a", "b", &by_kind, 0},
	      {"team-a", "a", &by_kind, 0},
	      {"team-a", "c", &by_kind, 0}},
	     "a"},
	    {"negative priorities count too",
	     {{"team-a", "a", &by_name, -2}, {"team-a", "b", &by_kind, -1}},
	     "b"},
	    {"cluster-wide when no namespaced one matches",
	     {{"team-a", "a", &other_name, 0}, {NULL, "c", &by_kind, 0}},
	     "c"},
	    {"cluster-wide for another namespace", {{NULL, "c", &other_ns, 0}}, NULL},
	    {"cluster-wide for this namespace", {{NULL, "c", &own_ns, 0}}, "c"},
	    {"another kind", {{"team-a", "a", &other_kind, 0}}, NULL},
	    {"other labels", {{"team-a", "a", &other_labels, 0}}, NULL},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct propagation_index *x = propagation_index_create();
		for (size_t j = 0; j < 3 && rows[i].entries[j].name; j++) {
			const struct entry *e = &rows[i].entries[j];
			put(x, e->ns, e->name, e->s, e->priority);
		}
		const struct propagation_policy *p = propagation_match(x, &job);
		if (!p != !rows[i].wins || (p && !span_is(p->name, rows[i].wins)))
			fail_msg("%s: %.*s wins", rows[i].why,
				 SPAN_ARGS(p ? p->name : SPAN("none")));
		propagation_index_destroy(x);
	}
}

static void several_selectors_count_with_the_most_precise(void **state)
{
	struct propagation_index *x = propagation_index_create();
	const struct resource_selector both[] = {by_kind, by_labels, by_name, other_kind, by_kind};
	struct propagation_policy p = {
	    .ns = SPAN("team-a"), .name = SPAN("z"), .selectors = both, .n_selectors = 5};

	put(x, "team-a", "a", &by_labels, 0);
	assert_int_equal(propagation_index_put(x, &p, NULL), 0);
	assert_true(span_is(propagation_match(x, &job)->name, "z"));
	propagation_index_remove(x, SPAN("team-a"), SPAN("z"));
	assert_true(span_is(propagation_match(x, &job)->name, "a"));
	propagation_index_remove(x, SPAN("team-a"), SPAN("a"));
	propagation_index_remove(x, SPAN("team-a"), SPAN("a"));
	assert_null(propagation_match(x, &job));
	assert_int_equal(propagation_index_count(x), 0);
	propagation_index_destroy(x);
}

static void system_namespaces_are_left_alone_by_cluster_wide_policies(void **state)
{
	static const char *const names[] = {"karmada-system", "karmada-cluster", "karmada-es-c1",
					    "kube-system",    "kube-public",	 "kube-node-lease",
					    "kube-queue"};
	struct propagation_index *x = propagation_index_create();
	struct propagation_object o = job;

	put(x, NULL, "all", &by_kind, 0);
	assert_non_null(propagation_match(x, &o));
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		o.ns = span_of(names[i]);
		assert_null(propagation_match(x, &o));
	}
	/* A policy of that namespace itself is somebody's decision. */
	put(x, "kube-system", "here", &by_kind, 0);
	o.ns = SPAN("kube-system");
	assert_true(span_is(propagation_match(x, &o)->name, "here"));
	assert_false(propagation_is_system_namespace(SPAN("default")));
	assert_false(propagation_is_system_namespace(SPAN("karmada-es")));
	propagation_index_destroy(x);
}

static void whether_one_policy_selects_an_object_can_be_asked_alone(void **state)
{
	struct propagation_policy p = {
	    .ns = SPAN("team-a"), .selectors = &by_kind, .n_selectors = 1};
	struct propagation_object o = job;

	assert_true(propagation_selects(&p, &o));
	o.ns = SPAN("team-b");
	assert_false(propagation_selects(&p, &o)); /* not its namespace */
	p.ns = SPAN_NONE;
	assert_true(propagation_selects(&p, &o));
	o.ns = SPAN("kube-system");
	assert_false(propagation_selects(&p, &o));
	o = job;
	p.selectors = &other_labels;
	assert_false(propagation_selects(&p, &o));
}

static void a_policy_is_replaced_and_keeps_its_own_copy(void **state)
{
	struct propagation_index *x = propagation_index_create();
	char name[] = "llm", cluster[] = "c1";
	struct resource_selector s = {PYTORCH, .name = span_make(name, 3)};
	struct span clusters[] = {span_make(cluster, 2)};
	struct cluster_affinity aff = {.cluster_names = clusters, .n_cluster_names = 1};
	struct propagation_policy p = {
	    .ns = SPAN("team-a"),
	    .name = SPAN("p"),
	    .selectors = &s,
	    .n_selectors = 1,
	    .placement = {.affinities = &aff, .n_affinities = 1, .gang = true},
	    .suspend_scheduling = true,
	    .failover = {.enabled = true},
	    .revision = 42,
	};

	assert_int_equal(propagation_index_put(x, &p, NULL), 0);
	memset(name, 'x', 3);
	memset(cluster, 'x', 2);
	const struct propagation_policy *kept = propagation_match(x, &job);
	assert_non_null(kept);
	assert_true(span_is(kept->placement.affinities[0].cluster_names[0], "c1"));
	assert_true(kept->suspend_scheduling && kept->failover.enabled && kept->placement.gang);
	assert_int_equal(kept->revision, 42);
	assert_ptr_equal(kept, propagation_index_get(x, SPAN("team-a"), SPAN("p")));
	assert_null(propagation_index_get(x, SPAN_NONE, SPAN("p")));
	/* What the index handed out may be put again. */
	struct propagation_policy again = *kept;
	again.priority = 5;
	assert_int_equal(propagation_index_put(x, &again, NULL), 0);
	assert_int_equal(propagation_index_count(x), 1);
	assert_int_equal(propagation_match(x, &job)->priority, 5);
	propagation_index_destroy(x);
}

static void all_of_a_placement_is_kept(void **state)
{
	static const struct span zones[] = {SPAN("z1"), SPAN("z2")}, none[] = {SPAN("c9")};
	static const struct node_expr field = {SPAN("zone"), NODE_OP_NOT_IN, zones, 2},
				      expr = {SPAN("gpu"), NODE_OP_EXISTS, NULL, 0};
	static const struct cluster_affinity aff = {
	    .name = SPAN("near"),
	    .exclude = none,
	    .n_exclude = 1,
	    .has_labels = true,
	    .labels = {.match_labels = train, .n_match_labels = 2, .exprs = &expr, .n_exprs = 1},
	    .fields = &field,
	    .n_fields = 1,
	};
	static const struct toleration tol = {
	    .key = SPAN("k"), .value = SPAN("v"), .effect = TAINT_NO_EXECUTE};
	static const struct spread_constraint spread = {SPAN("cluster"), SPAN_NONE, 1, 3};
	static const struct placement_spec spec = {
	    .affinities = &aff,
	    .n_affinities = 1,
	    .tolerations = &tol,
	    .n_tolerations = 1,
	    .spread = &spread,
	    .n_spread = 1,
	    .replica_scheduling = REPLICA_DIVIDED,
	    .gang = true,
	    .sum_of_free = true,
	};
	struct arena a = ARENA_INIT;
	struct placement_spec c = placement_spec_dup(&a, &spec);

	assert_true(span_is(c.affinities[0].name, "near"));
	assert_true(span_is(c.affinities[0].exclude[0], "c9"));
	assert_true(span_is(c.affinities[0].labels.match_labels[1].value, "train"));
	assert_true(span_is(c.affinities[0].labels.exprs[0].key, "gpu"));
	assert_true(span_is(c.affinities[0].fields[0].values[1], "z2"));
	assert_true(span_is(c.tolerations[0].key, "k") && span_is(c.tolerations[0].value, "v"));
	assert_int_equal(c.tolerations[0].effect, TAINT_NO_EXECUTE);
	assert_true(span_is(c.spread[0].field, "cluster") && !c.spread[0].label.ptr);
	assert_int_equal(c.spread[0].max_groups, 3);
	assert_true(c.gang && c.sum_of_free && c.replica_scheduling == REPLICA_DIVIDED);
	assert_ptr_not_equal(c.tolerations[0].key.ptr, tol.key.ptr);
	arena_done(&a);

	struct placement_spec over = spec;
	struct err err = ERR_INIT;
	over.n_tolerations = POD_SET_MAX_TOLERATIONS + 1;
	assert_int_equal(placement_spec_check(&over, &err), -EDOM);
	assert_string_equal(err.field, "spec.placement.clusterTolerations");
	over = spec;
	over.n_spread = POD_SET_MAX_TERMS + 1;
	assert_int_equal(placement_spec_check(&over, &err), -EDOM);
	assert_string_equal(err.field, "spec.placement.spreadConstraints");
	struct cluster_affinity wide[] = {aff, aff, aff};
	wide[0].n_cluster_names = PLACEMENT_MAX_NAMES + 1;
	wide[1].n_exclude = PLACEMENT_MAX_NAMES + 1;
	wide[2].labels.n_exprs = POD_SET_MAX_EXPRS + 1;
	for (size_t i = 0; i < ARRAY_LEN(wide); i++) {
		over = spec;
		over.affinities = &wide[i];
		assert_int_equal(placement_spec_check(&over, &err), -EDOM);
		assert_string_equal(err.field, "spec.placement.clusterAffinities[0]");
	}
}

static void bad_policies_are_refused_with_their_path(void **state)
{
	static const struct resource_selector no_kind = {SPAN("v1"), SPAN("")};
	static const struct node_expr planet = {SPAN("planet"), NODE_OP_IN, NULL, 0};
	static const struct cluster_affinity by_planet = {.fields = &planet, .n_fields = 1};
	static const struct cluster_affinity long_name = {
	    .name = SPAN("an-affinity-name-of-more-than-32-chars")};
	static struct cluster_affinity many[PLACEMENT_MAX_AFFINITIES + 1];
	static const struct {
		struct propagation_policy p;
		const char *field;
	} rows[] = {
	    {{.selectors = &by_kind, .n_selectors = 1}, "metadata.name"},
	    {{.name = SPAN("p")}, "spec.resourceSelectors"},
	    {{.name = SPAN("p"), .selectors = &no_kind, .n_selectors = 1},
	     "spec.resourceSelectors[0]"},
	    {{.ns = SPAN("team-a"), .name = SPAN("p"), .selectors = &other_ns, .n_selectors = 1},
	     "spec.resourceSelectors[0]"},
	    {{.name = SPAN("p"),
	      .selectors = &by_kind,
	      .n_selectors = 1,
	      .placement = {.affinities = many, .n_affinities = ARRAY_LEN(many)}},
	     "spec.placement.clusterAffinities"},
	    {{.name = SPAN("p"),
	      .selectors = &by_kind,
	      .n_selectors = 1,
	      .placement = {.affinities = &by_planet, .n_affinities = 1}},
	     "spec.placement.clusterAffinities[0]"},
	    {{.name = SPAN("p"),
	      .selectors = &by_kind,
	      .n_selectors = 1,
	      .placement = {.affinities = &long_name, .n_affinities = 1}},
	     "spec.placement.clusterAffinities[0]"},
	};
	struct propagation_index *x = propagation_index_create();

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct err err = ERR_INIT;
		assert_int_equal(propagation_index_put(x, &rows[i].p, &err), -EDOM);
		assert_string_equal(err.field, rows[i].field);
	}
	assert_int_equal(propagation_index_count(x), 0);
	propagation_index_destroy(x);
}

static void the_built_in_policy_is_a_gang_anywhere(void **state)
{
	const struct propagation_policy *p = propagation_builtin();

	assert_true(p->placement.gang && p->propagate_deps);
	assert_false(p->suspend_scheduling);
	assert_int_equal(p->placement.n_affinities, 0);
	assert_null(p->name.ptr);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(precedence_is_karmadas),
	    cmocka_unit_test(several_selectors_count_with_the_most_precise),
	    cmocka_unit_test(system_namespaces_are_left_alone_by_cluster_wide_policies),
	    cmocka_unit_test(whether_one_policy_selects_an_object_can_be_asked_alone),
	    cmocka_unit_test(a_policy_is_replaced_and_keeps_its_own_copy),
	    cmocka_unit_test(all_of_a_placement_is_kept),
	    cmocka_unit_test(bad_policies_are_refused_with_their_path),
	    cmocka_unit_test(the_built_in_policy_is_a_gang_anywhere),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

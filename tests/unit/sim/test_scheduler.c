#include "member-sync/sim/scheduler.h"
#include "sim_test.h"

static struct scheduler *s;

static int setup(void **state)
{
	s = scheduler_create();
	return 0;
}

static int teardown(void **state)
{
	scheduler_destroy(s);
	return 0;
}

struct node_parts {
	struct info_pair labels[4];
	struct info_amount amounts[4];
	struct info_taint taints[1];
};

static void node(const char *name, int64_t cpu, int64_t gpu, const char *rack, const char *taint)
{
	struct node_parts p = {
	    .labels = {{SPAN("kubernetes.io/hostname"), span_of(name)},
		       {SPAN("rack"), span_of(rack)}},
	    .amounts = {{SPAN("cpu"), cpu}, {SPAN("nvidia.com/gpu"), gpu}, {SPAN("pods"), 10}},
	    .taints = {{SPAN("dedicated"), span_of(taint), INFO_NO_SCHEDULE}},
	};
	struct node_info n = {.name = span_of(name),
			      .labels = p.labels,
			      .n_labels = rack ? 2 : 1,
			      .allocatable = p.amounts,
			      .n_allocatable = 3,
			      .taints = p.taints,
			      .n_taints = taint ? 1 : 0,
			      .ready = true};
	scheduler_set_node(s, &n);
}

/* Every test's shapes: needs in static memory, nothing in the arena. */
static struct scheduler_shape *shape(const char *key, const struct scheduler_needs *needs)
{
	struct scheduler_shape *there = scheduler_get_shape(s, span_of(key));
	struct arena none = ARENA_INIT;
	return there ? there : scheduler_add_shape(s, span_of(key), needs, &none);
}

static struct info_amount cpu1000[] = {{SPAN("cpu"), 1000}};
static struct info_amount gpu4[] = {{SPAN("cpu"), 1000}, {SPAN("nvidia.com/gpu"), 4}};

static struct scheduler_needs small(void)
{
	return (struct scheduler_needs){.pod = {.requests = cpu1000, .n_requests = 1}};
}

static const char *place(struct scheduler_pod *p)
{
	static char name[64];
	struct scheduler_node *n = scheduler_place(s, p, NULL);
	if (!n)
		return "";
	scheduler_bind(s, p, n);
	snprintf(name, sizeof(name), "%.*s", SPAN_ARGS(scheduler_node_name(n)));
	return name;
}

static void pods_fill_a_node_before_the_next(void **state)
{
	struct scheduler_needs needs = {.pod = {.requests = gpu4, .n_requests = 2}};
	struct scheduler_pod p[5] = {0};
	node("a", 8000, 8, NULL, NULL);
	node("b", 8000, 8, NULL, NULL);
	static const char *const want[] = {"a", "a", "b", "b", ""};
	for (int i = 0; i < 5; i++) {
		p[i].shape = shape("gpu", &needs);
		assert_string_equal(place(&p[i]), want[i]);
	}
	assert_true(scheduler_is_hopeless(s, &p[4]));
	scheduler_unbind(s, &p[1]);
	assert_false(scheduler_is_hopeless(s, &p[4]));
	assert_string_equal(place(&p[4]), "a");
}

static void the_fullest_node_that_fits_is_taken(void **state)
{
	struct scheduler_needs needs = small();
	struct scheduler_pod p = {.shape = shape("s", &needs)};
	node("big", 64000, 0, NULL, NULL);
	node("tight", 1000, 0, NULL, NULL);
	assert_string_equal(place(&p), "tight");
}

static void the_words_name_every_obstacle(void **state)
{
	static struct info_pair selector[] = {{SPAN("rack"), SPAN("r9")}};
	struct scheduler_needs picky = {.pod = {.requests = gpu4,
						.n_requests = 2,
						.node_selector = selector,
						.n_node_selector = 1}};
	struct scheduler_needs plain = {.pod = {.requests = gpu4, .n_requests = 2}};
	const char *why;
	node("a", 8000, 2, "r1", NULL);
	node("b", 8000, 8, "r1", "x");
	struct scheduler_pod p = {.shape = shape("picky", &picky)};
	assert_null(scheduler_place(s, &p, &why));
	assert_string_equal(why, "0/2 nodes are available: 1 node(s) didn't match Pod's node "
				 "affinity/selector, 1 node(s) had untolerated taint(s).");
	p.shape = shape("plain", &plain);
	assert_null(scheduler_place(s, &p, &why));
	assert_string_equal(why, "0/2 nodes are available: 1 Insufficient nvidia.com/gpu, 1 "
				 "node(s) had untolerated taint(s).");
}

static void a_toleration_opens_a_tainted_node(void **state)
{
	static struct info_toleration tolerations[] = {
	    {SPAN("dedicated"), SPAN("team"), TOLERATE_EQUAL, true, INFO_NO_SCHEDULE}};
	struct scheduler_needs needs = small();
	needs.pod.tolerations = tolerations;
	needs.pod.n_tolerations = 1;
	struct scheduler_pod p = {.shape = shape("t", &needs)};
	node("a", 8000, 0, NULL, "other");
	assert_string_equal(place(&p), "");
	node("b", 8000, 0, NULL, "team");
	assert_string_equal(place(&p), "b");
}

static void the_pod_count_is_a_resource(void **state)
{
	static struct scheduler_pod p[11];
	struct scheduler_needs needs = {0};
	memset(p, 0, sizeof(p));
	node("a", 8000, 0, NULL, NULL);
	for (int i = 0; i < 11; i++) {
		p[i].shape = shape("nothing", &needs);
		assert_string_equal(place(&p[i]), i < 10 ? "a" : "");
	}
}

static void a_gone_or_unready_node_takes_nothing(void **state)
{
	struct scheduler_needs needs = small();
	struct scheduler_pod p = {.shape = shape("s", &needs)};
	node("a", 8000, 0, NULL, NULL);
	scheduler_remove_node(s, SPAN("a"));
	assert_string_equal(place(&p), "");
	struct info_amount amounts[] = {{SPAN("cpu"), 8000}, {SPAN("pods"), 10}};
	struct node_info n = {.name = SPAN("b"), .allocatable = amounts, .n_allocatable = 2};
	scheduler_set_node(s, &n);
	assert_string_equal(place(&p), "");
	n.ready = true;
	scheduler_set_node(s, &n);
	assert_string_equal(place(&p), "b");
}

/* One exclusive job of two pods: all in one rack, alone there. */
static struct scheduler_needs exclusive(const char *job, struct info_requirement r[3],
					struct scheduler_term t[2], struct span values[2])
{
	values[0] = values[1] = span_of(job);
	r[0] = (struct info_requirement){SPAN("job"), MATCH_IN, &values[0], 1};
	r[1] = (struct info_requirement){SPAN("job"), MATCH_EXISTS, NULL, 0};
	r[2] = (struct info_requirement){SPAN("job"), MATCH_NOT_IN, &values[1], 1};
	t[0] = (struct scheduler_term){
	    .topology_key = SPAN("rack"), .requirements = &r[0], .n_requirements = 1};
	t[1] = (struct scheduler_term){
	    .anti = true, .topology_key = SPAN("rack"), .requirements = &r[1], .n_requirements = 2};
	struct scheduler_needs needs = small();
	needs.terms = t;
	needs.n_terms = 2;
	return needs;
}

static void exclusive_jobs_have_a_rack_each(void **state)
{
	static struct info_requirement r[3][3];
	static struct scheduler_term t[3][2];
	static struct span values[3][2];
	static struct info_pair labels[3][1];
	static struct scheduler_pod p[6], stranger;
	static const char *const jobs[] = {"j0", "j1", "j2"};
	static const char *const racks[] = {"r1", "r1", "r2", "r2"};
	static const char *const names[] = {"n0", "n1", "n2", "n3"};
	memset(p, 0, sizeof(p));
	for (int i = 0; i < 4; i++)
		node(names[i], 1000, 0, racks[i], NULL);
	for (int i = 0; i < 6; i++) {
		int j = i / 2;
		struct scheduler_needs needs = exclusive(jobs[j], r[j], t[j], values[j]);
		labels[j][0] = (struct info_pair){SPAN("job"), span_of(jobs[j])};
		p[i] = (struct scheduler_pod){
		    .shape = shape(jobs[j], &needs), .labels = labels[j], .n_labels = 1};
	}
	assert_string_equal(place(&p[0]), "n0");
	assert_string_equal(place(&p[2]), "n2"); /* another job: the other rack */
	assert_string_equal(place(&p[1]), "n1");
	assert_string_equal(place(&p[3]), "n3");
	assert_string_equal(place(&p[4]), ""); /* no rack is left */
	for (int i = 0; i < 2; i++)
		scheduler_unbind(s, &p[i]);
	assert_string_equal(place(&p[4]), "n0");
	/* a pod without the label is nobody's business */
	struct scheduler_needs needs = small();
	stranger = (struct scheduler_pod){.shape = shape("s", &needs)};
	assert_string_equal(place(&stranger), "n1");
}

static void a_changed_node_keeps_its_pods_charged(void **state)
{
	struct scheduler_needs needs = small();
	static struct scheduler_pod p[3];
	memset(p, 0, sizeof(p));
	node("a", 2000, 0, NULL, NULL);
	for (int i = 0; i < 3; i++)
		p[i].shape = shape("s", &needs);
	assert_string_equal(place(&p[0]), "a");
	node("a", 2000, 0, "r1", NULL);
	assert_string_equal(place(&p[1]), "a");
	assert_string_equal(place(&p[2]), "");
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(pods_fill_a_node_before_the_next), T(the_fullest_node_that_fits_is_taken),
	    T(the_words_name_every_obstacle),	 T(a_toleration_opens_a_tainted_node),
	    T(the_pod_count_is_a_resource),	 T(a_gone_or_unready_node_takes_nothing),
	    T(exclusive_jobs_have_a_rack_each),	 T(a_changed_node_keeps_its_pods_charged),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

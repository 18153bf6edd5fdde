#include "member-sync/sim/ray_cluster.h"
#include "sim_test.h"

struct world {
	struct ray_cluster_spec spec;
	struct ray_cluster_state state;
	struct pod_view pods[16];
	size_t n;
	struct plan plan;
	bool changed;
	usec now;
};

static struct world w;

static int setup(void **state)
{
	w = (struct world){.now = T0};
	/* a head and two workers */
	w.spec = (struct ray_cluster_spec){
	    .pods = {1, 2}, .n_sets = 2, .workers = 2, .min_workers = 1, .max_workers = 4};
	w.state = (struct ray_cluster_state){.state = ""};
	return 0;
}

static int teardown(void **state)
{
	plan_done(&w.plan);
	return 0;
}

static void decide(void)
{
	plan_done(&w.plan);
	w.plan = (struct plan){0};
	w.changed = ray_cluster_decide(&w.spec, w.pods, w.n, w.now, &w.state, &w.plan);
	w.now += S;
}

/* What the plan says comes and goes; new pods run. */
static void obey(void)
{
	size_t kept = 0;

	for (size_t i = 0; i < w.n; i++) {
		bool goes = false;
		vec_foreach (&w.plan.deletes, d)
			goes |= *d == i;
		if (!goes)
			w.pods[kept++] = w.pods[i];
	}
	w.n = kept;
	vec_foreach (&w.plan.creates, c)
		w.pods[w.n++] = (struct pod_view){
		    .set = c->set, .index = c->index, .phase = POD_RUNNING, .ready = true};
}

static void a_cluster_comes_up_and_is_ready(void **state)
{
	decide();
	assert_int_equal(w.plan.creates.len, 3);
	assert_string_equal(w.state.state, "");
	assert_int_equal(w.state.desired, 2);
	assert_string_equal(conditions_get(&w.state.conditions, "HeadPodReady")->reason,
			    "HeadPodNotFound");
	assert_string_equal(conditions_get(&w.state.conditions, "RayClusterProvisioned")->reason,
			    "RayClusterPodsProvisioning");
	obey();
	decide();
	assert_string_equal(w.state.state, "ready");
	assert_int_equal(w.state.ready, 2);
	assert_int_equal(w.state.available, 2);
	assert_true(conditions_true(&w.state.conditions, "HeadPodReady"));
	assert_string_equal(conditions_get(&w.state.conditions, "RayClusterProvisioned")->reason,
			    "AllPodRunningAndReadyFirstTime");
	assert_int_equal(w.state.ready_at, T0 + S);
	decide();
	assert_false(w.changed);
	assert_int_equal(w.plan.creates.len + w.plan.deletes.len, 0);
}

static void a_pod_that_ended_is_made_again(void **state)
{
	decide();
	obey();
	decide();
	w.pods[1].phase = POD_FAILED;
	decide();
	assert_int_equal(w.plan.deletes.len, 1);
	assert_int_equal(w.plan.creates.len, 0); /* its name is taken until it is gone */
	assert_int_equal(w.state.ready, 1);
	assert_string_equal(w.state.state, "ready"); /* as KubeRay leaves it */
	obey();
	decide();
	assert_int_equal(w.plan.creates.len, 1);
}

static void suspension_takes_the_pods_and_resuming_brings_them_back(void **state)
{
	decide();
	obey();
	decide();
	w.spec.suspend = true;
	decide();
	assert_true(conditions_true(&w.state.conditions, "RayClusterSuspending"));
	assert_int_equal(w.plan.deletes.len, 3);
	assert_string_equal(w.state.state, "ready");
	obey();
	decide();
	assert_string_equal(w.state.state, "suspended");
	assert_true(conditions_true(&w.state.conditions, "RayClusterSuspended"));
	assert_false(conditions_true(&w.state.conditions, "RayClusterSuspending"));
	assert_int_equal(w.state.available, 0);
	w.spec.suspend = false;
	decide();
	assert_false(conditions_true(&w.state.conditions, "RayClusterSuspended"));
	assert_int_equal(w.plan.creates.len, 3);
	obey();
	decide();
	assert_string_equal(w.state.state, "ready");
}

static void a_cluster_born_suspended_makes_no_pod(void **state)
{
	w.spec.suspend = true;
	decide();
	assert_int_equal(w.plan.creates.len, 0);
	assert_string_equal(w.state.state, "suspended");
}

static void fewer_workers_are_asked_for(void **state)
{
	decide();
	obey();
	decide();
	w.spec.pods[1] = 1;
	w.spec.workers = 1;
	decide();
	assert_int_equal(w.plan.deletes.len, 1);
	obey();
	decide();
	assert_int_equal(w.state.ready, 1);
	assert_int_equal(w.state.desired, 1);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(a_cluster_comes_up_and_is_ready),
	    T(a_pod_that_ended_is_made_again),
	    T(suspension_takes_the_pods_and_resuming_brings_them_back),
	    T(a_cluster_born_suspended_makes_no_pod),
	    T(fewer_workers_are_asked_for),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The words. Sentences of refusals in context are in test_elastic_queue.c. */
#include "fleet.h"
#include "quota-tree/quota_message.h"

static const char *quantity(const char *resource, int64_t value)
{
	static char out[QUOTA_QUANTITY_MAX];
	size_t len = quota_message_quantity(span_of(resource), value, out, sizeof(out));
	assert_int_equal(len, strlen(out));
	return out;
}

static void quantities_print_in_kubernetes_canonical_form(void **state)
{
	(void)state;
	assert_string_equal(quantity("cpu", 5000), "5");
	assert_string_equal(quantity("cpu", 500), "500m");
	assert_string_equal(quantity("cpu", 1500), "1500m");
	assert_string_equal(quantity("cpu", 0), "0");
	assert_string_equal(quantity("cpu", -2000), "-2");
	assert_string_equal(quantity("cpu", CPU(10000)), "10k");
	assert_string_equal(quantity("cpu", CPU(999900)), "999900");
	assert_string_equal(quantity("memory", (int64_t)40 << 30), "40Gi");
	assert_string_equal(quantity("memory", (int64_t)10000 << 30), "10000Gi");
	assert_string_equal(quantity("memory", 1000), "1k");
	assert_string_equal(quantity("memory", 1025), "1025");
	assert_string_equal(quantity("hugepages-2Mi", 4 << 20), "4Mi");
	assert_string_equal(quantity("ephemeral-storage", (int64_t)1 << 60), "1Ei");
	assert_string_equal(quantity("nvidia.com/gpu", 8), "8");
	assert_string_equal(quantity("nvidia.com/gpu", 10000), "10k");
	assert_string_equal(quantity("cpu", QUOTA_UNLIMITED), "unlimited");
	assert_string_equal(quantity("memory", INT64_MIN), "-8Ei");
}

static void text_is_cut_and_terminated(void **state)
{
	(void)state;
	char out[4] = "xyz";
	assert_int_equal(quota_message_quantity(SPAN("cpu"), 123456, out, sizeof(out)), 3);
	assert_string_equal(out, "123");
	assert_int_equal(quota_message_quantity(SPAN("cpu"), 1, out, 1), 0);
	assert_string_equal(out, "");
	assert_int_equal(quota_message_quantity(SPAN("cpu"), 1, NULL, 0), 0);
}

static void queue_names_follow_the_path(void **state)
{
	(void)state;
	char out[QUOTA_QUEUE_NAME_MAX];
	quota_message_queue_name(SPAN("root/child-2"), SPAN("v5zxz"), out, sizeof(out));
	assert_string_equal(out, "root-child-2-v5zxz");
	quota_message_queue_name(SPAN("root"), SPAN("kdzw7"), out, sizeof(out));
	assert_string_equal(out, "root-kdzw7");
	quota_message_queue_prefix(SPAN("root/Team_A/x.y"), out, sizeof(out));
	assert_string_equal(out, "root-team-a-x.y-");
}

static void long_queue_names_keep_their_end_and_stay_names(void **state)
{
	(void)state;
	char path[200], out[QUOTA_QUEUE_NAME_MAX];
	memset(path, 'a', sizeof(path));
	memcpy(path, "root/", 5);
	memcpy(path + sizeof(path) - 8, "/b/_c/dd", 8);
	size_t len = quota_message_queue_name(span_make(path, sizeof(path)), SPAN("v5zxz"), out,
					      sizeof(out));
	assert_int_equal(len, 63);
	assert_true(span_ends(span_of(out), SPAN("a-b--c-dd-v5zxz")));
	/* A cut that falls on a separator must not leave a name that begins with one. */
	path[sizeof(path) - 57] = '_';
	len = quota_message_queue_prefix(span_make(path, sizeof(path)), out, sizeof(out));
	assert_int_equal(len, 57);
	assert_int_equal(out[0], 'a');
}

static void the_oversell_rate_is_told(void **state)
{
	(void)state;
	const struct elastic_node_spec root = {
	    .name = SPAN("root"),
	    .max = LIST(Q("cpu", CPU(4)), Q("memory", (int64_t)3 << 30)),
	};
	const struct elastic_options options = {.oversell_permille = 1250};
	struct fleet f = fleet_make(&root, &options, false);
	fleet_run(&f, (struct job){.node = "root", .name = "r", .cores = 5});
	struct elastic_unit *u =
	    fleet_add(&f, (struct job){.node = "root", .name = "u", .cores = 1});
	assert_null(elastic_queue_next(f.q));
	assert_string_equal(fleet_why(&f, u),
			    "Insufficient quota(cpu) in quota root: request 1, max 5, used 5, "
			    "oversellreate 1.25. Wait for running jobs to complete");
	char text[128];
	quota_message_list(f.tree, 0, QUOTA_NUMBER_MAX, text, sizeof(text));
	assert_string_equal(text, "{cpu:4,memory:3Gi}");
	fleet_done(&f);
}

static void the_parents_of_a_nonpreemptible_job_speak_of_min(void **state)
{
	(void)state;
	const struct elastic_node_spec root = {
	    .name = SPAN("root"),
	    .min = LIST(Q("cpu", CPU(4))),
	    .max = LIST(Q("cpu", CPU(4))),
	    CHILDREN({.name = SPAN("a"), .min = LIST(Q("cpu", CPU(4)))}, {.name = SPAN("b")}),
	};
	struct fleet f = fleet_make(&root, NULL, false);
	struct job job = {.node = "b", .name = "r", .cores = 4, .nonpreemptible = true};
	fleet_run(&f, job);
	job.node = "a";
	job.cores = 1;
	struct elastic_unit *u = fleet_add(&f, job);
	assert_null(elastic_queue_next(f.q));
	assert_string_equal(fleet_why(&f, u),
			    "Insufficient quota(cpu) in parent quota root: request 1, min 4, used "
			    "4, oversellreate 1. Wait for running jobs to complete");
	fleet_done(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(quantities_print_in_kubernetes_canonical_form),
	    cmocka_unit_test(text_is_cut_and_terminated),
	    cmocka_unit_test(queue_names_follow_the_path),
	    cmocka_unit_test(long_queue_names_keep_their_end_and_stay_names),
	    cmocka_unit_test(the_oversell_rate_is_told),
	    cmocka_unit_test(the_parents_of_a_nonpreemptible_job_speak_of_min),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

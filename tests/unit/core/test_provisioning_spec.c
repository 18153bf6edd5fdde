/* What an admission check asks for, and what a request's status says: tables. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/json.h"
#include "core/kueue/provisioning_spec.h"
#include "core/provisioning/request_phase.h"

/* ---- status ---- */

#define IS(type) "{\"type\":\"" type "\",\"status\":\"True\",\"reason\":\"R\",\"message\":\"m\"}"
#define IS_NOT(type)                                                                               \
	"{\"type\":\"" type "\",\"status\":\"False\",\"reason\":\"N\",\"message\":\"n\"}"
#define STATUS(...) "{\"conditions\":[" __VA_ARGS__ "]}"

static void later_states_go_before_earlier_ones(void **state)
{
	static const struct {
		const char *status;
		enum provision_phase phase;
		const char *words;
	} table[] = {
	    {"{}", PROVISION_PENDING, ""},
	    {"{\"conditions\":7}", PROVISION_PENDING, ""},
	    {STATUS(IS_NOT("Accepted")), PROVISION_PENDING, ""},
	    {STATUS(IS("Accepted")), PROVISION_ACCEPTED, "R: m"},
	    {STATUS(IS("Accepted") "," IS_NOT("Provisioned")), PROVISION_ACCEPTED, "N: n"},
	    {STATUS(IS("Provisioned") "," IS("Accepted")), PROVISION_PROVISIONED, "R: m"},
	    {STATUS(IS("Accepted") "," IS("Provisioned") "," IS("BookingExpired")),
	     PROVISION_BOOKING_EXPIRED, "R: m"},
	    {STATUS(IS("BookingExpired") "," IS("CapacityRevoked")), PROVISION_CAPACITY_REVOKED,
	     "R: m"},
	    {STATUS(IS("CapacityRevoked") "," IS("Failed")), PROVISION_FAILED, "R: m"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		auto_buf words = BUF_INIT;
		assert_int_equal(request_phase(span_of(table[i].status)), table[i].phase);
		request_phase_words(span_of(table[i].status), &words);
		assert_string_equal(words.ptr ? words.ptr : "", table[i].words);
	}
}

/* ---- what is asked for ---- */

static struct info_amount small[] = {{{"cpu", 3}, 8000}, {{"memory", 6}, 1 << 30}};
static struct info_amount one_gpu[] = {{{"cpu", 3}, 1000}, {{"nvidia.com/gpu", 14}, 1}};
static struct info_amount four_gpus[] = {{{"cpu", 3}, 500}, {{"nvidia.com/gpu", 14}, 4}};

static struct job_pod_set sets[] = {
    {.name = {"launcher", 8}, .count = 1, .pod = {.requests = small, .n_requests = 2}},
    {.name = {"worker", 6}, .count = 6, .pod = {.requests = one_gpu, .n_requests = 2}},
    {.name = {"big", 3}, .count = 2, .pod = {.requests = four_gpus, .n_requests = 2}},
};

static struct provisioning_config config_of(const char *json, struct cJSON **ret)
{
	struct err err;

	assert_int_equal(json_parse(span_of(json), NULL, ret, &err), 0);
	return (struct provisioning_config){.class = PROVISIONING_QUEUED_CLASS,
					    .parameters = json_get(*ret, "parameters"),
					    .managed = json_get(*ret, "managed"),
					    .node_selector = json_get(*ret, "nodeSelector")};
}

static void one_set_of_the_largest_template_stands_for_all_that_are_managed(void **state)
{
	const struct workload_digest d = {.pod_sets = sets, .n_pod_sets = 3};
	auto_json *tree = NULL, *all_tree = NULL;
	struct provisioning_config c = config_of("{\"managed\":[\"nvidia.com/gpu\"]}", &tree);
	struct provisioning_config all = config_of("{}", &all_tree);
	bool managed[3], every[3];
	struct provisioning_spec s = {&c, &d, managed}, e = {&all, &d, every};

	(void)state;
	/* 6 pods of 1 GPU and 2 of 4 make 8 pods of 4; the launcher needs none. */
	assert_int_equal(provisioning_spec_managed(&c, &d, managed), 2);
	assert_false(managed[0]);
	assert_int_equal(provisioning_spec_largest(&s), 2);
	assert_int_equal(provisioning_spec_pods(&s), 8);
	/* Without managed resources devices count before cpu. */
	assert_int_equal(provisioning_spec_managed(&all, &d, every), 3);
	assert_int_equal(provisioning_spec_largest(&e), 2);
	assert_int_equal(provisioning_spec_pods(&e), 9);
}

static void parameters_are_the_configs_then_the_jobs_and_a_run_ends_after_a_week(void **state)
{
	const struct workload_digest d = {.pod_sets = sets + 1, .n_pod_sets = 1};
	auto_json *tree = NULL, *annotations = NULL;
	struct provisioning_config c =
	    config_of("{\"parameters\":{\"a\":\"1\",\"maxRunDurationSeconds\":\"60\"}}", &tree);
	bool managed[1] = {true};
	struct provisioning_spec s = {&c, &d, managed};
	auto_buf out = BUF_INIT;
	struct err err;

	(void)state;
	assert_int_equal(
	    json_parse(SPAN("{\"provreq.kueue.x-k8s.io/b\":\"2\",\"other\":\"3\","
			    "\"provreq.kueue.x-k8s.io/maxRunDurationSeconds\":\"700000\"}"),
		       NULL, &annotations, &err),
	    0);
	const struct provisioning_group group = {0, 6};
	provisioning_spec_request(&s, "r", &group, 1, annotations, &out);
	assert_string_equal(out.ptr,
			    "{\"provisioningClassName\":\"queued-provisioning.gke.io\","
			    "\"parameters\":{\"a\":\"1\","
			    "\"maxRunDurationSeconds\":\"604800\",\"b\":\"2\"},\"podSets\":[{"
			    "\"count\":6,\"podTemplateRef\":{\"name\":\"ppt-r-worker\"}}]}");
}

/* Three sets; the templates of the last two differ in a command, those of the first in a GPU. */
static void pod_sets_that_are_alike_are_asked_for_as_one_where_the_class_takes_several(void **state)
{
	static const char *const texts[] = {
	    "{'spec':{'containers':[{'name':'c','command':['a'],'resources':{'requests':{'cpu':1}"
	    "}}]}}",
	    "{'spec':{'containers':[{'name':'c','command':['a'],'resources':{'requests':{'cpu':1,"
	    "'nvidia.com/gpu':1}}}],'nodeSelector':{'pool':'x'}}}",
	    "{'spec':{'containers':[{'name':'c','command':['b'],'resources':{'requests':{'cpu':1,"
	    "'nvidia.com/gpu':1}}}],'nodeSelector':{'pool':'x'}}}",
	};
	static const struct {
		const char *class;
		enum provisioning_merge merge;
		bool same; /* the last two templates are the same text */
		size_t n;
		struct provisioning_group want[3];
	} table[] = {
	    {"check-capacity.autoscaling.x-k8s.io",
	     PROVISIONING_MERGE_NONE,
	     true,
	     3,
	     {{0, 1}, {1, 6}, {2, 2}}},
	    {"check-capacity.autoscaling.x-k8s.io",
	     PROVISIONING_MERGE_TEMPLATES,
	     false,
	     3,
	     {{0, 1}, {1, 6}, {2, 2}}},
	    {"check-capacity.autoscaling.x-k8s.io",
	     PROVISIONING_MERGE_TEMPLATES,
	     true,
	     2,
	     {{0, 1}, {1, 8}}},
	    {"check-capacity.autoscaling.x-k8s.io",
	     PROVISIONING_MERGE_REQUIREMENTS,
	     false,
	     2,
	     {{0, 1}, {1, 8}}},
	    /* queued provisioning takes one: the largest */
	    {PROVISIONING_QUEUED_CLASS, PROVISIONING_MERGE_NONE, false, 1, {{2, 9}}},
	};
	const struct workload_digest d = {.pod_sets = sets, .n_pod_sets = 3};
	const bool managed[3] = {true, true, true};
	struct cJSON *templates[3];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		struct provisioning_config c = {.class = table[i].class, .merge = table[i].merge};
		struct provisioning_spec s = {&c, &d, managed};
		struct provisioning_group got[3];
		for (size_t k = 0; k < 3; k++) {
			auto_free char *text = xstrdup(texts[table[i].same && k == 2 ? 1 : k]);
			for (char *p = text; *p; p++)
				*p = *p == '\'' ? '"' : *p;
			assert_int_equal(json_parse(span_of(text), NULL, &templates[k], NULL), 0);
		}
		size_t n =
		    provisioning_spec_groups(&s, (const struct cJSON *const *)templates, got);
		assert_int_equal(n, table[i].n);
		for (size_t k = 0; k < n; k++) {
			assert_int_equal(got[k].set, table[i].want[k].set);
			assert_int_equal(got[k].count, table[i].want[k].count);
		}
		for (size_t k = 0; k < 3; k++)
			json_free(templates[k]);
	}
}

static void details_of_the_status_become_node_selectors(void **state)
{
	const struct workload_digest d = {.pod_sets = sets + 1, .n_pod_sets = 1};
	auto_json *tree = NULL, *status = NULL;
	struct provisioning_config c =
	    config_of("{\"nodeSelector\":[{\"key\":\"pool\",\"valueFromProvisioningClassDetail\":"
		      "\"name\"},{\"key\":\"gone\",\"valueFromProvisioningClassDetail\":\"x\"}]}",
		      &tree);
	bool managed[1] = {true};
	struct provisioning_spec s = {&c, &d, managed};
	auto_buf out = BUF_INIT;
	struct err err;

	(void)state;
	assert_int_equal(json_parse(SPAN("{\"provisioningClassDetails\":{\"name\":\"p1\"}}"), NULL,
				    &status, &err),
			 0);
	provisioning_spec_updates(&s, "r", status, &out);
	assert_non_null(strstr(out.ptr, "\"nodeSelector\":{\"pool\":\"p1\"}"));
	assert_non_null(strstr(out.ptr, "\"name\":\"worker\""));
}

static void names_are_cut_with_a_hash(void **state)
{
	char workload[300], other[300];
	auto_buf a = BUF_INIT, b = BUF_INIT, c = BUF_INIT;

	(void)state;
	provisioning_spec_name(SPAN("job-x-1"), "check", 2, &a);
	assert_string_equal(a.ptr, "job-x-1-check-2");
	memset(workload, 'w', 250);
	memset(other, 'w', 250);
	provisioning_spec_name(span_make(workload, 250), "check", 1, &b);
	provisioning_spec_name(span_make(other, 250), "check", 2, &c);
	assert_int_equal(b.len, STORE_MAX_NAME);
	assert_string_not_equal(b.ptr, c.ptr);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(later_states_go_before_earlier_ones),
	    cmocka_unit_test(one_set_of_the_largest_template_stands_for_all_that_are_managed),
	    cmocka_unit_test(parameters_are_the_configs_then_the_jobs_and_a_run_ends_after_a_week),
	    cmocka_unit_test(
		pod_sets_that_are_alike_are_asked_for_as_one_where_the_class_takes_several),
	    cmocka_unit_test(details_of_the_status_become_node_selectors),
	    cmocka_unit_test(names_are_cut_with_a_hash),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "../kube/kube_test.h"

#include "base/json.h"
#include "kube/discovery.h"

static const char *const pod_short[] = {"po", NULL};
static const char *const get_verb[] = {"get", NULL};
static const struct kind_subresource log_sub[] = {{"log", "", "v1", "Pod", get_verb}};
static const struct kind pods = {.group = "",
				 .version = "v1",
				 .kind = "Pod",
				 .plural = "pods",
				 .singular = "pod",
				 .short_names = pod_short,
				 .verbs = KIND_VERBS_READ,
				 .has_status = true,
				 .subresources = log_sub,
				 .n_subresources = 1};
static const struct kind quotas2 = {.group = "q.io",
				    .version = "v2",
				    .kind = "Quota",
				    .plural = "quotas",
				    .singular = "quota",
				    .scope = KIND_CLUSTER};
static const struct kind trees2 = {
    .group = "q.io", .version = "v2", .kind = "Tree", .plural = "trees", .singular = "tree"};
static const struct kind quotas1 = {.group = "q.io",
				    .version = "v1",
				    .kind = "Quota",
				    .plural = "quotas",
				    .singular = "quota",
				    .scope = KIND_CLUSTER};
static const struct kind *const all[] = {&pods, &quotas2, &trees2, &quotas1};
static const struct kind_set set = {all, 4};

static struct cJSON *parse(const struct buf *b)
{
	struct cJSON *t = NULL;
	assert_int_equal(json_parse(buf_span(b), NULL, &t, NULL), 0);
	return t;
}

static void groups_name_their_versions_once_best_first(void **state)
{
	(void)state;
	auto_buf out = BUF_INIT;
	discovery_groups(&set, &out);
	assert_string_equal(
	    out.ptr,
	    "{\"kind\":\"APIGroupList\",\"apiVersion\":\"v1\",\"groups\":[{\"name\":\"q.io\","
	    "\"versions\":[{\"groupVersion\":\"q.io/v2\",\"version\":\"v2\"},"
	    "{\"groupVersion\":\"q.io/v1\",\"version\":\"v1\"}],\"preferredVersion\":"
	    "{\"groupVersion\":\"q.io/v2\",\"version\":\"v2\"}}]}");
	buf_clear(&out);
	assert_true(discovery_group(&set, SPAN("q.io"), &out));
	auto_json *t = parse(&out);
	assert_string_equal(json_str(t, "kind"), "APIGroup");
	assert_false(discovery_group(&set, SPAN("none"), &out));
	assert_false(discovery_group(&set, SPAN(""), &out));
}

static void resources_list_verbs_and_subresources(void **state)
{
	(void)state;
	auto_buf out = BUF_INIT;
	assert_true(discovery_resources(&set, SPAN(""), SPAN("v1"), &out));
	auto_json *t = parse(&out);
	const struct cJSON *list = json_get(t, "resources");
	assert_string_equal(json_str(t, "groupVersion"), "v1");
	assert_int_equal(json_len(list), 3);
	assert_string_equal(json_str(json_at(list, 0), "name"), "pods");
	assert_int_equal(json_len(json_get(json_at(list, 0), "verbs")), 3);
	assert_string_equal(json_str(json_at(list, 1), "name"), "pods/status");
	assert_string_equal(json_str(json_at(list, 2), "name"), "pods/log");
	assert_false(discovery_resources(&set, SPAN("q.io"), SPAN("v3"), &out));
}

static void both_versions_of_a_group_have_their_resources(void **state)
{
	(void)state;
	auto_buf out = BUF_INIT;
	assert_true(discovery_resources(&set, SPAN("q.io"), SPAN("v2"), &out));
	auto_json *two = parse(&out);
	assert_int_equal(json_len(json_get(two, "resources")), 2);
	buf_clear(&out);
	assert_true(discovery_resources(&set, SPAN("q.io"), SPAN("v1"), &out));
	auto_json *one = parse(&out);
	assert_int_equal(json_len(json_get(one, "resources")), 1);
}

static void the_aggregated_form_holds_everything(void **state)
{
	(void)state;
	auto_buf out = BUF_INIT;
	discovery_aggregated(&set, false, "v2", &out);
	auto_json *t = parse(&out);
	const struct cJSON *group = json_at(json_get(t, "items"), 0);
	assert_int_equal(json_len(json_get(t, "items")), 1);
	assert_string_equal(json_str(json_get(group, "metadata"), "name"), "q.io");
	const struct cJSON *v2 = json_at(json_get(group, "versions"), 0);
	assert_string_equal(json_str(v2, "version"), "v2");
	assert_int_equal(json_len(json_get(v2, "resources")), 2);
	assert_string_equal(json_str(json_at(json_get(v2, "resources"), 0), "scope"), "Cluster");
	buf_clear(&out);
	discovery_aggregated(&set, true, "v2beta1", &out);
	auto_json *core = parse(&out);
	assert_string_equal(json_str(core, "apiVersion"), "apidiscovery.k8s.io/v2beta1");
	const struct cJSON *item = json_at(json_get(core, "items"), 0);
	assert_null(json_str(json_get(item, "metadata"), "name"));
	const struct cJSON *pod =
	    json_at(json_get(json_at(json_get(item, "versions"), 0), "resources"), 0);
	assert_int_equal(json_len(json_get(pod, "subresources")), 2);
}

static void the_core_group_says_where_it_is(void **state)
{
	(void)state;
	auto_buf out = BUF_INIT;
	discovery_core_versions("127.0.0.1:6443", &out);
	auto_json *t = parse(&out);
	assert_string_equal(json_value_str(json_at(json_get(t, "versions"), 0)), "v1");
	assert_string_equal(
	    json_str(json_at(json_get(t, "serverAddressByClientCIDRs"), 0), "serverAddress"),
	    "127.0.0.1:6443");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(groups_name_their_versions_once_best_first),
	    cmocka_unit_test(resources_list_verbs_and_subresources),
	    cmocka_unit_test(both_versions_of_a_group_have_their_resources),
	    cmocka_unit_test(the_aggregated_form_holds_everything),
	    cmocka_unit_test(the_core_group_says_where_it_is),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

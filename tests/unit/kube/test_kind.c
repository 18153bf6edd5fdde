#include "kube_test.h"

#include "kube/kind.h"

static const struct kind job = {.type = 32,
				.group = "batch",
				.version = "v1",
				.kind = "Job",
				.plural = "jobs",
				.singular = "job"};
static const struct kind core_event = {.type = 7,
				       .group = "",
				       .version = "v1",
				       .kind = "Event",
				       .plural = "events",
				       .singular = "event"};
static const struct kind new_event = {.type = 7,
				      .group = "events.k8s.io",
				      .version = "v1",
				      .kind = "Event",
				      .plural = "events",
				      .singular = "event"};
static const struct kind *const kinds[] = {&core_event, &new_event, &job};
static const struct kind_set set = {kinds, 3};

static void a_kind_is_found_by_resource_and_by_gvk(void **state)
{
	assert_ptr_equal(kind_by_resource(&set, SPAN("batch"), SPAN("v1"), SPAN("jobs")), &job);
	assert_ptr_equal(kind_by_resource(&set, SPAN(""), SPAN("v1"), SPAN("events")), &core_event);
	assert_ptr_equal(kind_by_gvk(&set, SPAN("events.k8s.io"), SPAN("v1"), SPAN("Event")),
			 &new_event);
}

static void a_kind_that_is_not_served_is_absent(void **state)
{
	assert_null(kind_by_resource(&set, SPAN("batch"), SPAN("v2"), SPAN("jobs")));
	assert_null(kind_by_resource(&set, SPAN("batch"), SPAN("v1"), SPAN("job")));
	assert_null(kind_by_gvk(&set, SPAN(""), SPAN("v1"), SPAN("Job")));
	assert_null(kind_by_type(&set, 99));
}

static void a_type_served_twice_is_found_in_its_first_form(void **state)
{
	assert_ptr_equal(kind_by_type(&set, 7), &core_event);
}

static void api_versions_are_printed_and_split(void **state)
{
	char out[KIND_API_VERSION_MAX];
	struct span group, version;

	assert_string_equal(kind_api_version(&job, out), "batch/v1");
	assert_string_equal(kind_api_version(&core_event, out), "v1");
	assert_string_equal(kind_resource_name(&job, out), "jobs.batch");
	assert_string_equal(kind_resource_name(&core_event, out), "events");
	kind_split_api_version(SPAN("batch/v1"), &group, &version);
	assert_text(group, "batch");
	assert_text(version, "v1");
	kind_split_api_version(SPAN("v1"), &group, &version);
	assert_text(group, "");
	assert_text(version, "v1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_kind_is_found_by_resource_and_by_gvk),
	    cmocka_unit_test(a_kind_that_is_not_served_is_absent),
	    cmocka_unit_test(a_type_served_twice_is_found_in_its_first_form),
	    cmocka_unit_test(api_versions_are_printed_and_split),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

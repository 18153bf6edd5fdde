#include "kube_test.h"

#include "kube/status.h"

#include <errno.h>

static const struct kind jobset = {
    .group = "jobset.x-k8s.io", .version = "v1alpha2", .kind = "JobSet", .plural = "jobsets"};
static const struct kind pod = {.group = "", .version = "v1", .kind = "Pod", .plural = "pods"};

static void expect(const struct err *e, const struct status_subject *s, const char *want)
{
	auto_buf b = BUF_INIT;
	struct err err = ERR_INIT;
	auto_json *tree = NULL;
	status_failure(e, s, &b);
	if (json_parse(buf_span(&b), NULL, &tree, &err) < 0)
		fail_msg("not JSON (%s): %s", err.text, b.ptr);
	assert_tree(tree, want);
}

static void not_found_names_the_resource(void **state)
{
	struct err e = ERR_INIT;
	struct status_subject s = {.kind = &jobset, .name = "x"};
	assert_int_equal(status_set_not_found(&e, &jobset, "x"), -ENOENT);
	expect(&e, &s,
	       "{'kind':'Status','apiVersion':'v1','metadata':{},'status':'Failure',"
	       "'message':'jobsets.jobset.x-k8s.io \\'x\\' not found','reason':'NotFound',"
	       "'details':{'name':'x','group':'jobset.x-k8s.io','kind':'jobsets'},'code':404}");
}

static void a_core_resource_has_no_group(void **state)
{
	struct err e = ERR_INIT;
	struct status_subject s = {.kind = &pod, .name = "p"};
	(void)status_set_already_exists(&e, &pod, "p");
	expect(&e, &s,
	       "{'kind':'Status','apiVersion':'v1','metadata':{},'status':'Failure',"
	       "'message':'pods \\'p\\' already exists','reason':'AlreadyExists',"
	       "'details':{'name':'p','kind':'pods'},'code':409}");
}

static void a_conflict_asks_to_try_again(void **state)
{
	struct err e = ERR_INIT;
	assert_int_equal(status_set_conflict(&e, &jobset, "x", NULL), -ESTALE);
	assert_string_equal(e.text,
			    "Operation cannot be fulfilled on jobsets.jobset.x-k8s.io \"x\": the "
			    "object has been modified; please apply your changes to the latest "
			    "version and try again");
}

static void an_invalid_object_lists_every_cause_under_its_kind(void **state)
{
	struct field_errors f = {0};
	struct err e = ERR_INIT;
	field_errors_add(&f, FIELD_REQUIRED, "spec.a", NULL, "%s", "");
	field_errors_add(&f, FIELD_INVALID, "spec.b[0]", "\"q\"", "must be a number");
	struct status_subject s = {.kind = &jobset, .name = "x", .errors = &f};
	assert_int_equal(status_set_invalid(&e, &jobset, "x", &f), -EDOM);
	assert_string_equal(e.field, "spec.a");
	expect(&e, &s,
	       "{'kind':'Status','apiVersion':'v1','metadata':{},'status':'Failure',"
	       "'message':'JobSet.jobset.x-k8s.io \\'x\\' is invalid: [spec.a: Required value, "
	       "spec.b[0]: Invalid value: \\'q\\': must be a number]','reason':'Invalid',"
	       "'details':{'name':'x','group':'jobset.x-k8s.io','kind':'JobSet','causes':["
	       "{'reason':'FieldValueRequired','message':'Required value','field':'spec.a'},"
	       "{'reason':'FieldValueInvalid','message':'Invalid value: \\'q\\': must be a number',"
	       "'field':'spec.b[0]'}]},'code':422}");
	field_errors_done(&f);
}

static void an_error_with_a_field_becomes_its_own_cause(void **state)
{
	struct err e = ERR_INIT;
	(void)err_set_field(&e, ERR_INVALID, "spec.max", "must be at least min");
	expect(
	    &e, NULL,
	    "{'kind':'Status','apiVersion':'v1','metadata':{},'status':'Failure',"
	    "'message':'spec.max: must be at least min','reason':'Invalid','details':{'causes':["
	    "{'reason':'FieldValueInvalid','message':'must be at least min','field':'spec.max'}]},"
	    "'code':422}");
}

static void causes_and_retry_stand_in_the_details(void **state)
{
	static const struct status_cause c = {"ResourceVersionTooLarge", "Too large", NULL};
	struct status_subject s = {.causes = &c, .n_causes = 1, .retry_after_seconds = 1};
	struct err e = ERR_INIT;
	(void)err_set(&e, ERR_TIMEOUT, "Too large resource version: %d, current: %d", 9, 1);
	expect(&e, &s,
	       "{'kind':'Status','apiVersion':'v1','metadata':{},'status':'Failure',"
	       "'message':'Too large resource version: 9, current: 1','reason':'Timeout',"
	       "'details':{'causes':[{'reason':'ResourceVersionTooLarge','message':'Too large'}],"
	       "'retryAfterSeconds':1},'code':504}");
}

static void an_error_about_nothing_has_no_details(void **state)
{
	struct err e = ERR_INIT;
	(void)err_set(&e, ERR_UNAUTHORIZED, "Unauthorized");
	expect(&e, NULL,
	       "{'kind':'Status','apiVersion':'v1','metadata':{},'status':'Failure',"
	       "'message':'Unauthorized','reason':'Unauthorized','code':401}");
}

static void a_success_carries_the_uid_that_went(void **state)
{
	struct status_subject s = {.kind = &jobset, .name = "x", .uid = "u-1"};
	auto_buf b = BUF_INIT;
	status_success(&s, &b);
	assert_text(buf_span(&b), "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},"
				  "\"status\":\"Success\",\"details\":{\"name\":\"x\",\"group\":"
				  "\"jobset.x-k8s.io\",\"kind\":\"jobsets\",\"uid\":\"u-1\"}}");
}

static void a_received_status_becomes_an_error_again(void **state)
{
	struct err e = ERR_INIT, got = ERR_INIT;
	auto_buf b = BUF_INIT;
	(void)status_set_forbidden(&e, &pod, "p", "no \"room\"");
	status_failure(&e, NULL, &b);
	assert_int_equal(status_parse(buf_span(&b), &got), 0);
	assert_int_equal(got.kind, ERR_FORBIDDEN);
	assert_string_equal(got.text, e.text);
	assert_int_equal(status_parse(SPAN("{\"kind\":\"Pod\"}"), &got), -EINVAL);
	assert_int_equal(status_parse(SPAN("[]"), &got), -EINVAL);
	assert_int_equal(status_parse(SPAN("{\"kind\":\"Status\",\"code\":99999999999}"), &got), 0);
	assert_int_equal(got.kind, ERR_INTERNAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(not_found_names_the_resource),
	    cmocka_unit_test(a_core_resource_has_no_group),
	    cmocka_unit_test(a_conflict_asks_to_try_again),
	    cmocka_unit_test(an_invalid_object_lists_every_cause_under_its_kind),
	    cmocka_unit_test(an_error_with_a_field_becomes_its_own_cause),
	    cmocka_unit_test(causes_and_retry_stand_in_the_details),
	    cmocka_unit_test(an_error_about_nothing_has_no_details),
	    cmocka_unit_test(a_success_carries_the_uid_that_went),
	    cmocka_unit_test(a_received_status_becomes_an_error_again),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

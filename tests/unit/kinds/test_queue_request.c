/*
 * Labels and annotations by which a job asks its queue for something: what Kueue's webhooks refuse,
 * in their words (pkg/controller/jobframework/validation.go,
 * pkg/controller/jobs/job/job_webhook.go).
 */
#include "kinds_test.h"

#include "kube/names.h"

#define K "kueue.x-k8s.io/"

static void put_job(struct buf *out, const char *labels, const char *annotations, const char *spec)
{
	buf_addf(out,
		 "{'apiVersion':'batch/v1','kind':'Job','metadata':{'name':'j','namespace':'d',"
		 "'labels':{%s},'annotations':{%s}},'spec':{%s,'template':{'spec':{'restartPolicy':"
		 "'Never','containers':[{'name':'c','image':'i'}]}}}}",
		 labels, annotations, spec);
}

static void expect(const char *labels, const char *annotations, const char *spec, const char *want)
{
	auto_buf job = BUF_INIT;

	put_job(&job, labels, annotations, spec);
	expect_wrong(TYPE_JOB, job.ptr, want);
}

#define THREE "'parallelism':3,'completions':3"

static void a_queue_has_the_name_of_an_object(void **state)
{
	(void)state;
	expect("'" K "queue-name':'a.queue-1'", "", THREE, "");
	auto_free char *rule = xstrdup(names_dns_subdomain_rule(SPAN("A_Queue")));
	auto_buf want = BUF_INIT;
	buf_addf(&want, "metadata.labels[" K "queue-name]: Invalid value: \"A_Queue\": %s\n", rule);
	expect("'" K "queue-name':'A_Queue'", "", THREE, want.ptr);
}

static void a_limit_of_time_is_a_number_above_zero(void **state)
{
	(void)state;
	expect("'" K "max-exec-time-seconds':'60'", "", THREE, "");
	expect("'" K "max-exec-time-seconds':'0'", "", THREE,
	       "metadata.labels[" K "max-exec-time-seconds]: Invalid value: 0: should be greater "
	       "than 0\n");
	expect("'" K "max-exec-time-seconds':'1h'", "", THREE,
	       "metadata.labels[" K "max-exec-time-seconds]: Invalid value: \"1h\": strconv.Atoi: "
	       "parsing \"1h\": invalid syntax\n");
}

static void the_least_parallelism_is_below_the_whole(void **state)
{
	(void)state;
#define LEAST(n) "'" K "job-min-parallelism':'" n "'"
#define AT_LEAST "metadata.annotations[" K "job-min-parallelism]: Invalid value: "
	expect("", LEAST("2"), THREE, "");
	expect("", LEAST("3"), THREE, AT_LEAST "3: should be between 0 and 2\n");
	expect("", LEAST("0"), THREE, AT_LEAST "0: should be between 0 and 2\n");
	/* Pods: the smaller of the two. */
	expect("", LEAST("2"), "'parallelism':3,'completions':2",
	       AT_LEAST "2: should be between 0 and 1\n");
	expect("", LEAST("few"), THREE,
	       AT_LEAST "\"few\": strconv.Atoi: parsing \"few\": invalid syntax\n");
}

static void completions_follow_parallelism_in_indexed_jobs_alone(void **state)
{
	(void)state;
#define EQUAL(v) "'" K "job-completions-equal-parallelism':'" v "'"
#define AT_EQUAL "metadata.annotations[" K "job-completions-equal-parallelism]: "
	expect("", EQUAL("true"), THREE ",'completionMode':'Indexed'", "");
	expect("", EQUAL("false"), THREE, "");
	expect("", EQUAL("true"), THREE,
	       AT_EQUAL "Invalid value: \"true\": should not be enabled for NonIndexed jobs\n");
	expect("", EQUAL("yes"), THREE,
	       AT_EQUAL "Invalid value: \"yes\": strconv.ParseBool: parsing \"yes\": invalid "
			"syntax\n");
	expect("", EQUAL("true"), "'parallelism':2,'completions':3,'completionMode':'Indexed'",
	       "spec.completions: Invalid value: 3: should be equal to parallelism when " K
	       "job-completions-equal-parallelism is annotation is true\n");
}

static void expect_update(const char *before, const char *after, const char *was, const char *is,
			  const char *want)
{
	auto_buf old = BUF_INIT, new = BUF_INIT;

	put_job(&old, "", before, was);
	put_job(&new, "", after, is);
	expect_wrong_update(TYPE_JOB, old.ptr, new.ptr, want);
}

static void a_running_job_keeps_what_partial_admission_was_worked_out_of(void **state)
{
	(void)state;
	static const char four[] = "'parallelism':4,'completions':3";
	expect_update(LEAST("2"), LEAST("2"), THREE, four,
		      "spec.parallelism: Forbidden: cannot change when partial admission is "
		      "enabled and the job is not suspended\n");
	expect_update(LEAST("2"), LEAST("2"), THREE ",'suspend':true",
		      "'parallelism':4,'completions':3,'suspend':true", "");
	expect_update("", "", THREE, four, "");
	expect_update("", EQUAL("true"), THREE ",'completionMode':'Indexed'",
		      THREE ",'completionMode':'Indexed'",
		      AT_EQUAL "Forbidden: field is immutable while the job is not suspended\n");
	/* What was taken once is looked at again when it changes. */
	expect_update(LEAST("2"), LEAST("2"), "'parallelism':3,'completions':3,'suspend':true",
		      "'parallelism':2,'completions':3,'suspend':true", "");
}

static void what_the_hub_does_not_read_gets_a_warning(void **state)
{
	(void)state;
	auto_buf job = BUF_INIT, wrong = BUF_INIT, warnings = BUF_INIT;

	put_job(&job, "'" K "prebuilt-workload-name':'w'", "'" K "elastic-job':'true'", THREE);
	auto_json *tree = tree_of(job.ptr);
	admit(hub_kind(TYPE_JOB), tree, NULL, &wrong, &warnings);
	assert_string_equal(wrong.ptr, "");
	assert_string_equal(warnings.ptr,
			    "metadata.annotations[" K
			    "elastic-job]: has no effect here: a running job that grows "
			    "is queued anew as a whole\n");
}

static void expect_renamed(const char *before, const char *after, const char *want)
{
	auto_buf old = BUF_INIT, new = BUF_INIT;

	put_job(&old, before, "", THREE);
	put_job(&new, after, "", THREE);
	expect_wrong_update(TYPE_JOB, old.ptr, new.ptr, want);
}

/* Kueue's ValidateImmutableField, at the label's path. */
static void a_workload_that_is_named_stays(void **state)
{
	(void)state;
#define NAMES(w) "'" K "prebuilt-workload-name':'" w "'"
#define AT_NAME	 "metadata.labels[" K "prebuilt-workload-name]: Invalid value: "
	auto_buf want = BUF_INIT;
	buf_addf(&want, AT_NAME "\"A_Job\": %s\n", names_dns_subdomain_rule(SPAN("A_Job")));
	expect(NAMES("A_Job"), "", THREE, want.ptr);
	expect(NAMES("a.job-1"), "", THREE, "");
	buf_clear(&want);
	buf_addf(&want,
		 "metadata.annotations[" K
		 "prebuilt-workload-name]: Invalid value: \"A_Job\": %s\n",
		 names_dns_subdomain_rule(SPAN("A_Job")));
	expect("", NAMES("A_Job"), THREE, want.ptr);
	expect_renamed(NAMES("a"), NAMES("a"), "");
	expect_renamed(NAMES("a"), NAMES("b"), AT_NAME "\"b\": field is immutable\n");
	expect_renamed(NAMES("a"), "", AT_NAME "\"\": field is immutable\n");
	expect_renamed("", NAMES("b"), AT_NAME "\"b\": field is immutable\n");
}

static void devices_of_claims_are_told_not_to_count(void **state)
{
	static const char job[] =
	    "{'apiVersion':'batch/v1','kind':'Job','metadata':{'name':'j','namespace':'d'},'spec':{"
	    "'template':{'spec':{'restartPolicy':'Never','resourceClaims':[{'name':'gpu',"
	    "'resourceClaimTemplateName':'one-gpu'}],'containers':[{'name':'c','image':'i',"
	    "'resources':{'claims':[{'name':'gpu'}]}}]}}}}";
	static const char want[] = "spec.template.spec.resourceClaims: devices of claims are "
				   "counted neither as quota nor as room here, and the claims or "
				   "their templates must be at the member clusters\n";
	auto_json *tree = tree_of(job);
	auto_buf wrong = BUF_INIT, warnings = BUF_INIT, again = BUF_INIT;

	(void)state;
	admit(hub_kind(TYPE_JOB), tree, NULL, &wrong, &warnings);
	assert_int_equal(wrong.len, 0);
	assert_string_equal(warnings.ptr, want);
	auto_json *edited = json_dup(tree);
	admit(hub_kind(TYPE_JOB), edited, tree, &wrong, &again);
	assert_int_equal(again.len, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_queue_has_the_name_of_an_object),
	    cmocka_unit_test(a_limit_of_time_is_a_number_above_zero),
	    cmocka_unit_test(the_least_parallelism_is_below_the_whole),
	    cmocka_unit_test(completions_follow_parallelism_in_indexed_jobs_alone),
	    cmocka_unit_test(a_running_job_keeps_what_partial_admission_was_worked_out_of),
	    cmocka_unit_test(what_the_hub_does_not_read_gets_a_warning),
	    cmocka_unit_test(devices_of_claims_are_told_not_to_count),
	    cmocka_unit_test(a_workload_that_is_named_stays),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

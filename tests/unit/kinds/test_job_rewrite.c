/*
 * A suspended copy that becomes what the hub would create now: what one admission added goes, what
 * the next adds comes, and what the member put there itself stays.
 */
#include "kinds/job_rewrite.h"
#include "kinds_test.h"
#include "kube/patch.h"

#include <errno.h>

static const struct job_copy_options options = {
    .hub_uid = "hub", .job_uid = "job", .epoch = 3, .suspend = true};

static int64_t number_of(const struct cJSON *object, const char *key)
{
	int64_t v = -1;

	(void)json_int64(object, key, &v);
	return v;
}

/* What an API server shows of a copy that was made of `job` with these updates. */
static struct cJSON *made(uint16_t type, const char *job, const char *updates, const char *patch)
{
	auto_json *tree = tree_of(job);
	auto_json *more = updates ? tree_of(updates) : NULL;
	auto_json *change = tree_of(patch);
	auto_json *copy = NULL;
	struct cJSON *shown = NULL;
	const struct job_copy_options o = {.hub_uid = "hub",
					   .job_uid = "job",
					   .epoch = 1,
					   .suspend = true,
					   .pod_set_updates = more};

	assert_int_equal(job_copy_tree(hub_kind(type), tree, &o, &copy, NULL), 0);
	assert_int_equal(patch_apply(PATCH_MERGE, hub_kind(type), copy, change, &shown, NULL), 0);
	return shown;
}

static struct cJSON *rewritten(uint16_t type, const struct cJSON *present, const char *job,
			       const char *updates)
{
	auto_json *tree = tree_of(job);
	auto_json *more = updates ? tree_of(updates) : NULL;
	auto_json *patch = NULL;
	auto_buf out = BUF_INIT;
	struct cJSON *now = NULL;
	struct job_copy_options o = options;
	struct err e = ERR_INIT;

	o.pod_set_updates = more;
	if (job_rewrite(hub_kind(type), present, tree, &o, &out, &e) < 0)
		fail_msg("%s", e.text);
	assert_int_equal(json_parse(buf_span(&out), NULL, &patch, NULL), 0);
	assert_int_equal(patch_apply(PATCH_MERGE, hub_kind(type), present, patch, &now, NULL), 0);
	/* It demands the object that was read. */
	assert_string_equal(json_str(json_get(patch, "metadata"), "uid"), "u1");
	assert_string_equal(json_str(json_get(patch, "metadata"), "resourceVersion"), "42");
	return now;
}

#define SHOWN "{'metadata':{'uid':'u1','resourceVersion':'42'},'status':{'active':0}}"
#define JOB                                                                                        \
	"{'metadata':{'name':'j'},'spec':{'parallelism':4,'template':{'metadata':{'labels':"       \
	"{'own':'x'}},'spec':{'nodeSelector':{'disk':'ssd'},'containers':[]}}}}"

static void flavors_of_the_last_admission_give_way_to_those_of_this_one(void **state)
{
	(void)state;
	auto_json *present =
	    made(TYPE_JOB, JOB,
		 "[{'name':'main','count':2,'labels':{'kueue.x-k8s.io/podset':'main'},'annotations'"
		 ":{'a':'1'},'nodeSelector':{'pool':'spot'},'tolerations':[{'key':'spot'}],"
		 "'schedulingGates':[{'name':'kueue.x-k8s.io/topology'}]}]",
		 "{'metadata':{'uid':'u1','resourceVersion':'42'},'spec':{'template':{'metadata':{"
		 "'labels':{'batch.kubernetes.io/job-name':'j'}}}}}");
	assert_string_equal(
	    json_str(
		json_at(json_path(present, "spec", "template", "spec", "schedulingGates", NULL), 0),
		"name"),
	    "kueue.x-k8s.io/topology");
	auto_json *now =
	    rewritten(TYPE_JOB, present, JOB,
		      "[{'name':'main','labels':{'kueue.x-k8s.io/podset':'main'},"
		      "'nodeSelector':{'pool':'large'},'tolerations':[{'key':'large'}]}]");
	assert_tree(json_path(now, "spec", NULL),
		    "{'parallelism':4,'suspend':true,'template':{'metadata':{'labels':{'own':'x',"
		    "'muster.dev/hub-uid':'hub','muster.dev/job-uid':'job','muster.dev/pod-set':"
		    "'main','muster.dev/epoch':'3','kueue.x-k8s.io/podset':'main',"
		    "'batch.kubernetes.io/job-name':'j'}},'spec':{'nodeSelector':{'disk':'ssd',"
		    "'pool':'large'},'containers':[],'tolerations':[{'key':'large'}]}}}");
	assert_string_equal(
	    json_str(json_path(now, "metadata", "annotations", NULL), "muster.dev/epoch"), "3");
}

static void a_job_that_got_all_its_pods_back_is_as_its_user_wrote_it(void **state)
{
	(void)state;
	auto_json *present = made(TYPE_JOB, JOB, "[{'name':'main','count':1}]", SHOWN);
	assert_int_equal(number_of(json_get(present, "spec"), "parallelism"), 1);
	auto_json *now = rewritten(TYPE_JOB, present, JOB, NULL);
	assert_int_equal(number_of(json_get(now, "spec"), "parallelism"), 4);
}

#define SET                                                                                        \
	"{'metadata':{'name':'s'},'spec':{'replicatedJobs':[{'name':'a','template':{'spec':{"      \
	"'template':{'spec':{'containers':[]}}}}},{'name':'b','template':{'spec':{'template':"     \
	"{'spec':{'containers':[]}}}}}]}}"

static void every_template_of_a_set_is_written_anew(void **state)
{
	(void)state;
	auto_json *present = made(TYPE_JOB_SET, SET,
				  "[{'name':'a','nodeSelector':{'pool':'1'}},{'name':'b',"
				  "'nodeSelector':{'pool':'1'}}]",
				  SHOWN);
	auto_json *now =
	    rewritten(TYPE_JOB_SET, present, SET, "[{'name':'b','nodeSelector':{'pool':'2'}}]");
	const struct cJSON *jobs = json_path(now, "spec", "replicatedJobs", NULL);
	assert_null(json_path(json_at(jobs, 0), "template", "spec", "template", "spec",
			      "nodeSelector", NULL));
	assert_string_equal(json_str(json_path(json_at(jobs, 1), "template", "spec", "template",
					       "spec", "nodeSelector", NULL),
				     "pool"),
			    "2");
}

static void a_copy_of_another_spec_has_to_be_made_anew(void **state)
{
	(void)state;
	auto_json *present = made(TYPE_JOB, JOB, NULL, SHOWN);
	auto_json *edited = tree_of("{'metadata':{'name':'j'},'spec':{'parallelism':5,'template':"
				    "{'spec':{'containers':[]}}}}");
	auto_buf out = BUF_INIT;
	assert_int_equal(job_rewrite(hub_kind(TYPE_JOB), present, edited, &options, &out, NULL),
			 err_errno(ERR_INVALID));
	/* suspend is the hub's own matter: whatever a user wrote there is no other spec. */
	auto_json *resumed = tree_of(
	    "{'metadata':{'name':'j'},'spec':{'parallelism':4,'template':{'metadata':{'labels':{"
	    "'own':'x'}},'spec':{'nodeSelector':{'disk':'ssd'},'containers':[]}},'suspend':false}}");
	assert_int_equal(job_rewrite(hub_kind(TYPE_JOB), present, resumed, &options, &out, NULL),
			 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(flavors_of_the_last_admission_give_way_to_those_of_this_one),
	    cmocka_unit_test(a_job_that_got_all_its_pods_back_is_as_its_user_wrote_it),
	    cmocka_unit_test(every_template_of_a_set_is_written_anew),
	    cmocka_unit_test(a_copy_of_another_spec_has_to_be_made_anew),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Edits of a job whose copy stands on a member: which paths they touch, and the patch of the copy.
 */
#include "kinds/job_amend.h"
#include "kinds_test.h"
#include "kube/patch.h"

#include <errno.h>

static char *text_of(const char *literal)
{
	auto_json *tree = tree_of(literal);
	auto_buf b = BUF_INIT;

	json_print(tree, &b);
	return buf_steal(&b, NULL);
}

static char *paths_of(uint16_t type, const char *was, const char *is)
{
	auto_free char *a = text_of(was), *b = text_of(is);
	auto_buf out = BUF_INIT;

	assert_int_equal(job_edit_paths(hub_kind(type), span_of(a), span_of(b), &out, NULL), 0);
	return out.len ? buf_steal(&out, NULL) : xstrdup("");
}

static const struct edit {
	uint16_t type;
	const char *was, *is, *paths; /* "" for none */
} edits[] = {
    {TYPE_JOB, "{'metadata':{'name':'j'},'spec':{'parallelism':1}}",
     "{'metadata':{'name':'j'},'spec':{'parallelism':2}}", "{'spec':{'parallelism':null}}"},
    /* labels that come where there were none, that go, that change */
    {TYPE_JOB, "{'metadata':{'name':'j'},'spec':{}}",
     "{'metadata':{'name':'j','labels':{'a':'1'}},'spec':{}}",
     "{'metadata':{'labels':{'a':null}}}"},
    {TYPE_JOB, "{'metadata':{'labels':{'a':'1'},'annotations':{'n':'x','m':'y'}},'spec':{}}",
     "{'metadata':{'annotations':{'n':'z','m':'y'}},'spec':{}}",
     "{'metadata':{'labels':{'a':null},'annotations':{'n':null}}}"},
    /* what never travels */
    {TYPE_JOB,
     "{'metadata':{'labels':{'kueue.x-k8s.io/queue-name':'a'},'resourceVersion':'1'},"
     "'spec':{'suspend':true,'ttlSecondsAfterFinished':1},'status':{}}",
     "{'metadata':{'labels':{'kueue.x-k8s.io/queue-name':'b','muster.dev/hub-uid':'x'},"
     "'annotations':{'kubectl.kubernetes.io/last-applied-configuration':'{}',"
     "'muster.dev/epoch':'9'},'resourceVersion':'2'},'spec':{'suspend':false},"
     "'status':{'active':1}}",
     ""},
    {TYPE_JOB,
     "{'metadata':{'annotations':{'kueue.x-k8s.io/job-min-parallelism':'1','n':'x'}},'spec':{}}",
     "{'metadata':{'annotations':{'kueue.x-k8s.io/job-min-parallelism':'2','n':'x'}},'spec':{}}",
     ""},
    {TYPE_PYTORCH_JOB, "{'metadata':{},'spec':{}}",
     "{'metadata':{},'spec':{'runPolicy':{'suspend':true,'ttlSecondsAfterFinished':5,"
     "'activeDeadlineSeconds':9}}}",
     "{'spec':{'runPolicy':{'activeDeadlineSeconds':null}}}"},
    {TYPE_RAY_JOB, "{'metadata':{},'spec':{'shutdownAfterJobFinishes':true}}",
     "{'metadata':{},'spec':{'shutdownAfterJobFinishes':false,'ttlSecondsAfterFinished':5}}",
     "{'spec':{'ttlSecondsAfterFinished':null}}"},
    /* a list is one value; a map of roles is looked into */
    {TYPE_PYTORCH_JOB,
     "{'metadata':{},'spec':{'pytorchReplicaSpecs':{'Master':{'replicas':1},'Worker':{"
     "'replicas':2,'template':{'spec':{'containers':[{'image':'a'}]}}}}}}",
     "{'metadata':{},'spec':{'pytorchReplicaSpecs':{'Master':{'replicas':1},'Worker':{"
     "'replicas':3,'template':{'spec':{'containers':[{'image':'b'}]}}}}}}",
     "{'spec':{'pytorchReplicaSpecs':{'Worker':{'replicas':null,'template':{'spec':{"
     "'containers':null}}}}}}"},
};

static void each_edit_touches_its_paths(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(edits); i++) {
		auto_free char *paths = paths_of(edits[i].type, edits[i].was, edits[i].is);
		auto_free char *want = edits[i].paths[0] ? text_of(edits[i].paths) : xstrdup("");
		if (strcmp(paths, want) != 0)
			fail_msg("edit %zu: %s", i, paths);
	}
}

static void edits_are_joined_and_the_shorter_path_stands_for_all_below(void **state)
{
	auto_free char *a = text_of("{'spec':{'x':{'y':null},'z':{'u':null}}}");
	auto_free char *b = text_of("{'metadata':{'labels':{'l':null}},'spec':{'x':{'w':null},"
				    "'z':null}}");
	auto_buf out = BUF_INIT, words = BUF_INIT;
	auto_json *tree = NULL;
	(void)state;

	assert_int_equal(job_edit_join(span_of(a), span_of(b), &out, NULL), 0);
	assert_int_equal(json_parse(buf_span(&out), NULL, &tree, NULL), 0);
	assert_tree(tree, "{'metadata':{'labels':{'l':null}},'spec':{'x':{'y':null,'w':null},"
			  "'z':null}}");
	job_edit_words(tree, &words);
	assert_string_equal(words.ptr, "spec.x.y, spec.x.w, spec.z, metadata.labels.l");
}

static void an_edit_beyond_what_may_be_kept_is_refused(void **state)
{
	struct buf out = BUF_MAX(16);
	auto_free char *a = text_of("{'metadata':{},'spec':{'one':1}}");
	auto_free char *b = text_of("{'metadata':{},'spec':{'another':2}}");
	struct err e = ERR_INIT;
	(void)state;

	assert_true(job_edit_paths(hub_kind(TYPE_JOB), span_of(a), span_of(b), &out, &e) < 0);
	assert_int_equal(e.kind, ERR_TOO_LARGE);
	buf_done(&out);
}

/* ---- the patch ---- */

#define UPDATES                                                                                    \
	"[{'name':'main','nodeSelector':{'pool':'a'},'labels':{'kueue.x-k8s.io/podset':'main'}}]"

static struct cJSON *copy_of(uint16_t type, const char *job, const char *shown)
{
	auto_json *tree = tree_of(job);
	auto_json *updates = tree_of(UPDATES);
	auto_json *copy = NULL;
	auto_json *change = tree_of(shown);
	struct cJSON *ret = NULL;
	const struct job_copy_options o = {
	    .hub_uid = "hub", .job_uid = "job", .epoch = 3, .pod_set_updates = updates};

	assert_int_equal(job_copy_tree(hub_kind(type), tree, &o, &copy, NULL), 0);
	assert_int_equal(patch_apply(PATCH_MERGE, hub_kind(type), copy, change, &ret, NULL), 0);
	return ret;
}

/* The copy of `was`, with what the member added to it, after the edit to `is`. */
static struct cJSON *amended(uint16_t type, const char *was, const char *is, const char *shown,
			     struct cJSON **ret_patch)
{
	auto_json *present = copy_of(type, was, shown);
	auto_free char *paths = paths_of(type, was, is);
	auto_json *edits_tree = NULL;
	auto_json *job = tree_of(is);
	auto_json *updates = tree_of(UPDATES);
	struct cJSON *now = NULL;
	auto_buf out = BUF_INIT;
	struct err e = ERR_INIT;
	const struct job_copy_options o = {
	    .hub_uid = "hub", .job_uid = "job", .epoch = 3, .pod_set_updates = updates};

	assert_int_equal(json_parse(span_of(paths), NULL, &edits_tree, NULL), 0);
	if (job_amend(hub_kind(type), present, job, edits_tree, &o, &out, &e) < 0)
		fail_msg("%s", e.text);
	assert_int_equal(json_parse(buf_span(&out), NULL, ret_patch, NULL), 0);
	assert_int_equal(patch_apply(PATCH_MERGE, hub_kind(type), present, *ret_patch, &now, NULL),
			 0);
	return now;
}

#define MEMBERS                                                                                    \
	"{'metadata':{'uid':'u1','resourceVersion':'42','labels':{'its':'own'}},'spec':{"          \
	"'podReplacementPolicy':'Failed','template':{'metadata':{'labels':{'job-name':'j'}}}}}"

static void a_copy_becomes_as_edited_and_keeps_what_its_member_and_its_queue_gave_it(void **state)
{
	auto_json *patch = NULL;
	(void)state;

	auto_json *now = amended(
	    TYPE_JOB,
	    "{'metadata':{'name':'j','labels':{'gone':'1','stays':'2'}},'spec':{'parallelism':4,"
	    "'activeDeadlineSeconds':9,'template':{'spec':{'containers':[]}}}}",
	    "{'metadata':{'name':'j','labels':{'stays':'2','new':'3'},'annotations':{'n':'x'}},"
	    "'spec':{'parallelism':5,'template':{'spec':{'containers':[]}}}}",
	    MEMBERS, &patch);
	/* It demands the object that was read, and touches nothing else. */
	json_remove(json_path(patch, "metadata", "annotations", NULL), COPY_ANNOTATION_SPEC_HASH);
	assert_tree(patch, "{'metadata':{'labels':{'gone':null,'new':'3'},'annotations':{'n':'x'},"
			   "'uid':'u1','resourceVersion':'42'},'spec':{'parallelism':5,"
			   "'activeDeadlineSeconds':null}}");
	assert_tree(json_path(now, "metadata", "labels", NULL),
		    "{'stays':'2','muster.dev/hub-uid':'hub','its':'own','new':'3'}");
	assert_tree(
	    json_path(now, "spec", "template", NULL),
	    "{'metadata':{'labels':{'muster.dev/hub-uid':'hub','muster.dev/job-uid':'job',"
	    "'muster.dev/pod-set':'main','muster.dev/epoch':'3','kueue.x-k8s.io/podset':"
	    "'main','job-name':'j'}},'spec':{'containers':[],'nodeSelector':{'pool':'a'}}}");
	/* As if it had been made of the job as it is: a rewrite finds nothing edited. */
	auto_json *made = copy_of(TYPE_JOB,
				  "{'metadata':{'name':'j'},'spec':{'parallelism':5,'template':{"
				  "'spec':{'containers':[]}}}}",
				  "{}");
	assert_string_equal(json_value_str(json_path(now, "metadata", "annotations",
						     COPY_ANNOTATION_SPEC_HASH, NULL)),
			    json_value_str(json_path(made, "metadata", "annotations",
						     COPY_ANNOTATION_SPEC_HASH, NULL)));
}

/* An edit that was taken back before it was carried over changes nothing. */
static void what_was_written_and_taken_back_is_as_it_was(void **state)
{
	auto_json *present = copy_of(TYPE_JOB, "{'metadata':{'labels':{'a':'1'}},'spec':{}}", "{}");
	auto_json *paths = tree_of("{'metadata':{'labels':{'a':null,'b':null}}}");
	auto_json *job = tree_of("{'metadata':{'labels':{'a':'1'}},'spec':{}}");
	auto_buf out = BUF_INIT;
	const struct job_copy_options o = {.hub_uid = "hub", .job_uid = "job", .epoch = 3};
	(void)state;

	assert_int_equal(job_amend(hub_kind(TYPE_JOB), present, job, paths, &o, &out, NULL), 0);
	auto_json *patch = NULL;
	assert_int_equal(json_parse(buf_span(&out), NULL, &patch, NULL), 0);
	assert_null(json_path(patch, "metadata", "labels", "a", NULL));
	assert_null(json_path(patch, "metadata", "labels", "b", NULL));
}

static void the_groups_of_a_ray_cluster_are_marked_again(void **state)
{
	auto_json *patch = NULL;
	(void)state;

	auto_json *now =
	    amended(TYPE_RAY_CLUSTER,
		    "{'metadata':{},'spec':{'headGroupSpec':{'template':{'spec':{}}},"
		    "'workerGroupSpecs':[{'groupName':'g','replicas':1,'template':{'spec':{}}}]}}",
		    "{'metadata':{},'spec':{'headGroupSpec':{'template':{'spec':{}}},"
		    "'workerGroupSpecs':[{'groupName':'g','replicas':2,'template':{'spec':{}}}]}}",
		    "{}", &patch);
	assert_null(json_path(patch, "spec", "headGroupSpec", NULL));
	const struct cJSON *group = json_at(json_path(now, "spec", "workerGroupSpecs", NULL), 0);
	assert_tree(group, "{'groupName':'g','replicas':2,'template':{'spec':{},'metadata':{"
			   "'labels':{'muster.dev/hub-uid':'hub','muster.dev/job-uid':'job',"
			   "'muster.dev/pod-set':'g','muster.dev/epoch':'3'}}}}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(each_edit_touches_its_paths),
	    cmocka_unit_test(edits_are_joined_and_the_shorter_path_stands_for_all_below),
	    cmocka_unit_test(an_edit_beyond_what_may_be_kept_is_refused),
	    cmocka_unit_test(
		a_copy_becomes_as_edited_and_keeps_what_its_member_and_its_queue_gave_it),
	    cmocka_unit_test(what_was_written_and_taken_back_is_as_it_was),
	    cmocka_unit_test(the_groups_of_a_ray_cluster_are_marked_again),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

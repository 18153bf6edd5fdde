/*
 * A draft made of the stored text says what one made of the tree says.
 */
#include "kube_test.h"

#include "kinds/types.h"
#include "kube/status_draft.h"

#include <errno.h>

#define UID   "6ba7b810-9dad-41d1-80b4-00c04fd430c8"
#define OWNER "00000000-0000-4000-8000-000000000001"
#define START                                                                                      \
	"{'apiVersion':'kubeflow.org/v1','kind':'PyTorchJob','metadata':{'name':'n','uid':'" UID   \
	"','generation':3,'ownerReferences':[{'uid':'" OWNER "'}]"

static const struct kind pytorch = {.type = TYPE_PYTORCH_JOB,
				    .group = "kubeflow.org",
				    .version = "v1",
				    .kind = "PyTorchJob",
				    .plural = "pytorchjobs",
				    .has_status = true,
				    .is_job = true};

static void draft_of(const char *text, struct object_draft *ret)
{
	auto_json *tree = tree_of(text);
	struct err err = ERR_INIT;
	if (object_draft_from_tree(&pytorch, tree, ret, &err) < 0)
		fail_msg("%s", err.text);
}

/* As the store keeps it before it has a revision: the digits are none. */
static struct store_object stored(const struct object_draft *d)
{
	struct store_object o = {.flags = d->flags,
				 .extents = d->extents,
				 .json = span_make(d->json, d->len),
				 .digest = SPAN("digest")};
	memcpy(o.uid, d->uid, sizeof(o.uid));
	return o;
}

static void assert_like_the_tree(const char *before, const char *after)
{
	auto_json *tree = tree_of(after);
	struct object_draft old, want, got;

	draft_of(before, &old);
	draft_of(after, &want);
	struct store_object o = stored(&old);
	assert_int_equal(status_draft_make(&pytorch, &o, tree, &got, NULL), 0);
	assert_string_equal(got.json, want.json);
	assert_int_equal(got.len, want.len);
	assert_memory_equal(&got.extents, &want.extents, sizeof(got.extents));
	assert_int_equal(got.flags, want.flags);
	assert_int_equal(got.generation, want.generation);
	assert_int_equal(got.n_owners, want.n_owners);
	assert_memory_equal(got.uid, want.uid, sizeof(got.uid));
	assert_text(span_make(got.digest, got.digest_len), "digest");
	object_draft_done(&old);
	object_draft_done(&want);
	object_draft_done(&got);
}

static void a_status_replaces_the_stored_one(void **state)
{
	(void)state;
	assert_like_the_tree(START "},'spec':{'a':1.10},'status':{'x':1}}",
			     START "},'spec':{'a':1.10},'status':{'y':[1,2]}}");
	assert_like_the_tree(START "},'spec':{'a':1}}", START "},'spec':{'a':1},'status':{}}");
	assert_like_the_tree(START "},'spec':{'a':1},'status':{'x':1}}", START "},'spec':{'a':1}}");
}

static void an_end_shows_in_the_flags(void **state)
{
	(void)state;
	assert_like_the_tree(START "},'spec':{},'status':{}}",
			     START "},'spec':{},'status':{'conditions':[{'type':'Succeeded',"
				   "'status':'True'}]}}");
}

static void managers_go_where_the_stored_ones_stood(void **state)
{
	(void)state;
	assert_like_the_tree(START ",'managedFields':[{'m':1}]},'spec':{'a':1},'status':{'x':1}}",
			     START
			     ",'managedFields':[{'m':1},{'manager':'longer'}]},'spec':{'a':1},"
			     "'status':{'y':1}}");
	assert_like_the_tree(START ",'managedFields':[{'m':1},{'n':1}]},'spec':{'a':1}}",
			     START ",'managedFields':[]},'spec':{'a':1},'status':{'y':1}}");
}

static void managers_that_come_or_go_need_the_tree(void **state)
{
	static const char *const with = START ",'managedFields':[{'m':1}]},'status':{'x':1}}";
	static const char *const without = START "},'status':{'x':1}}";
	(void)state;
	for (int i = 0; i < 2; i++) {
		auto_json *tree = tree_of(i ? with : without);
		struct object_draft old, got;
		draft_of(i ? without : with, &old);
		struct store_object o = stored(&old);
		assert_int_equal(status_draft_make(&pytorch, &o, tree, &got, NULL), -ENOENT);
		object_draft_done(&old);
	}
}

static void managers_over_the_limit_make_no_draft(void **state)
{
	auto_json *tree = tree_of(START ",'managedFields':[]},'status':{}}");
	struct object_draft old, got;
	struct err err = ERR_INIT;
	char *big = xcalloc(1, STORE_MAX_OBJECT - 200);
	(void)state;
	memset(big, 'x', STORE_MAX_OBJECT - 201);
	json_append(json_path(tree, "metadata", "managedFields", NULL), json_new_str(big));
	free(big);
	draft_of(START ",'managedFields':[{'m':1}]},'status':{'x':1}}", &old);
	struct store_object o = stored(&old);
	assert_true(status_draft_make(&pytorch, &o, tree, &got, &err) < 0);
	assert_int_equal(err.kind, ERR_TOO_LARGE);
	object_draft_done(&old);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_status_replaces_the_stored_one),
	    cmocka_unit_test(an_end_shows_in_the_flags),
	    cmocka_unit_test(managers_go_where_the_stored_ones_stood),
	    cmocka_unit_test(managers_that_come_or_go_need_the_tree),
	    cmocka_unit_test(managers_over_the_limit_make_no_draft),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

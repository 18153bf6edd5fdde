#include "kube_test.h"

#include "kinds/types.h"
#include "kube/meta.h"
#include "kube/object.h"

#include <errno.h>

static const struct kind jobset = {.type = TYPE_JOB_SET,
				   .group = "jobset.x-k8s.io",
				   .version = "v1alpha2",
				   .kind = "JobSet",
				   .plural = "jobsets",
				   .scope = KIND_NAMESPACED,
				   .has_status = true};
static const struct kind config_map = {.type = TYPE_CONFIG_MAP,
				       .group = "",
				       .version = "v1",
				       .kind = "ConfigMap",
				       .plural = "configmaps",
				       .scope = KIND_NAMESPACED,
				       .unconditional_update = true};
static const struct kind namespace = {.type = TYPE_NAMESPACE,
				      .group = "",
				      .version = "v1",
				      .kind = "Namespace",
				      .plural = "namespaces",
				      .scope = KIND_CLUSTER,
				      .has_status = true,
				      .unconditional_update = true};

#define NOW  ((usec)1700000000 * USEC_PER_SEC) /* 2023-11-14T22:13:20Z */
#define UID  "00010203-0405-4607-8809-0a0b0c0d0e0f"
#define HEAD "'apiVersion':'jobset.x-k8s.io/v1alpha2','kind':'JobSet'"

/* Bytes 0, 1, 2, ... */
static void count_up(void *arg, void *out, size_t n)
{
	uint8_t *p = out;
	for (size_t i = 0; i < n; i++)
		p[i] = (uint8_t)i;
}
static const struct meta_random random_source = {count_up, NULL};

static struct meta_write write_of(const struct kind *k, const char *name)
{
	return (struct meta_write){.kind = k,
				   .ns = k->scope == KIND_CLUSTER ? SPAN("") : SPAN("n"),
				   .name = span_of(name),
				   .subresource = "",
				   .now = NOW,
				   .random = &random_source};
}

/* 0 and *ret, or a negative errno with what was wrong in `words`. */
static int create(const struct kind *k, const char *body, struct cJSON **ret, char words[512])
{
	struct meta_write w = write_of(k, NULL);
	struct field_errors e = {0};
	struct err err = ERR_INIT;
	auto_buf text = BUF_INIT;

	*ret = tree_of(body);
	words[0] = '\0';
	int r = meta_prepare_create(*ret, &w, &e, &err);
	for (size_t i = 0; i < e.n; i++) {
		buf_add_str(&text, i ? "; " : "");
		field_error_text(&e.items[i], &text);
	}
	if (r < 0)
		(void)snprintf(words, 512, "%s", e.n ? text.ptr : err.text);
	field_errors_done(&e);
	return r;
}

static void a_new_object_gets_its_identity(void **state)
{
	auto_json *o = NULL;
	char words[512];
	assert_int_equal(create(&jobset,
				"{" HEAD ",'metadata':{'name':'j','labels':{'a':'b'}},"
				"'spec':{'x':1}}",
				&o, words),
			 0);
	assert_tree(o, "{" HEAD
		       ",'metadata':{'name':'j','namespace':'n','labels':{'a':'b'},'uid':'" UID
		       "','creationTimestamp':'2023-11-14T22:13:20Z','generation':1},"
		       "'spec':{'x':1}}");
}

static void what_only_the_server_sets_is_ignored_on_create(void **state)
{
	auto_json *o = NULL;
	char words[512];
	assert_int_equal(
	    create(&jobset,
		   "{" HEAD ",'metadata':{'name':'j','namespace':'n','uid':'x',"
		   "'creationTimestamp':null,'deletionTimestamp':'y','generation':9,"
		   "'deletionGracePeriodSeconds':3,'selfLink':'/z','managedFields':[{}],"
		   "'resourceVersion':'','labels':null},'status':{'a':1}}",
		   &o, words),
	    0);
	assert_tree(o, "{" HEAD ",'metadata':{'name':'j','namespace':'n','uid':'" UID "',"
		       "'creationTimestamp':'2023-11-14T22:13:20Z','generation':1}}");
}

static void kinds_without_generation_or_status_door_keep_their_shape(void **state)
{
	auto_json *o = NULL;
	char words[512];
	assert_int_equal(
	    create(&config_map, "{'metadata':{'name':'c'},'status':{},'data':{}}", &o, words), 0);
	assert_tree(o,
		    "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'c','namespace':'n',"
		    "'uid':'" UID "','creationTimestamp':'2023-11-14T22:13:20Z'},'status':{},"
		    "'data':{}}");
}

static void a_generated_name_is_cut_and_ends_in_five_letters(void **state)
{
	auto_json *o = NULL;
	char words[512], out[META_GENERATED_NAME];
	assert_int_equal(
	    create(&jobset, "{" HEAD ",'metadata':{'generateName':'run-'}}", &o, words), 0);
	const char *name = json_str(json_get(o, "metadata"), "name");
	assert_int_equal(strlen(name), 9);
	assert_int_equal(strspn(name + 4, "bcdfghjklmnpqrstvwxz2456789"), 5);
	assert_string_equal(json_str(json_get(o, "metadata"), "generateName"), "run-");
	char base[100];
	memset(base, 'a', sizeof(base));
	base[99] = '\0';
	assert_int_equal(strlen(meta_generate_name(base, &random_source, out)), 63);
}

static void bad_creates_are_refused_with_their_field(void **state)
{
	static const struct {
		const struct kind *k;
		const char *body;
		int error;
		const char *words; /* start of */
	} rows[] = {
	    {&jobset, "[]", -EINVAL, "the body is not"},
	    {&jobset, "{'kind':'Job'}", -EINVAL, "the kind in the data (Job) does not match"},
	    {&jobset, "{'apiVersion':7}", -EINVAL, "the API version in the data (not a string)"},
	    {&jobset, "{'metadata':[]}", -EDOM, "metadata: Invalid value: must be of type object"},
	    {&jobset, "{'metadata':{'name':7,'labels':'x'}}", -EDOM,
	     "metadata.name: Invalid value: must be of type string; metadata.labels: Invalid"},
	    {&jobset, "{'metadata':{'name':'j','namespace':'m'}}", -EINVAL, "the namespace of the"},
	    {&namespace, "{'metadata':{'name':'j','namespace':'m'}}", -EINVAL, "namespace may not"},
	    {&jobset, "{'metadata':{'name':'j','resourceVersion':'5'}}", -EINVAL,
	     "resourceVersion should not be set on objects to be created"},
	    {&jobset, "{}", -EDOM, "metadata.name: Required value: name or generateName"},
	    {&jobset, "{'metadata':{'name':'A'}}", -EDOM,
	     "metadata.name: Invalid value: \"A\": a low"},
	    {&namespace, "{'metadata':{'name':'a.b'}}", -EDOM,
	     "metadata.name: Invalid value: \"a.b\""},
	    {&jobset, "{'metadata':{'name':'j','labels':{'-':'x'}}}", -EDOM,
	     "metadata.labels: Invalid value: \"-\""},
	    {&jobset, "{'metadata':{'name':'j','labels':{'a':'-'}}}", -EDOM,
	     "metadata.labels: Invalid value: \"-\": a valid label"},
	    {&jobset, "{'metadata':{'name':'j','labels':{'a':true}}}", -EDOM,
	     "metadata.labels: Invalid value: the value of a must be a string"},
	    {&jobset, "{'metadata':{'name':'j','annotations':{'a b':'x'}}}", -EDOM,
	     "metadata.annotations: Invalid value: \"a b\""},
	    {&jobset, "{'metadata':{'name':'j','finalizers':['ok/ok','']}}", -EDOM,
	     "metadata.finalizers: Invalid value: \"\": name part must be non-empty"},
	    {&jobset, "{'metadata':{'name':'j','finalizers':['orphan','foregroundDeletion']}}",
	     -EDOM,
	     "metadata.finalizers: Invalid value: [\"orphan\",\"foregroundDeletion\"]: finalizer "
	     "orphan and foregroundDeletion cannot be both set"},
	    {&jobset, "{'metadata':{'generateName':'No_'}}", -EDOM,
	     "metadata.generateName: Invalid value: \"No_\": a lowercase RFC 1123"},
	    {&jobset,
	     "{'metadata':{'name':'j','ownerReferences':[{'name':'o','kind':'Event',"
	     "'apiVersion':'v1','uid':'1'}]}}",
	     -EDOM,
	     "metadata.ownerReferences: Invalid value: {\"name\":\"o\",\"kind\":\"Event\","
	     "\"apiVersion\":\"v1\",\"uid\":\"1\"}: /v1, Kind=Event is disallowed"},
	    {&jobset,
	     "{'metadata':{'name':'j','ownerReferences':[{'name':'o','kind':'K',"
	     "'apiVersion':'v1'}]}}",
	     -EDOM, "metadata.ownerReferences.uid: Invalid value: \"\": must not be empty"},
	    {&jobset,
	     "{'metadata':{'name':'j','ownerReferences':["
	     "{'name':'o','kind':'K','apiVersion':'v1','uid':'1','controller':true},"
	     "{'name':'p','kind':'K','apiVersion':'v1','uid':'2','controller':true}]}}",
	     -EDOM, "metadata.ownerReferences: Invalid value: [{\"name\":\"o\","},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		auto_json *o = NULL;
		char words[512];
		int r = create(rows[i].k, rows[i].body, &o, words);
		if (r != rows[i].error || !span_starts(span_of(words), span_of(rows[i].words)))
			fail_msg("%s: %d, %s", rows[i].body, r, words);
	}
}

static void annotations_over_the_limit_are_refused(void **state)
{
	auto_json *o = NULL;
	char *big = xcalloc(1, META_MAX_ANNOTATIONS + 1);
	memset(big, 'x', META_MAX_ANNOTATIONS);
	o = tree_of("{" HEAD ",'metadata':{'name':'j','annotations':{'Example.com/K':'v'}}}");
	json_set_str(json_path(o, "metadata", "annotations", NULL), "a", big);
	free(big);
	struct field_errors e = {0};
	meta_validate(o, &jobset, &e);
	assert_int_equal(e.n, 1);
	assert_int_equal(e.items[0].reason, FIELD_TOO_LONG);
	field_errors_done(&e);
}

/* ---- update ---- */

#define OLD                                                                                        \
	"{" HEAD ",'metadata':{'name':'j','namespace':'n','uid':'" UID "','resourceVersion':'7',"  \
	"'generation':4,'creationTimestamp':'2023-11-14T22:13:20Z','managedFields':[{'m':1}]},"    \
	"'spec':{'a':1},'status':{'s':1}}"

struct update {
	int r;
	bool changed;
	struct err err;
	char words[512];
	struct cJSON *object;
};

static struct update update_with(const struct kind *k, const char *old, const char *body,
				 const char *subresource, bool is_patch)
{
	struct update u = {.err = ERR_INIT, .object = tree_of(body)};
	struct meta_write w = write_of(k, "j");
	struct field_errors e = {0};
	auto_json *before = tree_of(old);
	auto_buf text = BUF_INIT;

	w.subresource = subresource;
	w.is_patch = is_patch;
	u.r = meta_prepare_update(before, u.object, &w, &e, &u.err);
	if (u.r == 0)
		u.changed = meta_finish_update(before, u.object, &w);
	for (size_t i = 0; i < e.n; i++)
		field_error_text(&e.items[i], &text);
	(void)snprintf(u.words, sizeof(u.words), "%s", e.n ? text.ptr : u.err.text);
	field_errors_done(&e);
	return u;
}

static struct update update(const char *body)
{
	return update_with(&jobset, OLD, body, "", false);
}

static void a_changed_spec_counts_the_generation_up_and_keeps_identity_and_status(void **state)
{
	struct update u = update("{'metadata':{'name':'j','resourceVersion':'7','generation':99,"
				 "'labels':{'l':'v'}},'spec':{'a':2},'status':{'s':2}}");
	assert_int_equal(u.r, 0);
	assert_true(u.changed);
	assert_tree(u.object,
		    "{" HEAD ",'metadata':{'name':'j','namespace':'n','uid':'" UID "',"
		    "'resourceVersion':'7','generation':5,'creationTimestamp':"
		    "'2023-11-14T22:13:20Z','managedFields':[{'m':1}],'labels':{'l':'v'}},"
		    "'spec':{'a':2},'status':{'s':1}}");
	json_free(u.object);
}

static void a_deletion_is_nobodys_to_write(void **state)
{
	static const char deleting[] =
	    "{" HEAD ",'metadata':{'name':'j','namespace':'n','uid':'" UID "','resourceVersion':"
	    "'7','deletionTimestamp':'2023-11-14T22:13:20Z','finalizers':['a/b']}}";
	static const struct {
		const char *old, *said;
		int r;
	} rows[] = {
	    {OLD, "'2023-11-14T22:13:20Z'", -EDOM},
	    {deleting, "'2023-11-14T22:13:21Z'", -EDOM},
	    {deleting, "'2023-11-14T22:13:20Z'", 0},
	    {deleting, "'2023-11-14T22:13:20+00:00'", 0}, /* as Python writes it */
	    {deleting, "null", 0},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		auto_buf body = BUF_INIT;
		buf_addf(&body,
			 "{'metadata':{'name':'j','resourceVersion':'7','finalizers':['a/b'],"
			 "'deletionTimestamp':%s}}",
			 rows[i].said);
		struct update u = update_with(&jobset, rows[i].old, body.ptr, "", false);
		if (u.r != rows[i].r)
			fail_msg("%zu: %d, %s", i, u.r, u.words);
		json_free(u.object);
	}
}

static void a_patch_cannot_make_it_another_object(void **state)
{
	struct update u =
	    update_with(&jobset, OLD, "{'metadata':{'name':'j','uid':'x'}}", "", true);
	assert_int_equal(u.r, -EDOM);
	assert_string_equal(u.words, "metadata.uid: Invalid value: \"x\": field is immutable");
	json_free(u.object);
}

static void metadata_alone_does_not_count_the_generation_up(void **state)
{
	struct update u =
	    update("{'metadata':{'name':'j','resourceVersion':'7','labels':{'l':'v'}},"
		   "'spec':{'a':1}}");
	assert_true(u.changed);
	int64_t generation = 0;
	assert_int_equal(json_int64(json_get(u.object, "metadata"), "generation", &generation), 0);
	assert_int_equal(generation, 4);
	json_free(u.object);
}

static void an_update_that_changes_nothing_is_recognised(void **state)
{
	struct update u =
	    update("{'spec':{'a':1.0},'metadata':{'resourceVersion':'7','name':'j'}}");
	assert_int_equal(u.r, 0);
	assert_false(u.changed);
	json_free(u.object);
}

static void a_member_that_goes_or_comes_is_a_change_of_intent(void **state)
{
	static const char *const bodies[] = {
	    "{'metadata':{'name':'j','resourceVersion':'7'}}",
	    "{'metadata':{'name':'j','resourceVersion':'7'},'spec':{'a':1},'more':0}",
	};
	for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
		struct update u = update(bodies[i]);
		int64_t generation = 0;
		assert_true(u.changed);
		(void)!json_int64(json_get(u.object, "metadata"), "generation", &generation);
		assert_int_equal(generation, 5);
		json_free(u.object);
	}
}

static void the_status_door_changes_only_status(void **state)
{
	struct update u =
	    update_with(&jobset, OLD,
			"{'metadata':{'name':'j','resourceVersion':'7','labels':{'x':'y'},"
			"'finalizers':['a/b']},'spec':{'a':2},'status':{'s':2}}",
			"status", false);
	assert_int_equal(u.r, 0);
	assert_true(u.changed);
	assert_tree(u.object, "{" HEAD ",'metadata':{'name':'j','namespace':'n','uid':'" UID "',"
			      "'resourceVersion':'7','generation':4,'creationTimestamp':"
			      "'2023-11-14T22:13:20Z','managedFields':[{'m':1}]},'spec':{'a':1},"
			      "'status':{'s':2}}");
	json_free(u.object);
	u = update_with(&jobset, OLD, "{'metadata':{'name':'j','resourceVersion':'7'}}", "status",
			false);
	assert_null(json_get(u.object, "status"));
	assert_non_null(json_get(u.object, "spec"));
	json_free(u.object);
}

static void the_status_door_borrows_the_rest_where_it_may(void **state)
{
	auto_json *old = tree_of(OLD), *before = tree_of(OLD);
	auto_json *object = tree_of("{'metadata':{'name':'j','resourceVersion':'7','labels':{'x':"
				    "'y'}},'spec':{'a':2},'status':{'s':2}}");
	struct meta_write w = write_of(&jobset, "j");
	struct field_errors e = {0};
	(void)state;
	w.subresource = "status";
	w.lends = true;
	assert_int_equal(meta_prepare_update(old, object, &w, &e, NULL), 0);
	assert_true(json_is_lent(json_get(object, "spec")));
	assert_tree(object, "{" HEAD ",'metadata':{'name':'j','namespace':'n','uid':'" UID "',"
			    "'resourceVersion':'7','generation':4,'creationTimestamp':"
			    "'2023-11-14T22:13:20Z'},'spec':{'a':1},'status':{'s':2}}");
	assert_true(meta_finish_update(old, object, &w));
	assert_true(json_equal(old, before));
}

static void the_finalize_door_changes_only_a_namespaces_finalizers(void **state)
{
	struct update u = update_with(
	    &namespace,
	    "{'apiVersion':'v1','kind':'Namespace','metadata':{'name':'j','resourceVersion':'7',"
	    "'uid':'" UID "'},'spec':{'finalizers':['kubernetes']},'status':{'phase':'T'}}",
	    "{'metadata':{'name':'j','labels':{'a':'b'}},'spec':{'finalizers':[]},'status':{}}",
	    "finalize", false);
	assert_int_equal(u.r, 0);
	assert_tree(
	    u.object,
	    "{'apiVersion':'v1','kind':'Namespace','metadata':{'name':'j','resourceVersion':"
	    "'7','uid':'" UID "'},'spec':{'finalizers':[]},'status':{'phase':'T'}}");
	json_free(u.object);
}

static void preconditions_of_an_update_are_conflicts(void **state)
{
	struct update u = update("{'metadata':{'name':'j','resourceVersion':'6'}}");
	assert_int_equal(u.r, -ESTALE);
	assert_non_null(strstr(u.words, "Operation cannot be fulfilled on jobsets.jobset.x-k8s.io "
					"\"j\": the object has been modified"));
	json_free(u.object);
	u = update("{'metadata':{'name':'j','resourceVersion':'7','uid':'other'}}");
	assert_int_equal(u.r, -ESTALE);
	assert_non_null(strstr(u.words, "UID in precondition: other, UID in object meta: " UID));
	json_free(u.object);
}

static void an_update_without_a_resource_version_is_for_kinds_that_allow_it(void **state)
{
	struct update u = update("{'metadata':{'name':'j'}}");
	assert_int_equal(u.r, -EDOM);
	assert_string_equal(u.words, "metadata.resourceVersion: Invalid value: 0: must be "
				     "specified for an update");
	json_free(u.object);
	u = update_with(&jobset, OLD, "{'metadata':{},'spec':{'a':1},'status':{'s':1}}", "", true);
	assert_int_equal(u.r, 0);
	assert_false(u.changed);
	json_free(u.object);
	u = update_with(
	    &config_map,
	    "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'j','namespace':'n',"
	    "'resourceVersion':'7'},'data':{}}",
	    "{'metadata':{'name':'j'},'data':{'k':'v'}}", "", false);
	assert_int_equal(u.r, 0);
	assert_true(u.changed);
	assert_null(json_get(json_get(u.object, "metadata"), "generation"));
	json_free(u.object);
}

static void names_and_namespaces_cannot_change(void **state)
{
	struct update u = update("{'metadata':{'name':'k','resourceVersion':'7'}}");
	assert_int_equal(u.r, -EINVAL);
	assert_string_equal(u.words,
			    "the name of the object (k) does not match the name on the URL "
			    "(j)");
	json_free(u.object);
	u = update("{'metadata':{'resourceVersion':'7'}}");
	assert_int_equal(u.r, -EINVAL);
	json_free(u.object);
	u = update("{'metadata':{'name':'j','namespace':'o','resourceVersion':'7'}}");
	assert_int_equal(u.r, -EINVAL);
	json_free(u.object);
}

static void finalizers_only_become_fewer_while_deleting(void **state)
{
	static const char deleting[] =
	    "{" HEAD ",'metadata':{'name':'j','namespace':'n','uid':'" UID "','resourceVersion':"
	    "'7','generation':2,'deletionTimestamp':'2023-11-14T22:13:20Z',"
	    "'finalizers':['a/1','a/2']}}";
	struct update u = update_with(&jobset, deleting,
				      "{'metadata':{'name':'j','resourceVersion':'7','finalizers':"
				      "['a/2','a/3']}}",
				      "", false);
	assert_int_equal(u.r, -EDOM);
	assert_string_equal(u.words,
			    "metadata.finalizers: Forbidden: no new finalizers can be added if the "
			    "object is being deleted, found new finalizers []string{\"a/3\"}");
	json_free(u.object);
	u = update_with(&jobset, deleting,
			"{'metadata':{'name':'j','resourceVersion':'7','finalizers':['a/2']}}", "",
			false);
	assert_int_equal(u.r, 0);
	assert_true(u.changed);
	assert_true(meta_is_deleting(u.object));
	json_free(u.object);
}

/* ---- deletion ---- */

static void deletion_is_marked_once(void **state)
{
	auto_json *o = tree_of(OLD);
	assert_true(meta_mark_deleting(o, NOW));
	assert_string_equal(json_str(json_get(o, "metadata"), "deletionTimestamp"),
			    "2023-11-14T22:13:20Z");
	int64_t n = -1;
	assert_int_equal(json_int64(json_get(o, "metadata"), "deletionGracePeriodSeconds", &n), 0);
	assert_int_equal(n, 0);
	assert_int_equal(json_int64(json_get(o, "metadata"), "generation", &n), 0);
	assert_int_equal(n, 5);
	assert_false(meta_mark_deleting(o, NOW + USEC_PER_SEC));
}

static void finalizers_are_added_and_removed_once(void **state)
{
	auto_json *o = tree_of(OLD);
	assert_true(meta_add_finalizer(o, "a/b"));
	assert_false(meta_add_finalizer(o, "a/b"));
	assert_true(meta_add_finalizer(o, "a/c"));
	assert_true(meta_has_finalizer(o, "a/b"));
	assert_true(meta_remove_finalizer(o, "a/b"));
	assert_false(meta_remove_finalizer(o, "a/b"));
	assert_true(meta_remove_finalizer(o, "a/c"));
	assert_null(json_get(json_get(o, "metadata"), "finalizers"));
}

static void preconditions_of_a_delete_are_conflicts(void **state)
{
	struct store_object row = {.key = {1, SPAN("n"), SPAN("j")}, .revision = 7};
	struct err err = ERR_INIT;
	assert_int_equal(object_uid_parse(SPAN(UID), row.uid), 0);
	auto_json *good = tree_of("{'preconditions':{'uid':'" UID "','resourceVersion':'7'}}");
	auto_json *bad_uid = tree_of("{'preconditions':{'uid':'x'}}");
	auto_json *bad_version = tree_of("{'preconditions':{'resourceVersion':'6'}}");
	assert_int_equal(meta_check_preconditions(NULL, &jobset, &row, &err), 0);
	assert_int_equal(meta_check_preconditions(good, &jobset, &row, &err), 0);
	assert_int_equal(meta_check_preconditions(bad_uid, &jobset, &row, &err), -ESTALE);
	assert_non_null(
	    strstr(err.text,
		   "the UID in the precondition (x) does not match the UID in record (" UID ")"));
	assert_int_equal(meta_check_preconditions(bad_version, &jobset, &row, &err), -ESTALE);
	assert_non_null(strstr(err.text, "the ResourceVersion in the precondition (6)"));
}

static void an_object_of_the_hubs_own_is_complete(void **state)
{
	struct meta_write w = write_of(&jobset, NULL);
	auto_json *o = meta_new_object(&w, SPAN("j"));
	assert_tree(o, "{" HEAD ",'metadata':{'name':'j','namespace':'n','uid':'" UID "',"
		       "'creationTimestamp':'2023-11-14T22:13:20Z','generation':1}}");
}

static void a_body_with_a_version_is_conditional(void **state)
{
	auto_json *with = tree_of("{'metadata':{'resourceVersion':'7'}}");
	auto_json *zero = tree_of("{'metadata':{'resourceVersion':'0'}}");
	auto_json *without = tree_of("{}");
	assert_true(meta_is_conditional(with));
	assert_false(meta_is_conditional(zero));
	assert_false(meta_is_conditional(without));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_new_object_gets_its_identity),
	    cmocka_unit_test(what_only_the_server_sets_is_ignored_on_create),
	    cmocka_unit_test(kinds_without_generation_or_status_door_keep_their_shape),
	    cmocka_unit_test(a_generated_name_is_cut_and_ends_in_five_letters),
	    cmocka_unit_test(bad_creates_are_refused_with_their_field),
	    cmocka_unit_test(annotations_over_the_limit_are_refused),
	    cmocka_unit_test(a_changed_spec_counts_the_generation_up_and_keeps_identity_and_status),
	    cmocka_unit_test(a_deletion_is_nobodys_to_write),
	    cmocka_unit_test(a_patch_cannot_make_it_another_object),
	    cmocka_unit_test(metadata_alone_does_not_count_the_generation_up),
	    cmocka_unit_test(an_update_that_changes_nothing_is_recognised),
	    cmocka_unit_test(a_member_that_goes_or_comes_is_a_change_of_intent),
	    cmocka_unit_test(the_status_door_changes_only_status),
	    cmocka_unit_test(the_status_door_borrows_the_rest_where_it_may),
	    cmocka_unit_test(the_finalize_door_changes_only_a_namespaces_finalizers),
	    cmocka_unit_test(preconditions_of_an_update_are_conflicts),
	    cmocka_unit_test(an_update_without_a_resource_version_is_for_kinds_that_allow_it),
	    cmocka_unit_test(names_and_namespaces_cannot_change),
	    cmocka_unit_test(finalizers_only_become_fewer_while_deleting),
	    cmocka_unit_test(deletion_is_marked_once),
	    cmocka_unit_test(finalizers_are_added_and_removed_once),
	    cmocka_unit_test(preconditions_of_a_delete_are_conflicts),
	    cmocka_unit_test(an_object_of_the_hubs_own_is_complete),
	    cmocka_unit_test(a_body_with_a_version_is_conditional),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

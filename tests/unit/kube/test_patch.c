#include "kube_test.h"

#include "kube/patch.h"

#include <errno.h>

static const struct kind kind = {.group = "x", .version = "v1", .kind = "K", .plural = "ks"};

static int apply(enum patch_type type, const char *object, const char *patch, struct cJSON **ret,
		 struct err *err)
{
	auto_json *o = tree_of(object);
	auto_json *p = tree_of(patch);
	auto_json *before = tree_of(object);
	int r = patch_apply(type, &kind, o, p, ret, err);
	assert_true(json_equal(o, before)); /* the object itself never changes */
	return r;
}

static void merge(const char *object, const char *patch, const char *want)
{
	auto_json *got = NULL;
	struct err err = ERR_INIT;
	if (apply(PATCH_MERGE, object, patch, &got, &err) < 0)
		fail_msg("%s + %s: %s", object, patch, err.text);
	assert_tree(got, want);
}

static void merge_patches_follow_the_table_of_rfc_7386(void **state)
{
	merge("{'a':'b'}", "{'a':'c'}", "{'a':'c'}");
	merge("{'a':'b'}", "{'b':'c'}", "{'a':'b','b':'c'}");
	merge("{'a':'b'}", "{'a':null}", "{}");
	merge("{'a':'b','b':'c'}", "{'a':null}", "{'b':'c'}");
	merge("{'a':['b']}", "{'a':'c'}", "{'a':'c'}");
	merge("{'a':'c'}", "{'a':['b']}", "{'a':['b']}");
	merge("{'a':{'b':'c'}}", "{'a':{'b':'d','c':null}}", "{'a':{'b':'d'}}");
	merge("{'a':[{'b':'c'}]}", "{'a':[1]}", "{'a':[1]}");
	merge("{'e':null}", "{'a':1}", "{'e':null,'a':1}");
	merge("{}", "{'a':{'bb':{'ccc':null}}}", "{'a':{'bb':{}}}");
	merge("{'a':1}", "{'a':{'b':null,'c':[null]}}", "{'a':{'c':[null]}}");
}

static void a_merge_patch_that_is_no_object_is_refused(void **state)
{
	static const char *const patches[] = {"['c']", "null", "'bar'", "1"};
	for (size_t i = 0; i < ARRAY_LEN(patches); i++) {
		auto_json *got = NULL;
		struct err err = ERR_INIT;
		assert_int_equal(apply(PATCH_MERGE, "{'a':'b'}", patches[i], &got, &err), -EINVAL);
		assert_null(got);
	}
}

static void numbers_pass_through_a_patch_exactly(void **state)
{
	auto_json *got = NULL;
	auto_buf b = BUF_INIT;
	struct err err = ERR_INIT;
	assert_int_equal(apply(PATCH_MERGE, "{'a':9007199254740993,'b':1.10}",
			       "{'c':12345678901234567890}", &got, &err),
			 0);
	json_print(got, &b);
	assert_text(buf_span(&b), "{\"a\":9007199254740993,\"b\":1.10,\"c\":12345678901234567890}");
}

/* ---- diff and merge are each other's inverse ---- */

struct dice {
	uint64_t seed;
};

static unsigned roll(struct dice *d, unsigned n)
{
	d->seed = d->seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(d->seed >> 33) % n;
}

static struct cJSON *random_tree(struct dice *d, int depth)
{
	static const char *const keys[] = {"a", "b", "c", "d/e", "~f", ""};
	unsigned what = roll(d, depth > 0 ? 6 : 4);
	if (what == 0)
		return json_new_int(roll(d, 4));
	if (what == 1)
		return json_new_str(roll(d, 2) ? "x" : "y");
	if (what == 2)
		return json_new_bool(roll(d, 2));
	if (what == 3) {
		struct cJSON *a = json_array();
		for (unsigned n = roll(d, 4); n > 0; n--)
			json_append(a, json_new_int(roll(d, 3)));
		return a;
	}
	struct cJSON *o = json_object();
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		if (roll(d, 2))
			json_set(o, keys[i], random_tree(d, depth - 1));
	return o;
}

static struct cJSON *random_object(struct dice *d)
{
	struct cJSON *o = json_object();
	json_set(o, "r", random_tree(d, 4));
	json_set(o, "s", random_tree(d, 4));
	return o;
}

static void merging_a_diff_gives_the_other_object(void **state)
{
	struct dice d = {11};
	for (int i = 0; i < 2000; i++) {
		auto_json *a = random_object(&d);
		auto_json *b = random_object(&d);
		auto_json *diff = patch_merge_diff(a, b);
		auto_json *got = NULL;
		struct err err = ERR_INIT;
		assert_int_equal(patch_apply(PATCH_MERGE, &kind, a, diff, &got, &err), 0);
		assert_true(json_equal(got, b));
		auto_json *again = NULL;
		assert_int_equal(patch_apply(PATCH_MERGE, &kind, got, diff, &again, &err), 0);
		assert_true(json_equal(again, b)); /* merging twice changes nothing more */
	}
}

static void equal_objects_have_an_empty_diff(void **state)
{
	struct dice d = {5};
	for (int i = 0; i < 100; i++) {
		auto_json *a = random_object(&d);
		auto_json *diff = patch_merge_diff(a, a);
		assert_int_equal(json_len(diff), 0);
	}
}

static void media_types_name_their_patches(void **state)
{
	enum patch_type t;
	assert_int_equal(patch_type_from_media(SPAN("application/json-patch+json"), &t), 0);
	assert_int_equal(t, PATCH_JSON);
	assert_int_equal(
	    patch_type_from_media(SPAN("application/merge-patch+json; charset=utf-8"), &t), 0);
	assert_int_equal(t, PATCH_MERGE);
	assert_int_equal(patch_type_from_media(SPAN("application/strategic-merge-patch+json "), &t),
			 0);
	assert_int_equal(t, PATCH_STRATEGIC);
	assert_int_equal(patch_type_from_media(SPAN("application/json"), &t), -ENOENT);
	assert_string_equal(patch_type_media(PATCH_MERGE), "application/merge-patch+json");
}

static void a_patch_that_needs_too_much_work_is_refused(void **state)
{
	auto_json *o = json_object();
	auto_json *p = json_object();
	struct cJSON *wide = json_ensure_object(o, "w"), *other = json_ensure_object(p, "w");
	struct cJSON *got = NULL;
	struct err err = ERR_INIT;
	for (int i = 0; i < 7000; i++) {
		char key[16];
		(void)snprintf(key, sizeof(key), "k%d", i);
		json_set_int(wide, key, 1);
		(void)snprintf(key, sizeof(key), "n%d", i);
		json_set_int(other, key, 1);
	}
	assert_int_equal(patch_apply(PATCH_MERGE, &kind, o, p, &got, &err), -EMSGSIZE);
	assert_int_equal(err.kind, ERR_TOO_LARGE);
	assert_null(got);
}

static void a_map_may_not_grow_beyond_what_can_be_read_again(void **state)
{
	auto_json *o = json_object();
	auto_json *p = json_object();
	struct cJSON *wide = json_ensure_object(o, "w"), *more = json_ensure_object(p, "w");
	struct cJSON *got = NULL;
	struct err err = ERR_INIT;
	for (int i = 0; i < JSON_MAX_KEYS - 500; i++) {
		char key[16];
		(void)snprintf(key, sizeof(key), "k%d", i);
		json_set_int(wide, key, 1);
	}
	for (int i = 0; i < 501; i++) {
		char key[16];
		(void)snprintf(key, sizeof(key), "n%d", i);
		json_set_int(more, key, 1);
	}
	assert_int_equal(patch_apply(PATCH_MERGE, &kind, o, p, &got, &err), -EDOM);
	assert_true(json_remove(more, "n0"));
	assert_int_equal(patch_apply(PATCH_MERGE, &kind, o, p, &got, &err), 0);
	json_free(got);
}

/* Else both would be stored under one name, and nobody could read the object again. */
static void a_key_written_with_escapes_is_the_same_key(void **state)
{
	struct cJSON *tree = NULL;
	struct err err = ERR_INIT;
	assert_int_equal(json_parse(SPAN("{\"a\":1,\"\\u0061\":2}"), NULL, &tree, &err), -EINVAL);
	assert_int_equal(json_parse(SPAN("{\"\\u0061\":1,\"a\":2}"), NULL, &tree, &err), -EINVAL);
	assert_int_equal(json_parse(SPAN("{\"\\u0061\":1,\"\\u0061\":2}"), NULL, &tree, &err),
			 -EINVAL);
	assert_null(tree);
	assert_int_equal(json_parse(SPAN("{\"\\u0061\":1,\"u0061\":2}"), NULL, &tree, &err), 0);
	json_free(tree);
}

static void a_patch_of_one_part_lends_what_it_does_not_name(void **state)
{
	static const struct {
		const char *patch;
		bool lends;
	} cases[] = {
	    {"{'status':{'s':2,'t':null}}", true},
	    {"{'metadata':{'labels':null},'status':null}", true},
	    {"{'spec':{'a':{'b':2}},'status':{'s':3}}", false},
	    {"{'spec':null}", false},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		auto_json *o = tree_of("{'metadata':{'labels':{'l':'v'}},'spec':{'a':{'b':1}},"
				       "'status':{'s':1,'t':1},'word':'w'}");
		auto_json *before = json_dup(o), *p = tree_of(cases[i].patch);
		auto_json *want = NULL, *got = NULL;
		assert_int_equal(patch_apply(PATCH_MERGE, &kind, o, p, &want, NULL), 0);
		assert_int_equal(patch_apply_part(PATCH_MERGE, &kind, o, p, "status", &got, NULL),
				 0);
		assert_true(json_equal(got, want));
		assert_true(json_equal(o, before));
		assert_int_equal(json_is_lent(json_get(got, "spec")), cases[i].lends);
		assert_false(json_is_lent(json_get(got, "metadata")));
		assert_false(json_is_lent(json_get(got, "status")));
	}
}

static void a_json_patch_of_one_part_works_on_a_whole_copy(void **state)
{
	auto_json *o = tree_of("{'spec':{'a':1},'status':{'s':1}}"), *got = NULL;
	auto_json *p = tree_of("[{'op':'replace','path':'/spec/a','value':2}]");
	(void)state;
	assert_int_equal(patch_apply_part(PATCH_JSON, &kind, o, p, "status", &got, NULL), 0);
	assert_tree(got, "{'spec':{'a':2},'status':{'s':1}}");
	assert_tree(o, "{'spec':{'a':1},'status':{'s':1}}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(merge_patches_follow_the_table_of_rfc_7386),
	    cmocka_unit_test(a_merge_patch_that_is_no_object_is_refused),
	    cmocka_unit_test(numbers_pass_through_a_patch_exactly),
	    cmocka_unit_test(merging_a_diff_gives_the_other_object),
	    cmocka_unit_test(equal_objects_have_an_empty_diff),
	    cmocka_unit_test(media_types_name_their_patches),
	    cmocka_unit_test(a_patch_that_needs_too_much_work_is_refused),
	    cmocka_unit_test(a_map_may_not_grow_beyond_what_can_be_read_again),
	    cmocka_unit_test(a_key_written_with_escapes_is_the_same_key),
	    cmocka_unit_test(a_patch_of_one_part_lends_what_it_does_not_name),
	    cmocka_unit_test(a_json_patch_of_one_part_works_on_a_whole_copy),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "kube_test.h"

#include "kube/field_set.h"

#include <errno.h>

static struct field_set read_set(struct arena *mem, const struct cJSON *tree)
{
	struct field_set s;
	struct err err = ERR_INIT;
	if (field_set_read(mem, tree, &s, &err) < 0)
		fail_msg("%s", err.text);
	return s;
}

static void assert_prints(const struct field_set *s, const char *want)
{
	auto_arena mem = ARENA_INIT;
	auto_buf out = BUF_INIT;
	field_set_print(s, &out);
	struct span w = quoted(&mem, want);
	assert_text(buf_span(&out), w.ptr);
}

static void a_set_is_printed_in_order_whatever_order_it_came_in(void **state)
{
	auto_arena mem = ARENA_INIT;
	auto_json *t = tree_of("{'f:spec':{'f:b':{},'.':{},'f:a':{}},'f:data':{'f:k':{}}}");
	struct field_set s = read_set(&mem, t);
	assert_prints(&s, "{'f:data':{'f:k':{}},'f:spec':{'.':{},'f:a':{},'f:b':{}}}");
}

static void keys_and_values_are_the_same_however_they_are_written(void **state)
{
	auto_arena mem = ARENA_INIT;
	auto_json *a = tree_of("{'k:{\\\"port\\\":80,\\\"name\\\":\\\"x\\\"}':{},'v:1.0':{}}");
	auto_json *b =
	    tree_of("{'v:1':{},'k:{\\\"name\\\":\\\"x\\\", \\\"port\\\":8e1}':{'.':{}}}");
	struct field_set x = read_set(&mem, a), y = read_set(&mem, b);
	assert_true(field_set_equal(&x, &y));
	assert_prints(&x, "{'k:{\\\"name\\\":\\\"x\\\",\\\"port\\\":80}':{},'v:1':{}}");
}

static void one_step_written_twice_is_joined(void **state)
{
	auto_arena mem = ARENA_INIT;
	auto_json *t = tree_of("{'k:{\\\"a\\\":1,\\\"b\\\":2}':{'f:x':{}},"
			       "'k:{\\\"b\\\":2,\\\"a\\\":1}':{'f:y':{}}}");
	struct field_set s = read_set(&mem, t);
	assert_prints(&s, "{'k:{\\\"a\\\":1,\\\"b\\\":2}':{'f:x':{},'f:y':{}}}");
}

static void steps_of_unknown_kinds_are_ignored(void **state)
{
	auto_arena mem = ARENA_INIT;
	auto_json *t = tree_of("{'z:new':{'f:x':{}},'f:a':{}}");
	struct field_set s = read_set(&mem, t);
	assert_prints(&s, "{'f:a':{}}");
}

static void what_is_no_field_set_is_refused(void **state)
{
	static const char *const bad[] = {"[]",
					  "{'f:a':1}",
					  "{'a':{}}",
					  "{'k:x':{}}",
					  "{'k:[1]':{}}",
					  "{'k:{}':{}}",
					  "{'k:{\\\"a\\\":{}}':{}}",
					  "{'v:{}':{}}",
					  "{'i:x':{}}",
					  "{'i:':{}}",
					  "{'':{}}",
					  "null"};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		auto_arena mem = ARENA_INIT;
		auto_json *t = tree_of(bad[i]);
		struct field_set s;
		struct err err = ERR_INIT;
		if (field_set_read(&mem, t, &s, &err) != -EINVAL)
			fail_msg("%s was read", bad[i]);
	}
}

static void too_deep_a_set_is_refused_and_never_printed(void **state)
{
	auto_arena mem = ARENA_INIT;
	auto_json *t = json_object();
	struct field_key path[FIELD_SET_MAX_DEPTH + 8];
	struct field_set s = FIELD_SET_EMPTY;
	struct err err = ERR_INIT;
	auto_buf out = BUF_INIT;

	for (int i = 0; i < FIELD_SET_MAX_DEPTH + 2; i++) {
		struct cJSON *outer = json_object();
		json_set(outer, "f:a", t);
		t = outer;
	}
	assert_int_equal(field_set_read(&mem, t, &s, &err), -EINVAL);
	for (size_t i = 0; i < ARRAY_LEN(path); i++)
		path[i] = (struct field_key){FIELD_NAME, SPAN("a")};
	s = FIELD_SET_EMPTY;
	field_set_insert(&mem, &s, path, ARRAY_LEN(path));
	field_set_print(&s, &out);
	auto_json *again = NULL;
	assert_int_equal(json_parse(buf_span(&out), NULL, &again, NULL), 0);
	assert_int_equal(field_set_read(&mem, again, &s, &err), 0);
	assert_true(field_set_has(&s, path, FIELD_SET_MAX_DEPTH));
}

static bool add_line(void *arg, struct span path)
{
	buf_addf(arg, "%.*s\n", SPAN_ARGS(path));
	return true;
}

static void paths_are_shown_as_kubectl_shows_them(void **state)
{
	auto_arena mem = ARENA_INIT;
	auto_buf out = BUF_INIT;
	auto_json *t = tree_of(
	    "{'f:spec':{'f:containers':{'k:{\\\"name\\\":\\\"app\\\"}':{'.':{},'f:image':{},'f:ports':"
	    "{'k:{\\\"containerPort\\\":80,\\\"protocol\\\":\\\"TCP\\\"}':{}}}}},"
	    "'f:metadata':{'f:finalizers':{'v:\\\"a/b\\\"':{}}},'f:list':{'i:3':{}},'f:z':{}}");
	struct field_set s = read_set(&mem, t);
	field_set_each(&s, add_line, &out);
	assert_text(buf_span(&out), ".z\n" /* levels before what lies deeper */
				    ".list[3]\n"
				    ".metadata.finalizers[=\"a/b\"]\n"
				    ".spec.containers[name=\"app\"]\n"
				    ".spec.containers[name=\"app\"].image\n"
				    ".spec.containers[name=\"app\"].ports[containerPort=80,"
				    "protocol=\"TCP\"]\n");
}

/* ---- properties, against sets that are nothing but truth tables ---- */

/* All paths of at most three steps over three names; a set is one bit for each. */
enum { NAMES = 3, PATHS = 3 + 9 + 27 };
static struct field_key all_paths[PATHS][3];
static size_t path_len[PATHS];

static void make_paths(void)
{
	static const struct field_key steps[NAMES] = {
	    {FIELD_NAME, {"a", 1}}, {FIELD_KEY, {"{\"n\":1}", 7}}, {FIELD_VALUE, {"\"x\"", 3}}};
	size_t n = 0;

	for (int a = 0; a < NAMES; a++)
		for (int b = -1; b < NAMES; b++)
			for (int c = -1; c < (b < 0 ? 0 : NAMES); c++) {
				all_paths[n][0] = steps[a];
				if (b >= 0)
					all_paths[n][1] = steps[b];
				if (c >= 0)
					all_paths[n][2] = steps[c];
				path_len[n++] = (size_t)(1 + (b >= 0) + (c >= 0));
			}
	assert_int_equal(n, PATHS);
}

static struct field_set set_of(struct arena *mem, uint64_t bits)
{
	struct field_set s = FIELD_SET_EMPTY;
	for (size_t i = 0; i < PATHS; i++)
		if (bits >> i & 1)
			field_set_insert(mem, &s, all_paths[i], path_len[i]);
	return s;
}

static uint64_t bits_of(const struct field_set *s)
{
	uint64_t bits = 0;
	for (size_t i = 0; i < PATHS; i++)
		if (field_set_has(s, all_paths[i], path_len[i]))
			bits |= (uint64_t)1 << i;
	return bits;
}

static uint64_t next_random(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return *x;
}

static void check_pair(uint64_t a, uint64_t b)
{
	auto_arena mem = ARENA_INIT;
	struct field_set x = set_of(&mem, a), y = set_of(&mem, b);
	struct field_set u = field_set_union(&mem, &x, &y);
	struct field_set i = field_set_intersection(&mem, &x, &y);
	struct field_set d = field_set_difference(&mem, &x, &y);
	struct field_set want_u = set_of(&mem, a | b), want_i = set_of(&mem, a & b);
	struct field_set want_d = set_of(&mem, a & ~b);

	/* Not only the same members: the same trie, so no empty nodes are left behind. */
	assert_true(field_set_equal(&u, &want_u));
	assert_true(field_set_equal(&i, &want_i));
	assert_true(field_set_equal(&d, &want_d));
	assert_int_equal(bits_of(&u), a | b);
	assert_int_equal(bits_of(&i), a & b);
	assert_int_equal(bits_of(&d), a & ~b);
	assert_int_equal(field_set_is_empty(&d), (a & ~b) == 0);
	assert_int_equal(field_set_equal(&x, &y), a == b);
	assert_int_equal(bits_of(&x), a); /* operands stay */
	assert_int_equal(bits_of(&y), b);
}

static void check_text(uint64_t a)
{
	auto_arena mem = ARENA_INIT;
	auto_buf out = BUF_INIT;
	auto_json *t = NULL;
	struct field_set x = set_of(&mem, a), y;

	field_set_print(&x, &out);
	assert_int_equal(json_parse(buf_span(&out), NULL, &t, NULL), 0);
	y = read_set(&mem, t);
	assert_true(field_set_equal(&x, &y));
}

static void the_algebra_is_that_of_sets(void **state)
{
	const uint64_t all = ((uint64_t)1 << PATHS) - 1;
	uint64_t x = 88172645463325252u;

	make_paths();
	for (int i = 0; i < 20000; i++) {
		uint64_t a = next_random(&x) & all, b = next_random(&x) & all;
		if (i % 3 == 0)
			a &= next_random(&x) & next_random(&x);
		if (i % 5 == 0)
			b &= a;
		check_pair(a, b);
		check_text(a);
	}
	check_pair(0, 0);
	check_pair(all, 0);
	check_pair(all, all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_set_is_printed_in_order_whatever_order_it_came_in),
	    cmocka_unit_test(keys_and_values_are_the_same_however_they_are_written),
	    cmocka_unit_test(one_step_written_twice_is_joined),
	    cmocka_unit_test(steps_of_unknown_kinds_are_ignored),
	    cmocka_unit_test(what_is_no_field_set_is_refused),
	    cmocka_unit_test(too_deep_a_set_is_refused_and_never_printed),
	    cmocka_unit_test(paths_are_shown_as_kubectl_shows_them),
	    cmocka_unit_test(the_algebra_is_that_of_sets),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "fixture.h"

#include <errno.h>

static void the_first_four_are_fixed_and_others_are_added_once(void **state)
{
	struct resource_table t;
	struct err err = ERR_INIT;
	uint32_t a, b;
	resource_table_init(&t);

	assert_int_equal(resource_table_index(&t, SPAN("pods"), &a, &err), 0);
	assert_int_equal(a, RESOURCE_PODS);
	assert_int_equal(resource_table_find(&t, SPAN("google.com/tpu"), &a), -ENOENT);
	assert_int_equal(resource_table_index(&t, SPAN("google.com/tpu"), &a, &err), 0);
	assert_int_equal(resource_table_index(&t, SPAN("google.com/tpu"), &b, &err), 0);
	assert_int_equal(a, b);
	assert_string_equal(resource_table_name(&t, a), "google.com/tpu");
	assert_string_equal(resource_table_name(&t, 1000), "");
	resource_table_done(&t);
}

static void a_name_too_many_or_too_long_is_refused(void **state)
{
	struct resource_table t;
	struct err err = ERR_INIT;
	char name[400];
	uint32_t at;
	resource_table_init(&t);

	for (int i = RESOURCE_FIRST_OTHER; i < RESOURCE_MAX; i++) {
		snprintf(name, sizeof(name), "example.com/r%d", i);
		assert_int_equal(resource_table_index(&t, span_of(name), &at, &err), 0);
	}
	assert_int_equal(resource_table_index(&t, SPAN("example.com/one"), &at, &err), -EMSGSIZE);
	assert_non_null(strstr(err.text, "example.com/one"));
	memset(name, 'a', sizeof(name));
	assert_int_equal(resource_table_index(&t, span_make(name, 318), &at, &err), -EDOM);
	assert_int_equal(resource_table_index(&t, SPAN(""), &at, &err), -EDOM);
	resource_table_done(&t);
}

static void devices_are_what_is_neither_fixed_nor_a_page_nor_a_volume(void **state)
{
	static const struct {
		const char *name;
		bool device;
	} rows[] = {
	    {"cpu", false},	      {"memory", false},	{"ephemeral-storage", false},
	    {"pods", false},	      {"hugepages-2Mi", false}, {"attachable-volumes-csi-x", false},
	    {"nvidia.com/gpu", true}, {"rdma/hca", true},
	};
	struct resource_table t;
	struct err err = ERR_INIT;
	uint32_t at;
	resource_table_init(&t);

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(resource_table_index(&t, span_of(rows[i].name), &at, &err), 0);
		assert_int_equal(resource_table_is_extended(&t, at), rows[i].device);
	}
	assert_false(resource_table_is_extended(&t, 63));
	resource_table_done(&t);
}

static void amounts_print_as_kubernetes_prints_them(void **state)
{
	static const struct {
		const char *name;
		int64_t amount;
		const char *text;
	} rows[] = {
	    {"cpu", 1500, "1500m"},
	    {"cpu", 2000, "2"},
	    {"cpu", 0, "0"},
	    {"memory", (int64_t)64 << 30, "64Gi"},
	    {"memory", 1536, "1536"},
	    {"memory", 1536 * 1024, "1536Ki"},
	    {"memory", 0, "0"},
	    {"hugepages-2Mi", 4 << 20, "4Mi"},
	    {"nvidia.com/gpu", 1024, "1024"},
	    {"nvidia.com/gpu", -3, "-3"},
	};
	struct resource_table t;
	struct err err = ERR_INIT;
	char out[32];
	uint32_t at;
	resource_table_init(&t);

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(resource_table_index(&t, span_of(rows[i].name), &at, &err), 0);
		assert_string_equal(resource_format(&t, at, rows[i].amount, out, sizeof(out)),
				    rows[i].text);
	}
	resource_table_done(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_first_four_are_fixed_and_others_are_added_once),
	    cmocka_unit_test(a_name_too_many_or_too_long_is_refused),
	    cmocka_unit_test(devices_are_what_is_neither_fixed_nor_a_page_nor_a_volume),
	    cmocka_unit_test(amounts_print_as_kubernetes_prints_them),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

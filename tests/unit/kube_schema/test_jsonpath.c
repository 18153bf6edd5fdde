#include "../kube/kube_test.h"

#include "base/buf.h"
#include "kube/jsonpath.h"

#include <errno.h>

static const char job[] = "{\"metadata\":{\"name\":\"j\",\"labels\":{\"a.b/c\":\"x\",\"n\":1}},"
			  "\"spec\":{\"list\":[10,20,30],\"empty\":[]},"
			  "\"status\":{\"conditions\":[{\"type\":\"Created\",\"status\":\"True\"},"
			  "{\"type\":\"Run\\u006eing\",\"status\":\"False\",\"n\":2}]}}";

static void expect(const char *path, const char *want)
{
	struct span got = SPAN_NONE;
	int r = jsonpath_first(path, span_of(job), &got);

	if (!want) {
		assert_int_equal(r, -ENOENT);
		return;
	}
	assert_int_equal(r, 0);
	assert_int_equal(got.len, strlen(want));
	assert_memory_equal(got.ptr, want, got.len);
}

static void members_are_found_by_dots_and_quotes(void **state)
{
	(void)state;
	expect(".metadata.name", "\"j\"");
	expect("{.metadata.name}", "\"j\"");
	expect("$.metadata.name", "\"j\"");
	expect("metadata.name", "\"j\"");
	expect(".metadata['name']", "\"j\"");
	expect(".metadata.labels['a.b/c']", "\"x\"");
	expect(".metadata.labels.a\\.b/c", "\"x\"");
	expect(".metadata.labels[\"n\"]", "1");
	expect(".metadata.none", NULL);
	expect(".metadata.name.deeper", NULL);
}

static void items_are_found_by_index_and_slice(void **state)
{
	(void)state;
	expect(".spec.list[0]", "10");
	expect(".spec.list[2]", "30");
	expect(".spec.list[3]", NULL);
	expect(".spec.list[-1]", "30");
	expect(".spec.list[-3]", "10");
	expect(".spec.list[-1:]", "30");
	expect(".spec.list[1:2]", "20");
	expect(".spec.list[:1]", "10");
	expect(".spec.empty[-1:]", NULL);
	expect(".status.conditions[-1:].n", "2");
	expect(".metadata[0]", NULL);
}

static void filters_choose_items(void **state)
{
	(void)state;
	expect(".status.conditions[?(@.type==\"Created\")].status", "\"True\"");
	expect(".status.conditions[?(@.type=='Created')].status", "\"True\"");
	expect(".status.conditions[?(@.type == \"Running\")].status", "\"False\"");
	expect(".status.conditions[?(@.type!=\"Created\")].status", "\"False\"");
	expect(".status.conditions[?(@.n==2)].status", "\"False\"");
	expect(".status.conditions[?(@.n)].status", "\"False\"");
	expect(".status.conditions[?(@.n==\"2\")].status", NULL);
	expect(".status.conditions[?(@.type==\"Ready\")].status", NULL);
}

static bool collect(void *arg, struct span match)
{
	buf_add_span(arg, match);
	buf_add_char(arg, ' ');
	return true;
}

static void all_matches_come_in_order(void **state)
{
	(void)state;
	auto_buf got = BUF_INIT;

	assert_int_equal(jsonpath_each(".spec.list[*]", span_of(job), collect, &got), 0);
	assert_string_equal(got.ptr, "10 20 30 ");
	buf_clear(&got);
	assert_int_equal(jsonpath_each(".spec.list[-2:]", span_of(job), collect, &got), 0);
	assert_string_equal(got.ptr, "20 30 ");
	buf_clear(&got);
	assert_int_equal(jsonpath_each(".metadata.labels.*", span_of(job), collect, &got), 0);
	assert_string_equal(got.ptr, "\"x\" 1 ");
}

static void malformed_paths_are_refused(void **state)
{
	static const char *const bad[] = {
	    "..name",	    ".a[",	".a[1",	    ".a[x]",
	    ".a[?(@.b==)]", ".a[?(b)]", ".a[?(@)]", ".a.",
	    ".a[']",	    ".a[1:x]",	".",	    ".a[?(@.b[?(@.c==1)]==2)]",
	    ".a[?(@.b",	    ".a[]",
	};
	struct span got;
	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(jsonpath_first(bad[i], span_of(job), &got), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(members_are_found_by_dots_and_quotes),
	    cmocka_unit_test(items_are_found_by_index_and_slice),
	    cmocka_unit_test(filters_choose_items),
	    cmocka_unit_test(all_matches_come_in_order),
	    cmocka_unit_test(malformed_paths_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

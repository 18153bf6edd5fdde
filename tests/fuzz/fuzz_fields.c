/*
 * Two lines, each a FieldsV1 set. What is read must print as a set that reads the same, and the
 * algebra must hold: (a - b) + (a & b) = a, and a + b without b is a - b.
 */
#include "base/buf.h"
#include "base/json.h"
#include "kube/field_set.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
	if (!holds)
		abort();
}

static bool count(void *arg, struct span path)
{
	(void)path;
	return ++*(size_t *)arg < 100000;
}

static void check_text(struct arena *mem, const struct field_set *s)
{
	auto_buf text = BUF_INIT, again = BUF_INIT;
	auto_json *tree = NULL;
	struct field_set read;
	size_t n = 0;

	field_set_print(s, &text);
	must(json_parse(buf_span(&text), NULL, &tree, NULL) == 0);
	must(field_set_read(mem, tree, &read, NULL) == 0);
	field_set_print(&read, &again);
	must(span_eq(buf_span(&text), buf_span(&again)));
	field_set_each(s, count, &n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span second = span_make((const char *)data, size), first = span_split(&second, '\n');
	auto_arena mem = ARENA_INIT;
	auto_json *x = NULL;
	auto_json *y = NULL;
	struct field_set a, b;

	if (!second.ptr || json_parse(first, NULL, &x, NULL) < 0 ||
	    json_parse(second, NULL, &y, NULL) < 0 || field_set_read(&mem, x, &a, NULL) < 0 ||
	    field_set_read(&mem, y, &b, NULL) < 0)
		return 0;
	struct field_set both = field_set_intersection(&mem, &a, &b);
	struct field_set only = field_set_difference(&mem, &a, &b);
	struct field_set all = field_set_union(&mem, &a, &b);
	struct field_set again = field_set_union(&mem, &only, &both);
	struct field_set rest = field_set_difference(&mem, &all, &b);
	must(field_set_equal(&again, &a));
	must(field_set_equal(&rest, &only));
	check_text(&mem, &all);
	return 0;
}

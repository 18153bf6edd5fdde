/*
 * Expressions, each with what comes of it: of {"i": 3, "s": "héllo", "l": [1, 2], "m": {"k": "v"},
 * "when": "2026-11-21T10:20:30Z"}. What cel-go makes of hundreds more is held against this in
 * tests/differential.
 */
#include "../kube/kube_test.h"

#include "base/json.h"
#include "kube/cel/cel.h"
#include "kube/cel/cel_function.h"
#include "kube/schema.h"
#include "kube/schema_compile.h"

static const char schema_text[] =
    "{\"type\":\"object\",\"properties\":{\"i\":{\"type\":\"integer\"},\"s\":{\"type\":\"string\"},"
    "\"l\":{\"type\":\"array\",\"items\":{\"type\":\"integer\"}},\"m\":{\"type\":\"object\","
    "\"additionalProperties\":{\"type\":\"string\"}},\"when\":{\"type\":\"string\",\"format\":"
    "\"date-time\"},\"a-b\":{\"type\":\"integer\"}}}";
static const char object_text[] =
    "{\"i\":3,\"s\":\"h\xc3\xa9llo\",\"l\":[1,2],\"m\":{\"k\":\"v\"},\"a-b\":7,"
    "\"when\":\"2026-11-21T10:20:30Z\"}";

static struct cJSON *parsed(const char *text)
{
	struct cJSON *tree = NULL;

	assert_int_equal(json_parse(span_of(text), NULL, &tree, NULL), 0);
	return tree;
}

struct scene {
	struct arena mem;
	struct cJSON *schema, *object;
	struct cel_variable self;
	struct cel_value value;
};

static void open_scene(struct scene *s)
{
	static const struct schema meta = {.type = SCHEMA_OBJECT};
	struct cel_heap heap = {.mem = &s->mem};

	*s = (struct scene){.schema = parsed(schema_text), .object = parsed(object_text)};
	s->self = (struct cel_variable){
	    "self",
	    cel_type_from_schema(&s->mem, schema_compile(&s->mem, s->schema, &meta), false)};
	s->value = cel_from_node(&heap, s->self.type, s->object);
}

static void close_scene(struct scene *s)
{
	arena_done(&s->mem);
	json_free(s->schema);
	json_free(s->object);
}

/* The result as text; "!" and the words of an error; "?" and those of one that does not compile. */
static void print(struct scene *s, const char *text, int64_t steps, struct buf *out)
{
	struct cel_program p;
	struct err e = ERR_INIT;
	struct cel_value v;

	if (cel_compile(&s->mem, span_of(text), &s->self, 1, &p, &e) < 0) {
		const char *words = strstr(e.text, "<input>:");
		buf_addf(out, "?%.*s", (int)strcspn(words, "\n"), words);
		return;
	}
	v = cel_run(&p, &s->value, 1, &s->mem, &steps);
	if (v.kind == CEL_ERROR)
		buf_addf(out, "!%.*s", SPAN_ARGS(v.text));
	else if (v.kind == CEL_BOOL)
		buf_add_str(out, v.flag ? "true" : "false");
	else if (v.kind == CEL_INT)
		buf_add_i64(out, v.number);
	else if (v.kind == CEL_DOUBLE)
		cel_print_double(v.real, out);
	else if (v.kind == CEL_STRING)
		buf_add_span(out, v.text);
	else
		buf_add_str(out, cel_kind_name(v.kind));
}

static void gives(const char *text, const char *want)
{
	struct scene s;
	auto_buf out = BUF_INIT;

	open_scene(&s);
	print(&s, text, CEL_STEPS_OF_CALL, &out);
	if (strcmp(out.ptr ? out.ptr : "", want) != 0)
		fail_msg("%s gives \"%s\", not \"%s\"", text, out.ptr, want);
	close_scene(&s);
}

static void fields_elements_and_keys_are_looked_up(void **state)
{
	(void)state;
	gives("self.i", "3");
	gives("self.a__dash__b", "7");
	gives("self.l[1]", "2");
	gives("self.m.k + self.m['k']", "vv");
	gives("has(self.i) && !has(self.m.x)", "true");
	gives("self.m.x", "!no such key: x");
	gives("self.l[2]", "!index out of bounds");
	gives("self.?when.hasValue() && !self.m[?'x'].hasValue()", "true");
	gives("self.nothing", "?<input>:1:6: undefined field 'nothing'");
	gives("other.x", "?<input>:1:1: undeclared reference to 'other' (in container '')");
}

static void numbers_do_not_overflow_in_silence(void **state)
{
	(void)state;
	gives("7 / 2 * 2 + 7 % 2", "7");
	gives("-7 / 2", "-3");
	gives("9223372036854775807 + self.i", "!integer overflow");
	gives("-9223372036854775808 / -1", "!integer overflow");
	gives("self.i / 0", "!division by zero");
	gives("0x10 + 1", "17");
	gives("1.5 * 2.0 == 3.0 && 3 == int(3.9) && self.i < 3.5", "true");
	gives("string(1000000.0) + string(0.1)", "1e+060.1");
	gives("self.i + 'x'",
	      "?<input>:1:8: found no matching overload for '_+_' applied to '(int, string)'");
	gives("dyn(1) + 2", "3");
	gives("dyn(1) + true",
	      "?<input>:1:8: found no matching overload for '_+_' applied to '(dyn, bool)'");
	gives("dyn(1) < [1]",
	      "?<input>:1:8: found no matching overload for '_<_' applied to '(dyn, list(int))'");
	gives("9223372036854775808", "?<input>:1:1: Syntax error: invalid int literal");
}

static void errors_beside_what_decides_do_not_matter(void **state)
{
	(void)state;
	gives("self.l[9] > 0 || true", "true");
	gives("self.l[9] > 0 && false", "false");
	gives("self.l[9] > 0 || false", "!index out of bounds");
	gives("self.l.exists(x, x == 2 || 1 / (x - 1) > 0)", "true");
	gives("self.l.all(x, 1 / (x - 1) > 5)", "false");
	gives("false ? self.l[9] : 4", "4");
}

static void macros_go_through_lists_and_keys(void **state)
{
	(void)state;
	gives("self.l.map(x, x * x).sum()", "5");
	gives("self.l.map(x, x > 1, x * 10)[0]", "20");
	gives("self.l.filter(x, x > 1).size()", "1");
	gives("self.m.all(k, self.m[k] == 'v')", "true");
	gives("self.m.exists(k, v, k + v == 'kv')", "true");
	gives("self.l.all(x, self.l.exists_one(y, y == x))", "true");
	gives("self.l.map(x, self.l.map(y, x * y)).size()", "2");
	gives("self.l.all(1, true)", "?<input>:1:12: argument must be a simple name");
}

static void text_is_counted_in_characters(void **state)
{
	(void)state;
	gives("size(self.s)", "5");
	gives("self.s.substring(1, 3)", "\xc3\xa9l");
	gives("self.s.indexOf('l') + self.s.lastIndexOf('l')", "5");
	gives("self.s.replace('l', 'L', 1).upperAscii()", "H\xc3\xa9LLO");
	gives("'a,b,,c'.split(',').join('|')", "a|b||c");
	gives("' x '.trim().charAt(0)", "x");
	gives("'a1b22'.findAll('[0-9]+').join('-')", "1-22");
	gives("self.s.matches('^h.llo$')", "true");
	gives("self.s.matches('(')", "?<input>:1:16: invalid matches argument");
	gives("self.s.substring(9)", "!index out of range");
	gives("'\\u00e9' == 'é' && r'\\n'.size() == 2 && '''it's''' == \"it's\"", "true");
	gives("'abc", "?<input>:1:1: Syntax error: a string has no end");
}

static void times_have_parts(void **state)
{
	(void)state;
	gives("self.when.getFullYear() * 100 + self.when.getMonth()", "202610");
	gives("string(self.when + duration('90m'))", "2026-11-21T11:50:30Z");
	gives("self.when - timestamp('2026-11-21T10:20:29.5Z') == duration('500ms')", "true");
	gives("string(duration('1h0m1.25s'))", "3601.25s");
	gives("duration('2562047h') + duration('2562047h')", "!duration overflow");
	gives("duration('1 hour')", "?<input>:1:1: a duration that cannot be read");
}

static void quantities_and_addresses_are_known(void **state)
{
	(void)state;
	gives("quantity('1500m').add(quantity('500m')).asInteger()", "2");
	gives("quantity('1Gi').isGreaterThan(quantity('1G'))", "true");
	gives("isQuantity('a') || isIP('1.2.3') || isCIDR('1.2.3.4')", "false");
	gives("cidr('10.0.0.0/8').containsIP('10.9.9.9')", "true");
	gives("string(ip('0::1'))", "::1");
	gives("url('https://x')", "?<input>:1:1: undeclared reference to 'url' (in container '')");
}

static void a_run_ends_with_its_budget(void **state)
{
	struct scene s;
	auto_buf out = BUF_INIT;

	(void)state;
	open_scene(&s);
	print(&s, "self.l.all(x, x > 0)", 3, &out);
	assert_string_equal(out.ptr, "!operation cancelled: actual cost limit exceeded");
	close_scene(&s);
	/* Eight lists within one another, each twice as long: 2^24 turns. */
	gives("[1,2,3,4,5,6,7,8].all(a, [1,2,3,4,5,6,7,8].all(b, [1,2,3,4,5,6,7,8].all(c, "
	      "[1,2,3,4,5,6,7,8].all(d, [1,2,3,4,5,6,7,8].all(e, [1,2,3,4,5,6,7,8].all(f, "
	      "[1,2,3,4,5,6,7,8].all(g, [1,2,3,4,5,6,7,8].all(h, h > 0))))))))",
	      "!operation cancelled: actual cost limit exceeded");
}

static void depth_is_bounded(void **state)
{
	auto_buf open = BUF_INIT, chain = BUF_INIT;

	(void)state;
	for (int i = 0; i < 60; i++)
		buf_add_char(&open, '(');
	gives(open.ptr, "?<input>:1:49: Syntax error: expression is nested too deeply");
	buf_add_str(&chain, "1");
	for (int i = 0; i < 300; i++)
		buf_add_str(&chain, "+1");
	gives(chain.ptr, "?<input>:1:1: expression is nested too deeply");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(fields_elements_and_keys_are_looked_up),
	    cmocka_unit_test(numbers_do_not_overflow_in_silence),
	    cmocka_unit_test(errors_beside_what_decides_do_not_matter),
	    cmocka_unit_test(macros_go_through_lists_and_keys),
	    cmocka_unit_test(text_is_counted_in_characters),
	    cmocka_unit_test(times_have_parts),
	    cmocka_unit_test(quantities_and_addresses_are_known),
	    cmocka_unit_test(a_run_ends_with_its_budget),
	    cmocka_unit_test(depth_is_bounded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

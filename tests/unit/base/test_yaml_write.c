#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/json.h"
#include "base/yaml.h"
#include "base/yaml_write.h"

static void an_object_is_written_in_blocks(void **state)
{
	auto_buf out = BUF_INIT;
	(void)state;
	yaml_write_json(SPAN("{\"kind\":\"List\",\"items\":[{\"a\":1,\"b\":[\"x\",[2]]},{}],"
			     "\"n\":null,\"t\":true,\"e\":[],\"o\":{\"k y\":\"v: w\"}}"),
			&out);
	assert_string_equal(out.ptr, "kind: List\nitems:\n- a: 1\n  b:\n  - x\n  - - 2\n- {}\n"
				     "\"n\": null\nt: true\ne: []\no:\n  k y: \"v: w\"\n");
}

static void what_is_written_is_read_back(void **state)
{
	static const char *const texts[] = {
	    "{}",
	    "[]",
	    "\"x\"",
	    "-1.5e3",
	    "[\"\",\"true\",\"No\",\"y\",\"~\",\"null\",\"1\",\"0x1\",\"-\",\"a: b\",\"a #b\",\"#\"]",
	    "[\"2026-01-01\",\"1e3\",\".inf\",\" a\",\"a \",\"a:\",\":a\",\"a:b\",\"<<\",\"=\"]",
	    "[\"l\\nm\\n\",\"\\t\",\"\\u0000x\",\"\\u007f\",\"\\u0085\",\"\\u2028\",\"\\ufeff\"]",
	    "{\"true\":1,\"1\":2,\"\":3,\"a b\":4,\"q\\\"\":{\"\\n\":[[],{},[[1],[{\"z\":[0]}]]]}}",
	    "{\"s\":\"\\ud83d\\ude00 \\u00e9\",\"n\":12345678901234567890}",
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		auto_json *want = NULL, *got = NULL;
		auto_buf out = BUF_INIT;
		struct err e = ERR_INIT;
		if (json_parse(span_of(texts[i]), NULL, &want, NULL) < 0)
			continue; /* a NUL may be no JSON here either */
		yaml_write_json(span_of(texts[i]), &out);
		assert_true(buf_ok(&out));
		if (yaml_parse(buf_span(&out), &got, &e) < 0)
			fail_msg("%s: %s", out.ptr, e.text);
		if (!json_equal(want, got))
			fail_msg("%s became %s", texts[i], out.ptr);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(an_object_is_written_in_blocks),
	    cmocka_unit_test(what_is_written_is_read_back),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Two lines: an object and a patch. Each patch type must refuse with words, or give an object
 * that prints as JSON within the limits; the object itself must stay as it was.
 */
#include "base/json.h"
#include "kinds/types.h"
#include "kube/patch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void run(enum patch_type type, const struct cJSON *object, const struct cJSON *patch)
{
	static const struct kind pod = {
	    .type = TYPE_POD, .group = "", .version = "v1", .kind = "Pod", .plural = "pods"};
	auto_json *got = NULL;
	auto_buf text = BUF_INIT;
	struct err err = ERR_INIT;

	if (patch_apply(type, &pod, object, patch, &got, &err) < 0) {
		if (!err.text[0] || got)
			abort();
		return;
	}
	json_print(got, &text);
	if (!buf_ok(&text) || json_check(buf_span(&text), NULL, &err) < 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span patch = span_make((const char *)data, size), object = span_split(&patch, '\n');
	auto_json *o = NULL;
	auto_json *p = NULL;
	auto_json *before = NULL;
	struct err err = ERR_INIT;

	if (!patch.ptr || json_parse(object, NULL, &o, &err) < 0 ||
	    json_parse(patch, NULL, &p, &err) < 0 || !json_is(o, JSON_OBJECT))
		return 0;
	before = json_dup(o);
	for (int t = 0; t < PATCH_TYPE_MAX; t++)
		run((enum patch_type)t, o, p);
	if (!json_equal(o, before))
		abort();
	return 0;
}

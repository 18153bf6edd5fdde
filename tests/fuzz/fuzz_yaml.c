/*
 * YAML: whatever is taken becomes a tree that prints to valid JSON within the limits, reads back
 * equal as JSON, and, where it is read as YAML again, as YAML too.
 */
#include "base/json.h"
#include "base/yaml.h"
#include "base/yaml_write.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define must(condition)                                                                            \
	do {                                                                                       \
		if (!(condition))                                                                  \
			abort();                                                                   \
	} while (0)

static bool is_ascii(struct span s)
{
	for (size_t i = 0; i < s.len; i++)
		if ((unsigned char)s.ptr[i] >= 0x7f)
			return false;
	return true;
}

static int check_document(void *arg, struct cJSON *take_doc)
{
	auto_json *doc = take_doc, *as_json = NULL, *as_yaml = NULL, *again = NULL;
	auto_buf written = BUF_MAX((size_t)256 << 20);
	auto_buf text = BUF_MAX((size_t)256 << 20);
	(void)arg;

	must(!json_is(doc, JSON_NULL));
	json_print(doc, &text);
	must(buf_ok(&text));
	const struct json_limits limits = {.max_bytes = (size_t)256 << 20};
	must(json_parse(buf_span(&text), &limits, &as_json, NULL) == 0);
	must(json_equal(doc, as_json));
	/* YAML 1.1 folds some breaks beyond ASCII that JSON keeps, and limits a key's length. */
	if (is_ascii(buf_span(&text)) && yaml_parse(buf_span(&text), &as_yaml, NULL) == 0)
		must(json_equal(doc, as_yaml));
	yaml_write_json(buf_span(&text), &written);
	if (buf_ok(&written) && yaml_parse(buf_span(&written), &again, NULL) == 0)
		must(json_equal(doc, again));
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err e = ERR_INIT;
	int r = yaml_each(span_make((const char *)data, size), check_document, NULL, &e);
	must(r == 0 || e.kind == ERR_BAD_REQUEST || e.kind == ERR_TOO_LARGE);
	must(r == 0 || e.text[0] != '\0');
	return 0;
}

/*
 * JSON: the checker, the tree and the readers of text agree about every input.
 *
 * What is refused is refused by both with the same words; what is taken prints to valid JSON that
 * reads back equal and prints the same again; walking the text gives what the tree holds.
 */
#include "base/json.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define must(condition)                                                                            \
	do {                                                                                       \
		if (!(condition))                                                                  \
			abort();                                                                   \
	} while (0)

static void compare(struct span text, const struct cJSON *node);

static void compare_string(struct span text, const struct cJSON *node)
{
	auto_buf decoded = BUF_INIT;
	must(json_text_string(text, &decoded) == 0);
	must(span_is(buf_span(&decoded), json_value_str(node)));
	struct span plain = json_text_plain(text);
	must(!plain.ptr || span_is(plain, json_value_str(node)));
}

static void compare_number(struct span text, const struct cJSON *node)
{
	int64_t a, b;
	must(span_eq(text, json_number_text(node)));
	if (json_text_int64(text, &a) == 0)
		must(json_value_int64(node, &b) == 0 && a == b);
}

static void compare_key(struct span raw, const struct cJSON *child)
{
	auto_buf quoted = BUF_INIT, decoded = BUF_INIT;
	buf_add_char(&quoted, '"');
	buf_add_span(&quoted, raw);
	buf_add_char(&quoted, '"');
	must(json_text_string(buf_span(&quoted), &decoded) == 0);
	must(span_is(buf_span(&decoded), json_key(child)));
}

static void compare_children(struct span text, const struct cJSON *node)
{
	struct span key = SPAN_NONE, value, found;
	const struct cJSON *child = json_first(node);
	size_t pos = 0, n = 0;

	for (; json_text_next(text, &pos, &key, &value); child = json_next(child), n++) {
		must(child != NULL);
		if (json_is(node, JSON_OBJECT)) {
			compare_key(key, child);
			must(json_get(node, json_key(child)) == child);
			if (!memchr(key.ptr, '\\', key.len))
				must(json_text_member(text, json_key(child), &found) == 0 &&
				     found.ptr == value.ptr && found.len == value.len);
		}
		compare(value, child);
	}
	must(child == NULL && n == json_len(node));
}

static void compare(struct span text, const struct cJSON *node)
{
	must(json_text_type(text) == json_type_of(node));
	switch (json_type_of(node)) {
	case JSON_STRING:
		compare_string(text, node);
		break;
	case JSON_NUMBER:
		compare_number(text, node);
		break;
	case JSON_BOOL:
		must(span_is(text, json_value_bool(node, false) ? "true" : "false"));
		break;
	case JSON_ARRAY:
	case JSON_OBJECT:
		compare_children(text, node);
		break;
	case JSON_NULL:
		must(span_is(text, "null"));
		break;
	case JSON_INVALID:
	default:
		abort();
	}
}

static struct span trimmed(struct span s)
{
	while (s.len && memchr(" \n\t\r", s.ptr[0], 4))
		s = span_make(s.ptr + 1, s.len - 1);
	while (s.len && memchr(" \n\t\r", s.ptr[s.len - 1], 4))
		s.len--;
	return s;
}

static void check_round_trip(const struct cJSON *node, bool pretty)
{
	auto_buf once = BUF_INIT, twice = BUF_INIT;
	auto_json *again = NULL;

	if (pretty)
		json_print_pretty(node, &once);
	else
		json_print(node, &once);
	must(json_parse(buf_span(&once), NULL, &again, NULL) == 0);
	must(json_equal(node, again));
	if (pretty)
		json_print_pretty(again, &twice);
	else
		json_print(again, &twice);
	must(span_eq(buf_span(&once), buf_span(&twice)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct json_limits lenient = {.allow_duplicates = true};
	struct span text = span_make((const char *)data, size);
	struct err a = ERR_INIT, b = ERR_INIT;
	auto_json *node = NULL, *loose = NULL;

	int r = json_check(text, NULL, &a);
	must(r == json_parse(text, NULL, &node, &b));
	must((r == 0) == (node != NULL));
	must(strcmp(a.text, b.text) == 0 && a.kind == b.kind);
	int q = json_parse(text, &lenient, &loose, NULL);
	must(r < 0 || q == 0);
	if (loose)
		check_round_trip(loose, false); /* strictly: no duplicate is left */
	if (!node)
		return 0;
	must(json_equal(node, loose));
	compare(trimmed(text), node);
	check_round_trip(node, false);
	check_round_trip(node, true);
	auto_json *copy = json_dup(node);
	must(json_equal(copy, node));
	return 0;
}

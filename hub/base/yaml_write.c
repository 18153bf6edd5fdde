#include "base/yaml_write.h"

#include "base/json.h"
#include "base/yaml.h"

struct writer {
	struct buf *out;
	struct buf text; /* of the string at hand */
};

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_inner(char c)
{
	return is_letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.' ||
	       c == '/';
}

/* Words that some version of YAML takes for a boolean or null. */
static bool is_reserved(struct span s)
{
	static const char *const words[] = {"y",   "n",	   "yes",   "no",  "on",
					    "off", "true", "false", "null"};
	char lower[8];

	if (s.len >= sizeof(lower))
		return false;
	for (size_t i = 0; i < s.len; i++)
		lower[i] = (char)(s.ptr[i] | 0x20);
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (s.len == strlen(words[i]) && memcmp(lower, words[i], s.len) == 0)
			return true;
	return false;
}

static bool may_be_plain(struct span s)
{
	if (!s.len || !is_letter(s.ptr[0]) || is_reserved(s))
		return false;
	for (size_t i = 1; i < s.len; i++) {
		bool space = s.ptr[i] == ' ' && i + 1 < s.len && is_inner(s.ptr[i + 1]);
		bool colon = s.ptr[i] == ':' && i + 1 < s.len && is_inner(s.ptr[i + 1]);
		if (!is_inner(s.ptr[i]) && !space && !colon)
			return false;
	}
	return true;
}

/* The bytes at s that YAML takes for a line's end or for no text at all, as one code; 0: none. */
static unsigned odd_code(const unsigned char *s, size_t left, size_t *ret_len)
{
	*ret_len = 1;
	if (s[0] < 0x20 || s[0] == 0x7f)
		return s[0];
	*ret_len = 2;
	if (left >= 2 && s[0] == 0xc2 && s[1] < 0xa0)
		return s[1];
	*ret_len = 3;
	if (left >= 3 && s[0] == 0xe2 && s[1] == 0x80 && (s[2] == 0xa8 || s[2] == 0xa9))
		return 0x2000u | (s[2] & 0x3fu);
	if (left >= 3 && s[0] == 0xef && s[1] == 0xbb && s[2] == 0xbf)
		return 0xfeff;
	return 0;
}

static void put_quoted(struct buf *out, struct span s)
{
	const unsigned char *p = (const unsigned char *)s.ptr;

	buf_add_char(out, '"');
	for (size_t i = 0, n; i < s.len; i += n) {
		unsigned odd = odd_code(p + i, s.len - i, &n);
		if (odd) {
			buf_addf(out, "\\u%04x", odd);
			continue;
		}
		n = 1;
		if (p[i] == '"' || p[i] == '\\')
			buf_add_char(out, '\\');
		buf_add_char(out, (char)p[i]);
	}
	buf_add_char(out, '"');
}

static void put_text(struct writer *w, struct span quoted)
{
	buf_clear(&w->text);
	if (json_text_string(quoted, &w->text) < 0) {
		w->out->failed = true;
		return;
	}
	if (may_be_plain(buf_span(&w->text)))
		buf_add_span(w->out, buf_span(&w->text));
	else
		put_quoted(w->out, buf_span(&w->text));
}

/* Keys come without their quotes, escapes as they stand. */
static void put_key(struct writer *w, struct span raw)
{
	auto_buf quoted = BUF_INIT;

	buf_add_char(&quoted, '"');
	buf_add_span(&quoted, raw);
	buf_add_char(&quoted, '"');
	put_text(w, buf_span(&quoted));
	buf_add_char(w->out, ':');
}

static void put_indent(struct writer *w, int indent)
{
	for (int i = 0; i < indent; i++)
		buf_add_str(w->out, "  ");
}

static bool is_empty(struct span container)
{
	struct span key = SPAN_NONE, value;
	size_t at = 0;

	return !json_text_next(container, &at, &key, &value);
}

static void put_block(struct writer *w, struct span json, int indent, bool in_line, int depth);

/* After a key or a dash: on the same line what fits there. `indent` is of what does not. */
static void put_member(struct writer *w, struct span json, int indent, bool after_dash, int depth)
{
	enum json_type type = json_text_type(json);

	if (type != JSON_OBJECT && type != JSON_ARRAY) {
		buf_add_char(w->out, ' ');
		if (type == JSON_STRING)
			put_text(w, json);
		else
			buf_add_span(w->out, json);
		buf_add_char(w->out, '\n');
	} else if (is_empty(json)) {
		buf_add_str(w->out, type == JSON_OBJECT ? " {}\n" : " []\n");
	} else {
		buf_add_char(w->out, after_dash ? ' ' : '\n');
		put_block(w, json, indent, after_dash, depth + 1);
	}
}

/* An object or array with members; its first line is begun already when `in_line`. */
static void put_block(struct writer *w, struct span json, int indent, bool in_line, int depth)
{
	bool object = json_text_type(json) == JSON_OBJECT;
	struct span key = SPAN_NONE, value;

	if (depth > YAML_MAX_DEPTH) {
		w->out->failed = true;
		return;
	}
	for (size_t at = 0; !w->out->failed && json_text_next(json, &at, &key, &value);) {
		if (!in_line)
			put_indent(w, indent);
		in_line = false;
		if (object) {
			bool list = json_text_type(value) == JSON_ARRAY;
			put_key(w, key);
			put_member(w, value, indent + !list, false, depth);
		} else {
			buf_add_char(w->out, '-');
			put_member(w, value, indent + 1, true, depth);
		}
	}
}

void yaml_write_json(struct span json, struct buf *out)
{
	struct writer w = {.out = out, .text = BUF_INIT};
	enum json_type type = json_text_type(json);

	if ((type == JSON_OBJECT || type == JSON_ARRAY) && !is_empty(json)) {
		put_block(&w, json, 0, false, 0);
	} else if (type == JSON_STRING) {
		put_text(&w, json);
		buf_add_char(out, '\n');
	} else {
		buf_add_span(out, json);
		buf_add_char(out, '\n');
	}
	buf_done(&w.text);
}

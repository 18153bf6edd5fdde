/*
 * cel-go's string extensions (ext/strings.go, version 2) and Kubernetes' regex library. Places and
 * lengths count characters.
 */
#include "base/num.h"
#include "kube/cel/cel_list.h"
#include "kube/cel/cel_regex.h"

#include <ctype.h>

typedef struct cel_value value;
#define CALL(name) static value name(struct cel_run *r, const value *a, size_t n)

static value text(struct span s)
{
	return cel_text(CEL_STRING, s);
}

static value text_made(struct cel_run *r, const struct buf *out)
{
	if (!buf_ok(out))
		return cel_fail("a string is too long");
	return cel_string_of(r->mem, buf_span(out));
}

/* Bytes before the character of this number; len when there are fewer. */
static size_t offset_of(struct span s, size_t character)
{
	size_t at = 0;

	for (; character && at < s.len; character--)
		do
			at++;
		while (at < s.len && ((unsigned char)s.ptr[at] & 0xc0) == 0x80);
	return at;
}

static struct span from_to(struct span s, size_t from, size_t to)
{
	return span_make((s.ptr ? s.ptr : "") + from, to - from);
}

static value out_of_range(void)
{
	return cel_fail("index out of range");
}

CALL(char_at)
{
	struct span s = a[0].text;
	int64_t most = (int64_t)cel_characters(s);

	(void)r, (void)n;
	if (a[1].number < 0 || a[1].number > most)
		return out_of_range();
	size_t at = offset_of(s, (size_t)a[1].number);
	return text(from_to(s, at, at + offset_of(from_to(s, at, s.len), 1)));
}

/* A place behind the end is not found, one before the beginning an error. */
CALL(index_of)
{
	struct span s = a[0].text, part = a[1].text;
	int64_t from = n > 2 ? a[2].number : 0;

	if (from < 0)
		return out_of_range();
	if (!part.len)
		return cel_int(from);
	if (from >= (int64_t)cel_characters(s))
		return cel_int(-1);
	if (!cel_step(r, s.len / 10))
		return cel_exhausted();
	size_t at = offset_of(s, (size_t)from);
	const char *p = memmem(s.ptr + at, s.len - at, part.ptr, part.len);
	return cel_int(p ? (int64_t)cel_characters(from_to(s, 0, (size_t)(p - s.ptr))) : -1);
}

CALL(last_index_of)
{
	struct span s = a[0].text, part = a[1].text;
	int64_t length = (int64_t)cel_characters(s), from = n > 2 ? a[2].number : length;

	if (from < 0)
		return out_of_range();
	if (!part.len)
		return cel_int(from);
	if (n > 2 && from >= length)
		return cel_int(-1);
	if (!cel_step(r, s.len / 10 * (part.len / 10 + 1)))
		return cel_exhausted();
	for (size_t at = offset_of(s, (size_t)from) + 1; at > 0; at--)
		if (part.len <= s.len - (at - 1) && span_starts(from_to(s, at - 1, s.len), part))
			return cel_int((int64_t)cel_characters(from_to(s, 0, at - 1)));
	return cel_int(-1);
}

static value cased(struct cel_run *r, struct span s, int (*to)(int))
{
	char *out = arena_array(r->mem, char, s.len + 1);

	for (size_t i = 0; i < s.len; i++)
		out[i] =
		    (unsigned char)s.ptr[i] < 0x80 ? (char)to((unsigned char)s.ptr[i]) : s.ptr[i];
	return text(span_make(out, s.len));
}

CALL(lower)
{
	(void)n;
	return cased(r, a[0].text, tolower);
}

CALL(upper)
{
	(void)n;
	return cased(r, a[0].text, toupper);
}

/* An empty one is found before each character and at the end, as in strings.Replace. */
CALL(replace)
{
	struct span s = a[0].text, from = a[1].text;
	int64_t left = n > 3 ? a[3].number : -1;
	auto_buf out = BUF_MAX(CEL_MAX_TEXT * 1024);
	size_t at = 0;

	if (!cel_step(r, s.len / 10 + a[2].text.len / 10 * (s.len + 1) / (from.len + 1)))
		return cel_exhausted();
	while (left != 0) {
		const char *p = !from.len    ? (s.ptr ? s.ptr : "") + at
				: at < s.len ? memmem(s.ptr + at, s.len - at, from.ptr, from.len)
					     : NULL;
		if (!p)
			break;
		size_t found = (size_t)(p - (s.ptr ? s.ptr : ""));
		buf_add_span(&out, from_to(s, at, found));
		buf_add_span(&out, a[2].text);
		left--;
		at = found + from.len;
		if (from.len)
			continue;
		if (at >= s.len)
			break;
		size_t next = at + offset_of(from_to(s, at, s.len), 1);
		buf_add_span(&out, from_to(s, at, next));
		at = next;
	}
	buf_add_span(&out, from_to(s, at < s.len ? at : s.len, s.len));
	return text_made(r, &out);
}

/* An empty separator: characters. */
CALL(split)
{
	struct span s = a[0].text, by = a[1].text;
	int64_t most = n > 2 ? a[2].number : -1;
	size_t room = by.len ? s.len / by.len + 2 : s.len + 1, k = 0, at = 0;

	if (most == 0)
		return cel_list_of(r->mem, NULL, 0);
	if (!cel_step(r, s.len / 10 + room))
		return cel_exhausted();
	value *items = arena_array(r->mem, value, room);
	while (k + 1 < room && (most < 0 || (int64_t)k + 1 < most) && (by.len || at < s.len)) {
		size_t next = by.len ? 0 : at + offset_of(from_to(s, at, s.len), 1);
		if (by.len) {
			const char *p =
			    at < s.len ? memmem(s.ptr + at, s.len - at, by.ptr, by.len) : NULL;
			if (!p)
				break;
			next = (size_t)(p - s.ptr);
		} else if (next >= s.len) {
			break;
		}
		items[k++] = text(from_to(s, at, next));
		at = next + by.len;
	}
	if (by.len || s.len)
		items[k++] = text(from_to(s, at, s.len));
	return cel_list_of(r->mem, items, k);
}

CALL(substring)
{
	struct span s = a[0].text;
	int64_t length = (int64_t)cel_characters(s), to = n > 2 ? a[2].number : length;

	(void)r;
	if (a[1].number < 0 || to < 0 || a[1].number > length || to > length)
		return out_of_range();
	if (to < a[1].number)
		return cel_fail("invalid substring range");
	return text(from_to(s, offset_of(s, (size_t)a[1].number), offset_of(s, (size_t)to)));
}

/* Bytes of the white space that stands at the beginning; Unicode's, as Go trims. */
static size_t blank_at(struct span s)
{
	static const char *const wide[] = {"\xc2\x85",	   "\xc2\xa0",	   "\xe1\x9a\x80",
					   "\xe2\x80\xa8", "\xe2\x80\xa9", "\xe2\x80\xaf",
					   "\xe2\x81\x9f", "\xe3\x80\x80"};

	if (s.len && strchr(" \t\n\v\f\r", s.ptr[0]) && s.ptr[0])
		return 1;
	for (size_t i = 0; i < ARRAY_LEN(wide); i++)
		if (span_starts(s, span_of(wide[i])))
			return strlen(wide[i]);
	if (s.len > 2 && memcmp(s.ptr, "\xe2\x80", 2) == 0 && (unsigned char)s.ptr[2] >= 0x80 &&
	    (unsigned char)s.ptr[2] <= 0x8a)
		return 3;
	return 0;
}

CALL(trim)
{
	struct span s = a[0].text;
	size_t k;

	(void)r, (void)n;
	while ((k = blank_at(s)))
		s = from_to(s, k, s.len);
	for (bool more = true; more && s.len;) {
		size_t last = s.len - 1;
		while (last > 0 && ((unsigned char)s.ptr[last] & 0xc0) == 0x80)
			last--;
		more = blank_at(from_to(s, last, s.len)) == s.len - last;
		if (more)
			s.len = last;
	}
	return text(s);
}

CALL(join)
{
	struct span by = n > 1 ? a[1].text : SPAN("");
	auto_buf out = BUF_MAX(CEL_MAX_TEXT * 1024);

	for (size_t i = 0; i < a[0].list->n; i++) {
		const value *item = &a[0].list->items[i];
		if (item->kind != CEL_STRING)
			return cel_fail("no such overload");
		if (!cel_step(r, 1 + (item->text.len + by.len) / 10))
			return cel_exhausted();
		buf_add_span(&out, i ? by : SPAN(""));
		buf_add_span(&out, item->text);
	}
	return text_made(r, &out);
}

CALL(find)
{
	(void)n;
	return cel_regex_find(r, a[0].text, a[1].text);
}

CALL(find_all)
{
	return cel_regex_find_all(r, a[0].text, a[1].text, n > 2 ? a[2].number : -1);
}

#define S CEL_STRING
#define I CEL_INT

static const struct cel_function functions[] = {
    {"charAt", true, 2, {S, I}, S, CEL_GIVES_KIND, char_at},
    {"indexOf", true, 2, {S, S}, I, CEL_GIVES_KIND, index_of},
    {"indexOf", true, 3, {S, S, I}, I, CEL_GIVES_KIND, index_of},
    {"lastIndexOf", true, 2, {S, S}, I, CEL_GIVES_KIND, last_index_of},
    {"lastIndexOf", true, 3, {S, S, I}, I, CEL_GIVES_KIND, last_index_of},
    {"lowerAscii", true, 1, {S}, S, CEL_GIVES_KIND, lower},
    {"upperAscii", true, 1, {S}, S, CEL_GIVES_KIND, upper},
    {"replace", true, 3, {S, S, S}, S, CEL_GIVES_KIND, replace},
    {"replace", true, 4, {S, S, S, I}, S, CEL_GIVES_KIND, replace},
    {"split", true, 2, {S, S}, S, CEL_GIVES_LIST, split},
    {"split", true, 3, {S, S, I}, S, CEL_GIVES_LIST, split},
    {"substring", true, 2, {S, I}, S, CEL_GIVES_KIND, substring},
    {"substring", true, 3, {S, I, I}, S, CEL_GIVES_KIND, substring},
    {"trim", true, 1, {S}, S, CEL_GIVES_KIND, trim},
    {"join", true, 1, {CEL_LIST}, S, CEL_GIVES_KIND, join, CEL_ASKS_TEXTS},
    {"join", true, 2, {CEL_LIST, S}, S, CEL_GIVES_KIND, join, CEL_ASKS_TEXTS},
    {"find", true, 2, {S, S}, S, CEL_GIVES_KIND, find},
    {"findAll", true, 2, {S, S}, S, CEL_GIVES_LIST, find_all},
    {"findAll", true, 3, {S, S, I}, S, CEL_GIVES_LIST, find_all},
};

const struct cel_table cel_table_strings = {functions, ARRAY_LEN(functions)};

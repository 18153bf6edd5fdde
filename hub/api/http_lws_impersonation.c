/*
 * The Impersonate headers. libwebsockets knows them only as custom headers, of which its interface
 * gives the first of a name. Groups come as one header each, so the later ones are read where the
 * library keeps them, and everything read there is checked: a surprise makes the headers
 * unreadable, never a group that was not sent.
 *
 * In its header memory a custom header is 2 bytes length of the name, 2 of the value, 4 offset of
 * the next custom header or 0 (big-endian), the name in lower case with its colon, and the value
 * (libwebsockets 4.1 to 4.3, lib/roles/http/parsers.c). The memory begins a few bytes before the
 * request's URI; how many, the chain of headers itself tells: only one number makes it whole.
 */
#include "api/http_lws.h"

#define RECORD_HEAD 8
#define MOST_BEFORE 32
#define USER	    "impersonate-user:"
#define GROUP	    "impersonate-group:"
#define UID	    "impersonate-uid:"

static struct span copy_custom(struct http_conn *c, struct arena *mem, const char *name)
{
	int len = (int)strlen(name), n = lws_hdr_custom_length(c->wsi, name, len);
	char *text;
	if (n < 0)
		return SPAN_NONE;
	text = arena_alloc(mem, (size_t)n + 1);
	if (lws_hdr_custom_copy(c->wsi, text, n + 1, name, len) < 0)
		return SPAN_NONE;
	return span_make(text, (size_t)n);
}

struct record {
	struct span name, value;
	size_t next; /* offset from the beginning of the memory; 0: the last */
};

static size_t big_endian(const char *at, int n)
{
	size_t v = 0;
	for (int i = 0; i < n; i++)
		v = v << 8 | (unsigned char)at[i];
	return v;
}

static bool is_header_name(struct span s)
{
	if (s.len < 2 || s.ptr[s.len - 1] != ':')
		return false;
	for (size_t i = 0; i + 1 < s.len; i++)
		if (s.ptr[i] <= ' ' || s.ptr[i] > '~' || s.ptr[i] == ':')
			return false;
	return true;
}

/* The record at an offset from the URI; false when there cannot be one. */
static bool read_record(const char *uri, size_t at, struct record *ret)
{
	size_t name, value;
	if (at + RECORD_HEAD + MOST_BEFORE > HTTP_MAX_HEADERS)
		return false;
	name = big_endian(uri + at, 2);
	value = big_endian(uri + at + 2, 2);
	if (at + RECORD_HEAD + MOST_BEFORE + name + value > HTTP_MAX_HEADERS)
		return false;
	*ret = (struct record){.name = {uri + at + RECORD_HEAD, name},
			       .value = {uri + at + RECORD_HEAD + name, value},
			       .next = big_endian(uri + at + 4, 4)};
	return is_header_name(ret->name);
}

/* Where the first group, which the library has found, is kept. The search ends at it: it stands
 * behind the URI. */
static bool find_first(const char *uri, struct span value, size_t *ret)
{
	struct span name = SPAN(GROUP);
	struct record rec;
	for (size_t at = 0; at + RECORD_HEAD + MOST_BEFORE + name.len <= HTTP_MAX_HEADERS; at++) {
		if (memcmp(uri + at + RECORD_HEAD, name.ptr, name.len) != 0)
			continue;
		if (read_record(uri, at, &rec) && span_eq(rec.name, name) &&
		    span_eq(rec.value, value)) {
			*ret = at;
			return true;
		}
	}
	return false;
}

/* The groups from the record at `at` on, when the memory begins `before` bytes before the URI.
 * False when the chain breaks. */
static bool walk(const char *uri, size_t at, size_t before, struct http_impersonation *ret)
{
	struct record rec;
	ret->n_groups = 0;
	for (;;) {
		if (!read_record(uri, at, &rec) || ret->n_groups == HTTP_MAX_IMPERSONATED)
			return false;
		if (span_is(rec.name, GROUP))
			ret->groups[ret->n_groups++] = rec.value;
		if (!rec.next)
			return true;
		if (rec.next <= at + before)
			return false;
		at = rec.next - before;
	}
}

static void read_groups(const char *uri, struct arena *mem, struct span first,
			struct http_impersonation *ret)
{
	size_t at = 0, before = 0, fits = 0;
	ret->groups = arena_array(mem, struct span, HTTP_MAX_IMPERSONATED);
	ret->unreadable = true;
	if (!find_first(uri, first, &at))
		return;
	for (size_t n = 0; n <= MOST_BEFORE; n++)
		if (walk(uri, at, n, ret)) {
			before = n;
			fits++;
			if (!big_endian(uri + at + 4, 4))
				break; /* the last header: nothing to tell it by */
		}
	if (fits != 1)
		return;
	ret->unreadable = !walk(uri, at, before, ret);
	for (size_t i = 0; i < ret->n_groups; i++)
		ret->groups[i] = arena_span(mem, ret->groups[i]);
}

void http_lws_read_impersonation(struct http_conn *c, struct http_request *r, const char *uri)
{
	struct http_impersonation i = {.user = copy_custom(c, &r->mem, USER),
				       .uid = copy_custom(c, &r->mem, UID)};
	struct span group = copy_custom(c, &r->mem, GROUP);
	struct http_impersonation *made;
	if (!i.user.ptr && !i.uid.ptr && !group.ptr)
		return;
	if (group.ptr)
		read_groups(uri, &r->mem, group, &i);
	made = arena_new(&r->mem, struct http_impersonation);
	*made = i;
	r->impersonation = made;
}

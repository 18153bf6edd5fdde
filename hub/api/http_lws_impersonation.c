/*
 * The Impersonate headers. libwebsockets knows them only as custom headers, of which its interface
 * gives the first of a name that is known. Groups come as one header each, and the names of extras
 * are the client's, so these are read where the library keeps them, and everything read there is
 * checked: a surprise makes the headers unreadable, never a group that was not sent.
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
#define EXTRA	    "impersonate-extra-"

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

/* Where a header that the library has found is kept. The search ends at it: it stands behind the
 * URI. */
static bool find_header(const char *uri, struct span name, struct span value, size_t *ret)
{
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

/* The chain from the record at `from` when the memory begins `before` bytes before the URI. False
 * when it breaks, or does not pass the record at `through`. */
static bool is_chain(const char *uri, size_t from, size_t before, size_t through)
{
	bool passed = false;
	for (size_t at = from;;) {
		struct record rec;
		passed = passed || at == through;
		if (!read_record(uri, at, &rec))
			return false;
		if (!rec.next)
			return passed;
		if (rec.next <= at + before)
			return false;
		at = rec.next - before;
	}
}

/* The custom headers of one request, found from one of them. */
struct chain {
	size_t first, before;
	bool alone; /* there is no other */
};

/* Which number of bytes before the URI makes a chain of at least two headers through `through`,
 * and where that begins. More than one number: false. */
static bool find_chain(const char *uri, size_t through, struct chain *ret)
{
	struct record rec;
	*ret = (struct chain){.first = through, .alone = true};
	for (size_t n = 0; n <= MOST_BEFORE; n++) {
		size_t at = 0;
		while (at < through &&
		       !(read_record(uri, at, &rec) && is_chain(uri, at, n, through)))
			at++;
		if (!read_record(uri, at, &rec) || !is_chain(uri, at, n, through) || !rec.next)
			continue;
		if (!ret->alone)
			return false;
		*ret = (struct chain){.first = at, .before = n};
	}
	return true;
}

static bool is_extra(struct span name)
{
	return span_starts(name, SPAN(EXTRA)) && name.len > strlen(EXTRA) + 1;
}

/* Keys are percent-encoded, since header names cannot have every character. */
static struct span decode_key(struct arena *mem, struct span name)
{
	struct span raw = span_make(name.ptr + strlen(EXTRA), name.len - strlen(EXTRA) - 1);
	char *out = arena_alloc(mem, raw.len + 1);
	size_t n = 0;
	for (size_t i = 0; i < raw.len; i++) {
		int hi = -1, lo = -1;
		if (raw.ptr[i] == '%' && i + 2 < raw.len) {
			const char *digits = "0123456789abcdef";
			const char *h = memchr(digits, raw.ptr[i + 1] | 32, 16);
			const char *l = memchr(digits, raw.ptr[i + 2] | 32, 16);
			hi = h ? (int)(h - digits) : -1;
			lo = l ? (int)(l - digits) : -1;
		}
		if (hi >= 0 && lo >= 0) {
			out[n++] = (char)(hi << 4 | lo);
			i += 2;
		} else {
			out[n++] = raw.ptr[i];
		}
	}
	return span_make(out, n);
}

static bool add_header(const struct record *rec, struct arena *mem, struct http_impersonation *ret)
{
	if (span_is(rec->name, GROUP)) {
		if (ret->n_groups == HTTP_MAX_IMPERSONATED)
			return false;
		ret->groups[ret->n_groups++] = arena_span(mem, rec->value);
	} else if (is_extra(rec->name)) {
		if (ret->n_extra == HTTP_MAX_IMPERSONATED)
			return false;
		ret->extra[ret->n_extra++] =
		    (struct http_param){decode_key(mem, rec->name), arena_span(mem, rec->value)};
	}
	return true;
}

static bool read_chain(const char *uri, const struct chain *c, struct arena *mem,
		       struct http_impersonation *ret)
{
	size_t at = c->first;
	struct record rec;
	for (;;) {
		if (!read_record(uri, at, &rec) || !add_header(&rec, mem, ret))
			return false;
		if (!rec.next)
			return true;
		at = rec.next - c->before;
	}
}

void http_lws_read_impersonation(struct http_conn *c, struct http_request *r, const char *uri)
{
	struct http_impersonation i = {.user = http_lws_custom_header(c, &r->mem, USER),
				       .uid = http_lws_custom_header(c, &r->mem, UID)};
	struct span group = http_lws_custom_header(c, &r->mem, GROUP);
	struct http_impersonation *made;
	struct chain chain;
	size_t user = 0;
	if (!i.user.ptr && !i.uid.ptr && !group.ptr)
		return;
	made = arena_new(&r->mem, struct http_impersonation);
	r->impersonation = made;
	i.groups = arena_array(&r->mem, struct span, HTTP_MAX_IMPERSONATED);
	i.extra = arena_array(&r->mem, struct http_param, HTTP_MAX_IMPERSONATED);
	*made = i;
	if (!i.user.ptr) /* refused for that, whatever the others are */
		return;
	made->unreadable =
	    !find_header(uri, SPAN(USER), i.user, &user) || !find_chain(uri, user, &chain) ||
	    (chain.alone ? group.ptr != NULL : !read_chain(uri, &chain, &r->mem, made)) ||
	    (group.ptr && !made->n_groups);
}

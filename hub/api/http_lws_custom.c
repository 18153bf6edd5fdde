/*
 * Headers that libwebsockets has no number for. Its interface gives the first of a name that is
 * known; where one name comes several times, or the names are the client's, they are read where
 * the library keeps them, and everything read there is checked: a surprise makes the headers
 * unreadable, never one that was not sent.
 *
 * In its header memory a custom header is 2 bytes length of the name, 2 of the value, 4 offset of
 * the next custom header or 0 (big-endian), the name in lower case with its colon, and the value
 * (libwebsockets 4.1 to 4.3, lib/roles/http/parsers.c). The memory begins a few bytes before the
 * request's URI; how many, the chain of headers itself tells: only one number makes it whole.
 * Behind the last header its parser leaves 8 zeroes and the empty line.
 */
#include "api/http_lws.h"

#define RECORD_HEAD 8
#define MOST_BEFORE 32
#define END	    "\0\0\0\0\0\0\0\0\r\n"

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

bool http_lws_each_custom(const char *uri, struct span name, struct span value,
			  http_lws_custom_fn *each, void *arg)
{
	struct record rec;
	struct chain chain;
	size_t at = 0;
	if (!find_header(uri, name, value, &at) || !find_chain(uri, at, &chain))
		return false;
	for (at = chain.first;;) {
		if (!read_record(uri, at, &rec) || !each(arg, rec.name, rec.value))
			return false;
		if (chain.alone || !rec.next)
			return true;
		at = rec.next - chain.before;
	}
}

bool http_lws_find_custom(struct http_conn *c, const char *uri, struct span prefix,
			  struct span *ret_name, struct span *ret_value)
{
	size_t n = HTTP_MAX_HEADERS - MOST_BEFORE;
	const char *at = uri ? memmem(uri, n, END, sizeof(END) - 1) : NULL;
	struct record rec;

	if (!uri)
		return false;
	n = at ? (size_t)(at - uri) : n;
	for (at = memmem(uri, n, prefix.ptr, prefix.len); at;
	     at = memmem(at + 1, n - (size_t)(at + 1 - uri), prefix.ptr, prefix.len)) {
		/* What stands there may be of an earlier request, or a value: the library knows. */
		if (at - uri >= RECORD_HEAD &&
		    read_record(uri, (size_t)(at - uri) - RECORD_HEAD, &rec) &&
		    span_starts(rec.name, prefix) &&
		    lws_hdr_custom_length(c->wsi, rec.name.ptr, (int)rec.name.len) ==
			(int)rec.value.len) {
			*ret_name = rec.name;
			*ret_value = rec.value;
			return true;
		}
	}
	return false;
}

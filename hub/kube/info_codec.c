#include "kube/info_codec.h"

#include "base/json.h"
#include "base/num.h"

#include <errno.h>

static struct span of_type(struct span value, enum json_type type)
{
	return json_text_type(value) == type ? value : SPAN_NONE;
}

void info_meta_read_metadata(struct span metadata, struct info_meta *ret)
{
	struct span key, value;
	struct info_meta m = {0};

	if (json_text_type(metadata) != JSON_OBJECT)
		metadata = SPAN_NONE;
	for (size_t at = 0; json_text_next(metadata, &at, &key, &value);) {
		if (span_is(key, "name"))
			m.name = of_type(value, JSON_STRING);
		else if (span_is(key, "namespace"))
			m.ns = of_type(value, JSON_STRING);
		else if (span_is(key, "uid"))
			m.uid = of_type(value, JSON_STRING);
		else if (span_is(key, "labels"))
			m.labels = of_type(value, JSON_OBJECT);
		else if (span_is(key, "annotations"))
			m.annotations = of_type(value, JSON_OBJECT);
		else if (span_is(key, "finalizers"))
			m.finalizers = of_type(value, JSON_ARRAY);
		else if (span_is(key, "ownerReferences"))
			m.owners = of_type(value, JSON_ARRAY);
		else if (span_is(key, "deletionTimestamp"))
			m.deleting = json_text_type(value) == JSON_STRING;
		else if (span_is(key, "generation"))
			(void)!json_text_int64(value, &m.generation);
		else if (span_is(key, "resourceVersion"))
			(void)!num_parse_u64(json_text_plain(value), UINT64_MAX, &m.revision);
	}
	*ret = m;
}

void info_meta_read(struct span object, struct info_meta *ret)
{
	struct span metadata = SPAN_NONE;
	(void)json_text_member(object, "metadata", &metadata);
	info_meta_read_metadata(metadata, ret);
}

struct span info_string(struct span value, struct arena *mem)
{
	struct span plain = json_text_plain(value);
	if (plain.ptr)
		return arena_span(mem, plain);
	if (json_text_type(value) != JSON_STRING)
		return SPAN_NONE;
	auto_buf b = BUF_INIT;
	if (json_text_string(value, &b) < 0 || !buf_ok(&b))
		return SPAN_NONE;
	return arena_span(mem, buf_span(&b));
}

/* A key as json_text_next() gives it: no quotes, escapes as they stand. */
static struct span key_string(struct span key, struct arena *mem)
{
	if (!key.len || !memchr(key.ptr, '\\', key.len))
		return arena_span(mem, key);
	return info_string(span_make(key.ptr - 1, key.len + 2), mem);
}

struct info_pair *info_pairs(struct span object, struct arena *mem, size_t *ret_n)
{
	struct span key, value;
	size_t n = 0, filled = 0;

	*ret_n = 0;
	if (json_text_type(object) != JSON_OBJECT)
		return NULL;
	for (size_t at = 0; json_text_next(object, &at, &key, &value);)
		n++;
	if (n == 0)
		return NULL;
	struct info_pair *pairs = arena_array(mem, struct info_pair, n);
	for (size_t at = 0; json_text_next(object, &at, &key, &value);)
		if (json_text_type(value) == JSON_STRING)
			pairs[filled++] =
			    (struct info_pair){key_string(key, mem), info_string(value, mem)};
	*ret_n = filled;
	return pairs;
}

bool info_is_ready(struct span conditions)
{
	struct span one, type, status;

	if (json_text_type(conditions) != JSON_ARRAY)
		return false;
	for (size_t at = 0; json_text_next(conditions, &at, NULL, &one);)
		if (json_text_member(one, "type", &type) == 0 && span_is(type, "\"Ready\"") &&
		    json_text_member(one, "status", &status) == 0)
			return span_is(status, "\"True\"");
	return false;
}

int info_effect_from(struct span name, enum info_effect *ret)
{
	static const char *const names[] = {
	    [INFO_NO_SCHEDULE] = "NoSchedule",
	    [INFO_PREFER_NO_SCHEDULE] = "PreferNoSchedule",
	    [INFO_NO_EXECUTE] = "NoExecute",
	};
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (span_is(name, names[i])) {
			*ret = (enum info_effect)i;
			return 0;
		}
	}
	return -ENOENT;
}

/* ---- binary form ---- */

void info_put_u64(struct buf *out, uint64_t v)
{
	char b[10];
	size_t n = 0;
	while (v >= 0x80) {
		b[n++] = (char)(v | 0x80);
		v >>= 7;
	}
	b[n++] = (char)v;
	buf_add(out, b, n);
}

void info_put_i64(struct buf *out, int64_t v)
{
	info_put_u64(out, (uint64_t)v << 1 ^ (uint64_t)(v >> 63));
}

void info_put_span(struct buf *out, struct span s)
{
	if (!s.ptr) {
		info_put_u64(out, 0);
		return;
	}
	info_put_u64(out, s.len + 1);
	buf_add_span(out, s);
}

void info_put_pairs(struct buf *out, const struct info_pair *pairs, size_t n)
{
	info_put_u64(out, n);
	for (size_t i = 0; i < n; i++) {
		info_put_span(out, pairs[i].key);
		info_put_span(out, pairs[i].value);
	}
}

void info_put_amounts(struct buf *out, const struct info_amount *amounts, size_t n)
{
	info_put_u64(out, n);
	for (size_t i = 0; i < n; i++) {
		info_put_span(out, amounts[i].resource);
		info_put_i64(out, amounts[i].value);
	}
}

uint64_t info_get_u64(struct info_reader *r)
{
	uint64_t v = 0;
	for (unsigned shift = 0; r->p < r->end && shift < 70; shift += 7) {
		unsigned char c = (unsigned char)*r->p++;
		if (shift == 63 && c > 1)
			break;
		v |= (uint64_t)(c & 0x7f) << shift;
		if (c < 0x80)
			return v;
	}
	r->failed = true;
	r->p = r->end;
	return 0;
}

int64_t info_get_i64(struct info_reader *r)
{
	uint64_t v = info_get_u64(r);
	return (int64_t)(v >> 1 ^ (0 - (v & 1)));
}

struct span info_get_span(struct info_reader *r)
{
	uint64_t len = info_get_u64(r);
	if (len == 0)
		return SPAN_NONE;
	if (len - 1 > (uint64_t)(r->end - r->p)) {
		r->failed = true;
		r->p = r->end;
		return SPAN_NONE;
	}
	struct span s = span_make(r->p, (size_t)len - 1);
	r->p += s.len;
	return s;
}

size_t info_get_count(struct info_reader *r, size_t least)
{
	uint64_t n = info_get_u64(r);
	if (n > (uint64_t)(r->end - r->p) / least) {
		r->failed = true;
		r->p = r->end;
		return 0;
	}
	return (size_t)n;
}

struct info_pair *info_get_pairs(struct info_reader *r, struct arena *mem, size_t *ret_n)
{
	size_t n = info_get_count(r, 2);
	struct info_pair *pairs = n ? arena_array(mem, struct info_pair, n) : NULL;
	for (size_t i = 0; i < n; i++) {
		pairs[i].key = info_get_span(r);
		pairs[i].value = info_get_span(r);
	}
	*ret_n = n;
	return pairs;
}

struct info_amount *info_get_amounts(struct info_reader *r, struct arena *mem, size_t *ret_n)
{
	size_t n = info_get_count(r, 2);
	struct info_amount *amounts = n ? arena_array(mem, struct info_amount, n) : NULL;
	for (size_t i = 0; i < n; i++) {
		amounts[i].resource = info_get_span(r);
		amounts[i].value = info_get_i64(r);
		r->failed = r->failed || amounts[i].value < 0;
	}
	*ret_n = n;
	return amounts;
}

bool info_reader_ended(const struct info_reader *r)
{
	return !r->failed && r->p == r->end;
}

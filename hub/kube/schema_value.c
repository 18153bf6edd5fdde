/*
 * Scalars: types, ranges, lengths, formats, enumerations and patterns. Messages are those of
 * kube-openapi's validator and of apimachinery's field package.
 */
#define PCRE2_CODE_UNIT_WIDTH 8

#include "kube/schema_compile.h"
#include "kube/schema_walk.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/vec.h"
#include "kube/names.h"
#include "kube/quantity.h"

#include <errno.h>
#include <pcre2.h>

/* A pattern is an outsider's once there are CustomResourceDefinitions: steps, not time, bound it,
 * so that the answer does not depend on the machine. Long texts of sane patterns need about one
 * step per byte. */
#define PATTERN_MATCH_LIMIT 200000
#define MAX_PORT	    65535
#define MAX_MODE	    0777
#define MICRO_TIME_MIN	    27 /* "2006-01-02T15:04:05.000000Z" */

/* The patterns that nearly all fields with a pattern have, as code. Of texts that are longer than
 * a name may be the code says no, and the pattern nothing. */
static const struct known_pattern {
	const char *pattern;
	size_t max;
	bool (*matches)(struct span text);
} known_patterns[] = {
    {"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$", NAMES_MAX_SUBDOMAIN,
     names_is_dns_subdomain},
    {"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", NAMES_MAX_LABEL, names_is_dns_label},
};

static const struct known_pattern *known_pattern(const char *pattern, size_t len)
{
	for (size_t i = 0; i < ARRAY_LEN(known_patterns); i++)
		if (len <= known_patterns[i].max && strcmp(known_patterns[i].pattern, pattern) == 0)
			return &known_patterns[i];
	return NULL;
}

/* Compiling costs ten microseconds, and but for names only rare fields have a pattern: nothing is
 * kept, so no state is shared between threads. */
bool schema_pattern_matches(const char *pattern, struct span text)
{
	const struct known_pattern *known = known_pattern(pattern, text.len);

	if (known)
		return known->matches(text);
	int code;
	size_t at;
	bool matches = false;
	pcre2_code *re = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED,
				       PCRE2_UTF | PCRE2_DOLLAR_ENDONLY | PCRE2_NEVER_BACKSLASH_C,
				       &code, &at, NULL);
	pcre2_match_data *match = re ? pcre2_match_data_create_from_pattern(re, NULL) : NULL;
	pcre2_match_context *limits = match ? pcre2_match_context_create(NULL) : NULL;
	if (limits) {
		pcre2_set_match_limit(limits, PATTERN_MATCH_LIMIT);
		matches = pcre2_match(re, (PCRE2_SPTR)(text.ptr ? text.ptr : ""), text.len, 0, 0,
				      match, limits) >= 0;
	}
	pcre2_match_context_free(limits);
	pcre2_match_data_free(match);
	pcre2_code_free(re);
	return matches;
}

const char *schema_pattern_problem(const char *pattern, char words[SCHEMA_PATTERN_WORDS])
{
	int code;
	size_t at;
	pcre2_code *re = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED,
				       PCRE2_UTF | PCRE2_DOLLAR_ENDONLY | PCRE2_NEVER_BACKSLASH_C,
				       &code, &at, NULL);

	pcre2_code_free(re);
	if (re)
		return NULL;
	(void)pcre2_get_error_message(code, (PCRE2_UCHAR *)words, SCHEMA_PATTERN_WORDS);
	return words;
}

static void refuse_value(struct schema_walk *w, enum field_reason reason, const struct cJSON *value,
			 const char *detail)
{
	auto_buf shown = BUF_INIT;

	json_print(value, &shown);
	schema_walk_refuse(w, reason, shown.ptr, "%s", detail);
}

static void refuse_in_body(struct schema_walk *w, const struct cJSON *value, const char *what)
{
	auto_buf path = BUF_INIT, detail = BUF_INIT;

	schema_walk_path(w, true, &path);
	buf_addf(&detail, "%s in body should %s", path.ptr ? path.ptr : "", what);
	refuse_value(w, FIELD_INVALID, value, detail.ptr);
}

static bool enumerated(const char *const *values, const char *s)
{
	for (; *values; values++)
		if (strcmp(*values, s) == 0)
			return true;
	return false;
}

static void check_enum(struct schema_walk *w, const struct schema *s, const struct cJSON *value)
{
	auto_buf detail = BUF_INIT;

	if (enumerated(s->enumeration, json_value_str(value)))
		return;
	buf_add_str(&detail, "supported values: ");
	for (const char *const *e = s->enumeration; *e; e++)
		buf_addf(&detail, "%s\"%s\"", e == s->enumeration ? "" : ", ", *e);
	refuse_value(w, FIELD_NOT_SUPPORTED, value, detail.ptr);
}

static bool is_base64(struct span s)
{
	size_t n = s.len;

	if (n % 4 != 0)
		return false;
	while (n && s.len - n < 2 && s.ptr[n - 1] == '=')
		n--;
	for (size_t i = 0; i < n; i++) {
		char c = s.ptr[i];
		if (!((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
		      c == '+' || c == '/'))
			return false;
	}
	return true;
}

bool schema_is_micro_time(struct span s)
{
	usec t;

	if (s.len < MICRO_TIME_MIN || s.ptr[19] != '.' || clock_parse(s, &t) < 0)
		return false;
	for (size_t i = 20; i < 26; i++)
		if (s.ptr[i] < '0' || s.ptr[i] > '9')
			return false;
	return s.ptr[26] < '0' || s.ptr[26] > '9';
}

/* NULL when the text is fine. */
static const char *format_problem(enum schema_format format, struct span s)
{
	usec t;

	switch (format) {
	case SCHEMA_MICRO_TIME:
		return schema_is_micro_time(s) ? NULL : "must be a date and time with microseconds";
	case SCHEMA_DATE_TIME:
		return clock_parse(s, &t) < 0 ? "must be a date and time as in RFC 3339" : NULL;
	case SCHEMA_BYTE:
		return is_base64(s) ? NULL : "must be base64";
	case SCHEMA_DNS_LABEL:
		return names_is_dns_label(s) ? NULL : names_dns_label_rule(s);
	case SCHEMA_DNS_SUBDOMAIN:
		return names_is_dns_subdomain(s) ? NULL : names_dns_subdomain_rule(s);
	case SCHEMA_DNS1035:
		return names_is_dns1035(s) ? NULL : names_dns1035_rule(s);
	case SCHEMA_QUALIFIED:
		return names_is_qualified(s) ? NULL : names_qualified_rule(s);
	case SCHEMA_LABEL_VALUE:
		return names_is_label_value(s) ? NULL : names_label_value_rule(s);
	case SCHEMA_PLAIN:
	case SCHEMA_INT32:
	case SCHEMA_INT64:
		break;
	}
	return NULL;
}

static size_t characters(struct span s)
{
	size_t n = 0;
	for (size_t i = 0; i < s.len; i++)
		n += ((unsigned char)s.ptr[i] & 0xc0) != 0x80;
	return n;
}

static void check_string(struct schema_walk *w, const struct schema *s, const struct cJSON *value)
{
	const char *str = json_value_str(value);
	struct span text = span_of(str);

	if (!str) {
		schema_walk_refuse_type(w, value, "string");
		return;
	}
	if (schema_walk_is_ruled(w, s))
		return;
	if (s->enumeration)
		check_enum(w, s, value);
	const char *problem = format_problem(s->format, text);
	if (problem)
		refuse_value(w, FIELD_INVALID, value, problem);
	if (w->native) /* lengths are for the kind's rules, beside those of formats */
		return;
	if (s->max_length && text.len > s->max_length && characters(text) > s->max_length)
		schema_walk_refuse(w, FIELD_TOO_LONG, NULL, "may not be more than %u bytes",
				   s->max_length);
	if (s->min_length && characters(text) < s->min_length) {
		char what[64];
		(void)snprintf(what, sizeof(what), "be at least %u chars long", s->min_length);
		refuse_in_body(w, value, what);
	}
	if (s->pattern && !schema_pattern_matches(s->pattern, text)) {
		auto_buf what = BUF_INIT;
		buf_addf(&what, "match '%s'", s->pattern);
		refuse_in_body(w, value, what.ptr);
	}
}

/* In the words of Kubernetes' own validation. */
static void check_range(struct schema_walk *w, const struct schema *s, const struct cJSON *value,
			int64_t v)
{
	bool least = s->flags & SCHEMA_HAS_MIN, most = s->flags & SCHEMA_HAS_MAX;
	char words[96];

	if ((!least || v >= s->minimum) && (!most || v <= s->maximum))
		return;
	if (most && s->maximum == MAX_PORT)
		(void)snprintf(words, sizeof(words), "must be between 1 and 65535, inclusive");
	else if (most && s->maximum == MAX_MODE)
		(void)snprintf(words, sizeof(words),
			       "must be a number between 0 and 0777 (octal), both inclusive");
	else
		(void)snprintf(words, sizeof(words), "must be %s than or equal to %lld",
			       least && v < s->minimum ? "greater" : "less",
			       (long long)(least && v < s->minimum ? s->minimum : s->maximum));
	refuse_value(w, FIELD_INVALID, value, words);
}

static void check_integer(struct schema_walk *w, const struct schema *s, const struct cJSON *value)
{
	int64_t v = 0;
	int r = json_value_int64(value, &v);
	char what[64];

	if (r == -EINVAL) {
		schema_walk_refuse_type(w, value, "integer");
		return;
	}
	if (r < 0 || (s->format == SCHEMA_INT32 && (v < INT32_MIN || v > INT32_MAX))) {
		refuse_in_body(w, value,
			       s->format == SCHEMA_INT32 ? "fit in 32 bits" : "fit in 64 bits");
		return;
	}
	if (schema_walk_is_ruled(w, s))
		return;
	if (w->native) {
		check_range(w, s, value, v);
	} else if (s->flags & SCHEMA_HAS_MIN && v < s->minimum) {
		(void)snprintf(what, sizeof(what), "be greater than or equal to %lld",
			       (long long)s->minimum);
		refuse_in_body(w, value, what);
	} else if (s->flags & SCHEMA_HAS_MAX && v > s->maximum) {
		(void)snprintf(what, sizeof(what), "be less than or equal to %lld",
			       (long long)s->maximum);
		refuse_in_body(w, value, what);
	}
}

/* Where the hub sums quantities a negative or overflowing one would lie; elsewhere any that can
 * be read is fine. cpu counts in thousandths, so the resource decides what overflows. */
static void check_quantity(struct schema_walk *w, const struct schema *s, const struct cJSON *value)
{
	bool summed = s->flags & SCHEMA_NOT_NEGATIVE;
	unsigned flags = summed ? 0 : QUANTITY_NEGATIVE;
	int64_t v;

	if (!json_is(value, JSON_STRING) && !json_is(value, JSON_NUMBER)) {
		schema_walk_refuse_type(w, value, "string");
		return;
	}
	if (w->depth && w->depth <= SCHEMA_MAX_DEPTH &&
	    w->path[w->depth - 1].step == SCHEMA_STEP_KEY)
		flags |= quantity_unit(span_of(w->path[w->depth - 1].name));
	int r = quantity_from_node(value, flags, &v);
	if (r == -EDOM && schema_walk_is_ruled(w, s))
		return;
	if (r < 0 && (summed || r != -ERANGE))
		refuse_value(w, FIELD_INVALID, value, quantity_error_text(r));
}

void schema_value_check(struct schema_walk *w, const struct schema *s, const struct cJSON *value)
{
	enum json_type type = json_type_of(value);
	int64_t v;

	switch ((enum schema_type)s->type) {
	case SCHEMA_STRING:
		check_string(w, s, value);
		break;
	case SCHEMA_INTEGER:
		check_integer(w, s, value);
		break;
	case SCHEMA_QUANTITY:
		check_quantity(w, s, value);
		break;
	case SCHEMA_BOOLEAN:
		if (type != JSON_BOOL)
			schema_walk_refuse_type(w, value, "boolean");
		break;
	case SCHEMA_NUMBER:
		if (type != JSON_NUMBER)
			schema_walk_refuse_type(w, value, "number");
		break;
	case SCHEMA_INT_OR_STRING:
		if (type != JSON_STRING && json_value_int64(value, &v) < 0)
			schema_walk_refuse_type(w, value, "integer,string");
		break;
	case SCHEMA_ANY:
	case SCHEMA_OBJECT:
	case SCHEMA_MAP:
	case SCHEMA_ARRAY:
		break;
	}
}

/* ---- lists whose items must differ ---- */

struct item_key {
	uint64_t hash;
	size_t index;
	const struct cJSON *item;
};

static uint64_t hash_text(uint64_t h, struct span s)
{
	for (size_t i = 0; i < s.len; i++)
		h = (h ^ (unsigned char)s.ptr[i]) * 0x100000001b3u;
	return (h ^ 0xff) * 0x100000001b3u;
}

static struct span scalar_text(const struct cJSON *v)
{
	const char *s = json_value_str(v);
	if (s)
		return span_of(s);
	if (json_is(v, JSON_NUMBER))
		return json_number_text(v);
	return json_is(v, JSON_BOOL) ? span_of(json_value_bool(v, false) ? "true" : "false")
				     : SPAN_NONE;
}

static uint64_t hash_item(const struct schema *s, const struct cJSON *item)
{
	uint64_t h = 0xcbf29ce484222325u;

	if (s->list_type == SCHEMA_LIST_SET)
		return hash_text(h, scalar_text(item));
	for (const char *const *k = s->list_keys; *k; k++)
		h = hash_text(h, scalar_text(json_get(item, *k)));
	return h;
}

static bool same_item(const struct schema *s, const struct cJSON *a, const struct cJSON *b)
{
	if (s->list_type == SCHEMA_LIST_SET)
		return span_eq(scalar_text(a), scalar_text(b));
	for (const char *const *k = s->list_keys; *k; k++)
		if (!span_eq(scalar_text(json_get(a, *k)), scalar_text(json_get(b, *k))))
			return false;
	return true;
}

static int by_hash_then_index(const void *a, const void *b)
{
	const struct item_key *x = a, *y = b;
	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	return (x->index > y->index) - (x->index < y->index);
}

static void refuse_duplicate(struct schema_walk *w, const struct schema *s,
			     const struct item_key *item)
{
	auto_buf shown = BUF_INIT;

	if (s->list_type == SCHEMA_LIST_SET) {
		json_print(item->item, &shown);
	} else {
		const char *sep = "{";
		for (const char *const *k = s->list_keys; *k; k++, sep = ",") {
			buf_addf(&shown, "%s\"%s\":", sep, *k);
			json_print(json_get(item->item, *k), &shown);
		}
		buf_add_char(&shown, '}');
	}
	schema_walk_push(w, SCHEMA_STEP_INDEX, NULL, item->index);
	schema_walk_refuse(w, FIELD_DUPLICATE, shown.ptr, "%s", "");
	schema_walk_pop(w);
}

void schema_list_check(struct schema_walk *w, const struct schema *s, const struct cJSON *list)
{
	struct VEC(struct item_key) keys = {0};
	size_t index = 0;

	if (!json_first(list) || !json_next(json_first(list)))
		return;
	json_foreach (list, item) {
		if (s->list_type == SCHEMA_LIST_SET || json_is(item, JSON_OBJECT))
			vec_push(&keys, (struct item_key){hash_item(s, item), index, item});
		index++;
	}
	qsort(keys.items, keys.len, sizeof(*keys.items), by_hash_then_index);
	for (size_t i = 1; i < keys.len; i++)
		if (keys.items[i].hash == keys.items[i - 1].hash &&
		    same_item(s, keys.items[i].item, keys.items[i - 1].item))
			refuse_duplicate(w, s, &keys.items[i]);
	vec_done(&keys);
}

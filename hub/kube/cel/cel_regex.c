#define PCRE2_CODE_UNIT_WIDTH 8
#include "kube/cel/cel_regex.h"

#include "kube/cel/cel_list.h"

#include <pcre2.h>

#define MATCH_LIMIT 100000

struct regex {
	pcre2_code *code;
	pcre2_match_data *match;
	pcre2_match_context *limits;
};

static bool open_regex(struct cel_run *r, struct span text, struct span pattern, struct regex *x)
{
	int code;
	size_t at;

	*x = (struct regex){NULL, NULL, NULL};
	if (!cel_step(r, 10 + pattern.len * (text.len / 40 + 1)))
		return false;
	x->code = pcre2_compile((PCRE2_SPTR)(pattern.ptr ? pattern.ptr : ""), pattern.len,
				PCRE2_UTF | PCRE2_DOLLAR_ENDONLY | PCRE2_NEVER_BACKSLASH_C, &code,
				&at, NULL);
	if (!x->code)
		return false;
	x->match = pcre2_match_data_create_from_pattern(x->code, NULL);
	x->limits = pcre2_match_context_create(NULL);
	if (!x->match || !x->limits)
		return false;
	pcre2_set_match_limit(x->limits, MATCH_LIMIT);
	return true;
}

static void close_regex(struct regex *x)
{
	pcre2_match_context_free(x->limits);
	pcre2_match_data_free(x->match);
	pcre2_code_free(x->code);
}

static struct cel_value failed(const struct cel_run *r)
{
	return r->steps < 0 ? cel_exhausted() : cel_fail("error parsing regexp");
}

/* 1: found, 0: not, negative: it took too long. */
static int search(const struct regex *x, struct span text, size_t from)
{
	int n = pcre2_match(x->code, (PCRE2_SPTR)(text.ptr ? text.ptr : ""), text.len, from, 0,
			    x->match, x->limits);

	return n >= 0 ? 1 : n == PCRE2_ERROR_NOMATCH ? 0 : -1;
}

static struct span found(const struct regex *x, struct span text)
{
	const size_t *at = pcre2_get_ovector_pointer(x->match);

	return span_make((text.ptr ? text.ptr : "") + at[0], at[1] - at[0]);
}

bool cel_regex_is_fine(struct span pattern)
{
	int code;
	size_t at;
	pcre2_code *re = pcre2_compile((PCRE2_SPTR)(pattern.ptr ? pattern.ptr : ""), pattern.len,
				       PCRE2_UTF | PCRE2_DOLLAR_ENDONLY | PCRE2_NEVER_BACKSLASH_C,
				       &code, &at, NULL);

	pcre2_code_free(re);
	return re;
}

struct cel_value cel_regex_matches(struct cel_run *r, struct span text, struct span pattern)
{
	struct regex x;
	struct cel_value v = failed(r);

	if (open_regex(r, text, pattern, &x)) {
		int n = search(&x, text, 0);
		v = n < 0 ? cel_fail("a regular expression that takes too long") : cel_bool(n);
	} else {
		v = failed(r);
	}
	close_regex(&x);
	return v;
}

struct cel_value cel_regex_find(struct cel_run *r, struct span text, struct span pattern)
{
	struct cel_value all = cel_regex_find_all(r, text, pattern, 1);

	if (all.kind == CEL_ERROR)
		return all;
	return all.list->n ? all.list->items[0] : cel_text(CEL_STRING, SPAN(""));
}

/* Behind an empty match the search goes on one character later. */
static size_t behind(const struct regex *x, struct span text)
{
	const size_t *at = pcre2_get_ovector_pointer(x->match);
	size_t next = at[1];

	if (at[1] > at[0])
		return next;
	do
		next++;
	while (next < text.len && ((unsigned char)text.ptr[next] & 0xc0) == 0x80);
	return next;
}

struct cel_value cel_regex_find_all(struct cel_run *r, struct span text, struct span pattern,
				    int64_t most)
{
	struct regex x;
	struct cel_value v = {.kind = CEL_NULL};

	if (open_regex(r, text, pattern, &x)) {
		size_t room = text.len + 1, n = 0;
		if (most >= 0 && (uint64_t)most < room)
			room = (size_t)most;
		struct cel_value *items = arena_array(r->mem, struct cel_value, room);
		for (size_t at = 0; n < room && at <= text.len && search(&x, text, at) == 1;) {
			items[n++] = cel_text(CEL_STRING, found(&x, text));
			at = behind(&x, text);
		}
		v = cel_list_of(r->mem, items, n);
	} else {
		v = failed(r);
	}
	close_regex(&x);
	return v;
}

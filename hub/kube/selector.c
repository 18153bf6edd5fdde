/*
 * Parsing. The label grammar is small enough for a scanner that reads words and marks: a word is
 * everything up to white space or one of ( ) , ! = < >, as upstream's lexer has it.
 */
#include "kube/selector.h"

#include "base/json.h"
#include "base/num.h"
#include "base/vec.h"
#include "kinds/types.h"
#include "kube/kind.h"
#include "kube/names.h"
#include "kube/selector_match.h"

#include <errno.h>
#include <stdarg.h>

void selector_done(struct selector *s)
{
	arena_done(&s->mem);
	*s = SELECTOR_INIT;
}

struct selector_requirement *selector_add(struct selector *s)
{
	if (s->n == SELECTOR_MAX_REQUIREMENTS)
		return NULL;
	if (s->n == s->cap) {
		size_t cap = s->cap ? s->cap * 2 : 4;
		struct selector_requirement *items =
		    arena_array(&s->mem, struct selector_requirement, cap);
		if (s->n)
			memcpy(items, s->items, s->n * sizeof(*items));
		s->items = items;
		s->cap = cap;
	}
	return &s->items[s->n++];
}

/* ---- scanner ---- */

struct scan {
	struct span text;
	size_t at;
	struct span token; /* current one; empty at the end */
	bool word;
	struct err *reterr;
};

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool is_mark(char c)
{
	return c == '(' || c == ')' || c == ',' || c == '!' || c == '=' || c == '<' || c == '>';
}

/* Two-byte marks are == and !=. */
static void advance(struct scan *c)
{
	const char *p = c->text.ptr;
	size_t len = c->text.len, at = c->at;

	while (at < len && is_space(p[at]))
		at++;
	size_t from = at;
	c->word = at < len && !is_mark(p[at]);
	if (c->word)
		while (at < len && !is_space(p[at]) && !is_mark(p[at]))
			at++;
	else if (at < len)
		at += (p[at] == '=' || p[at] == '!') && at + 1 < len && p[at + 1] == '=' ? 2 : 1;
	c->token = span_make(p + from, at - from);
	c->at = at;
}

static int unexpected(struct scan *c, const char *wanted)
{
	return err_set(c->reterr, ERR_BAD_REQUEST, "unable to parse requirement: found '%.*s'%s",
		       (int)(c->token.len < 80 ? c->token.len : 80), c->token.ptr, wanted);
}

/* Between requirements. */
static int unexpected_between(struct scan *c, const char *wanted)
{
	return err_set(c->reterr, ERR_BAD_REQUEST, "found '%.*s', expected: %s",
		       (int)(c->token.len < 80 ? c->token.len : 80), c->token.ptr, wanted);
}

static bool take(struct scan *c, const char *mark)
{
	if (c->word || !span_is(c->token, mark))
		return false;
	advance(c);
	return true;
}

static int check_key(struct scan *c, struct span key)
{
	if (names_is_qualified(key))
		return 0;
	return err_set(c->reterr, ERR_BAD_REQUEST,
		       "unable to parse requirement: <nil>: Invalid value: \"%.*s\": %s",
		       (int)(key.len < 80 ? key.len : 80), key.ptr, names_qualified_rule(key));
}

static int check_value(struct scan *c, struct span key, struct span value)
{
	if (names_is_label_value(value))
		return 0;
	return err_set(c->reterr, ERR_BAD_REQUEST,
		       "unable to parse requirement: values[0][%.*s]: Invalid value: \"%.*s\": %s",
		       SPAN_ARGS(key), (int)(value.len < 80 ? value.len : 80), value.ptr,
		       names_label_value_rule(value));
}

static void set_values(struct selector *s, struct selector_requirement *q,
		       const struct span *values, size_t n)
{
	q->values = n ? arena_array(&s->mem, struct span, n) : NULL;
	for (size_t i = 0; i < n; i++)
		q->values[i] = arena_span(&s->mem, values[i]);
	q->n_values = n;
}

struct values VEC(struct span);

static int parse_values(struct scan *c, struct span key, struct values *values)
{
	for (;;) {
		struct span value = SPAN("");
		if (c->word) {
			value = c->token;
			advance(c);
		}
		int r = check_value(c, key, value);
		if (r < 0)
			return r;
		if (values->len == SELECTOR_MAX_VALUES)
			return err_set(c->reterr, ERR_BAD_REQUEST,
				       "unable to parse requirement: more than %d values",
				       SELECTOR_MAX_VALUES);
		vec_push(values, value);
		if (take(c, ")"))
			return 0;
		if (!take(c, ","))
			return unexpected(c, ", expected: ',' or ')'");
	}
}

/* "(x,y)": also "()", which upstream reads as one empty value. */
static int parse_set(struct scan *c, struct selector *s, struct selector_requirement *q)
{
	struct values values = {0};

	if (!take(c, "("))
		return unexpected(c, " expected: '('");
	int r = parse_values(c, q->key, &values);
	if (r == 0)
		set_values(s, q, values.items, values.len);
	vec_done(&values);
	return r;
}

/* The value of = and its like: may be empty before ',' and at the end. */
static int parse_exact(struct scan *c, struct selector *s, struct selector_requirement *q)
{
	struct span value = SPAN("");

	if (c->word) {
		value = c->token;
		advance(c);
	} else if (c->token.len && !span_is(c->token, ",")) {
		return unexpected(c, ", expected: identifier");
	}
	int r = check_value(c, q->key, value);
	if (r < 0)
		return r;
	set_values(s, q, &value, 1);
	if (q->op != SELECTOR_GT && q->op != SELECTOR_LT)
		return 0;
	if (num_parse_i64(value, INT64_MIN, INT64_MAX, &q->number) < 0)
		return err_set(c->reterr, ERR_BAD_REQUEST,
			       "unable to parse requirement: values[0]: Invalid value: "
			       "\"%.*s\": for 'Gt', 'Lt' operators, the value must be an integer",
			       SPAN_ARGS(value));
	return 0;
}

static int parse_requirement(struct scan *c, struct selector *s, struct selector_requirement *q)
{
	static const struct {
		const char *text;
		enum selector_op op;
	} marks[] = {{"==", SELECTOR_IN},
		     {"=", SELECTOR_IN},
		     {"!=", SELECTOR_NOT_IN},
		     {">", SELECTOR_GT},
		     {"<", SELECTOR_LT}};
	bool negated = take(c, "!");

	if (!c->word)
		return unexpected(c, ", expected: identifier");
	q->key = arena_span(&s->mem, c->token);
	int r = check_key(c, c->token);
	if (r < 0)
		return r;
	advance(c);
	q->op = negated ? SELECTOR_DOES_NOT_EXIST : SELECTOR_EXISTS;
	if (negated || c->token.len == 0 || (!c->word && span_is(c->token, ",")))
		return 0;
	if (c->word && (span_is(c->token, "in") || span_is(c->token, "notin"))) {
		q->op = c->token.len == 2 ? SELECTOR_IN : SELECTOR_NOT_IN;
		advance(c);
		return parse_set(c, s, q);
	}
	for (size_t i = 0; i < ARRAY_LEN(marks); i++) {
		if (take(c, marks[i].text)) {
			q->op = marks[i].op;
			return parse_exact(c, s, q);
		}
	}
	return unexpected(c, ", expected: in, notin, =, ==, !=, gt, lt");
}

static int too_long(struct err *reterr)
{
	return err_set(reterr, ERR_BAD_REQUEST, "the selector has more than %d bytes or %d terms",
		       SELECTOR_MAX_BYTES, SELECTOR_MAX_REQUIREMENTS);
}

int selector_add_labels(struct selector *s, struct span text, struct err *reterr)
{
	struct scan c = {.text = text, .reterr = reterr};

	if (text.len > SELECTOR_MAX_BYTES)
		return too_long(reterr);
	advance(&c);
	while (c.token.len) {
		struct selector_requirement q = {0};
		if (!c.word && !span_is(c.token, "!"))
			return unexpected_between(&c, "!, identifier, or 'end of string'");
		int r = parse_requirement(&c, s, &q);
		if (r < 0)
			return r;
		struct selector_requirement *place = selector_add(s);
		if (!place)
			return too_long(reterr);
		*place = q;
		if (c.token.len == 0)
			return 0;
		if (!take(&c, ","))
			return unexpected_between(&c, "',' or 'end of string'");
		if (!c.word && !span_is(c.token, "!"))
			return unexpected_between(&c, "identifier after ','");
	}
	return 0;
}

/* ---- fields ---- */

/* Up to the next comma that has no backslash before it. */
static struct span next_term(struct span *rest)
{
	size_t i = 0;
	while (i < rest->len && rest->ptr[i] != ',')
		i += rest->ptr[i] == '\\' && i + 1 < rest->len ? 2 : 1;
	struct span term = span_make(rest->ptr, i);
	*rest = i < rest->len ? span_make(rest->ptr + i + 1, rest->len - i - 1) : SPAN_NONE;
	return term;
}

static int unescape(struct selector *s, struct span value, struct span *ret, struct err *reterr)
{
	char *out = arena_alloc(&s->mem, value.len + 1);
	size_t n = 0;

	for (size_t i = 0; i < value.len; i++) {
		char c = value.ptr[i];
		if (c == '\\') {
			i++;
			if (i == value.len || !memchr("\\,=", value.ptr[i], 3))
				return err_set(reterr, ERR_BAD_REQUEST,
					       "invalid field selector: invalid escape sequence: "
					       "\\%.*s",
					       i < value.len, value.ptr + i);
			c = value.ptr[i];
		} else if (c == '=' || c == ',') {
			return err_set(reterr, ERR_BAD_REQUEST,
				       "invalid field selector: unescaped character in value: %d",
				       c);
		}
		out[n++] = c;
	}
	*ret = span_make(out, n);
	return 0;
}

/* Upstream each kind converts the labels of its fields with a function of its own, in words of its
 * own (pkg/apis/<group>/<version>/conversion.go), or with the one that knows name and namespace
 * (apimachinery's DefaultMetaV1FieldSelectorConversion); apiextensions does it for all of its. */
static int refuse_field(const struct kind *k, struct span label, struct err *reterr)
{
	static const uint16_t own_words[] = {TYPE_NAMESPACE, TYPE_SECRET,  TYPE_NODE,
					     TYPE_POD,	     TYPE_SERVICE, TYPE_EVENT};
	auto_buf shown = BUF_MAX(1024);
	bool known = !k->strategic && k->type != TYPE_CUSTOM_RESOURCE_DEFINITION;

	label.len = label.len < 160 ? label.len : 160;
	for (size_t i = 0; i < ARRAY_LEN(own_words); i++)
		known = known || k->type == own_words[i];
	if (known)
		return err_set(reterr, ERR_BAD_REQUEST, "field label not supported: %.*s",
			       SPAN_ARGS(label));
	buf_add_json_str(&shown, label);
	if (k->type == TYPE_JOB)
		return err_set(reterr, ERR_BAD_REQUEST, "field label %s not supported for Job",
			       shown.ptr);
	return err_set(reterr, ERR_BAD_REQUEST,
		       "%s is not a known field selector: only \"metadata.name\", "
		       "\"metadata.namespace\"",
		       shown.ptr);
}

static int parse_term(struct selector *s, const struct kind *kind, struct span all,
		      struct span term, struct selector_requirement *q, struct err *reterr)
{
	const char *eq = memchr(term.ptr, '=', term.len);
	struct span value;

	if (!eq)
		return err_set(reterr, ERR_BAD_REQUEST,
			       "invalid selector: '%.*s'; can't understand '%.*s'",
			       (int)(all.len < 80 ? all.len : 80), all.ptr,
			       (int)(term.len < 80 ? term.len : 80), term.ptr);
	size_t key_len = (size_t)(eq - term.ptr), at = key_len + 1;
	q->op = SELECTOR_IN;
	if (key_len && term.ptr[key_len - 1] == '!') {
		key_len--;
		q->op = SELECTOR_NOT_IN;
	} else if (at < term.len && term.ptr[at] == '=') {
		at++;
	}
	q->key = arena_span(&s->mem, span_make(term.ptr, key_len));
	q->field = selector_field_find(kind, q->key);
	if (!q->field)
		return refuse_field(kind, q->key, reterr);
	int r = unescape(s, span_make(term.ptr + at, term.len - at), &value, reterr);
	if (r == 0)
		set_values(s, q, &value, 1);
	return r;
}

int selector_add_fields(struct selector *s, const struct kind *kind, struct span text,
			struct err *reterr)
{
	struct span rest = text;

	if (text.len > SELECTOR_MAX_BYTES)
		return too_long(reterr);
	while (rest.len) {
		struct span term = next_term(&rest);
		struct selector_requirement q = {0};
		if (term.len == 0)
			continue;
		int r = parse_term(s, kind, text, term, &q, reterr);
		if (r < 0)
			return r;
		struct selector_requirement *place = selector_add(s);
		if (!place)
			return too_long(reterr);
		*place = q;
	}
	return 0;
}

static struct span exact(const struct selector *s, const char *key)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct selector_requirement *q = &s->items[i];
		if (q->field && q->op == SELECTOR_IN && span_is(q->key, key))
			return q->values[0];
	}
	return SPAN_NONE;
}

struct span selector_name(const struct selector *s)
{
	return exact(s, "metadata.name");
}

struct span selector_namespace(const struct selector *s)
{
	return exact(s, "metadata.namespace");
}

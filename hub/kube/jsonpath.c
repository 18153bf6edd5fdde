/*
 * A path is parsed into a short row of steps, so that a malformed one is refused whatever the
 * value; then the steps are walked over the text, depth first.
 */
#include "kube/jsonpath.h"

#include "base/json.h"
#include "base/num.h"

#include <errno.h>

#define MAX_STEPS 24
#define MAX_NAMES 512 /* bytes of all names of a path, unescaped, each with its NUL */

enum step_type { STEP_MEMBER, STEP_ALL, STEP_SLICE, STEP_FILTER };
enum filter_op { FILTER_EXISTS, FILTER_EQUAL, FILTER_DIFFERS };

struct step {
	enum step_type type;
	const char *name;    /* MEMBER */
	int64_t start, stop; /* SLICE: [start, stop), negative counts from the end */
	bool to_end;	     /* SLICE without a stop */
	struct span left;    /* FILTER: path below @ */
	enum filter_op op;
	struct span literal; /* FILTER: without quotes */
	bool literal_is_string;
};

struct path {
	struct step steps[MAX_STEPS];
	size_t n;
	char names[MAX_NAMES];
	size_t n_names;
	bool nested; /* inside a filter, where no other may stand: recursion ends there */
};

struct walk {
	const struct path *path;
	bool (*each)(void *arg, struct span match);
	void *arg;
	bool stopped;
};

static int parse_path(struct span text, struct path *ret);

static struct span trim(struct span s)
{
	while (s.len && s.ptr[0] == ' ')
		s = span_make(s.ptr + 1, s.len - 1);
	while (s.len && s.ptr[s.len - 1] == ' ')
		s.len--;
	return s;
}

static struct step *add_step(struct path *p, enum step_type type)
{
	if (p->n == MAX_STEPS)
		return NULL;
	p->steps[p->n] = (struct step){.type = type};
	return &p->steps[p->n++];
}

/* Copies a name, dropping the backslashes that protect its dots. */
static int add_member(struct path *p, struct span name)
{
	struct step *s = add_step(p, STEP_MEMBER);

	if (!s || name.len == 0 || name.len >= MAX_NAMES - p->n_names)
		return -EINVAL;
	s->name = p->names + p->n_names;
	for (size_t i = 0; i < name.len; i++) {
		if (name.ptr[i] == '\\' && i + 1 < name.len)
			i++;
		p->names[p->n_names++] = name.ptr[i];
	}
	p->names[p->n_names++] = '\0';
	return 0;
}

/* The end of a bracket that opens at text[0]: index of its ']', or 0. Quotes hide brackets. */
static size_t bracket_end(struct span text)
{
	int depth = 0;
	char quote = 0;

	for (size_t i = 0; i < text.len; i++) {
		char c = text.ptr[i];
		if (quote) {
			if (c == '\\')
				i++;
			else if (c == quote)
				quote = 0;
		} else if (c == '\'' || c == '"') {
			quote = c;
		} else if (c == '[') {
			depth++;
		} else if (c == ']' && --depth == 0) {
			return i;
		}
	}
	return 0;
}

static bool unquote(struct span *s)
{
	if (s->len < 2 || (s->ptr[0] != '\'' && s->ptr[0] != '"') ||
	    s->ptr[s->len - 1] != s->ptr[0])
		return false;
	*s = span_make(s->ptr + 1, s->len - 2);
	return true;
}

/* Finds == or != outside quotes; absent means a test of existence. */
static size_t find_operator(struct span s)
{
	char quote = 0;

	for (size_t i = 0; i + 1 < s.len; i++) {
		char c = s.ptr[i];
		if (quote) {
			quote = c == quote ? 0 : quote;
		} else if (c == '\'' || c == '"') {
			quote = c;
		} else if ((c == '=' || c == '!') && s.ptr[i + 1] == '=') {
			return i;
		}
	}
	return s.len;
}

static int add_filter(struct path *p, struct span inside)
{
	struct step *s = add_step(p, STEP_FILTER);
	struct path check = {.nested = true};
	size_t at = find_operator(inside);

	if (!s || p->nested)
		return -EINVAL;
	s->left = trim(span_make(inside.ptr, at));
	if (s->left.len < 2 || s->left.ptr[0] != '@')
		return -EINVAL;
	s->left = span_make(s->left.ptr + 1, s->left.len - 1);
	if (parse_path(s->left, &check) < 0)
		return -EINVAL;
	s->op = FILTER_EXISTS;
	if (at == inside.len)
		return 0;
	s->op = inside.ptr[at] == '=' ? FILTER_EQUAL : FILTER_DIFFERS;
	s->literal = trim(span_make(inside.ptr + at + 2, inside.len - at - 2));
	s->literal_is_string = unquote(&s->literal);
	return s->literal.len || s->literal_is_string ? 0 : -EINVAL;
}

static int parse_index(struct span s, int64_t *ret)
{
	return num_parse_i64(trim(s), INT32_MIN, INT32_MAX, ret);
}

static int add_slice(struct path *p, struct span inside)
{
	struct step *s = add_step(p, STEP_SLICE);
	struct span rest = inside;
	struct span first = span_split(&rest, ':');

	if (!s)
		return -EINVAL;
	if (!rest.ptr) { /* one index; -1 is [-1:] */
		if (parse_index(first, &s->start) < 0)
			return -EINVAL;
		s->stop = s->start + 1;
		s->to_end = s->start == -1;
		return 0;
	}
	if (trim(first).len && parse_index(first, &s->start) < 0)
		return -EINVAL;
	s->to_end = trim(rest).len == 0;
	return s->to_end ? 0 : parse_index(rest, &s->stop);
}

static int parse_bracket(struct path *p, struct span inside)
{
	inside = trim(inside);
	if (span_is(inside, "*"))
		return add_step(p, STEP_ALL) ? 0 : -EINVAL;
	if (unquote(&inside))
		return add_member(p, inside);
	if (inside.len > 3 && inside.ptr[0] == '?' && inside.ptr[1] == '(' &&
	    inside.ptr[inside.len - 1] == ')')
		return add_filter(p, span_make(inside.ptr + 2, inside.len - 3));
	return add_slice(p, inside);
}

/* A name up to the next '.' or '['. */
static size_t name_end(struct span text)
{
	size_t i = 0;
	while (i < text.len && text.ptr[i] != '.' && text.ptr[i] != '[')
		i += text.ptr[i] == '\\' && i + 1 < text.len ? 2 : 1;
	return i;
}

static int parse_path(struct span text, struct path *p)
{
	while (text.len) {
		size_t used;
		int r;
		if (text.ptr[0] == '[') {
			size_t end = bracket_end(text);
			if (!end)
				return -EINVAL;
			r = parse_bracket(p, span_make(text.ptr + 1, end - 1));
			used = end + 1;
		} else {
			size_t dot = text.ptr[0] == '.';
			struct span rest = span_make(text.ptr + dot, text.len - dot);
			if (dot && rest.len && rest.ptr[0] == '[') {
				text = rest;
				continue;
			}
			size_t n = name_end(rest);
			r = n == 1 && rest.ptr[0] == '*' ? (add_step(p, STEP_ALL) ? 0 : -EINVAL)
							 : add_member(p, span_make(rest.ptr, n));
			used = dot + n;
		}
		if (r < 0)
			return r;
		text = span_make(text.ptr + used, text.len - used);
	}
	return 0;
}

static void walk(struct walk *w, size_t at, struct span value);

static bool first_match(void *arg, struct span match)
{
	*(struct span *)arg = match;
	return false;
}

static bool literal_equals(const struct step *s, struct span value)
{
	auto_buf text = BUF_INIT;

	if (json_text_type(value) != JSON_STRING)
		return !s->literal_is_string && span_eq(value, s->literal);
	if (!s->literal_is_string)
		return false;
	struct span plain = json_text_plain(value);
	if (plain.ptr)
		return span_eq(plain, s->literal);
	return json_text_string(value, &text) == 0 && span_eq(buf_span(&text), s->literal);
}

static bool filter_holds(const struct step *s, struct span value)
{
	struct path below = {.nested = true};
	struct span found = SPAN_NONE;

	if (parse_path(s->left, &below) < 0)
		return false;
	struct walk w = {&below, first_match, &found, false};
	walk(&w, 0, value);
	if (!found.ptr)
		return false;
	return s->op == FILTER_EXISTS || literal_equals(s, found) == (s->op == FILTER_EQUAL);
}

static void walk_slice(struct walk *w, size_t at, struct span array)
{
	const struct step *s = &w->path->steps[at];
	int64_t start = s->start, stop = s->stop, n = 0;
	size_t pos = 0;
	struct span item;

	while (json_text_next(array, &pos, NULL, &item))
		n++;
	start += start < 0 ? n : 0;
	stop = s->to_end ? n : stop + (stop < 0 ? n : 0);
	pos = 0;
	for (int64_t i = 0; i < stop && !w->stopped && json_text_next(array, &pos, NULL, &item);
	     i++)
		if (i >= start)
			walk(w, at + 1, item);
}

static void walk_children(struct walk *w, size_t at, struct span container)
{
	const struct step *s = &w->path->steps[at];
	size_t pos = 0;
	struct span key, item;

	while (!w->stopped && json_text_next(container, &pos, &key, &item))
		if (s->type == STEP_ALL || filter_holds(s, item))
			walk(w, at + 1, item);
}

static void walk(struct walk *w, size_t at, struct span value)
{
	enum json_type type = json_text_type(value);
	struct span member;

	if (w->stopped)
		return;
	if (at == w->path->n) {
		w->stopped = !w->each(w->arg, value);
		return;
	}
	switch (w->path->steps[at].type) {
	case STEP_MEMBER:
		if (type == JSON_OBJECT &&
		    json_text_member(value, w->path->steps[at].name, &member) == 0)
			walk(w, at + 1, member);
		break;
	case STEP_SLICE:
		if (type == JSON_ARRAY)
			walk_slice(w, at, value);
		break;
	case STEP_ALL:
	case STEP_FILTER:
		if (type == JSON_ARRAY || type == JSON_OBJECT)
			walk_children(w, at, value);
		break;
	}
}

int jsonpath_each(const char *path, struct span value, bool (*each)(void *arg, struct span match),
		  void *arg)
{
	struct path p = {.n = 0};
	struct span text = trim(span_of(path));

	if (text.len >= 2 && text.ptr[0] == '{' && text.ptr[text.len - 1] == '}')
		text = span_make(text.ptr + 1, text.len - 2);
	if (text.len && text.ptr[0] == '$')
		text = span_make(text.ptr + 1, text.len - 1);
	if (parse_path(text, &p) < 0)
		return -EINVAL;
	struct walk w = {&p, each, arg, false};
	walk(&w, 0, value);
	return 0;
}

int jsonpath_first(const char *path, struct span value, struct span *ret)
{
	struct span found = SPAN_NONE;
	int r = jsonpath_each(path, value, first_match, &found);

	if (r < 0)
		return r;
	if (!found.ptr)
		return -ENOENT;
	*ret = found;
	return 0;
}

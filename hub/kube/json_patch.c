/*
 * RFC 6902: patch_json_run() of kube/patch_priv.h. The caller gives a copy of the object, so an
 * operation that fails may leave it half done.
 */
#include "base/arena.h"
#include "base/num.h"
#include "kube/patch_priv.h"

#include <errno.h>

struct pointer {
	struct span tokens[JSON_MAX_DEPTH + 1]; /* NUL-terminated */
	size_t n;
	const char *text;
};

struct run {
	struct cJSON **root;
	struct patch_budget *budget;
	struct arena *mem;
	struct err *reterr;
	const char *op;
	size_t index;
	struct pointer path, from;
	const struct cJSON *value;
};

static int refuse(struct run *r, enum err_kind kind, const char *path, const char *what)
{
	return err_set(r->reterr, kind, "operation %zu of the JSON patch (%s %.200s): %s", r->index,
		       r->op ? r->op : "?", path ? path : "", what);
}

static int missing(struct run *r, const struct pointer *p)
{
	return refuse(r, ERR_INVALID, p->text, "the path does not exist");
}

/* ---- RFC 6901 ---- */

/* ~1 is '/', ~0 is '~', any other escape is malformed. */
static int unescape(struct run *r, struct span token, struct span *ret)
{
	char *out = arena_alloc(r->mem, token.len + 1);
	size_t n = 0;

	for (size_t i = 0; i < token.len; i++) {
		char c = token.ptr[i];
		if (c == '~') {
			char next = i + 1 < token.len ? token.ptr[++i] : 0;
			if (next != '0' && next != '1')
				return -EINVAL;
			c = next == '0' ? '~' : '/';
		}
		out[n++] = c;
	}
	*ret = span_make(out, n);
	return 0;
}

static int parse_pointer(struct run *r, const char *text, struct pointer *p)
{
	struct span rest = span_of(text);

	*p = (struct pointer){.text = text};
	if (rest.len == 0)
		return 0;
	if (text[0] != '/')
		return refuse(r, ERR_BAD_REQUEST, text, "a path starts with '/'");
	rest = span_make(rest.ptr + 1, rest.len - 1);
	do {
		struct span token = span_split(&rest, '/');
		if (p->n == ARRAY_LEN(p->tokens))
			return refuse(r, ERR_INVALID, text, "the path is too deep");
		if (unescape(r, token, &p->tokens[p->n++]) < 0)
			return refuse(r, ERR_BAD_REQUEST, text, "'~' stands only before 0 or 1");
	} while (rest.ptr);
	return 0;
}

/* No sign, no leading zero. */
static int parse_index(struct span token, size_t *ret)
{
	uint64_t v;
	if (token.len > 1 && token.ptr[0] == '0')
		return -EINVAL;
	if (num_parse_u64(token, UINT32_MAX, &v) < 0)
		return -EINVAL;
	*ret = (size_t)v;
	return 0;
}

static struct cJSON *element(struct run *r, const struct cJSON *array, size_t index)
{
	struct cJSON *e = json_first(array);
	size_t i = 0;

	for (; e && i < index; i++)
		e = json_next(e);
	patch_step(r->budget, (int64_t)i + 1);
	return e;
}

static struct cJSON *child(struct run *r, const struct cJSON *container, struct span token)
{
	size_t index;

	if (json_is(container, JSON_OBJECT))
		return patch_find(r->budget, container, token.ptr);
	if (!json_is(container, JSON_ARRAY) || parse_index(token, &index) < 0)
		return NULL;
	return element(r, container, index);
}

/* The value that the first n tokens lead to, or NULL. */
static struct cJSON *walk(struct run *r, const struct pointer *p, size_t n)
{
	struct cJSON *at = *r->root;
	for (size_t i = 0; i < n && at; i++)
		at = child(r, at, p->tokens[i]);
	return at;
}

/* ---- limits ---- */

struct extent_of {
	int64_t nodes, bytes, pairs;
	size_t depth;
};

/* Recursion is as deep as the value, which the parser and check_depth() bound. */
static void measure(const struct cJSON *v, size_t depth, struct extent_of *e)
{
	int64_t members = 0;

	e->nodes++;
	if (depth > e->depth)
		e->depth = depth;
	if (json_value_str(v))
		e->bytes += (int64_t)strlen(json_value_str(v));
	e->bytes += 16 + (json_key(v) ? (int64_t)strlen(json_key(v)) : 0);
	json_foreach (v, c) {
		members++;
		measure(c, depth + 1, e);
	}
	if (json_is(v, JSON_OBJECT))
		e->pairs += members * members;
}

static int check_depth(struct run *r, const struct pointer *p, const struct cJSON *value)
{
	struct extent_of e = {0};

	measure(value, 1, &e);
	patch_step(r->budget, e.nodes);
	if (p->n + e.depth > JSON_MAX_DEPTH)
		return refuse(r, ERR_INVALID, p->text, "the object would be nested too deeply");
	return 0;
}

/* ---- operations ---- */

static int insert(struct run *r, const struct pointer *p, struct cJSON *parent,
		  struct cJSON *take_value)
{
	struct span last = p->tokens[p->n - 1];
	size_t index = 0, len = 0;

	if (json_is(parent, JSON_OBJECT)) {
		struct cJSON *old = patch_find(r->budget, parent, last.ptr);
		if (old)
			json_replace(parent, old, take_value);
		else
			json_set(parent, last.ptr, take_value);
		return 0;
	}
	if (span_is(last, "-")) {
		json_append(parent, take_value);
		return 0;
	}
	len = json_len(parent);
	patch_step(r->budget, (int64_t)len);
	if (parse_index(last, &index) < 0 || index > len) {
		json_free(take_value);
		return refuse(r, ERR_INVALID, p->text, "not an index of the array");
	}
	json_insert(parent, index, take_value);
	return 0;
}

static int add_value(struct run *r, const struct pointer *p, struct cJSON *take_value)
{
	int error = check_depth(r, p, take_value);
	if (error < 0) {
		json_free(take_value);
		return error;
	}
	if (p->n == 0) {
		json_free(*r->root);
		*r->root = take_value;
		return 0;
	}
	struct cJSON *parent = walk(r, p, p->n - 1);
	if (!json_is(parent, JSON_OBJECT) && !json_is(parent, JSON_ARRAY)) {
		json_free(take_value);
		return missing(r, p);
	}
	return insert(r, p, parent, take_value);
}

static int op_add(struct run *r)
{
	return add_value(r, &r->path, json_dup(r->value));
}

/* The value out of its place, or NULL when it is not there or is the root. */
static struct cJSON *detach(struct run *r, const struct pointer *p)
{
	struct cJSON *parent = p->n ? walk(r, p, p->n - 1) : NULL;
	struct cJSON *value = parent ? child(r, parent, p->tokens[p->n - 1]) : NULL;
	return value ? json_take_child(parent, value) : NULL;
}

static int op_remove(struct run *r)
{
	struct cJSON *value = detach(r, &r->path);

	if (!value)
		return missing(r, &r->path);
	json_free(value);
	return 0;
}

/* RFC 6902 wants the target to be there; API servers replace an absent member all the same, and
 * users' patches count on it. */
static int op_replace(struct run *r)
{
	const struct pointer *p = &r->path;
	struct cJSON *parent = p->n ? walk(r, p, p->n - 1) : NULL;
	struct cJSON *old = parent ? child(r, parent, p->tokens[p->n - 1]) : NULL;

	if (p->n == 0 || (!old && json_is(parent, JSON_OBJECT)))
		return op_add(r);
	if (!old)
		return missing(r, p);
	int error = check_depth(r, p, r->value);
	if (error < 0)
		return error;
	json_replace(parent, old, json_dup(r->value));
	return 0;
}

static bool is_inside(const struct pointer *outer, const struct pointer *inner)
{
	if (inner->n <= outer->n)
		return false;
	for (size_t i = 0; i < outer->n; i++)
		if (!span_eq(outer->tokens[i], inner->tokens[i]))
			return false;
	return true;
}

static int op_move(struct run *r)
{
	if (is_inside(&r->from, &r->path))
		return refuse(r, ERR_INVALID, r->path.text, "a value cannot move into itself");
	if (strcmp(r->from.text, r->path.text) == 0)
		return walk(r, &r->from, r->from.n) ? 0 : missing(r, &r->from);
	struct cJSON *value = detach(r, &r->from);
	if (!value)
		return missing(r, &r->from);
	return add_value(r, &r->path, value);
}

static int op_copy(struct run *r)
{
	const struct cJSON *value = walk(r, &r->from, r->from.n);
	struct extent_of e = {0};

	if (!value)
		return missing(r, &r->from);
	measure(value, 1, &e);
	patch_step(r->budget, e.nodes);
	r->budget->copied -= e.bytes;
	if (patch_spent(r->budget))
		return err_errno(ERR_TOO_LARGE);
	return add_value(r, &r->path, json_dup(value));
}

static int op_test(struct run *r)
{
	const struct pointer *p = &r->path;
	const struct cJSON *value = walk(r, p, p->n);
	struct extent_of e = {0};

	/* As API servers have it: what is not there is null. */
	if (!value && json_is(r->value, JSON_NULL) && p->n &&
	    json_is(walk(r, p, p->n - 1), JSON_OBJECT))
		return 0;
	if (!value)
		return missing(r, &r->path);
	/* Objects are compared by looking every member up. */
	measure(r->value, 1, &e);
	patch_step(r->budget, e.nodes + e.pairs);
	if (patch_spent(r->budget))
		return err_errno(ERR_TOO_LARGE);
	if (!json_equal(value, r->value))
		return refuse(r, ERR_INVALID, r->path.text, "the test failed: the value differs");
	return 0;
}

static const struct {
	const char *name;
	int (*run)(struct run *r);
	bool value, from;
} operations[] = {
    {"add", op_add, true, false},	  {"remove", op_remove, false, false},
    {"replace", op_replace, true, false}, {"move", op_move, false, true},
    {"copy", op_copy, false, true},	  {"test", op_test, true, false},
};

static int run_one(struct run *r, const struct cJSON *o)
{
	const char *path = json_str(o, "path"), *from = json_str(o, "from");

	r->op = json_str(o, "op");
	r->value = json_get(o, "value");
	if (!r->op || !path)
		return refuse(r, ERR_BAD_REQUEST, path, "an operation needs op and path");
	for (size_t i = 0; i < ARRAY_LEN(operations); i++) {
		if (strcmp(operations[i].name, r->op) != 0)
			continue;
		if (operations[i].value && !r->value)
			return refuse(r, ERR_BAD_REQUEST, path, "a value is missing");
		if (operations[i].from && !from)
			return refuse(r, ERR_BAD_REQUEST, path, "from is missing");
		int error = parse_pointer(r, path, &r->path);
		if (error == 0 && operations[i].from)
			error = parse_pointer(r, from, &r->from);
		return error < 0 ? error : operations[i].run(r);
	}
	return refuse(r, ERR_BAD_REQUEST, path, "unknown operation");
}

int patch_json_run(struct cJSON **root, const struct cJSON *patch, struct patch_budget *b,
		   struct err *reterr)
{
	auto_arena mem = ARENA_INIT;
	struct run r = {.root = root, .budget = b, .mem = &mem, .reterr = reterr};

	if (!json_is(patch, JSON_ARRAY))
		return err_set(reterr, ERR_BAD_REQUEST, "a JSON patch is an array of operations");
	size_t n = json_len(patch);
	if (n > PATCH_MAX_OPS)
		return err_set(reterr, ERR_TOO_LARGE,
			       "The allowed maximum operations in a JSON patch is %d, got %zu",
			       PATCH_MAX_OPS, n);
	json_foreach (patch, o) {
		int error = run_one(&r, o);
		if (error < 0)
			return error;
		if (patch_spent(b))
			return err_errno(ERR_TOO_LARGE);
		arena_reset(&mem);
		r.index++;
	}
	return 0;
}

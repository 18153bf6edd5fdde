/*
 * Whether a configuration may be applied. The words are those of structured-merge-diff's
 * validation, which kubectl shows to its users.
 */
#include "kube/typed.h"

#include "base/buf.h"
#include "kube/typed_priv.h"

#define MAX_SHOWN 5

struct check {
	struct arena *mem;
	struct buf path;
	struct buf words; /* lines */
	int n;
};

static void complain(struct check *c, const char *what, const char *detail)
{
	if (c->n++ >= MAX_SHOWN)
		return;
	buf_addf(&c->words, "%s%.*s: %s%s", c->words.len ? "\n  " : "",
		 SPAN_ARGS(buf_span(&c->path)), what, detail);
}

static void check(struct check *c, const struct schema *s, const struct cJSON *value);

static void check_map(struct check *c, const struct schema *s, const struct cJSON *map)
{
	size_t len = c->path.len;

	json_foreach (map, m) {
		struct field_key key = {FIELD_NAME, span_of(json_key(m))};
		bool named;
		const struct schema *below = typed_step(s, key, &named);
		field_key_print(key, &c->path);
		if (s && s->type == SCHEMA_OBJECT && s->n_fields && !named &&
		    !(s->flags & SCHEMA_KEEP_UNKNOWN))
			complain(c, "field not declared in schema", "");
		else
			check(c, below, m);
		c->path.len = len;
	}
}

/* Why an item has no key. */
static void explain(struct check *c, const struct schema *s, const struct typed_item *it)
{
	char head[32];
	auto_buf words = BUF_INIT;

	(void)snprintf(head, sizeof(head), "element %u: ", it->at);
	if (s->list_type == SCHEMA_LIST_SET)
		buf_addf(&words, "associative list without keys has an element that's %s",
			 json_is(it->value, JSON_NULL) ? "an explicit null" : "not a scalar");
	else if (!json_is(it->value, JSON_OBJECT))
		buf_addf(&words, "associative list with keys may not have %s",
			 json_is(it->value, JSON_NULL) ? "a null element" : "non-map elements");
	for (size_t i = 0; s->list_keys && s->list_keys[i] && !words.len; i++)
		if (!json_get(it->value, s->list_keys[i]))
			buf_addf(&words,
				 "associative list with keys has an element that omits key field "
				 "\"%s\" (and doesn't have default value)",
				 s->list_keys[i]);
	complain(c, head, words.len ? words.ptr : "a key field is not a scalar");
}

static void check_items(struct check *c, const struct schema *s, const struct cJSON *list)
{
	struct typed_items t = typed_items_of(c->mem, s, TYPED_LIST, list);
	size_t len = c->path.len;

	for (uint32_t i = 0; i < t.n; i++) {
		auto_buf key = BUF_INIT;
		if (t.items[i].keyless) {
			explain(c, s, &t.items[i]);
			continue;
		}
		field_key_print(t.items[i].key, &key);
		if (i && field_key_cmp(t.items[i - 1].key, t.items[i].key) == 0)
			complain(c, "duplicate entries for key ", key.ptr);
		buf_add_span(&c->path, buf_span(&key));
		check(c, s->items, t.items[i].value);
		c->path.len = len;
	}
}

static void check_array(struct check *c, const struct schema *s, const struct cJSON *list)
{
	size_t len = c->path.len, n = 0;

	if (s->list_type != SCHEMA_LIST_ATOMIC) {
		check_items(c, s, list);
		return;
	}
	json_foreach (list, v) {
		buf_addf(&c->path, "[%zu]", n++);
		check(c, s->items, v);
		c->path.len = len;
	}
}

static void check(struct check *c, const struct schema *s, const struct cJSON *value)
{
	enum json_type type = json_type_of(value);
	const char *got = json_type_name(type);

	if (!s || s->type == SCHEMA_ANY || type == JSON_NULL)
		return;
	switch ((enum schema_type)s->type) {
	case SCHEMA_OBJECT:
	case SCHEMA_MAP:
		if (type != JSON_OBJECT)
			complain(c, "expected map, got ", got);
		else
			check_map(c, s, value);
		break;
	case SCHEMA_ARRAY:
		if (type != JSON_ARRAY)
			complain(c, "expected list, got ", got);
		else
			check_array(c, s, value);
		break;
	case SCHEMA_STRING:
		if (type != JSON_STRING)
			complain(c, "expected string, got ", got);
		break;
	case SCHEMA_INTEGER:
	case SCHEMA_NUMBER:
		if (type != JSON_NUMBER)
			complain(c, "expected numeric (int or float), got ", got);
		break;
	case SCHEMA_BOOLEAN:
		if (type != JSON_BOOL)
			complain(c, "expected boolean, got ", got);
		break;
	default:
		if (type == JSON_OBJECT || type == JSON_ARRAY)
			complain(c, "expected any scalar, got ", got);
		break;
	}
}

int typed_check(struct arena *mem, const struct schema *s, const struct cJSON *config,
		struct err *reterr)
{
	struct check c = {.mem = mem};
	int r = 0;

	check(&c, s, config);
	if (c.n == 1)
		r = err_set(reterr, ERR_BAD_REQUEST, "%s", c.words.ptr);
	else if (c.n)
		r = err_set(reterr, ERR_BAD_REQUEST, "errors:\n  %s%s", c.words.ptr,
			    c.n > MAX_SHOWN ? "\n  ..." : "");
	buf_done(&c.path);
	buf_done(&c.words);
	return r;
}

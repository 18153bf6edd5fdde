/*
 * The one entry of a plain create, printed straight from the tree: what typed_compare() against
 * nothing would find, without building sets. Members come sorted, items in the list's order.
 *
 * A test holds it against managed_update() on every kind's examples.
 */
#include "kube/managed_priv.h"
#include "kube/typed_priv.h"

/* More than these are left to the general way: they would have to be sorted in memory. */
#define MAX_MEMBERS 64
#define MAX_ITEMS   32

struct creation {
	struct buf *out;
	struct arena *mem;
	bool too_much;
};

static void print(struct creation *c, const struct schema *s, const struct cJSON *v, int depth);

/* Inside an object: what stands before the next member. */
static void add_comma(struct buf *out)
{
	if (out->ptr[out->len - 1] != '{')
		buf_add_char(out, ',');
}

static bool is_plain(const char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < 0x20 || *s == '"' || *s == '\\')
			return false;
	return true;
}

/* "f:NAME": */
static void add_name(struct buf *out, const char *name)
{
	size_t len = strlen(name);
	char *at;

	add_comma(out);
	if (!is_plain(name)) {
		auto_buf text = BUF_INIT;
		buf_addf(&text, "f:%s", name);
		buf_add_json_str(out, buf_span(&text));
		buf_add_char(out, ':');
		return;
	}
	at = buf_reserve(out, len + 5);
	if (!at)
		return;
	memcpy(at, "\"f:", 3);
	memcpy(at + 3, name, len);
	memcpy(at + 3 + len, "\":", 2);
	buf_advance(out, len + 5);
}

/* The members of a map, sorted; false when there are too many. */
static bool sorted_members(const struct cJSON *map, const struct cJSON **list, size_t *ret_n)
{
	size_t n = 0;

	json_foreach (map, m) {
		size_t at = n++;
		if (at == MAX_MEMBERS)
			return false;
		for (; at && strcmp(json_key(list[at - 1]), json_key(m)) > 0; at--)
			list[at] = list[at - 1];
		list[at] = m;
	}
	*ret_n = n;
	return true;
}

static bool is_one_of(const char *name, const char *const *list)
{
	for (; list && *list; list++)
		if (strcmp(name, *list) == 0)
			return true;
	return false;
}

/* The members that are not in `skip`. */
static void print_members(struct creation *c, const struct schema *s, const struct cJSON *map,
			  const char *const *skip, int depth)
{
	const struct cJSON *list[MAX_MEMBERS];
	size_t n = 0;

	if (!sorted_members(map, list, &n)) {
		c->too_much = true;
		return;
	}
	for (size_t i = 0; i < n; i++) {
		const char *name = json_key(list[i]);
		bool named;
		if (is_one_of(name, skip))
			continue;
		add_name(c->out, name);
		print(c, typed_step(s, (struct field_key){FIELD_NAME, span_of(name)}, &named),
		      list[i], depth + 1);
	}
}

/* The text that alone tells the item from others, where it is one plain string; else NULL. */
static const char *simple_key(const struct schema *s, const struct cJSON *item)
{
	const char *text = NULL;

	if (s->list_type == SCHEMA_LIST_SET)
		text = json_value_str(item);
	else if (s->list_keys && s->list_keys[0] && !s->list_keys[1])
		text = json_str(item, s->list_keys[0]);
	return text && is_plain(text) ? text : NULL;
}

static void add_simple_key(struct buf *out, const struct schema *s, const char *key)
{
	add_comma(out);
	if (s->list_type == SCHEMA_LIST_SET) {
		buf_add_str(out, "\"v:\\\"");
		buf_add_str(out, key);
		buf_add_str(out, "\\\"\":");
	} else {
		buf_add_str(out, "\"k:{\\\"");
		buf_add_str(out, s->list_keys[0]);
		buf_add_str(out, "\\\":\\\"");
		buf_add_str(out, key);
		buf_add_str(out, "\\\"}\":");
	}
}

/* Items that are known by one string each: names of containers, variables, volumes. False, and
 * nothing printed, for any other list. */
static bool print_simple_items(struct creation *c, const struct schema *s, const struct cJSON *list,
			       int depth)
{
	const char *keys[MAX_ITEMS];
	size_t n = 0;

	json_foreach (list, item) {
		const char *key = n < MAX_ITEMS ? simple_key(s, item) : NULL;
		if (!key)
			return false;
		for (size_t i = 0; i < n; i++)
			if (strcmp(keys[i], key) == 0)
				return false;
		keys[n++] = key;
	}
	n = 0;
	json_foreach (list, item) {
		add_simple_key(c->out, s, keys[n++]);
		print(c, s->items, item, depth + 1);
	}
	return true;
}

/* Items by their keys; one that stands there twice is one leaf, which the general way sorts out. */
static void print_items(struct creation *c, const struct schema *s, const struct cJSON *list,
			int depth)
{
	struct typed_items t = typed_items_of(c->mem, s, TYPED_LIST, list);

	if (t.n > MAX_ITEMS) {
		c->too_much = true;
		return;
	}
	for (uint32_t i = 0; i < t.n; i++) {
		const struct typed_item *it = &t.items[i];
		if (it->keyless)
			continue;
		if (i && field_key_cmp(t.items[i - 1].key, it->key) == 0) {
			c->too_much = true;
			return;
		}
		add_comma(c->out);
		field_key_print_v1(it->key, c->out);
		buf_add_char(c->out, ':');
		print(c, it->schema, it->value, depth + 1);
	}
}

static void print(struct creation *c, const struct schema *s, const struct cJSON *v, int depth)
{
	enum typed_shape shape = typed_shape_of(s, v);
	bool map = shape == TYPED_MAP && json_is(v, JSON_OBJECT) && json_first(v);
	bool list = shape == TYPED_LIST && json_is(v, JSON_ARRAY) && json_first(v);

	if ((!map && !list) || depth >= FIELD_SET_MAX_DEPTH) {
		buf_add_str(c->out, "{}");
		return;
	}
	buf_add_str(c->out, "{\".\":{}");
	if (map)
		print_members(c, s, v, NULL, depth);
	else if (!print_simple_items(c, s, v, depth))
		print_items(c, s, v, depth);
	buf_add_char(c->out, '}');
}

static void print_metadata(struct creation *c, const struct schema *s, const struct cJSON *metadata)
{
	static const char *const identity[] = {
	    "clusterName", "creationTimestamp", "generation", "managedFields", "name",
	    "namespace",   "resourceVersion",	"selfLink",   "uid",	       NULL};
	size_t before = c->out->len, empty;

	add_name(c->out, "metadata");
	buf_add_char(c->out, '{');
	empty = c->out->len;
	print_members(c, s, metadata, identity, 1);
	if (c->out->len == empty)
		c->out->len = before;
	else
		buf_add_char(c->out, '}');
}

static void print_object(struct creation *c, const struct kind *k, const struct cJSON *object)
{
	const struct cJSON *list[MAX_MEMBERS];
	size_t n = 0;

	if (!sorted_members(object, list, &n))
		c->too_much = true;
	buf_add_char(c->out, '{');
	for (size_t i = 0; i < n; i++) {
		const char *name = json_key(list[i]);
		bool named;
		const struct schema *below =
		    typed_step(k->schema, (struct field_key){FIELD_NAME, span_of(name)}, &named);
		if (strcmp(name, "apiVersion") == 0 || strcmp(name, "kind") == 0 ||
		    (k->has_status && strcmp(name, "status") == 0))
			continue;
		if (strcmp(name, "metadata") == 0) {
			print_metadata(c, below, list[i]);
			continue;
		}
		add_name(c->out, name);
		print(c, below, list[i], 1);
	}
	buf_add_char(c->out, '}');
}

bool managed_print_creation(const struct managed_write *w, const struct cJSON *object,
			    struct buf *out)
{
	auto_arena mem = ARENA_INIT;
	struct creation c = {.out = out, .mem = &mem};
	char version[KIND_API_VERSION_MAX], time[CLOCK_TEXT_MAX];
	size_t fields;

	buf_add_str(out, "[{\"manager\":");
	buf_add_json_str(out, span_of(w->manager[0] ? w->manager : "unknown"));
	buf_addf(out,
		 ",\"operation\":\"Update\",\"apiVersion\":\"%s\",\"time\":\"%s\","
		 "\"fieldsType\":\"FieldsV1\",\"fieldsV1\":",
		 kind_api_version(w->kind, version), clock_format(w->now, time));
	fields = out->len;
	print_object(&c, w->kind, object);
	if (out->len == fields + 2)
		c.too_much = true; /* nothing: no entry */
	buf_add_str(out, "}]");
	return !c.too_much && buf_ok(out);
}

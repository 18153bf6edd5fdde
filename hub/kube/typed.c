/*
 * Shapes and items, and the walks that only read: fields and differences.
 */
#include "kube/typed.h"

#include "base/buf.h"
#include "kube/typed_priv.h"

/* ---- shapes ---- */

bool typed_is_atomic(const struct schema *s)
{
	if (!s)
		return false;
	if (s->type == SCHEMA_OBJECT || s->type == SCHEMA_MAP)
		return s->flags & SCHEMA_ATOMIC_MAP;
	return s->type == SCHEMA_ARRAY && s->list_type == SCHEMA_LIST_ATOMIC;
}

enum typed_shape typed_shape_of(const struct schema *s, const struct cJSON *value)
{
	if (!s || s->type == SCHEMA_ANY)
		return json_is(value, JSON_OBJECT) || json_is(value, JSON_NULL) ? TYPED_MAP
										: TYPED_LEAF;
	if (typed_is_atomic(s))
		return TYPED_LEAF;
	switch ((enum schema_type)s->type) {
	case SCHEMA_OBJECT:
	case SCHEMA_MAP:
		return TYPED_MAP;
	case SCHEMA_ARRAY:
		return TYPED_LIST;
	default:
		return TYPED_LEAF;
	}
}

const struct schema *typed_step(const struct schema *s, struct field_key key, bool *ret_named)
{
	const struct schema_field *f;

	*ret_named = false;
	if (!s)
		return NULL;
	if (key.step == FIELD_NAME && s->type == SCHEMA_OBJECT) {
		f = s->n_fields ? schema_field_find(s, key.text.ptr) : NULL;
		*ret_named = f;
		return f ? f->schema : NULL;
	}
	if ((key.step == FIELD_NAME && s->type == SCHEMA_MAP) ||
	    (key.step != FIELD_NAME && s->type == SCHEMA_ARRAY))
		return s->items;
	return NULL;
}

/* ---- items ---- */

static int compare_items(const void *a, const void *b)
{
	const struct typed_item *x = a, *y = b;
	int c = field_key_cmp(x->key, y->key);
	return c ? c : (x->at > y->at) - (x->at < y->at);
}

static void sort_items(struct typed_items *t)
{
	for (uint32_t i = 1; i < t->n; i++)
		if (compare_items(&t->items[i - 1], &t->items[i]) > 0) {
			qsort(t->items, t->n, sizeof(*t->items), compare_items);
			return;
		}
}

uint32_t typed_run(const struct typed_items *t, uint32_t from)
{
	uint32_t n = 1;
	while (from + n < t->n && field_key_cmp(t->items[from].key, t->items[from + n].key) == 0)
		n++;
	return n;
}

static bool is_scalar(const struct cJSON *v)
{
	return json_is(v, JSON_STRING) || json_is(v, JSON_NUMBER) || json_is(v, JSON_BOOL);
}

/* One key field as it stands in the item, or its default. */
static bool add_key(const struct schema *items, const struct cJSON *value, const char *name,
		    struct buf *out)
{
	const struct cJSON *v = json_get(value, name);
	const struct schema_field *f = NULL;

	if (out->len > 1)
		buf_add_char(out, ',');
	buf_add_json_str(out, span_of(name));
	buf_add_char(out, ':');
	if (v) {
		field_scalar_print(v, out);
		return is_scalar(v);
	}
	if (items && items->type == SCHEMA_OBJECT)
		f = schema_field_find(items, name);
	if (!f || !f->default_json)
		return false;
	buf_add_str(out, f->default_json);
	return true;
}

/* list_keys stand in the order of the schema; a key's text has them sorted. There are few. */
static const char *next_name(const char *const *keys, const char *after)
{
	const char *best = NULL;
	for (; *keys; keys++)
		if ((!after || strcmp(*keys, after) > 0) && (!best || strcmp(*keys, best) < 0))
			best = *keys;
	return best;
}

static bool print_key(const struct schema *s, const struct cJSON *value, struct buf *out)
{
	if (s->list_type == SCHEMA_LIST_SET) {
		field_scalar_print(value, out);
		return is_scalar(value);
	}
	if (!json_is(value, JSON_OBJECT) || !s->list_keys)
		return false;
	buf_add_char(out, '{');
	for (const char *k = next_name(s->list_keys, NULL); k; k = next_name(s->list_keys, k))
		if (!add_key(s->items, value, k, out))
			return false;
	buf_add_char(out, '}');
	return true;
}

static void fill_list(struct arena *mem, const struct schema *s, const struct cJSON *list,
		      struct typed_items *t)
{
	auto_buf text = BUF_INIT;

	json_foreach (list, v) {
		struct typed_item *it = &t->items[t->n];
		buf_clear(&text);
		it->keyless = !print_key(s, v, &text) || !buf_ok(&text);
		it->key.step = s->list_type == SCHEMA_LIST_SET ? FIELD_VALUE : FIELD_KEY;
		if (it->keyless) {
			buf_clear(&text);
			buf_add_u64(&text, t->n);
			it->key.step = FIELD_INDEX;
		}
		it->key.text = arena_span(mem, buf_span(&text));
		it->value = v;
		it->schema = s->items;
		it->at = t->n++;
	}
}

struct typed_items typed_items_of(struct arena *mem, const struct schema *s, enum typed_shape shape,
				  const struct cJSON *value)
{
	struct typed_items t = {0};
	size_t n = 0;

	if (shape == TYPED_LEAF || !json_is(value, shape == TYPED_MAP ? JSON_OBJECT : JSON_ARRAY))
		return t;
	n = json_len(value);
	if (n == 0)
		return t;
	t.items = arena_array(mem, struct typed_item, n);
	if (shape == TYPED_LIST) {
		fill_list(mem, s, value, &t);
	} else {
		json_foreach (value, m) {
			struct typed_item *it = &t.items[t.n];
			it->key = (struct field_key){FIELD_NAME, span_of(json_key(m))};
			it->value = m;
			it->schema = typed_step(s, it->key, &it->named);
			it->at = t.n++;
		}
	}
	sort_items(&t);
	return t;
}

/* ---- fields ---- */

static bool stands_alone(const struct typed_item *it)
{
	return !it->named || json_is(it->value, JSON_NULL) ||
	       (json_is(it->value, JSON_OBJECT) && !json_first(it->value));
}

struct field_set typed_fields(struct arena *mem, const struct schema *s, const struct cJSON *value)
{
	enum typed_shape shape = typed_shape_of(s, value);
	struct field_set out = FIELD_SET_EMPTY;

	if (shape == TYPED_LEAF)
		return FIELD_SET_LEAF;
	struct typed_items t = typed_items_of(mem, s, shape, value);
	for (uint32_t i = 0, n; i < t.n; i += n) {
		const struct typed_item *it = &t.items[i];
		struct field_set child = FIELD_SET_LEAF;
		n = typed_run(&t, i);
		if (it->keyless)
			continue;
		if (n == 1) {
			child = typed_fields(mem, it->schema, it->value);
			child.here = child.here || stands_alone(it);
		}
		field_set_append(mem, &out, it->key, &child);
	}
	return out;
}

/* ---- differences ---- */

/* Most of an object is not what an update changes: parts that are the same as they are written
 * are passed over. So many values may be looked at for it, since each level looks again. */
#define MAX_LOOKS 20000

struct comparison {
	struct arena *mem;
	int looks;
};

static bool is_same_text(struct comparison *c, const struct cJSON *a, const struct cJSON *b)
{
	enum json_type type = json_type_of(a);

	if (c->looks-- <= 0 || type != json_type_of(b))
		return false;
	if (type == JSON_STRING)
		return strcmp(json_value_str(a), json_value_str(b)) == 0;
	if (type == JSON_NUMBER)
		return span_eq(json_number_text(a), json_number_text(b));
	if (type != JSON_OBJECT && type != JSON_ARRAY)
		return json_equal(a, b);
	a = json_first(a);
	b = json_first(b);
	for (; a && b; a = json_next(a), b = json_next(b))
		if ((type == JSON_OBJECT && strcmp(json_key(a), json_key(b)) != 0) ||
		    !is_same_text(c, a, b))
			return false;
	return !a && !b;
}

static void compare(struct comparison *c, const struct schema *s, const struct cJSON *before,
		    const struct cJSON *now, struct typed_change *out);

static void compare_leaf(const struct cJSON *before, const struct cJSON *now,
			 struct typed_change *out)
{
	if (!before)
		out->added.here = true;
	else if (!now)
		out->removed.here = true;
	else if (!json_equal(before, now))
		out->modified.here = true;
}

static bool same_items(const struct typed_item *a, uint32_t n_a, const struct typed_item *b,
		       uint32_t n_b)
{
	for (uint32_t i = 0; i < n_a && n_a == n_b; i++)
		if (!json_equal(a[i].value, b[i].value))
			return false;
	return n_a == n_b;
}

/* The items with one key; more than one of them are one leaf. */
static void compare_items_of_key(struct comparison *c, const struct typed_item *l, uint32_t n_l,
				 const struct typed_item *r, uint32_t n_r, struct typed_change *out)
{
	if (n_l <= 1 && n_r <= 1) {
		compare(c, n_l ? l->schema : r->schema, n_l ? l->value : NULL,
			n_r ? r->value : NULL, out);
	} else if (n_l >= 2 && n_r >= 2) {
		if (!same_items(l, n_l, r, n_r))
			out->modified.here = true;
	} else if (n_l >= 2) {
		if (n_r)
			compare(c, r->schema, NULL, r->value, out);
		out->removed.here = true;
	} else {
		if (n_l)
			compare(c, l->schema, l->value, NULL, out);
		out->added.here = true;
	}
}

static void compare_items_of(struct comparison *c, const struct typed_items *l,
			     const struct typed_items *r, struct typed_change *out)
{
	for (uint32_t i = 0, j = 0; i < l->n || j < r->n;) {
		struct typed_change child = {0};
		int order = i >= l->n	? 1
			    : j >= r->n ? -1
					: field_key_cmp(l->items[i].key, r->items[j].key);
		uint32_t n_l = order <= 0 ? typed_run(l, i) : 0,
			 n_r = order >= 0 ? typed_run(r, j) : 0;
		const struct typed_item *one = order <= 0 ? &l->items[i] : &r->items[j];
		if (!one->keyless)
			compare_items_of_key(c, n_l ? &l->items[i] : NULL, n_l,
					     n_r ? &r->items[j] : NULL, n_r, &child);
		field_set_append(c->mem, &out->removed, one->key, &child.removed);
		field_set_append(c->mem, &out->modified, one->key, &child.modified);
		field_set_append(c->mem, &out->added, one->key, &child.added);
		i += n_l;
		j += n_r;
	}
}

/* True when it was compared as a leaf. */
static bool compare_as(struct comparison *c, const struct schema *s, enum typed_shape shape,
		       const struct cJSON *before, const struct cJSON *now,
		       struct typed_change *out)
{
	struct typed_items l = typed_items_of(c->mem, s, shape, before);
	struct typed_items r = typed_items_of(c->mem, s, shape, now);

	/* Two empty containers are leaves: so {} and null differ. */
	if (l.n == 0 && r.n == 0) {
		compare_leaf(before, now, out);
		return true;
	}
	compare_items_of(c, &l, &r, out);
	return false;
}

static void join(struct arena *mem, struct typed_change *a, const struct typed_change *b)
{
	a->removed = field_set_union(mem, &a->removed, &b->removed);
	a->modified = field_set_union(mem, &a->modified, &b->modified);
	a->added = field_set_union(mem, &a->added, &b->added);
}

static void compare(struct comparison *c, const struct schema *s, const struct cJSON *before,
		    const struct cJSON *now, struct typed_change *out)
{
	enum typed_shape a = typed_shape_of(s, before), b = typed_shape_of(s, now);
	struct typed_change as_now = {0};

	if (before && now && is_same_text(c, before, now))
		return;
	bool leaf = compare_as(c, s, now ? b : a, before, now, &as_now);

	if (before && now && a != b) {
		struct typed_change as_before = {0};
		(void)compare_as(c, s, a, before, now, &as_before);
		join(c->mem, &as_now, &as_before);
	}
	if (!leaf && !before)
		as_now.added.here = true;
	else if (!leaf && !now)
		as_now.removed.here = true;
	join(c->mem, out, &as_now);
}

void typed_compare(struct arena *mem, const struct schema *s, const struct cJSON *before,
		   const struct cJSON *now, struct typed_change *ret)
{
	struct comparison c = {.mem = mem, .looks = MAX_LOOKS};

	*ret = (struct typed_change){0};
	compare(&c, s, before, now, ret);
	ret->removed.here = ret->modified.here = ret->added.here = false;
}

void typed_compare_member(struct arena *mem, const struct schema *s, const char *name,
			  const struct cJSON *before, const struct cJSON *now,
			  struct typed_change *ret)
{
	struct comparison c = {.mem = mem, .looks = MAX_LOOKS};
	struct field_key key = {FIELD_NAME, span_of(name)};
	struct typed_change member = {0};
	bool named;

	*ret = (struct typed_change){0};
	before = json_get(before, name);
	now = json_get(now, name);
	if (!before && !now)
		return;
	compare(&c, typed_step(s, key, &named), before, now, &member);
	field_set_append(mem, &ret->removed, key, &member.removed);
	field_set_append(mem, &ret->modified, key, &member.modified);
	field_set_append(mem, &ret->added, key, &member.added);
}

/* ---- sets and schemas ---- */

struct field_set typed_name_members(struct arena *mem, const struct schema *s,
				    const struct field_set *set)
{
	struct field_set out = {.here = set->here};

	for (uint32_t i = 0; i < set->n; i++) {
		const struct field_child *c = &set->children[i];
		bool named;
		const struct schema *below = typed_step(s, c->key, &named);
		struct field_set child = typed_name_members(mem, below, &c->set);
		child.here = child.here || named;
		field_set_append(mem, &out, c->key, &child);
	}
	return out;
}

static bool fits(const struct schema *s, const struct field_set *set)
{
	if (set->n && typed_is_atomic(s))
		return false;
	for (uint32_t i = 0; s && i < set->n; i++) {
		bool named;
		const struct field_child *c = &set->children[i];
		if (!fits(typed_step(s, c->key, &named), &c->set))
			return false;
	}
	return true;
}

struct field_set typed_reconcile(struct arena *mem, const struct schema *s,
				 const struct field_set *set)
{
	struct field_set out = {.here = set->here};

	if (fits(s, set))
		return *set;
	if (typed_is_atomic(s))
		return FIELD_SET_LEAF;
	for (uint32_t i = 0; i < set->n; i++) {
		bool named;
		const struct field_child *c = &set->children[i];
		struct field_set child =
		    typed_reconcile(mem, typed_step(s, c->key, &named), &c->set);
		field_set_append(mem, &out, c->key, &child);
	}
	return out;
}

/*
 * The walks that make a new value: merge and remove.
 */
#include "kube/typed.h"

#include "kube/typed_priv.h"

static struct cJSON *merge(struct arena *mem, const struct schema *s, const struct cJSON *live,
			   const struct cJSON *config);

/* ---- lists ---- */

#define NOWHERE UINT32_MAX

/* One side of a list merge: its items in their order, and where the other side has the same. */
struct side {
	struct typed_items t;
	const struct typed_item **order; /* by place */
	uint32_t *other; /* by place: first place of the key on the other side, or NOWHERE */
	uint32_t *first; /* by place: first place of the key on this side */
	bool *twice;	 /* by place: the key stands here more than once */
};

static struct side side_of(struct arena *mem, const struct schema *s, const struct cJSON *list)
{
	struct side out = {.t = typed_items_of(mem, s, TYPED_LIST, list)};
	uint32_t n = out.t.n;

	out.order = arena_array(mem, const struct typed_item *, n + 1);
	out.other = arena_array(mem, uint32_t, n + 1);
	out.first = arena_array(mem, uint32_t, n + 1);
	out.twice = arena_array(mem, bool, n + 1);
	for (uint32_t i = 0, run = 0; i < n; i++) {
		const struct typed_item *it = &out.t.items[i];
		if (!run)
			run = typed_run(&out.t, i);
		bool again = i && out.t.items[i - 1].key.step == it->key.step &&
			     field_key_cmp(out.t.items[i - 1].key, it->key) == 0;
		out.order[it->at] = it;
		out.other[it->at] = NOWHERE;
		out.first[it->at] = again ? out.first[out.t.items[i - 1].at] : it->at;
		out.twice[it->at] = again || run > 1;
		run--;
	}
	return out;
}

static void match(struct side *l, struct side *r)
{
	for (uint32_t i = 0, j = 0; i < l->t.n && j < r->t.n;) {
		const struct typed_item *a = &l->t.items[i], *b = &r->t.items[j];
		int c = field_key_cmp(a->key, b->key);
		uint32_t n_l = c <= 0 ? typed_run(&l->t, i) : 0;
		uint32_t n_r = c >= 0 ? typed_run(&r->t, j) : 0;
		/* What has no keys is like nothing else, wherever it stands. */
		for (uint32_t k = 0; c == 0 && !a->keyless && !b->keyless && k < n_l; k++)
			l->other[l->t.items[i + k].at] = b->at;
		for (uint32_t k = 0; c == 0 && !a->keyless && !b->keyless && k < n_r; k++)
			r->other[r->t.items[j + k].at] = a->at;
		i += n_l;
		j += n_r;
	}
}

struct list_merge {
	struct arena *mem;
	const struct schema *items;
	struct side l, r;
	bool *merged;	 /* by place in r */
	uint32_t shared; /* place in r of the next item that both have, or NOWHERE */
	struct cJSON *out;
};

static void next_shared(struct list_merge *m, uint32_t from)
{
	while (from < m->r.t.n && m->r.other[from] == NOWHERE)
		from++;
	m->shared = from < m->r.t.n ? from : NOWHERE;
}

/* Takes item j of the configuration, on top of the live one where there is exactly one. */
static void take_config(struct list_merge *m, uint32_t j)
{
	uint32_t at = m->r.other[j];
	const struct cJSON *live = NULL;

	if (at != NOWHERE && !m->l.twice[at])
		live = m->l.order[at]->value;
	m->merged[j] = true;
	json_append(m->out, merge(m->mem, m->items, live, m->r.order[j]->value));
	if (m->shared == j)
		next_shared(m, j + 1);
}

/* Both orders are kept as far as they agree: live items stand where they stood, the
 * configuration's own come in its order, and what both have comes in the configuration's. The
 * steps, and so the results for lists that disagree, are those of structured-merge-diff. */
static struct cJSON *merge_lists(struct arena *mem, const struct schema *s,
				 const struct cJSON *live, const struct cJSON *config)
{
	struct list_merge m = {.mem = mem, .items = s->items, .out = json_array()};
	uint32_t i = 0, j = 0;

	m.l = side_of(mem, s, live);
	m.r = side_of(mem, s, config);
	m.merged = arena_array(mem, bool, m.r.t.n + 1);
	match(&m.l, &m.r);
	next_shared(&m, 0);
	while (i < m.l.t.n || j < m.r.t.n) {
		uint32_t other = i < m.l.t.n ? m.l.other[i] : NOWHERE;
		bool both = i < m.l.t.n && j < m.r.t.n;
		if (both && other == j) {
			take_config(&m, j++);
			i++;
			continue;
		}
		/* Shared, but not the one whose turn it is. */
		if (both && other != NOWHERE && m.shared != NOWHERE && m.shared != other) {
			i++;
			continue;
		}
		if (i < m.l.t.n && other == NOWHERE) {
			json_append(m.out, json_dup(m.l.order[i++]->value));
			continue;
		}
		if (i < m.l.t.n && m.merged[other])
			i++;
		if (j < m.r.t.n)
			take_config(&m, j++);
	}
	return m.out;
}

/* ---- maps ---- */

static const struct typed_item *find(const struct typed_items *t, struct field_key key)
{
	uint32_t low = 0, high = t->n;

	while (low < high) {
		uint32_t mid = (low + high) / 2;
		int c = field_key_cmp(t->items[mid].key, key);
		if (c == 0)
			return &t->items[mid];
		if (c < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

static struct cJSON *merge_maps(struct arena *mem, const struct schema *s,
				const struct typed_items *l, const struct typed_items *r,
				const struct cJSON *live, const struct cJSON *config)
{
	struct cJSON *out = json_object();

	if (l->n)
		json_foreach (live, m) {
			struct field_key key = {FIELD_NAME, span_of(json_key(m))};
			const struct typed_item *other = find(r, key);
			bool named;
			json_add(out, json_key(m),
				 other ? merge(mem, other->schema, m, other->value)
				       : merge(mem, typed_step(s, key, &named), m, NULL));
		}
	if (r->n)
		json_foreach (config, m) {
			struct field_key key = {FIELD_NAME, span_of(json_key(m))};
			bool named;
			if (!find(l, key))
				json_add(out, json_key(m),
					 merge(mem, typed_step(s, key, &named), NULL, m));
		}
	return out;
}

static struct cJSON *merge(struct arena *mem, const struct schema *s, const struct cJSON *live,
			   const struct cJSON *config)
{
	enum typed_shape shape = typed_shape_of(s, config ? config : live);
	struct typed_items l = typed_items_of(mem, s, shape, live);
	struct typed_items r = typed_items_of(mem, s, shape, config);

	if (l.n == 0 && r.n == 0)
		return json_dup(config ? config : live);
	if (r.n == 0)
		return json_dup(live);
	if (shape == TYPED_LIST)
		return merge_lists(mem, s, l.n ? live : NULL, config);
	return merge_maps(mem, s, &l, &r, live, config);
}

struct cJSON *typed_merge(struct arena *mem, const struct schema *s, const struct cJSON *live,
			  const struct cJSON *config)
{
	return merge(mem, s, live, config);
}

/* ---- remove ---- */

struct cJSON *typed_remove(struct arena *mem, const struct schema *s, const struct cJSON *value,
			   const struct field_set *what)
{
	enum typed_shape shape = typed_shape_of(s, value);
	struct typed_items t = typed_items_of(mem, s, shape, value);
	const struct typed_item **order = arena_array(mem, const struct typed_item *, t.n + 1);
	struct cJSON *out;

	if (shape == TYPED_LEAF)
		return json_dup(value);
	out = shape == TYPED_MAP ? json_object() : json_array();
	for (uint32_t i = 0; i < t.n; i++)
		order[t.items[i].at] = &t.items[i];
	for (uint32_t i = 0; i < t.n; i++) {
		const struct typed_item *it = order[i];
		const struct field_set *below = field_set_child(what, it->key);
		if (below && below->here)
			continue;
		struct cJSON *kept =
		    below ? typed_remove(mem, it->schema, it->value, below) : json_dup(it->value);
		if (shape == TYPED_MAP)
			json_add(out, it->key.text.ptr, kept);
		else
			json_append(out, kept);
	}
	if (json_first(out))
		return out;
	json_free(out);
	return json_null();
}

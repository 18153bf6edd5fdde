/*
 * Strategic merge patch, the lists: strategic_merge_list() of kube/patch_priv.h.
 *
 * An element has an id: the text of its merge key's value, or its own text in a list of scalars.
 * Merging happens by id, and so does the order afterwards, as upstream's normalizeElementOrder:
 * elements that the patch (or its $setElementOrder) names stand in the patch's order, the others
 * in the object's, and the two rows are laced by where the elements stood in the object. Elements
 * that the object did not have come before what could not be placed against them.
 */
#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "kube/patch_priv.h"

#include <errno.h>

struct item {
	struct cJSON *node; /* owned until it is in the result; NULL once taken */
	struct span id;	    /* absent: an element without its merge key */
	size_t was;	    /* place in the object's list, NOWHERE if it is new */
	size_t rank;	    /* place in the patch's order, NOWHERE if it is not named */
};
#define NOWHERE SIZE_MAX

struct list {
	struct strategic_merge *m;
	const char *merge_key; /* NULL: scalars */
	const char *name;
	const struct strategic_type *type;
	struct arena mem;
	struct VEC(struct item) items;
	struct map by_id; /* index + 1 of the first item with an id */
};

static void list_done(struct list *l)
{
	vec_foreach (&l->items, i)
		json_free(i->node);
	vec_done(&l->items);
	map_done(&l->by_id);
	arena_done(&l->mem);
}

static int malformed(struct list *l, const char *what)
{
	return err_set(l->m->reterr, ERR_BAD_REQUEST, "invalid strategic merge patch: %.200s: %s",
		       l->name, what);
}

/* Absent for an element that has none. */
static struct span id_of(struct list *l, const struct cJSON *element)
{
	auto_buf text = BUF_INIT;
	const struct cJSON *v = element;

	patch_step(l->m->budget, 1);
	if (l->merge_key)
		v = patch_find(l->m->budget, element, l->merge_key);
	if (!v || json_is(v, JSON_OBJECT) || json_is(v, JSON_ARRAY))
		return SPAN_NONE;
	json_print(v, &text);
	return buf_ok(&text) ? arena_span(&l->mem, buf_span(&text)) : SPAN_NONE;
}

/* Numbers travel as pointers, one up, since a map holds no NULL. */
static bool lookup(const struct map *map, struct span id, size_t *ret)
{
	void *at = id.ptr ? map_get(map, id) : NULL;
	if (at)
		*ret = (size_t)(uintptr_t)at - 1;
	return at;
}

static void remember(struct map *map, struct span id, size_t index)
{
	if (id.ptr && !map_has(map, id))
		(void)map_put(map, id, (void *)(uintptr_t)(index + 1));
}

static void push(struct list *l, struct cJSON *take_node, struct span id, size_t was)
{
	remember(&l->by_id, id, l->items.len);
	vec_push(&l->items, (struct item){take_node, id, was, NOWHERE});
}

static void load(struct list *l, const struct cJSON *target)
{
	size_t at = 0;

	json_foreach (target, e) {
		struct span id = id_of(l, e);
		/* A list of scalars is a set: upstream drops repetitions when it merges. */
		if (l->merge_key || !map_has(&l->by_id, id))
			push(l, json_dup(e), id, at);
		at++;
	}
}

static void drop(struct list *l, struct span id)
{
	size_t at;

	if (!lookup(&l->by_id, id, &at))
		return;
	vec_foreach (&l->items, i) {
		if (i->id.ptr && span_eq(i->id, id)) {
			json_free(i->node);
			i->node = NULL;
			i->id = SPAN_NONE;
		}
	}
	patch_step(l->m->budget, (int64_t)l->items.len);
	(void)map_remove(&l->by_id, id);
}

static const char *directive_of(const struct cJSON *element)
{
	return json_str(element, "$patch");
}

static bool is_delete(const struct cJSON *element)
{
	return directive_of(element) && strcmp(directive_of(element), "delete") == 0;
}

/* ---- what the patch's list says ---- */

static int check_elements(struct list *l, const struct cJSON *items, bool *ret_replace)
{
	*ret_replace = false;
	json_foreach (items, e) {
		const char *directive = directive_of(e);
		if (l->merge_key && !json_is(e, JSON_OBJECT))
			return malformed(l, "its elements must be maps");
		if (!l->merge_key && (json_is(e, JSON_OBJECT) || json_is(e, JSON_ARRAY)) &&
		    !directive)
			return malformed(l, "its elements must be scalars");
		if (!directive)
			continue;
		if (strcmp(directive, "replace") == 0)
			*ret_replace = true;
		else if (strcmp(directive, "merge") != 0 && !(is_delete(e) && l->merge_key))
			return malformed(l, "$patch must be delete, replace or merge");
	}
	return 0;
}

static int no_key(struct list *l)
{
	return err_set(l->m->reterr, ERR_INVALID,
		       "an element of %.200s in the patch does not contain its merge key: %s",
		       l->name, l->merge_key);
}

static int merge_one(struct list *l, const struct cJSON *e)
{
	struct span id = id_of(l, e);
	size_t at;

	if (l->merge_key && !id.ptr)
		return no_key(l);
	if (!lookup(&l->by_id, id, &at)) {
		push(l, strategic_strip(e), id, NOWHERE);
		return 0;
	}
	if (!l->merge_key)
		return 0;
	return strategic_merge_map(l->m, l->items.items[at].node, e, l->type);
}

static int merge_elements(struct list *l, const struct cJSON *items)
{
	json_foreach (items, e) {
		if (!is_delete(e))
			continue;
		struct span id = id_of(l, e);
		if (!id.ptr)
			return no_key(l);
		drop(l, id);
	}
	json_foreach (items, e) {
		int r = is_delete(e) ? 0 : merge_one(l, e);
		if (r == 0 && patch_spent(l->m->budget))
			r = err_errno(ERR_TOO_LARGE);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Everything that stood there goes; what the patch says beside the directive stays. */
static void replace_elements(struct list *l, const struct cJSON *items)
{
	vec_foreach (&l->items, i) {
		json_free(i->node);
		i->node = NULL;
		i->id = SPAN_NONE;
	}
	map_done(&l->by_id);
	json_foreach (items, e)
		if (!directive_of(e))
			push(l, strategic_strip(e), id_of(l, e), NOWHERE);
}

static void remove_scalars(struct list *l, const struct cJSON *remove)
{
	json_foreach (remove, e) {
		drop(l, id_of(l, e));
		if (patch_spent(l->m->budget))
			return;
	}
}

/* ---- order ---- */

/* With $setElementOrder upstream deletes and adds in the array that it then takes for the object's
 * order: what is new stands, as far as there is room, where something was deleted, behind all that
 * was kept. kubectl apply sends such patches, so that is the order that people see. */
static void take_freed_places(struct list *l)
{
	size_t freed = 0, places = 0;

	vec_foreach (&l->items, i)
		if (i->was != NOWHERE) {
			places = i->was + 1;
			freed += !i->node;
		}
	vec_foreach (&l->items, i)
		if (i->was == NOWHERE && i->node && freed) {
			i->was = places++;
			freed--;
		}
}

/* What the patch sets must be named by its order, in the same order. */
static int check_order(struct list *l, const struct cJSON *items, const struct map *ranks)
{
	size_t last = 0, rank = 0;

	json_foreach (items, e) {
		if (is_delete(e))
			continue;
		if (!lookup(ranks, id_of(l, e), &rank) || rank < last)
			return malformed(l, "its order does not match $setElementOrder");
		last = rank;
	}
	return 0;
}

static void rank_items(struct list *l, const struct cJSON *order)
{
	struct map ranks = MAP_INIT;
	size_t at = 0;

	json_foreach (order, e)
		remember(&ranks, id_of(l, e), at++);
	vec_foreach (&l->items, i)
		if (!lookup(&ranks, i->id, &i->rank))
			i->rank = NOWHERE;
	map_done(&ranks);
}

static int by_rank(const void *a, const void *b)
{
	const struct item *x = a, *y = b;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->was < y->was ? -1 : x->was > y->was;
}

/* Both rows are sorted in themselves; see the top of the file. */
static struct cJSON *lace(struct list *l)
{
	struct VEC(struct item) named = {0};
	struct cJSON *out = json_array();
	size_t j = 0;

	vec_foreach (&l->items, i)
		if (i->node && i->rank != NOWHERE)
			vec_push(&named, *i);
	if (named.len)
		qsort(named.items, named.len, sizeof(*named.items), by_rank);
	vec_foreach (&l->items, i) {
		if (!i->node || i->rank != NOWHERE)
			continue;
		for (; j < named.len; j++) {
			size_t was = named.items[j].was;
			if (i->was != NOWHERE && was != NOWHERE && i->was < was)
				break;
			json_append(out, named.items[j].node);
		}
		json_append(out, i->node);
	}
	for (; j < named.len; j++)
		json_append(out, named.items[j].node);
	vec_done(&named);
	vec_clear(&l->items);
	return out;
}

static int merge_content(struct list *l, const struct strategic_list_patch *p)
{
	struct map ranks = MAP_INIT;
	bool replace = false;
	size_t at = 0;

	if (p->remove && l->merge_key)
		return malformed(l, "$deleteFromPrimitiveList is for lists of scalars");
	int r = check_elements(l, p->items, &replace);
	if (r == 0 && p->order && !replace) {
		json_foreach (p->order, e)
			remember(&ranks, id_of(l, e), at++);
		r = check_order(l, p->items, &ranks);
		map_done(&ranks);
	}
	if (r == 0 && replace)
		replace_elements(l, p->items);
	else if (r == 0)
		r = merge_elements(l, p->items);
	if (r == 0)
		remove_scalars(l, p->remove);
	return r;
}

int strategic_merge_list(struct strategic_merge *m, const struct cJSON *target,
			 const struct strategic_list_patch *p, const struct strategic_field *field,
			 struct cJSON **ret)
{
	struct list l = {
	    .m = m,
	    .merge_key = field ? field->merge_key : NULL,
	    .name = p->name,
	    .type = field ? field->type : NULL,
	};

	load(&l, target);
	int r = merge_content(&l, p);
	if (r == 0 && patch_spent(m->budget))
		r = err_errno(ERR_TOO_LARGE);
	if (r == 0 && p->order && l.merge_key)
		take_freed_places(&l);
	if (r == 0) {
		rank_items(&l, p->order ? p->order : p->items);
		*ret = lace(&l);
	}
	list_done(&l);
	return r;
}

/*
 * One namespace at a time is walked, kind by kind in name order. Objects that only wait for
 * finalizers are counted; when that many have gone, the walk starts again, and a walk that
 * leaves nothing behind ends the namespace.
 */
#include "registry/namespaces.h"
#include "registry/edit.h"
#include "registry/registry_priv.h"
#include <errno.h>

/* Objects looked at per step, removed or not. */
#define STEP_OBJECTS 256
#define ROWS_EACH    2
/* How long after a walk another counts what has changed since; longer where much remains. */
#define COUNT_AGAIN	 (2 * USEC_PER_SEC)
#define COUNT_AGAIN_EACH 100

bool namespaces_is_immortal(struct span name)
{
	return span_is(name, "default") || span_is(name, "kube-system") ||
	       span_is(name, "kube-public");
}

static void item_done(struct namespaces_item *it)
{
	free(it->name);
	free(it->after);
	namespace_tally_clear(&it->tally);
}

void namespaces_done(struct namespaces *n)
{
	vec_foreach (&n->terminating, it)
		item_done(it);
	vec_done(&n->terminating);
}

void namespaces_batch_clear(struct namespaces_batch *nb)
{
	free(nb->after);
	namespace_tally_clear(&nb->tally);
	*nb = (struct namespaces_batch){0};
}

int namespaces_load(struct registry *r, struct err *reterr)
{
	if (!r->namespace_kind)
		return 0;
	auto_reader *reader = NULL;
	struct store_iter *it = NULL;
	int rc = store_read_begin(registry_store(r, r->namespace_kind), &reader, reterr);
	struct store_range range = {.type = r->namespace_kind->type};
	if (!rc)
		rc = store_iter_begin(reader, &range, &it, reterr);
	if (rc)
		return rc;
	struct store_object o;
	int failed = 0;
	while (store_iter_next(it, &o, &failed))
		if (o.flags & OBJECT_DELETING)
			vec_push(&r->namespaces.terminating,
				 (struct namespaces_item){
				     .name = xstrndup(o.key.name.ptr, o.key.name.len)});
	store_iter_end(it);
	return failed ? err_set(reterr, ERR_INTERNAL, "cannot read the namespaces") : 0;
}

static usec due_of(const struct namespaces_item *it)
{
	if (!it->waiting)
		return 0;
	return it->stale ? it->again : INT64_MAX;
}

static struct namespaces_item *first_due(const struct namespaces *n, usec now)
{
	vec_foreach (&n->terminating, it)
		if (due_of(it) <= now)
			return it;
	return NULL;
}

usec namespaces_due(const struct namespaces *n)
{
	usec due = INT64_MAX;

	vec_foreach (&n->terminating, it)
		due = due_of(it) < due ? due_of(it) : due;
	return due;
}

/* The walk goes over the compiled kinds, then the users' stored ones, which need not be served. */
static size_t n_places(const struct kind_set *set)
{
	return set->n_kinds + set->n_stored;
}

static const struct kind *kind_at(const struct kind_set *set, size_t i)
{
	return i < set->n_kinds ? set->kinds[i] : set->stored[i - set->n_kinds];
}

/* Several kinds may share a type (one store under two group names): walked once. */
static bool is_walked(const struct registry *r, size_t i)
{
	const struct kind_set *set = r->options.kinds;
	const struct kind *k = kind_at(set, i);
	if (i < set->n_kinds && k->type >= KIND_FIRST_USER_TYPE)
		return false;
	return k->scope == KIND_NAMESPACED && k->verbs != KIND_VERBS_CREATE &&
	       k->verbs != KIND_VERBS_NONE && kind_by_type(set, k->type) == k;
}

struct walk {
	struct registry_batch *b;
	struct namespaces_item at; /* progress; `after` is owned, `name` borrowed */
	size_t looked;
	size_t *rows;
	bool told;
};

/* Removes what it may of one kind. 1 when the kind is done, 0 when the step is, or an error. */
static int walk_kind(struct walk *w)
{
	struct registry_batch *b = w->b;
	const struct kind *k = kind_at(b->reg->options.kinds, w->at.kind);
	struct store_key after = {k->type, span_of(w->at.name), span_of(w->at.after)};
	struct store_range range = {
	    .type = k->type, .ns = span_of(w->at.name), .after = w->at.after ? &after : NULL};
	struct store_reader *reader;
	struct store_iter *it;
	struct store_object o;
	int failed = 0, rc = registry_reader(b, k, &reader, NULL);
	if (!rc)
		rc = store_iter_begin(reader, &range, &it, NULL);
	if (rc)
		return rc;
	bool stopped = false;
	while (!stopped && store_iter_next(it, &o, &failed)) {
		if (*w->rows <= ROWS_EACH || w->looked++ == STEP_OBJECTS) {
			stopped = true;
			break;
		}
		struct span name = arena_span(&b->mem, o.key.name);
		bool stays = (o.flags & OBJECT_HAS_FINALIZERS) || registry_in_use(b->reg, k, &o);
		if (stays)
			namespace_tally_add(&w->at.tally, k, &o);
		if (!(o.flags & OBJECT_DELETING) || !stays) {
			rc = registry_remove(b, k, span_of(w->at.name), name, PROPAGATE_BACKGROUND);
			*w->rows -= ROWS_EACH;
		}
		w->at.remaining += stays;
		free(w->at.after);
		w->at.after = xstrndup(name.ptr, name.len);
		if (rc && rc != -ENOENT)
			break;
		rc = 0;
	}
	store_iter_end(it);
	if (rc || failed)
		return rc ? rc : failed;
	return stopped ? 0 : 1;
}

/* Nothing at all is left, neither in the store nor pending. */
static bool is_empty(struct registry_batch *b, const char *name)
{
	const struct kind_set *set = b->reg->options.kinds;
	for (size_t i = 0; i < n_places(set); i++) {
		struct store_reader *reader;
		size_t n = 1;
		if (!is_walked(b->reg, i))
			continue;
		if (registry_reader(b, kind_at(set, i), &reader, NULL) ||
		    store_count(reader, kind_at(set, i)->type, span_of(name), 1, &n) || n)
			return false;
	}
	vec_foreach (&b->entries, e)
		if ((*e)->kind && (*e)->op == STORE_PUT && span_is((*e)->key.ns, name))
			return false;
	return true;
}

static void tell(struct walk *w)
{
	struct registry_batch *b = w->b;
	const struct kind *k = b->reg->namespace_kind;
	struct store_object o;

	if (registry_get(b, k, SPAN(""), span_of(w->at.name), &o) == 0 &&
	    edit_namespace_status(b, k, &o, &w->at.tally, &w->told) == 0 && w->told)
		*w->rows -= *w->rows > 0;
}

static bool end_walk(struct walk *w)
{
	struct registry_batch *b = w->b;
	const struct kind *k = b->reg->namespace_kind;
	struct span name = span_of(w->at.name);
	struct store_object o;
	w->at.kind = 0;
	free(w->at.after);
	w->at.after = NULL;
	w->at.again = registry_now(b) + COUNT_AGAIN + (usec)w->at.remaining * COUNT_AGAIN_EACH;
	if (w->at.remaining) {
		w->at.waiting = true;
		tell(w);
		return false;
	}
	if (!is_empty(b, w->at.name))
		return true; /* what this step removed is still in the snapshot: look again */
	bool others = false;
	int rc = registry_get(b, k, SPAN(""), name, &o);
	if (rc == 0)
		rc = edit_namespace_emptied(b, k, &o, &others);
	if (rc == 0 && (others || (o.flags & OBJECT_HAS_FINALIZERS))) {
		w->at.waiting = true;
		tell(w);
	} else if (rc == 0 && registry_delete(b, k, SPAN(""), name, PROPAGATE_BACKGROUND)) {
		return true;
	}
	return false;
}

bool namespaces_work(struct registry_batch *b, size_t *rows)
{
	struct namespaces *n = &b->reg->namespaces;
	struct namespaces_item *it = first_due(n, registry_now(b));
	if (!it || *rows <= ROWS_EACH)
		return it != NULL;
	struct walk w = {.b = b, .at = *it, .rows = rows};
	w.at.after = xstrdup(it->after);
	w.at.tally = (struct namespace_tally){0};
	w.at.waiting = false;
	if (w.at.kind == 0 && !w.at.after)
		w.at.remaining = 0;
	else
		namespace_tally_copy(&it->tally, &w.at.tally);
	size_t n_kinds = n_places(b->reg->options.kinds);
	int rc = 1;
	while (w.at.kind < n_kinds && rc == 1) {
		rc = is_walked(b->reg, w.at.kind) ? walk_kind(&w) : 1;
		if (rc == 1) {
			w.at.kind++;
			free(w.at.after);
			w.at.after = NULL;
		}
	}
	bool more = true;
	if (rc == 1)
		more = end_walk(&w);
	namespaces_batch_clear(&b->namespaces);
	b->namespaces = (struct namespaces_batch){.moved = true,
						  .item = (size_t)(it - n->terminating.items),
						  .kind = w.at.kind,
						  .remaining = w.at.remaining,
						  .after = w.at.after,
						  .waiting = w.at.waiting,
						  .told = w.told,
						  .again = w.at.again,
						  .tally = w.at.tally};
	return more;
}

void namespaces_kinds_changed(struct namespaces *n)
{
	vec_foreach (&n->terminating, it) {
		it->kind = 0;
		free(it->after);
		it->after = NULL;
		it->waiting = false;
	}
}

static struct namespaces_item *find_item(struct namespaces *n, struct span name)
{
	vec_foreach (&n->terminating, it)
		if (span_is(name, it->name))
			return it;
	return NULL;
}

/* ours: only its conditions, as far as we know. */
static void namespace_changed(struct namespaces *n, const struct registry_change *c, bool ours)
{
	struct span name = c->object.key.name;
	struct namespaces_item *it = find_item(n, name);
	if (c->op == STORE_PUT && (c->object.flags & OBJECT_DELETING)) {
		if (!it)
			vec_push(&n->terminating,
				 (struct namespaces_item){.name = xstrndup(name.ptr, name.len)});
		else if (!ours)
			it->waiting = false; /* perhaps its finalizers went */
	} else if (c->op == STORE_DELETE && it) {
		item_done(it);
		size_t at = (size_t)(it - n->terminating.items);
		memmove(it, it + 1, (n->terminating.len - at - 1) * sizeof(*it));
		n->terminating.len--;
	}
}

/* Something that was waiting for its finalizers went. Counted low rather than high: too low
 * costs one more walk, too high would wait for ever. */
static void object_changed(struct namespaces *n, const struct registry_change *c)
{
	struct namespaces_item *it = c->object.key.ns.len ? find_item(n, c->object.key.ns) : NULL;
	if (!it)
		return;
	it->stale = true;
	if (c->op != STORE_DELETE || !(c->object.flags & OBJECT_DELETING))
		return;
	if (it->remaining)
		it->remaining--;
	if (!it->remaining)
		it->waiting = false;
}

void namespaces_committed(struct registry_batch *b)
{
	struct namespaces *n = &b->reg->namespaces;
	struct namespaces_batch *nb = &b->namespaces;
	struct span told = SPAN_NONE;
	if (nb->moved) {
		struct namespaces_item *it = &n->terminating.items[nb->item];
		free(it->after);
		it->after = nb->after;
		it->kind = nb->kind;
		it->remaining = nb->remaining;
		it->waiting = nb->waiting;
		it->again = nb->again;
		it->stale = it->stale && !nb->waiting;
		namespace_tally_clear(&it->tally);
		it->tally = nb->tally;
		if (nb->told)
			told = arena_span(&b->mem, span_of(it->name));
		*nb = (struct namespaces_batch){0};
	}
	vec_foreach (&b->changes, c) {
		if (c->kind == b->reg->namespace_kind)
			namespace_changed(n, c, told.ptr && span_eq(told, c->object.key.name));
		else if (n->terminating.len)
			object_changed(n, c);
	}
}

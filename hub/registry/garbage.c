/*
 * The work list is worked off from its front; each step lists what still depends on the owner and
 * takes some of it. Progress needs no cursor: what was handled no longer names the owner, or is
 * marked as deleting.
 */
#include "registry/garbage.h"
#include "base/buf.h"
#include "registry/edit.h"
#include "registry/owner_refs.h"
#include "registry/registry_priv.h"
#include <errno.h>

/* Dependents looked at per step, so that one step stays far under a millisecond. */
#define STEP_DEPENDENTS 64

static void item_done(struct garbage_item *it)
{
	free(it->ns);
	free(it->name);
}

void garbage_done(struct garbage *g)
{
	vec_foreach (&g->items, it)
		item_done(it);
	vec_done(&g->items);
}

void garbage_batch_clear(struct garbage_batch *gb)
{
	vec_foreach (&gb->added, it)
		item_done(it);
	vec_clear(&gb->added);
	vec_clear(&gb->finished);
	vec_clear(&gb->waiting);
}

void garbage_batch_done(struct garbage_batch *gb)
{
	garbage_batch_clear(gb);
	vec_done(&gb->added);
	vec_done(&gb->finished);
	vec_done(&gb->waiting);
}

/* ---- the rows: key uid and mode, value type, namespace, 0, name of the waiting owner ---- */

static void row_key(const struct garbage_item *it, char out[STORE_UID_LEN + 1])
{
	memcpy(out, it->uid, STORE_UID_LEN);
	out[STORE_UID_LEN] = (char)it->mode;
}

static int load_row(void *arg, struct span key, struct span value)
{
	struct garbage *g = arg;
	struct garbage_item it = {0};
	if (key.len != STORE_UID_LEN + 1)
		return 0; /* not ours */
	memcpy(it.uid, key.ptr, STORE_UID_LEN);
	it.mode = (enum garbage_mode)key.ptr[STORE_UID_LEN];
	if (value.len > 2) {
		struct span name = span_make(value.ptr + 2, value.len - 2);
		struct span ns = span_split(&name, '\0');
		it.type =
		    (uint16_t)((unsigned char)value.ptr[0] << 8 | (unsigned char)value.ptr[1]);
		it.ns = xstrndup(ns.ptr, ns.len);
		it.name = name.ptr ? xstrndup(name.ptr, name.len) : xstrdup("");
	}
	vec_push(&g->items, it);
	return 0;
}

int garbage_load(struct registry *r, struct err *reterr)
{
	auto_reader *reader = NULL;
	int rc = store_read_begin(r->options.truth, &reader, reterr);
	if (rc)
		return rc;
	rc = store_scan_aux(reader, STORE_AUX_GARBAGE, SPAN(""), load_row, &r->garbage);
	return rc ? err_set(reterr, ERR_INTERNAL, "cannot read the list of garbage") : 0;
}

void garbage_add(struct registry_batch *b, const uint8_t uid[STORE_UID_LEN], enum garbage_mode mode,
		 const struct kind *k, const struct store_key *owner)
{
	struct garbage_item it = {.mode = mode};
	char key[STORE_UID_LEN + 1];
	auto_buf value = BUF_INIT;
	memcpy(it.uid, uid, STORE_UID_LEN);
	row_key(&it, key);
	vec_foreach (&b->garbage.added, a)
		if (a->mode == mode && memcmp(a->uid, uid, STORE_UID_LEN) == 0)
			return;
	if (owner) {
		it.type = k->type;
		it.ns = xstrndup(owner->ns.ptr ? owner->ns.ptr : "", owner->ns.len);
		it.name = xstrndup(owner->name.ptr, owner->name.len);
		buf_add_char(&value, (char)(k->type >> 8));
		buf_add_char(&value, (char)k->type);
		buf_add_span(&value, owner->ns);
		buf_add_char(&value, 0);
		buf_add_span(&value, owner->name);
	}
	registry_put_aux(b, false, STORE_AUX_GARBAGE, span_make(key, sizeof(key)),
			 buf_span(&value));
	vec_push(&b->garbage.added, it);
}

static void finish(struct registry_batch *b, const struct garbage_item *it)
{
	char key[STORE_UID_LEN + 1];
	row_key(it, key);
	registry_delete_aux(b, false, STORE_AUX_GARBAGE, span_make(key, sizeof(key)));
	struct garbage_item copy = *it;
	copy.ns = copy.name = NULL;
	vec_push(&b->garbage.finished, copy);
}

/* ---- who depends, who owns ---- */

static bool has_owner(const struct registry_entry *e, const uint8_t uid[STORE_UID_LEN])
{
	if (!e->kind || e->op != STORE_PUT)
		return false;
	for (size_t i = 0; i < e->draft.n_owners; i++)
		if (memcmp(e->draft.owners[i], uid, STORE_UID_LEN) == 0)
			return true;
	return false;
}

static int first_dependent(void *arg, const struct store_key *key)
{
	*(bool *)arg = true;
	return 1;
}

bool garbage_has_dependents(struct registry_batch *b, const uint8_t uid[STORE_UID_LEN])
{
	vec_foreach (&b->entries, e)
		if (has_owner(*e, uid))
			return true;
	bool found = false;
	for (size_t s = 0; s < REGISTRY_STORE_MAX && !found; s++) {
		struct store_reader *r;
		if (s == REGISTRY_MIRROR && !b->reg->options.mirror)
			continue;
		if (batch_reader(b, (enum registry_store)s, &r, NULL) == 0)
			store_dependents(r, uid, first_dependent, &found);
	}
	return found;
}

/* Whether the owner that a reference of `o` names exists; true when its kind is not served
 * here, since then nobody can say. An owner in another namespace counts as absent. */
static bool owner_exists(struct registry_batch *b, const struct store_object *o,
			 const struct owner_ref *ref)
{
	struct span group, version;
	struct store_object owner;
	kind_split_api_version(ref->api_version, &group, &version);
	const struct kind *k = kind_by_gvk(b->reg->options.kinds, group, version, ref->kind);
	if (!k)
		return true;
	struct span ns = k->scope == KIND_NAMESPACED ? o->key.ns : SPAN("");
	int rc = registry_get(b, k, ns, ref->name, &owner);
	if (rc == -ENOENT)
		return false;
	return rc != 0 || memcmp(owner.uid, ref->uid, STORE_UID_LEN) == 0;
}

void garbage_check_owners(struct registry_batch *b, const struct store_object *o)
{
	struct owner_ref ref, absent;
	bool any = false;
	for (size_t pos = 0; owner_refs_next(o, &pos, &ref);) {
		if (owner_exists(b, o, &ref))
			return;
		absent = ref;
		any = true;
	}
	if (any)
		garbage_add(b, absent.uid, GARBAGE_BACKGROUND, NULL, NULL);
}

/* Whether an owner other than `uid` lives; *ret_block: what the reference to `uid` says. */
static bool other_owner(struct registry_batch *b, const struct store_object *o,
			const uint8_t uid[STORE_UID_LEN], bool *ret_block)
{
	struct owner_ref ref;
	bool other = false;
	*ret_block = false;
	for (size_t pos = 0; owner_refs_next(o, &pos, &ref);) {
		if (memcmp(ref.uid, uid, STORE_UID_LEN) == 0)
			*ret_block = ref.block;
		else if (!other)
			other = owner_exists(b, o, &ref);
	}
	return other;
}

/* Whether `o` is what a job controls, where that is a record of the job (registry.h). */
static bool is_record(struct registry_batch *b, const struct garbage_item *item,
		      const struct store_object *o)
{
	const struct kind *owner = kind_by_type(b->reg->options.kinds, item->type);
	struct owner_ref ref;
	if (!b->reg->options.job_records || !owner || !owner->is_job)
		return false;
	for (size_t pos = 0; owner_refs_next(o, &pos, &ref);)
		if (ref.controller && memcmp(ref.uid, item->uid, STORE_UID_LEN) == 0)
			return true;
	return false;
}

/* ---- one step ---- */

struct step {
	struct registry_batch *b;
	const struct garbage_item *item;
	struct VEC(struct store_key) keys; /* in the batch's arena */
	size_t blocking; /* foreground: dependents that must go first, still there */
	bool more;
};

static int collect(void *arg, const struct store_key *key)
{
	struct step *s = arg;
	struct store_object o;
	bool block;
	const struct kind *k = kind_by_type(s->b->reg->options.kinds, key->type);
	if (!k || registry_get(s->b, k, key->ns, key->name, &o))
		return 0; /* of a kind no longer served, or gone in this batch */
	if (s->item->mode == GARBAGE_FOREGROUND) {
		bool other = other_owner(s->b, &o, s->item->uid, &block);
		s->blocking += block && !other;
	}
	if ((o.flags & OBJECT_DELETING) && s->item->mode != GARBAGE_ORPHAN)
		return 0; /* it was told already */
	if (s->item->mode == GARBAGE_ORPHAN && is_record(s->b, s->item, &o))
		return 0;
	if (s->keys.len == STEP_DEPENDENTS) {
		s->more = true;
		return 1;
	}
	vec_push(&s->keys, (struct store_key){key->type, arena_span(&s->b->mem, key->ns),
					      arena_span(&s->b->mem, key->name)});
	return 0;
}

static int handle(struct step *s, const struct store_key *key)
{
	struct registry_batch *b = s->b;
	const struct kind *k = kind_by_type(b->reg->options.kinds, key->type);
	struct store_object o;
	bool block;
	int rc = registry_get(b, k, key->ns, key->name, &o);
	if (rc)
		return rc == -ENOENT ? 0 : rc;
	if (s->item->mode == GARBAGE_ORPHAN || other_owner(b, &o, s->item->uid, &block))
		return edit_drop_owner(b, k, &o, s->item->uid);
	/* A tree goes leaves first when its root asked for that. */
	return registry_remove(b, k, key->ns, key->name,
			       s->item->mode == GARBAGE_FOREGROUND ? PROPAGATE_FOREGROUND
								   : PROPAGATE_BACKGROUND);
}

static const char *finalizer_of(const struct garbage_item *it)
{
	return it->mode == GARBAGE_ORPHAN ? EDIT_ORPHAN : EDIT_FOREGROUND;
}

/* What the owner that waits with a finalizer says now. */
enum owner_word {
	OWNER_WAITS,
	OWNER_NOT_YET, /* what depends on it is needed: a copy of the job may be on a member */
	OWNER_CHANGED, /* it is gone, or does not ask for this any more */
};

static enum owner_word ask_owner(struct registry_batch *b, const struct garbage_item *it)
{
	const struct kind *k = kind_by_type(b->reg->options.kinds, it->type);
	struct store_object o;
	if (!it->type || !k)
		return OWNER_WAITS;
	int rc = registry_get(b, k, span_of(it->ns), span_of(it->name), &o);
	if (rc == -ENOENT)
		return OWNER_CHANGED;
	if (rc)
		return OWNER_WAITS;
	if (memcmp(o.uid, it->uid, STORE_UID_LEN) != 0 ||
	    !owner_refs_has_finalizer(&o, finalizer_of(it)))
		return OWNER_CHANGED;
	return it->mode == GARBAGE_FOREGROUND && owner_refs_has_finalizer(&o, OBJECT_HUB_FINALIZER)
		   ? OWNER_NOT_YET
		   : OWNER_WAITS;
}

static void release_owner(struct registry_batch *b, const struct garbage_item *it)
{
	const struct kind *k = kind_by_type(b->reg->options.kinds, it->type);
	struct store_object o;
	if (!it->type || !k || registry_get(b, k, span_of(it->ns), span_of(it->name), &o))
		return;
	if (memcmp(o.uid, it->uid, STORE_UID_LEN) == 0 &&
	    edit_drop_finalizer(b, k, &o, finalizer_of(it)))
		return; /* the batch is broken now, and its commit says so */
}

static bool is_added(const struct registry_batch *b, const struct garbage_item *item)
{
	vec_foreach (&b->garbage.added, a)
		if (a->mode == item->mode && memcmp(a->uid, item->uid, STORE_UID_LEN) == 0)
			return true;
	return false;
}

/* Rows that one dependent may need: itself and the work it leaves. */
#define ROWS_EACH 2

static bool work_item(struct registry_batch *b, const struct garbage_item *item, size_t *rows)
{
	struct step s = {.b = b, .item = item};
	size_t taken = 0;
	enum owner_word word = ask_owner(b, item);
	if (word == OWNER_NOT_YET)
		vec_push(&b->garbage.waiting, *item);
	if (word == OWNER_CHANGED) {
		*rows -= ROWS_EACH;
		finish(b, item);
	}
	if (word != OWNER_WAITS)
		return false;
	for (size_t i = 0; i < REGISTRY_STORE_MAX; i++) {
		struct store_reader *r;
		if (i == REGISTRY_MIRROR && !b->reg->options.mirror)
			continue;
		if (batch_reader(b, (enum registry_store)i, &r, NULL))
			break;
		(void)store_dependents(r, item->uid, collect, &s);
	}
	for (; taken<s.keys.len && * rows> ROWS_EACH && b->broken.kind == ERR_NONE; taken++) {
		if (handle(&s, &s.keys.items[taken]))
			break;
		*rows -= ROWS_EACH;
	}
	bool all = taken == s.keys.len && !s.more;
	bool any = s.keys.len > 0;
	vec_done(&s.keys);
	if (!all)
		return true;
	if (item->mode == GARBAGE_FOREGROUND && (any || s.blocking)) {
		vec_push(&b->garbage.waiting, *item);
		return false;
	}
	if (*rows <= ROWS_EACH || is_added(b, item))
		return true; /* dependents that are still pending are not in the snapshot */
	*rows -= ROWS_EACH;
	if (item->type)
		release_owner(b, item);
	finish(b, item);
	return false;
}

bool garbage_is_due(const struct garbage *g)
{
	vec_foreach (&g->items, it)
		if (!it->waiting)
			return true;
	return false;
}

bool garbage_work(struct registry_batch *b, size_t *rows)
{
	struct garbage *g = &b->reg->garbage;
	for (size_t i = 0; i < g->items.len; i++) {
		if (g->items.items[i].waiting)
			continue;
		if (*rows <= 2 * ROWS_EACH || work_item(b, &g->items.items[i], rows))
			return true;
	}
	return false;
}

/* ---- after the commit ---- */

static struct garbage_item *find_item(struct garbage *g, const struct garbage_item *key)
{
	vec_foreach (&g->items, it)
		if (it->mode == key->mode && memcmp(it->uid, key->uid, STORE_UID_LEN) == 0)
			return it;
	return NULL;
}

static void wake(struct garbage *g, const uint8_t uid[STORE_UID_LEN])
{
	struct garbage_item key = {.mode = GARBAGE_FOREGROUND}, *it;
	memcpy(key.uid, uid, STORE_UID_LEN);
	it = find_item(g, &key);
	if (it)
		it->waiting = false;
}

/* A dependent went, so an owner that waits for it may be free now. */
static void wake_owners(struct garbage *g, const struct registry_change *c)
{
	struct owner_ref ref;
	for (size_t pos = 0; owner_refs_next(&c->object, &pos, &ref);)
		wake(g, ref.uid);
}

/* Items that are finished leave together: one pass, however many there were. */
static void drop_finished(struct registry_batch *b)
{
	struct garbage *g = &b->reg->garbage;
	size_t kept = 0;
	if (!b->garbage.finished.len)
		return;
	vec_foreach (&b->garbage.finished, f) {
		struct garbage_item *it = find_item(g, f);
		if (it)
			it->gone = true;
	}
	vec_foreach (&g->items, it) {
		if (it->gone)
			item_done(it);
		else
			g->items.items[kept++] = *it;
	}
	g->items.len = kept;
}

void garbage_committed(struct registry_batch *b)
{
	struct garbage *g = &b->reg->garbage;
	struct garbage_item *it;
	bool waits = false;
	vec_foreach (&b->garbage.waiting, w)
		if ((it = find_item(g, w)))
			it->waiting = true;
	drop_finished(b);
	vec_foreach (&b->garbage.added, a) {
		it = find_item(g, a);
		if (it) {
			it->waiting = false;
			item_done(a);
		} else {
			vec_push(&g->items, *a);
		}
	}
	vec_clear(&b->garbage.added); /* moved */
	vec_foreach (&g->items, i)
		waits |= i->waiting;
	if (!waits)
		return;
	vec_foreach (&b->changes, c) {
		if (c->op == STORE_DELETE && (c->object.flags & OBJECT_HAS_OWNERS))
			wake_owners(g, c);
		if (c->object.flags & OBJECT_DELETING) /* perhaps another finalizer of it went */
			wake(g, c->object.uid);
	}
}

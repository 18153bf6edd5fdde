/*
 * A batch: pending changes over snapshots, and their commit.
 *
 * At most a few hundred entries are pending at once, so they are found by comparing 64-bit hashes
 * along an array; that costs less than keeping a table.
 */
#include "registry/registry_priv.h"
#include <assert.h>
#include <errno.h>

static uint64_t hash_bytes(uint64_t h, const void *p, size_t n)
{
	const unsigned char *bytes = p;
	for (size_t i = 0; i < n; i++)
		h = (h ^ bytes[i]) * 0x100000001b3ull; /* FNV-1a */
	return (h ^ 0xff) * 0x100000001b3ull;
}

static uint64_t hash_object(uint16_t type, struct span ns, struct span name)
{
	uint64_t h = hash_bytes(0xcbf29ce484222325ull, &type, sizeof(type));
	return hash_bytes(hash_bytes(h, ns.ptr, ns.len), name.ptr, name.len);
}

static uint64_t hash_aux(enum registry_store s, uint8_t table, struct span key)
{
	uint64_t h = hash_bytes(0x84222325cbf29ce4ull, &table, sizeof(table));
	return hash_bytes(h + s, key.ptr, key.len);
}

enum registry_store batch_store_of(const struct registry *r, const struct kind *k)
{
	return k->mirrored && r->options.mirror ? REGISTRY_MIRROR : REGISTRY_TRUTH;
}

static struct store *store_at(const struct registry *r, enum registry_store s)
{
	return s == REGISTRY_MIRROR ? r->options.mirror : r->options.truth;
}

struct store *registry_store(const struct registry *r, const struct kind *k)
{
	return store_at(r, batch_store_of(r, k));
}

int registry_begin(struct registry *r, usec now, struct registry_batch **ret, struct err *reterr)
{
	struct registry_batch *b = &r->batch;
	assert(!b->open);
	(void)reterr;
	if (now > r->last_now)
		r->last_now = now;
	b->reg = r;
	b->now = r->last_now;
	b->open = true;
	*ret = b;
	return 0;
}

usec registry_now(const struct registry_batch *b)
{
	return b->now;
}

struct registry *registry_of(const struct registry_batch *b)
{
	return b->reg;
}

static void end_readers(struct registry_batch *b)
{
	for (size_t i = 0; i < REGISTRY_STORE_MAX; i++)
		b->readers[i] = store_read_end(b->readers[i]);
}

struct registry_batch *registry_end(struct registry_batch *b)
{
	if (!b)
		return NULL;
	end_readers(b);
	vec_foreach (&b->entries, e)
		object_draft_done(&(*e)->draft);
	vec_clear(&b->entries);
	vec_clear(&b->orders);
	vec_clear(&b->changes);
	garbage_batch_clear(&b->garbage);
	namespaces_batch_clear(&b->namespaces);
	belongings_batch_clear(&b->belongings);
	token_secrets_batch_clear(&b->token_secrets);
	definitions_batch_clear(&b->definitions);
	expiry_batch_clear(&b->expiry);
	memset(b->rows, 0, sizeof(b->rows));
	memset(b->revisions, 0, sizeof(b->revisions));
	b->bytes = 0;
	b->broken = ERR_INIT;
	b->open = b->committed = false;
	arena_reset(&b->mem);
	return NULL;
}

void batch_break(struct registry_batch *b, const struct err *why)
{
	if (b->broken.kind == ERR_NONE)
		b->broken = *why;
}

int batch_reader(struct registry_batch *b, enum registry_store s, struct store_reader **ret,
		 struct err *reterr)
{
	if (!b->readers[s]) {
		struct err why = ERR_INIT;
		int rc = store_read_begin(store_at(b->reg, s), &b->readers[s], &why);
		if (rc) {
			batch_break(b, &why);
			if (reterr)
				*reterr = why;
			return rc;
		}
	}
	*ret = b->readers[s];
	return 0;
}

int registry_reader(struct registry_batch *b, const struct kind *k, struct store_reader **ret,
		    struct err *reterr)
{
	return batch_reader(b, batch_store_of(b->reg, k), ret, reterr);
}

size_t registry_batch_room(const struct registry_batch *b)
{
	size_t most = 0;
	for (size_t i = 0; i < REGISTRY_STORE_MAX; i++)
		if (b->rows[i] > most)
			most = b->rows[i];
	return STORE_MAX_CHANGES - most;
}

size_t registry_batch_room_of(const struct registry_batch *b, const struct kind *k)
{
	return STORE_MAX_CHANGES - b->rows[batch_store_of(b->reg, k)];
}

bool registry_batch_full(const struct registry_batch *b)
{
	return registry_batch_room(b) < REGISTRY_RESERVE || b->bytes >= REGISTRY_BATCH_BYTES;
}

bool registry_batch_empty(const struct registry_batch *b)
{
	return b->rows[REGISTRY_TRUTH] == 0 && b->rows[REGISTRY_MIRROR] == 0;
}

static struct registry_entry *add_entry(struct registry_batch *b, enum registry_store s,
					uint64_t hash)
{
	assert(b->open && !b->committed && b->rows[s] < STORE_MAX_CHANGES);
	struct registry_entry *e = arena_new(&b->mem, struct registry_entry);
	e->hash = hash;
	e->store = s;
	b->rows[s]++;
	vec_push(&b->entries, e);
	return e;
}

struct registry_entry *batch_find(struct registry_batch *b, const struct kind *k, struct span ns,
				  struct span name)
{
	uint64_t hash = hash_object(k->type, ns, name);
	vec_foreach (&b->entries, it) {
		struct registry_entry *e = *it;
		if (e->hash == hash && e->kind && e->key.type == k->type &&
		    span_eq(e->key.ns, ns) && span_eq(e->key.name, name))
			return e;
	}
	return NULL;
}

static void pending_object(const struct registry_entry *e, struct store_object *ret)
{
	const struct object_draft *d = &e->draft;
	*ret = (struct store_object){
	    .key = e->key,
	    .revision = e->revision,
	    .create_revision = e->create_revision,
	    .flags = d->flags,
	    .extents = d->extents,
	    .digest = span_make(d->digest, d->digest_len),
	    .json = span_make(d->json, d->len),
	};
	memcpy(ret->uid, d->uid, STORE_UID_LEN);
}

static int stored_object(struct registry_batch *b, const struct kind *k, struct span ns,
			 struct span name, struct store_object *ret)
{
	struct store_reader *r;
	int rc = batch_reader(b, batch_store_of(b->reg, k), &r, NULL);
	if (rc)
		return rc;
	struct store_key key = {k->type, ns, name};
	rc = store_get(r, &key, ret);
	if (rc && rc != -ENOENT) {
		struct err why = ERR_INIT;
		err_set(&why, ERR_INTERNAL, "cannot read %s \"%.*s\"", k->plural, SPAN_ARGS(name));
		batch_break(b, &why);
	}
	return rc;
}

int registry_get(struct registry_batch *b, const struct kind *k, struct span ns, struct span name,
		 struct store_object *ret)
{
	const struct registry_entry *e = batch_find(b, k, ns, name);
	if (!e)
		return stored_object(b, k, ns, name, ret);
	if (e->op == STORE_DELETE || e->dropped)
		return -ENOENT;
	pending_object(e, ret);
	return 0;
}

static struct registry_entry *add_object(struct registry_batch *b, const struct kind *k,
					 struct span ns, struct span name)
{
	struct registry_entry *e =
	    add_entry(b, batch_store_of(b->reg, k), hash_object(k->type, ns, name));
	e->kind = k;
	e->key = (struct store_key){k->type, arena_span(&b->mem, ns), arena_span(&b->mem, name)};
	return e;
}

int registry_put(struct registry_batch *b, const struct kind *k, struct span ns, struct span name,
		 struct object_draft *take_draft)
{
	struct registry_entry *e = batch_find(b, k, ns, name);
	if (e && e->op == STORE_DELETE) {
		object_draft_done(take_draft);
		return -EINPROGRESS;
	}
	if (!e) {
		struct store_object old;
		int rc = stored_object(b, k, ns, name, &old);
		if (rc && rc != -ENOENT) {
			object_draft_done(take_draft);
			return rc;
		}
		e = add_object(b, k, ns, name);
		e->existed = rc == 0;
		e->create_revision = e->existed ? old.create_revision : 0;
	} else {
		b->bytes -= e->draft.len;
		object_draft_done(&e->draft);
	}
	e->op = STORE_PUT;
	e->dropped = false;
	e->draft = *take_draft;
	*take_draft = (struct object_draft){0};
	b->bytes += e->draft.len;
	return 0;
}

static void copy_object(struct arena *mem, const struct store_object *o, struct store_object *ret)
{
	*ret = *o;
	ret->digest = arena_span(mem, o->digest);
	ret->json = arena_span(mem, o->json);
}

void registry_put_last(struct registry_batch *b, const struct kind *k, struct span ns,
		       struct span name)
{
	struct registry_entry *e = batch_find(b, k, ns, name);
	size_t at = 0;

	/* What is new stays before the rows that it owns. */
	if (!e || e->op != STORE_PUT || !e->existed)
		return;
	while (b->entries.items[at] != e)
		at++;
	memmove(b->entries.items + at, b->entries.items + at + 1,
		(b->entries.len - at - 1) * sizeof(struct registry_entry *));
	b->entries.items[b->entries.len - 1] = e;
}

/* What a command wrote goes again before it is answered: it is answered with it all the same. */
static void give_back(struct registry_batch *b, struct registry_entry *e)
{
	b->bytes -= e->draft.len;
	for (size_t i = b->orders.len; i-- > 0;) {
		struct registry_order *o = &b->orders.items[i];
		if (o->entry == e && o->command && o->command->verb == COMMAND_UPDATE &&
		    !o->command->draft.json) {
			o->command->draft = e->draft;
			e->draft = (struct object_draft){0};
			return;
		}
	}
	object_draft_done(&e->draft);
}

int registry_delete(struct registry_batch *b, const struct kind *k, struct span ns,
		    struct span name, enum command_propagation how)
{
	struct store_object old;
	int rc = registry_get(b, k, ns, name, &old);
	if (rc)
		return rc;
	struct registry_entry *e = batch_find(b, k, ns, name);
	if (!e) {
		e = add_object(b, k, ns, name);
		e->existed = true;
	}
	copy_object(&b->mem, &old, &e->old);
	e->old.key = e->key;
	if (e->op == STORE_PUT)
		give_back(b, e);
	e->op = STORE_DELETE;
	e->dropped = !e->existed;
	if (garbage_has_dependents(b, e->old.uid))
		garbage_add(b, e->old.uid,
			    how == PROPAGATE_ORPHAN ? GARBAGE_ORPHAN : GARBAGE_BACKGROUND, NULL,
			    NULL);
	return 0;
}

static struct registry_entry *find_aux(struct registry_batch *b, enum registry_store s,
				       uint8_t table, struct span key, uint64_t hash)
{
	vec_foreach (&b->entries, it) {
		struct registry_entry *e = *it;
		if (e->hash == hash && !e->kind && e->store == s && e->aux_table == table &&
		    span_eq(e->aux_key, key))
			return e;
	}
	return NULL;
}

static enum registry_store aux_store(const struct registry_batch *b, bool mirror)
{
	return mirror && b->reg->options.mirror ? REGISTRY_MIRROR : REGISTRY_TRUTH;
}

static void set_aux(struct registry_batch *b, bool mirror, enum store_op op, uint8_t table,
		    struct span key, struct span value)
{
	enum registry_store s = aux_store(b, mirror);
	uint64_t hash = hash_aux(s, table, key);
	struct registry_entry *e = find_aux(b, s, table, key, hash);
	if (!e) {
		e = add_entry(b, s, hash);
		e->aux_table = table;
		e->aux_key = arena_span(&b->mem, key);
	}
	e->op = op;
	e->aux_value = arena_span(&b->mem, value);
	b->bytes += value.len;
}

void registry_put_aux(struct registry_batch *b, bool mirror, enum store_aux table, struct span key,
		      struct span value)
{
	set_aux(b, mirror, STORE_PUT_AUX, (uint8_t)table, key, value);
}

void registry_delete_aux(struct registry_batch *b, bool mirror, enum store_aux table,
			 struct span key)
{
	set_aux(b, mirror, STORE_DELETE_AUX, (uint8_t)table, key, SPAN_NONE);
}

int registry_get_aux(struct registry_batch *b, bool mirror, enum store_aux table, struct span key,
		     struct span *ret)
{
	enum registry_store s = aux_store(b, mirror);
	const struct registry_entry *e =
	    find_aux(b, s, (uint8_t)table, key, hash_aux(s, (uint8_t)table, key));
	if (e && e->op == STORE_DELETE_AUX)
		return -ENOENT;
	if (e) {
		*ret = e->aux_value;
		return 0;
	}
	struct store_reader *r;
	int rc = batch_reader(b, s, &r, NULL);
	return rc ? rc : store_get_aux(r, (uint8_t)table, key, ret);
}

/* ---- commit ---- */

static void fill_change(const struct registry_entry *e, struct store_change *c)
{
	*c = (struct store_change){0};
	if (!e->kind)
		*c = (struct store_change){
		    .aux_table = e->aux_table, .aux_key = e->aux_key, .aux_value = e->aux_value};
	else if (e->op == STORE_PUT)
		object_draft_change(&e->draft, &e->key, c);
	c->op = e->op;
	c->key = e->key;
}

static int apply(struct registry_batch *b, enum registry_store s, struct err *reterr)
{
	struct store_change changes[STORE_MAX_CHANGES];
	struct registry_entry *from[STORE_MAX_CHANGES];
	size_t n = 0;
	vec_foreach (&b->entries, it) {
		if ((*it)->store != s || (*it)->dropped)
			continue;
		fill_change(*it, &changes[n]);
		from[n++] = *it;
	}
	if (!n)
		return 0;
	int rc = store_apply(store_at(b->reg, s), changes, n, b->now, reterr);
	if (rc)
		return rc;
	for (size_t i = 0; i < n; i++) {
		from[i]->revision = changes[i].ret_revision;
		if (changes[i].ret_create_revision)
			from[i]->create_revision = changes[i].ret_create_revision;
		if (changes[i].ret_revision > b->revisions[s])
			b->revisions[s] = changes[i].ret_revision;
	}
	return 0;
}

static void list_changes(struct registry_batch *b)
{
	vec_foreach (&b->entries, it) {
		struct registry_entry *e = *it;
		if (!e->kind || e->dropped)
			continue;
		struct registry_change c = {.kind = e->kind, .op = e->op};
		if (e->op == STORE_PUT) {
			c.created = !e->existed;
			c.draft = &e->draft;
			pending_object(e, &c.object);
		} else {
			c.object = e->old;
			c.object.revision = e->revision;
		}
		vec_push(&b->changes, c);
	}
}

static void settle(struct registry_batch *b, const struct err *failed)
{
	vec_foreach (&b->orders, o) {
		if (o->settled)
			continue;
		if (failed)
			o->command->err = *failed;
		else if (o->entry)
			o->command->revision = o->entry->revision;
	}
}

int registry_commit(struct registry_batch *b, struct err *reterr)
{
	struct err why = b->broken;
	int rc = why.kind == ERR_NONE ? 0 : err_errno(why.kind);
	assert(b->open && !b->committed);
	end_readers(b); /* a writer never waits for its own snapshot */
	if (!rc)
		rc = apply(b, REGISTRY_MIRROR, &why);
	if (!rc)
		rc = apply(b, REGISTRY_TRUTH, &why);
	if (rc) {
		settle(b, &why);
		if (reterr)
			*reterr = why;
		return rc;
	}
	b->committed = true;
	list_changes(b);
	settle(b, NULL);
	garbage_committed(b);
	namespaces_committed(b);
	belongings_committed(b);
	token_secrets_committed(b);
	definitions_committed(b);
	expiry_committed(b);
	return 0;
}

const struct registry_change *registry_changes(const struct registry_batch *b, size_t *ret_n)
{
	*ret_n = b->changes.len;
	return b->changes.items;
}

uint64_t registry_truth_revision(const struct registry_batch *b)
{
	return b->revisions[REGISTRY_TRUTH];
}

uint64_t registry_mirror_revision(const struct registry_batch *b)
{
	return b->revisions[REGISTRY_MIRROR];
}

void registry_reply(struct registry_batch *b)
{
	vec_foreach (&b->orders, o)
		if (o->command)
			o->command->done(o->command);
	vec_clear(&b->orders);
}

void registry_answer(struct registry_batch *b, struct command *c)
{
	vec_push(&b->orders, (struct registry_order){.command = c, .settled = true});
}

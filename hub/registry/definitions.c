#include "registry/definitions.h"

#include "base/json.h"
#include "base/num.h"
#include "kube/crd.h"
#include "kube/crd_builtin.h"
#include "kube/meta.h"
#include "registry/definition_status.h"
#include "registry/edit.h"
#include "registry/registry_priv.h"

#include <errno.h>

#define TYPE_KEY "user-type/" /* + uid -> "<type> <stored version>" */
/* Objects that were defaulted by the schema before, and are not committed yet: the core's queue and
 * what the workers have, generously. */
#define WRITES_UNDER_WAY 16384
#define NEXT_TYPE	 "next-user-type"
#define ROWS_EACH	 2
/* Objects looked at per step, removed or not. */
#define STEP_OBJECTS 256

static struct span type_key(const uint8_t uid[STORE_UID_LEN], char out[64])
{
	char text[OBJECT_UID_TEXT];
	(void)snprintf(out, 64, TYPE_KEY "%s", object_uid_format(uid, text));
	return span_of(out);
}

static void item_done(struct definitions_item *it)
{
	free(it->name);
	free(it->stored_version);
	definition_unref(it->compiled);
}

void definitions_done(struct definitions *d)
{
	vec_foreach (&d->items, it)
		item_done(it);
	vec_done(&d->items);
	kind_source_done(&d->source);
}

void definitions_batch_clear(struct definitions_batch *db)
{
	free(db->stored_version);
	*db = (struct definitions_batch){0};
}

bool definitions_is_builtin(const struct definitions *d, const char *name)
{
	return crd_builtin_has(d->base, name);
}

/* ---- memory ---- */

static struct definitions_item *find(struct definitions *d, struct span name)
{
	vec_foreach (&d->items, it)
		if (span_is(name, it->name))
			return it;
	return NULL;
}

/* "4096 v1" */
static bool parse_type(struct span value, uint16_t *ret_type, struct span *ret_version)
{
	struct span rest = value, number = span_split(&rest, ' ');
	uint64_t type;

	if (!rest.len || num_parse_u64(number, UINT16_MAX, &type) < 0 ||
	    type < KIND_FIRST_USER_TYPE)
		return false;
	*ret_type = (uint16_t)type;
	*ret_version = rest;
	return true;
}

/* Serves what the object says, if it is established. A definition that does not compile, which
 * only a newer program can have written, is left as it was. */
static void compile(struct registry *r, struct definitions_item *it,
		    const struct store_object *object)
{
	struct definitions *d = &r->definitions;
	/* A pending change has no revision yet: it gets one after all that are committed. */
	uint64_t revision =
	    object->revision ? object->revision : store_revision(registry_store(r, d->kind)) + 1;
	struct definition *made = NULL;
	struct definition_options o = {.json = object->json,
				       .defaults_since = revision + WRITES_UNDER_WAY,
				       .type = it->type,
				       .stored_version = it->stored_version,
				       .object_meta = crd_object_meta(d->kind)};

	if (!it->type || !definition_status_established(object->json) ||
	    definition_compile(&o, &made, NULL) < 0)
		return;
	definition_unref(it->compiled);
	it->compiled = made;
}

static void publish(struct registry *r)
{
	struct definitions *d = &r->definitions;
	struct VEC(struct definition *) list = {0};

	vec_foreach (&d->items, it)
		if (it->compiled)
			vec_push(&list, it->compiled);
	kind_source_publish(&d->source, kind_set_create(d->base, list.items, list.len));
	vec_done(&list);
	r->options.kinds = definitions_kinds(d);
	namespaces_kinds_changed(&r->namespaces);
}

static void add(struct registry *r, struct store_reader *reader, const struct store_object *o)
{
	struct definitions_item it = {.name = xstrndup(o->key.name.ptr, o->key.name.len),
				      .dirty = true};
	struct span value, version;
	char key[64];

	memcpy(it.uid, o->uid, STORE_UID_LEN);
	if (reader &&
	    store_get_aux(reader, STORE_AUX_SETTING, type_key(it.uid, key), &value) == 0 &&
	    parse_type(value, &it.type, &version))
		it.stored_version = xstrndup(version.ptr, version.len);
	compile(r, &it, o);
	vec_push(&r->definitions.items, it);
}

int definitions_load(struct registry *r, struct err *reterr)
{
	struct definitions *d = &r->definitions;
	auto_reader *reader = NULL;
	struct store_iter *iter = NULL;
	struct store_object o;
	int failed = 0;

	d->base = r->options.kinds;
	kind_source_init(&d->source, d->base);
	d->kind = kind_by_gvk(d->base, SPAN("apiextensions.k8s.io"), SPAN("v1"),
			      SPAN("CustomResourceDefinition"));
	if (!d->kind)
		return 0;
	struct store_range range = {.type = d->kind->type};
	int rc = store_read_begin(registry_store(r, d->kind), &reader, reterr);
	if (!rc)
		rc = store_iter_begin(reader, &range, &iter, reterr);
	if (rc)
		return rc;
	while (store_iter_next(iter, &o, &failed)) {
		auto_free char *name = xstrndup(o.key.name.ptr, o.key.name.len);
		if (!definitions_is_builtin(d, name))
			add(r, reader, &o);
	}
	store_iter_end(iter);
	if (failed)
		return err_set(reterr, ERR_INTERNAL, "cannot read the definitions");
	if (d->items.len)
		publish(r);
	return 0;
}

/* ---- work ---- */

static struct definitions_item *first_due(const struct definitions *d)
{
	vec_foreach (&d->items, it)
		if (it->dirty && !it->waiting)
			return it;
	return NULL;
}

bool definitions_is_due(const struct definitions *d)
{
	return first_due(d) != NULL;
}

/* The definition, accepted already, that stands in the way of these names; by its words. */
static const char *find_conflict(const struct definitions *d, const struct definitions_item *self,
				 const struct cJSON *object, const char **ret_reason)
{
	const struct definition_names names = definition_status_names(object);

	for (size_t i = 0; i < d->base->n_kinds; i++) {
		const char *taken =
		    definition_status_conflict(&names, d->base->kinds[i], ret_reason);
		if (taken)
			return taken;
	}
	vec_foreach (&d->items, it) {
		if (it == self || !it->compiled)
			continue;
		const char *taken =
		    definition_status_conflict(&names, definition_stored(it->compiled), ret_reason);
		if (taken)
			return taken;
	}
	return NULL;
}

/* A number that no definition ever had. */
static int give_type(struct registry_batch *b, const struct definitions_item *it,
		     const struct cJSON *object, struct definitions_batch *db)
{
	const char *version = crd_storage_version(object);
	struct span value;
	uint64_t next = KIND_FIRST_USER_TYPE;
	char key[64], text[128];

	if (registry_get_aux(b, false, STORE_AUX_SETTING, SPAN(NEXT_TYPE), &value) == 0 &&
	    num_parse_u64(value, UINT64_MAX, &next) < 0)
		return -EINVAL;
	if (!version || next > UINT16_MAX)
		return -ENOSPC;
	db->type = (uint16_t)next;
	db->stored_version = xstrdup(version);
	(void)snprintf(text, sizeof(text), "%u %.100s", db->type, version);
	registry_put_aux(b, false, STORE_AUX_SETTING, type_key(it->uid, key), span_of(text));
	(void)snprintf(text, sizeof(text), "%llu", (unsigned long long)next + 1);
	registry_put_aux(b, false, STORE_AUX_SETTING, SPAN(NEXT_TYPE), span_of(text));
	return 0;
}

static int put(struct registry_batch *b, const struct store_object *o, const struct cJSON *before,
	       struct cJSON *tree)
{
	struct object_draft draft;
	struct err why = ERR_INIT;
	const struct kind *k = b->reg->definitions.kind;
	int rc;

	registry_record(b, k, "status", before, tree);
	rc = object_draft_from_tree(k, tree, &draft, &why);
	if (rc) {
		batch_break(b, &why);
		return rc;
	}
	return registry_put(b, k, o->key.ns, o->key.name, &draft);
}

/* Accepts, or says why not. */
static int settle(struct registry_batch *b, struct definitions_item *it,
		  const struct store_object *o, struct cJSON *tree, struct definitions_batch *db,
		  size_t *rows)
{
	struct definitions *d = &b->reg->definitions;
	const char *reason = NULL, *taken = find_conflict(d, it, tree, &reason);
	auto_json *before = json_dup(tree);

	if (!taken && !it->type && (d->items.len > DEFINITIONS_MAX || give_type(b, it, tree, db))) {
		taken = "there are too many definitions";
		reason = "TooManyDefinitions";
	}
	if (db->type)
		*rows -= 2;
	definition_status_set(tree, taken, reason, registry_now(b));
	if (!taken)
		(void)meta_add_finalizer(tree, CRD_FINALIZER);
	if (json_equal(before, tree))
		return 0;
	*rows -= 1;
	return put(b, o, before, tree);
}

/* Removes objects of the type. *ret_left: some stay, because of their finalizers; 1: done. */
static int empty(struct registry_batch *b, const struct kind *k, size_t *rows, size_t *ret_left)
{
	struct store_range range = {.type = k->type};
	struct store_reader *reader;
	struct store_iter *iter;
	struct store_object o;
	size_t looked = 0;
	bool stopped = false;
	int failed = 0, rc = registry_reader(b, k, &reader, NULL);

	if (!rc)
		rc = store_iter_begin(reader, &range, &iter, NULL);
	if (rc)
		return rc;
	while (!rc && !stopped && store_iter_next(iter, &o, &failed)) {
		bool stays = o.flags & OBJECT_HAS_FINALIZERS;
		*ret_left += 1;
		if (stays && (o.flags & OBJECT_DELETING))
			continue;
		stopped = *rows <= ROWS_EACH || looked++ == STEP_OBJECTS;
		if (stopped)
			break;
		rc = registry_remove(b, k, arena_span(&b->mem, o.key.ns),
				     arena_span(&b->mem, o.key.name), PROPAGATE_BACKGROUND);
		rc = rc == -ENOENT ? 0 : rc;
		*rows -= ROWS_EACH;
		looked++;
	}
	store_iter_end(iter);
	if (rc || failed)
		return rc ? rc : failed;
	return stopped || looked ? 0 : 1;
}

/* Its objects go, then it. */
static int end(struct registry_batch *b, struct definitions_item *it, const struct store_object *o,
	       struct cJSON *tree, struct definitions_batch *db, size_t *rows)
{
	const struct kind *k = it->compiled ? definition_stored(it->compiled) : NULL;
	size_t left = 0;
	int rc = k ? empty(b, k, rows, &left) : 1;

	if (rc <= 0) {
		db->settled = false;
		return rc;
	}
	if (left) {
		auto_json *before = json_dup(tree);
		db->waiting = true;
		if (!definition_status_terminating(tree, registry_now(b)))
			return 0;
		*rows -= 1;
		return put(b, o, before, tree);
	}
	char key[64];
	registry_delete_aux(b, false, STORE_AUX_SETTING, type_key(it->uid, key));
	*rows -= 3;
	return edit_drop_finalizer(b, b->reg->definitions.kind, o, CRD_FINALIZER);
}

bool definitions_work(struct registry_batch *b, size_t *rows)
{
	struct definitions *d = &b->reg->definitions;
	struct definitions_item *it = first_due(d);
	struct store_object o;
	struct err why = ERR_INIT;
	auto_json *tree = NULL;

	if (!it || *rows < REGISTRY_RESERVE)
		return it != NULL;
	struct definitions_batch db = {
	    .moved = true, .item = (size_t)(it - d->items.items), .settled = true};
	int rc = registry_get(b, d->kind, SPAN(""), span_of(it->name), &o);
	if (rc == 0)
		rc = object_tree(&o, &tree, &why);
	if (rc == 0 && (o.flags & OBJECT_DELETING))
		rc = end(b, it, &o, tree, &db, rows);
	else if (rc == 0)
		rc = settle(b, it, &o, tree, &db, rows);
	if (rc < 0 && rc != -ENOENT) {
		if (why.kind == ERR_NONE)
			(void)err_set(&why, ERR_INTERNAL, "cannot settle definition %s", it->name);
		batch_break(b, &why);
	}
	definitions_batch_clear(&b->definitions);
	b->definitions = db;
	return true;
}

/* ---- after the commit ---- */

static void took_step(struct definitions *d, struct definitions_batch *db)
{
	struct definitions_item *it;

	if (!db->moved)
		return;
	it = &d->items.items[db->item];
	it->dirty = !db->settled || db->waiting;
	it->waiting = db->waiting;
	if (db->type) {
		it->type = db->type;
		it->stored_version = db->stored_version;
		db->stored_version = NULL;
	}
	definitions_batch_clear(db);
}

static void drop(struct definitions *d, struct definitions_item *it)
{
	size_t at = (size_t)(it - d->items.items);

	item_done(it);
	memmove(it, it + 1, (d->items.len - at - 1) * sizeof(*it));
	d->items.len--;
	/* Its names are free: perhaps somebody waits for them. */
	vec_foreach (&d->items, other)
		other->dirty |= !other->compiled;
}

/* True when what is served changed. */
static bool changed(struct registry *r, const struct registry_change *c, bool ours)
{
	struct definitions *d = &r->definitions;
	struct definitions_item *it = find(d, c->object.key.name);
	auto_free char *name = xstrndup(c->object.key.name.ptr, c->object.key.name.len);

	if (definitions_is_builtin(d, name))
		return false;
	if (c->op == STORE_DELETE) {
		bool served = it && it->compiled;
		if (it)
			drop(d, it);
		return served;
	}
	if (!it) {
		add(r, NULL, &c->object);
		return false;
	}
	it->dirty |= !ours;
	it->waiting &= ours;
	const struct definition *before = it->compiled;
	compile(r, it, &c->object);
	return it->compiled != before;
}

/* An object of a definition that is being deleted went. */
static void object_went(struct definitions *d, const struct registry_change *c)
{
	vec_foreach (&d->items, it)
		if (it->type == c->object.key.type)
			it->waiting = false;
}

void definitions_committed(struct registry_batch *b)
{
	struct definitions *d = &b->reg->definitions;
	struct span ours = SPAN_NONE;
	bool served = false;

	if (!d->kind)
		return;
	if (b->definitions.moved)
		ours = span_of(d->items.items[b->definitions.item].name);
	ours = arena_span(&b->mem, ours);
	took_step(d, &b->definitions);
	vec_foreach (&b->changes, c) {
		if (c->kind == d->kind)
			served |= changed(b->reg, c, ours.ptr && span_eq(ours, c->object.key.name));
		else if (c->op == STORE_DELETE && c->object.key.type >= KIND_FIRST_USER_TYPE)
			object_went(d, c);
	}
	if (served)
		publish(b->reg);
}

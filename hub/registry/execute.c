/*
 * Commands against a batch: what an API server checks when the object's own content is already
 * known to be good. Words follow apimachinery (kubernetes-api.md 1.6).
 */
#include "base/buf.h"
#include "kinds/system_classes.h"
#include "registry/edit.h"
#include "registry/owner_refs.h"
#include "registry/registry_priv.h"
#include <errno.h>

static int conflict(const struct command *c, struct err *reterr)
{
	char resource[KIND_API_VERSION_MAX];
	return err_set(reterr, ERR_CONFLICT,
		       "Operation cannot be fulfilled on %s \"%s\": the object has been modified; "
		       "please apply your changes to the latest version and try again",
		       kind_resource_name(c->kind, resource), c->name);
}

static int not_found(const struct command *c, struct err *reterr)
{
	char resource[KIND_API_VERSION_MAX];
	return err_set(reterr, ERR_NOT_FOUND, "%s \"%s\" not found",
		       kind_resource_name(c->kind, resource), c->name);
}

static int read_failed(const struct registry_batch *b, struct err *reterr)
{
	*reterr = b->broken;
	return err_errno(b->broken.kind);
}

/* The object that a command is about, at the revision that its sender saw. */
static int current(struct registry_batch *b, const struct command *c, struct store_object *ret,
		   struct err *reterr)
{
	int rc = registry_get(b, c->kind, span_of(c->ns), span_of(c->name), ret);
	if (rc == -ENOENT)
		return not_found(c, reterr);
	if (rc)
		return read_failed(b, reterr);
	/* Changed earlier in this batch: nobody can have seen that state. */
	return ret->revision != c->expected_revision ? conflict(c, reterr) : 0;
}

static int check_namespace(struct registry_batch *b, const struct command *c, struct err *reterr)
{
	const struct kind *nk = b->reg->namespace_kind;
	char resource[KIND_API_VERSION_MAX];
	struct store_object ns;
	if (c->kind->scope != KIND_NAMESPACED || !nk)
		return 0;
	int rc = registry_get(b, nk, SPAN(""), span_of(c->ns), &ns);
	if (rc == -ENOENT)
		return err_set_field(reterr, ERR_NOT_FOUND, "metadata.namespace",
				     "namespaces \"%s\" not found", c->ns);
	if (rc)
		return read_failed(b, reterr);
	if (!(ns.flags & OBJECT_DELETING))
		return 0;
	return err_set_field(reterr, ERR_FORBIDDEN, "metadata.namespace",
			     "%s \"%s\" is forbidden: unable to create new content in namespace %s "
			     "because it is being terminated",
			     kind_resource_name(c->kind, resource), c->name, c->ns);
}

static void accept(struct registry_batch *b, struct command *c, bool changed)
{
	struct registry_entry *e = NULL;
	if (changed)
		e = batch_find(b, c->kind, span_of(c->ns), span_of(c->name));
	vec_push(&b->orders, (struct registry_order){.command = c, .entry = e});
}

static int put(struct registry_batch *b, struct command *c)
{
	int rc = registry_put(b, c->kind, span_of(c->ns), span_of(c->name), &c->draft);
	if (rc)
		return read_failed(b, &c->err);
	accept(b, c, true);
	return 0;
}

static int check_absent(struct registry_batch *b, const struct command *c, struct err *reterr)
{
	char resource[KIND_API_VERSION_MAX];
	struct store_object o;
	int rc = registry_get(b, c->kind, span_of(c->ns), span_of(c->name), &o);
	if (rc == -ENOENT)
		return 0;
	if (rc)
		return read_failed(b, reterr);
	return err_set(reterr, ERR_ALREADY_EXISTS, "%s%s \"%s\" already exists",
		       o.flags & OBJECT_DELETING ? "object is being deleted: " : "",
		       kind_resource_name(c->kind, resource), c->name);
}

static void draft_view(const struct command *c, struct store_object *ret)
{
	const struct object_draft *d = &c->draft;
	*ret = (struct store_object){
	    .key = {c->kind->type, span_of(c->ns), span_of(c->name)},
	    .flags = d->flags,
	    .extents = d->extents,
	    .json = span_make(d->json, d->len),
	};
	memcpy(ret->uid, d->uid, STORE_UID_LEN);
}

static int execute_create(struct registry_batch *b, struct command *c)
{
	const struct registry_entry *e = batch_find(b, c->kind, span_of(c->ns), span_of(c->name));
	if (e && e->op == STORE_DELETE)
		return -EINPROGRESS;
	int rc = check_namespace(b, c, &c->err);
	if (!rc)
		rc = check_absent(b, c, &c->err);
	if (!rc && c->kind == b->reg->namespace_kind)
		rc = edit_namespace_birth(c->kind, &c->draft, span_of(c->name), &c->err);
	if (rc)
		return rc;
	if (c->dry_run) {
		accept(b, c, false);
		return 0;
	}
	if (c->draft.flags & OBJECT_HAS_OWNERS) {
		struct store_object view;
		draft_view(c, &view);
		garbage_check_owners(b, &view);
	}
	rc = put(b, c);
	if (!rc && c->kind == b->reg->namespace_kind)
		rc = registry_ensure_namespace(b, c->name, &c->err);
	return rc;
}

/* Equal but for the digits of the revision. */
static bool same_bytes(const struct store_object *o, const struct object_draft *d)
{
	size_t at = o->extents.revision.at, digits = o->extents.revision.len;
	if (at != d->extents.revision.at || o->json.len != d->len + digits || at > d->len)
		return false;
	return memcmp(o->json.ptr, d->json, at) == 0 &&
	       memcmp(o->json.ptr + at + digits, d->json + at, d->len - at) == 0;
}

/* Whether an object that is being deleted asks the collector for this. */
static bool asks(const struct store_object *o, const char *finalizer)
{
	return (o->flags & OBJECT_DELETING) && owner_refs_has_finalizer(o, finalizer);
}

/* What a deletion that begins, or changes its mind, with this update asks of the collector. */
static void begin_collection(struct registry_batch *b, const struct command *c,
			     const struct store_object *old)
{
	struct store_object view;
	draft_view(c, &view);
	if (asks(&view, EDIT_FOREGROUND) && !asks(old, EDIT_FOREGROUND))
		garbage_add(b, view.uid, GARBAGE_FOREGROUND, c->kind, &view.key);
	else if (asks(&view, EDIT_ORPHAN) && !asks(old, EDIT_ORPHAN))
		garbage_add(b, view.uid, GARBAGE_ORPHAN, c->kind, &view.key);
}

static int execute_update(struct registry_batch *b, struct command *c)
{
	struct store_object old;
	int rc = current(b, c, &old, &c->err);
	if (rc)
		return rc;
	if (memcmp(old.uid, c->draft.uid, STORE_UID_LEN) != 0)
		return conflict(c, &c->err);
	if (c->dry_run || same_bytes(&old, &c->draft)) {
		c->revision = old.revision;
		accept(b, c, false);
		return 0;
	}
	store_flags flags = c->draft.flags;
	bool deleting = flags & OBJECT_DELETING;
	if (deleting && !(flags & OBJECT_HAS_FINALIZERS) && c->kind != b->reg->namespace_kind &&
	    !registry_in_use(b->reg, c->kind, &old)) {
		rc = registry_delete(b, c->kind, span_of(c->ns), span_of(c->name), c->propagation);
		if (rc)
			return read_failed(b, &c->err);
		accept(b, c, true);
		return 0;
	}
	if (deleting && (flags & OBJECT_HAS_FINALIZERS))
		begin_collection(b, c, &old);
	if ((flags & OBJECT_HAS_OWNERS) && !(old.flags & OBJECT_HAS_OWNERS)) {
		struct store_object view;
		draft_view(c, &view);
		garbage_check_owners(b, &view);
	}
	return put(b, c);
}

static int execute_delete(struct registry_batch *b, struct command *c)
{
	struct store_object old;
	int rc = current(b, c, &old, &c->err);
	if (rc)
		return rc;
	if (c->kind == b->reg->namespace_kind && namespaces_is_immortal(span_of(c->name)))
		return err_set(&c->err, ERR_FORBIDDEN,
			       "namespaces \"%s\" is forbidden: this namespace may not be deleted",
			       c->name);
	if (c->kind == b->reg->priority_class_kind && c->kind &&
	    system_class_find(span_of(c->name)))
		return err_set(&c->err, ERR_FORBIDDEN,
			       "priorityclasses.scheduling.k8s.io \"%s\" is forbidden: this is a "
			       "system priority class and cannot be deleted",
			       c->name);
	c->revision = old.revision;
	if (c->dry_run) {
		accept(b, c, false);
		return 0;
	}
	rc = c->force && registry_in_use(b->reg, c->kind, &old)
		 ? registry_delete(b, c->kind, span_of(c->ns), span_of(c->name), c->propagation)
		 : registry_remove(b, c->kind, span_of(c->ns), span_of(c->name), c->propagation);
	if (rc)
		return read_failed(b, &c->err);
	accept(b, c, true);
	return 0;
}

/* A user's kind may have gone, or changed, since the command was made. */
static int check_kind(const struct registry_batch *b, struct command *c)
{
	if (!c->kind || c->kind->type < KIND_FIRST_USER_TYPE)
		return 0;
	c->kind = kind_by_type(b->reg->options.kinds, c->kind->type);
	if (!c->kind)
		return err_set(&c->err, ERR_NOT_FOUND,
			       "the server could not find the requested resource");
	if (c->kind->terminating && c->verb == COMMAND_CREATE)
		return err_set(&c->err, ERR_METHOD_NOT_ALLOWED,
			       "create not allowed while custom resource definition is "
			       "terminating");
	return 0;
}

static bool is_builtin(const struct registry_batch *b, const struct command *c)
{
	const struct definitions *d = &b->reg->definitions;
	return d->kind && c->kind == d->kind && definitions_is_builtin(d, c->name);
}

/* The definition of a compiled kind is what its tables say. */
static int execute_builtin(struct registry_batch *b, struct command *c)
{
	struct store_object o;

	if (registry_get(b, c->kind, SPAN(""), span_of(c->name), &o))
		return not_found(c, &c->err);
	if (c->verb == COMMAND_DELETE)
		return err_set(&c->err, ERR_FORBIDDEN,
			       "customresourcedefinitions.apiextensions.k8s.io \"%s\" is "
			       "forbidden: this server serves the kind itself",
			       c->name);
	auto_buf words = BUF_INIT;
	buf_addf(&words,
		 "this server serves %s itself: its definition is built in and stays as it is\n",
		 c->name);
	free(c->warnings);
	c->warnings = xstrdup(words.ptr);
	c->revision = o.revision;
	accept(b, c, false);
	return 0;
}

int registry_execute(struct registry_batch *b, struct command *c)
{
	int rc = check_kind(b, c);
	if (rc) {
		registry_answer(b, c);
		return rc;
	}
	if (c->verb != COMMAND_QUERY && is_builtin(b, c)) {
		rc = execute_builtin(b, c);
		if (rc)
			registry_answer(b, c);
		return rc;
	}
	switch (c->verb) {
	case COMMAND_CREATE:
		rc = execute_create(b, c);
		break;
	case COMMAND_UPDATE:
		rc = execute_update(b, c);
		break;
	case COMMAND_DELETE:
		rc = execute_delete(b, c);
		break;
	default:
		rc = err_set(&c->err, ERR_NOT_FOUND,
			     "the server could not find the requested resource");
	}
	if (rc && rc != -EINPROGRESS)
		registry_answer(b, c);
	return rc;
}

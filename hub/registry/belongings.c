#include "registry/belongings.h"

#include "base/json.h"
#include "registry/registry_priv.h"
#include <errno.h>

#define ACCOUNT	  "default"
#define ROOT_CA	  "kube-root-ca.crt"
#define ROOT_KEY  "ca.crt"
#define ROWS_EACH 2
/* Namespaces looked at per step of the walk: two reads of the store each. */
#define STEP_NAMESPACES 64

#define ABOUT_KEY "kubernetes.io/description"
#define ABOUT                                                                                      \
	"The certificate authority of this API server's serving certificate. It is for verifying " \
	"this server, and nothing else."

void belongings_done(struct belongings *n)
{
	vec_foreach (&n->named, name)
		free(*name);
	vec_done(&n->named);
	free(n->root_ca);
	free(n->after);
}

void belongings_batch_clear(struct belongings_batch *nb)
{
	free(nb->after);
	*nb = (struct belongings_batch){0};
}

/* ---- one namespace ---- */

static bool is_published(const struct cJSON *object, const char *root_ca)
{
	const struct cJSON *data = json_get(object, "data");
	const char *pem = json_str(data, ROOT_KEY);
	const char *about = json_str(json_path(object, "metadata", "annotations", NULL), ABOUT_KEY);

	return pem && strcmp(pem, root_ca) == 0 && json_len(data) == 1 && about &&
	       strcmp(about, ABOUT) == 0;
}

static int publish(struct registry_batch *b, struct span ns, const struct cJSON *old,
		   struct cJSON *object)
{
	const struct kind *k = b->reg->config_map_kind;
	struct cJSON *metadata = json_ensure_object(object, "metadata"), *data = json_object();
	struct object_draft d;
	struct err why = ERR_INIT;
	int rc;

	json_set_str(json_ensure_object(metadata, "annotations"), ABOUT_KEY, ABOUT);
	json_set_str(data, ROOT_KEY, b->reg->belongings.root_ca);
	json_set(object, "data", data);
	registry_record(b, k, "", old, object);
	rc = object_draft_from_tree(k, object, &d, &why);
	if (rc)
		batch_break(b, &why);
	return rc ? rc : registry_put(b, k, ns, SPAN(ROOT_CA), &d);
}

static int ensure_root_ca(struct registry_batch *b, struct span ns)
{
	const struct kind *k = b->reg->config_map_kind;
	const char *root_ca = b->reg->belongings.root_ca;
	auto_json *object = NULL, *old = NULL;
	struct store_object o;
	int rc;

	if (!k || !root_ca)
		return 0;
	rc = registry_get(b, k, ns, SPAN(ROOT_CA), &o);
	if (rc == -ENOENT)
		object = registry_new_tree(b, k, ns, ROOT_CA);
	else if (!rc && (o.flags & OBJECT_DELETING))
		return 0; /* its end brings us back */
	else if (!rc)
		rc = object_tree(&o, &object, NULL);
	if (!object || is_published(object, root_ca))
		return object ? 0 : rc;
	if (!rc)
		old = json_dup(object);
	return publish(b, ns, old, object);
}

static int ensure_account(struct registry_batch *b, struct span ns)
{
	const struct kind *k = b->reg->service_account_kind;
	struct store_object o;
	int rc = k ? registry_get(b, k, ns, SPAN(ACCOUNT), &o) : 0;

	if (rc == -ENOENT) {
		auto_json *object = registry_new_tree(b, k, ns, ACCOUNT);
		rc = registry_put_tree(b, k, ns, ACCOUNT, object);
	}
	return rc;
}

int belongings_ensure(struct registry_batch *b, struct span ns)
{
	int rc = ensure_account(b, ns);
	return rc ? rc : ensure_root_ca(b, ns);
}

static int look_at(struct registry_batch *b, struct span ns)
{
	struct store_object o;
	int rc = registry_get(b, b->reg->namespace_kind, SPAN(""), ns, &o);

	if (rc || (o.flags & OBJECT_DELETING))
		return rc == -ENOENT ? 0 : rc;
	return belongings_ensure(b, ns);
}

/* ---- work ---- */

static size_t rows_of(const struct registry_batch *b)
{
	return b->rows[REGISTRY_TRUTH];
}

/* One namespace against the room that is left. False: not now. */
static bool take(struct registry_batch *b, struct span ns, size_t *rows)
{
	size_t before = rows_of(b), used;

	if (*rows < ROWS_EACH || registry_batch_full(b) || look_at(b, ns))
		return false;
	used = rows_of(b) - before;
	*rows -= used < *rows ? used : *rows;
	return true;
}

static bool walk(struct registry_batch *b, size_t *rows)
{
	const struct belongings *n = &b->reg->belongings;
	const struct kind *k = b->reg->namespace_kind;
	struct store_key after = {k->type, SPAN(""), span_of(n->after)};
	struct store_range range = {.type = k->type, .after = n->after ? &after : NULL};
	struct store_reader *reader;
	struct store_iter *it;
	struct store_object o;
	int failed = 0, looked = 0, rc = registry_reader(b, k, &reader, NULL);
	bool ended = true;

	if (!rc)
		rc = store_iter_begin(reader, &range, &it, NULL);
	if (rc)
		return false;
	while (store_iter_next(it, &o, &failed)) {
		struct span name = arena_span(&b->mem, o.key.name);
		if (looked++ == STEP_NAMESPACES || !take(b, name, rows)) {
			ended = false;
			break;
		}
		free(b->belongings.after);
		b->belongings.after = xstrndup(name.ptr, name.len);
	}
	store_iter_end(it);
	b->belongings.walked = b->belongings.after || ended;
	b->belongings.walk_ended = ended && !failed;
	return !ended;
}

bool belongings_work(struct registry_batch *b, size_t *rows)
{
	const struct belongings *n = &b->reg->belongings;
	size_t i = 0;

	belongings_batch_clear(&b->belongings);
	while (i < n->named.len && take(b, span_of(n->named.items[i]), rows))
		i++;
	b->belongings.looked = i;
	if (i < n->named.len)
		return true;
	return n->walks && walk(b, rows);
}

bool belongings_is_due(const struct belongings *n)
{
	return n->named.len || n->walks;
}

/* ---- what a commit changes ---- */

static bool matters(const struct registry *r, const struct registry_change *c)
{
	if (c->kind == r->service_account_kind)
		return c->op == STORE_DELETE && span_is(c->object.key.name, ACCOUNT);
	return r->belongings.root_ca && c->kind == r->config_map_kind &&
	       span_is(c->object.key.name, ROOT_CA);
}

static void drop_looked(struct belongings *n, size_t looked)
{
	for (size_t i = 0; i < looked; i++)
		free(n->named.items[i]);
	memmove(n->named.items, n->named.items + looked,
		(n->named.len - looked) * sizeof(*n->named.items));
	n->named.len -= looked;
}

void belongings_committed(struct registry_batch *b)
{
	struct belongings *n = &b->reg->belongings;
	struct belongings_batch *nb = &b->belongings;

	if (nb->looked)
		drop_looked(n, nb->looked);
	if (nb->walked && nb->after) {
		free(n->after);
		n->after = nb->after;
		nb->after = NULL;
	}
	if (nb->walked && nb->walk_ended)
		n->walks = false;
	belongings_batch_clear(nb);
	/* What the registry itself just wrote is looked at once more, and found to be right. */
	vec_foreach (&b->changes, c)
		if (matters(b->reg, c))
			vec_push(&n->named, xstrndup(c->object.key.ns.ptr, c->object.key.ns.len));
}

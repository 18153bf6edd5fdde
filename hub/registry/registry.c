#include "registry/registry.h"
#include "base/json.h"
#include "base/num.h"
#include "kinds/system_classes.h"
#include "kube/managed_fields.h"
#include "registry/edit.h"
#include "registry/registry_priv.h"
#include <assert.h>
#include <errno.h>

int registry_open(const struct registry_options *o, struct registry **ret, struct err *reterr)
{
	struct registry *r = xcalloc(1, sizeof(*r));
	r->options = *o;
	/* The same seed after a restart must not give the same uids again: the revision moves on
	 * with whatever used them. */
	r->random = o->seed + store_revision(o->truth) * 0xd1342543de82ef95ull;
	if (!r->options.event_ttl)
		r->options.event_ttl = 3600 * USEC_PER_SEC;
	r->namespace_kind = kind_by_gvk(o->kinds, SPAN(""), SPAN("v1"), SPAN("Namespace"));
	r->service_account_kind =
	    kind_by_gvk(o->kinds, SPAN(""), SPAN("v1"), SPAN("ServiceAccount"));
	r->secret_kind = kind_by_gvk(o->kinds, SPAN(""), SPAN("v1"), SPAN("Secret"));
	r->config_map_kind = kind_by_gvk(o->kinds, SPAN(""), SPAN("v1"), SPAN("ConfigMap"));
	r->event_kind = kind_by_gvk(o->kinds, SPAN(""), SPAN("v1"), SPAN("Event"));
	r->priority_class_kind =
	    kind_by_gvk(o->kinds, SPAN("scheduling.k8s.io"), SPAN("v1"), SPAN("PriorityClass"));
	int rc = definitions_load(r, reterr);
	if (!rc)
		rc = garbage_load(r, reterr);
	if (!rc)
		rc = namespaces_load(r, reterr);
	expiry_load(r);
	if (rc) {
		registry_close(r);
		return rc;
	}
	*ret = r;
	return 0;
}

struct registry *registry_close(struct registry *r)
{
	if (!r)
		return NULL;
	registry_end(&r->batch);
	vec_done(&r->batch.entries);
	vec_done(&r->batch.orders);
	vec_done(&r->batch.changes);
	garbage_batch_done(&r->batch.garbage);
	arena_done(&r->batch.mem);
	garbage_done(&r->garbage);
	namespaces_done(&r->namespaces);
	belongings_done(&r->belongings);
	belongings_batch_clear(&r->batch.belongings);
	token_secrets_done(&r->token_secrets);
	token_secrets_batch_clear(&r->batch.token_secrets);
	definitions_done(&r->definitions);
	expiry_done(&r->expiry);
	free(r);
	return NULL;
}

const struct kind_set *registry_kinds(const struct registry *r)
{
	return r->options.kinds;
}

struct kind_source *registry_kind_source(struct registry *r)
{
	return &r->definitions.source;
}

static uint64_t next_random(uint64_t *state)
{
	/* splitmix64 (Steele, Lea, Flood 2014): one addition of state per draw, so a recorded
	 * sequence of draws replays. */
	uint64_t z = (*state += 0x9e3779b97f4a7c15ull);
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

void registry_new_uid(struct registry *r, uint8_t ret[STORE_UID_LEN])
{
	uint64_t words[2] = {next_random(&r->random), next_random(&r->random)};
	memcpy(ret, words, STORE_UID_LEN);
	ret[6] = (uint8_t)((ret[6] & 0x0f) | 0x40); /* RFC 9562: version 4 */
	ret[8] = (uint8_t)((ret[8] & 0x3f) | 0x80); /* and its variant */
}

bool registry_in_use(const struct registry *r, const struct kind *k, const struct store_object *o)
{
	return r->options.in_use && r->options.in_use(r->options.in_use_arg, k, o);
}

int registry_remove(struct registry_batch *b, const struct kind *k, struct span ns,
		    struct span name, enum command_propagation how)
{
	struct store_object o;
	int rc = registry_get(b, k, ns, name, &o);
	if (rc)
		return rc;
	bool wait = how == PROPAGATE_FOREGROUND && garbage_has_dependents(b, o.uid);
	bool stays = wait || k == b->reg->namespace_kind || (o.flags & OBJECT_HAS_FINALIZERS) ||
		     registry_in_use(b->reg, k, &o);
	if (!stays)
		return registry_delete(b, k, ns, name, how);
	if (o.flags & OBJECT_DELETING)
		return 0;
	bool orphan = how == PROPAGATE_ORPHAN && garbage_has_dependents(b, o.uid);
	if (wait || orphan)
		garbage_add(b, o.uid, wait ? GARBAGE_FOREGROUND : GARBAGE_ORPHAN, k, &o.key);
	return edit_begin_deletion(b, k, &o, wait ? EDIT_FOREGROUND : orphan ? EDIT_ORPHAN : NULL);
}

bool registry_work(struct registry_batch *b, size_t max_rows)
{
	size_t room = registry_batch_room(b);
	size_t rows = max_rows < room ? max_rows : room;
	bool more = definitions_work(b, &rows);
	more = garbage_work(b, &rows) || more;
	more = namespaces_work(b, &rows) || more;
	more = belongings_work(b, &rows) || more;
	more = token_secrets_work(b, &rows) || more;
	return expiry_work(b, &rows) || more;
}

usec registry_due(const struct registry *r)
{
	if (garbage_is_due(&r->garbage) || belongings_is_due(&r->belongings) ||
	    token_secrets_is_due(&r->token_secrets) || definitions_is_due(&r->definitions))
		return 0;
	return num_min(namespaces_due(&r->namespaces), expiry_due(&r->expiry));
}

/* ---- births made by the registry itself ---- */

struct cJSON *registry_new_tree(struct registry_batch *b, const struct kind *k, struct span ns,
				const char *name)
{
	char version[KIND_API_VERSION_MAX], uid_text[OBJECT_UID_TEXT], time[CLOCK_TEXT_MAX];
	uint8_t uid[STORE_UID_LEN];
	registry_new_uid(b->reg, uid);
	struct cJSON *o = json_object();
	json_set_str(o, "apiVersion", kind_api_version(k, version));
	json_set_str(o, "kind", k->kind);
	struct cJSON *meta = json_ensure_object(o, "metadata");
	json_set_str(meta, "name", name);
	if (ns.len)
		json_set(meta, "namespace", json_new_span(ns));
	json_set_str(meta, "uid", object_uid_format(uid, uid_text));
	json_set_str(meta, "creationTimestamp", clock_format(b->now, time));
	return o;
}

void registry_record(struct registry_batch *b, const struct kind *k, const char *subresource,
		     const struct cJSON *old, struct cJSON *now)
{
	struct managed_write by = {.kinds = b->reg->options.kinds,
				   .kind = k,
				   .manager = REGISTRY_MANAGER,
				   .subresource = subresource,
				   .now = b->now};
	auto_json *read = NULL;
	auto_buf text = BUF_INIT;

	if (!old) {
		managed_record(&by, NULL, now, NULL);
		return;
	}
	/* What was made holds values as text, which equal none that were parsed. */
	json_print(now, &text);
	if (json_parse(buf_span(&text), NULL, &read, NULL) < 0)
		return;
	managed_record(&by, old, read, NULL);
	struct cJSON *list = json_take(json_get(read, "metadata"), "managedFields");
	if (list)
		json_set(json_get(now, "metadata"), "managedFields", list);
}

int registry_put_tree(struct registry_batch *b, const struct kind *k, struct span ns,
		      const char *name, struct cJSON *tree)
{
	struct object_draft d;
	struct err why = ERR_INIT;
	int rc;

	registry_record(b, k, "", NULL, tree);
	rc = object_draft_from_tree(k, tree, &d, &why);
	if (!rc && k == b->reg->namespace_kind) {
		rc = edit_namespace_birth(k, &d, span_of(name), &why);
		if (rc)
			object_draft_done(&d);
	}
	if (rc) {
		batch_break(b, &why);
		return rc;
	}
	return registry_put(b, k, ns, span_of(name), &d);
}

int registry_ensure_namespace(struct registry_batch *b, const char *name, struct err *reterr)
{
	struct store_object o;
	const struct kind *nk = b->reg->namespace_kind;
	int rc = registry_get(b, nk, SPAN(""), span_of(name), &o);
	if (rc == -ENOENT) {
		auto_json *tree = registry_new_tree(b, nk, SPAN(""), name);
		rc = registry_put_tree(b, nk, SPAN(""), name, tree);
	}
	if (!rc)
		rc = belongings_ensure(b, span_of(name));
	if (rc && b->broken.kind != ERR_NONE && reterr)
		*reterr = b->broken;
	return rc;
}

int registry_ensure_system_classes(struct registry_batch *b, struct err *reterr)
{
	const struct kind *k = b->reg->priority_class_kind;
	struct store_object o;
	int rc = 0;

	for (size_t i = 0; k && !rc && i < SYSTEM_CLASSES; i++) {
		const struct system_class *c = &system_classes[i];
		rc = registry_get(b, k, SPAN(""), span_of(c->name), &o);
		if (rc != -ENOENT)
			continue;
		auto_json *tree = registry_new_tree(b, k, SPAN(""), c->name);
		json_set_int(json_get(tree, "metadata"), "generation", 1);
		json_set_int(tree, "value", c->value);
		json_set_str(tree, "description", c->description);
		json_set_str(tree, "preemptionPolicy", "PreemptLowerPriority");
		rc = registry_put_tree(b, k, SPAN(""), c->name, tree);
	}
	if (rc && b->broken.kind != ERR_NONE && reterr)
		*reterr = b->broken;
	return rc;
}

void registry_set_root_ca(struct registry *r, struct span pem)
{
	free(r->belongings.root_ca);
	r->belongings.root_ca = xstrndup(pem.ptr, pem.len);
	r->belongings.walks = true;
}

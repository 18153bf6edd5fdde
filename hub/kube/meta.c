#include "kube/meta.h"

#include "base/json.h"
#include "kinds/types.h"
#include "kube/names.h"
#include "kube/object.h"
#include "kube/status.h"

#include <errno.h>

/* ---- randomness ---- */

const char *meta_new_uid(const struct meta_random *random, char out[META_UID_TEXT])
{
	uint8_t uid[STORE_UID_LEN];

	random->fill(random->arg, uid, sizeof(uid));
	uid[6] = (uint8_t)((uid[6] & 0x0f) | 0x40); /* RFC 9562: version 4 */
	uid[8] = (uint8_t)((uid[8] & 0x3f) | 0x80); /* its variant */
	return object_uid_format(uid, out);
}

const char *meta_generate_name(const char *base, const struct meta_random *random,
			       char out[META_GENERATED_NAME])
{
	/* No vowels and nothing that looks like another: no words by accident. */
	static const char alphabet[] = "bcdfghjklmnpqrstvwxz2456789";
	uint32_t dice[META_GENERATED_SUFFIX];
	size_t len = strnlen(base, META_MAX_GENERATED_BASE);

	memcpy(out, base, len);
	random->fill(random->arg, dice, sizeof(dice));
	for (size_t i = 0; i < META_GENERATED_SUFFIX; i++)
		out[len + i] = alphabet[dice[i] % (sizeof(alphabet) - 1)];
	out[len + META_GENERATED_SUFFIX] = '\0';
	return out;
}

/* ---- shape ---- */

/* Built-in kinds without a spec to count changes of have none upstream. */
static bool has_generation(const struct kind *k)
{
	switch (k->type) {
	case TYPE_NAMESPACE:
	case TYPE_CONFIG_MAP:
	case TYPE_SECRET:
	case TYPE_SERVICE_ACCOUNT:
	case TYPE_PERSISTENT_VOLUME_CLAIM:
	case TYPE_EVENT:
	case TYPE_NODE:
	case TYPE_SERVICE:
	case TYPE_LEASE:
	case TYPE_ROLE:
	case TYPE_ROLE_BINDING:
	case TYPE_CLUSTER_ROLE:
	case TYPE_CLUSTER_ROLE_BINDING:
		return false;
	default:
		return true;
	}
}

/* What may change of a PriorityClass is no change of intent upstream: it stays at 1. */
static bool counts_generation(const struct kind *k)
{
	return has_generation(k) && k->type != TYPE_PRIORITY_CLASS;
}

static int check_kind(struct cJSON *object, const struct kind *k, struct err *reterr)
{
	char version[KIND_API_VERSION_MAX];
	const char *want[] = {kind_api_version(k, version), k->kind};
	static const char *const keys[] = {"apiVersion", "kind"};

	if (!json_is(object, JSON_OBJECT))
		return err_set(reterr, ERR_BAD_REQUEST, "the body is not a JSON object");
	for (size_t i = 0; i < 2; i++) {
		const struct cJSON *node = json_get(object, keys[i]);
		const char *have = json_value_str(node);
		if (!node || (have && !have[0]))
			json_set_str(object, keys[i], want[i]);
		else if (!have || strcmp(have, want[i]) != 0)
			return err_set(reterr, ERR_BAD_REQUEST,
				       "the %s in the data (%.120s) does not match the expected "
				       "%s (%s)",
				       i ? "kind" : "API version", have ? have : "not a string",
				       i ? "kind" : "API version", want[i]);
	}
	return 0;
}

/* Go clients write "creationTimestamp":null; a null in metadata means absent. */
static void drop_nulls(struct cJSON *metadata)
{
	for (struct cJSON *m = json_first(metadata), *next; m; m = next) {
		next = json_next(m);
		if (json_is(m, JSON_NULL))
			json_remove_child(metadata, m);
	}
}

/* A null among texts is an empty one, as Go's decoder reads it. */
static void fill_nulls(struct cJSON *texts)
{
	for (struct cJSON *t = json_first(texts), *next; t; t = next) {
		next = json_next(t);
		if (json_is(t, JSON_NULL))
			json_replace(texts, t, json_new_str(""));
	}
}

/* The types of what the server itself reads; others are the clients' affair. */
static int check_types(const struct cJSON *metadata, struct field_errors *errors)
{
	static const struct {
		const char *key;
		enum json_type type;
	} members[] = {
	    {"name", JSON_STRING},
	    {"namespace", JSON_STRING},
	    {"generateName", JSON_STRING},
	    {"uid", JSON_STRING},
	    {"resourceVersion", JSON_STRING},
	    {"labels", JSON_OBJECT},
	    {"annotations", JSON_OBJECT},
	    {"finalizers", JSON_ARRAY},
	    {"ownerReferences", JSON_ARRAY},
	};
	size_t before = errors->n;

	for (size_t i = 0; i < ARRAY_LEN(members); i++) {
		const struct cJSON *m = json_get(metadata, members[i].key);
		if (m && !json_is(m, members[i].type)) {
			char path[64];
			(void)snprintf(path, sizeof(path), "metadata.%s", members[i].key);
			field_errors_add(errors, FIELD_TYPE_INVALID, path, NULL,
					 "must be of type %s", json_type_name(members[i].type));
		}
	}
	return errors->n > before ? err_errno(ERR_INVALID) : 0;
}

static int open_metadata(struct cJSON *object, const struct meta_write *w,
			 struct field_errors *errors, struct cJSON **ret, struct err *reterr)
{
	int r = check_kind(object, w->kind, reterr);
	if (r < 0)
		return r;
	struct cJSON *metadata = json_ensure_object(object, "metadata");
	if (!metadata) {
		field_errors_add(errors, FIELD_TYPE_INVALID, "metadata", NULL, "%s",
				 "must be of type object");
		return err_errno(ERR_INVALID);
	}
	drop_nulls(metadata);
	fill_nulls(json_get(metadata, "labels"));
	fill_nulls(json_get(metadata, "annotations"));
	fill_nulls(json_get(metadata, "finalizers"));
	*ret = metadata;
	return check_types(metadata, errors);
}

static int check_namespace(struct cJSON *metadata, const struct meta_write *w, struct err *reterr)
{
	const char *ns = json_str(metadata, "namespace");

	if (w->kind->scope == KIND_CLUSTER) {
		if (ns && ns[0])
			return err_set(
			    reterr, ERR_BAD_REQUEST,
			    "namespace may not be set on an object of a kind with cluster "
			    "scope");
		(void)json_remove(metadata, "namespace");
		return 0;
	}
	if (ns && ns[0] && !span_is(w->ns, ns))
		return err_set(reterr, ERR_BAD_REQUEST,
			       "the namespace of the provided object does not match the namespace "
			       "sent on the request");
	json_set(metadata, "namespace", json_new_span(w->ns));
	return 0;
}

static bool keeps_status_on_create(const struct kind *k)
{
	return !k->has_status || k->type == TYPE_NODE;
}

/* ---- create ---- */

static void set_identity(struct cJSON *metadata, const struct meta_write *w)
{
	char uid[META_UID_TEXT], time[CLOCK_TEXT_MAX];

	json_set_str(metadata, "uid", meta_new_uid(w->random, uid));
	json_set_str(metadata, "creationTimestamp", clock_format(w->now, time));
	if (has_generation(w->kind))
		json_set_int(metadata, "generation", 1);
}

int meta_prepare_create(struct cJSON *object, const struct meta_write *w,
			struct field_errors *errors, struct err *reterr)
{
	static const char *const dropped[] = {"uid",
					      "resourceVersion",
					      "creationTimestamp",
					      "deletionTimestamp",
					      "deletionGracePeriodSeconds",
					      "generation",
					      "selfLink",
					      "managedFields"};
	char generated[META_GENERATED_NAME];
	struct cJSON *metadata = NULL;

	int r = open_metadata(object, w, errors, &metadata, reterr);
	if (r < 0)
		return r;
	const char *version = json_str(metadata, "resourceVersion");
	if (version && version[0] && strcmp(version, "0") != 0)
		return err_set(reterr, ERR_BAD_REQUEST,
			       "resourceVersion should not be set on objects to be created");
	r = check_namespace(metadata, w, reterr);
	if (r < 0)
		return r;
	for (size_t i = 0; i < ARRAY_LEN(dropped); i++)
		(void)json_remove(metadata, dropped[i]);
	const char *name = json_str(metadata, "name"), *base = json_str(metadata, "generateName");
	if ((!name || !name[0]) && base && base[0])
		json_set_str(metadata, "name", meta_generate_name(base, w->random, generated));
	set_identity(metadata, w);
	if (!keeps_status_on_create(w->kind))
		(void)json_remove(object, "status");
	size_t before = errors->n;
	meta_validate(object, w->kind, errors);
	return errors->n > before ? err_errno(ERR_INVALID) : 0;
}

struct cJSON *meta_new_object(const struct meta_write *w, struct span name)
{
	char version[KIND_API_VERSION_MAX];
	struct cJSON *object = json_object();

	json_set_str(object, "apiVersion", kind_api_version(w->kind, version));
	json_set_str(object, "kind", w->kind->kind);
	struct cJSON *metadata = json_ensure_object(object, "metadata");
	json_set(metadata, "name", json_new_span(name));
	if (w->kind->scope == KIND_NAMESPACED)
		json_set(metadata, "namespace", json_new_span(w->ns));
	set_identity(metadata, w);
	return object;
}

/* ---- update ---- */

bool meta_is_conditional(const struct cJSON *object)
{
	const char *version = json_str(json_get(object, "metadata"), "resourceVersion");
	return version && version[0] && strcmp(version, "0") != 0;
}

static int check_name(struct cJSON *metadata, const struct meta_write *w, struct err *reterr)
{
	const char *name = json_str(metadata, "name");

	if (!name || !name[0]) {
		if (!w->is_patch || w->kind->strategic)
			return err_set(reterr, ERR_BAD_REQUEST,
				       "the name of the object (%.*s based on URL) was "
				       "undeterminable: name must be provided",
				       SPAN_ARGS(w->name));
		json_set(metadata, "name", json_new_span(w->name));
		return 0;
	}
	if (!span_is(w->name, name))
		return err_set(reterr, ERR_BAD_REQUEST,
			       "the name of the object (%.253s) does not match the name on the URL "
			       "(%.*s)",
			       name, SPAN_ARGS(w->name));
	return 0;
}

static int check_identity(const struct cJSON *old_metadata, const struct cJSON *metadata,
			  const struct meta_write *w, struct field_errors *errors,
			  struct err *reterr)
{
	const char *old_uid = json_str(old_metadata, "uid"), *uid = json_str(metadata, "uid");
	const char *old_version = json_str(old_metadata, "resourceVersion");
	const char *version = json_str(metadata, "resourceVersion");
	const char *name = json_str(old_metadata, "name");
	char why[160];

	if (w->is_patch && uid && uid[0] && (!old_uid || strcmp(uid, old_uid) != 0)) {
		auto_buf shown = BUF_INIT;
		buf_add_json_str(&shown, span_of(uid));
		field_errors_add(errors, FIELD_INVALID, "metadata.uid", shown.ptr, "%s",
				 "field is immutable");
		return err_errno(ERR_INVALID);
	}
	if (uid && uid[0] && (!old_uid || strcmp(uid, old_uid) != 0)) {
		(void)snprintf(why, sizeof(why),
			       "Precondition failed: UID in precondition: %.36s, UID in object "
			       "meta: %.36s",
			       uid, old_uid ? old_uid : "");
		return status_set_conflict(reterr, w->kind, name, why);
	}
	if (!version || !version[0] || strcmp(version, "0") == 0) {
		if (w->is_patch || w->kind->unconditional_update)
			return 0;
		field_errors_add(errors, FIELD_INVALID, "metadata.resourceVersion", "0", "%s",
				 "must be specified for an update");
		return err_errno(ERR_INVALID);
	}
	if (!old_version || strcmp(version, old_version) != 0)
		return status_set_conflict(reterr, w->kind, name, NULL);
	return 0;
}

static void keep_old(const struct cJSON *old, struct cJSON *object, const char *key)
{
	const struct cJSON *m = json_get(old, key);
	if (m)
		json_set(object, key, json_dup(m));
	else
		(void)json_remove(object, key);
}

static void clear(struct cJSON *object)
{
	while (json_first(object))
		json_remove_child(object, json_first(object));
}

/* Everything becomes old, except the one part that this door may change. */
static void keep_all_but(const struct cJSON *old, struct cJSON *object, struct cJSON *take_part,
			 const char *key)
{
	clear(object);
	json_foreach (old, m)
		if (strcmp(json_key(m), key) != 0)
			json_add_member(object, json_dup(m));
	json_set(object, key, take_part);
}

/* Its managers are about to be written anew. */
static struct cJSON *metadata_without_managers(const struct cJSON *old)
{
	struct cJSON *metadata = json_object();

	json_foreach (old, m)
		if (strcmp(json_key(m), "managedFields") != 0)
			json_add_member(metadata, json_dup(m));
	return metadata;
}

static void borrow_all_but_status(const struct cJSON *old, struct cJSON *object)
{
	struct cJSON *status = json_take(object, "status");

	clear(object);
	json_foreach (old, m) {
		if (strcmp(json_key(m), "metadata") == 0)
			json_add(object, "metadata", metadata_without_managers(m));
		else if (strcmp(json_key(m), "status") != 0)
			json_add_member(object, json_lend(m));
	}
	json_set(object, "status", status);
}

/* While an object is being deleted its finalizers can only become fewer. */
static void check_finalizers(const struct cJSON *old, const struct cJSON *metadata,
			     struct field_errors *errors)
{
	if (!meta_is_deleting(old))
		return;
	json_foreach (json_get(metadata, "finalizers"), f) {
		const char *name = json_value_str(f);
		if (name && !meta_has_finalizer(old, name))
			field_errors_add(errors, FIELD_FORBIDDEN, "metadata.finalizers", NULL,
					 "no new finalizers can be added if the object is being "
					 "deleted, found new finalizers []string{\"%s\"}",
					 name);
	}
}

static bool same_time(const struct cJSON *a, const struct cJSON *b)
{
	const char *x = json_value_str(a), *y = json_value_str(b);
	usec at_x, at_y;

	if (!x || !y || clock_parse(span_of(x), &at_x) < 0 || clock_parse(span_of(y), &at_y) < 0)
		return json_equal(a, b);
	return at_x == at_y; /* Python's client writes +00:00 for Z */
}

/* Who writes back what was read says nothing new; who leaves it out neither. */
static void check_deletion(const struct cJSON *old_metadata, const struct cJSON *metadata,
			   struct field_errors *errors)
{
	const struct cJSON *said = json_get(metadata, "deletionTimestamp");
	auto_buf shown = BUF_INIT;

	if (!said || same_time(said, json_get(old_metadata, "deletionTimestamp")))
		return;
	json_print(said, &shown);
	field_errors_add(errors, FIELD_INVALID, "metadata.deletionTimestamp", shown.ptr, "%s",
			 "field is immutable");
}

static int update_main(const struct cJSON *old, struct cJSON *object, struct cJSON *metadata,
		       const struct meta_write *w, struct field_errors *errors)
{
	static const char *const kept[] = {"uid",
					   "resourceVersion",
					   "creationTimestamp",
					   "deletionTimestamp",
					   "deletionGracePeriodSeconds",
					   "generation",
					   "managedFields"};
	const struct cJSON *old_metadata = json_get(old, "metadata");
	size_t before = errors->n;

	check_deletion(old_metadata, metadata, errors);
	for (size_t i = 0; i < ARRAY_LEN(kept); i++)
		keep_old(old_metadata, metadata, kept[i]);
	(void)json_remove(metadata, "selfLink");
	if (w->kind->has_status)
		keep_old(old, object, "status");
	check_finalizers(old, metadata, errors);
	meta_validate(object, w->kind, errors);
	return errors->n > before ? err_errno(ERR_INVALID) : 0;
}

static void update_finalize(const struct cJSON *old, struct cJSON *object)
{
	struct cJSON *spec = json_take(object, "spec");
	struct cJSON *finalizers = json_take(spec, "finalizers");
	struct cJSON *next = json_dup(json_get(old, "spec"));

	json_free(spec);
	if (!json_is(next, JSON_OBJECT)) {
		json_free(next);
		next = json_object();
	}
	(void)json_remove(next, "finalizers");
	json_set(next, "finalizers", finalizers);
	keep_all_but(old, object, next, "spec");
}

int meta_prepare_update(const struct cJSON *old, struct cJSON *object, const struct meta_write *w,
			struct field_errors *errors, struct err *reterr)
{
	struct cJSON *metadata = NULL;

	int r = open_metadata(object, w, errors, &metadata, reterr);
	if (r == 0)
		r = check_namespace(metadata, w, reterr);
	if (r == 0)
		r = check_name(metadata, w, reterr);
	if (r == 0)
		r = check_identity(json_get(old, "metadata"), metadata, w, errors, reterr);
	if (r < 0)
		return r;
	if (strcmp(w->subresource, "status") == 0 && w->lends)
		borrow_all_but_status(old, object);
	else if (strcmp(w->subresource, "status") == 0)
		keep_all_but(old, object, json_take(object, "status"), "status");
	else if (strcmp(w->subresource, "finalize") == 0)
		update_finalize(old, object);
	else
		return update_main(old, object, metadata, w, errors);
	return 0;
}

/* Members other than metadata and, where it has its own door, status. */
static bool intent_differs(const struct cJSON *a, const struct cJSON *b, bool with_status)
{
	json_foreach (a, m) {
		const char *key = json_key(m);
		if (strcmp(key, "metadata") == 0 || (!with_status && strcmp(key, "status") == 0))
			continue;
		if (!json_equal(m, json_get(b, key)))
			return true;
	}
	return false;
}

bool meta_finish_update(const struct cJSON *old, struct cJSON *object, const struct meta_write *w)
{
	struct cJSON *metadata = json_get(object, "metadata");
	bool with_status = !w->kind->has_status;
	int64_t generation = 0;

	/* Both ways: a member that only one of them has differs too. */
	if (counts_generation(w->kind) && (intent_differs(old, object, with_status) ||
					   intent_differs(object, old, with_status))) {
		(void)!json_int64(metadata, "generation", &generation);
		json_set_int(metadata, "generation", generation + 1);
		return true;
	}
	return !json_equal(old, object);
}

/*
 * What deleting changes in metadata, and what guards it: the deletion part of kube/meta.h.
 */
#include "base/json.h"
#include "kube/meta.h"
#include "kube/object.h"
#include "kube/status.h"

bool meta_is_deleting(const struct cJSON *object)
{
	return json_str(json_get(object, "metadata"), "deletionTimestamp");
}

bool meta_mark_deleting(struct cJSON *object, usec now)
{
	struct cJSON *metadata = json_ensure_object(object, "metadata");
	char time[CLOCK_TEXT_MAX];
	int64_t generation;

	if (meta_is_deleting(object))
		return false;
	json_set_str(metadata, "deletionTimestamp", clock_format(now, time));
	json_set_int(metadata, "deletionGracePeriodSeconds", 0);
	if (json_int64(metadata, "generation", &generation) == 0)
		json_set_int(metadata, "generation", generation + 1);
	return true;
}

bool meta_has_finalizer(const struct cJSON *object, const char *name)
{
	json_foreach (json_path(object, "metadata", "finalizers", NULL), f)
		if (json_value_str(f) && strcmp(json_value_str(f), name) == 0)
			return true;
	return false;
}

bool meta_add_finalizer(struct cJSON *object, const char *name)
{
	struct cJSON *metadata = json_ensure_object(object, "metadata");

	if (meta_has_finalizer(object, name))
		return false;
	if (!json_is(json_get(metadata, "finalizers"), JSON_ARRAY))
		json_set(metadata, "finalizers", json_array());
	json_append(json_get(metadata, "finalizers"), json_new_str(name));
	return true;
}

bool meta_remove_finalizer(struct cJSON *object, const char *name)
{
	struct cJSON *metadata = json_get(object, "metadata");
	struct cJSON *list = json_get(metadata, "finalizers");
	bool changed = false;

	for (struct cJSON *f = json_first(list), *next; f; f = next) {
		next = json_next(f);
		if (json_value_str(f) && strcmp(json_value_str(f), name) == 0) {
			json_remove_child(list, f);
			changed = true;
		}
	}
	if (changed && !json_first(list))
		(void)json_remove(metadata, "finalizers");
	return changed;
}

bool meta_set_collection(struct cJSON *object, const char *finalizer)
{
	static const char *const all[] = {META_ORPHAN, META_FOREGROUND};
	bool changed = false;

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		if (!finalizer || strcmp(finalizer, all[i]) != 0)
			changed |= meta_remove_finalizer(object, all[i]);
	if (finalizer)
		changed |= meta_add_finalizer(object, finalizer);
	return changed;
}

/* Upstream names the Kind here, not the resource (registry/rest/delete.go). */
static int conflict(struct err *reterr, const struct kind *k, const char *name, const char *why)
{
	return err_set(reterr, ERR_CONFLICT, "Operation cannot be fulfilled on %s%s%s \"%s\": %s",
		       k->kind, k->group[0] ? "." : "", k->group, name, why);
}

int meta_check_preconditions(const struct cJSON *delete_options, const struct kind *k,
			     const struct store_object *o, struct err *reterr)
{
	const struct cJSON *p = json_get(delete_options, "preconditions");
	const char *uid = json_str(p, "uid"), *version = json_str(p, "resourceVersion");
	char have[OBJECT_UID_TEXT], why[240], name[STORE_MAX_NAME + 1], revision[32];

	(void)snprintf(name, sizeof(name), "%.*s", SPAN_ARGS(o->key.name));
	(void)snprintf(revision, sizeof(revision), "%llu", (unsigned long long)o->revision);
	if (uid && strcmp(uid, object_uid_format(o->uid, have)) != 0) {
		(void)snprintf(why, sizeof(why),
			       "the UID in the precondition (%.40s) does not match the UID in "
			       "record (%s). The object might have been deleted and then recreated",
			       uid, have);
		return conflict(reterr, k, name, why);
	}
	if (version && strcmp(version, revision) != 0) {
		(void)snprintf(
		    why, sizeof(why),
		    "the ResourceVersion in the precondition (%.40s) does not match the "
		    "ResourceVersion in record (%s). The object might have been modified",
		    version, revision);
		return conflict(reterr, k, name, why);
	}
	return 0;
}

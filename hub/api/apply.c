#include "api/apply.h"

#include "api/decode.h"
#include "api/option_errors.h"
#include "api/update.h"
#include "api/write.h"
#include "base/json.h"
#include "kube/crd_builtin.h"
#include <errno.h>

/* One attempt. Sets of the struct managed borrow from the trees. */
struct apply {
	struct cJSON *config, *live, *object; /* owned */
	struct managed managed;
	struct managed_conflicts conflicts;
	struct store_reader *reader;
	struct store_object stored;
	bool sets_changed;
};

static void apply_done(struct apply *a)
{
	managed_done(&a->managed);
	json_free(a->config);
	json_free(a->live);
	json_free(a->object);
	store_read_end(a->reader);
}

int apply_check_version(const struct cJSON *config, const char *group, const char *version,
			const char *kind, struct err *reterr)
{
	const char *said = json_str(config, "apiVersion"), *its_kind = json_str(config, "kind");
	struct span its_group, number;

	kind_split_api_version(span_of(said ? said : ""), &its_group, &number);
	if (its_kind && strcmp(its_kind, kind) == 0 && span_is(its_group, group) &&
	    span_is(number, version))
		return 0;
	return err_set(reterr, ERR_BAD_REQUEST, "invalid object type: %.*s/%.*s, Kind=%.100s",
		       (int)(its_group.len < 100 ? its_group.len : 100), its_group.ptr,
		       (int)(number.len < 100 ? number.len : 100), number.ptr,
		       its_kind ? its_kind : "");
}

/* Without a name it is about what is there already, and says nothing of that name. */
static int check_name(const struct call *c, const struct cJSON *metadata, bool exists,
		      struct err *reterr)
{
	const struct cJSON *name = json_get(metadata, "name");
	const char *text = json_value_str(name);

	if ((name || !exists) && (!name || json_is(name, JSON_NULL) || (text && !text[0])))
		return err_set(reterr, ERR_BAD_REQUEST,
			       "the name of the object (%.*s based on URL) was undeterminable: "
			       "name must be provided",
			       SPAN_ARGS(c->info.name));
	if (text && !span_is(c->info.name, text))
		return err_set(reterr, ERR_BAD_REQUEST,
			       "the name of the object (%.253s) does not match the name on the URL "
			       "(%.*s)",
			       text, SPAN_ARGS(c->info.name));
	return 0;
}

static int check_config(const struct call *c, struct cJSON *config, struct err *reterr)
{
	struct cJSON *metadata = json_ensure_object(config, "metadata");
	int r =
	    apply_check_version(config, c->kind->group, c->kind->version, c->kind->kind, reterr);

	if (!r && !metadata)
		r = err_set(reterr, ERR_BAD_REQUEST, "metadata must be an object");
	if (!r && json_get(metadata, "managedFields") &&
	    !json_is(json_get(metadata, "managedFields"), JSON_NULL))
		r = err_set(reterr, ERR_BAD_REQUEST, "metadata.managedFields must be nil");
	return r;
}

/* Pruning empties maps and leaves nulls, which are dropped. A map that the configuration gives as
 * empty stays: `status: {}` is how a controller takes back all it said. (Built-in types leave
 * empty maps out.) */
static void keep_empty_maps(const struct cJSON *config, struct cJSON *object)
{
	json_foreach (config, m) {
		struct cJSON *there = json_get(object, json_key(m));
		if (!json_is(m, JSON_OBJECT) || !there)
			continue;
		if (json_is(there, JSON_NULL) && !json_first(m))
			json_replace(object, there, json_object());
		else
			keep_empty_maps(m, there);
	}
}

/* The definition of a compiled kind stays as it is whatever is applied: nobody is in the way. */
static bool is_built_in(const struct call *c, const struct cJSON *live)
{
	return strcmp(c->kind->kind, "CustomResourceDefinition") == 0 &&
	       strcmp(c->kind->group, "apiextensions.k8s.io") == 0 &&
	       json_path(live, "metadata", "annotations", CRD_BUILTIN_ANNOTATION, NULL);
}

/* Merges; on a conflict the answer is complete. */
static int merge(struct call *c, struct apply *a, struct err *reterr)
{
	struct managed_write by = write_manager(c);
	bool force = request_bool(call_param(c, "force")) || is_built_in(c, a->live);
	int r;

	if (managed_read(&a->managed, json_path(a->live, "metadata", "managedFields", NULL), NULL) <
	    0)
		a->managed = MANAGED_INIT; /* as upstream: whoever wrote that lost it */
	r = managed_apply(&a->managed, &by, a->live, a->config, force, &a->object, &a->sets_changed,
			  &a->conflicts, reterr);
	if (!r && !c->kind->strategic)
		keep_empty_maps(a->config, a->object);
	if (r < 0 && !a->conflicts.n)
		(void)err_wrap(reterr,
			       "failed to create typed patch object (%.*s/%s; %s/%s, Kind=%s)",
			       SPAN_ARGS(c->info.ns), write_of(c)->name, c->kind->group,
			       c->kind->version, c->kind->kind);
	return r;
}

static int prepare_create(struct call *c, struct apply *a, struct err *reterr)
{
	struct write *w = write_of(c);
	struct meta_write meta = write_meta(c);
	const char *uid = json_str(json_get(a->config, "metadata"), "uid");
	char why[160];
	/* Whoever may patch may not thereby create. */
	int r = call_authorize(c, API_CREATE, reterr);

	if (!r && uid && uid[0]) {
		(void)snprintf(why, sizeof(why),
			       "uid mismatch: the provided object specified uid %.40s, and no "
			       "existing object was found",
			       uid);
		r = status_set_conflict(reterr, c->kind, w->name, why);
	}
	if (!r)
		r = merge(c, a, reterr);
	if (r)
		return r;
	meta.name = SPAN_NONE;
	/* A version that it should have is no reason not to make it. */
	(void)json_remove(json_get(a->object, "metadata"), "resourceVersion");
	r = meta_prepare_create(a->object, &meta, &w->errors, reterr);
	if (r && field_errors_any(&w->errors))
		return status_set_invalid(reterr, c->kind, w->name, &w->errors);
	return r ? r : write_admit(c, a->object, NULL, reterr);
}

static void create(struct call *c, struct apply *a)
{
	struct err e = ERR_INIT;
	int r = prepare_create(c, a, &e);

	if (r) {
		write_fail(c, &e);
		return;
	}
	managed_write_to(&a->managed, a->object);
	write_of(c)->code = 201;
	write_submit(c, COMMAND_CREATE, a->object, 0, PROPAGATE_DEFAULT);
}

static void fail_conflict(struct call *c, const struct apply *a, const struct err *e)
{
	struct status_subject s = {.message = a->conflicts.message,
				   .causes = a->conflicts.causes,
				   .n_causes = a->conflicts.n_causes};
	call_fail_with(c, e, &s);
	call_to_loop(c, write_of(c)->finish);
}

static void update(struct call *c, struct apply *a)
{
	struct meta_write meta = write_meta(c);
	struct err e = ERR_INIT;
	const struct apply_part *part = write_of(c)->part;
	int r = write_tree(c, &a->stored, &a->live, &e);

	if (!r && part)
		r = part->configure(c, a->live, &a->config, &e);
	if (!r)
		r = merge(c, a, &e);
	if (r && a->conflicts.n) {
		fail_conflict(c, a, &e);
		return;
	}
	if (!r && part)
		r = part->settle(c, a->live, a->object, &e);
	if (!r)
		r = update_admit(c, a->live, a->object, true, &e);
	if (r) {
		write_fail(c, &e);
		return;
	}
	/* The object has the stored managers so far: only their times may differ from here on. */
	if (!a->sets_changed && json_equal(a->live, a->object)) {
		write_unchanged(c, &a->stored);
		return;
	}
	managed_write_to(&a->managed, a->object);
	(void)meta_finish_update(a->live, a->object, &meta);
	write_submit(c, COMMAND_UPDATE, a->object, a->stored.revision, PROPAGATE_DEFAULT);
}

static void attempt(struct call *c)
{
	struct write *w = write_of(c);
	struct apply a = {0};
	struct err e = ERR_INIT;
	int r = decode_apply(c, &a.config, &w->duplicates, &e);

	w->attempts++;
	w->code = 200;
	if (!r && w->strict && w->duplicates.len)
		r = err_set(&e, ERR_BAD_REQUEST,
			    "error strict decoding YAML: error converting "
			    "YAML to JSON: yaml: unmarshal errors:\n  %.*s",
			    (int)w->duplicates.len - 1, w->duplicates.ptr);
	if (!r && !w->part)
		r = check_config(c, a.config, &e);
	if (!r) {
		w->conditional = meta_is_conditional(a.config);
		r = write_read(c, c->info.name, &a.reader, &a.stored, &e);
	}
	bool creates = r == -ENOENT && !c->info.subresource.len && !w->part;
	if ((!r && !w->part) || creates) {
		int named = check_name(c, json_get(a.config, "metadata"), !creates, &e);
		r = named ? named : r;
	}
	if (r == -ENOENT && creates)
		create(c, &a);
	else if (r)
		write_fail(c, &e);
	else
		update(c, &a);
	apply_done(&a);
}

static void begin(struct call *c)
{
	struct write *w = write_of(c);
	struct err e = ERR_INIT;

	w->upserts = true;
	if (w->named_manager) {
		attempt(c);
		return;
	}
	option_refuse(c, "PatchOptions", FIELD_REQUIRED, "fieldManager", NULL,
		      "is required for apply patch");
	(void)option_check(c, &e);
	write_fail(c, &e);
}

void call_apply(struct call *c)
{
	write_begin(c, begin);
}

void apply_part(struct call *c, const struct apply_part *part)
{
	struct write *w = write_of(c);

	w->part = part;
	w->through = part->name;
	w->view = part->view;
	begin(c);
}

/*
 * Server-side apply: merge, prune, and who owns what afterwards.
 */
#include "kube/managed_conflicts.h"
#include "kube/managed_priv.h"

#define LAST_APPLIED "kubectl.kubernetes.io/last-applied-configuration"

struct apply {
	struct managed *m;
	const struct managed_write *w;
	const struct cJSON *live, *config;
	struct field_set allowed; /* conflicts that do not count */
	struct cJSON *last; /* owned: what kubectl applied last, which `allowed` borrows from */
	bool force;
};

/* ---- prune ---- */

/* A tree as some version of the kind has it. */
struct versioned {
	const struct kind *kind;
	struct cJSON *tree; /* owned */
};

static void become(struct versioned *v, const struct kind *k)
{
	struct cJSON *next;

	if (v->kind->schema != k->schema) {
		next = managed_convert(v->tree, v->kind, k);
		json_free(v->tree);
		v->tree = next;
	}
	v->kind = k;
}

static struct field_set members_of(struct arena *mem, const struct versioned *v)
{
	struct field_set set = typed_fields(mem, v->kind->schema, v->tree);
	return typed_name_members(mem, v->kind->schema, &set);
}

static void replace(struct versioned *v, struct cJSON *tree)
{
	json_free(v->tree);
	v->tree = tree;
}

/* Everything that entries of one version own. */
static struct field_set owned_at(struct managed *m, const char *api_version)
{
	struct field_set all = FIELD_SET_EMPTY;

	vec_foreach (&m->entries, e)
		if (strcmp(e->api_version, api_version) == 0)
			all = field_set_union(&m->mem, &all, &e->set);
	return all;
}

/* What was removed but is owned by somebody, the new configuration included, comes back. */
static void add_back_owned(struct apply *a, struct versioned *merged, struct versioned *pruned,
			   const char *api_version)
{
	struct arena *mem = &a->m->mem;
	const struct kind *k = managed_kind(a->w, api_version);
	struct field_set owned, have, left, keep;

	if (!k)
		return;
	become(merged, k);
	become(pruned, k);
	owned = owned_at(a->m, api_version);
	have = members_of(mem, merged);
	left = members_of(mem, pruned);
	owned = typed_name_members(mem, k->schema, &owned);
	keep = field_set_union(mem, &left, &owned);
	have = field_set_difference(mem, &have, &keep);
	replace(pruned, typed_remove(mem, k->schema, merged->tree, &have));
}

static bool seen_before(const struct managed *m, const struct managed_entry *e, const char *first)
{
	if (strcmp(e->api_version, first) == 0)
		return true;
	vec_foreach (&m->entries, other) {
		if (other == e)
			return false;
		if (strcmp(other->api_version, e->api_version) == 0)
			return true;
	}
	return false;
}

/* Removes from `merged` what the manager's last configuration said and the new one does not,
 * unless somebody else owns it. Takes merged, returns the result. */
static struct cJSON *prune(struct apply *a, struct cJSON *merged, const struct field_set *last,
			   const char *last_version)
{
	struct arena *mem = &a->m->mem;
	const struct kind *k = managed_kind(a->w, last_version);
	struct versioned all = {a->w->kind, merged}, pruned = {.kind = k};
	struct field_set was, have, left;

	if (!k || field_set_is_empty(last))
		return merged;
	become(&all, k);
	was = typed_name_members(mem, k->schema, last);
	pruned.tree = typed_remove(mem, k->schema, all.tree, &was);
	add_back_owned(a, &all, &pruned, last_version);
	vec_foreach (&a->m->entries, e)
		if (!seen_before(a->m, e, last_version))
			add_back_owned(a, &all, &pruned, e->api_version);
	/* What went along with it, but was never this manager's, comes back too. */
	become(&all, k);
	become(&pruned, k);
	have = members_of(mem, &all);
	left = members_of(mem, &pruned);
	have = field_set_difference(mem, &have, &left);
	have = field_set_intersection(mem, &have, &was);
	replace(&pruned, typed_remove(mem, k->schema, all.tree, &have));
	if (!json_is(pruned.tree, JSON_OBJECT))
		replace(&pruned, json_object());
	json_free(all.tree);
	become(&pruned, a->w->kind);
	return pruned.tree;
}

/* ---- conflicts ---- */

/* What kubectl applied on the client's side and is still so: a first server-side apply by kubectl
 * itself takes it over. */
static struct field_set still_as_applied(struct apply *a)
{
	const char *text =
	    json_value_str(json_path(a->live, "metadata", "annotations", LAST_APPLIED, NULL));
	const struct schema *s = a->w->kind->schema;
	struct arena *mem = &a->m->mem;
	char version[KIND_API_VERSION_MAX];
	struct field_set set;
	struct typed_change c;
	const char *said;

	if (!text || strcmp(a->w->manager, "kubectl") != 0 ||
	    json_parse(span_of(text), NULL, &a->last, NULL) < 0)
		return FIELD_SET_EMPTY;
	said = json_str(a->last, "apiVersion");
	if (!said || strcmp(said, kind_api_version(a->w->kind, version)) != 0)
		return FIELD_SET_EMPTY;
	set = typed_fields(mem, s, a->last);
	typed_compare(mem, s, a->last, a->live, &c);
	set = field_set_difference(mem, &set, &c.modified);
	set = field_set_difference(mem, &set, &c.added);
	return field_set_difference(mem, &set, &c.removed);
}

static int find_conflicts(struct apply *a, struct managed_versions *v,
			  const struct managed_entry *own, struct managed_conflicts *ret,
			  struct err *reterr)
{
	struct arena *mem = &a->m->mem;
	struct managed_conflict *list =
	    arena_array(mem, struct managed_conflict, a->m->entries.len + 1);
	size_t n = 0;

	vec_foreach (&a->m->entries, e) {
		const struct typed_change *c = managed_change(v, e->api_version);
		if (!c || e == own)
			continue;
		struct field_set changed = field_set_union(mem, &c->modified, &c->added);
		changed = field_set_intersection(mem, &e->set, &changed);
		changed = field_set_difference(mem, &changed, &a->allowed);
		if (!field_set_is_empty(&changed))
			list[n++] = strcmp(a->w->subresource, "scale") == 0
					? managed_conflict_of_scale(mem, e)
					: (struct managed_conflict){e, changed};
	}
	if (!n)
		return 0;
	managed_conflicts_tell(mem, list, n, ret);
	return err_set(reterr, ERR_CONFLICT, "%s", ret->message);
}

/* ---- apply ---- */

/* kubectl goes on to keep its annotation, so that a client-side apply still knows what was
 * applied last. */
static void refresh_last_applied(const struct apply *a, struct cJSON *object)
{
	struct cJSON *annotations = json_path(object, "metadata", "annotations", NULL);
	const char *old = json_str(annotations, LAST_APPLIED);
	auto_json *config = NULL;
	auto_buf text = BUF_INIT;

	if (strcmp(a->w->manager, "kubectl") != 0 || !old || !old[0])
		return;
	config = json_dup(a->config);
	(void)json_remove(json_path(config, "metadata", "annotations", NULL), LAST_APPLIED);
	json_print(config, &text);
	buf_add_char(&text, '\n');
	if (buf_ok(&text))
		json_set(annotations, LAST_APPLIED, json_new_span(buf_span(&text)));
}

static void reconcile(struct managed *m, const struct managed_write *w)
{
	vec_foreach (&m->entries, e) {
		const struct kind *k = managed_kind(w, e->api_version);
		if (k)
			managed_set(e, typed_reconcile(&m->mem, k->schema, &e->set));
	}
}

static int record(struct apply *a, const struct cJSON *merged, const struct field_set *last,
		  bool *ret_changed, struct managed_conflicts *ret_conflicts, struct err *reterr)
{
	struct managed_versions v = {.m = a->m, .w = a->w, .before = a->live, .now = merged};
	struct managed_entry *own = managed_own(a->m, a->w, true);
	bool differs = !a->live || !json_equal(a->live, merged);
	int r = a->force ? 0 : find_conflicts(a, &v, own, ret_conflicts, reterr);

	if (r == 0) {
		managed_take(&v, own);
		own->set = managed_strip(&a->m->mem, &own->set);
		*ret_changed = !field_set_equal(&own->set, last);
		vec_foreach (&a->m->entries, e)
			if (e != own && (!e->stored || (!e->whole && field_set_is_empty(&e->set))))
				*ret_changed = true;
		/* The time is that of a change to the object: who only comes to own what was
		 * there already has none (upstream's managedFieldsUpdater). */
		if (differs || *ret_changed)
			own->stored = NULL;
		if (differs)
			own->time = managed_time(a->m, a->w->now);
		managed_drop_empty(a->m);
	}
	managed_versions_done(&v);
	return r;
}

/* The entry says what the new configuration says; *ret_last what it said before. */
static void claim(struct apply *a, struct field_set *ret_last, const char **ret_version)
{
	struct arena *mem = &a->m->mem;
	struct field_set says = typed_fields(mem, a->w->kind->schema, a->config);
	struct managed_entry *own = managed_own(a->m, a->w, true);
	char version[KIND_API_VERSION_MAX];
	const char *now = kind_api_version(a->w->kind, version);

	if (!own)
		own = managed_add(a->m, a->w, true);
	*ret_last = own->set;
	*ret_version = own->api_version;
	if (strcmp(own->api_version, now) != 0) {
		own->api_version = arena_strndup(mem, now, strlen(now));
		own->stored = NULL;
	}
	own->set = managed_door(mem, a->w, &says);
}

int managed_apply(struct managed *m, const struct managed_write *w, const struct cJSON *live,
		  const struct cJSON *config, bool force, struct cJSON **ret, bool *ret_changed,
		  struct managed_conflicts *ret_conflicts, struct err *reterr)
{
	struct apply a = {.m = m, .w = w, .live = live, .config = config, .force = force};
	const struct schema *s = w->kind->schema;
	auto_json *merged = NULL;
	struct field_set last;
	const char *last_version;

	int r = typed_check(&m->mem, s, config, reterr);
	if (r < 0)
		return r;
	if (live && !m->entries.len) {
		struct managed_write before = *w;
		before.manager = "before-first-apply";
		managed_update(m, &before, NULL, live);
	}
	managed_open(m, w, live, false);
	reconcile(m, w);
	a.allowed = still_as_applied(&a);
	claim(&a, &last, &last_version);
	merged = prune(&a, typed_merge(&m->mem, s, live, config), &last, last_version);
	r = record(&a, merged, &last, ret_changed, ret_conflicts, reterr);
	json_free(a.last);
	if (r < 0)
		return r;
	refresh_last_applied(&a, merged);
	(void)json_remove(json_get(merged, "metadata"), "managedFields");
	*ret = steal_ptr(&merged);
	return 0;
}

#include "kube/definition.h"
#include "kube/kind_set.h"

#include "base/arena.h"
#include "base/json.h"
#include "kube/schema_compile.h"
#include "kube/selector_match.h"

#include <stdatomic.h>

struct definition {
	_Atomic uint32_t refs;
	struct arena mem;
	struct cJSON *tree;
	struct kind *kinds;
	size_t n_kinds;
	struct kind stored;
	struct definition_options options;
};

static const char *text(struct definition *d, const struct cJSON *o, const char *key)
{
	const char *s = json_str(o, key);
	(void)d;
	return s ? s : "";
}

static const char *const *texts(struct definition *d, const struct cJSON *list)
{
	size_t n = 0;
	const char **out;

	if (!json_len(list))
		return NULL;
	out = arena_array(&d->mem, const char *, json_len(list) + 1);
	json_foreach (list, it)
		if (json_value_str(it))
			out[n++] = json_value_str(it);
	return out;
}

/* Of a column that nobody described, where it comes from. */
static const char *column_about(struct definition *d, const struct cJSON *column)
{
	const char *words = text(d, column, "description");
	auto_buf b = BUF_INIT;

	if (words && words[0])
		return words;
	buf_addf(&b, "Custom resource definition column (in JSONPath format): %s",
		 text(d, column, "jsonPath"));
	return arena_strndup(&d->mem, buf_span(&b).ptr, b.len);
}

static void set_columns(struct definition *d, struct kind *k, const struct cJSON *list)
{
	struct kind_column *c = arena_array(&d->mem, struct kind_column, json_len(list) + 1);

	json_foreach (list, it) {
		int64_t priority = 0;
		(void)json_int64(it, "priority", &priority);
		c[k->n_columns++] =
		    (struct kind_column){.name = text(d, it, "name"),
					 .type = text(d, it, "type"),
					 .format = text(d, it, "format"),
					 .json_path = text(d, it, "jsonPath"),
					 .description = column_about(d, it),
					 .priority = priority > 0 ? (int)(priority & 0xffff) : 0};
	}
	k->columns = c;
}

static void set_scale(struct definition *d, struct kind *k, const struct cJSON *scale)
{
	static const char *const verbs[] = {"get", "patch", "update", NULL};
	static const struct kind_subresource sub = {"scale", "autoscaling", "v1", "Scale", verbs};
	struct kind_scale *s;
	const char *selector = json_str(scale, "labelSelectorPath");

	if (!json_is(scale, JSON_OBJECT))
		return;
	s = arena_new(&d->mem, struct kind_scale);
	s->spec_replicas = text(d, scale, "specReplicasPath");
	s->status_replicas = text(d, scale, "statusReplicasPath");
	s->label_selector = selector && selector[0] ? selector : NULL;
	k->scale = s;
	k->subresources = &sub;
	k->n_subresources = 1;
}

static void set_selectable(struct definition *d, struct kind *k, const struct cJSON *list)
{
	struct selector_field *f = arena_array(&d->mem, struct selector_field, json_len(list) + 1);

	json_foreach (list, it) {
		const char *path = json_str(it, "jsonPath");
		struct span rest = span_of(path && path[0] == '.' ? path + 1 : path);
		struct selector_field *at = &f[k->n_selectable];
		if (!rest.len)
			continue;
		at->label = arena_strndup(&d->mem, rest.ptr, rest.len);
		at->absent = "";
		for (size_t i = 0; rest.ptr && i < SELECTOR_FIELD_DEPTH; i++) {
			struct span step = span_split(&rest, '.');
			at->path[i] = arena_strndup(&d->mem, step.ptr, step.len);
		}
		k->n_selectable++;
	}
	k->selectable = f;
}

/* The best version to go on with: served, not deprecated and better than `old`; or NULL. */
static const char *successor(const struct definition *d, const char *old)
{
	const char *best = NULL;

	json_foreach (json_path(d->tree, "spec", "versions", NULL), v) {
		const char *name = json_str(v, "name");
		if (!name || !json_bool(v, "served", false) || json_bool(v, "deprecated", false) ||
		    kind_version_cmp(name, best ? best : old) >= 0)
			continue;
		best = name;
	}
	return best;
}

static void set_deprecation(struct definition *d, struct kind *k, const struct cJSON *version)
{
	const char *words = json_str(version, "deprecationWarning");
	const char *next = successor(d, k->version);
	auto_buf b = BUF_INIT;

	if (!json_bool(version, "deprecated", false))
		return;
	if (words && words[0])
		buf_add_str(&b, words);
	else
		buf_addf(&b, "%s/%s %s is deprecated", k->group, k->version, k->kind);
	if (next && !(words && words[0]))
		buf_addf(&b, "; use %s/%s %s", k->group, next, k->kind);
	k->deprecation = arena_strndup(&d->mem, buf_span(&b).ptr, b.len);
}

/* Schemas of definitions refer to nothing but metadata's, which has no defaults. */
static bool has_defaults(const struct schema *s, const struct schema *object_meta)
{
	if (!s || s == object_meta)
		return false;
	for (size_t i = 0; i < s->n_fields; i++)
		if (s->fields[i].default_json || has_defaults(s->fields[i].schema, object_meta))
			return true;
	return has_defaults(s->items, object_meta);
}

static void set_kind(struct definition *d, struct kind *k, const struct cJSON *version)
{
	const struct cJSON *spec = json_get(d->tree, "spec"), *names = json_get(spec, "names"),
			   *schema = json_path(version, "schema", "openAPIV3Schema", NULL),
			   *subs = json_get(version, "subresources");
	const char *scope = json_str(spec, "scope");

	k->type = d->options.type;
	k->group = text(d, spec, "group");
	k->version = text(d, version, "name");
	k->kind = text(d, names, "kind");
	k->plural = text(d, names, "plural");
	k->singular = text(d, names, "singular");
	k->short_names = texts(d, json_get(names, "shortNames"));
	k->categories = texts(d, json_get(names, "categories"));
	k->scope = scope && strcmp(scope, "Cluster") == 0 ? KIND_CLUSTER : KIND_NAMESPACED;
	k->has_status = json_is(json_get(subs, "status"), JSON_OBJECT);
	k->schema = schema_compile(&d->mem, schema, d->options.object_meta);
	if (has_defaults(k->schema, d->options.object_meta))
		k->defaults_since = d->options.defaults_since;
	k->terminating = json_str(json_get(d->tree, "metadata"), "deletionTimestamp") != NULL;
	set_columns(d, k, json_get(version, "additionalPrinterColumns"));
	set_scale(d, k, json_get(subs, "scale"));
	set_selectable(d, k, json_get(version, "selectableFields"));
	set_deprecation(d, k, version);
}

static void make_stored(struct definition *d)
{
	for (size_t i = 0; i < d->n_kinds; i++)
		if (strcmp(d->kinds[i].version, d->options.stored_version) == 0) {
			d->stored = d->kinds[i];
			return;
		}
	d->stored = d->kinds[0];
	d->stored.version = d->options.stored_version;
}

int definition_compile(const struct definition_options *o, struct definition **ret,
		       struct err *reterr)
{
	struct definition *d = xcalloc(1, sizeof(*d));
	const struct cJSON *versions;

	atomic_init(&d->refs, 1);
	d->options = *o;
	d->options.json = SPAN_NONE;
	d->options.stored_version =
	    arena_strndup(&d->mem, o->stored_version, strlen(o->stored_version));
	int r = json_parse(o->json, NULL, &d->tree, reterr);
	versions = json_path(d->tree, "spec", "versions", NULL);
	if (r == 0 && !json_len(versions))
		r = err_set(reterr, ERR_INTERNAL, "a definition without versions");
	if (r) {
		definition_unref(d);
		return r;
	}
	d->kinds = arena_array(&d->mem, struct kind, json_len(versions));
	json_foreach (versions, v)
		if (json_bool(v, "served", false))
			set_kind(d, &d->kinds[d->n_kinds++], v);
	if (!d->n_kinds) /* rows still have a kind */
		set_kind(d, &d->kinds[0], json_first(versions));
	make_stored(d);
	*ret = d;
	return 0;
}

struct definition *definition_ref(struct definition *d)
{
	atomic_fetch_add_explicit(&d->refs, 1, memory_order_relaxed);
	return d;
}

void definition_unref(struct definition *d)
{
	if (!d || atomic_fetch_sub_explicit(&d->refs, 1, memory_order_acq_rel) != 1)
		return;
	json_free(d->tree);
	arena_done(&d->mem);
	free(d);
}

const struct kind *definition_kinds(const struct definition *d, size_t *ret_n)
{
	*ret_n = d->n_kinds;
	return d->kinds;
}

const struct kind *definition_stored(const struct definition *d)
{
	/* The same struct wherever it can be: pointers tell whether a version is the stored one. */
	for (size_t i = 0; i < d->n_kinds; i++)
		if (strcmp(d->kinds[i].version, d->stored.version) == 0)
			return &d->kinds[i];
	return &d->stored;
}

bool definition_is_namespaced(const struct definition *d)
{
	return d->stored.scope == KIND_NAMESPACED;
}

#include "kube/crd_builtin.h"

#include "base/json.h"
#include "kube/openapi_names.h"
#include "kube/schema.h"

/* Named types are spelled out so deep: the kind, its spec, and what that holds. */
#define SPELLED_OUT 3

/* Groups of Kubernetes itself; its SIGs' projects are not. */
static bool is_kubernetes(struct span group)
{
	return openapi_is_own_group(group) ||
	       (span_ends(group, SPAN(".k8s.io")) && !span_ends(group, SPAN(".sigs.k8s.io")));
}

static bool same_resource(const struct kind *a, const struct kind *b)
{
	return strcmp(a->group, b->group) == 0 && strcmp(a->plural, b->plural) == 0;
}

bool crd_builtin_is_first(const struct kind_set *set, size_t i)
{
	const struct kind *k = set->kinds[i];

	if (is_kubernetes(span_of(k->group)) || k->verbs != KIND_VERBS_ALL ||
	    k->type >= KIND_FIRST_USER_TYPE)
		return false;
	for (size_t j = 0; j < i; j++)
		if (same_resource(set->kinds[j], k))
			return false;
	return true;
}

bool crd_builtin_has(const struct kind_set *set, const char *name)
{
	char own[KIND_API_VERSION_MAX];

	for (size_t i = 0; set && name && i < set->n_kinds; i++)
		if (strcmp(kind_resource_name(set->kinds[i], own), name) == 0 &&
		    crd_builtin_is_first(set, i))
			return true;
	return false;
}

static struct cJSON *texts(const char *const *items)
{
	struct cJSON *list = json_array();

	for (size_t i = 0; items[i]; i++)
		json_append(list, json_new_str(items[i]));
	return list;
}

static void set_text(struct cJSON *o, const char *key, const char *text)
{
	if (text && text[0])
		json_set_str(o, key, text);
}

static struct cJSON *schema_of(const struct schema *s, int names);

static void set_fields(struct cJSON *o, const struct schema *s, int names)
{
	struct cJSON *properties = json_ensure_object(o, "properties"), *required = json_array();

	for (size_t i = 0; i < s->n_fields; i++) {
		const struct schema_field *f = &s->fields[i];
		bool meta = names == SPELLED_OUT && strcmp(f->name, "metadata") == 0;
		struct cJSON *p = meta ? json_object() : schema_of(f->schema, names - 1);
		if (meta)
			json_set_str(p, "type", "object");
		if (!meta && f->default_json)
			json_set(p, "default", json_new_text(span_of(f->default_json)));
		if (!meta && f->description && f->description[0])
			json_set_str(p, "description", f->description);
		json_set(properties, f->name, p);
		if (schema_field_is_required(s, i))
			json_append(required, json_new_str(f->name));
	}
	if (json_len(required))
		json_set(o, "required", required);
	else
		json_free(required);
}

static void set_bounds(struct cJSON *o, const struct schema *s)
{
	const struct {
		const char *key;
		uint32_t value;
	} sizes[] = {{"minLength", s->min_length},
		     {"maxLength", s->max_length},
		     {"minItems", s->min_items},
		     {"maxItems", s->max_items}};

	if (s->flags & SCHEMA_HAS_MIN)
		json_set_int(o, "minimum", s->minimum);
	if (s->flags & SCHEMA_HAS_MAX)
		json_set_int(o, "maximum", s->maximum);
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++)
		if (sizes[i].value)
			json_set_int(o, sizes[i].key, sizes[i].value);
	set_text(o, "pattern", s->pattern);
	set_text(o, "format", openapi_format(s));
	if (s->enumeration)
		json_set(o, "enum", texts(s->enumeration));
	if (s->flags & SCHEMA_NULLABLE)
		json_set_bool(o, "nullable", true);
}

static struct cJSON *schema_of(const struct schema *s, int names)
{
	struct cJSON *o = json_object();

	if (s->type == SCHEMA_INT_OR_STRING || s->type == SCHEMA_QUANTITY) {
		json_set_bool(o, "x-kubernetes-int-or-string", true);
		return o;
	}
	set_text(o, "type", openapi_type(s));
	set_bounds(o, s);
	if (s->type == SCHEMA_ANY || (s->flags & SCHEMA_KEEP_UNKNOWN) || (s->n_fields && !names))
		json_set_bool(o, "x-kubernetes-preserve-unknown-fields", true);
	if (s->n_fields && names)
		set_fields(o, s, names);
	if (s->items)
		json_set(o, s->type == SCHEMA_MAP ? "additionalProperties" : "items",
			 schema_of(s->items, names));
	if (s->type == SCHEMA_ARRAY && s->list_type == SCHEMA_LIST_SET)
		json_set_str(o, "x-kubernetes-list-type", "set");
	return o;
}

static struct cJSON *columns_of(const struct kind *k)
{
	struct cJSON *list = json_array();

	for (size_t i = 0; i < k->n_columns; i++) {
		const struct kind_column *c = &k->columns[i];
		struct cJSON *o;
		if (!c->json_path) /* computed: a definition cannot say it */
			continue;
		o = json_object();
		set_text(o, "description", c->description);
		set_text(o, "format", c->format);
		json_set_str(o, "jsonPath", c->json_path);
		json_set_str(o, "name", c->name);
		if (c->priority)
			json_set_int(o, "priority", c->priority);
		json_set_str(o, "type", c->type);
		json_append(list, o);
	}
	return list;
}

static struct cJSON *version_of(const struct kind *k, bool storage)
{
	struct cJSON *v = json_object(), *columns = columns_of(k), *schema;

	if (json_len(columns))
		json_set(v, "additionalPrinterColumns", columns);
	else
		json_free(columns);
	json_set_str(v, "name", k->version);
	schema = schema_of(k->schema, SPELLED_OUT);
	set_text(schema, "description", k->schema->description);
	json_set(json_ensure_object(v, "schema"), "openAPIV3Schema", schema);
	json_set_bool(v, "served", true);
	json_set_bool(v, "storage", storage);
	if (k->has_status)
		(void)json_ensure_object(json_ensure_object(v, "subresources"), "status");
	return v;
}

static struct cJSON *names_of(const struct kind *k)
{
	struct cJSON *names = json_object();
	char list[160];

	(void)snprintf(list, sizeof(list), "%sList", k->kind);
	if (k->categories)
		json_set(names, "categories", texts(k->categories));
	json_set_str(names, "kind", k->kind);
	json_set_str(names, "listKind", list);
	json_set_str(names, "plural", k->plural);
	if (k->short_names)
		json_set(names, "shortNames", texts(k->short_names));
	json_set_str(names, "singular", k->singular);
	return names;
}

struct cJSON *crd_builtin_spec(const struct kind_set *set, size_t i)
{
	const struct kind *k = set->kinds[i];
	struct cJSON *spec = json_object(), *versions = json_array();

	json_set_str(json_ensure_object(spec, "conversion"), "strategy", "None");
	json_set_str(spec, "group", k->group);
	json_set(spec, "names", names_of(k));
	json_set_str(spec, "scope", k->scope == KIND_CLUSTER ? "Cluster" : "Namespaced");
	for (size_t j = i; j < set->n_kinds; j++)
		if (same_resource(set->kinds[j], k))
			json_append(versions, version_of(set->kinds[j], j == i));
	json_set(spec, "versions", versions);
	return spec;
}

static void add_condition(struct cJSON *list, const char *type, const char *reason,
			  const char *message, const char *time)
{
	struct cJSON *c = json_object();

	json_set_str(c, "lastTransitionTime", time);
	json_set_str(c, "message", message);
	json_set_str(c, "reason", reason);
	json_set_str(c, "status", "True");
	json_set_str(c, "type", type);
	json_append(list, c);
}

struct cJSON *crd_builtin_status(const struct kind_set *set, size_t i, const char *time)
{
	struct cJSON *status = json_object(), *conditions = json_array(), *stored = json_array();

	json_set(status, "acceptedNames", names_of(set->kinds[i]));
	add_condition(conditions, "NamesAccepted", "NoConflicts", "no conflicts found", time);
	add_condition(conditions, "Established", "InitialNamesAccepted",
		      "the initial names have been accepted", time);
	json_set(status, "conditions", conditions);
	json_append(stored, json_new_str(set->kinds[i]->version));
	json_set(status, "storedVersions", stored);
	return status;
}

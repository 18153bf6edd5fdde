/*
 * The protobuf wire format by hand: tags of length-delimited fields, and varints. Messages are
 * built inside out, each in its own buffer. Field numbers: gnostic-models
 * openapiv2/OpenAPIv2.proto.
 */
#include "kube/openapi_v2.h"

#include "kube/openapi_names.h"

#define LIMIT ((size_t)64 << 20)

enum { /* Document */
       DOCUMENT_SWAGGER = 1,
       DOCUMENT_INFO = 2,
       DOCUMENT_PATHS = 8,
       DOCUMENT_DEFINITIONS = 9
};
enum {
	SCHEMA_REF = 1,
	SCHEMA_FORMAT = 2,
	SCHEMA_DESCRIPTION = 4,
	SCHEMA_REQUIRED = 19,
	SCHEMA_ADDITIONAL = 21,
	SCHEMA_TYPE_ITEM = 22,
	SCHEMA_ITEMS = 23,
	SCHEMA_PROPERTIES = 25,
	SCHEMA_EXTENSION = 31
};
enum {
	OPERATION_ID = 5,
	OPERATION_PARAMETERS = 8,
	OPERATION_RESPONSES = 9,
	OPERATION_EXTENSION = 13
};

static void put_varint(struct buf *b, uint64_t v)
{
	while (v >= 0x80) {
		buf_add_char(b, (char)(v | 0x80));
		v >>= 7;
	}
	buf_add_char(b, (char)v);
}

static void put_bytes(struct buf *b, unsigned field, struct span bytes)
{
	put_varint(b, (uint64_t)field << 3 | 2);
	put_varint(b, bytes.len);
	buf_add_span(b, bytes);
}

static void put_text(struct buf *b, unsigned field, const char *text)
{
	if (text && text[0])
		put_bytes(b, field, span_of(text));
}

/* Puts a message that was built in `inner`, and empties it. */
static void put_message(struct buf *b, unsigned field, struct buf *inner)
{
	put_bytes(b, field, buf_span(inner));
	buf_done(inner);
}

/* {name=1, value=2}: the form of every entry of a map. */
static void put_named(struct buf *b, unsigned field, const char *name, struct buf *value)
{
	struct buf entry = BUF_MAX(LIMIT);

	put_text(&entry, 1, name);
	put_message(&entry, 2, value);
	put_message(b, field, &entry);
}

/* An extension: its value is YAML text in Any.yaml. */
static void put_extension(struct buf *b, unsigned field, const char *name, const char *yaml)
{
	struct buf any = BUF_MAX(LIMIT);

	if (!yaml || !yaml[0])
		return;
	put_text(&any, 2, yaml);
	put_named(b, field, name, &any);
}

static void put_schema(struct buf *b, const struct schema *s);

/* A use of a schema: a reference or the schema itself. */
static void put_use(struct buf *b, const struct schema *s, const struct schema_field *f)
{
	char ref[OPENAPI_NAME_MAX + 16];

	if (s->name) {
		(void)snprintf(ref, sizeof(ref), "#/definitions/%s", s->name);
		put_text(b, SCHEMA_REF, ref);
	}
	if (f)
		put_text(b, SCHEMA_DESCRIPTION, f->description);
	if (!s->name)
		put_schema(b, s);
	if (f) {
		put_extension(b, SCHEMA_EXTENSION, "x-kubernetes-patch-strategy",
			      f->patch_strategy);
		put_extension(b, SCHEMA_EXTENSION, "x-kubernetes-patch-merge-key",
			      f->patch_merge_key);
	}
}

static void put_items(struct buf *b, const struct schema *s)
{
	struct buf items = BUF_MAX(LIMIT), inner = BUF_MAX(LIMIT);

	put_use(&inner, s->items, NULL);
	put_message(&items, 1, &inner); /* ItemsItem.schema, AdditionalPropertiesItem.schema */
	put_message(b, s->type == SCHEMA_MAP ? SCHEMA_ADDITIONAL : SCHEMA_ITEMS, &items);
}

static void put_properties(struct buf *b, const struct schema *s)
{
	struct buf properties = BUF_MAX(LIMIT);

	for (size_t i = 0; i < s->n_fields; i++) {
		struct buf value = BUF_MAX(LIMIT);
		put_use(&value, s->fields[i].schema, &s->fields[i]);
		put_named(&properties, 1, s->fields[i].name, &value);
	}
	if (properties.len)
		put_message(b, SCHEMA_PROPERTIES, &properties);
	buf_done(&properties);
}

/* The fields of a Schema message, in the order of their numbers as far as order matters to
 * nobody; a description is the caller's. */
static void put_schema(struct buf *b, const struct schema *s)
{
	struct buf type = BUF_MAX(LIMIT);

	put_text(b, SCHEMA_FORMAT, openapi_format(s));
	for (size_t i = 0; i < s->n_fields; i++)
		if (schema_field_is_required(s, i))
			put_text(b, SCHEMA_REQUIRED, s->fields[i].name);
	if (openapi_type(s)) {
		put_text(&type, 1, openapi_type(s));
		put_message(b, SCHEMA_TYPE_ITEM, &type);
	}
	if (s->items)
		put_items(b, s);
	put_properties(b, s);
	if (s->type == SCHEMA_ANY || (s->flags & SCHEMA_KEEP_UNKNOWN))
		put_extension(b, SCHEMA_EXTENSION, "x-kubernetes-preserve-unknown-fields", "true");
}

static void put_definition(struct buf *definitions, const char *name, const struct schema *s,
			   const struct kind *k)
{
	struct buf value = BUF_MAX(LIMIT);
	char gvk[512];

	if (s) {
		put_text(&value, SCHEMA_DESCRIPTION, s->description);
		put_schema(&value, s);
	}
	if (k) {
		(void)snprintf(gvk, sizeof(gvk), "- group: \"%s\"\n  kind: %s\n  version: %s\n",
			       k->group, k->kind, k->version);
		put_extension(&value, SCHEMA_EXTENSION, "x-kubernetes-group-version-kind", gvk);
	}
	put_named(definitions, 1, name, &value);
}

static void put_query(struct buf *operation, const char *name)
{
	struct buf sub = BUF_MAX(LIMIT), non_body = BUF_MAX(LIMIT), parameter = BUF_MAX(LIMIT),
		   item = BUF_MAX(LIMIT);

	put_text(&sub, 2, "query");
	put_text(&sub, 4, name);
	put_text(&sub, 6, "string");
	put_message(&non_body, 3, &sub);
	put_message(&parameter, 2, &non_body);
	put_message(&item, 1, &parameter);
	put_message(operation, OPERATION_PARAMETERS, &item);
}

static void put_path(struct buf *paths, const struct kind *k)
{
	struct buf operation = BUF_MAX(LIMIT), item = BUF_MAX(LIMIT), responses = BUF_MAX(LIMIT);
	char text[512];

	(void)snprintf(text, sizeof(text), "patch%s%s%s", k->group, k->version, k->kind);
	put_text(&operation, OPERATION_ID, text);
	put_query(&operation, "dryRun");
	put_query(&operation, "fieldManager");
	put_query(&operation, "fieldValidation");
	put_message(&operation, OPERATION_RESPONSES, &responses);
	(void)snprintf(text, sizeof(text), "group: \"%s\"\nkind: %s\nversion: %s\n", k->group,
		       k->kind, k->version);
	put_extension(&operation, OPERATION_EXTENSION, "x-kubernetes-group-version-kind", text);
	put_message(&item, 8, &operation); /* PathItem.patch */
	(void)snprintf(text, sizeof(text), "%s%s/%s%s/%s/{name}", k->group[0] ? "/apis/" : "/api",
		       k->group, k->version,
		       k->scope == KIND_NAMESPACED ? "/namespaces/{namespace}" : "", k->plural);
	put_named(paths, 2, text, &item);
}

void openapi_v2_document(const struct kind_set *set, struct buf *out)
{
	struct buf info = BUF_MAX(LIMIT), paths = BUF_MAX(LIMIT), definitions = BUF_MAX(LIMIT);
	struct openapi_definitions d = {0};
	char name[OPENAPI_NAME_MAX];

	put_text(&info, 1, "Kubernetes");
	put_text(&info, 2, "v1");
	for (size_t i = 0; i < set->n_kinds; i++) {
		const struct kind *k = set->kinds[i];
		if (k->verbs == KIND_VERBS_NONE)
			continue;
		if (k->verbs == KIND_VERBS_ALL)
			put_path(&paths, k);
		put_definition(&definitions, openapi_kind_name(k, name), k->schema, k);
		/* A kind's own definition stands for a schema of that name. */
		map_put(&d.seen, span_of(name), &d);
	}
	for (size_t i = 0; i < set->n_kinds; i++)
		if (set->kinds[i]->verbs != KIND_VERBS_NONE)
			openapi_definitions_add(&d, set->kinds[i]);
	vec_foreach (&d.list, s)
		put_definition(&definitions, (*s)->name, *s, NULL);
	openapi_definitions_done(&d);
	put_text(out, DOCUMENT_SWAGGER, "2.0");
	put_message(out, DOCUMENT_INFO, &info);
	put_message(out, DOCUMENT_PATHS, &paths);
	put_message(out, DOCUMENT_DEFINITIONS, &definitions);
}

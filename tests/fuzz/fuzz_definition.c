/*
 * The schema of a CustomResourceDefinition and an object: {"schema": ..., "object": ...}. Whatever
 * they are: the check, the compiler, and the pass over the object come to an end. What a schema
 * that was found good admits without an error it admits again without a change. The whole input is
 * tried as a definition as well.
 */
#include "base/json.h"
#include "kube/definition.h"
#include "kube/field_errors.h"
#include "kube/kind_set.h"
#include "kube/schema.h"
#include "kube/schema_compile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct schema meta = {.type = SCHEMA_OBJECT, .flags = SCHEMA_KEEP_UNKNOWN};

static bool apply(const struct schema *s, struct cJSON *object)
{
	struct field_errors e = {.n = 0};
	auto_buf unknown = BUF_INIT;

	schema_apply(s, object, &e, &unknown);
	bool fine = !field_errors_any(&e);
	field_errors_done(&e);
	return fine;
}

static bool is_good(const struct cJSON *schema)
{
	struct field_errors e = {.n = 0};

	schema_structure_check(schema, "schema", &e);
	if (!field_errors_any(&e))
		schema_defaults_check(schema, "schema", &meta, &e);
	bool good = !field_errors_any(&e);
	field_errors_done(&e);
	return good;
}

static void try_definition(struct span json)
{
	struct definition *d = NULL;
	struct definition_options o = {.json = json,
				       .type = KIND_FIRST_USER_TYPE,
				       .stored_version = "v1",
				       .object_meta = &meta};
	static const struct kind_set none;

	if (definition_compile(&o, &d, NULL) < 0)
		return;
	const struct kind_set *set = kind_set_create(&none, &d, 1);
	if (!kind_by_type(set, KIND_FIRST_USER_TYPE))
		abort();
	definition_unref(d);
	kind_set_unref(set);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_json *tree = NULL;
	auto_arena mem = ARENA_INIT;
	struct span text = span_make((const char *)data, size);

	if (json_parse(text, NULL, &tree, NULL) < 0)
		return 0;
	try_definition(text);
	const struct cJSON *schema = json_get(tree, "schema");
	struct cJSON *object = json_get(tree, "object");
	bool good = is_good(schema);
	const struct schema *s = schema_compile(&mem, schema, &meta);
	if (!object || !apply(s, object) || !good)
		return 0;
	auto_json *once = json_dup(object);
	if (!apply(s, object) || !json_equal(object, once))
		abort();
	return 0;
}

/*
 * An expression, compiled against a schema of every kind of value, and run on a fixed object: what
 * compiles gives a value within its budget, what does not says where.
 */
#include "base/json.h"
#include "kube/cel/cel.h"
#include "kube/schema.h"
#include "kube/schema_compile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char schema_text[] =
    "{\"type\":\"object\",\"properties\":{\"i\":{\"type\":\"integer\"},\"d\":{\"type\":\"number\"},"
    "\"s\":{\"type\":\"string\"},\"b\":{\"type\":\"boolean\"},\"p\":{\"x-kubernetes-int-or-string\":"
    "true},\"l\":{\"type\":\"array\",\"items\":{\"type\":\"integer\"}},\"set\":{\"type\":\"array\","
    "\"x-kubernetes-list-type\":\"set\",\"items\":{\"type\":\"string\"}},\"m\":{\"type\":\"object\","
    "\"additionalProperties\":{\"type\":\"string\"}},\"when\":{\"type\":\"string\",\"format\":"
    "\"date-time\"},\"long\":{\"type\":\"string\",\"format\":\"duration\"},\"raw\":{\"type\":"
    "\"string\",\"format\":\"byte\"}}}";
static const char object_text[] =
    "{\"i\":3,\"d\":0.5,\"s\":\"h\xc3\xa9llo\",\"b\":true,\"p\":\"80\",\"l\":[1,2],\"set\":[\"x\","
    "\"y\"],\"m\":{\"k\":\"v\"},\"when\":\"2026-11-21T10:20:30Z\",\"long\":\"1h\",\"raw\":\"aGk=\"}";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct schema meta = {.type = SCHEMA_OBJECT};
	auto_arena mem = ARENA_INIT;
	auto_json *schema = NULL, *object = NULL;
	struct cel_heap heap = {.mem = &mem};
	struct cel_program p;
	struct err e = ERR_INIT;
	int64_t steps = 20000;

	if (json_parse(span_of(schema_text), NULL, &schema, NULL) < 0 ||
	    json_parse(span_of(object_text), NULL, &object, NULL) < 0)
		abort();
	const struct cel_variable self = {
	    "self", cel_type_from_schema(&mem, schema_compile(&mem, schema, &meta), false)};
	if (cel_compile(&mem, span_make((const char *)data, size), &self, 1, &p, &e) < 0) {
		if (!strstr(e.text, "ERROR: <input>:"))
			abort();
		return 0;
	}
	const struct cel_value value = cel_from_node(&heap, self.type, object);
	struct cel_value v = cel_run(&p, &value, 1, &mem, &steps);
	if (v.kind == CEL_DYN || v.kind >= CEL_KINDS)
		abort();
	return 0;
}

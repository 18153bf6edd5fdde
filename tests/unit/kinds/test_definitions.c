/* CustomResourceDefinitions: what they must be, and what becomes of their schemas. */
#include "kinds_test.h"

#include "base/json.h"
#include "kinds/kinds.h"
#include "kinds/types.h"
#include "kube/crd.h"
#include "kube/field_errors.h"
#include "kube/kind_set.h"
#include "kube/schema.h"
#include "kube/schema_compile.h"

static const struct kind *crd_kind(void)
{
	return kind_by_type(kinds_hub(), TYPE_CUSTOM_RESOURCE_DEFINITION);
}

/* A schema of one property "x" under spec, around the given node. */
static struct cJSON *schema_of(const char *x)
{
	auto_buf b = BUF_INIT;
	struct cJSON *tree = NULL;

	buf_addf(&b,
		 "{\"type\":\"object\",\"properties\":{\"spec\":{\"type\":\"object\","
		 "\"properties\":{\"x\":%s}}}}",
		 x);
	assert_int_equal(json_parse(buf_span(&b), NULL, &tree, NULL), 0);
	return tree;
}

static void print_errors(const struct field_errors *e, struct buf *out)
{
	for (size_t i = 0; i < e->n; i++) {
		field_error_text(&e->items[i], out);
		buf_add_char(out, '\n');
	}
}

/* Applies the schema of x to {"spec": spec}: what is left of it, and what was wrong, in lines. */
static void try(const char *x, const char *spec, const char *left, const char *wrong)
{
	auto_json *schema = schema_of(x), *object = NULL;
	auto_arena mem = ARENA_INIT;
	auto_buf in = BUF_INIT, out = BUF_INIT, said = BUF_INIT, unknown = BUF_INIT;
	struct field_errors refused = {.n = 0}, e = {.n = 0};

	schema_structure_check(schema, "s", &refused);
	print_errors(&refused, &said);
	assert_string_equal(buf_span(&said).ptr, "");
	buf_addf(&in, "{\"spec\":%s}", spec);
	assert_int_equal(json_parse(buf_span(&in), NULL, &object, NULL), 0);
	schema_apply(schema_compile(&mem, schema, crd_object_meta(crd_kind())), object, &e,
		     &unknown);
	print_errors(&e, &said);
	json_print(json_get(object, "spec"), &out);
	assert_string_equal(buf_span(&said).ptr, wrong);
	assert_string_equal(out.ptr, left);
	field_errors_done(&e);
	field_errors_done(&refused);
}

static void fits(const char *x, const char *value)
{
	auto_buf spec = BUF_INIT;

	buf_addf(&spec, "{\"x\":%s}", value);
	try(x, spec.ptr, spec.ptr, "");
}

static void fails(const char *x, const char *value, const char *wrong)
{
	auto_buf spec = BUF_INIT, lines = BUF_INIT;

	buf_addf(&spec, "{\"x\":%s}", value);
	buf_addf(&lines, "%s\n", wrong);
	try(x, spec.ptr, spec.ptr, lines.ptr);
}

static void types_are_kept_apart(void **state)
{
	(void)state;
	fits("{\"type\":\"string\"}", "\"a\"");
	fits("{\"type\":\"integer\"}", "3");
	fits("{\"type\":\"integer\"}", "3.0");
	fits("{\"type\":\"number\"}", "3.5");
	fits("{\"type\":\"boolean\"}", "true");
	fits("{\"type\":\"array\",\"items\":{\"type\":\"integer\"}}", "[1,2]");
	fails("{\"type\":\"string\"}", "3",
	      "spec.x: Invalid value: \"number\": spec.x in body must be of type string: "
	      "\"number\"");
	fails("{\"type\":\"integer\"}", "3.5",
	      "spec.x: Invalid value: \"number\": spec.x in body must be of type integer: "
	      "\"number\"");
	fails("{\"type\":\"boolean\"}", "\"true\"",
	      "spec.x: Invalid value: \"string\": spec.x in body must be of type boolean: "
	      "\"string\"");
}

static void null_is_for_what_is_nullable(void **state)
{
	(void)state;
	fits("{\"type\":\"string\",\"nullable\":true}", "null");
	fits("{\"type\":\"array\",\"items\":{\"type\":\"string\",\"nullable\":true}}", "[null]");
	try("{\"type\":\"string\"}", "{\"x\":null}", "{}", "");
	try("{\"type\":\"string\",\"default\":\"d\"}", "{\"x\":null}", "{\"x\":\"d\"}", "");
}

static void enumerations_hold_any_value(void **state)
{
	(void)state;
	fits("{\"type\":\"integer\",\"enum\":[1,2]}", "2");
	fits("{\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true,"
	     "\"enum\":[{\"a\":1}]}",
	     "{\"a\":1}");
	fails("{\"type\":\"string\",\"enum\":[\"red\",\"green\"]}", "\"blue\"",
	      "spec.x: Unsupported value: \"blue\": supported values: \"red\", \"green\"");
	fails("{\"type\":\"integer\",\"enum\":[1,2]}", "3",
	      "spec.x: Unsupported value: 3: supported values: \"1\", \"2\"");
}

static void numbers_have_bounds(void **state)
{
	(void)state;
	fits("{\"type\":\"number\",\"minimum\":0.5,\"maximum\":1.5}", "0.5");
	fits("{\"type\":\"number\",\"multipleOf\":0.1}", "0.3");
	fits("{\"type\":\"integer\",\"multipleOf\":3}", "9");
	fails("{\"type\":\"integer\",\"minimum\":2}", "1",
	      "spec.x: Invalid value: 1: spec.x in body should be greater than or equal to 2");
	fails("{\"type\":\"integer\",\"maximum\":2}", "3",
	      "spec.x: Invalid value: 3: spec.x in body should be less than or equal to 2");
	fails("{\"type\":\"integer\",\"minimum\":2,\"exclusiveMinimum\":true}", "2",
	      "spec.x: Invalid value: 2: spec.x in body should be greater than 2");
	fails("{\"type\":\"number\",\"maximum\":2.5,\"exclusiveMaximum\":true}", "2.5",
	      "spec.x: Invalid value: 2.5: spec.x in body should be less than 2.5");
	fails("{\"type\":\"integer\",\"multipleOf\":3}", "10",
	      "spec.x: Invalid value: 10: spec.x in body should be a multiple of 3");
	fails("{\"type\":\"integer\",\"maximum\":9007199254740992}", "9007199254740993",
	      "spec.x: Invalid value: 9007199254740993: spec.x in body should be less than or "
	      "equal to 9007199254740992");
}

static void strings_have_lengths_patterns_and_formats(void **state)
{
	(void)state;
	fits("{\"type\":\"string\",\"minLength\":2,\"maxLength\":3}", "\"\xc3\xa4\xc3\xb6\"");
	fits("{\"type\":\"string\",\"format\":\"ipv4\"}", "\"10.0.0.1\"");
	fits("{\"type\":\"string\",\"format\":\"duration\"}", "\"1h30m\"");
	fits("{\"type\":\"string\",\"format\":\"no-such\"}", "\"?\"");
	fails("{\"type\":\"string\",\"minLength\":2}", "\"a\"",
	      "spec.x: Invalid value: \"a\": spec.x in body should be at least 2 chars long");
	fails("{\"type\":\"string\",\"maxLength\":0}", "\"a\"",
	      "spec.x: Too long: may not be more than 0 bytes");
	fails("{\"type\":\"string\",\"pattern\":\"^a+$\"}", "\"b\"",
	      "spec.x: Invalid value: \"b\": spec.x in body should match '^a+$'");
	fails("{\"type\":\"string\",\"format\":\"uuid\"}", "\"b\"",
	      "spec.x: Invalid value: \"b\": spec.x in body must be of type uuid: \"b\"");
}

static void known_formats_are_told_apart(void **state)
{
	static const char *const cases[][3] = {
	    {"ipv6", "::1", "10.0.0.1"},
	    {"cidr", "10.0.0.0/8", "10.0.0.0/64"},
	    {"mac", "00:11:22:aa:bb:cc", "00:11"},
	    {"date", "2024-02-29", "2023-02-29"},
	    {"date-time", "2024-02-29T01:02:03Z", "2024-02-29"},
	    {"byte", "aGk=", "aGk"},
	    {"email", "a@b.c", "ab.c"},
	    {"hostname", "a-b.example", "-a"},
	    {"uri", "https://a.b/c?d", "no uri"},
	    {"hexcolor", "#a0b1c2", "#a0b1"},
	    {"rgbcolor", "rgb(1, 2, 255)", "rgb(1,2,256)"},
	    {"bsonobjectid", "0123456789abcdef01234567", "0123"},
	    {"isbn", "978-3-16-148410-0", "12"},
	    {"ssn", "123-45-6789", "123"},
	    {"creditcard", "4111111111111111", "41"},
	    {"uuid4", "b3b5a0a0-5b9a-4c5e-8f7e-000000000001",
	     "b3b5a0a0-5b9a-1c5e-8f7e-000000000001"},
	    {"k8s-short-name", "abc", "A.b"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		auto_buf x = BUF_INIT, good = BUF_INIT, bad = BUF_INIT, words = BUF_INIT;
		buf_addf(&x, "{\"type\":\"string\",\"format\":\"%s\"}", cases[i][0]);
		buf_addf(&good, "\"%s\"", cases[i][1]);
		buf_addf(&bad, "\"%s\"", cases[i][2]);
		buf_addf(&words,
			 "spec.x: Invalid value: \"%s\": spec.x in body must be of type %s: "
			 "\"%s\"",
			 cases[i][2], cases[i][0], cases[i][2]);
		fits(x.ptr, good.ptr);
		fails(x.ptr, bad.ptr, words.ptr);
	}
}

static void containers_have_sizes(void **state)
{
	const char *list = "{\"type\":\"array\",\"minItems\":1,\"maxItems\":2,\"items\":{\"type\":"
			   "\"integer\"}}";
	const char *map = "{\"type\":\"object\",\"minProperties\":1,\"maxProperties\":2,"
			  "\"additionalProperties\":{\"type\":\"integer\"}}";

	(void)state;
	fits(list, "[1]");
	fits(map, "{\"a\":1}");
	fails(list, "[]", "spec.x: Invalid value: []: spec.x in body should have at least 1 items");
	fails(list, "[1,2,3]", "spec.x: Too many: 3: must have at most 2 items");
	fails(map, "{}",
	      "spec.x: Invalid value: {}: spec.x in body should have at least 1 properties");
	fails(map, "{\"a\":1,\"b\":2,\"c\":3}", "spec.x: Too many: 3: must have at most 2 items");
	fails(map, "{\"a\":\"b\"}",
	      "spec.x[a]: Invalid value: \"string\": spec.x[a] in body must be of type integer: "
	      "\"string\"");
}

static void what_is_required_must_be_there(void **state)
{
	(void)state;
	fails("{\"type\":\"object\",\"required\":[\"a\"],\"properties\":{\"a\":{\"type\":"
	      "\"string\"}}}",
	      "{}", "spec.x.a: Required value");
	try("{\"type\":\"object\",\"required\":[\"a\"],\"properties\":{\"a\":{\"type\":\"string\","
	    "\"default\":\"d\"}}}",
	    "{\"x\":{}}", "{\"x\":{\"a\":\"d\"}}", "");
}

static void junctors_join(void **state)
{
	const char *any = "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"},\"b\":"
			  "{\"type\":\"integer\"}},\"anyOf\":[{\"required\":[\"a\"]},"
			  "{\"required\":[\"b\"]}]}";
	const char *one = "{\"type\":\"integer\",\"oneOf\":[{\"minimum\":5},{\"multipleOf\":2}]}";
	const char *all = "{\"type\":\"integer\",\"allOf\":[{\"minimum\":5},{\"maximum\":7}]}";
	const char *not = "{\"type\":\"string\",\"not\":{\"enum\":[\"bad\"]}}";

	(void)state;
	fits(any, "{\"b\":1}");
	fits(one, "4");
	fits(one, "7");
	fits(all, "6");
	fits(not, "\"good\"");
	fails(any, "{}",
	      "spec.x: Invalid value: \"\": \"spec.x\" must validate at least one schema (anyOf)\n"
	      "spec.x.a: Required value");
	fails(one, "6",
	      "spec.x: Invalid value: \"\": \"spec.x\" must validate one and only one schema "
	      "(oneOf). Found 2 valid alternatives");
	fails(all, "4",
	      "spec.x: Invalid value: 4: spec.x in body should be greater than or equal to 5\n"
	      "spec.x: Invalid value: \"\": \"spec.x\" must validate all the schemas (allOf)");
	fails(not, "\"bad\"",
	      "spec.x: Invalid value: \"\": \"spec.x\" must not validate the schema (not)");
}

static void extensions_mean_what_they_say(void **state)
{
	const char *set = "{\"type\":\"array\",\"x-kubernetes-list-type\":\"set\",\"items\":{"
			  "\"type\":\"string\"}}";
	const char *list = "{\"type\":\"array\",\"x-kubernetes-list-type\":\"map\","
			   "\"x-kubernetes-list-map-keys\":[\"n\"],\"items\":{\"type\":\"object\","
			   "\"required\":[\"n\"],\"properties\":{\"n\":{\"type\":\"string\"}}}}";

	(void)state;
	fits("{\"x-kubernetes-int-or-string\":true}", "1");
	fits("{\"x-kubernetes-int-or-string\":true}", "\"50%\"");
	fits("{\"x-kubernetes-int-or-string\":true,\"anyOf\":[{\"type\":\"integer\"},{\"type\":"
	     "\"string\"}]}",
	     "\"50%\"");
	fits("{\"x-kubernetes-preserve-unknown-fields\":true}", "[{\"a\":null}]");
	fits("{\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true}", "{\"a\":1}");
	fits("{\"type\":\"object\",\"x-kubernetes-embedded-resource\":true,"
	     "\"x-kubernetes-preserve-unknown-fields\":true}",
	     "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\"},\"spec\":{}}");
	fails(set, "[\"a\",\"a\"]", "spec.x[1]: Duplicate value: \"a\"");
	fails(list, "[{\"n\":\"a\"},{\"n\":\"a\"}]", "spec.x[1]: Duplicate value: {\"n\":\"a\"}");
	fails("{\"x-kubernetes-int-or-string\":true}", "true",
	      "spec.x: Invalid value: \"boolean\": spec.x in body must be of type integer,"
	      "string: \"boolean\"");
}

static void what_is_not_described_is_pruned(void **state)
{
	(void)state;
	try("{\"type\":\"object\"}", "{\"x\":{\"a\":1},\"y\":2}", "{\"x\":{}}", "");
	try("{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"object\","
	    "\"x-kubernetes-preserve-unknown-fields\":true}}}",
	    "{\"x\":{\"a\":{\"b\":1},\"c\":1}}", "{\"x\":{\"a\":{\"b\":1}}}", "");
	try("{\"type\":\"object\",\"default\":{},\"properties\":{\"a\":{\"type\":\"integer\","
	    "\"default\":7}}}",
	    "{}", "{\"x\":{\"a\":7}}", "");
}

static void wide_objects_have_defaults_and_requirements_too(void **state)
{
	auto_buf x = BUF_INIT;

	(void)state;
	buf_add_str(&x, "{\"type\":\"object\",\"required\":[\"f099\"],\"properties\":{");
	for (int i = 0; i < 100; i++)
		buf_addf(&x, "%s\"f%03d\":{\"type\":\"integer\"%s}", i ? "," : "", i,
			 i == 70 ? ",\"default\":5" : "");
	buf_add_str(&x, "}}");
	try(x.ptr, "{\"x\":{\"f000\":1,\"g\":2}}", "{\"x\":{\"f000\":1,\"f070\":5}}",
	    "spec.x.f099: Required value\n");
}

/* ---- structural rules ---- */

static void refused(const char *x, const char *wrong)
{
	auto_json *schema = schema_of(x);
	auto_buf said = BUF_INIT;
	struct field_errors e = {.n = 0};

	schema_structure_check(schema, "s", &e);
	if (!e.n)
		schema_defaults_check(schema, "s", crd_object_meta(crd_kind()), &e);
	print_errors(&e, &said);
	assert_string_equal(buf_span(&said).ptr, wrong);
	field_errors_done(&e);
}

#define X "s.properties[spec].properties[x]"

static void schemas_must_be_structural(void **state)
{
	(void)state;
	refused("{}", X ".type: Required value: must not be empty for specified object fields\n");
	refused("{\"type\":\"array\",\"items\":{}}",
		X ".items.type: Required value: must not be empty for specified array items\n");
	refused("{\"type\":\"array\"}", X ".items: Required value: must be specified\n");
	refused("{\"type\":\"text\"}",
		X ".type: Unsupported value: \"text\": supported values: \"array\", \"boolean\", "
		  "\"integer\", \"number\", \"object\", \"string\"\n");
	refused("{\"$ref\":\"#/a\",\"type\":\"string\"}",
		X ".$ref: Forbidden: $ref is not supported\n");
	refused("{\"type\":\"array\",\"uniqueItems\":true,\"items\":{\"type\":\"string\"}}",
		X ".uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime "
		  "complexity becomes quadratic\n");
	refused("{\"type\":\"object\",\"additionalProperties\":false}",
		X ".additionalProperties: Forbidden: additionalProperties cannot be set to "
		  "false\n");
	refused("{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"}},"
		"\"additionalProperties\":{\"type\":\"string\"}}",
		X ".additionalProperties: Forbidden: additionalProperties and properties are "
		  "mutual exclusive\n");
	refused("{\"type\":\"string\",\"x-kubernetes-int-or-string\":true}",
		X ".type: Invalid value: \"string\": must be empty if x-kubernetes-int-or-string "
		  "is true\n");
	refused("{\"type\":\"object\",\"anyOf\":[{\"type\":\"object\"}]}",
		X ".anyOf[0].type: Forbidden: must be empty to be structural\n");
	refused("{\"type\":\"object\",\"not\":{\"properties\":{\"a\":{}}}}",
		X ".not.properties[a]: Required value: must be specified in the structure outside "
		  "of the junctor too\n");
	refused("{\"type\":\"string\",\"x-kubernetes-list-type\":\"set\"}",
		X ".type: Invalid value: \"string\": must be array if x-kubernetes-list-type is "
		  "specified\n");
	refused("{\"type\":\"string\",\"pattern\":\"(\"}",
		X ".pattern: Invalid value: \"(\": must be a valid regular expression, but isn't: "
		  "missing closing parenthesis\n");
}

static void rules_stand_where_there_is_structure(void **state)
{
	(void)state;
	refused(
	    "{\"type\":\"integer\",\"anyOf\":[{\"x-kubernetes-validations\":[{\"rule\":\"self > 1"
	    "\"}]}]}",
	    X ".anyOf[0].x-kubernetes-validations: Forbidden: rules are not supported in "
	      "metadata, allOf, anyOf, oneOf and not\n");
}

static void defaults_must_fit_their_own_schema(void **state)
{
	(void)state;
	refused("{\"type\":\"integer\",\"default\":\"a\"}",
		X ".default: Invalid value: \"string\":  in body must be of type integer: "
		  "\"string\"\n");
	refused("{\"type\":\"object\",\"default\":{\"b\":1},\"properties\":{\"a\":{\"type\":"
		"\"string\"}}}",
		X ".default: Invalid value: {\"b\":1}: must not have unknown fields: b\n");
	refused("{\"type\":\"integer\",\"default\":3}", "");
}

/* ---- definitions ---- */

#define NAMES(plural, kind)                                                                        \
	"{\"plural\":\"" plural "\",\"kind\":\"" kind "\",\"shortNames\":[\"wd\"]}"
#define VERSION(name, served, storage)                                                             \
	"{\"name\":\"" name "\",\"served\":" served ",\"storage\":" storage                        \
	",\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\",\"properties\":{\"spec\":{"         \
	"\"type\":\"object\",\"properties\":{\"replicas\":{\"type\":\"integer\"}}}}}},"            \
	"\"subresources\":{\"status\":{},\"scale\":{\"specReplicasPath\":\".spec.replicas\","      \
	"\"statusReplicasPath\":\".status.replicas\"}}}"
#define CRD(name, names, versions)                                                                 \
	"{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"CustomResourceDefinition\","       \
	"\"metadata\":{\"name\":\"" name "\"},\"spec\":{\"group\":\"example.com\",\"scope\":"      \
	"\"Namespaced\",\"names\":" names ",\"versions\":[" versions "]}}"

static void admit_text(const char *text, const char *wrong)
{
	auto_json *object = NULL;
	auto_buf said = BUF_INIT, warnings = BUF_INIT, unknown = BUF_INIT;
	struct field_errors e = {.n = 0};
	struct kind_write w = {.subresource = "", .warnings = &warnings};

	assert_int_equal(json_parse(span_of(text), NULL, &object, NULL), 0);
	schema_admit(crd_kind(), object, &w, &e, &unknown);
	print_errors(&e, &said);
	assert_string_equal(buf_span(&said).ptr, wrong);
	assert_string_equal(buf_span(&unknown).ptr, "");
	if (!wrong[0]) {
		assert_string_equal(json_str(json_path(object, "spec", "names", NULL), "listKind"),
				    "WidgetList");
		assert_string_equal(
		    json_value_str(json_at(json_path(object, "status", "storedVersions", NULL), 0)),
		    "v1");
	}
	field_errors_done(&e);
}

static void definitions_are_checked(void **state)
{
	(void)state;
	admit_text(
	    CRD("widgets.example.com", NAMES("widgets", "Widget"), VERSION("v1", "true", "true")),
	    "");
	admit_text(
	    CRD("widget.example.com", NAMES("widgets", "Widget"), VERSION("v1", "true", "true")),
	    "metadata.name: Invalid value: \"widget.example.com\": must be "
	    "spec.names.plural+\".\"+spec.group\n");
	admit_text(
	    CRD("widgets.example.com", NAMES("widgets", "Widget"), VERSION("v1", "true", "false")),
	    "spec.versions: Invalid value: must have exactly one version marked as storage "
	    "version\n");
	admit_text(CRD("widgets.example.com", NAMES("widgets", "Widget"),
		       VERSION("v1", "true", "true") "," VERSION("v1", "true", "false")),
		   "spec.versions: Invalid value: \"v1\": must contain unique version names\n");
}

static struct definition *compile(const char *text, uint16_t type)
{
	struct definition *d = NULL;
	struct definition_options o = {.json = span_of(text),
				       .type = type,
				       .stored_version = "v1",
				       .object_meta = crd_object_meta(crd_kind())};

	assert_int_equal(definition_compile(&o, &d, NULL), 0);
	return d;
}

static void sets_hold_the_users_kinds_in_discovery_order(void **state)
{
	struct definition *d =
	    compile(CRD("widgets.example.com", NAMES("widgets", "Widget"),
			VERSION("v1beta1", "true", "false") "," VERSION(
			    "v1", "false", "true") "," VERSION("v2", "true", "false")),
		    KIND_FIRST_USER_TYPE);
	const struct kind_set *set = kind_set_create(kinds_hub(), &d, 1);
	const struct kind *k;

	(void)state;
	definition_unref(d);
	assert_int_equal(set->n_kinds, kinds_hub()->n_kinds + 2);
	k = set->kinds[set->n_kinds - 2];
	assert_string_equal(k->version, "v2");
	assert_string_equal(k->plural, "widgets");
	assert_non_null(k->scale);
	assert_true(k->has_status);
	assert_null(kind_by_resource(set, SPAN("example.com"), SPAN("v1"), SPAN("widgets")));
	k = kind_by_type(set, KIND_FIRST_USER_TYPE);
	assert_string_equal(k->version, "v1");
	assert_null(kind_by_type(set, KIND_FIRST_USER_TYPE + 1));
	assert_ptr_equal(kind_by_type(set, TYPE_JOB), kind_by_type(kinds_hub(), TYPE_JOB));
	kind_set_unref(set);
}

static void old_sets_live_as_long_as_they_are_used(void **state)
{
	struct definition *d = compile(
	    CRD("widgets.example.com", NAMES("widgets", "Widget"), VERSION("v1", "true", "true")),
	    KIND_FIRST_USER_TYPE);
	struct kind_source source;
	uint64_t generation, first = 0;

	(void)state;
	kind_source_init(&source, kinds_hub());
	kind_source_publish(&source, kind_set_create(kinds_hub(), &d, 1));
	definition_unref(d);
	const struct kind_set *held = kind_source_get(&source, &first);
	kind_source_publish(&source, kind_set_create(kinds_hub(), NULL, 0));
	assert_true(kind_source_generation(&source) > first);
	assert_non_null(kind_by_resource(held, SPAN("example.com"), SPAN("v1"), SPAN("widgets")));
	kind_set_unref(held);
	held = kind_source_get(&source, &generation);
	assert_null(kind_by_resource(held, SPAN("example.com"), SPAN("v1"), SPAN("widgets")));
	kind_set_unref(held);
	kind_source_done(&source);
}

static void versions_are_preferred_as_kubernetes_does(void **state)
{
	static const char *const order[] = {"v10",	"v2",	   "v1",	"v11beta2",
					    "v10beta3", "v3beta1", "v12alpha1", "v11alpha2",
					    "foo1",	"foo10"};

	(void)state;
	for (size_t i = 1; i < ARRAY_LEN(order); i++) {
		assert_true(kind_version_cmp(order[i - 1], order[i]) < 0);
		assert_true(kind_version_cmp(order[i], order[i - 1]) > 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(types_are_kept_apart),
	    cmocka_unit_test(null_is_for_what_is_nullable),
	    cmocka_unit_test(enumerations_hold_any_value),
	    cmocka_unit_test(numbers_have_bounds),
	    cmocka_unit_test(strings_have_lengths_patterns_and_formats),
	    cmocka_unit_test(known_formats_are_told_apart),
	    cmocka_unit_test(containers_have_sizes),
	    cmocka_unit_test(what_is_required_must_be_there),
	    cmocka_unit_test(junctors_join),
	    cmocka_unit_test(extensions_mean_what_they_say),
	    cmocka_unit_test(what_is_not_described_is_pruned),
	    cmocka_unit_test(wide_objects_have_defaults_and_requirements_too),
	    cmocka_unit_test(schemas_must_be_structural),
	    cmocka_unit_test(rules_stand_where_there_is_structure),
	    cmocka_unit_test(defaults_must_fit_their_own_schema),
	    cmocka_unit_test(definitions_are_checked),
	    cmocka_unit_test(sets_hold_the_users_kinds_in_discovery_order),
	    cmocka_unit_test(old_sets_live_as_long_as_they_are_used),
	    cmocka_unit_test(versions_are_preferred_as_kubernetes_does),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

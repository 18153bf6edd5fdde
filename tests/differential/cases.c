/*
 * The hub's side of the differential tests: reads one case per line, as JSON, and answers each
 * with one line. differential.go makes the cases, knows the answers, and compares.
 *
 *	{"op":"apply","live":{}|null,"managed":[],"config":{},"manager":"a","force":false}
 *	{"op":"update","live":{}|null,"now":{},"managed":[],"manager":"u"}
 *	{"op":"json"|"merge"|"strategic","object":{},"patch":...}
 *	{"op":"selector","selector":"a=b","labels":{}}
 *	{"op":"quantity","text":"1.5Gi"}
 */
#include "case_loop.h"

#include "base/json.h"
#include "kinds/types.h"
#include "kube/managed_fields.h"
#include "kube/patch.h"
#include "kube/quantity.h"
#include "kube/schema.h"
#include "kube/selector.h"

#include <errno.h>

/* ---- a type with everything that a schema can say about merging; differential.go has it too ----
 */

static const struct schema string = {.type = SCHEMA_STRING}, number = {.type = SCHEMA_NUMBER},
			   any = {.type = SCHEMA_ANY};
static const struct schema strings_map = {.type = SCHEMA_MAP, .items = &string};
static const struct schema atomic_map = {
    .type = SCHEMA_MAP, .items = &string, .flags = SCHEMA_ATOMIC_MAP};
static const struct schema atomic_list = {.type = SCHEMA_ARRAY, .items = &string};
static const struct schema set = {
    .type = SCHEMA_ARRAY, .items = &string, .list_type = SCHEMA_LIST_SET};
static const char *const by_name[] = {"name", NULL};
static const char *const by_port[] = {"port", "protocol", NULL};

static const struct schema_field env_fields[] = {{"name", &string}, {"value", &string}};
static const struct schema env = {.type = SCHEMA_OBJECT, .fields = env_fields, .n_fields = 2};
static const struct schema envs = {
    .type = SCHEMA_ARRAY, .items = &env, .list_type = SCHEMA_LIST_MAP, .list_keys = by_name};

static const struct schema_field port_fields[] = {
    {"name", &string}, {"port", &number}, {"protocol", &string, .default_json = "\"TCP\""}};
static const struct schema port = {.type = SCHEMA_OBJECT, .fields = port_fields, .n_fields = 3};
static const struct schema ports = {
    .type = SCHEMA_ARRAY, .items = &port, .list_type = SCHEMA_LIST_MAP, .list_keys = by_port};

static const struct schema_field item_fields[] = {
    {"env", &envs}, {"labels", &strings_map}, {"name", &string}, {"value", &string}};
static const struct schema item = {.type = SCHEMA_OBJECT, .fields = item_fields, .n_fields = 4};
static const struct schema items = {
    .type = SCHEMA_ARRAY, .items = &item, .list_type = SCHEMA_LIST_MAP, .list_keys = by_name};

static const struct schema nested;
static const struct schema_field nested_fields[] = {{"deep", &nested}, {"value", &string}};
static const struct schema nested = {.type = SCHEMA_OBJECT, .fields = nested_fields, .n_fields = 2};

static const struct schema_field root_fields[] = {
    {"any", &any},	 {"atomicList", &atomic_list}, {"atomicMap", &atomic_map},
    {"items", &items},	 {"labels", &strings_map},     {"name", &string},
    {"nested", &nested}, {"number", &number},	       {"ports", &ports},
    {"set", &set},
};
static const struct schema root = {
    .type = SCHEMA_OBJECT, .fields = root_fields, .n_fields = ARRAY_LEN(root_fields)};
static const struct kind kind = {
    .type = 1, .group = "", .version = "v1", .kind = "Thing", .plural = "things", .schema = &root};

/* ---- answers ---- */

static void add_json(struct buf *out, const char *key, const struct cJSON *v)
{
	buf_addf(out, "%s\"%s\":", out->len > 1 ? "," : "", key);
	json_print(v, out);
}

static void add_error(struct buf *out, const struct err *e)
{
	buf_add_str(out, "\"error\":");
	buf_add_json_str(out, span_of(e->text));
}

static void add_managed(struct buf *out, const struct managed *m)
{
	auto_json *holder = json_object();
	auto_json *none = json_array();
	const struct cJSON *list;

	managed_write_to(m, holder);
	list = json_path(holder, "metadata", "managedFields", NULL);
	add_json(out, "managed", list ? list : none);
}

static void add_conflicts(struct buf *out, const struct managed_conflicts *c)
{
	buf_add_str(out, "\"conflicts\":[");
	for (size_t i = 0; i < c->n_causes; i++) {
		buf_add_str(out, i ? ",[" : "[");
		buf_add_json_str(out, span_of(c->causes[i].message));
		buf_add_char(out, ',');
		buf_add_json_str(out, span_of(c->causes[i].field));
		buf_add_char(out, ']');
	}
	buf_add_char(out, ']');
}

/* ---- operations ---- */

static const struct cJSON *object_or_null(const struct cJSON *c, const char *key)
{
	const struct cJSON *v = json_get(c, key);
	return json_is(v, JSON_OBJECT) ? v : NULL;
}

static void run_apply(const struct cJSON *c, struct buf *out, bool apply)
{
	struct managed_write w = {
	    .kind = &kind, .manager = json_str(c, "manager"), .subresource = "", .now = 0};
	struct managed_conflicts conflicts = {0};
	struct managed m = MANAGED_INIT;
	struct err e = ERR_INIT;
	auto_json *merged = NULL;
	bool changed = false;
	int r = managed_read(&m, json_get(c, "managed"), &e);

	if (r == 0 && apply)
		r = managed_apply(&m, &w, object_or_null(c, "live"), json_get(c, "config"),
				  json_bool(c, "force", false), &merged, &changed, &conflicts, &e);
	else if (r == 0)
		managed_update(&m, &w, object_or_null(c, "live"), json_get(c, "now"));
	if (r == 0 && !apply)
		managed_spell_out(&m, &w, json_get(c, "now"));
	if (conflicts.n)
		add_conflicts(out, &conflicts);
	else if (r < 0)
		add_error(out, &e);
	if (r == 0 && apply)
		add_json(out, "object", merged);
	if (r == 0)
		add_managed(out, &m);
	managed_done(&m);
}

static void run_patch(const struct cJSON *c, struct buf *out, enum patch_type type)
{
	static const struct kind pod = {
	    .type = TYPE_POD, .group = "", .version = "v1", .kind = "Pod", .plural = "pods"};
	struct err e = ERR_INIT;
	auto_json *got = NULL;

	if (patch_apply(type, &pod, json_get(c, "object"), json_get(c, "patch"), &got, &e) < 0)
		add_error(out, &e);
	else
		add_json(out, "object", got);
}

static void run_selector(const struct cJSON *c, struct buf *out)
{
	auto_selector s = SELECTOR_INIT;
	auto_json *object = json_object();
	struct err e = ERR_INIT;

	json_set(json_ensure_object(object, "metadata"), "labels", json_dup(json_get(c, "labels")));
	if (selector_add_labels(&s, span_of(json_str(c, "selector")), &e) < 0)
		add_error(out, &e);
	else
		buf_addf(out, "\"match\":%s", selector_matches_tree(&s, object) ? "true" : "false");
}

static void run_quantity(const struct cJSON *c, struct buf *out)
{
	static const struct {
		const char *key;
		unsigned flags;
	} units[] = {{"whole", QUANTITY_WHOLE}, {"milli", QUANTITY_MILLI}};
	struct span text = span_of(json_str(c, "text"));

	for (size_t i = 0; i < ARRAY_LEN(units); i++) {
		int64_t v = 0;
		int r = quantity_parse(text, units[i].flags | QUANTITY_NEGATIVE, &v);
		char canonical[QUANTITY_TEXT];
		buf_addf(out, "%s\"%s\":", i ? "," : "", units[i].key);
		if (r < 0)
			buf_addf(out, "\"%s\"", r == -EINVAL ? "invalid" : "range");
		else
			buf_addf(out, "\"%s\"",
				 quantity_format_decimal(v, units[i].flags, canonical));
	}
}

static void run(const struct cJSON *c, struct buf *out)
{
	static const struct {
		const char *op;
		enum patch_type type;
	} patches[] = {
	    {"json", PATCH_JSON}, {"merge", PATCH_MERGE}, {"strategic", PATCH_STRATEGIC}};
	const char *op = json_str(c, "op");

	buf_add_char(out, '{');
	for (size_t i = 0; op && i < ARRAY_LEN(patches); i++)
		if (strcmp(op, patches[i].op) == 0)
			run_patch(c, out, patches[i].type);
	if (op && (strcmp(op, "apply") == 0 || strcmp(op, "update") == 0))
		run_apply(c, out, op[0] == 'a');
	else if (op && strcmp(op, "selector") == 0)
		run_selector(c, out);
	else if (op && strcmp(op, "quantity") == 0)
		run_quantity(c, out);
	buf_add_char(out, '}');
}

int main(void)
{
	return case_loop(run);
}

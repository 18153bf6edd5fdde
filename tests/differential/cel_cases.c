/*
 * The hub's side of the comparison with apiextensions' validation rules (cel/): reads one case per
 * line, as JSON, and answers each with one line of JSON.
 *
 *	{"schema":{},"rule":"self.a > 1","pairs":[{"self":{"a":2},"old":null}]}
 *		-> [{"outcome":"true","words":""}]
 *
 * Outcomes: "compile" when the rule does not, else true, false, or error.
 */
#include "case_loop.h"

#include "base/json.h"
#include "kube/schema_compile.h"
#include "kube/validation_rules.h"

static void add(struct buf *out, const char *outcome, const char *words)
{
	buf_add_str(out, out->len > 1 ? ",{\"outcome\":\"" : "{\"outcome\":\"");
	buf_addf(out, "%s\",\"words\":", outcome);
	buf_add_json_str(out, span_of(words));
	buf_add_char(out, '}');
}

/* The schema with its rule, as the field x of an object. */
static struct cJSON *schema_with_rule(const struct cJSON *c)
{
	struct cJSON *schema = json_dup(json_get(c, "schema")), *rule = json_object(),
		     *rules = json_array();

	json_set_str(rule, "rule", json_str(c, "rule"));
	json_set_str(rule, "message", "no");
	json_append(rules, rule);
	json_set(schema, "x-kubernetes-validations", rules);
	struct cJSON *outer = json_object(), *properties = json_object();
	json_set_str(outer, "type", "object");
	json_set(properties, "x", schema);
	json_set(outer, "properties", properties);
	return outer;
}

static void run_pair(const struct schema *s, const struct cJSON *pair, struct buf *out)
{
	auto_json *object = json_object(), *old = json_object();
	struct field_errors e = {.n = 0};

	json_set(object, "x", json_dup(json_get(pair, "self")));
	json_set(old, "x", json_dup(json_get(pair, "old")));
	validation_rules_run(s, object, json_is(json_get(pair, "old"), JSON_NULL) ? NULL : old, &e);
	if (!e.n)
		add(out, "true", "");
	else
		add(out, strcmp(e.items[0].detail, "no") == 0 ? "false" : "error",
		    e.items[0].detail);
	field_errors_done(&e);
}

static void run(const struct cJSON *c, struct buf *out)
{
	static const struct schema meta = {.type = SCHEMA_OBJECT, .flags = SCHEMA_KEEP_UNKNOWN};
	auto_json *node = schema_with_rule(c);
	auto_arena mem = ARENA_INIT;
	struct field_errors e = {.n = 0};
	const struct schema *s = schema_compile(&mem, node, &meta);

	validation_rules_check(node, "x", s, &e);
	buf_add_char(out, '[');
	json_foreach (json_get(c, "pairs"), pair)
		if (e.n)
			add(out, "compile", e.items[0].detail);
		else
			run_pair(s, pair, out);
	buf_add_char(out, ']');
	field_errors_done(&e);
}

int main(void)
{
	return case_loop(run);
}

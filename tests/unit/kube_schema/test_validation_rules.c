/*
 * Rules of a definition's schema: what is wrong with them, and what they say of objects, in the
 * words of apiextensions.
 */
#include "../kube/kube_test.h"

#include "base/json.h"
#include "kube/schema_compile.h"
#include "kube/validation_rules.h"

static const struct schema meta = {.type = SCHEMA_OBJECT, .flags = SCHEMA_KEEP_UNKNOWN};

static struct cJSON *parsed(const char *text)
{
	auto_buf b = BUF_INIT;
	struct cJSON *tree = NULL;

	for (; *text; text++) /* ` for " */
		buf_add_char(&b, *text == '`' ? '"' : *text);
	assert_int_equal(json_parse(buf_span(&b), NULL, &tree, NULL), 0);
	return tree;
}

static void print_errors(struct field_errors *e, struct buf *out)
{
	buf_add_str(out, "");
	for (size_t i = 0; i < e->n; i++) {
		field_error_text(&e->items[i], out);
		buf_add_char(out, '\n');
	}
	field_errors_done(e);
}

/* What checking the schema says. */
static void refused(const char *schema, const char *want)
{
	auto_json *tree = parsed(schema);
	auto_arena mem = ARENA_INIT;
	auto_buf said = BUF_INIT;
	struct field_errors e = {.n = 0};

	validation_rules_check(tree, "s", schema_compile(&mem, tree, &meta), &e);
	print_errors(&e, &said);
	assert_string_equal(said.ptr ? said.ptr : "", want);
}

/* What a write of `now` over `old` ("" on create) meets. */
static void meets(const char *schema, const char *now, const char *old, const char *want)
{
	auto_json *tree = parsed(schema), *object = parsed(now), *was = old[0] ? parsed(old) : NULL;
	auto_arena mem = ARENA_INIT;
	auto_buf said = BUF_INIT;
	struct field_errors e = {.n = 0};

	refused(schema, "");
	validation_rules_run(schema_compile(&mem, tree, &meta), object, was, &e);
	print_errors(&e, &said);
	assert_string_equal(said.ptr ? said.ptr : "", want);
}

#define SPEC(rules)                                                                                \
	"{`type`:`object`,`properties`:{`spec`:{`type`:`object`,`properties`:{`min`:{`type`:"      \
	"`integer`},`max`:{`type`:`integer`},`name`:{`type`:`string`}},"                           \
	"`x-kubernetes-validations`:[" rules "]}}}"

static void a_rule_that_fails_says_its_message(void **state)
{
	(void)state;
	meets(SPEC("{`rule`:`self.min <= self.max`}"), "{`spec`:{`min`:1,`max`:2}}", "", "");
	meets(SPEC("{`rule`:`self.min <= self.max`}"), "{`spec`:{`min`:3,`max`:2}}", "",
	      "spec: Invalid value: failed rule: self.min <= self.max\n");
	meets(SPEC("{`rule`:`self.min <= self.max`,`message`:` min is over max `}"),
	      "{`spec`:{`min`:3,`max`:2}}", "", "spec: Invalid value: min is over max\n");
	meets(SPEC("{`rule`:`self.min <= self.max`,`messageExpression`:`'over ' + "
		   "string(self.max)`,`fieldPath`:`.min`}"),
	      "{`spec`:{`min`:3,`max`:2}}", "", "spec.min: Invalid value: over 2\n");
	meets(SPEC("{`rule`:`self.min <= self.max`,`message`:`no`,`reason`:`FieldValueForbidden`}"),
	      "{`spec`:{`min`:3,`max`:2}}", "", "spec: Forbidden: no\n");
	meets("{`type`:`object`,`properties`:{`n`:{`type`:`integer`,`x-kubernetes-validations`:[{"
	      "`rule`:`self % 2 == 0`,`message`:`odd`}]}}}",
	      "{`n`:3}", "", "n: Invalid value: 3: odd\n");
}

static void a_rule_that_cannot_be_decided_is_not_met(void **state)
{
	(void)state;
	meets(SPEC("{`rule`:`self.min <= self.max`,`message`:`m`}"), "{`spec`:{`min`:3}}", "",
	      "spec: Invalid value: \"object\": no such key: max evaluating rule: m\n");
	meets("{`type`:`object`,`properties`:{`p`:{`x-kubernetes-int-or-string`:true,"
	      "`x-kubernetes-validations`:[{`rule`:`self > 1`}]}}}",
	      "{`p`:`a`}", "",
	      "p: Invalid value: \"\": 'no such overload': call arguments did not match a "
	      "supported operator, function or macro signature for rule: self > 1\n");
}

static void a_rule_about_what_was_runs_on_updates(void **state)
{
	const char *fixed = SPEC("{`rule`:`self.name == oldSelf.name`,`message`:`is immutable`}");
	const char *optional =
	    SPEC("{`rule`:`oldSelf.hasValue() || self.min == 0`,`message`:`begins "
		 "at 0`,`optionalOldSelf`:true}");

	(void)state;
	meets(fixed, "{`spec`:{`name`:`a`}}", "", "");
	meets(fixed, "{`spec`:{`name`:`a`}}", "{}", "");
	meets(fixed, "{`spec`:{`name`:`a`}}", "{`spec`:{`name`:`a`}}", "");
	meets(fixed, "{`spec`:{`name`:`b`}}", "{`spec`:{`name`:`a`}}",
	      "spec: Invalid value: is immutable\n");
	meets(optional, "{`spec`:{`min`:1}}", "", "spec: Invalid value: begins at 0\n");
	meets(optional, "{`spec`:{`min`:1}}", "{`spec`:{`min`:0}}", "");
}

/* An object that is older than the rule can still be changed elsewhere. */
static void what_did_not_change_is_not_refused(void **state)
{
	const char *even =
	    "{`type`:`object`,`properties`:{`a`:{`type`:`integer`,`x-kubernetes-validations`:[{"
	    "`rule`:`self % 2 == 0`,`message`:`odd`}]},`b`:{`type`:`integer`}}}";

	(void)state;
	meets(even, "{`a`:3,`b`:2}", "{`a`:3,`b`:1}", "");
	meets(even, "{`a`:5,`b`:1}", "{`a`:3,`b`:1}", "a: Invalid value: 5: odd\n");
}

static void items_are_found_again_by_their_keys(void **state)
{
	const char *list =
	    "{`type`:`object`,`properties`:{`l`:{`type`:`array`,`x-kubernetes-list-type`:`map`,"
	    "`x-kubernetes-list-map-keys`:[`k`],`items`:{`type`:`object`,`required`:[`k`],"
	    "`properties`:{`k`:{`type`:`string`},`v`:{`type`:`integer`}},"
	    "`x-kubernetes-validations`:[{`rule`:`self.v >= oldSelf.v`,`message`:`shrinks`}]}}}}";

	(void)state;
	meets(list, "{`l`:[{`k`:`b`,`v`:1},{`k`:`a`,`v`:5}]}", "{`l`:[{`k`:`a`,`v`:4}]}", "");
	meets(list, "{`l`:[{`k`:`b`,`v`:1},{`k`:`a`,`v`:3}]}", "{`l`:[{`k`:`a`,`v`:4}]}",
	      "l[1]: Invalid value: shrinks\n");
	meets("{`type`:`object`,`properties`:{`m`:{`type`:`object`,`additionalProperties`:{`type`:"
	      "`integer`,`x-kubernetes-validations`:[{`rule`:`self >= oldSelf`}]}}}}",
	      "{`m`:{`a`:1,`b`:0}}", "{`m`:{`a`:2}}",
	      "m[a]: Invalid value: 1: failed rule: self >= oldSelf\n");
}

static void the_root_sees_its_name(void **state)
{
	const char *named = "{`type`:`object`,`properties`:{`spec`:{`type`:`object`,`properties`:{"
			    "`of`:{`type`:`string`}}}},`x-kubernetes-validations`:[{`rule`:"
			    "`self.metadata.name == self.spec.of`,`message`:`named otherwise`}]}";

	(void)state;
	meets(named, "{`metadata`:{`name`:`a`},`spec`:{`of`:`a`}}", "", "");
	meets(named, "{`metadata`:{`name`:`a`},`spec`:{`of`:`b`}}", "",
	      "<nil>: Invalid value: named otherwise\n");
	refused("{`type`:`object`,`x-kubernetes-validations`:[{`rule`:`self.metadata.labels.size() "
		"> 0`}]}",
		"s.x-kubernetes-validations[0].rule: Invalid value: {\"rule\":"
		"\"self.metadata.labels.size() > 0\"}: compilation failed: ERROR: <input>:1:15: "
		"undefined field 'labels'\n | self.metadata.labels.size() > 0\n | "
		"..............^\n");
}

#define AT "s.properties[spec].x-kubernetes-validations[0]"

static void rules_are_checked_with_their_definition(void **state)
{
	(void)state;
	refused(SPEC("{`rule`:` `}"), AT ".rule: Required value: rule is not specified\n");
	refused(SPEC("{`rule`:`self.min`}"),
		AT ".rule: Invalid value: {\"rule\":\"self.min\"}: must evaluate to a bool\n");
	refused(SPEC("{`rule`:`true`,`messageExpression`:`self.min`}"),
		AT ".messageExpression: Invalid value: \"self.min\": must evaluate to a string\n");
	refused(SPEC("{`rule`:`true`,`reason`:`Because`}"),
		AT ".reason: Unsupported value: \"Because\": supported values: "
		   "\"FieldValueDuplicate\", \"FieldValueForbidden\", \"FieldValueInvalid\", "
		   "\"FieldValueRequired\"\n");
	refused(SPEC("{`rule`:`true`,`fieldPath`:`.nothing`}"),
		AT ".fieldPath: Invalid value: \".nothing\": fieldPath must be a valid path\n");
	refused(SPEC("{`rule`:`true`,`message`:`a\\nb`}"),
		AT ".message: Invalid value: \"a\\nb\": message must not contain line breaks\n");
	refused("{`type`:`object`,`properties`:{`l`:{`type`:`array`,`items`:{`type`:`integer`,"
		"`x-kubernetes-validations`:[{`rule`:`self == oldSelf`}]}}}}",
		"s.properties[l].items.x-kubernetes-validations[0].rule: Invalid value: {\"rule\":"
		"\"self == oldSelf\"}: oldSelf cannot be used on the uncorrelatable portion of the "
		"schema within s.properties[l]\n");
	refused("{`type`:`object`,`properties`:{`x`:{`x-kubernetes-preserve-unknown-fields`:true,"
		"`x-kubernetes-validations`:[{`rule`:`self == 1`}]}}}",
		"s.properties[x].x-kubernetes-validations[0].rule: Forbidden: rules cannot see "
		"values without a schema\n");
}

/* Each rule takes a million steps: the eleventh is not run. */
static void a_write_has_one_budget(void **state)
{
	auto_buf schema = BUF_INIT, said = BUF_INIT, text = BUF_INIT;
	auto_arena mem = ARENA_INIT;
	struct field_errors e = {.n = 0};

	(void)state;
	buf_add_str(&schema, "{`type`:`object`,`properties`:{`l`:{`type`:`array`,`items`:{`type`:"
			     "`integer`},`x-kubernetes-validations`:[");
	for (int i = 0; i < 12; i++)
		buf_addf(&schema, "%s{`rule`:`self.all(a, self.all(b, self.exists(c, c == %d)))`}",
			 i ? "," : "", i < 11 ? 399 : -1);
	buf_add_str(&schema, "]}}}");
	buf_add_str(&text, "{`l`:[0");
	for (int i = 1; i < 400; i++)
		buf_addf(&text, ",%d", i);
	buf_add_str(&text, "]}");
	auto_json *tree = parsed(schema.ptr), *object = parsed(text.ptr);
	validation_rules_run(schema_compile(&mem, tree, &meta), object, NULL, &e);
	print_errors(&e, &said);
	assert_non_null(strstr(said.ptr, "no further validation rules will be run due to call cost "
					 "exceeds limit"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_rule_that_fails_says_its_message),
	    cmocka_unit_test(a_rule_that_cannot_be_decided_is_not_met),
	    cmocka_unit_test(a_rule_about_what_was_runs_on_updates),
	    cmocka_unit_test(what_did_not_change_is_not_refused),
	    cmocka_unit_test(items_are_found_again_by_their_keys),
	    cmocka_unit_test(the_root_sees_its_name),
	    cmocka_unit_test(rules_are_checked_with_their_definition),
	    cmocka_unit_test(a_write_has_one_budget),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The rules of an object, node by node beside what stood there before. */
#include "base/json.h"
#include "base/num.h"
#include "kube/schema_walk.h"
#include "kube/validation_rules.h"

struct run {
	struct schema_walk walk;
	int64_t steps;
	bool over; /* the budget is spent: no rule runs any more */
};

/* ---- one rule ---- */

static const char *type_name(const struct schema *s)
{
	static const char *const names[] = {
	    [SCHEMA_OBJECT] = "object",	 [SCHEMA_MAP] = "object",      [SCHEMA_ARRAY] = "array",
	    [SCHEMA_STRING] = "string",	 [SCHEMA_INTEGER] = "integer", [SCHEMA_NUMBER] = "number",
	    [SCHEMA_BOOLEAN] = "boolean"};
	const char *name = s->type < ARRAY_LEN(names) ? names[s->type] : NULL;

	return name ? name : "";
}

/* `value`: as it is shown; NULL: not at all. */
static void refuse(struct run *r, const struct validation_rule *rule, const char *value,
		   const char *words)
{
	auto_buf path = BUF_INIT;

	schema_walk_path(&r->walk, true, &path);
	if (rule->field_path)
		buf_add_str(&path,
			    rule->field_path + (path.len == 0 && rule->field_path[0] == '.'));
	if (!path.len) /* as field.Path prints the root */
		buf_add_str(&path, "<nil>");
	field_errors_add(r->walk.errors, rule->reason, path.ptr,
			 rule->reason == FIELD_INVALID || rule->reason == FIELD_DUPLICATE ? value
											  : NULL,
			 "%s", words);
}

/* An error of the run itself, in apiextensions' words. */
static void refuse_failure(struct run *r, const struct schema *s,
			   const struct validation_rule *rule, struct span what)
{
	struct validation_rule plain = *rule;
	auto_buf words = BUF_MAX(4096);
	char type[24];
	const char *of = rule->message ? rule->message : rule->rule;

	plain.reason = FIELD_INVALID;
	plain.field_path = NULL;
	if (span_is(what, "no such overload"))
		buf_addf(&words,
			 "'%.*s': call arguments did not match a supported operator, function or "
			 "macro signature for rule: %s",
			 SPAN_ARGS(what), of);
	else if (span_starts(what, SPAN("operation cancelled")))
		buf_addf(&words,
			 "'%.*s': no further validation rules will be run due to call cost exceeds "
			 "limit for rule: %s",
			 SPAN_ARGS(what), of);
	else
		buf_addf(&words, "%.*s evaluating rule: %s", SPAN_ARGS(what), of);
	(void)snprintf(type, sizeof(type), "\"%s\"", type_name(s));
	refuse(r, &plain, type, words.ptr ? words.ptr : "");
}

static void tell(struct run *r, const struct validation_rule *rule, const struct cJSON *value,
		 const struct cel_value *values, struct arena *mem)
{
	auto_buf words = BUF_MAX(16384), shown = BUF_INIT;

	if (rule->message_program.root && r->steps > 0) {
		struct cel_value v = cel_run(&rule->message_program, values, 2, mem, &r->steps);
		if (v.kind == CEL_STRING && v.text.len && !memchr(v.text.ptr, '\n', v.text.len))
			buf_add_span(&words, v.text);
	}
	if (!words.len && rule->message)
		buf_add_str(&words, rule->message);
	if (!words.len)
		buf_addf(&words, "failed rule: %s", rule->rule);
	if (!json_is(value, JSON_OBJECT) && !json_is(value, JSON_ARRAY))
		json_print(value, &shown);
	refuse(r, rule, shown.ptr, words.ptr ? words.ptr : "");
}

static void run_rule(struct run *r, const struct schema *s, const struct validation_rule *rule,
		     const struct cJSON *value, const struct cJSON *old)
{
	auto_arena mem = ARENA_INIT;
	struct cel_heap heap = {.mem = &mem};
	struct cel_value was = {.kind = CEL_OPTIONAL}, values[2];
	bool transition = rule->program.uses & 2;

	if (transition && !rule->optional_old && !old)
		return;
	if (r->steps <= 0) {
		field_errors_add(r->walk.errors, FIELD_INVALID, "", "\"\"", "%s",
				 "validation failed due to running out of cost budget, no further "
				 "validation rules will be run");
		r->over = true;
		return;
	}
	values[0] = cel_from_node(&heap, s->validations->self, value);
	if (old)
		was = cel_from_node(&heap, s->validations->self, old);
	values[1] = was;
	if (old && rule->optional_old)
		values[1] = (struct cel_value){.kind = CEL_OPTIONAL, .inner = &was};
	struct cel_value v = cel_run(&rule->program, values, 2, &mem, &r->steps);
	if (v.kind == CEL_BOOL && v.flag)
		return;
	/* What did not change may break a rule that is newer than it. */
	if (v.kind == CEL_BOOL) {
		if (transition || !old || !json_equal(value, old))
			tell(r, rule, value, values, &mem);
		return;
	}
	struct span what = v.kind == CEL_ERROR ? v.text : SPAN("no such overload");
	refuse_failure(r, s, rule, what);
	r->over |= span_starts(what, SPAN("operation cancelled"));
}

/* ---- the walk ---- */

static void walk(struct run *r, const struct schema *s, const struct cJSON *value,
		 const struct cJSON *old);

static void walk_fields(struct run *r, const struct schema *s, const struct cJSON *value,
			const struct cJSON *old)
{
	for (size_t i = 0; i < s->n_fields && !r->over; i++) {
		const struct schema_field *f = &s->fields[i];
		const struct cJSON *child =
		    f->schema->has_validations ? json_get(value, f->name) : NULL;
		if (!child)
			continue;
		schema_walk_push(&r->walk, SCHEMA_STEP_FIELD, f->name, 0);
		walk(r, f->schema, child, json_get(old, f->name));
		schema_walk_pop(&r->walk);
	}
}

static void walk_values(struct run *r, const struct schema *s, const struct cJSON *value,
			const struct cJSON *old)
{
	json_foreach (value, it) {
		schema_walk_push(&r->walk, SCHEMA_STEP_KEY, json_key(it), 0);
		walk(r, s->items, it, json_get(old, json_key(it)));
		schema_walk_pop(&r->walk);
	}
}

/* The item with the same keys. */
static const struct cJSON *same_item(const struct schema *s, const struct cJSON *item,
				     const struct cJSON *old)
{
	if (s->list_type != SCHEMA_LIST_MAP || !s->list_keys)
		return NULL;
	json_foreach (old, it) {
		bool same = true;
		for (const char *const *k = s->list_keys; same && *k; k++)
			same = json_equal(json_get(it, *k), json_get(item, *k));
		if (same)
			return it;
	}
	return NULL;
}

static void walk_items(struct run *r, const struct schema *s, const struct cJSON *value,
		       const struct cJSON *old)
{
	size_t i = 0;

	json_foreach (value, it) {
		if (r->over)
			return;
		schema_walk_push(&r->walk, SCHEMA_STEP_INDEX, NULL, i++);
		walk(r, s->items, it, same_item(s, it, old));
		schema_walk_pop(&r->walk);
	}
}

static void walk(struct run *r, const struct schema *s, const struct cJSON *value,
		 const struct cJSON *old)
{
	if (r->over || r->walk.depth >= SCHEMA_MAX_DEPTH || json_is(value, JSON_NULL))
		return;
	if (json_is(old, JSON_NULL))
		old = NULL;
	for (size_t i = 0; s->validations && i < s->validations->n && !r->over; i++)
		run_rule(r, s, &s->validations->items[i], value, old);
	if (!s->has_validations)
		return;
	if (s->type == SCHEMA_OBJECT)
		walk_fields(r, s, value, old);
	else if (s->type == SCHEMA_MAP)
		walk_values(r, s, value, old);
	else if (s->type == SCHEMA_ARRAY)
		walk_items(r, s, value, old);
}

void validation_rules_run(const struct schema *s, const struct cJSON *object,
			  const struct cJSON *old, struct field_errors *errors)
{
	struct run r = {.walk = {.errors = errors}, .steps = CEL_STEPS_OF_WRITE};

	if (s->has_validations)
		walk(&r, s, object, old);
}

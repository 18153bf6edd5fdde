/* Rules from their JSON: what is wrong with them, and compiled. */
#include "kube/validation_rules.h"

#include "base/json.h"
#include "kube/cel/cel_names.h"

#include <ctype.h>

/* apiextensions' bounds (pkg/apis/apiextensions/validation). */
#define MAX_MESSAGE 2048
#define MAX_RULES   1000 /* of one schema */

static const char *const variable_names[] = {"self", "oldSelf"};

static struct span trimmed(const char *s)
{
	struct span t = span_of(s);

	while (t.len && isspace((unsigned char)t.ptr[0]))
		t = span_make(t.ptr + 1, t.len - 1);
	while (t.len && isspace((unsigned char)t.ptr[t.len - 1]))
		t.len--;
	return t;
}

static const struct {
	const char *name;
	enum field_reason reason;
} reasons[] = {{"FieldValueInvalid", FIELD_INVALID},
	       {"FieldValueForbidden", FIELD_FORBIDDEN},
	       {"FieldValueRequired", FIELD_REQUIRED},
	       {"FieldValueDuplicate", FIELD_DUPLICATE}};

static bool reason_of(const char *name, enum field_reason *ret)
{
	*ret = FIELD_INVALID;
	for (size_t i = 0; name && i < ARRAY_LEN(reasons); i++)
		if (strcmp(reasons[i].name, name) == 0) {
			*ret = reasons[i].reason;
			return true;
		}
	return !name;
}

static int compile(struct arena *mem, const char *text, const struct cel_type *self,
		   bool optional_old, struct cel_program *ret, struct err *reterr)
{
	struct cel_type *optional = arena_new(mem, struct cel_type);

	*optional = (struct cel_type){.kind = CEL_OPTIONAL, .item = self};
	const struct cel_variable variables[] = {
	    {variable_names[0], self}, {variable_names[1], optional_old ? optional : self}};
	return cel_compile(mem, span_of(text), variables, ARRAY_LEN(variables), ret, reterr);
}

static bool gives(const struct cel_program *p, enum cel_kind kind)
{
	return !p->type || p->type->kind == CEL_DYN || p->type->kind == kind;
}

const struct validation_rules *validation_rules_compile(struct arena *mem, const struct schema *s,
							const struct cJSON *node, bool root)
{
	const struct cJSON *list = json_get(node, "x-kubernetes-validations");
	struct validation_rules *r;
	size_t n = 0;

	if (!json_len(list))
		return NULL;
	r = arena_new(mem, struct validation_rules);
	r->self = cel_type_from_schema(mem, s, root);
	struct validation_rule *items = arena_array(mem, struct validation_rule, json_len(list));
	json_foreach (list, it) {
		struct validation_rule *to = &items[n];
		const char *text = json_str(it, "rule"), *message = json_str(it, "message");
		const char *expression = json_str(it, "messageExpression");
		struct span words = trimmed(message);
		*to = (struct validation_rule){
		    .rule = text,
		    .message = words.len ? arena_strndup(mem, words.ptr, words.len) : NULL,
		    .field_path = json_str(it, "fieldPath"),
		    .optional_old = json_bool(it, "optionalOldSelf", false),
		};
		(void)reason_of(json_str(it, "reason"), &to->reason);
		if (!text || !r->self ||
		    compile(mem, text, r->self, to->optional_old, &to->program, NULL) < 0 ||
		    !gives(&to->program, CEL_BOOL))
			continue;
		if (expression && compile(mem, expression, r->self, to->optional_old,
					  &to->message_program, NULL) < 0)
			to->message_program = (struct cel_program){NULL, NULL, 0};
		n++;
	}
	r->items = items;
	r->n = n;
	return n ? r : NULL;
}

/* ---- what is wrong ---- */

struct check {
	struct arena *mem;
	struct buf path;
	struct field_errors *errors;
	size_t n;
	size_t
	    uncorrelatable; /* bytes of the path at which lists begin that are no maps; 0: none */
};

static void cut(struct check *c, size_t at)
{
	c->path.len = at;
	c->path.ptr[at] = '\0';
}

static void refuse(struct check *c, const char *member, enum field_reason reason,
		   const struct cJSON *value, const char *words)
{
	auto_buf shown = BUF_INIT;
	size_t at = c->path.len;

	buf_addf(&c->path, ".%s", member);
	if (value)
		json_print(value, &shown);
	field_errors_add(c->errors, reason, c->path.ptr, value ? shown.ptr : NULL, "%s", words);
	cut(c, at);
}

static bool check_expression(struct check *c, const struct cJSON *rule, const char *member,
			     const struct cel_type *self, enum cel_kind kind,
			     struct cel_program *ret)
{
	static const char *const wanted[] = {"must evaluate to a bool",
					     "must evaluate to a string"};
	struct err e = ERR_INIT;
	char words[700];
	bool message = kind == CEL_STRING;

	if (compile(c->mem, json_str(rule, member), self, json_bool(rule, "optionalOldSelf", false),
		    ret, &e) < 0) {
		(void)snprintf(words, sizeof(words), "%scompilation failed: %s",
			       message ? "messageExpression " : "", e.text);
		refuse(c, member, FIELD_INVALID, message ? json_get(rule, member) : rule, words);
		return false;
	}
	if (gives(ret, kind))
		return true;
	refuse(c, member, FIELD_INVALID, message ? json_get(rule, member) : rule, wanted[message]);
	return false;
}

/* The next name of ".a['b'].c"; false at the end, or where it cannot be read (`*rest` is not
 * empty then). */
static bool next_name(struct span *rest, char out[CEL_NAME_MAX])
{
	struct span s = *rest;
	size_t n = 0;

	if (s.len > 2 && s.ptr[0] == '[' && s.ptr[1] == '\'') {
		const char *end = memmem(s.ptr + 2, s.len - 2, "']", 2);
		n = end ? (size_t)(end - s.ptr) - 2 : 0;
		if (!n || n >= CEL_NAME_MAX)
			return false;
		memcpy(out, s.ptr + 2, n);
		*rest = span_make(s.ptr + n + 4, s.len - n - 4);
	} else {
		while (s.len > n + 1 && s.ptr[n + 1] != '.' && s.ptr[n + 1] != '[')
			n++;
		if (!s.len || s.ptr[0] != '.' || !n || n >= CEL_NAME_MAX)
			return false;
		memcpy(out, s.ptr + 1, n);
		*rest = span_make(s.ptr + n + 1, s.len - n - 1);
	}
	out[n] = '\0';
	return true;
}

static bool is_path_below(const struct schema *s, const char *path)
{
	struct span rest = span_of(path);
	char name[CEL_NAME_MAX];

	while (next_name(&rest, name)) {
		const struct schema_field *f =
		    s->type == SCHEMA_OBJECT ? schema_field_find(s, name) : NULL;
		if (!f && s->type != SCHEMA_MAP)
			return false;
		s = f ? f->schema : s->items;
	}
	return !rest.len && path[0];
}

static void check_message(struct check *c, const struct cJSON *rule)
{
	const char *message = json_str(rule, "message"), *text = json_str(rule, "rule");

	if (!message && text && strchr(text, '\n') && !json_str(rule, "messageExpression"))
		refuse(c, "message", FIELD_REQUIRED, NULL,
		       "message must be specified if rule contains line breaks");
	if (!message)
		return;
	if (strlen(message) > MAX_MESSAGE)
		refuse(c, "message", FIELD_INVALID, NULL,
		       "message must have a maximum length of 2048 characters");
	if (!trimmed(message).len && message[0])
		refuse(c, "message", FIELD_INVALID, json_get(rule, "message"),
		       "message must be non-empty if specified");
	if (memchr(trimmed(message).ptr, '\n', trimmed(message).len))
		refuse(c, "message", FIELD_INVALID, json_get(rule, "message"),
		       "message must not contain line breaks");
}

/* apiextensions' words for a rule about what was, where that cannot be found. */
static void check_transition(struct check *c, const struct cJSON *rule, const struct cel_program *p)
{
	auto_buf words = BUF_INIT;

	if (!c->uncorrelatable || !(p->uses & 2) || json_bool(rule, "optionalOldSelf", false))
		return;
	buf_addf(&words,
		 "oldSelf cannot be used on the uncorrelatable portion of the schema within "
		 "%.*s",
		 (int)(c->uncorrelatable < 400 ? c->uncorrelatable : 400), c->path.ptr);
	refuse(c, "rule", FIELD_INVALID, rule, words.ptr);
}

static void check_rule(struct check *c, const struct schema *s, const struct cel_type *self,
		       const struct cJSON *rule)
{
	const char *text = json_str(rule, "rule");
	struct cel_program p = {NULL, NULL, 0};
	enum field_reason reason;

	if (!text || !trimmed(text).len) {
		refuse(c, "rule", FIELD_REQUIRED, NULL, "rule is not specified");
		return;
	}
	check_message(c, rule);
	if (!reason_of(json_str(rule, "reason"), &reason))
		refuse(c, "reason", FIELD_NOT_SUPPORTED, json_get(rule, "reason"),
		       "supported values: \"FieldValueDuplicate\", \"FieldValueForbidden\", "
		       "\"FieldValueInvalid\", \"FieldValueRequired\"");
	if (json_str(rule, "fieldPath") && !is_path_below(s, json_str(rule, "fieldPath")))
		refuse(c, "fieldPath", FIELD_INVALID, json_get(rule, "fieldPath"),
		       "fieldPath must be a valid path");
	if (!self) {
		refuse(c, "rule", FIELD_FORBIDDEN, NULL,
		       "rules cannot see values without a schema");
		return;
	}
	if (check_expression(c, rule, "rule", self, CEL_BOOL, &p))
		check_transition(c, rule, &p);
	if (json_str(rule, "messageExpression"))
		(void)check_expression(c, rule, "messageExpression", self, CEL_STRING, &p);
}

static void check_rules(struct check *c, const struct cJSON *node, const struct schema *s,
			bool root)
{
	size_t at = c->path.len, i = 0;

	json_foreach (json_get(node, "x-kubernetes-validations"), it) {
		buf_addf(&c->path, ".x-kubernetes-validations[%zu]", i++);
		if (c->n++ == MAX_RULES)
			refuse(c, "rule", FIELD_TOO_MANY, NULL, "must have at most 1000 items");
		if (c->n <= MAX_RULES)
			check_rule(c, s, cel_type_from_schema(c->mem, s, root), it);
		cut(c, at);
	}
}

static void walk(struct check *c, const struct cJSON *node, const struct schema *s, bool root,
		 int depth)
{
	const struct cJSON *items = json_get(node, "items"),
			   *values = json_get(node, "additionalProperties");
	size_t at = c->path.len, was = c->uncorrelatable;

	if (depth > JSON_MAX_DEPTH)
		return;
	check_rules(c, node, s, root || (s->flags & SCHEMA_EMBEDDED));
	json_foreach (json_get(node, "properties"), p) {
		const struct schema_field *f =
		    s->type == SCHEMA_OBJECT ? schema_field_find(s, json_key(p)) : NULL;
		if (!f || (root && strcmp(f->name, "metadata") == 0))
			continue;
		buf_addf(&c->path, ".properties[%s]", json_key(p));
		walk(c, p, f->schema, false, depth + 1);
		cut(c, at);
	}
	if (s->type == SCHEMA_ARRAY && json_is(items, JSON_OBJECT)) {
		if (!was && s->list_type != SCHEMA_LIST_MAP)
			c->uncorrelatable = at;
		buf_add_str(&c->path, ".items");
		walk(c, items, s->items, false, depth + 1);
		cut(c, at);
		c->uncorrelatable = was;
	}
	if (s->type == SCHEMA_MAP && json_is(values, JSON_OBJECT)) {
		buf_add_str(&c->path, ".additionalProperties");
		walk(c, values, s->items, false, depth + 1);
		cut(c, at);
	}
}

void validation_rules_check(const struct cJSON *root, const char *path, const struct schema *s,
			    struct field_errors *errors)
{
	auto_arena mem = ARENA_INIT;
	struct check c = {.mem = &mem, .errors = errors};

	buf_add_str(&c.path, path);
	walk(&c, root, s, true, 0);
	buf_done(&c.path);
}

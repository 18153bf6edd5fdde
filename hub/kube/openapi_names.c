#include "kube/openapi_names.h"

#include "kube/schema_rules.h"

/* "batch" and "events.k8s.io": the groups that Kubernetes itself defines. */
bool openapi_is_own_group(struct span group)
{
	struct span rest = group;
	(void)span_split(&rest, '.');
	return !rest.ptr || span_is(rest, "k8s.io") || span_is(group, "rbac.authorization.k8s.io");
}

const char *openapi_kind_name(const struct kind *k, char out[OPENAPI_NAME_MAX])
{
	auto_buf b = BUF_INIT;
	struct span rest = span_of(k->group);

	if (openapi_is_own_group(rest)) {
		struct span first = span_split(&rest, '.');
		(void)snprintf(out, OPENAPI_NAME_MAX, "io.k8s.api.%.*s.%s.%s",
			       SPAN_ARGS(first.len ? first : SPAN("core")), k->version, k->kind);
		return out;
	}
	/* The group's labels from the last to the first. */
	for (size_t end = rest.len; end > 0;) {
		size_t at = end;
		while (at > 0 && rest.ptr[at - 1] != '.')
			at--;
		buf_add(&b, rest.ptr + at, end - at);
		buf_add_char(&b, '.');
		end = at > 0 ? at - 1 : 0;
	}
	(void)snprintf(out, OPENAPI_NAME_MAX, "%s%s.%s", b.ptr, k->version, k->kind);
	return out;
}

static void add(struct openapi_definitions *d, const struct schema *s)
{
	if (!s || !s->name || map_has(&d->seen, span_of(s->name)))
		return;
	map_put(&d->seen, span_of(s->name), d);
	vec_push(&d->list, s);
}

/* Inline nodes are walked at once; named ones are added and walked from the list. */
static void walk(struct openapi_definitions *d, const struct schema *s, int depth)
{
	if (depth > SCHEMA_MAX_DEPTH)
		return;
	for (size_t i = 0; i < s->n_fields; i++) {
		add(d, s->fields[i].schema);
		if (s->fields[i].schema && !s->fields[i].schema->name)
			walk(d, s->fields[i].schema, depth + 1);
	}
	if (s->items && s->items->name)
		add(d, s->items);
	else if (s->items)
		walk(d, s->items, depth + 1);
}

void openapi_definitions_add(struct openapi_definitions *d, const struct kind *k)
{
	size_t from = d->list.len;

	if (!k->schema)
		return;
	walk(d, k->schema, 0);
	for (size_t i = from; i < d->list.len; i++)
		walk(d, d->list.items[i], 0);
}

void openapi_definitions_done(struct openapi_definitions *d)
{
	vec_done(&d->list);
	map_done(&d->seen);
}

const char *openapi_type(const struct schema *s)
{
	switch ((enum schema_type)s->type) {
	case SCHEMA_OBJECT:
	case SCHEMA_MAP:
		return "object";
	case SCHEMA_ARRAY:
		return "array";
	case SCHEMA_STRING:
	case SCHEMA_INT_OR_STRING:
	case SCHEMA_QUANTITY:
		return "string";
	case SCHEMA_INTEGER:
		return "integer";
	case SCHEMA_NUMBER:
		return "number";
	case SCHEMA_BOOLEAN:
		return "boolean";
	case SCHEMA_ANY:
	default:
		return NULL;
	}
}

const char *openapi_format(const struct schema *s)
{
	if (s->type == SCHEMA_INT_OR_STRING)
		return "int-or-string";
	if (s->rules && s->rules->format)
		return s->rules->format;
	switch ((enum schema_format)s->format) {
	case SCHEMA_INT32:
		return "int32";
	case SCHEMA_INT64:
		return "int64";
	case SCHEMA_DATE_TIME:
	case SCHEMA_MICRO_TIME:
		return "date-time";
	case SCHEMA_BYTE:
		return "byte";
	default:
		return NULL;
	}
}

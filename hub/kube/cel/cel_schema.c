/* The types that schemas give their values (k8s.io/apiserver/pkg/cel/common/schemas.go). */
#include "kube/cel/cel_names.h"
#include "kube/cel/cel_value.h"
#include "kube/schema.h"
#include "kube/schema_rules.h"

static const struct cel_type *text_type(const struct schema *s)
{
	const char *format = s->rules ? s->rules->format : NULL;

	if (s->format == SCHEMA_DATE_TIME || s->format == SCHEMA_MICRO_TIME)
		return &cel_type_of[CEL_TIMESTAMP];
	if (s->format == SCHEMA_BYTE)
		return &cel_type_of[CEL_BYTES];
	if (!format)
		return &cel_type_of[CEL_STRING];
	if (strcmp(format, "date-time") == 0 || strcmp(format, "date") == 0)
		return &cel_type_of[CEL_TIMESTAMP];
	if (strcmp(format, "duration") == 0)
		return &cel_type_of[CEL_DURATION];
	return &cel_type_of[strcmp(format, "byte") == 0 ? CEL_BYTES : CEL_STRING];
}

static const struct cel_type *container(struct arena *mem, const struct schema *s,
					enum cel_kind kind)
{
	struct cel_type *t = arena_new(mem, struct cel_type);

	*t = (struct cel_type){.kind = kind, .key = &cel_type_of[CEL_STRING], .schema = s};
	t->item = cel_type_from_schema(mem, s->items, s->items->flags & SCHEMA_EMBEDDED);
	return t->item ? t : NULL;
}

const struct cel_type *cel_type_from_schema(struct arena *mem, const struct schema *s, bool root)
{
	struct cel_type *t;

	switch ((enum schema_type)s->type) {
	case SCHEMA_OBJECT:
		t = arena_new(mem, struct cel_type);
		*t = (struct cel_type){.kind = CEL_OBJECT, .schema = s, .root = root};
		return t;
	case SCHEMA_MAP:
		return container(mem, s, CEL_MAP);
	case SCHEMA_ARRAY:
		return container(mem, s, CEL_LIST);
	case SCHEMA_STRING:
		return text_type(s);
	case SCHEMA_INTEGER:
		return &cel_type_of[CEL_INT];
	case SCHEMA_NUMBER:
		return &cel_type_of[CEL_DOUBLE];
	case SCHEMA_BOOLEAN:
		return &cel_type_of[CEL_BOOL];
	case SCHEMA_INT_OR_STRING:
	case SCHEMA_QUANTITY:
		return &cel_type_of[CEL_DYN];
	case SCHEMA_ANY:
		break;
	}
	return NULL;
}

/* Of metadata rules see two fields. */
static const struct cel_type *meta_type(void)
{
	static const struct schema text = {.type = SCHEMA_STRING};
	static const struct schema_field fields[] = {{.name = "generateName", .schema = &text},
						     {.name = "name", .schema = &text}};
	static const struct schema meta = {.type = SCHEMA_OBJECT, .fields = fields, .n_fields = 2};
	static const struct cel_type type = {.kind = CEL_OBJECT, .schema = &meta};

	return &type;
}

const struct cel_type *cel_type_field(struct arena *mem, const struct cel_type *t, struct span name,
				      const char **ret_name)
{
	char plain[CEL_NAME_MAX];

	if (!cel_name_unescape(name, plain))
		return NULL;
	if (t->root && strcmp(plain, "metadata") == 0) {
		*ret_name = "metadata";
		return meta_type();
	}
	const struct schema_field *f = schema_field_find(t->schema, plain);
	if (!f)
		return NULL;
	*ret_name = f->name;
	return cel_type_from_schema(mem, f->schema, f->schema->flags & SCHEMA_EMBEDDED);
}

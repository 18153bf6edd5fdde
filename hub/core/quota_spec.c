#include "core/quota_spec.h"

#include "base/buf.h"
#include "base/json.h"
#include "core/kueue/settings.h"
#include "kube/quantity.h"

#include <errno.h>

#define MAX_PROBLEMS 32

static void child_path(char *out, size_t size, const char *path, const char *field)
{
	/* Deep paths are cut; they still name the place. */
	if (snprintf(out, size, "%s.%s", path, field) >= (int)size)
		out[size - 1] = '\0';
}

static void decode_list(const struct cJSON *map, const char *path, struct arena *mem,
			struct elastic_list *ret, struct field_errors *errors)
{
	struct elastic_quantity *out = arena_array(mem, struct elastic_quantity, json_len(map));
	char field[256];

	json_foreach (map, m) {
		struct elastic_quantity *q = &out[ret->len];
		q->resource = span_of(json_key(m));
		int r = quantity_from_node(m, quantity_unit(q->resource), &q->value);
		if (r < 0) {
			auto_buf value = BUF_INIT;
			json_print(m, &value);
			(void)snprintf(field, sizeof(field), "%s[%s]", path, json_key(m));
			field_errors_add(errors, FIELD_INVALID, field, value.ptr, "%s",
					 quantity_error_text(r));
			continue;
		}
		ret->len++;
	}
	ret->items = out;
}

/* attribute alibabacloud.com/lendlimit: a JSON resource list in a string. */
static void decode_lendlimit(const struct cJSON *attributes, const char *path, struct arena *mem,
			     struct elastic_list *ret, struct field_errors *errors)
{
	const char *text = json_str(attributes, "alibabacloud.com/lendlimit");
	char field[256];
	auto_json *map = NULL;

	if (!text)
		return;
	(void)snprintf(field, sizeof(field), "%s.attributes[alibabacloud.com/lendlimit]", path);
	if (json_parse(span_of(text), NULL, &map, NULL) < 0 || !json_is(map, JSON_OBJECT)) {
		field_errors_add(errors, FIELD_INVALID, field, NULL,
				 "must be a JSON resource list");
		return;
	}
	decode_list(map, field, mem, ret, errors);
	/* The parsed text goes; the names must stay. */
	struct elastic_quantity *items = arena_array(mem, struct elastic_quantity, ret->len);
	for (size_t i = 0; i < ret->len; i++)
		items[i] = (struct elastic_quantity){arena_span(mem, ret->items[i].resource),
						     ret->items[i].value};
	ret->items = items;
}

static void decode_reclaim(const struct cJSON *attributes, const char *path,
			   struct elastic_node_spec *ret, struct field_errors *errors)
{
	const char *policy = json_str(attributes, "reclaim-policy");
	const char *protect = json_str(attributes, "reclaim-protect-time");
	char field[256];

	ret->reclaim_policy = policy ? span_of(policy) : SPAN_NONE;
	ret->has_reclaim_protect = protect != NULL;
	if (!protect || kueue_settings_duration(protect, &ret->reclaim_protect) == 0)
		return;
	(void)snprintf(field, sizeof(field), "%s.attributes[reclaim-protect-time]", path);
	field_errors_add(errors, FIELD_INVALID, field, protect,
			 "must be a duration such as 30s, 5m or 1h30m");
}

static void decode_namespaces(const struct cJSON *list, struct arena *mem,
			      struct elastic_node_spec *ret)
{
	struct span *out = arena_array(mem, struct span, json_len(list));

	json_foreach (list, n)
		if (json_value_str(n))
			out[ret->n_namespaces++] = span_of(json_value_str(n));
	ret->namespaces = out;
}

static int decode_node(const struct cJSON *node, const char *path, int depth, struct arena *mem,
		       struct elastic_node_spec *ret, struct field_errors *errors)
{
	const struct cJSON *children = json_get(node, "children");
	struct elastic_node_spec *out;
	char field[224];
	size_t i = 0;

	if (depth > ELASTIC_MAX_DEPTH) {
		field_errors_add(errors, FIELD_INVALID, path, NULL,
				 "the tree is %d levels deep here, the limit is %d", depth,
				 ELASTIC_MAX_DEPTH);
		return err_errno(ERR_INVALID);
	}
	ret->name = span_of(json_str(node, "name"));
	decode_namespaces(json_get(node, "namespaces"), mem, ret);
	child_path(field, sizeof(field), path, "min");
	decode_list(json_get(node, "min"), field, mem, &ret->min, errors);
	child_path(field, sizeof(field), path, "max");
	decode_list(json_get(node, "max"), field, mem, &ret->max, errors);
	decode_lendlimit(json_get(node, "attributes"), path, mem, &ret->lendlimit, errors);
	ret->preempt_policy = span_of(json_str(json_get(node, "attributes"), "preempt-policy"));
	decode_reclaim(json_get(node, "attributes"), path, ret, errors);
	ret->n_children = json_len(children);
	ret->children = out = arena_array(mem, struct elastic_node_spec, ret->n_children);
	json_foreach (children, child) {
		char item[32];
		(void)snprintf(item, sizeof(item), "children[%zu]", i);
		child_path(field, sizeof(field), path, item);
		int r = decode_node(child, field, depth + 1, mem, &out[i++], errors);
		if (r < 0)
			return r;
	}
	return 0;
}

int quota_spec_decode(const struct cJSON *object, struct arena *mem, struct elastic_node_spec *ret,
		      struct field_errors *errors)
{
	const struct cJSON *root = json_path(object, "spec", "root", NULL);

	*ret = (struct elastic_node_spec){0};
	if (!json_is(root, JSON_OBJECT)) {
		field_errors_add(errors, FIELD_REQUIRED, "spec.root", NULL,
				 "the tree needs a root");
		return err_errno(ERR_INVALID);
	}
	return decode_node(root, "spec.root", 1, mem, ret, errors);
}

int quota_spec_check(const struct cJSON *object, struct field_errors *errors, struct buf *warnings)
{
	auto_arena mem = ARENA_INIT;
	struct elastic_node_spec root;
	struct elastic_problem problems[MAX_PROBLEMS];
	struct elastic_problems list = {.items = problems, .max = MAX_PROBLEMS};
	struct err err;

	int r = quota_spec_decode(object, &mem, &root, errors);
	if (r == 0)
		r = elastic_tree_validate(&root, &list, &err);
	for (size_t i = 0; i < list.len; i++) {
		if (!problems[i].warning)
			field_errors_add(errors, FIELD_INVALID, problems[i].field, NULL, "%s",
					 problems[i].text);
		else if (warnings)
			buf_addf(warnings, "%s: %s\n", problems[i].field, problems[i].text);
	}
	return field_errors_any(errors) || r < 0 ? err_errno(ERR_INVALID) : 0;
}

#include "kube/node_view.h"

#include "base/json.h"

#define ROLE_PREFIX "node-role.kubernetes.io/"

static void add(struct buf *out, const char *key, struct span value)
{
	buf_addf(out, "%s\"%s\":", out->ptr[out->len - 1] == '{' ? "" : ",", key);
	buf_add_span(out, value);
}

static bool is_role(struct span key)
{
	return span_starts(key, SPAN(ROLE_PREFIX)) || span_is(key, "kubernetes.io/role");
}

static void add_roles(struct span labels, struct buf *out)
{
	struct span key = SPAN_NONE, value;
	bool first = true;

	if (json_text_type(labels) != JSON_OBJECT)
		return;
	for (size_t at = 0; json_text_next(labels, &at, &key, &value);) {
		if (!is_role(key))
			continue;
		buf_add_str(out, first ? ",\"labels\":{\"" : ",\"");
		buf_add_span(out, key);
		buf_add_str(out, "\":");
		buf_add_span(out, value);
		first = false;
	}
	if (!first)
		buf_add_char(out, '}');
}

static void add_metadata(struct span meta, struct buf *out)
{
	static const char *const kept[] = {"name", "uid", "creationTimestamp"};
	struct span value;

	buf_add_str(out, "\"metadata\":{");
	for (size_t i = 0; i < ARRAY_LEN(kept); i++)
		if (json_text_member(meta, kept[i], &value) == 0)
			add(out, kept[i], value);
	if (json_text_member(meta, "labels", &value) == 0)
		add_roles(value, out);
	buf_add_char(out, '}');
}

static void add_ready(struct span conditions, struct buf *out)
{
	struct span one, type, status;

	if (json_text_type(conditions) != JSON_ARRAY)
		return;
	for (size_t at = 0; json_text_next(conditions, &at, NULL, &one);) {
		if (json_text_member(one, "type", &type) < 0 || !span_is(type, "\"Ready\"") ||
		    json_text_member(one, "status", &status) < 0)
			continue;
		buf_add_str(out, "\"conditions\":[{\"type\":\"Ready\",\"status\":");
		buf_add_span(out, status);
		buf_add_str(out, "}]");
		return;
	}
}

/* Clients with types of their own refuse a node whose system lacks one of the fields that are
 * never left out: those that the view does not tell are empty. */
static void add_system(struct span info, struct buf *out)
{
	static const struct {
		const char *name;
		bool told;
	} fields[] = {
	    {"architecture", true},
	    {"bootID", false},
	    {"containerRuntimeVersion", false},
	    {"kernelVersion", false},
	    {"kubeProxyVersion", false},
	    {"kubeletVersion", true},
	    {"machineID", false},
	    {"operatingSystem", true},
	    {"osImage", false},
	    {"systemUUID", false},
	};
	struct span value;

	if (out->ptr[out->len - 1] != '{')
		buf_add_char(out, ',');
	buf_add_str(out, "\"nodeInfo\":");
	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		bool known = fields[i].told &&
			     json_text_member(info, fields[i].name, &value) == 0 &&
			     json_text_type(value) == JSON_STRING;
		buf_addf(out, "%c\"%s\":", i ? ',' : '{', fields[i].name);
		buf_add_span(out, known ? value : SPAN("\"\""));
	}
	buf_add_char(out, '}');
}

void node_view_print(struct span node, struct buf *out)
{
	struct span meta = SPAN("{}"), value;

	buf_add_char(out, '{');
	(void)json_text_member(node, "metadata", &meta);
	add_metadata(meta, out);
	if (json_text_path(node, &value, "spec", "unschedulable", NULL) == 0 &&
	    span_is(value, "true"))
		buf_add_str(out, ",\"spec\":{\"unschedulable\":true}");
	buf_add_str(out, ",\"status\":{");
	if (json_text_path(node, &value, "status", "conditions", NULL) == 0)
		add_ready(value, out);
	if (json_text_path(node, &value, "status", "nodeInfo", NULL) == 0 &&
	    json_text_type(value) == JSON_OBJECT)
		add_system(value, out);
	buf_add_str(out, "}}");
}

#include "core/pod_object.h"

#include "base/json.h"

#include <errno.h>

static void add_member(struct buf *b, struct span key, struct span value)
{
	buf_add_str(b, ",\"");
	buf_add_span(b, key);
	buf_add_str(b, "\":");
	buf_add_span(b, value);
}

static void add_labels(struct buf *b, struct span labels, const char *cluster)
{
	struct span key, value;
	size_t pos = 0;

	buf_add_str(b, ",\"labels\":{\"muster.dev/cluster\":");
	buf_add_json_str(b, span_of(cluster));
	while (labels.len && json_text_next(labels, &pos, &key, &value))
		if (!span_is(key, "muster.dev/cluster"))
			add_member(b, key, value);
	buf_add_char(b, '}');
}

static bool dropped(struct span key)
{
	return span_is(key, "resourceVersion") || span_is(key, "managedFields") ||
	       span_is(key, "labels") || span_is(key, "ownerReferences") ||
	       span_is(key, "finalizers") || span_is(key, "selfLink");
}

/* name: instead of the member's own; absent: that. */
static int make_draft(const struct member *m, const char *kind, struct span name, struct span json,
		      struct object_draft *ret)
{
	struct buf b = BUF_MAX(STORE_MAX_OBJECT);
	struct span meta, labels = SPAN_NONE, uid, part, key, value;
	struct store_extents *x = &ret->extents;
	size_t pos = 0;

	*ret = (struct object_draft){0};
	if (json_text_member(json, "metadata", &meta) < 0 ||
	    json_text_member(meta, "uid", &uid) < 0 ||
	    object_uid_parse(json_text_plain(uid), ret->uid) < 0)
		return -EINVAL;
	(void)json_text_member(meta, "labels", &labels);
	buf_addf(&b, "{\"apiVersion\":\"v1\",\"kind\":\"%s\",\"metadata\":", kind);
	x->metadata.at = (uint32_t)b.len;
	buf_add_str(&b, "{\"resourceVersion\":\"");
	x->revision.at = (uint32_t)b.len;
	buf_add_char(&b, '"');
	add_labels(&b, labels, m->name);
	if (name.len) {
		buf_add_str(&b, ",\"name\":");
		buf_add_json_str(&b, name);
	}
	while (json_text_next(meta, &pos, &key, &value))
		if (!dropped(key) && !(name.len && span_is(key, "name")))
			add_member(&b, key, value);
	buf_add_char(&b, '}');
	x->metadata.len = (uint32_t)b.len - x->metadata.at;
	if (json_text_member(json, "spec", &part) == 0) {
		buf_add_str(&b, ",\"spec\":");
		x->spec = (struct store_extent){(uint32_t)b.len, (uint32_t)part.len};
		buf_add_span(&b, part);
	}
	if (json_text_member(json, "status", &part) == 0) {
		buf_add_str(&b, ",\"status\":");
		x->status = (struct store_extent){(uint32_t)b.len, (uint32_t)part.len};
		buf_add_span(&b, part);
	}
	buf_add_char(&b, '}');
	ret->json = buf_steal(&b, &ret->len);
	return ret->json ? 0 : -EMSGSIZE;
}

int pod_object_put(struct core *c, const struct member *m, const struct pod_info *info,
		   struct span json)
{
	struct object_draft draft;
	int r = make_draft(m, "Pod", SPAN_NONE, json, &draft);

	if (r < 0)
		return r;
	return core_put(c, kind_by_type(c->kinds, TYPE_POD), info->ns, info->name, &draft);
}

void pod_object_delete(struct core *c, const struct member *m, struct span key)
{
	const struct kind *kind = kind_by_type(c->kinds, TYPE_POD);
	struct span name = key, ns = span_split(&name, '/'), cluster;
	struct store_object o;

	if (registry_get(c->batch, kind, ns, name, &o) == 0 &&
	    json_text_path(o.json, &cluster, "metadata", "labels", "muster.dev/cluster", NULL) ==
		0 &&
	    span_is(json_text_plain(cluster), m->name))
		core_delete(c, kind, ns, name);
}

/* ---- nodes ---- */

static struct span node_name(const struct member *m, struct span name, struct buf *out)
{
	buf_addf(out, "%s.%.*s", m->name, SPAN_ARGS(name));
	return out->len <= STORE_MAX_NAME ? buf_span(out) : SPAN_NONE;
}

int node_object_put(struct core *c, const struct member *m, struct span name, struct span view)
{
	auto_buf text = BUF_INIT;
	struct span full = node_name(m, name, &text);
	struct object_draft draft;
	int r = full.len ? make_draft(m, "Node", full, view, &draft) : -EMSGSIZE;

	if (r < 0)
		return r;
	return core_put(c, kind_by_type(c->kinds, TYPE_NODE), SPAN_NONE, full, &draft);
}

void node_object_delete(struct core *c, const struct member *m, struct span name)
{
	auto_buf text = BUF_INIT;
	struct span full = node_name(m, name, &text);

	if (full.len)
		core_delete(c, kind_by_type(c->kinds, TYPE_NODE), SPAN_NONE, full);
}

#include "api/member_get.h"

#include "api/member_name.h"
#include "api/passage.h"
#include "api/read_options.h"
#include "api/render.h"
#include "base/json.h"

static bool is_stored(const struct call *c)
{
	struct store_key key = {c->kind->type, c->info.ns.ptr ? c->info.ns : SPAN(""),
				c->info.name};
	auto_reader *reader = NULL;
	struct store_object o;

	return key.name.len <= STORE_MAX_NAME && key.ns.len <= STORE_MAX_NAMESPACE &&
	       store_read_begin(call_store(c), &reader, NULL) == 0 &&
	       store_get(reader, &key, &o) == 0;
}

static bool is_dropped(struct span key)
{
	return span_is(key, "name") || span_is(key, "labels") || span_is(key, "resourceVersion") ||
	       span_is(key, "managedFields") || span_is(key, "ownerReferences");
}

static void add(struct buf *out, struct span key, struct span value)
{
	buf_add_str(out, ",\"");
	buf_add_span(out, key);
	buf_add_str(out, "\":");
	buf_add_span(out, value);
}

static void add_metadata(const struct call *c, struct span meta, struct buf *out)
{
	struct span member, rest, labels, key = SPAN_NONE, value;

	(void)member_name_split(c, c->info.name, &member, &rest);
	buf_add_str(out, "\"metadata\":{\"name\":");
	buf_add_json_str(out, c->info.name);
	buf_addf(out, ",\"resourceVersion\":\"%llu\",\"labels\":{\"muster.dev/cluster\":",
		 (unsigned long long)store_revision(call_store(c)));
	buf_add_json_str(out, member);
	if (json_text_member(meta, "labels", &labels) == 0 && json_text_type(labels) == JSON_OBJECT)
		for (size_t at = 0; json_text_next(labels, &at, &key, &value);)
			if (!span_is(key, "muster.dev/cluster"))
				add(out, key, value);
	buf_add_char(out, '}');
	for (size_t at = 0; json_text_next(meta, &at, &key, &value);)
		if (!is_dropped(key))
			add(out, key, value);
	buf_add_char(out, '}');
}

/* The member's object as the hub's. */
static int translate(const struct call *c, struct span json, struct buf *out, struct err *reterr)
{
	struct span meta, key = SPAN_NONE, value;

	if (json_check(json, NULL, reterr) < 0)
		return err_wrap(reterr, "the member's answer");
	if (json_text_type(json) != JSON_OBJECT || json_text_member(json, "metadata", &meta) < 0 ||
	    json_text_type(meta) != JSON_OBJECT)
		return err_set(reterr, ERR_INTERNAL, "the member's answer is no object");
	buf_addf(out, "{\"apiVersion\":\"v1\",\"kind\":\"%s\",", c->kind->kind);
	add_metadata(c, meta, out);
	for (size_t at = 0; json_text_next(json, &at, &key, &value);)
		if (!span_is(key, "metadata") && !span_is(key, "kind") &&
		    !span_is(key, "apiVersion"))
			add(out, key, value);
	buf_add_char(out, '}');
	return 0;
}

static void on_fetched(struct call *c, struct span json)
{
	auto_buf object = BUF_MAX(STORE_MAX_OBJECT * 3);
	struct render render;
	struct err e = ERR_INIT;
	int r = translate(c, json, &object, &e);

	if (!r && !buf_ok(&object))
		r = err_set(&e, ERR_TOO_LARGE, "the member's object is too large");
	if (!r)
		r = read_options_render(c, &render, &e);
	if (r) {
		call_fail(c, &e);
	} else {
		call_ok(c, 200, "application/json");
		render_text(&render, buf_span(&object), &c->answer.body);
	}
	call_finish(c);
}

bool member_get(struct call *c)
{
	const struct backend *b = c->listener->backend;
	struct span member, name;
	struct buf path = BUF_INIT;
	bool node = span_is(c->info.resource, "nodes"), pod = span_is(c->info.resource, "pods");

	if (b->runs_pods || !b->ops->proxy || c->info.group.len || (!node && !pod) ||
	    !member_name_split(c, c->info.name, &member, &name) || (pod && is_stored(c)))
		return false;
	buf_add_str(&path, "/api/v1/");
	if (pod) {
		buf_add_str(&path, "namespaces/");
		request_encode_path(c->info.ns, &path);
		buf_add_char(&path, '/');
	}
	buf_add_span(&path, c->info.resource);
	buf_add_char(&path, '/');
	request_encode_path(name, &path);
	passage_fetch(c, member, &path, on_fetched);
	return true;
}

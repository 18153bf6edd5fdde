#include "api/request_info.h"

#include "base/buf.h"
#include <strings.h>

static const char *const verb_names[API_VERB_MAX] = {
    "get", "list", "watch", "create", "update", "patch", "delete", "deletecollection",
};

const char *api_verb_name(enum api_verb v)
{
	return v >= 0 && v < API_VERB_MAX ? verb_names[v] : "?";
}

bool request_bool(struct span value)
{
	if (!value.ptr || span_is(value, "0"))
		return false;
	return !(value.len == 5 && strncasecmp(value.ptr, "false", 5) == 0);
}

/* The next non-empty segment of *rest; absent at the end. */
static struct span segment(struct span *rest)
{
	struct span s;
	do {
		if (!rest->ptr)
			return SPAN_NONE;
		s = span_split(rest, '/');
	} while (!s.len);
	return s;
}

static enum api_verb verb_of(const struct http_request *r, bool has_name, bool on_collection)
{
	switch (r->method) {
	case HTTP_POST:
		return API_CREATE;
	case HTTP_PUT:
		return API_UPDATE;
	case HTTP_PATCH:
		return API_PATCH;
	case HTTP_DELETE:
		return on_collection ? API_DELETE_COLLECTION : API_DELETE;
	default:
		if (has_name)
			return API_GET;
		return request_bool(http_param(r, "watch")) ? API_WATCH : API_LIST;
	}
}

/* After /api/v1 or /apis/<group>/<version>. */
static void parse_resource(const struct http_request *r, struct span rest, struct request_info *i)
{
	struct span first = segment(&rest);
	struct span tail;
	if (span_is(first, "watch")) {
		i->watch_path = true;
		first = segment(&rest);
	}
	tail = rest;
	if (!first.ptr)
		return;
	if (span_is(first, "namespaces")) {
		struct span ns = segment(&tail);
		struct span next = segment(&tail);
		if (ns.ptr && next.ptr && !span_is(next, "status") && !span_is(next, "finalize")) {
			i->ns = ns;
			first = next;
			rest = tail;
		}
	}
	i->is_resource = true;
	i->resource = first;
	i->name = segment(&rest);
	i->subresource = segment(&rest);
	if (rest.ptr && i->subresource.ptr)
		i->rest = span_make(rest.ptr - 1, rest.len + 1);
	i->verb = i->watch_path ? API_WATCH : verb_of(r, i->name.ptr != NULL, i->name.ptr == NULL);
}

void request_info_parse(const struct http_request *r, struct request_info *ret)
{
	struct span rest = r->path;
	struct span root = segment(&rest);
	*ret = (struct request_info){.path = r->path, .verb = verb_of(r, true, false)};
	if (span_is(root, "api")) {
		ret->group = SPAN("");
		ret->version = segment(&rest);
	} else if (span_is(root, "apis")) {
		ret->group = segment(&rest);
		ret->version = segment(&rest);
	}
	if (ret->version.ptr)
		parse_resource(r, rest, ret);
}

static bool is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '-' || c == '.' || c == '_' || c == '~';
}

static void encode(struct span s, char also, struct buf *out)
{
	for (size_t i = 0; i < s.len; i++) {
		if (is_plain(s.ptr[i]) || s.ptr[i] == also)
			buf_add_char(out, s.ptr[i]);
		else
			buf_addf(out, "%%%02X", (unsigned char)s.ptr[i]);
	}
}

void request_encode_path(struct span path, struct buf *out)
{
	encode(path, '/', out);
}

void request_encode_query(const struct http_request *r, struct buf *out)
{
	for (size_t i = 0; i < r->n_params; i++) {
		buf_add_char(out, i ? '&' : '?');
		encode(r->params[i].name, '.', out);
		buf_add_char(out, '=');
		encode(r->params[i].value, '.', out);
	}
}

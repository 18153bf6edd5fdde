/* What libwebsockets hands over of a request: method, decoded path and parameters, headers. */
#include "api/http_lws.h"

static const struct {
	int token;
	enum http_method method;
} methods[] = {
    {LWSHUMETH_GET, HTTP_GET},	       {LWSHUMETH_POST, HTTP_POST},	{LWSHUMETH_PUT, HTTP_PUT},
    {LWSHUMETH_PATCH, HTTP_PATCH},     {LWSHUMETH_DELETE, HTTP_DELETE}, {LWSHUMETH_HEAD, HTTP_HEAD},
    {LWSHUMETH_OPTIONS, HTTP_OPTIONS},
};

struct span http_lws_copy_header(struct http_conn *c, struct arena *mem, enum lws_token_indexes t)
{
	int n = lws_hdr_total_length(c->wsi, t);
	char *text;
	if (n <= 0)
		return SPAN_NONE;
	text = arena_alloc(mem, (size_t)n + 1);
	n = lws_hdr_copy(c->wsi, text, n + 1, t);
	return n < 0 ? SPAN_NONE : span_make(text, (size_t)n);
}

struct span http_lws_custom_header(struct http_conn *c, struct arena *mem, const char *name)
{
	int len = (int)strlen(name), n = lws_hdr_custom_length(c->wsi, name, len);
	char *text;
	if (n < 0)
		return SPAN_NONE;
	text = arena_alloc(mem, (size_t)n + 1);
	if (lws_hdr_custom_copy(c->wsi, text, n + 1, name, len) < 0)
		return SPAN_NONE;
	return span_make(text, (size_t)n);
}

static bool read_params(struct http_conn *c, struct http_request *r)
{
	/* An empty fragment ("a=1&&b=2") and the end look alike, but all their lengths, with the
	 * separators between them, make the total. */
	int total = lws_hdr_total_length(c->wsi, WSI_TOKEN_HTTP_URI_ARGS), seen = 0;
	for (int i = 0; seen < total; i++) {
		int n = lws_hdr_fragment_length(c->wsi, WSI_TOKEN_HTTP_URI_ARGS, i);
		struct span rest;
		char *text;
		seen += (n > 0 ? n : 0) + 1;
		if (n <= 0)
			continue;
		if (r->n_params == HTTP_MAX_PARAMS)
			return false;
		text = arena_alloc(&r->mem, (size_t)n + 1);
		if (lws_hdr_copy_fragment(c->wsi, text, n + 1, WSI_TOKEN_HTTP_URI_ARGS, i) < 0)
			return false;
		rest = span_make(text, (size_t)n);
		r->params[r->n_params].name = span_split(&rest, '=');
		r->params[r->n_params].value = rest.ptr ? rest : SPAN("");
		r->n_params++;
	}
	return true;
}

bool http_lws_read_request(struct http_conn *c, struct http_exchange *x, struct span path)
{
	struct http_request *r = &x->request;
	char *uri = NULL;
	int len = 0;
	int token = lws_http_get_uri_and_method(c->wsi, &uri, &len);
	size_t i = 0;
	while (i < ARRAY_LEN(methods) && methods[i].token != token)
		i++;
	if (i == ARRAY_LEN(methods))
		return false;
	r->method = methods[i].method;
	r->path = span_make(arena_strndup(&r->mem, path.ptr, path.len), path.len);
	r->accept = http_lws_copy_header(c, &r->mem, WSI_TOKEN_HTTP_ACCEPT);
	r->accept_encoding = http_lws_copy_header(c, &r->mem, WSI_TOKEN_HTTP_ACCEPT_ENCODING);
	r->authorization = http_lws_copy_header(c, &r->mem, WSI_TOKEN_HTTP_AUTHORIZATION);
	r->content_type = http_lws_copy_header(c, &r->mem, WSI_TOKEN_HTTP_CONTENT_TYPE);
	r->if_none_match = http_lws_copy_header(c, &r->mem, WSI_TOKEN_HTTP_IF_NONE_MATCH);
	r->user_agent = http_lws_copy_header(c, &r->mem, WSI_TOKEN_HTTP_USER_AGENT);
	r->audit_id = http_lws_custom_header(c, &r->mem, "audit-id:");
	http_lws_read_impersonation(c, r, uri);
	http_lws_read_proxied(c, r, uri);
	if (r->method == HTTP_GET)
		http_lws_read_upgrade(c, r);
	return read_params(c, r);
}

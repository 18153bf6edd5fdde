/* What a front proxy says of whom it speaks for: all headers beside those of HTTP itself. */
#include "api/http_lws.h"
#include <ctype.h>

#define MAX_NAME 256

struct reading {
	struct arena *mem;
	struct http_proxied *made;
};

static bool add_header(void *arg, struct span name, struct span value)
{
	struct reading *r = arg;
	if (r->made->n == HTTP_MAX_PROXIED)
		return false;
	r->made->headers[r->made->n++] = (struct http_param){
	    arena_span(r->mem, span_make(name.ptr, name.len - 1)), arena_span(r->mem, value)};
	return true;
}

/* As the library keeps it: in lower case, with its colon. */
static bool name_of(const char *header, char ret[MAX_NAME])
{
	size_t n = strlen(header);
	if (n + 2 > MAX_NAME)
		return false;
	for (size_t i = 0; i < n; i++)
		ret[i] = (char)tolower((unsigned char)header[i]);
	memcpy(ret + n, ":", 2);
	return true;
}

void http_lws_read_proxied(struct http_conn *c, struct http_request *r, const char *uri)
{
	const struct http_listener *l = lws_get_vhost_user(lws_get_vhost(c->wsi));
	struct reading reading = {.mem = &r->mem};
	struct span value = SPAN_NONE;
	char name[MAX_NAME];
	if (!c->peer.proxy)
		return;
	for (char *const *h = l->proxy_user_headers; h && *h && !value.ptr; h++)
		if (name_of(*h, name))
			value = http_lws_custom_header(c, &r->mem, name);
	if (!value.ptr)
		return;
	reading.made = arena_new(&r->mem, struct http_proxied);
	*reading.made = (struct http_proxied){
	    .headers = arena_array(&r->mem, struct http_param, HTTP_MAX_PROXIED)};
	reading.made->unreadable =
	    !http_lws_each_custom(uri, span_of(name), value, add_header, &reading);
	r->proxied = reading.made;
}

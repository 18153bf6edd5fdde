#include "api/http_lws.h"

#include "base/num.h"
#include <strings.h>

/* A body that is too long but not longer than this is read and dropped, so that a client which
 * sends first and reads later sees the 413; a longer one is cut off. */
#define DISCARD_MAX ((uint64_t)64 << 20)

void http_lws_refuse(struct http_exchange *x, int code, const char *text)
{
	struct http_response r = {
	    .code = code,
	    .content_type = "text/plain; charset=utf-8",
	    .body = xstrdup(text),
	    .len = strlen(text),
	    .close = true,
	};
	http_respond(x, &r);
}

/* In a Kubernetes Status, as clients of the API expect it. */
static void respond_too_large(struct http_exchange *x, bool close)
{
	struct http_response r = {.code = 413, .content_type = "application/json", .close = close};
	r.body = xstrdup("{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},"
			 "\"status\":\"Failure\",\"message\":\"Request entity too large: "
			 "limit is 3145728\",\"reason\":\"RequestEntityTooLarge\","
			 "\"code\":413}\n");
	r.len = strlen(r.body);
	http_respond(x, &r);
}

/* Takes the body of the request at hand in chunks, or answers. */
static bool begin_chunks(struct http_conn *c, struct http_exchange *x)
{
	char coding[16];
	int n = lws_hdr_copy(c->wsi, coding, sizeof(coding), WSI_TOKEN_HTTP_TRANSFER_ENCODING);

	/* Who says both may mean another end of the body than somebody in front of the hub
	 * (RFC 9112 section 6.3). */
	if (lws_hdr_fragment_length(c->wsi, WSI_TOKEN_HTTP_CONTENT_LENGTH, 0) > 0) {
		http_lws_refuse(x, 400, "400 Bad Request: Content-Length and Transfer-Encoding\n");
		return false;
	}
	if (n <= 0 || strcasecmp(coding, "chunked") != 0) {
		http_lws_refuse(x, 501, "501 Not Implemented: unsupported transfer encoding\n");
		return false;
	}
	c->in_chunks = true;
	c->chunks = (struct chunked_body){0};
	c->keep_alive = false;
	return true;
}

bool http_lws_body_length(struct http_conn *c, struct http_exchange *x, uint64_t *ret)
{
	char text[24];
	int n;
	*ret = 0;
	if (lws_hdr_total_length(c->wsi, WSI_TOKEN_HTTP_TRANSFER_ENCODING) > 0)
		return begin_chunks(c, x);
	if (lws_hdr_total_length(c->wsi, WSI_TOKEN_HTTP_CONTENT_LENGTH) <= 0)
		return true;
	n = lws_hdr_copy(c->wsi, text, sizeof(text), WSI_TOKEN_HTTP_CONTENT_LENGTH);
	if (n <= 0 || num_parse_u64(span_make(text, (size_t)n), UINT64_MAX, ret) < 0) {
		http_lws_refuse(x, 400, "400 Bad Request: Content-Length\n");
		return false;
	}
	if (*ret > HTTP_MAX_BODY) {
		respond_too_large(x, *ret > DISCARD_MAX);
		return false;
	}
	return true;
}

static int take_chunks(struct http_conn *c, struct span bytes)
{
	int r = chunked_body_feed(&c->chunks, bytes, &c->exchange->request.body);

	if (r) {
		c->receiving = false;
		if (r == -EMSGSIZE)
			respond_too_large(c->exchange, true);
		else
			http_lws_refuse(c->exchange, 400, "400 Bad Request: chunked body\n");
		return 0;
	}
	return c->chunks.at == CHUNKED_DONE;
}

int http_lws_take_body(struct http_conn *c, struct span bytes)
{
	if (c->in_chunks)
		return take_chunks(c, bytes);
	buf_add_span(&c->exchange->request.body, bytes);
	return buf_ok(&c->exchange->request.body) ? 0 : -1;
}

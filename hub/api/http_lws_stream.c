/*
 * Streams of the libwebsockets engine: chunks of HTTP, or messages of a WebSocket
 * (http_lws_frames.c).
 */
#include "api/http_lws.h"

bool http_stream_begin(struct http_exchange *x, int code, const char *content_type,
		       struct span headers)
{
	struct http_conn *c = x->conn;
	size_t n;
	if (!c)
		return false;
	x->streaming = true;
	n = http_lws_put_header(c->server, code, content_type, headers,
				"Transfer-Encoding: chunked\r\n");
	http_lws_watch_hup(c, true);
	http_lws_write(c, c->server->scratch + LWS_PRE, n);
	return true;
}

bool http_stream_ready(const struct http_exchange *x)
{
	if (x->conn && x->conn->frames)
		return http_lws_frames_ready(x->conn);
	return x->conn && !x->conn->want && !x->conn->out && !lws_partial_buffered(x->conn->wsi);
}

/* The length of a chunk has a fixed width, so that it can be put before bytes that are there. */
void http_chunk_frame(char *room, size_t len)
{
	char width[HTTP_CHUNK_HEAD + 1];
	snprintf(width, sizeof(width), "%06zx\r\n", len & 0xffffff);
	memcpy(room, width, HTTP_CHUNK_HEAD);
	memcpy(room + HTTP_CHUNK_HEAD + len, "\r\n", HTTP_CHUNK_TAIL);
}

/* What http_chunk_frame() put a frame around. */
static struct span text_of(struct span framed)
{
	return span_make(framed.ptr + HTTP_CHUNK_HEAD,
			 framed.len - HTTP_CHUNK_HEAD - HTTP_CHUNK_TAIL);
}

void http_stream_chunk(struct http_exchange *x, struct span framed)
{
	if (x->conn && x->conn->frames)
		http_lws_frames_write(x->conn, text_of(framed));
	else if (x->conn)
		http_lws_write(x->conn, framed.ptr, framed.len);
}

void http_stream_lend(struct http_exchange *x, struct span framed)
{
	if (!x->conn)
		return;
	if (x->conn->frames) {
		http_lws_frames_write(x->conn, text_of(framed));
		return;
	}
	http_lws_set_out(x->conn, (char *)(uintptr_t)framed.ptr, framed.len, true);
	http_lws_rx(x->conn, true);
	http_lws_next_piece(x->conn);
}

void http_stream_writev(struct http_exchange *x, const struct span *parts, size_t n)
{
	struct http_conn *c = x->conn;
	char *head, *at;
	if (!c)
		return;
	for (size_t i = 0; c->frames && i < n; i++)
		http_lws_frames_write(c, parts[i]);
	if (c->frames)
		return;
	head = c->server->scratch + LWS_PRE;
	at = head + HTTP_CHUNK_HEAD;
	for (size_t i = 0; i < n; i++) {
		memcpy(at, parts[i].ptr, parts[i].len);
		at += parts[i].len;
	}
	http_chunk_frame(head, (size_t)(at - head) - HTTP_CHUNK_HEAD);
	http_lws_write(c, head, (size_t)(at - head) + HTTP_CHUNK_TAIL);
}

void http_stream_write(struct http_exchange *x, struct span bytes)
{
	if (x->conn && x->conn->frames) {
		http_lws_frames_write(x->conn, bytes);
		return;
	}
	while (x->conn && bytes.len) {
		struct span part =
		    span_make(bytes.ptr, bytes.len > HTTP_PIECE ? HTTP_PIECE : bytes.len);
		http_stream_writev(x, &part, 1);
		bytes = span_make(bytes.ptr + part.len, bytes.len - part.len);
	}
}

void http_stream_want(struct http_exchange *x)
{
	struct http_conn *c = x->conn;
	if (!c || c->want)
		return;
	if (c->frames) {
		http_lws_frames_want(c);
		return;
	}
	c->want = true;
	if (!c->since)
		c->since = clock_monotonic();
	http_lws_rx(c, true);
	lws_callback_on_writable(c->wsi);
}

void http_stream_end(struct http_exchange *x)
{
	struct http_conn *c = http_lws_take_back(x);
	if (!c)
		return;
	if (c->frames)
		http_lws_frames_end(c);
	c->exchange = NULL;
	http_lws_recycle(c->server, x);
	if (c->frames) {
		http_lws_kill(c);
		return;
	}
	http_lws_rx(c, true);
	http_lws_write(c, "0\r\n\r\n", 5);
	http_lws_complete(c);
}

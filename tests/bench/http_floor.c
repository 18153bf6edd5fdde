/*
 * What libwebsockets does by itself: http_floor CERTIFICATE KEY. An HTTPS server of one thread on a
 * libuv loop, with the options of hub/api and a handler that does nothing. GET /N is answered with
 * N bytes, up to 32 KiB in one write together with the header block, more in pieces of 64 KiB: the
 * floor for a GET and for a LIST. Pieces are made of lines as a watcher is sent them, so that who
 * counts events has as much to do here as there. It serves for ever on a free port of 127.0.0.1,
 * which it writes as an int to its standard output.
 *
 * A program of its own, so that what hub/api puts between the libraries (http_lws_loop.c) is not
 * in it.
 */
#include "base/compat.h"
#include <libwebsockets.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#define PIECE ((size_t)64 << 10)
#define SMALL ((size_t)32 << 10)
#define EVENT ((size_t)500)

struct floor {
	char *scratch; /* LWS_PRE, a header block, a piece */
};

struct session {
	size_t left;
};

static size_t put_head(const struct floor *f, size_t len)
{
	int n = snprintf(f->scratch + LWS_PRE, 512,
			 "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
			 "Content-Length: %zu\r\n\r\n",
			 len);
	return n > 0 ? (size_t)n : 0;
}

static int answer(struct lws *wsi, struct floor *f, struct session *s, const char *path)
{
	size_t len = (size_t)strtoull(path + (path[0] == '/'), NULL, 10);
	size_t head = put_head(f, len), small = len <= SMALL ? len : 0;
	unsigned char *at = (unsigned char *)f->scratch + LWS_PRE;
	memset(at + head, 'x', small);
	if (lws_write(wsi, at, head + small, LWS_WRITE_HTTP) < 0)
		return -1;
	s->left = len - small;
	if (s->left)
		return lws_callback_on_writable(wsi) < 0 ? -1 : 0;
	return lws_http_transaction_completed(wsi) ? -1 : 0;
}

static int next_piece(struct lws *wsi, const struct floor *f, struct session *s)
{
	size_t n = s->left < PIECE ? s->left : PIECE;
	if (!n)
		return 0;
	if (lws_write(wsi, (unsigned char *)f->scratch + LWS_PRE, n, LWS_WRITE_HTTP) < 0)
		return -1;
	s->left -= n;
	if (s->left)
		return lws_callback_on_writable(wsi) < 0 ? -1 : 0;
	return lws_http_transaction_completed(wsi) ? -1 : 0;
}

static int on_event(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in,
		    size_t len)
{
	struct floor *f;
	(void)len;
	if (reason != LWS_CALLBACK_HTTP && reason != LWS_CALLBACK_HTTP_WRITEABLE)
		return 0;
	f = lws_context_user(lws_get_context(wsi));
	return reason == LWS_CALLBACK_HTTP ? answer(wsi, f, user, in) : next_piece(wsi, f, user);
}

/* Lines of 500 bytes, each with a time. */
static void fill_events(char *piece)
{
	static const char event[] = "{\"type\":\"MODIFIED\",\"object\":{\"data\":{\"due\":"
				    "\"00000000000000000001\",\"pad\":\"";
	memset(piece, 'x', PIECE);
	for (size_t at = 0; at + EVENT <= PIECE; at += EVENT) {
		memcpy(piece + at, event, sizeof(event) - 1);
		memcpy(piece + at + EVENT - 5, "\"}}}\n", 5);
	}
}

static int serve(const char *cert_file, const char *key_file)
{
	static const struct lws_protocols protocols[] = {
	    {.name = "http",
	     .callback = on_event,
	     .per_session_data_size = sizeof(struct session),
	     .rx_buffer_size = 16384,
	     .tx_packet_size = PIECE + 4096},
	    {0},
	};
	struct floor f = {.scratch = calloc(1, LWS_PRE + PIECE + 4096)};
	struct lws_context_creation_info info = {0};
	uv_loop_t loop;
	void *loops[1] = {&loop};
	struct lws_context *context;
	struct lws_vhost *vhost;
	int port;
	if (!f.scratch || uv_loop_init(&loop) < 0)
		return 1;
	fill_events(f.scratch + LWS_PRE);
	lws_set_log_level(0, NULL);
	info.port = CONTEXT_PORT_NO_LISTEN;
	info.protocols = protocols;
	info.user = &f;
	info.foreign_loops = loops;
	info.pt_serv_buf_size = 16384;
	info.timeout_secs = 300; /* crowds come one by one, and read when all are there */
	info.options = LWS_SERVER_OPTION_LIBUV | LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT |
		       LWS_SERVER_OPTION_EXPLICIT_VHOSTS;
	context = lws_create_context(&info);
	info.port = 0;
	info.iface = "127.0.0.1";
	info.vhost_name = "floor";
	info.alpn = "http/1.1";
	info.keepalive_timeout = 300;
	info.ssl_cert_filepath = cert_file;
	info.ssl_private_key_filepath = key_file;
	info.options = LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT | LWS_SERVER_OPTION_DISABLE_IPV6;
	vhost = context ? lws_create_vhost(context, &info) : NULL;
	port = vhost ? lws_get_vhost_listen_port(vhost) : 0;
	if (port > 0 && write(STDOUT_FILENO, &port, sizeof(port)) == sizeof(port))
		uv_run(&loop, UV_RUN_DEFAULT);
	return 1; /* it cannot start */
}

int main(int argc, char **argv)
{
	return argc == 3 ? serve(argv[1], argv[2]) : 2;
}

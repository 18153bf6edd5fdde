/*
 * The end of a TLS connection that the library writes to: a socket, and how much of one answer is
 * still to come.
 *
 * OpenSSL writes each record of 16 KiB by itself, and the kernel sends each at once: a packet, an
 * interrupt and a woken reader for every one. Records of one write that others follow are sent with
 * MSG_MORE instead, so that all of them go out with the last. What follows a write that the socket
 * did not take wholly is sent as ever.
 */
#include "api/http_lws.h"

#include <errno.h>
#include <openssl/bio.h>
#include <sys/socket.h>

#define RECORD ((size_t)16384) /* RFC 8446 5.1: the most text of one */

struct http_send {
	int fd;
	size_t left; /* text of the write under way */
};

static int on_write(BIO *bio, const char *bytes, int len)
{
	struct http_send *s = BIO_get_data(bio);
	int more = s->left > RECORD ? MSG_MORE : 0;
	ssize_t n = send(s->fd, bytes, (size_t)len, MSG_NOSIGNAL | more);
	BIO_clear_retry_flags(bio);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		BIO_set_retry_write(bio);
	if (n == len)
		s->left -= s->left < RECORD ? s->left : RECORD;
	return (int)n;
}

static long on_ctrl(BIO *bio, int command, long number, void *text)
{
	(void)bio;
	(void)number;
	(void)text;
	return command == BIO_CTRL_FLUSH; /* nothing is kept here */
}

static int on_free(BIO *bio)
{
	free(BIO_get_data(bio));
	return 1;
}

BIO_METHOD *http_lws_send_method(void)
{
	BIO_METHOD *m = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "answers");
	if (m && BIO_meth_set_write(m, on_write) && BIO_meth_set_ctrl(m, on_ctrl) &&
	    BIO_meth_set_destroy(m, on_free))
		return m;
	BIO_meth_free(m);
	return NULL;
}

void http_lws_send_open(struct http_conn *c)
{
	SSL *ssl = lws_get_ssl(c->wsi);
	BIO *bio = ssl && c->server->send_method ? BIO_new(c->server->send_method) : NULL;
	if (!bio)
		return; /* the library's own does as well */
	c->send = xcalloc(1, sizeof(*c->send));
	c->send->fd = (int)lws_get_socket_fd(c->wsi);
	BIO_set_data(bio, c->send);
	BIO_set_init(bio, 1);
	SSL_set0_wbio(ssl, bio);
}

int http_lws_send(struct http_conn *c, const char *bytes, size_t len)
{
	int n;
	if (c->send)
		c->send->left = len;
	/* HTTP/1.1 bytes go out as they are; the library does not change the buffer. */
	n = lws_write(c->wsi, (unsigned char *)(uintptr_t)bytes, len, LWS_WRITE_HTTP);
	if (c->send)
		c->send->left = 0;
	return n;
}

/*
 * Answers of the libwebsockets engine: one write for a small one, pieces for a long one.
 */
#include "api/http_lws.h"

#include <errno.h>
#include <time.h>

static const struct {
	int code;
	const char *text;
} reasons[] = {
    {101, "Switching Protocols"},
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {204, "No Content"},
    {304, "Not Modified"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {409, "Conflict"},
    {410, "Gone"},
    {411, "Length Required"},
    {413, "Request Entity Too Large"},
    {415, "Unsupported Media Type"},
    {422, "Unprocessable Entity"},
    {429, "Too Many Requests"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
    {507, "Insufficient Storage"},
};

static const char *reason_of(int code)
{
	for (size_t i = 0; i < ARRAY_LEN(reasons); i++)
		if (reasons[i].code == code)
			return reasons[i].text;
	return "Unknown";
}

/* Reading on or off; see the rules in http_lws.h. */
void http_lws_rx(struct http_conn *c, bool on)
{
	if (c->rx_off == !on)
		return;
	c->rx_off = !on;
	(void)lws_rx_flow_control(c->wsi, on ? 1 : 0);
}

void http_lws_kill(struct http_conn *c)
{
	if (c->in_callback) {
		c->close = true;
		return;
	}
	lws_set_timeout(c->wsi, PENDING_TIMEOUT_USER_OK, LWS_TO_KILL_ASYNC);
	/* The library looks at its timers after some event only. */
	lws_cancel_service(c->server->context);
}

void http_lws_complete(struct http_conn *c)
{
	c->since = 0;
	c->want = false;
	http_lws_watch_hup(c, false);
	http_lws_rx(c, true);
	if (lws_partial_buffered(c->wsi))
		c->since = clock_monotonic();
	if (!c->keep_alive || lws_http_transaction_completed(c->wsi))
		http_lws_kill(c);
}

void http_lws_write(struct http_conn *c, const char *bytes, size_t len)
{
	if (http_lws_send(c, bytes, len) < 0) {
		c->keep_alive = false;
		http_lws_kill(c);
		return;
	}
	if (lws_partial_buffered(c->wsi)) {
		http_lws_rx(c, true); /* else the rest is never sent */
		if (!c->since)
			c->since = clock_monotonic();
	}
}

static const char *date_line(struct http_server *s)
{
	time_t now = time(NULL);
	struct tm tm;
	if (now != s->date_at && gmtime_r(&now, &tm)) {
		s->date_at = now;
		strftime(s->date, sizeof(s->date), "Date: %a, %d %b %Y %H:%M:%S GMT\r\n", &tm);
	}
	return s->date;
}

/* A header block in the making; what does not fit makes it fail. */
struct head {
	char *at, *end;
	bool failed;
};

static void put(struct head *h, const char *text, size_t n)
{
	if (h->failed || n > (size_t)(h->end - h->at)) {
		h->failed = true;
		return;
	}
	memcpy(h->at, text, n);
	h->at += n;
}

static void put_str(struct head *h, const char *text)
{
	put(h, text, strlen(text));
}

static void put_number(struct head *h, size_t n)
{
	char digits[24], *at = digits + sizeof(digits);
	do {
		*--at = (char)('0' + n % 10);
		n /= 10;
	} while (n);
	put(h, at, (size_t)(digits + sizeof(digits) - at));
}

static void put_answer(struct head *h, struct http_server *s, int code, const char *content_type,
		       struct span headers)
{
	put_str(h, "HTTP/1.1 ");
	put_number(h, (size_t)code);
	put_str(h, " ");
	put_str(h, reason_of(code));
	if (content_type) {
		put_str(h, "\r\nContent-Type: ");
		put_str(h, content_type);
	}
	put_str(h, "\r\n");
	put_str(h, date_line(s));
	if (!headers.len || !memmem(headers.ptr, headers.len, "Cache-Control: ", 15))
		put_str(h, "Cache-Control: no-cache, private\r\n");
	if (headers.len && headers.len <= 3000)
		put(h, headers.ptr, headers.len);
}

/* The block's length, 0 when it did not fit. */
static size_t put_end(struct head *h, const struct http_server *s)
{
	put_str(h, "\r\n");
	return h->failed ? 0 : (size_t)(h->at - s->scratch - LWS_PRE);
}

static struct head head_begin(const struct http_server *s)
{
	return (struct head){s->scratch + LWS_PRE, s->scratch + LWS_PRE + 4096, false};
}

size_t http_lws_put_header(struct http_server *s, int code, const char *content_type,
			   struct span headers, const char *framing)
{
	struct head h = head_begin(s);
	put_answer(&h, s, code, content_type, headers);
	put_str(&h, framing);
	return put_end(&h, s);
}

static size_t put_counted(struct http_server *s, const struct http_response *r)
{
	struct head h = head_begin(s);
	put_answer(&h, s, r->code, r->content_type, r->headers);
	if (r->close)
		put_str(&h, "Connection: close\r\n");
	put_str(&h, "Content-Length: ");
	put_number(&h, r->len);
	put_str(&h, "\r\n");
	return put_end(&h, s);
}

struct http_conn *http_lws_take_back(struct http_exchange *x)
{
	struct http_conn *c = x->conn;
	struct http_server *s = x->listener->server;
	if (!c) {
		s->n_active--;
		http_lws_recycle(s, x);
		return NULL;
	}
	if (c->with_handler) {
		c->with_handler = false;
		s->n_active--;
	}
	return c;
}

void http_lws_set_out(struct http_conn *c, char *bytes, size_t len, bool lent)
{
	c->out = bytes;
	c->out_len = len;
	c->out_at = 0;
	c->lent = lent;
	c->since = clock_monotonic();
	c->server->n_long++;
}

void http_lws_drop_out(struct http_conn *c)
{
	if (!c->out)
		return;
	if (!c->lent)
		free(c->out);
	c->out = NULL;
	c->lent = false;
	c->server->n_long--;
}

void http_respond(struct http_exchange *x, struct http_response *take)
{
	bool head = x->request.method == HTTP_HEAD;
	struct http_conn *c = http_lws_take_back(x);
	struct http_server *s;
	size_t n;
	if (!c) {
		free(take->body);
		return;
	}
	s = c->server;
	c->exchange = NULL;
	c->receiving = false;
	http_lws_recycle(s, x);
	c->keep_alive = c->keep_alive && !take->close;
	take->close = !c->keep_alive;
	n = put_counted(s, take);
	if (head)
		take->len = 0;
	http_lws_rx(c, true);
	if (take->len + n <= HTTP_PIECE) {
		if (take->len)
			memcpy(s->scratch + LWS_PRE + n, take->body, take->len);
		http_lws_write(c, s->scratch + LWS_PRE, n + take->len);
		free(take->body);
		http_lws_complete(c);
		return;
	}
	http_lws_write(c, s->scratch + LWS_PRE, n);
	http_lws_set_out(c, take->body, take->len, false);
	lws_callback_on_writable(c->wsi);
}

/* A rest that would be a small piece by itself goes with the one before. */
static size_t piece_of(const struct http_conn *c, usec now)
{
	const struct http_server *s = c->server;
	bool quiet = s->n_long == 1 && now - s->asked_at > HTTP_QUIET;
	size_t left = c->out_len - c->out_at, most = quiet ? HTTP_QUIET_PIECE : HTTP_PIECE;
	return left > most + most / 8 ? most : left;
}

void http_lws_next_piece(struct http_conn *c)
{
	usec now = clock_monotonic();
	size_t n = piece_of(c, now);
	bool lent = c->lent;
	http_lws_write(c, c->out + c->out_at, n);
	c->out_at += n;
	c->since = now;
	if (c->out_at < c->out_len) {
		lws_callback_on_writable(c->wsi);
		return;
	}
	http_lws_drop_out(c);
	if (!lent)
		http_lws_complete(c);
	else if (c->want)
		lws_callback_on_writable(c->wsi);
}

void http_lws_continue(struct http_conn *c)
{
	if (c->out) {
		http_lws_next_piece(c);
		return;
	}
	c->since = 0;
	if (c->want) {
		c->want = false;
		if (c->with_handler)
			c->server->handler->writable(c->server->handler->arg, c->exchange);
	}
	if (c->with_handler && !c->want && !lws_partial_buffered(c->wsi))
		http_lws_rx(c, false);
}

void http_abort(struct http_exchange *x)
{
	struct http_conn *c = http_lws_take_back(x);
	if (!c)
		return;
	c->exchange = NULL;
	http_lws_drop_out(c); /* who lent it takes it back */
	http_lws_recycle(c->server, x);
	c->keep_alive = false;
	http_lws_kill(c);
}

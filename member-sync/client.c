/*
 * The life of a request: WAITING in the client's queue, GATED while it waits for a handshake slot
 * (only if it needs a new connection), ACTIVE in libcurl's hands, then done() once.
 *
 * libcurl must not be called from its own callbacks, and done() may call anything here. So the
 * callbacks only note things and start a 0 ms timer (client_kick); pump() then runs from the
 * loop, reports what ended and starts what may be started.
 */
#include "member-sync/client_private.h"

#include <assert.h>

/* ---- ends ---- */

static void stop_connecting(struct client_request *q)
{
	client_gate_release(q->c->gate, &q->ticket);
	if (q->connecting)
		q->c->connecting--;
	q->connecting = false;
}

static void request_free(struct client_request *q)
{
	stop_connecting(q);
	client_queue_unlink(q);
	if (q->easy)
		client_transfer_stop(q);
	if (q->spec.body.ptr)
		explicit_bzero((void *)(uintptr_t)q->spec.body.ptr, q->spec.body.len);
	free((void *)(uintptr_t)q->spec.body.ptr);
	free((void *)(uintptr_t)q->spec.content_type);
	free((void *)(uintptr_t)q->spec.accept);
	for (size_t i = 0; i < CLIENT_MAX_HEADERS; i++)
		free((void *)(uintptr_t)q->spec.headers[i]);
	buf_done(&q->passed);
	free(q->url);
	buf_done(&q->body);
	free(q);
}

static void finish(struct client_request *q, const struct client_result *result)
{
	struct client *c = q->c;

	if (q->connecting && q->state == REQUEST_ACTIVE)
		c->failing = true;
	if (q->spec.done)
		q->spec.done(q->spec.arg, q, result);
	request_free(q);
	client_kick(c);
}

static void finish_unsent(struct client_request *q, enum err_kind kind, const char *words)
{
	struct client_result result = {.outcome = CLIENT_NOT_SENT, .condition = MEMBER_READY};

	err_set(&result.err, kind, "%s", words);
	finish(q, &result);
}

static void finish_transfer(struct client_request *q, CURLcode code)
{
	struct client_result result;

	if (!q->easy) {
		finish_unsent(q, ERR_BAD_REQUEST, "the request cannot be made");
		return;
	}
	client_transfer_result(q, code, &result);
	finish(q, &result);
}

static void on_finished(void *arg, CURL *easy, CURLcode code)
{
	struct client_request *q = NULL;

	curl_easy_getinfo(easy, CURLINFO_PRIVATE, (char **)&q);
	assert(q && q->easy == easy);
	finish_transfer(q, code);
}

/* ---- starting ---- */

static unsigned bound(const struct client *c)
{
	return c->own_connections	    ? c->own_connections
	       : c->version == CLIENT_HTTP2 ? CLIENT_STREAMS
	       : c->version == CLIENT_HTTP1 ? CLIENT_CONNECTIONS
					    : 1;
}

/* Whether a request would find a connection. */
static bool has_connection(const struct client *c)
{
	if (c->version == CLIENT_HTTP2)
		return c->sockets > 0 && c->connecting == 0;
	return c->sockets > c->n_running;
}

static bool may_start(const struct client *c, const struct client_request *q)
{
	/* Over HTTP/2, and while we do not know, the others wait for the first connection. */
	if (c->connecting > 0 && c->version != CLIENT_HTTP1 && !q->spec.urgent)
		return false;
	return q->spec.urgent || c->n_running < bound(c);
}

static void activate(struct client_request *q)
{
	q->state = REQUEST_ACTIVE;
	if (q->spec.timeout && q->spec.timeout_when_sent)
		q->deadline = clock_monotonic() + q->spec.timeout;
	if (!client_transfer_start(q)) {
		q->early = true;
		q->early_result = CURLE_OUT_OF_MEMORY;
		client_kick(q->c);
	}
}

static void arm_deadline(struct client *c, usec at);

static void on_granted(void *arg)
{
	struct client_request *q = arg;

	activate(q);
	arm_deadline(q->c, q->deadline);
}

static void start(struct client_request *q)
{
	struct client *c = q->c;
	bool connected = has_connection(c);

	client_queue_run(q);
	if (connected) {
		activate(q);
		return;
	}
	q->connecting = true;
	c->connecting++;
	q->ticket.granted = on_granted;
	q->ticket.arg = q;
	if (client_gate_want(c->gate, &q->ticket, c->failing, q->spec.urgent))
		activate(q);
}

static void report_early(struct client *c)
{
	for (struct client_request *q = c->running, *next; q; q = next) {
		next = q->next;
		if (q->early && q->state == REQUEST_ACTIVE) {
			/* done() may cut others: begin again */
			finish_transfer(q, q->early_result);
			next = c->running;
		}
	}
}

/* An answer other than 101 came: libcurl waits for the end of what it would send. */
static void end_uploads(struct client *c)
{
	for (struct client_request *q = c->running; q; q = q->next) {
		if (!q->unpause)
			continue;
		q->unpause = false;
		client_resume(q);
	}
}

/* A request that waited away nine tenths of its time would hardly be answered in the rest: not
 * sent is a better word than unknown. */
static bool too_late(const struct client_request *q)
{
	return q->deadline && !q->spec.timeout_when_sent &&
	       q->deadline - clock_monotonic() < q->spec.timeout / 10;
}

static void pump(uv_timer_t *timer)
{
	struct client *c = timer->data;

	report_early(c);
	end_uploads(c);
	while (c->waiting && may_start(c, c->waiting)) {
		struct client_request *q = c->waiting;
		if (too_late(q)) {
			finish_unsent(q, ERR_TIMEOUT, "the request waited too long to be sent");
			continue;
		}
		start(q);
		arm_deadline(c, q->deadline);
	}
}

void client_kick(struct client *c)
{
	if (!c->timers.dead)
		uv_timer_start(&c->timers.kick, pump, 0, 0);
}

void client_note_connected(struct client_request *q)
{
	q->c->failing = false;
	stop_connecting(q);
	client_kick(q->c);
}

/* ---- deadlines ---- */

static struct client_request *expired(struct client_request *list, usec now, usec *earliest)
{
	for (struct client_request *q = list; q; q = q->next) {
		if (!q->deadline)
			continue;
		if (q->deadline <= now)
			return q;
		if (*earliest == 0 || q->deadline < *earliest)
			*earliest = q->deadline;
	}
	return NULL;
}

static void expire(struct client_request *q)
{
	if (q->state == REQUEST_ACTIVE)
		finish_transfer(q, CURLE_OPERATION_TIMEDOUT);
	else
		finish_unsent(q, ERR_TIMEOUT, "the deadline passed before the request was sent");
}

static void on_deadline(uv_timer_t *timer)
{
	struct client *c = timer->data;
	struct client_request *q;
	usec now = clock_monotonic(), earliest;

	do {
		earliest = 0;
		q = expired(c->waiting, now, &earliest);
		if (!q)
			q = expired(c->running, now, &earliest);
		if (q)
			expire(q);
	} while (q && !c->timers.dead);
	c->deadline_at = 0;
	arm_deadline(c, earliest);
}

static void arm_deadline(struct client *c, usec at)
{
	if (at == 0 || c->timers.dead || (c->deadline_at && c->deadline_at <= at))
		return;
	usec wait = at - clock_monotonic();
	c->deadline_at = at;
	uv_timer_start(&c->timers.deadline, on_deadline,
		       wait > 0 ? (uint64_t)(wait / USEC_PER_MS) + 1 : 0, 0);
}

/* ---- the interface ---- */

static bool is_path(const char *path)
{
	for (const char *p = path; *p; p++)
		if ((unsigned char)*p <= ' ' || (unsigned char)*p >= 0x7f || *p == '#')
			return false;
	return *path == '/';
}

struct client_request *client_send(struct client *c, const struct client_spec *spec)
{
	struct client_request *q = xcalloc(1, sizeof(*q));
	size_t len = strlen(c->base) + strlen(spec->path) + 1;

	q->c = c;
	q->spec = *spec;
	q->spec.path = NULL;
	q->spec.content_type = xstrdup(spec->content_type);
	q->spec.accept = xstrdup(spec->accept);
	for (size_t i = 0; i < CLIENT_MAX_HEADERS; i++)
		q->spec.headers[i] = xstrdup(spec->headers[i]);
	if (spec->body.ptr)
		q->spec.body.ptr = xstrndup(spec->body.ptr, spec->body.len);
	q->url = xcalloc(1, len);
	snprintf(q->url, len, "%s%s", c->base, spec->path);
	if (spec->timeout && !spec->timeout_when_sent)
		q->deadline = clock_monotonic() + spec->timeout;
	client_queue_push(q, spec->urgent);
	if (!is_path(spec->path)) { /* ends as not sent, from the loop */
		client_queue_run(q);
		q->state = REQUEST_ACTIVE;
		q->early = true;
		q->early_result = CURLE_URL_MALFORMAT;
	}
	arm_deadline(c, q->deadline);
	client_kick(c);
	return q;
}

bool client_cancel(struct client_request *q)
{
	bool sent = q->sent > 0;
	struct client *c = q->c;

	request_free(q);
	client_kick(c);
	return sent;
}

void client_resume(struct client_request *q)
{
	if (!q->easy || q->early)
		return;
	CURLcode code = curl_easy_pause(q->easy, CURLPAUSE_CONT);
	if (code != CURLE_OK || q->aborted) {
		q->early = true;
		q->early_result = code != CURLE_OK ? code : CURLE_WRITE_ERROR;
		client_kick(q->c);
	}
	multi_loop_poke(q->c->ml);
}

void client_lift_deadline(struct client_request *q)
{
	q->deadline = 0;
}

const char *client_content_type(const struct client_request *q)
{
	return q->content_type[0] ? q->content_type : NULL;
}

struct span client_passed_headers(const struct client_request *q)
{
	return buf_span(&q->passed);
}

static const struct multi_loop_ops loop_ops = {.finished = on_finished};

static void set_pool(struct client *c)
{
	CURLM *multi = multi_loop_handle(c->ml);
	unsigned n = c->own_connections ? c->own_connections : CLIENT_CONNECTIONS;

	curl_multi_setopt(multi, CURLMOPT_PIPELINING, (long)CURLPIPE_MULTIPLEX);
	curl_multi_setopt(multi, CURLMOPT_MAX_CONCURRENT_STREAMS, (long)CLIENT_STREAMS);
	/* Between bursts connections stay: libcurl would close all above four per handle. */
	curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, (long)n + 4);
	curl_multi_setopt(multi, CURLMOPT_MAX_HOST_CONNECTIONS, (long)n + 4);
}

static int open_multi(struct client *c, struct err *reterr)
{
	int r = multi_loop_create(c->loop, &loop_ops, c, &c->ml, reterr);

	if (r < 0)
		return r;
	set_pool(c);
	return 0;
}

void client_use_connections(struct client *c, unsigned n)
{
	c->own_connections = n;
	c->version = CLIENT_HTTP1;
	set_pool(c);
}

int client_create(uv_loop_t *loop, struct client_gate *gate, const struct kubeconfig *k,
		  struct client **ret, struct err *reterr)
{
	struct client *c = xcalloc(1, sizeof(*c));

	c->loop = loop;
	c->gate = gate;
	c->k = k;
	int r = open_multi(c, reterr);
	if (r < 0) {
		free(c);
		return r;
	}
	uv_timer_init(loop, &c->timers.kick);
	uv_timer_init(loop, &c->timers.deadline);
	c->timers.kick.data = c->timers.deadline.data = c;
	c->timers.open = 2;
	client_transfer_prepare(c);
	*ret = c;
	return 0;
}

static void on_timer_closed(uv_handle_t *h)
{
	struct client *c = h->data;

	if (--c->timers.open == 0)
		free(c);
}

struct client *client_destroy(struct client *c)
{
	if (!c)
		return NULL;
	c->timers.dead = true;
	while (c->waiting)
		request_free(c->waiting);
	while (c->running)
		request_free(c->running);
	while (c->n_spare)
		curl_easy_cleanup(c->spare[--c->n_spare]);
	c->ml = multi_loop_destroy(c->ml);
	client_transfer_discard(c);
	uv_close((uv_handle_t *)&c->timers.kick, on_timer_closed);
	uv_close((uv_handle_t *)&c->timers.deadline, on_timer_closed);
	return NULL;
}

void client_reset(struct client *c)
{
	struct multi_loop *old = c->ml;

	/* Transfers leave the old pool now and are reported from the loop; connections die with
	 * the pool. Words and outcome are those of a broken connection. */
	for (struct client_request *q = c->running; q; q = q->next) {
		if (q->state != REQUEST_ACTIVE || q->early)
			continue;
		q->early = true;
		q->early_result = CURLE_GOT_NOTHING;
		if (q->easy)
			curl_multi_remove_handle(multi_loop_handle(old), q->easy);
	}
	if (open_multi(c, NULL) == 0)
		multi_loop_destroy(old);
	client_kick(c);
}

usec client_last_byte(const struct client *c)
{
	return c->last_byte;
}

size_t client_load(const struct client *c)
{
	return c->n_waiting + c->n_running;
}

size_t client_connects(const struct client *c)
{
	return c->connects;
}

bool client_is_http2(const struct client *c)
{
	return c->version == CLIENT_HTTP2;
}

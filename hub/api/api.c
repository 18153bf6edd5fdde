#include "api/api.h"

#include "api/audit.h"
#include "api/await_revision.h"
#include "api/call.h"
#include "api/jwks_source.h"
#include "api/listener.h"
#include "api/route.h"
#include "api/timeout.h"
#include "api/turns.h"
#include <openssl/rand.h>
#include <pthread.h>
#include <sys/resource.h>

#define DEFAULT_WORKERS	    2
#define MAX_AUDIT_ID	    256 /* of those that clients give */
#define DEFAULT_CONNECTIONS 20000
#define STOP_POLL_MS	    20
#define STOP_STREAMS	    500 /* that end in one turn */

/* ---- requests ---- */

/* SplitMix64's finalizer (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators"):
 * an id of a request need not be hard to guess, and every request pays for it. */
static uint64_t next_word(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static void fill_words(void *arg, void *out, size_t n)
{
	struct api *a = arg;
	uint64_t words[2] = {next_word(&a->audit_ids[0]), next_word(&a->audit_ids[1])};
	memcpy(out, words, n < sizeof(words) ? n : sizeof(words));
}

/* The client's own, when it may stand in a header and in a JSON text as it is. */
static bool take_audit_id(struct call *c)
{
	struct span id = c->request->audit_id;

	if (!id.len || id.len > MAX_AUDIT_ID)
		return false;
	for (size_t i = 0; i < id.len; i++)
		if (id.ptr[i] < ' ' || id.ptr[i] > '~' || id.ptr[i] == '"' || id.ptr[i] == '\\')
			return false;
	c->audit_id = arena_strndup(c->mem, id.ptr, id.len);
	return true;
}

static void give_audit_id(struct call *c)
{
	struct meta_random random = {fill_words, call_api(c)};
	char *made;

	if (take_audit_id(c))
		return;
	made = arena_alloc(c->mem, META_UID_TEXT);
	(void)meta_new_uid(&random, made);
	c->audit_id = made;
}

static void on_request(void *arg, struct http_exchange *x)
{
	struct api *a = arg;
	struct call *c = arena_new(&x->request.mem, struct call);
	struct err e = ERR_INIT;
	c->x = x;
	c->listener = http_listener_user(x->listener);
	c->mem = &x->request.mem;
	c->request = &x->request;
	c->started = clock_monotonic();
	x->user = c;
	listener_refresh_kinds(c->listener);
	c->kinds = kind_set_ref(c->listener->kinds);
	give_audit_id(c);
	request_info_parse(c->request, &c->info);
	if (a->audit)
		c->address = arena_span(c->mem, span_of(c->request->peer->address));
	bool admitted = route_admit(c);
	if (a->audit && c->user.name.len)
		audit_call(a->audit, c, AUDIT_REQUEST_RECEIVED);
	if (!admitted) {
		call_finish(c);
	} else if (a->closing && c->info.is_resource) {
		call_failf(c, ERR_UNAVAILABLE, "the server is shutting down");
		call_finish(c);
	} else if (c->request->method == HTTP_OPTIONS) {
		route_refuse_method(c);
	} else if (!turns_is_long_running(c) &&
		   timeout_check(http_param(c->request, "timeout"), &e) < 0) {
		call_fail(c, &e);
		call_finish(c);
	} else {
		turns_enter(c);
	}
}

static void on_writable(void *arg, struct http_exchange *x)
{
	struct call *c = x->user;
	(void)arg;
	if (c->on_writable)
		c->on_writable(c);
}

static void on_readable(void *arg, struct http_exchange *x)
{
	struct call *c = x->user;
	(void)arg;
	if (c->on_readable)
		c->on_readable(c);
}

static void on_gone(void *arg, struct http_exchange *x)
{
	struct call *c = x->user;
	(void)arg;
	c->gone = true;
	if (c->on_gone)
		c->on_gone(c);
}

void api_stream_add(struct api *a, struct call *c)
{
	c->prev_stream = NULL;
	c->next_stream = a->streams;
	if (c->next_stream)
		c->next_stream->prev_stream = c;
	a->streams = c;
	call_series(c)->open++;
	if (a->audit)
		audit_call(a->audit, c, AUDIT_RESPONSE_STARTED);
}

void api_stream_remove(struct api *a, struct call *c)
{
	call_series(c)->open--;
	if (c->prev_stream)
		c->prev_stream->next_stream = c->next_stream;
	else
		a->streams = c->next_stream;
	if (c->next_stream)
		c->next_stream->prev_stream = c->prev_stream;
}

void api_gauges(const struct api *a, struct metrics_gauges *ret)
{
	const struct fair_queue *q = &a->fair;
	*ret = (struct metrics_gauges){.executing_read = q->running_read,
				       .executing_write = q->running_write,
				       .waiting = q->n_waiting,
				       .connections = http_server_connections(a->http),
				       .dispatched = q->dispatched,
				       .exempt = q->exempt,
				       .refused = q->refused,
				       .seats = q->limits.seats,
				       .seats_taken = q->seats_taken,
				       .flows = q->n_flows,
				       .turns = a->turn_clock.times};
	if (a->audit)
		audit_counts(a->audit, &ret->audit_events, &ret->audit_lost);
}

/* ---- the thread ---- */

/* A few streams at a time, so that others are answered meanwhile. */
static void stop_further(struct api *a, usec now)
{
	bool last = now >= a->stop_at;
	size_t n = 0;
	if (now < a->close_at && !last)
		return;
	a->closing = true;
	await_revision_tick(a, now, true);
	for (struct call *c = a->streams, *next; c && (last || n < STOP_STREAMS); c = next, n++) {
		next = c->next_stream;
		c->on_stop(c);
	}
	if (last || (!http_server_active(a->http) && !http_server_unsent(a->http)))
		uv_stop(&a->loop);
}

static void on_second(uv_timer_t *t)
{
	struct api *a = t->data;
	usec now = clock_monotonic();
	struct call *next;
	if (a->stopping) {
		stop_further(a, now);
		return;
	}
	http_server_sweep(a->http);
	call_metrics_tick(a, now);
	await_revision_tick(a, now, false);
	if (a->audit)
		audit_tick(a->audit, a->workers);
	for (struct api_listener *l = a->listeners; l; l = l->next)
		if (l->jwks && authenticator_lacks_key(l->authenticator))
			jwks_source_kick(l->jwks);
	for (struct api_listener *l = a->listeners; l; l = l->next)
		listener_refresh_kinds(l);
	for (struct call *c = a->streams; c; c = next) {
		next = c->next_stream;
		if (c->on_tick)
			c->on_tick(c, now);
	}
}

static void on_stop(struct task *t)
{
	struct api *a = (struct api *)((char *)t - offsetof(struct api, stop_task));
	a->stopping = true;
	a->close_at = clock_monotonic() + a->options.drain;
	stop_further(a, clock_monotonic());
	uv_timer_start(&a->second, on_second, STOP_POLL_MS, STOP_POLL_MS);
}

static void run(void *arg)
{
	struct api *a = arg;
	pthread_setname_np(pthread_self(), "api-loop");
	uv_run(&a->loop, UV_RUN_DEFAULT);
}

/* ---- making and unmaking ---- */

static int file_limit(int wanted)
{
	struct rlimit l;
	if (getrlimit(RLIMIT_NOFILE, &l) < 0)
		return 1024;
	if (l.rlim_cur < l.rlim_max && l.rlim_cur < (rlim_t)wanted + 1024) {
		rlim_t old = l.rlim_cur;
		l.rlim_cur =
		    l.rlim_max < (rlim_t)wanted + 1024 ? l.rlim_max : (rlim_t)wanted + 1024;
		if (setrlimit(RLIMIT_NOFILE, &l) < 0)
			l.rlim_cur = old;
	}
	return l.rlim_cur < (rlim_t)wanted ? (int)l.rlim_cur : wanted;
}

static int open_loop(struct api *a)
{
	if (uv_loop_init(&a->loop) < 0)
		return -1;
	a->loop_open = true;
	if (mailbox_open(&a->mailbox, &a->loop) < 0)
		return -1;
	a->mailbox_open = true;
	if (uv_timer_init(&a->loop, &a->second) < 0)
		return -1;
	a->second.data = a;
	a->timer_open = true;
	if (turn_clock_open(&a->turn_clock, &a->loop) < 0)
		return -1;
	a->clock_open = true;
	return 0;
}

int api_create(const struct api_options *o, struct api **ret, struct err *reterr)
{
	struct api *a = xcalloc(1, sizeof(*a));
	struct http_server_options http = {.loop = &a->loop, .handler = &a->handler};
	int r = 0;
	a->options = *o;
	turns_init(a);
	if (RAND_bytes((unsigned char *)a->audit_ids, sizeof(a->audit_ids)) != 1)
		abort();
	a->handler = (struct http_handler){on_request, on_writable, on_readable, on_gone, a};
	a->stop_task.run = on_stop;
	http.max_connections =
	    file_limit(o->max_connections > 0 ? o->max_connections : DEFAULT_CONNECTIONS);
	if (open_loop(a) < 0)
		r = err_set(reterr, ERR_INTERNAL, "cannot make an event loop");
	if (!r && o->audit_policy_file)
		r = audit_open(o->audit_policy_file, o->audit_log_file, o->log, &a->audit, reterr);
	if (!r)
		r = http_server_create(&http, &a->http, reterr);
	if (r) {
		api_destroy(a);
		return r;
	}
	*ret = a;
	return 0;
}

int api_start(struct api *a, struct err *reterr)
{
	int n = a->options.n_workers > 0 ? a->options.n_workers : DEFAULT_WORKERS;
	int r = workers_create(n, &a->workers, reterr);
	if (r)
		return r;
	uv_timer_start(&a->second, on_second, 1000, 1000);
	for (struct api_listener *l = a->listeners; l && !r; l = l->next)
		r = listener_start(l, reterr);
	if (r)
		return r;
	if (uv_thread_create(&a->thread, run, a) < 0)
		return err_set(reterr, ERR_INTERNAL, "cannot start the API's thread");
	a->started = true;
	return 0;
}

int api_reload(struct api *a, struct err *reterr)
{
	return a->audit ? audit_reload(a->audit, reterr) : 0;
}

void api_stop(struct api *a, usec grace)
{
	if (!a->started)
		return;
	a->stop_at = clock_monotonic() + grace;
	mailbox_post(&a->mailbox, &a->stop_task);
	uv_thread_join(&a->thread);
	a->started = false;
}

struct api *api_destroy(struct api *a)
{
	struct api_listener *l;
	if (!a)
		return NULL;
	api_stop(a, 0);
	workers_destroy(a->workers);
	a->workers = NULL;
	a->ended = true;
	a->audit = audit_close(a->audit);
	/* Answers that came after the stop, and what they lead to. */
	for (int i = 0; a->mailbox_open && !mailbox_is_empty(&a->mailbox) && i < 100; i++)
		mailbox_drain(&a->mailbox);
	if (a->timer_open)
		uv_close((uv_handle_t *)&a->second, NULL);
	if (a->clock_open)
		turn_clock_close(&a->turn_clock);
	if (a->mailbox_open)
		mailbox_close(&a->mailbox);
	http_server_destroy(a->http);
	while ((l = a->listeners)) {
		a->listeners = l->next;
		listener_destroy(l);
	}
	if (a->loop_open) {
		uv_run(&a->loop, UV_RUN_DEFAULT);
		uv_loop_close(&a->loop);
	}
	fair_queue_done(&a->fair);
	metrics_done(&a->metrics);
	free(a);
	return NULL;
}

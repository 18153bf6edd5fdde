#include "api/api.h"

#include "api/audit.h"
#include "api/call.h"
#include "api/continue_token.h"
#include "api/documents.h"
#include "api/feed.h"
#include "api/impersonate.h"
#include "api/jwks_source.h"
#include "api/pki.h"
#include "api/scale.h"
#include "base/num.h"
#include <pthread.h>
#include <sys/resource.h>
#include <sys/socket.h>

#define DEFAULT_WORKERS	    2
#define DEFAULT_CONNECTIONS 20000
#define DEFAULT_SEATS	    256 /* two batches of the core */
#define DEFAULT_WATCHES	    10000
#define FLOW_WAITING	    1000
#define FLOW_BYTES	    ((size_t)16 << 20)
#define WAITING_BYTES	    ((size_t)64 << 20) /* as the core's inbox */
#define LIST_COST	    64 /* a list takes that part of all seats, and one at least */
#define PUMP_TIME	    USEC_PER_MS
#define STOP_POLL_MS	    20
#define STOP_STREAMS	    500 /* that end in one turn */
/* As kubeadm's clusters call themselves. */
#define DEFAULT_ISSUER "https://kubernetes.default.svc.cluster.local"

/* ---- requests ---- */

static bool admit(struct call *c)
{
	struct rbac_request wanted;
	struct err e = ERR_INIT;
	int r = authenticator_request(c->listener->authenticator, c->request, clock_now(), c->mem,
				      &c->user, &e);
	if (!r && c->request->impersonation) {
		struct auth_user *asker = arena_new(c->mem, struct auth_user);
		*asker = c->user;
		r = impersonate(c->listener->authorizer, c->request, c->mem, &c->user, &e);
		c->asker = r ? NULL : asker;
	}
	if (!r) {
		auth_request(&c->info, c->request, &wanted);
		r = auth_authorize(c->listener->authorizer, &c->user, &wanted, &e);
	}
	/* The details of a refusal name the resource, as of any other error about it. */
	if (r && e.kind == ERR_FORBIDDEN && c->info.is_resource)
		c->kind = kind_by_resource(c->listener->backend->kinds, c->info.group,
					   c->info.version, c->info.resource);
	if (r)
		call_fail(c, &e);
	return r == 0;
}

static bool verb_is_served(const struct kind *k, enum api_verb v)
{
	if (k->verbs == KIND_VERBS_READ)
		return v == API_GET || v == API_LIST || v == API_WATCH;
	if (k->verbs == KIND_VERBS_CREATE)
		return v == API_CREATE;
	return true;
}

/* Whether the path fits the kind's scope for this verb. */
static bool scope_fits(const struct call *c)
{
	enum api_verb v = c->info.verb;
	if (c->kind->scope == KIND_CLUSTER)
		return !c->info.ns.ptr;
	return c->info.ns.ptr || v == API_LIST || v == API_WATCH;
}

static const struct kind_subresource *find_subresource(const struct kind *k, struct span name)
{
	for (size_t i = 0; i < k->n_subresources; i++)
		if (span_is(name, k->subresources[i].name))
			return &k->subresources[i];
	return NULL;
}

enum door { DOOR_OBJECT, DOOR_SCALE, DOOR_PROXY, DOOR_TOKEN, DOOR_NONE };

static enum door door_of(const struct call *c)
{
	struct span sub = c->info.subresource;
	if (!sub.len)
		return DOOR_OBJECT;
	if (span_is(sub, "proxy") || span_is(sub, "log"))
		return find_subresource(c->kind, sub) || span_is(sub, "proxy") ? DOOR_PROXY
									       : DOOR_NONE;
	if (c->info.rest.len > 1)
		return DOOR_NONE;
	if (span_is(sub, "token") && span_is(c->info.resource, "serviceaccounts"))
		return DOOR_TOKEN;
	if (span_is(sub, "scale") && c->kind->scale)
		return DOOR_SCALE;
	if (span_is(sub, "status") && c->kind->has_status)
		return DOOR_OBJECT;
	if (span_is(sub, "finalize") && span_is(c->info.resource, "namespaces") &&
	    (c->info.verb == API_UPDATE || c->info.verb == API_GET))
		return DOOR_OBJECT;
	return DOOR_NONE;
}

static void (*const verbs[API_VERB_MAX])(struct call *c) = {
    [API_GET] = call_get,	[API_LIST] = call_list,
    [API_WATCH] = call_watch,	[API_CREATE] = call_create,
    [API_UPDATE] = call_update, [API_PATCH] = call_patch,
    [API_DELETE] = call_delete, [API_DELETE_COLLECTION] = call_delete_collection,
};

static void refuse_method(struct call *c)
{
	call_failf(c, ERR_METHOD_NOT_ALLOWED,
		   "the server does not allow this method on the requested resource");
	call_finish(c);
}

static void refuse_resource(struct call *c)
{
	call_failf(c, ERR_NOT_FOUND, "the server could not find the requested resource");
	call_finish(c);
}

static void to_object(struct call *c)
{
	enum api_verb v = c->info.verb;
	bool sub = c->info.subresource.len > 0;
	if (!verb_is_served(c->kind, v) || (sub && (v == API_CREATE || v == API_DELETE)) ||
	    (v == API_CREATE && c->info.name.len)) {
		refuse_method(c);
		return;
	}
	if (!scope_fits(c)) {
		refuse_resource(c);
		return;
	}
	c->accept =
	    negotiate_accept(c->request->accept,
			     FORM_BIT(FORM_JSON) | FORM_BIT(FORM_TABLE) | FORM_BIT(FORM_PARTIAL));
	if (c->accept.form == FORM_NONE) {
		call_failf(c, ERR_NOT_ACCEPTABLE,
			   "only the following media types are accepted: application/json");
		call_finish(c);
		return;
	}
	verbs[v](c);
}

static void to_resource(struct call *c)
{
	const struct request_info *i = &c->info;
	if (span_is(i->group, "muster.dev")) {
		call_query(c);
		return;
	}
	c->kind = kind_by_resource(c->kinds, i->group, i->version, i->resource);
	if (!c->kind) {
		refuse_resource(c);
		return;
	}
	if (c->kind->deprecation)
		call_warn(c, span_of(c->kind->deprecation));
	switch (door_of(c)) {
	case DOOR_OBJECT:
		if (c->kind->verbs == KIND_VERBS_CREATE)
			call_review(c);
		else
			to_object(c);
		break;
	case DOOR_SCALE:
		if (scope_fits(c))
			call_scale(c);
		else
			refuse_resource(c);
		break;
	case DOOR_PROXY:
		call_proxy(c);
		break;
	case DOOR_TOKEN:
		call_token_request(c);
		break;
	default:
		refuse_resource(c);
	}
}

static void begin(struct call *c)
{
	if (c->info.is_resource)
		to_resource(c);
	else if (documents_has(&c->info))
		call_document(c);
	else
		call_health(c);
}

/* ---- whose turn it is ---- */

static bool is_long_running(const struct call *c)
{
	static const char *const streams[] = {"proxy", "log", "exec", "attach", "portforward"};
	if (!c->info.is_resource)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(streams); i++)
		if (span_is(c->info.subresource, streams[i]))
			return true;
	return c->info.verb == API_WATCH;
}

/* As Kubernetes' exempt level: administrators; and whoever asks how the server is. */
static bool is_exempt(const struct call *c)
{
	return auth_in_group(&c->user, "system:masters") ||
	       (!c->info.is_resource && !documents_has(&c->info));
}

static void refuse_busy(struct call *c)
{
	call_failf(c, ERR_TOO_MANY, "Too many requests, please try again later.");
	call_finish(c);
}

static void leave_queue(struct call *c)
{
	api_release(c);
	kind_set_unref(c->kinds);
	c->kinds = NULL;
	http_abort(c->x);
}

static void enter(struct api *a, struct call *c)
{
	bool lists = c->info.is_resource &&
		     (c->info.verb == API_LIST || c->info.verb == API_DELETE_COLLECTION);
	c->seat.cost = lists ? (uint32_t)(a->fair.limits.seats / LIST_COST) : 1;
	c->seat.cost += !c->seat.cost;
	c->seat.write = c->request->method != HTTP_GET && c->request->method != HTTP_HEAD;
	c->seat.bytes = c->request->body.len;
	if (is_long_running(c)) {
		if (fair_queue_add_long(&a->fair, c->user.name, is_exempt(c), &c->seat))
			begin(c);
		else
			refuse_busy(c);
		return;
	}
	if (is_exempt(c))
		fair_queue_add_exempt(&a->fair, &c->seat);
	else
		(void)fair_queue_add(&a->fair, c->user.name, &c->seat);
	if (c->seat.state == FAIR_NONE)
		refuse_busy(c);
	else if (c->seat.state == FAIR_WAITING)
		c->on_gone = leave_queue;
	else
		begin(c);
}

static void post_pump(struct api *a)
{
	if (!a->fair.n_waiting || a->pump_posted)
		return;
	a->pump_posted = true;
	mailbox_post(&a->mailbox, &a->pump_task);
}

static void on_pump(struct task *t)
{
	struct api *a = (struct api *)((char *)t - offsetof(struct api, pump_task));
	usec until = clock_monotonic() + PUMP_TIME;
	struct fair_request *r;
	a->pump_posted = false;
	while (!a->ended && (r = fair_queue_next(&a->fair))) {
		struct call *c = (struct call *)((char *)r - offsetof(struct call, seat));
		c->on_gone = NULL;
		begin(c);
		if (clock_monotonic() > until) {
			post_pump(a);
			break;
		}
	}
}

void api_release(struct call *c)
{
	struct api *a = call_api(c);
	if (c->seat.state == FAIR_NONE)
		return;
	fair_queue_remove(&a->fair, &c->seat);
	post_pump(a);
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
				       .flows = q->n_flows};
	if (a->audit)
		audit_counts(a->audit, &ret->audit_events, &ret->audit_lost);
}

/* Watches of a kind that is not served any more end, as if the server had stopped. */
static void end_orphans(struct api_listener *l)
{
	struct call *next;
	for (struct call *c = l->api->streams; c; c = next) {
		next = c->next_stream;
		if (c->listener == l && c->kind && c->kind->type >= KIND_FIRST_USER_TYPE &&
		    !kind_by_type(l->kinds, c->kind->type))
			c->on_stop(c);
	}
}

static void refresh_kinds(struct api_listener *l)
{
	struct kind_source *s = l->backend->source;
	if (!s || kind_source_generation(s) == l->kinds_generation)
		return;
	kind_set_unref(l->kinds);
	l->kinds = kind_source_get(s, &l->kinds_generation);
	documents_set_kinds(l->documents, l->kinds);
	end_orphans(l);
}

static void on_request(void *arg, struct http_exchange *x)
{
	struct api *a = arg;
	struct call *c = arena_new(&x->request.mem, struct call);
	c->x = x;
	c->listener = http_listener_user(x->listener);
	c->mem = &x->request.mem;
	c->request = &x->request;
	c->started = clock_monotonic();
	x->user = c;
	refresh_kinds(c->listener);
	c->kinds = kind_set_ref(c->listener->kinds);
	if (a->audit)
		audit_begin(c);
	request_info_parse(c->request, &c->info);
	if (a->audit)
		c->address = arena_span(c->mem, span_of(c->request->peer->address));
	if (!admit(c)) {
		call_finish(c);
	} else if (a->closing && c->info.is_resource) {
		call_failf(c, ERR_UNAVAILABLE, "the server is shutting down");
		call_finish(c);
	} else if (c->request->method == HTTP_OPTIONS) {
		refuse_method(c);
	} else {
		enter(a, c);
	}
}

static void on_writable(void *arg, struct http_exchange *x)
{
	struct call *c = x->user;
	(void)arg;
	if (c->on_writable)
		c->on_writable(c);
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

/* ---- the thread ---- */

/* A few streams at a time, so that others are answered meanwhile. */
static void stop_further(struct api *a, usec now)
{
	bool last = now >= a->stop_at;
	size_t n = 0;
	if (now < a->close_at && !last)
		return;
	a->closing = true;
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
	if (a->audit)
		audit_tick(a->audit, a->workers);
	for (struct api_listener *l = a->listeners; l; l = l->next)
		if (l->jwks && authenticator_lacks_key(l->authenticator))
			jwks_source_kick(l->jwks);
	for (struct api_listener *l = a->listeners; l; l = l->next)
		refresh_kinds(l);
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
	return 0;
}

int api_create(const struct api_options *o, struct api **ret, struct err *reterr)
{
	struct api *a = xcalloc(1, sizeof(*a));
	struct http_server_options http = {.loop = &a->loop, .handler = &a->handler};
	struct fair_limits limits = {.seats = o->seats > 0 ? (size_t)o->seats : DEFAULT_SEATS,
				     .flow_waiting = FLOW_WAITING,
				     .flow_bytes = FLOW_BYTES,
				     .max_bytes = WAITING_BYTES,
				     .long_running = o->max_watches > 0 ? (size_t)o->max_watches
									: DEFAULT_WATCHES};
	int r = 0;
	a->options = *o;
	fair_queue_init(&a->fair, &limits);
	a->pump_task.run = on_pump;
	a->handler = (struct http_handler){on_request, on_writable, on_gone, a};
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

/* "HOST:PORT", "[ADDRESS]:PORT", ":PORT". */
static int parse_listen(const char *text, char host[128], int *ret_port, struct err *reterr)
{
	const char *colon = strrchr(text, ':');
	size_t n = colon ? (size_t)(colon - text) : 0;
	uint64_t port = 0;
	const char *from = text;
	if (!colon || num_parse_u64(span_of(colon + 1), 65535, &port) < 0)
		return err_set(reterr, ERR_BAD_REQUEST,
			       "listen address \"%s\": HOST:PORT is wanted", text);
	if (n >= 2 && from[0] == '[' && from[n - 1] == ']') {
		from++;
		n -= 2;
	}
	if (n >= 128)
		return err_set(reterr, ERR_BAD_REQUEST, "listen address \"%s\" is too long", text);
	memcpy(host, from, n);
	host[n] = '\0';
	if (!strcmp(host, "localhost"))
		memcpy(host, "127.0.0.1", 10);
	*ret_port = (int)port;
	return 0;
}

static void on_commit(void *arg, struct store *store, uint64_t revision)
{
	struct api_listener *l = arg;
	(void)revision;
	feed_wake(l->mirror && store == l->backend->mirror ? l->mirror : l->truth);
}

static void make_keys(struct api_listener *l)
{
	struct span token = pki_admin_token(l->pki);
	/* Whoever holds the admin token may read everything anyway. */
	continue_key(token, store_incarnation(l->backend->truth), l->truth_key);
	if (l->backend->mirror)
		continue_key(token, store_incarnation(l->backend->mirror), l->mirror_key);
}

static void make_url(struct api_listener *l, const char *host)
{
	bool all = !host[0] || !strcmp(host, "0.0.0.0") || !strcmp(host, "::");
	const char *name = all ? "127.0.0.1" : host;
	l->port = http_listener_port(l->http);
	if (strchr(name, ':'))
		snprintf(l->url, sizeof(l->url), "https://[%s]:%d", name, l->port);
	else
		snprintf(l->url, sizeof(l->url), "https://%s:%d", name, l->port);
}

int api_add_listener(struct api *a, const struct api_listener_options *o, struct api_listener **ret,
		     struct err *reterr)
{
	struct api_listener *l = xcalloc(1, sizeof(*l));
	struct http_listen_options http = {.cert_pem = pki_serving_cert_pem(o->pki),
					   .key_pem = pki_serving_key_pem(o->pki),
					   .client_ca_pem = pki_ca_pem(o->pki),
					   .user = l};
	struct authenticator_options who_options = {.pki = o->pki,
						    .backend = o->backend,
						    .issuer =
							o->issuer ? o->issuer : DEFAULT_ISSUER,
						    .oidc = o->oidc};
	struct authenticator *who = NULL;
	char host[128];
	int r = parse_listen(o->listen, host, &http.port, reterr);
	http.host = host;
	if (!r)
		r = authenticator_create(&who_options, &who, reterr);
	if (!r)
		r = http_server_listen(a->http, &http, &l->http, reterr);
	if (r) {
		authenticator_destroy(who);
		free(l);
		return r;
	}
	l->api = a;
	l->backend = o->backend;
	l->pki = o->pki;
	if (o->backend->source)
		l->kinds = kind_source_get(o->backend->source, &l->kinds_generation);
	else
		l->kinds = o->backend->kinds;
	l->documents = documents_create(l->kinds);
	l->truth = feed_create(o->backend->truth, &a->mailbox);
	if (o->backend->mirror)
		l->mirror = feed_create(o->backend->mirror, &a->mailbox);
	l->authorizer = authorizer_create(o->backend, l->truth, a->options.log);
	l->authenticator = who;
	l->oidc = o->oidc;
	make_keys(l);
	make_url(l, host);
	l->hook = (struct backend_listener){.committed = on_commit, .arg = l};
	o->backend->ops->listen(o->backend, &l->hook);
	l->next = a->listeners;
	a->listeners = l;
	*ret = l;
	return 0;
}

const char *api_listener_url(const struct api_listener *l)
{
	return l->url;
}

int api_listener_port(const struct api_listener *l)
{
	return l->port;
}

static void take_keys(void *arg, struct jwk_set *keys)
{
	authenticator_set_keys(arg, keys);
}

static int start_jwks(struct api_listener *l, struct err *reterr)
{
	struct jwks_source_options o = {.oidc = l->oidc,
					.log = l->api->options.log,
					.keys = take_keys,
					.arg = l->authenticator};
	return l->oidc ? jwks_source_create(&o, &l->jwks, reterr) : 0;
}

int api_start(struct api *a, struct err *reterr)
{
	int n = a->options.n_workers > 0 ? a->options.n_workers : DEFAULT_WORKERS;
	int r = workers_create(n, &a->workers, reterr);
	if (r)
		return r;
	uv_timer_start(&a->second, on_second, 1000, 1000);
	for (struct api_listener *l = a->listeners; l && !r; l = l->next) {
		authorizer_start(l->authorizer);
		r = start_jwks(l, reterr);
	}
	if (r)
		return r;
	if (uv_thread_create(&a->thread, run, a) < 0)
		return err_set(reterr, ERR_INTERNAL, "cannot start the API's thread");
	a->started = true;
	return 0;
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

static void listener_destroy(struct api_listener *l)
{
	documents_destroy(l->documents);
	jwks_source_destroy(l->jwks);
	kind_set_unref(l->kinds);
	authorizer_destroy(l->authorizer);
	authenticator_destroy(l->authenticator);
	feed_destroy(l->truth);
	feed_destroy(l->mirror);
	free(l);
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

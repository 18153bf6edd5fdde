#ifndef API_CALL_H
#define API_CALL_H
/*
 * One request on its way through the front. Internal to hub/api.
 *
 * A call lives in its exchange's arena. It belongs to one thread at a time: the loop's, a
 * worker's (call_to_worker), or, as the origin of a command, the core's. On the loop it ends with
 * call_finish(), which sends the answer, or with a stream of its own.
 *
 * Everything that a verb reads of the request is in the call or its arena, so that a client that
 * goes away in between changes nothing for the thread that works.
 */
#include "api/api.h"
#include "api/auth.h"
#include "api/authenticator.h"
#include "api/fair_queue.h"
#include "api/http.h"
#include "api/metrics.h"
#include "api/negotiate.h"
#include "api/request_info.h"
#include "api/task.h"
#include "base/buf.h"
#include "kube/field_errors.h"
#include "kube/meta.h"
#include "kube/status.h"
#include "wire/backend.h"

struct feed;
struct option_errors;
struct documents;
struct metrics_page;
struct jwks_source;
struct audit;
struct revision_wait;

/* Kinds that were asked for lately, by a hash of the resource's name. */
#define LISTENER_RECENT 64

/* Of those that wait for a revision (await_revision.h). */
struct revision_waits {
	struct task task; /* first */
	struct revision_wait *first;
	_Atomic size_t n;
	_Atomic bool posted;
};

struct api_listener {
	struct api_listener *next;
	struct api *api;
	struct backend *backend;
	const struct kind_set *kinds; /* served now: a reference; the loop's */
	uint64_t kinds_generation;
	const struct kind *recent[LISTENER_RECENT]; /* of `kinds`; listener_kind()'s */
	const struct pki *pki;
	struct http_listener *http;
	struct documents *documents; /* discovery and OpenAPI of its kinds */
	struct authorizer *authorizer;
	struct authenticator *authenticator;
	const struct oidc_config *oidc;	       /* NULL: none */
	struct jwks_source *jwks;	       /* of it */
	struct feed *truth, *mirror;	       /* mirror NULL: everything is in truth */
	uint8_t truth_key[32], mirror_key[32]; /* of continue tokens */
	struct backend_listener hook;
	struct revision_waits waits;
	char url[128];
	int port;
};

struct api {
	struct api_options options;
	uv_loop_t loop;
	uv_thread_t thread;
	uv_timer_t second;
	struct mailbox mailbox;
	struct task stop_task;
	struct http_handler handler;
	struct http_server *http;
	struct workers *workers;
	struct audit *audit; /* NULL: none */
	struct api_listener *listeners;
	struct metrics metrics;
	struct fair_queue fair;
	struct task pump_task; /* gives seats to those who wait */
	bool pump_posted;
	struct call *streams;	    /* watches */
	struct metrics_page *pages; /* that wait for the core */
	struct turn_clock turn_clock;
	uint64_t audit_ids[2]; /* of the next request's Audit-Id: a generator's state */
	bool loop_open, mailbox_open, timer_open, clock_open, started;
	bool stopping;		/* readyz says so */
	bool closing;		/* streams end, new requests are refused */
	bool ended;		/* nothing begins any more */
	usec close_at, stop_at; /* monotonic */
};

struct answer {
	int code;
	const char *content_type; /* static text */
	struct buf headers;	  /* lines ended by CRLF */
	struct buf body;
	bool gzipped;
	bool translated; /* to YAML, where that is asked for */
};

struct call {
	struct task task;
	struct api_listener *listener;
	struct http_exchange *x;
	struct arena *mem; /* the exchange's */
	const struct http_request *request;
	struct request_info info;
	struct auth_user user;	       /* in mem */
	const struct auth_user *asker; /* in mem: who impersonates user; NULL: nobody does */
	struct span address;	       /* in mem, when there is an audit log */
	const char *audit_id; /* in mem; of the answer's Audit-Id, and of its audit events */
	bool audited;
	const struct kind *kind;      /* of the resource; NULL for other paths */
	const struct kind_set *kinds; /* a reference, from the start to the end */
	struct negotiated accept;
	struct answer answer;
	struct fair_request seat;
	struct metrics_series *series; /* call_series() */
	usec started;		       /* monotonic */
	_Atomic bool gone;	       /* the client went away: set on the loop, read anywhere */
	bool dry_run;
	struct option_errors *options; /* in mem: what was refused of them; or NULL */
	void (*on_worker)(struct call *c);
	void (*on_loop)(struct call *c);
	/* of streams: on the loop */
	void (*on_writable)(struct call *c);
	void (*on_readable)(struct call *c); /* of a tunnel */
	void (*on_gone)(struct call *c);
	void (*on_stop)(struct call *c);	   /* the front stops: end well */
	void (*on_tick)(struct call *c, usec now); /* about once a second; may be NULL */
	/* The kind is not served any more, and all that was written of it is committed: end when
	 * that is told. NULL: as on_stop. */
	void (*on_kind_gone)(struct call *c);
	struct call *prev_stream, *next_stream;
	void *state; /* the verb's */
};

/* What the gauges of /metrics stand at. */
void api_gauges(const struct api *a, struct metrics_gauges *ret);
/* Streams are known to the front, for its ticks and its stop. */
void api_stream_add(struct api *a, struct call *c);
void api_stream_remove(struct api *a, struct call *c);

static inline struct api *call_api(const struct call *c)
{
	return c->listener->api;
}

/* Runs on_worker(c) on a worker; any thread. */
void call_to_worker(struct call *c, void (*on_worker)(struct call *c));
/* Runs on_loop(c) on the loop; any thread. */
void call_to_loop(struct call *c, void (*on_loop)(struct call *c));
/* Sends the answer; loop only. Large bodies are gzipped first, on a worker. The call is gone. */
void call_finish(struct call *c);
/* Begins a stream of JSON with the headers that the answer has so far; messages: of lines as those
 * of a WebSocket, which the request asks to become. False: the client is gone. */
bool call_stream(struct call *c, bool messages);
/* Adds the headers that every answer has (Audit-Id, and who its fair queuing was) to the answer's.
 * call_finish and call_stream do it by themselves. Before call_count(). Loop only. */
void call_add_headers(struct call *c);
/* Counts the call in the metrics, gives back its seat and lets go of its kinds: what call_finish
 * does by itself, for streams; each stream does so once, the last thing when it ends. Loop only. */
void call_count(struct call *c);
/* The metrics of the call's verb and resource. Loop only. */
struct metrics_series *call_series(struct call *c);

/* ---- making answers; on any thread that has the call ---- */

/* A Status for `e` about the call's kind and name. */
void call_fail(struct call *c, const struct err *e);
void call_fail_with(struct call *c, const struct err *e, const struct status_subject *subject);
/* err_set and call_fail in one. */
void call_failf(struct call *c, enum err_kind kind, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* What is not served there: ERR_NOT_FOUND or ERR_METHOD_NOT_ALLOWED, in the words and the form of
 * the upstream server, which knows nothing of what was asked for (its router's answer). */
void call_refuse(struct call *c, enum err_kind kind);
/* "404 page not found", as text: a path that leads nowhere. */
void call_no_page(struct call *c);
/* The answer's code and type; body follows by buf_add to answer.body. */
void call_ok(struct call *c, int code, const char *content_type);
/* Adds a Warning header for each line of text. */
void call_warn(struct call *c, struct span lines);
/* "dryRun=All" of the query into c->dry_run; fails for other values. */
int call_read_dry_run(struct call *c, struct err *reterr) MUST_CHECK;
/* A parameter, absent when empty. */
struct span call_param(const struct call *c, const char *name);

/* Whether the caller may do something else to the call's resource too, as an apply that turns out
 * to create must. ERR_FORBIDDEN. */
int call_authorize(const struct call *c, enum api_verb verb, struct err *reterr) MUST_CHECK;

/* The store of the call's kind, its feed and its token key. */
struct store *call_store(const struct call *c);
struct feed *call_feed(const struct call *c);
const uint8_t *call_token_key(const struct call *c);

/* ---- verbs: entered on the loop, each in the file of its name ---- */

void call_get(struct call *c);
void call_list(struct call *c);
void call_watch(struct call *c);
void call_create(struct call *c);
void call_update(struct call *c);
void call_patch(struct call *c);
void call_delete(struct call *c);
void call_delete_collection(struct call *c);
void call_review(struct call *c); /* SelfSubjectAccessReview and such */
void call_query(struct call *c);  /* /apis/muster.dev/v1alpha1/... */
/* Whether it asks who waits in a queue: pendingworkloads of Kueue's visibility API. */
bool query_is_visibility(const struct request_info *i);
void call_token_request(struct call *c); /* serviceaccounts/NAME/token */
void call_openid(struct call *c);	 /* /openid/v1/jwks, /.well-known/openid-configuration */
void call_proxy(struct call *c);	 /* clusters/NAME/proxy, pods/NAME/log */
void call_health(struct call *c);	 /* /version, /healthz, ... or 404 */
void call_metrics(struct call *c);	 /* /metrics */
/* About once a second: pages that waited long enough for the core go out without it. */
void call_metrics_tick(struct api *a, usec now);

#endif

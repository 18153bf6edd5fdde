#include "member-sync/reflector.h"

#include "base/buf.h"

#include "member-sync/jitter.h"
#include "member-sync/list_stream.h"
#include "member-sync/stream_kind.h"
#include "member-sync/watch_stream.h"

#include <assert.h>
#include <errno.h>

/* A server that keeps answering a watch with errors, or with events that cannot be read, may
 * have lost what lies behind the cursor: after so many such answers a list decides. */
#define ANSWERS_BEFORE_LIST 3

/* A watch that lived so long was healthy even when nothing happened on it. */
#define HEALTHY_AFTER (10 * USEC_PER_SEC)

/* A page that drips for longer than this is cut, however steadily it drips. */
#define PAGE_MAX (600 * USEC_PER_SEC)

#define RETRY_AFTER_MAX (60 * USEC_PER_SEC)

struct reflector {
	struct reflector_options o;
	enum reflector_state state;
	uint64_t jitter;
	uint64_t cursor;
	bool resumed; /* the watch continues a stored cursor: say once that it is open */
	bool need_list;
	bool unlimited; /* a continue token expired: list in one page */
	bool listing;	/* LIST_BEGIN was emitted for the list under way */
	bool in_trouble;
	bool unanswered; /* the last failure was the connection's, not the server's */
	bool paused;
	bool waiting;		/* a request is wanted but did not go out yet */
	char *next;		/* continue token of the page to ask for */
	uint64_t list_revision; /* of the list's first page: kubernetes-api.md section 3 */
	struct list_stream list;
	struct watch_stream watch;
	unsigned failures; /* in a row, without progress */
	unsigned answers;  /* failures of a watch, in a row, in which the server answered */
	usec due;	   /* end of the backoff */
	usec sent_at, opened_at, last_byte;
	bool have_verdict; /* reflector_data() refused the body for this reason: */
	bool verdict_gone;
	struct err verdict;
	usec now; /* of the call under way, for the parser's callbacks */
};

struct reflector *reflector_create(const struct reflector_options *options)
{
	struct reflector *r = xcalloc(1, sizeof(*r));

	r->o = *options;
	r->jitter = options->seed;
	list_stream_init(&r->list, 0);
	watch_stream_init(&r->watch, 0);
	return r;
}

struct reflector *reflector_destroy(struct reflector *r)
{
	if (!r)
		return NULL;
	reflector_stop(r, 0);
	list_stream_done(&r->list);
	watch_stream_done(&r->watch);
	free(r->next);
	free(r);
	return NULL;
}

/* ---- leaving and entering states ---- */

static bool has_request(const struct reflector *r)
{
	return r->state == REFLECTOR_LISTING || r->state == REFLECTOR_SYNCED ||
	       r->state == REFLECTOR_WATCHING;
}

static void want(struct reflector *r, struct buf *path)
{
	r->waiting = true;
	r->sent_at = r->opened_at = 0;
	r->have_verdict = r->verdict_gone = false;
	r->o.ops->open(r->o.arg, r, buf_span(path).ptr);
}

static void want_page(struct reflector *r)
{
	auto_buf path = BUF_MAX(131072 * 3);

	stream_kind_path(r->o.stream, r->o.hub_uid, &path);
	if (!r->unlimited)
		buf_addf(&path, "limit=%u", r->o.limit);
	if (r->next) {
		buf_add_str(&path, "&continue=");
		stream_kind_escape(span_of(r->next), &path);
	}
	list_stream_done(&r->list);
	list_stream_init(&r->list, 0);
	want(r, &path);
}

static void want_watch(struct reflector *r)
{
	auto_buf path = BUF_INIT;
	usec seconds = jitter_between(&r->jitter, r->o.watch, r->o.watch * 2) / USEC_PER_SEC;

	stream_kind_path(r->o.stream, r->o.hub_uid, &path);
	buf_addf(&path,
		 "watch=true&allowWatchBookmarks=true&resourceVersion=%llu&timeoutSeconds=%lld",
		 (unsigned long long)r->cursor, (long long)(seconds > 0 ? seconds : 1));
	watch_stream_done(&r->watch);
	watch_stream_init(&r->watch, 0);
	want(r, &path);
}

static void forget_list(struct reflector *r)
{
	free(r->next);
	r->next = NULL;
	r->listing = false;
	r->list_revision = 0;
}

/* Takes the transition and does what its new state asks for. */
static void move(struct reflector *r, enum reflector_event event)
{
	enum reflector_state next = reflector_next(r->state, event);

	if (next == REFLECTOR_INVALID)
		return;
	r->state = next;
	if (next != REFLECTOR_LISTING || event != REFLECTOR_PAGE)
		forget_list(r);
	r->need_list |= next == REFLECTOR_LISTING; /* until it is complete */
	if (next == REFLECTOR_LISTING)
		want_page(r);
	else if (next == REFLECTOR_SYNCED)
		want_watch(r);
}

/* As move(), for causes from outside of the request under way. */
static void move_closing(struct reflector *r, enum reflector_event event)
{
	if (has_request(r))
		r->o.ops->close(r->o.arg, r);
	r->waiting = false;
	move(r, event);
}

void reflector_start(struct reflector *r, uint64_t cursor, usec now)
{
	if (r->state != REFLECTOR_IDLE && r->state != REFLECTOR_ABSENT)
		return;
	r->now = now;
	r->cursor = cursor;
	r->failures = r->answers = 0;
	r->need_list = cursor == 0;
	r->resumed = cursor != 0;
	r->unlimited = false;
	move(r, cursor ? REFLECTOR_START_WATCH : REFLECTOR_START_LIST);
}

void reflector_stop(struct reflector *r, usec now)
{
	r->now = now;
	move_closing(r, REFLECTOR_STOP);
}

void reflector_set_absent(struct reflector *r, usec now)
{
	r->now = now;
	move_closing(r, REFLECTOR_MISSING);
}

/* ---- trouble and progress ---- */

static void fail(struct reflector *r, const struct err *err, usec at_least, bool gone)
{
	r->in_trouble = true;
	r->unanswered = err->kind == ERR_UNAVAILABLE || err->kind == ERR_TIMEOUT;
	r->o.ops->trouble(r->o.arg, r, err);
	r->failures++;
	if (gone)
		r->need_list = true;
	/* The first 410 lists at once; a server that sends nothing else is left alone. */
	if (gone && r->failures == 1) {
		move(r, REFLECTOR_GONE);
		return;
	}
	usec wait = jitter_backoff(&r->jitter, r->failures, r->o.backoff, r->o.backoff_max);
	if (at_least > RETRY_AFTER_MAX)
		at_least = RETRY_AFTER_MAX;
	r->due = r->now + (wait > at_least ? wait : at_least);
	move(r, REFLECTOR_FAILED);
}

static void progress(struct reflector *r)
{
	r->failures = r->answers = 0;
	if (!r->in_trouble)
		return;
	r->in_trouble = false;
	r->o.ops->trouble(r->o.arg, r, NULL);
}

static void emit_mark(struct reflector *r, enum fact_op op, uint64_t revision)
{
	struct fact *f = fact_create(op, 0);

	f->stream = r->o.stream;
	f->revision = revision;
	r->o.ops->emit(r->o.arg, r, f);
}

/* ---- what comes in ---- */

void reflector_sent(struct reflector *r, usec now)
{
	r->waiting = false;
	r->sent_at = r->last_byte = now;
}

void reflector_opened(struct reflector *r, usec now)
{
	r->now = r->last_byte = r->opened_at = now;
	if (r->state == REFLECTOR_LISTING && !r->listing) {
		r->listing = true;
		emit_mark(r, FACT_LIST_BEGIN, 0);
	} else if (r->state == REFLECTOR_SYNCED) {
		move(r, REFLECTOR_OPENED);
		if (r->resumed)
			emit_mark(r, FACT_CURSOR, r->cursor);
		r->resumed = false;
	}
}

static int refuse(struct reflector *r, bool gone, const struct err *why)
{
	r->have_verdict = true;
	r->verdict_gone = gone;
	r->verdict = *why;
	return -ECANCELED;
}

static void emit_object(struct reflector *r, struct span object, uint64_t revision, bool deleted)
{
	struct fact *f = NULL;
	struct err why = ERR_INIT;

	if (stream_kind_decode(r->o.stream, object, revision, deleted, r->o.hub_uid, &f, &why) < 0)
		r->o.ops->trouble(r->o.arg, r, &why);
	else
		r->o.ops->emit(r->o.arg, r, f);
}

static int on_item(void *arg, struct span item)
{
	struct reflector *r = arg;
	uint64_t revision;

	if (watch_stream_revision(item, &revision) < 0)
		revision = 0; /* the list's own revision stands in at LIST_END */
	emit_object(r, item, revision, false);
	return 0;
}

static int on_error_event(struct reflector *r, const struct watch_event *e)
{
	struct err why = ERR_INIT;

	err_set(&why, e->code == 410 ? ERR_EXPIRED : err_kind_from_http(e->code ? e->code : 500),
		"the watch ended with %d: %.*s", e->code, SPAN_ARGS(e->message));
	if (e->code != 410)
		r->answers++;
	return refuse(r, e->code == 410, &why);
}

static int on_event(void *arg, const struct watch_event *e)
{
	struct reflector *r = arg;
	struct err why = ERR_INIT;

	if (e->type == WATCH_ERROR)
		return on_error_event(r, e);
	if (e->revision < r->cursor) {
		err_set(&why, ERR_EXPIRED, "the server's revisions went back from %llu to %llu",
			(unsigned long long)r->cursor, (unsigned long long)e->revision);
		return refuse(r, true, &why);
	}
	progress(r);
	if (e->revision == r->cursor)
		return 0;
	r->cursor = e->revision;
	if (e->type == WATCH_BOOKMARK)
		emit_mark(r, FACT_CURSOR, e->revision);
	else
		emit_object(r, e->object, e->revision, e->type == WATCH_DELETED);
	return 0;
}

int reflector_data(struct reflector *r, struct span bytes, usec now)
{
	struct err why = ERR_INIT;
	int result = -ECANCELED;

	r->now = r->last_byte = now;
	if (r->have_verdict)
		return result;
	if (r->state == REFLECTOR_LISTING)
		result = list_stream_feed(&r->list, bytes, on_item, r, &why);
	else if (r->state == REFLECTOR_WATCHING)
		result = watch_stream_feed(&r->watch, bytes, on_event, r, &why);
	if (result < 0 && !r->have_verdict) {
		r->answers++;
		return refuse(r, false, &why);
	}
	return result;
}

/* ---- ends ---- */

static void end_list(struct reflector *r)
{
	struct err why = ERR_INIT;

	if (!list_stream_complete(&r->list)) {
		err_set(&why, ERR_INVALID, "the list ended before it was complete");
		fail(r, &why, 0, false);
		return;
	}
	if (!r->list_revision)
		r->list_revision = r->list.revision;
	if (r->list.next) {
		free(r->next);
		r->next = steal_ptr(&r->list.next);
		move(r, REFLECTOR_PAGE);
		return;
	}
	r->cursor = r->list_revision;
	r->need_list = r->unlimited = r->resumed = false;
	emit_mark(r, FACT_LIST_END, r->cursor);
	if (r->in_trouble) {
		r->in_trouble = false;
		r->o.ops->trouble(r->o.arg, r, NULL);
	}
	move(r, REFLECTOR_LISTED);
}

static void end_watch(struct reflector *r)
{
	struct err why = ERR_INIT;

	if (watch_stream_partial(&r->watch)) {
		err_set(&why, ERR_UNAVAILABLE, "the watch was cut inside an event");
		fail(r, &why, 0, false);
	} else if (r->watch.events == 0 && r->now - r->sent_at < USEC_PER_SEC) {
		err_set(&why, ERR_UNAVAILABLE, "the watch ended at once");
		fail(r, &why, 0, false);
	} else {
		progress(r);
		move(r, REFLECTOR_ENDED);
	}
}

/* kubernetes-api.md 1.6: a revision in the server's future is a 504 with this text. */
static bool is_future_revision(const struct reflector_end *end)
{
	return end->code == 504 && strstr(end->err.text, "Too large resource version");
}

static void end_refused(struct reflector *r, const struct reflector_end *end)
{
	const struct stream_kind *k = stream_kind_of(r->o.stream);
	bool watching = r->state != REFLECTOR_LISTING;
	bool gone = end->code == 410 || is_future_revision(end);

	if (end->code == 410 && !watching)
		r->unlimited = r->next != NULL;
	if ((end->code == 404 || end->code == 403) && k->optional) {
		r->in_trouble = true;
		r->o.ops->trouble(r->o.arg, r, &end->err);
		move(r, REFLECTOR_MISSING);
		return;
	}
	if (watching && end->code && ++r->answers >= ANSWERS_BEFORE_LIST)
		r->need_list = true;
	fail(r, &end->err, end->retry_after, gone);
}

void reflector_end(struct reflector *r, const struct reflector_end *end, usec now)
{
	r->now = now;
	r->waiting = false;
	if (!has_request(r))
		return;
	if (r->opened_at && now - r->opened_at > HEALTHY_AFTER && r->state == REFLECTOR_WATCHING)
		r->failures = r->answers = 0;
	if (r->have_verdict) {
		struct err why = r->verdict;
		if (r->answers >= ANSWERS_BEFORE_LIST)
			r->need_list = true;
		fail(r, &why, 0, r->verdict_gone);
	} else if (end->code / 100 == 2 && r->state == REFLECTOR_LISTING) {
		end_list(r);
	} else if (end->code / 100 == 2 && r->state == REFLECTOR_WATCHING) {
		end_watch(r);
	} else {
		end_refused(r, end);
	}
}

void reflector_pause(struct reflector *r, bool paused, usec now)
{
	r->paused = paused;
	r->last_byte = now;
}

/* ---- time ---- */

usec reflector_due(const struct reflector *r)
{
	if (r->state == REFLECTOR_BACKOFF)
		return r->due;
	if (!has_request(r) || r->waiting || r->paused)
		return 0;
	if (r->state != REFLECTOR_LISTING)
		return r->last_byte + r->o.silence;
	usec silent = r->last_byte + r->o.list_silence, late = r->sent_at + PAGE_MAX;
	return silent < late ? silent : late;
}

void reflector_tick(struct reflector *r, usec now)
{
	usec due = reflector_due(r);
	struct err why = ERR_INIT;

	if (due == 0 || now < due)
		return;
	r->now = now;
	if (r->state == REFLECTOR_BACKOFF) {
		move(r, r->need_list ? REFLECTOR_START_LIST : REFLECTOR_START_WATCH);
		return;
	}
	err_set(&why, ERR_TIMEOUT, "no byte came for %lld s",
		(long long)((now - r->last_byte) / USEC_PER_SEC));
	r->o.ops->close(r->o.arg, r);
	fail(r, &why, 0, false);
}

void reflector_retry(struct reflector *r, usec now)
{
	if (r->state != REFLECTOR_BACKOFF || !r->unanswered)
		return;
	r->failures = 0;
	r->due = now;
}

enum reflector_state reflector_state(const struct reflector *r)
{
	return r->state;
}

enum member_stream reflector_stream(const struct reflector *r)
{
	return r->o.stream;
}

uint64_t reflector_cursor(const struct reflector *r)
{
	return r->cursor;
}

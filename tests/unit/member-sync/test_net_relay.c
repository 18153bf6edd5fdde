/* Requests that the front passes on to a member. */
#include "net_test.h"

/* The asker's end of a relay, on the test's thread. */
struct asker {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool woken;
	struct relay *relay;
	struct relay_answer answer;
	struct buf piece, all;
};

static void on_wake(void *arg)
{
	struct asker *a = arg;

	pthread_mutex_lock(&a->lock);
	a->woken = true;
	pthread_cond_signal(&a->changed);
	pthread_mutex_unlock(&a->lock);
}

static void ask(struct harness *h, struct asker *a, const char *cluster, const char *method,
		const char *path)
{
	struct relay_question q = {
	    .cluster = xstrdup(cluster), .method = xstrdup(method), .path = xstrdup(path)};

	*a = (struct asker){.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
	if (strcmp(method, "GET") != 0) {
		q.content_type = xstrdup("application/merge-patch+json");
		q.body = xstrdup("{\"a\":1}");
		q.body_len = 7;
	}
	a->relay = relay_create(&q, on_wake, a);
	net_proxy(h->net, a->relay);
}

/* Waits for one wake, and takes what is there. */
static void take_next(struct asker *a)
{
	pthread_mutex_lock(&a->lock);
	while (!a->woken)
		pthread_cond_wait(&a->changed, &a->lock);
	a->woken = false;
	pthread_mutex_unlock(&a->lock);
	relay_take(a->relay, &a->piece, &a->answer);
	buf_add_span(&a->all, buf_span(&a->piece));
	buf_clear(&a->piece);
}

static void leave(struct asker *a)
{
	relay_leave(a->relay);
	buf_done(&a->piece);
	buf_done(&a->all);
}

static void a_relay_brings_the_answer_or_the_cause(void **state)
{
	struct harness *h = *state;
	struct asker a;

	join_healthy(h, NULL);
	ask(h, &a, "m1", "GET", "/version");
	while (!a.answer.ended)
		take_next(&a);
	assert_int_equal(a.answer.err.kind, ERR_NONE);
	assert_int_equal(a.answer.http_code, 200);
	assert_string_equal(a.answer.content_type, "application/json");
	buf_add_char(&a.all, '\0');
	assert_string_equal(a.all.ptr, "{\"gitVersion\":\"v1.33.1\"}");
	leave(&a);
	ask(h, &a, "m1", "GET", "/nothing");
	while (!a.answer.ended)
		take_next(&a);
	assert_int_equal(a.answer.err.kind, ERR_NONE);
	assert_int_equal(a.answer.http_code, 404);
	buf_add_char(&a.all, '\0');
	assert_contains(a.all.ptr, "not found here");
	leave(&a);
	ask(h, &a, "m2", "GET", "/version");
	while (!a.answer.ended)
		take_next(&a);
	assert_int_equal(a.answer.err.kind, ERR_NOT_FOUND);
	leave(&a);
}

#define LONG_PIECE  4096
#define LONG_PIECES 2560 /* 10 MiB: more than sockets and windows hold */

struct long_answer {
	_Atomic size_t pieces;
	_Atomic bool hang, seen_patch;
};

static bool answer_long(void *arg, struct fake_connection *c, const struct fake_request *r)
{
	struct long_answer *l = arg;
	char piece[LONG_PIECE + 1];

	if (strcmp(r->method, "PATCH") == 0) {
		l->seen_patch = r->body_len == 7;
		fake_reply(c, 409, "{\"kind\":\"Status\",\"message\":\"no\"}");
		return true;
	}
	if (strstr(r->path, "/silent")) {
		fake_write(c, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nx");
		fake_hang(c);
		return true;
	}
	if (!strstr(r->path, "/long"))
		return false;
	memset(piece, 'x', LONG_PIECE);
	piece[LONG_PIECE] = '\0';
	fake_write(c, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
		      "Content-Length: 10485760\r\n\r\n");
	for (size_t i = 0; i < LONG_PIECES; i++) {
		fake_write(c, piece);
		l->pieces++;
	}
	return true;
}

static void a_long_answer_waits_for_its_reader_and_for_nobody_else(void **state)
{
	struct harness *h = *state;
	struct long_answer l = {0};
	struct fake_member_options o = {.hook = answer_long, .arg = &l};
	struct asker slow, quick;

	join_healthy(h, &o);
	ask(h, &slow, "m1", "GET", "/long");
	while (!slow.answer.http_code)
		take_next(&slow);
	/* Nobody reads: others are answered, and the member cannot get rid of its bytes. */
	for (int i = 0; i < 20; i++) {
		ask(h, &quick, "m1", "GET", "/version");
		while (!quick.answer.ended)
			take_next(&quick);
		assert_int_equal(quick.answer.http_code, 200);
		leave(&quick);
	}
	assert_true(l.pieces < LONG_PIECES);
	while (!slow.answer.ended) {
		take_next(&slow);
		assert_true(slow.piece.cap <= 2 * RELAY_WINDOW);
	}
	assert_int_equal(slow.answer.err.kind, ERR_NONE);
	assert_int_equal(slow.all.len, (size_t)LONG_PIECE * LONG_PIECES);
	leave(&slow);
}

static void an_asker_that_leaves_cuts_the_request(void **state)
{
	struct harness *h = *state;
	struct long_answer l = {0};
	struct fake_member_options o = {.hook = answer_long, .arg = &l};
	struct asker a;

	join_healthy(h, &o);
	/* More than the member's bound, one after the other: each gives its place back. */
	for (int i = 0; i < 70; i++) {
		ask(h, &a, "m1", "GET", "/silent");
		while (!a.answer.http_code && !a.answer.ended)
			take_next(&a);
		assert_int_equal(a.answer.http_code, 200);
		assert_false(a.answer.ended);
		leave(&a);
	}
}

static void a_relay_carries_method_body_and_type(void **state)
{
	struct harness *h = *state;
	struct long_answer l = {0};
	struct fake_member_options o = {.hook = answer_long, .arg = &l};
	struct asker a;

	join_healthy(h, &o);
	ask(h, &a, "m1", "PATCH", "/apis/batch/v1/namespaces/x/jobs/y");
	while (!a.answer.ended)
		take_next(&a);
	assert_int_equal(a.answer.http_code, 409);
	buf_add_char(&a.all, '\0');
	assert_string_equal(a.all.ptr, "{\"kind\":\"Status\",\"message\":\"no\"}");
	assert_true(l.seen_patch);
	leave(&a);
}

static void relays_end_when_their_member_leaves(void **state)
{
	struct harness *h = *state;
	struct long_answer l = {0};
	struct fake_member_options o = {.hook = answer_long, .arg = &l};
	struct asker a;

	join_healthy(h, &o);
	ask(h, &a, "m1", "GET", "/silent");
	while (!a.answer.http_code)
		take_next(&a);
	h->net = net_stop(h->net);
	while (!a.answer.ended)
		take_next(&a);
	assert_int_not_equal(a.answer.err.kind, ERR_NONE);
	leave(&a);
}

RUN_NET("net-relay", T(a_relay_brings_the_answer_or_the_cause),
	T(a_long_answer_waits_for_its_reader_and_for_nobody_else),
	T(an_asker_that_leaves_cuts_the_request), T(a_relay_carries_method_body_and_type),
	T(relays_end_when_their_member_leaves))

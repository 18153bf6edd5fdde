#include "wire/relay.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
/* cmocka wants the three above first. */
#include <cmocka.h>

struct ends {
	struct relay *relay;
	int woken, attended;
};

static void wake(void *arg)
{
	((struct ends *)arg)->woken++;
}

static void attend(void *arg, struct relay *r)
{
	struct ends *e = arg;

	assert_ptr_equal(r, e->relay);
	e->attended++;
}

static void begin(struct ends *e)
{
	struct relay_question q = {.cluster = xstrdup("c1"),
				   .method = xstrdup("POST"),
				   .path = xstrdup("/"),
				   .accept = xstrdup("*"),
				   .content_type = xstrdup("text/plain"),
				   .body = xstrdup("{}"),
				   .body_len = 2};

	*e = (struct ends){0};
	e->relay = relay_create(&q, wake, e);
	assert_null(q.body);
	relay_ref(e->relay);
	relay_accept(e->relay, attend, e);
}

static void the_question_is_kept_and_freed(void **state)
{
	struct ends e;

	(void)state;
	begin(&e);
	assert_string_equal(relay_question(e.relay)->method, "POST");
	assert_int_equal(relay_question(e.relay)->body_len, 2);
	relay_end(e.relay, NULL);
	relay_leave(e.relay);
}

static void the_asker_is_woken_once_until_it_takes(void **state)
{
	struct ends e;
	struct relay_answer a;
	struct buf bytes = BUF_INIT;

	(void)state;
	begin(&e);
	relay_head(e.relay, 200, "text/plain", SPAN_NONE);
	assert_true(relay_push(e.relay, SPAN("ab")));
	assert_true(relay_push(e.relay, SPAN("cd")));
	assert_int_equal(e.woken, 1);
	relay_take(e.relay, &bytes, &a);
	assert_int_equal(a.http_code, 200);
	assert_string_equal(a.content_type, "text/plain");
	assert_false(a.ended);
	assert_true(span_is(buf_span(&bytes), "abcd"));
	relay_end(e.relay, NULL);
	assert_int_equal(e.woken, 2);
	buf_clear(&bytes);
	relay_take(e.relay, &bytes, &a);
	assert_true(a.ended);
	assert_int_equal(a.err.kind, ERR_NONE);
	assert_int_equal(bytes.len, 0);
	buf_done(&bytes);
	relay_leave(e.relay);
}

static void what_does_not_fit_is_refused_until_there_is_room(void **state)
{
	static char piece[RELAY_WINDOW - 10];
	struct span s = span_make(piece, sizeof(piece));
	struct ends e;
	struct relay_answer a;
	struct buf bytes = BUF_INIT;

	(void)state;
	begin(&e);
	assert_true(relay_push(e.relay, s));
	assert_false(relay_push(e.relay, SPAN("more than ten")));
	assert_int_equal(e.attended, 0);
	relay_take(e.relay, &bytes, &a);
	assert_int_equal(bytes.len, sizeof(piece));
	assert_int_equal(e.attended, 1);
	assert_true(relay_attended(e.relay));
	assert_true(relay_push(e.relay, SPAN("more than ten")));
	/* Nothing was refused since: taking is no news to the answerer. */
	buf_clear(&bytes);
	relay_take(e.relay, &bytes, &a);
	assert_int_equal(e.attended, 1);
	relay_end(e.relay, NULL);
	buf_done(&bytes);
	relay_leave(e.relay);
}

static void a_long_piece_is_taken_when_nothing_waits(void **state)
{
	static char piece[RELAY_WINDOW * 2];
	struct ends e;

	(void)state;
	begin(&e);
	assert_true(relay_push(e.relay, span_make(piece, sizeof(piece))));
	assert_false(relay_push(e.relay, SPAN("x")));
	relay_leave(e.relay);
	relay_end(e.relay, NULL);
}

static void an_asker_that_leaves_is_told_once_and_never_woken(void **state)
{
	struct ends e;

	(void)state;
	begin(&e);
	relay_leave(e.relay);
	assert_int_equal(e.attended, 1);
	assert_false(relay_attended(e.relay));
	relay_head(e.relay, 200, NULL, SPAN_NONE);
	assert_true(relay_push(e.relay, SPAN("nobody reads this")));
	relay_end(e.relay, NULL);
	assert_int_equal(e.woken, 0);
}

static void an_answer_that_ended_tells_nobody_of_the_leaving(void **state)
{
	struct ends e;
	struct err why = ERR_INIT;
	struct relay_answer a;
	struct buf bytes = BUF_INIT;

	(void)state;
	begin(&e);
	(void)err_set(&why, ERR_UNAVAILABLE, "gone");
	relay_end(e.relay, &why);
	relay_take(e.relay, &bytes, &a);
	assert_true(a.ended);
	assert_int_equal(a.http_code, 0);
	assert_string_equal(a.err.text, "gone");
	relay_leave(e.relay);
	assert_int_equal(e.attended, 0);
	buf_done(&bytes);
}

static void headers_of_an_answer_are_told_with_its_head(void **state)
{
	struct ends e;
	struct relay_answer a;
	struct buf bytes = BUF_INIT;
	char longer[RELAY_MAX_HEADERS + 1];

	(void)state;
	begin(&e);
	relay_head(e.relay, 429, NULL, SPAN("Retry-After: 7\r\n"));
	relay_take(e.relay, &bytes, &a);
	assert_true(span_is(a.headers, "Retry-After: 7\r\n"));
	relay_end(e.relay, NULL);
	relay_leave(e.relay);
	begin(&e);
	memset(longer, 'x', sizeof(longer));
	relay_head(e.relay, 200, NULL, span_make(longer, sizeof(longer)));
	relay_take(e.relay, &bytes, &a);
	assert_int_equal(a.headers.len, 0);
	relay_end(e.relay, NULL);
	relay_leave(e.relay);
	buf_done(&bytes);
}

/* A relay that is a connection. */
static void connect_both(struct ends *e)
{
	struct relay_answer a;
	struct buf bytes = BUF_INIT;

	begin(e);
	relay_head(e->relay, 101, NULL, SPAN("Upgrade: websocket\r\n"));
	relay_take(e->relay, &bytes, &a);
	assert_int_equal(a.http_code, 101);
	buf_done(&bytes);
	e->woken = 0;
}

static void bytes_of_the_asker_come_in_order_and_in_parts(void **state)
{
	struct ends e;
	char got[8];

	(void)state;
	connect_both(&e);
	assert_int_equal(relay_receive(e.relay, got, sizeof(got)), 0);
	assert_true(relay_send(e.relay, SPAN("abc")));
	assert_true(relay_send(e.relay, SPAN("defg")));
	assert_int_equal(e.attended, 1);
	assert_true(relay_attended(e.relay));
	assert_int_equal(relay_receive(e.relay, got, 5), 5);
	assert_memory_equal(got, "abcde", 5);
	assert_true(relay_send(e.relay, SPAN("h")));
	assert_int_equal(e.attended, 2);
	assert_int_equal(relay_receive(e.relay, got, sizeof(got)), 3);
	assert_memory_equal(got, "fgh", 3);
	relay_end(e.relay, NULL);
	assert_true(relay_send(e.relay, SPAN("nobody reads this")));
	relay_leave(e.relay);
}

static void an_asker_hears_of_room_at_half_a_window(void **state)
{
	static char piece[RELAY_WINDOW], got[RELAY_WINDOW];
	struct ends e;

	(void)state;
	for (size_t i = 0; i < sizeof(piece); i++)
		piece[i] = (char)(i * 7 >> 3);
	connect_both(&e);
	assert_true(relay_send(e.relay, span_make(piece, sizeof(piece))));
	assert_false(relay_send(e.relay, SPAN("x")));
	assert_int_equal(relay_receive(e.relay, got, RELAY_WINDOW / 2 - 1), RELAY_WINDOW / 2 - 1);
	assert_int_equal(e.woken, 0);
	assert_false(relay_send(e.relay, span_make(piece, RELAY_WINDOW / 2)));
	assert_int_equal(relay_receive(e.relay, got + RELAY_WINDOW / 2 - 1, 1), 1);
	assert_int_equal(e.woken, 1);
	for (int round = 0; round < 10; round++) { /* never more than two windows are kept */
		assert_true(relay_send(e.relay, span_make(piece, RELAY_WINDOW / 2)));
		assert_int_equal(relay_receive(e.relay, got, RELAY_WINDOW / 2), RELAY_WINDOW / 2);
		assert_memory_equal(got, round ? piece : piece + RELAY_WINDOW / 2,
				    RELAY_WINDOW / 2);
	}
	relay_leave(e.relay);
	assert_int_equal(relay_receive(e.relay, got, sizeof(got)), 0);
	relay_end(e.relay, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_question_is_kept_and_freed),
	    cmocka_unit_test(the_asker_is_woken_once_until_it_takes),
	    cmocka_unit_test(what_does_not_fit_is_refused_until_there_is_room),
	    cmocka_unit_test(a_long_piece_is_taken_when_nothing_waits),
	    cmocka_unit_test(an_asker_that_leaves_is_told_once_and_never_woken),
	    cmocka_unit_test(an_answer_that_ended_tells_nobody_of_the_leaving),
	    cmocka_unit_test(headers_of_an_answer_are_told_with_its_head),
	    cmocka_unit_test(bytes_of_the_asker_come_in_order_and_in_parts),
	    cmocka_unit_test(an_asker_hears_of_room_at_half_a_window),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * The reflector without a socket: scripted answers, a fake clock, and a log of what it does.
 */
#include "base/buf.h"
#include "member-sync/reflector.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

struct fixture {
	struct reflector *r;
	char path[2048]; /* of the request that is open or wanted; "" none */
	struct buf log;	 /* facts: B, E@rev, C@rev, +name@rev, -name@rev; T trouble, t none */
	usec now;
};

static void on_open(void *arg, struct reflector *r, const char *path)
{
	struct fixture *x = arg;

	assert_string_equal(x->path, ""); /* one request at a time */
	snprintf(x->path, sizeof(x->path), "%s", path);
}

static void on_close(void *arg, struct reflector *r)
{
	struct fixture *x = arg;
	x->path[0] = '\0';
}

static void on_emit(void *arg, struct reflector *r, struct fact *f)
{
	struct fixture *x = arg;
	unsigned long long revision = f->revision;

	if (f->op == FACT_LIST_BEGIN)
		buf_add_str(&x->log, "B ");
	else if (f->op == FACT_LIST_END)
		buf_addf(&x->log, "E@%llu ", revision);
	else if (f->op == FACT_CURSOR)
		buf_addf(&x->log, "C@%llu ", revision);
	else
		buf_addf(&x->log, "%c%.*s@%llu ", f->deleted ? '-' : '+', SPAN_ARGS(f->node.name),
			 revision);
	fact_destroy(f);
}

static void on_trouble(void *arg, struct reflector *r, const struct err *err)
{
	struct fixture *x = arg;
	buf_add_str(&x->log, err ? "T " : "t ");
}

static const struct reflector_ops ops = {on_open, on_close, on_emit, on_trouble};

static int setup_stream(void **state, enum member_stream stream)
{
	struct fixture *x = xcalloc(1, sizeof(*x));
	struct reflector_options o = {
	    .stream = stream,
	    .hub_uid = "hub",
	    .ops = &ops,
	    .arg = x,
	    .seed = 1,
	    .silence = 180 * USEC_PER_SEC,
	    .list_silence = 30 * USEC_PER_SEC,
	    .watch = 300 * USEC_PER_SEC,
	    .backoff = 800 * USEC_PER_MS,
	    .backoff_max = 30 * USEC_PER_SEC,
	    .limit = 500,
	};

	x->now = USEC_PER_SEC;
	x->r = reflector_create(&o);
	*state = x;
	return 0;
}

static int setup(void **state)
{
	return setup_stream(state, STREAM_NODES);
}

static int setup_jobs(void **state)
{
	return setup_stream(state, STREAM_JOBS);
}

static int teardown(void **state)
{
	struct fixture *x = *state;

	reflector_destroy(x->r);
	buf_done(&x->log);
	free(x);
	return 0;
}

/* ---- the server's part ---- */

static void opened(struct fixture *x)
{
	assert_string_not_equal(x->path, "");
	reflector_sent(x->r, x->now);
	reflector_opened(x->r, x->now);
}

static int data(struct fixture *x, const char *text)
{
	return reflector_data(x->r, span_of(text), x->now);
}

static void ended(struct fixture *x, int code, enum err_kind kind, const char *words)
{
	struct reflector_end end = {.code = code};

	if (kind)
		err_set(&end.err, kind, "%s", words);
	x->path[0] = '\0';
	reflector_end(x->r, &end, x->now);
}

static void event(struct fixture *x, const char *type, const char *name, unsigned revision)
{
	char text[256];

	snprintf(text, sizeof(text),
		 "{\"type\":\"%s\",\"object\":{\"metadata\":{\"name\":\"%s\",\"resourceVersion\":"
		 "\"%u\"}}}\n",
		 type, name, revision);
	if (data(x, text) < 0)
		ended(x, 0, ERR_UNAVAILABLE, "cut by us");
}

/* One page with one node. */
static void page(struct fixture *x, const char *name, unsigned revision, const char *next)
{
	char text[512];

	opened(x);
	snprintf(text, sizeof(text),
		 "{\"metadata\":{\"resourceVersion\":\"%u\",\"continue\":\"%s\"},\"items\":[{"
		 "\"metadata\":{\"name\":\"%s\",\"resourceVersion\":\"%u\"}}]}",
		 revision, next, name, revision - 1);
	assert_int_equal(data(x, text), 0);
	ended(x, 200, ERR_NONE, NULL);
}

static void assert_log(struct fixture *x, const char *expected)
{
	assert_string_equal(x->log.ptr ? x->log.ptr : "", expected);
	buf_clear(&x->log);
}

static void assert_wants(struct fixture *x, const char *part)
{
	if (!strstr(x->path, part))
		fail_msg("\"%s\" does not ask for \"%s\"", x->path, part);
}

static void assert_state(struct fixture *x, enum reflector_state state)
{
	assert_string_equal(reflector_state_name(reflector_state(x->r)),
			    reflector_state_name(state));
}

/* Lists one node at 10 and watches from there. */
static void sync(struct fixture *x)
{
	reflector_start(x->r, 0, x->now);
	page(x, "a", 10, "");
	opened(x);
	buf_clear(&x->log);
}

static void wait_backoff(struct fixture *x)
{
	assert_state(x, REFLECTOR_BACKOFF);
	x->now = reflector_due(x->r);
	reflector_tick(x->r, x->now);
}

/* ---- tests ---- */

static void it_lists_in_pages_and_watches_from_the_first_pages_revision(void **state)
{
	struct fixture *x = *state;

	reflector_start(x->r, 0, x->now);
	assert_string_equal(x->path, "/api/v1/nodes?limit=500");
	page(x, "a", 10, "t/k=");
	assert_state(x, REFLECTOR_LISTING);
	assert_string_equal(x->path, "/api/v1/nodes?limit=500&continue=t%2Fk%3D");
	page(x, "b", 12, "");
	assert_state(x, REFLECTOR_SYNCED);
	assert_wants(x, "watch=true&allowWatchBookmarks=true&resourceVersion=10&timeoutSeconds=");
	opened(x);
	assert_state(x, REFLECTOR_WATCHING);
	event(x, "ADDED", "c", 13);
	event(x, "DELETED", "c", 14);
	event(x, "BOOKMARK", "", 20);
	assert_log(x, "B +a@9 +b@11 E@10 +c@13 -c@14 C@20 ");
	assert_int_equal(reflector_cursor(x->r), 20);
}

static void a_stored_cursor_is_watched_at_once(void **state)
{
	struct fixture *x = *state;

	reflector_start(x->r, 77, x->now);
	assert_wants(x, "resourceVersion=77&");
	opened(x);
	event(x, "ADDED", "c", 78);
	assert_log(x, "C@77 +c@78 ");
	x->now += 400 * USEC_PER_SEC;
	ended(x, 200, ERR_NONE, NULL);
	assert_wants(x, "resourceVersion=78&");
	opened(x);
	assert_log(x, "");
}

static void own_streams_select_by_label(void **state)
{
	struct fixture *x = *state;

	reflector_start(x->r, 0, x->now);
	assert_string_equal(x->path, "/apis/batch/v1/jobs?labelSelector=muster.dev%2Fhub-uid%3Dhub"
				     "&limit=500");
}

static void a_410_lists_at_once_and_then_patiently(void **state)
{
	struct fixture *x = *state;

	sync(x);
	ended(x, 410, ERR_EXPIRED, "too old");
	assert_state(x, REFLECTOR_LISTING);
	page(x, "a", 30, "");
	ended(x, 410, ERR_EXPIRED, "too old");
	assert_state(x, REFLECTOR_BACKOFF);
	wait_backoff(x);
	assert_state(x, REFLECTOR_LISTING);
	assert_wants(x, "limit=500");
}

static void a_410_inside_the_stream_lists(void **state)
{
	struct fixture *x = *state;

	sync(x);
	assert_true(data(x, "{\"type\":\"ERROR\",\"object\":{\"code\":410}}\n") < 0);
	ended(x, 0, ERR_UNAVAILABLE, "cut by us");
	assert_state(x, REFLECTOR_LISTING);
}

static void a_410_on_a_later_page_lists_without_a_limit(void **state)
{
	struct fixture *x = *state;

	reflector_start(x->r, 0, x->now);
	page(x, "a", 10, "t");
	ended(x, 410, ERR_EXPIRED, "token too old");
	assert_string_equal(x->path, "/api/v1/nodes?");
	page(x, "a", 20, "");
	assert_log(x, "B +a@9 T B +a@19 E@20 t ");
}

static void a_repeated_event_is_dropped_and_an_older_one_lists(void **state)
{
	struct fixture *x = *state;

	sync(x);
	event(x, "MODIFIED", "a", 20);
	event(x, "MODIFIED", "a", 20);
	assert_log(x, "+a@20 ");
	event(x, "MODIFIED", "b", 19);
	assert_state(x, REFLECTOR_LISTING);
	assert_log(x, "T ");
}

static void a_future_revision_lists(void **state)
{
	struct fixture *x = *state;

	reflector_start(x->r, 1000, x->now);
	ended(x, 504, ERR_TIMEOUT, "the server answered 504: Too large resource version: 1000");
	assert_state(x, REFLECTOR_LISTING);
}

static void a_cut_list_begins_again(void **state)
{
	struct fixture *x = *state;

	reflector_start(x->r, 0, x->now);
	opened(x);
	assert_int_equal(data(x,
			      "{\"metadata\":{\"resourceVersion\":\"10\"},\"items\":[{\"metadata\":"
			      "{\"name\":\"a\",\"resourceVersion\":\"9\"}},"),
			 0);
	ended(x, 0, ERR_UNAVAILABLE, "the answer was cut");
	wait_backoff(x);
	page(x, "a", 20, "");
	assert_log(x, "B +a@9 T B +a@19 E@20 t ");
}

static void a_list_that_is_whole_http_but_half_json_fails(void **state)
{
	struct fixture *x = *state;

	reflector_start(x->r, 0, x->now);
	opened(x);
	assert_int_equal(data(x, "{\"metadata\":{\"resourceVersion\":\"10\"},\"items\":["), 0);
	ended(x, 200, ERR_NONE, NULL);
	assert_state(x, REFLECTOR_BACKOFF);
	assert_log(x, "B T ");
}

static void an_object_that_cannot_be_used_is_left_out(void **state)
{
	struct fixture *x = *state;

	sync(x);
	assert_int_equal(data(x,
			      "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"resourceVersion\":"
			      "\"11\"}}}\n"),
			 0);
	event(x, "ADDED", "b", 12);
	assert_log(x, "T +b@12 ");
	assert_state(x, REFLECTOR_WATCHING);
}

static void broken_events_three_times_in_a_row_list(void **state)
{
	struct fixture *x = *state;

	sync(x);
	for (int i = 0; i < 3; i++) {
		assert_true(data(x, "{]\n") < 0);
		ended(x, 0, ERR_UNAVAILABLE, "cut by us");
		wait_backoff(x);
		if (i < 2) {
			assert_wants(x, "resourceVersion=10&");
			opened(x);
		}
	}
	assert_wants(x, "limit=500");
}

static void backoff_doubles_to_its_maximum_and_stays_jittered(void **state)
{
	struct fixture *x = *state;
	usec longest = 0;

	reflector_start(x->r, 5, x->now);
	for (int i = 0; i < 40; i++) {
		ended(x, 0, ERR_UNAVAILABLE, "refused");
		usec wait = reflector_due(x->r) - x->now;
		usec step = i < 6 ? (800 * USEC_PER_MS) << i : 30 * USEC_PER_SEC;
		assert_in_range(wait, 80 * USEC_PER_MS, step);
		longest = wait > longest ? wait : longest;
		wait_backoff(x);
	}
	assert_true(longest > 15 * USEC_PER_SEC);
	assert_wants(x, "resourceVersion=5&"); /* a server that cannot be reached proves nothing */
}

static void retry_after_is_kept(void **state)
{
	struct fixture *x = *state;
	struct reflector_end end = {.code = 429, .retry_after = 20 * USEC_PER_SEC};

	sync(x);
	err_set(&end.err, ERR_TOO_MANY, "later");
	x->path[0] = '\0';
	reflector_end(x->r, &end, x->now);
	assert_int_equal(reflector_due(x->r) - x->now, 20 * USEC_PER_SEC);
}

static void silence_ends_a_watch_but_not_a_paused_one(void **state)
{
	struct fixture *x = *state;

	sync(x);
	assert_int_equal(reflector_due(x->r), x->now + 180 * USEC_PER_SEC);
	reflector_pause(x->r, true, x->now);
	assert_int_equal(reflector_due(x->r), 0);
	x->now += 500 * USEC_PER_SEC;
	reflector_pause(x->r, false, x->now);
	x->now += 100 * USEC_PER_SEC;
	event(x, "BOOKMARK", "", 11);
	x->now += 179 * USEC_PER_SEC;
	reflector_tick(x->r, x->now);
	assert_state(x, REFLECTOR_WATCHING);
	x->now += USEC_PER_SEC;
	reflector_tick(x->r, x->now);
	assert_state(x, REFLECTOR_BACKOFF);
	assert_string_equal(x->path, "");
}

static void a_wanted_request_that_was_not_sent_is_not_silent(void **state)
{
	struct fixture *x = *state;

	reflector_start(x->r, 5, x->now);
	assert_int_equal(reflector_due(x->r), 0);
}

static void a_watch_that_ends_at_once_is_a_failure(void **state)
{
	struct fixture *x = *state;

	sync(x);
	ended(x, 200, ERR_NONE, NULL);
	assert_state(x, REFLECTOR_BACKOFF);
	wait_backoff(x);
	opened(x);
	x->now += 20 * USEC_PER_SEC;
	ended(x, 200, ERR_NONE, NULL);
	assert_state(x, REFLECTOR_SYNCED);
}

static void a_missing_api_goes_absent_and_may_start_again(void **state)
{
	struct fixture *x = *state;

	reflector_start(x->r, 5, x->now);
	ended(x, 404, ERR_NOT_FOUND, "no such kind");
	assert_state(x, REFLECTOR_ABSENT);
	assert_int_equal(reflector_due(x->r), 0);
	reflector_start(x->r, 0, x->now);
	assert_wants(x, "limit=500");
}

static void nodes_that_are_missing_are_only_a_failure(void **state)
{
	struct fixture *x = *state;

	reflector_start(x->r, 5, x->now);
	ended(x, 404, ERR_NOT_FOUND, "strange");
	assert_state(x, REFLECTOR_BACKOFF);
}

static void a_healed_member_ends_the_backoff_of_a_broken_connection_only(void **state)
{
	struct fixture *x = *state;

	sync(x);
	ended(x, 0, ERR_UNAVAILABLE, "reset");
	x->now += 1;
	reflector_retry(x->r, x->now);
	assert_int_equal(reflector_due(x->r), x->now);
	wait_backoff(x);
	ended(x, 500, ERR_INTERNAL, "broken");
	usec due = reflector_due(x->r);
	reflector_retry(x->r, x->now);
	assert_int_equal(reflector_due(x->r), due);
}

static void stopping_closes_and_keeps_the_cursor(void **state)
{
	struct fixture *x = *state;

	sync(x);
	event(x, "ADDED", "b", 15);
	reflector_stop(x->r, x->now);
	assert_state(x, REFLECTOR_IDLE);
	assert_string_equal(x->path, "");
	assert_int_equal(reflector_cursor(x->r), 15);
}

static void every_transition_leads_to_a_state_and_stop_is_always_possible(void **state)
{
	for (int s = 0; s < REFLECTOR_STATE_MAX; s++) {
		for (int e = 0; e < REFLECTOR_EVENT_MAX; e++) {
			int next = reflector_next((enum reflector_state)s, (enum reflector_event)e);
			assert_in_range(next + 1, 0, REFLECTOR_STATE_MAX);
		}
		assert_int_equal(reflector_next((enum reflector_state)s, REFLECTOR_STOP),
				 REFLECTOR_IDLE);
	}
}

#define T(f)	cmocka_unit_test_setup_teardown(f, setup, teardown)
#define JOBS(f) cmocka_unit_test_setup_teardown(f, setup_jobs, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(it_lists_in_pages_and_watches_from_the_first_pages_revision),
	    T(a_stored_cursor_is_watched_at_once),
	    JOBS(own_streams_select_by_label),
	    T(a_410_lists_at_once_and_then_patiently),
	    T(a_410_inside_the_stream_lists),
	    T(a_410_on_a_later_page_lists_without_a_limit),
	    T(a_repeated_event_is_dropped_and_an_older_one_lists),
	    T(a_future_revision_lists),
	    T(a_cut_list_begins_again),
	    T(a_list_that_is_whole_http_but_half_json_fails),
	    T(an_object_that_cannot_be_used_is_left_out),
	    T(broken_events_three_times_in_a_row_list),
	    T(backoff_doubles_to_its_maximum_and_stays_jittered),
	    T(retry_after_is_kept),
	    T(silence_ends_a_watch_but_not_a_paused_one),
	    T(a_wanted_request_that_was_not_sent_is_not_silent),
	    T(a_watch_that_ends_at_once_is_a_failure),
	    JOBS(a_missing_api_goes_absent_and_may_start_again),
	    T(nodes_that_are_missing_are_only_a_failure),
	    T(a_healed_member_ends_the_backoff_of_a_broken_connection_only),
	    T(stopping_closes_and_keeps_the_cursor),
	    cmocka_unit_test(every_transition_leads_to_a_state_and_stop_is_always_possible),
	};
	return cmocka_run_group_tests_name("reflector", tests, NULL, NULL);
}

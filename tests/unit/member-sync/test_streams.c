/*
 * The two push parsers: watch_stream and list_stream.
 */
#include "member-sync/list_stream.h"
#include "member-sync/watch_stream.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

struct seen {
	struct watch_event last;
	char object[256], message[64];
	size_t n;
	int answer; /* what each() returns */
};

static int on_event(void *arg, const struct watch_event *e)
{
	struct seen *s = arg;

	s->last = *e;
	snprintf(s->object, sizeof(s->object), "%.*s", SPAN_ARGS(e->object));
	snprintf(s->message, sizeof(s->message), "%.*s", SPAN_ARGS(e->message));
	s->n++;
	return s->answer;
}

static int feed(struct watch_stream *w, const char *text, struct seen *s, struct err *why)
{
	return watch_stream_feed(w, span_of(text), on_event, s, why);
}

static void an_event_may_span_many_chunks(void **state)
{
	static const char line[] = "{\"type\":\"MODIFIED\",\"object\":{\"metadata\":{"
				   "\"resourceVersion\":\"12\"}}}\n";
	struct watch_stream w;
	struct seen s = {0};

	watch_stream_init(&w, 0);
	for (size_t i = 0; i < sizeof(line) - 1; i++) {
		assert_int_equal(s.n, 0);
		assert_int_equal(watch_stream_feed(&w, span_make(line + i, 1), on_event, &s, NULL),
				 0);
		assert_int_equal(watch_stream_partial(&w), i < sizeof(line) - 2);
	}
	assert_int_equal(s.n, 1);
	assert_int_equal(s.last.type, WATCH_MODIFIED);
	assert_int_equal(s.last.revision, 12);
	watch_stream_done(&w);
}

static void a_chunk_may_hold_many_events(void **state)
{
	struct watch_stream w;
	struct seen s = {0};

	watch_stream_init(&w, 0);
	assert_int_equal(
	    feed(&w,
		 "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"resourceVersion\":\"1\"}}}\n\n"
		 "{\"object\":{\"metadata\":{\"resourceVersion\":\"2\"}},\"type\":\"DELETED\"}\r\n"
		 "{\"type\":\"BOOK",
		 &s, NULL),
	    0);
	assert_int_equal(s.n, 2);
	assert_int_equal(s.last.type, WATCH_DELETED);
	assert_int_equal(s.last.revision, 2);
	assert_true(watch_stream_partial(&w));
	watch_stream_done(&w);
}

static void an_error_event_gives_code_and_message(void **state)
{
	struct watch_stream w;
	struct seen s = {0};

	watch_stream_init(&w, 0);
	assert_int_equal(feed(&w,
			      "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410,"
			      "\"message\":\"too old\"}}\n",
			      &s, NULL),
			 0);
	assert_int_equal(s.last.type, WATCH_ERROR);
	assert_int_equal(s.last.code, 410);
	assert_string_equal(s.message, "too old");
	watch_stream_done(&w);
}

static void bad_lines_are_refused_and_break_the_stream(void **state)
{
	static const struct {
		const char *line;
		enum err_kind kind;
	} cases[] = {
	    {"{]\n", ERR_BAD_REQUEST},
	    {"[]\n", ERR_INVALID},
	    {"{\"type\":\"ADDED\"}\n", ERR_INVALID},
	    {"{\"type\":1,\"object\":{}}\n", ERR_INVALID},
	    {"{\"type\":\"ADDED\",\"object\":{}}\n", ERR_INVALID},
	    {"{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"resourceVersion\":7}}}\n",
	     ERR_INVALID},
	    {"{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"resourceVersion\":\"x7\"}}}\n",
	     ERR_INVALID},
	    {"{\"type\":\"ADDED\",\"object\":{\"a\":1,\"a\":2}}\n", ERR_BAD_REQUEST},
	    {"{\"type\":\"ADDED\",\"object\":\"\xff\"}\n", ERR_BAD_REQUEST},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct watch_stream w;
		struct seen s = {0};
		struct err why = ERR_INIT;
		watch_stream_init(&w, 0);
		assert_true(feed(&w, cases[i].line, &s, &why) < 0);
		assert_int_equal(why.kind, cases[i].kind);
		assert_int_equal(s.n, 0);
		assert_true(feed(&w, "\n", &s, NULL) < 0);
		watch_stream_done(&w);
	}
}

static void a_line_over_the_maximum_is_refused_before_it_ends(void **state)
{
	struct watch_stream w;
	struct seen s = {0};
	struct err why = ERR_INIT;

	watch_stream_init(&w, 64);
	assert_int_equal(feed(&w, "{\"type\":\"ADDED\",\"object\":{\"metadata\":", &s, NULL), 0);
	assert_true(feed(&w, "{\"resourceVersion\":\"1\",\"and\":\"so on", &s, &why) < 0);
	assert_int_equal(why.kind, ERR_TOO_LARGE);
	watch_stream_done(&w);
}

static void a_refusal_of_the_receiver_ends_the_stream(void **state)
{
	struct watch_stream w;
	struct seen s = {.answer = -7};

	watch_stream_init(&w, 0);
	assert_int_equal(
	    feed(&w,
		 "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"resourceVersion\":\"1\"}}}\n"
		 "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"resourceVersion\":\"2\"}}}\n",
		 &s, NULL),
	    -7);
	assert_int_equal(s.n, 1);
	watch_stream_done(&w);
}

/* ---- lists ---- */

struct items {
	char text[512];
	size_t n;
};

static int on_item(void *arg, struct span item)
{
	struct items *s = arg;
	size_t len = strlen(s->text);

	snprintf(s->text + len, sizeof(s->text) - len, "%.*s;", SPAN_ARGS(item));
	s->n++;
	return 0;
}

static const char list_text[] =
    "{\"kind\":\"PodList\", \"metadata\":{\"resourceVersion\":\"42\",\"continue\":\"a\\u0062\"},"
    "\"items\": [ {\"a\":\"]}\\\"\"} , {\"b\":[{\"c\":{}}]} ], \"extra\": [1, {\"x\":null}] }\n";

static void a_list_gives_its_items_however_it_is_cut(void **state)
{
	for (size_t step = 1; step < sizeof(list_text); step++) {
		struct list_stream l;
		struct items s = {0};
		list_stream_init(&l, 0);
		for (size_t at = 0; at < sizeof(list_text) - 1; at += step) {
			size_t n = sizeof(list_text) - 1 - at;
			assert_int_equal(
			    list_stream_feed(&l, span_make(list_text + at, n < step ? n : step),
					     on_item, &s, NULL),
			    0);
		}
		assert_true(list_stream_complete(&l));
		assert_int_equal(s.n, 2);
		assert_string_equal(s.text, "{\"a\":\"]}\\\"\"};{\"b\":[{\"c\":{}}]};");
		assert_int_equal(l.revision, 42);
		assert_string_equal(l.next, "ab");
		list_stream_done(&l);
	}
}

static void an_incomplete_list_is_not_complete(void **state)
{
	for (size_t len = 0; len < sizeof(list_text) - 3; len++) {
		struct list_stream l;
		struct items s = {0};
		list_stream_init(&l, 0);
		assert_int_equal(list_stream_feed(&l, span_make(list_text, len), on_item, &s, NULL),
				 0);
		assert_false(list_stream_complete(&l));
		list_stream_done(&l);
	}
}

static void items_may_be_missing_null_or_empty(void **state)
{
	static const char *const texts[] = {
	    "{\"metadata\":{\"resourceVersion\":\"1\"}}",
	    "{\"items\":null,\"metadata\":{\"resourceVersion\":\"1\"}}",
	    "{\"items\":[],\"metadata\":{\"resourceVersion\":\"1\",\"continue\":\"\"}}"};

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct list_stream l;
		struct items s = {0};
		list_stream_init(&l, 0);
		assert_int_equal(list_stream_feed(&l, span_of(texts[i]), on_item, &s, NULL), 0);
		assert_true(list_stream_complete(&l));
		assert_null(l.next);
		assert_int_equal(s.n, 0);
		list_stream_done(&l);
	}
}

static void what_is_no_list_is_refused(void **state)
{
	static const char *const texts[] = {
	    "[]",
	    "{\"items\":{}}",
	    "{\"items\":[1]}",
	    "{\"items\":[{}],\"items\":[]}",
	    "{\"items\":[{},]}",
	    "{\"items\":[{}]]",
	    "{\"items\":[{]}]}",
	    "{\"metadata\":{}}",
	    "{\"metadata\":{\"resourceVersion\":\"\"}}",
	    "{\"metadata\":{\"resourceVersion\":\"1\"},\"metadata\":{\"resourceVersion\":\"2\"}}",
	    "{\"metadata\":{\"resourceVersion\":\"1\"}}{}",
	    "{\"a\":tru }",
	    "{\"a\" 1}",
	    "{,}",
	};

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct list_stream l;
		struct items s = {0};
		list_stream_init(&l, 0);
		assert_true(list_stream_feed(&l, span_of(texts[i]), on_item, &s, NULL) < 0);
		assert_false(list_stream_complete(&l));
		list_stream_done(&l);
	}
}

static void an_item_over_the_maximum_is_refused(void **state)
{
	struct list_stream l;
	struct items s = {0};
	struct err why = ERR_INIT;

	list_stream_init(&l, 16);
	assert_true(
	    list_stream_feed(&l, SPAN("{\"items\":[{\"a\":\"0123456789ab"), on_item, &s, &why) < 0);
	assert_int_equal(why.kind, ERR_TOO_LARGE);
	list_stream_done(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(an_event_may_span_many_chunks),
	    cmocka_unit_test(a_chunk_may_hold_many_events),
	    cmocka_unit_test(an_error_event_gives_code_and_message),
	    cmocka_unit_test(bad_lines_are_refused_and_break_the_stream),
	    cmocka_unit_test(a_line_over_the_maximum_is_refused_before_it_ends),
	    cmocka_unit_test(a_refusal_of_the_receiver_ends_the_stream),
	    cmocka_unit_test(a_list_gives_its_items_however_it_is_cut),
	    cmocka_unit_test(an_incomplete_list_is_not_complete),
	    cmocka_unit_test(items_may_be_missing_null_or_empty),
	    cmocka_unit_test(what_is_no_list_is_refused),
	    cmocka_unit_test(an_item_over_the_maximum_is_refused),
	};
	return cmocka_run_group_tests_name("streams", tests, NULL, NULL);
}

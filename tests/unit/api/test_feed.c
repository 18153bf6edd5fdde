/* What of a store's log comes to whom, in how many frames. */
#include "api/feed.h"

#include "api/render.h"
#include "base/json.h"
#include "kinds/kinds.h"
#include "kinds/types.h"
#include "kube/object.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <uv.h>

#include <cmocka.h>

#define NOW  ((usec)1800000000 * USEC_PER_SEC)
#define MANY 3000

/* A watcher that keeps what it is told. */
struct listener {
	struct feed_watcher feed; /* first */
	struct selector selector;
	struct render render;
	struct feed *of;
	struct buf told;
	int frames, events, fell, overran;
	bool blocked;
};

static struct world {
	uv_loop_t loop;
	struct mailbox mailbox;
	struct store *store;
	struct feed *feed;
} w;

static int setup(void **state)
{
	(void)state;
	if (uv_loop_init(&w.loop) < 0 || mailbox_open(&w.mailbox, &w.loop) < 0)
		return -1;
	if (store_open_memory(&(struct store_options){.first_revision = STORE_FIRST_REVISION},
			      &w.store, NULL) < 0)
		return -1;
	w.feed = feed_create(w.store, &w.mailbox);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	feed_destroy(w.feed);
	mailbox_close(&w.mailbox);
	(void)uv_run(&w.loop, UV_RUN_DEFAULT);
	store_close(w.store);
	return uv_loop_close(&w.loop);
}

static void flush(struct feed_watcher *fw)
{
	struct listener *l = (struct listener *)fw;
	while (!l->blocked && fw->queue.len) {
		const struct feed_frame *fr = feed_queue_peek(&fw->queue, 0);
		struct span chunk = feed_frame_chunk(fr);
		assert_int_equal(strtoul(chunk.ptr, NULL, 16), fr->len);
		buf_add_span(&l->told, feed_frame_text(fr));
		l->frames++;
		l->events += (int)fr->events;
		fw->cursor = fr->last;
		feed_queue_pop(&fw->queue);
	}
}

static void fell_behind(struct feed_watcher *fw)
{
	((struct listener *)fw)->fell++;
}

static void overrun(struct feed_watcher *fw)
{
	struct listener *l = (struct listener *)fw;
	l->overran++;
	feed_leave(l->of, fw);
}

static void join(struct listener *l, const char *labels, uint64_t cursor)
{
	const struct kind *k = kind_by_type(kinds_hub(), TYPE_CONFIG_MAP);
	*l = (struct listener){.of = w.feed};
	l->render = (struct render){.kinds = kinds_hub(), .kind = k, .form = FORM_JSON};
	assert_int_equal(selector_add_labels(&l->selector, span_of(labels), NULL), 0);
	l->feed = (struct feed_watcher){.selector = &l->selector,
					.needs_old = feed_needs_old(&l->selector),
					.render = &l->render,
					.cursor = cursor ? cursor : feed_revision(w.feed),
					.flush = flush,
					.fell_behind = fell_behind,
					.overrun = overrun};
	feed_join(w.feed, &l->feed, TYPE_CONFIG_MAP, SPAN("default"), SPAN_NONE);
}

static void leave(struct listener *l)
{
	feed_leave(w.feed, &l->feed);
	selector_done(&l->selector);
	buf_done(&l->told);
}

static void put(const char *name, const char *label, size_t padding)
{
	const struct kind *k = kind_by_type(kinds_hub(), TYPE_CONFIG_MAP);
	struct store_key key = {TYPE_CONFIG_MAP, SPAN("default"), span_of(name)};
	struct object_draft draft;
	struct store_change change;
	auto_json *tree = NULL;
	struct buf text = BUF_INIT;
	buf_addf(&text,
		 "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"%s\","
		 "\"namespace\":\"default\",\"uid\":\"11111111-1111-4111-8111-111111111111\","
		 "\"labels\":{\"l\":\"%s\"},\"creationTimestamp\":\"2026-11-21T00:00:00Z\"},"
		 "\"data\":{\"pad\":\"",
		 name, label);
	for (size_t i = 0; i < padding; i++)
		buf_add_char(&text, 'x');
	buf_add_str(&text, "\"}}");
	assert_int_equal(json_parse(buf_span(&text), NULL, &tree, NULL), 0);
	assert_int_equal(object_draft_from_tree(k, tree, &draft, NULL), 0);
	object_draft_change(&draft, &key, &change);
	assert_int_equal(store_apply(w.store, &change, 1, NOW, NULL), 0);
	object_draft_done(&draft);
	buf_done(&text);
}

/* Until the feed has seen all, and has nothing more to do. */
static void settle(void)
{
	feed_wake(w.feed);
	while (feed_revision(w.feed) < store_revision(w.store) || !mailbox_is_empty(&w.mailbox))
		(void)uv_run(&w.loop, UV_RUN_ONCE);
}

static void rows_of_one_read_are_one_frame_in_their_order(void **state)
{
	struct listener a, b;
	const char *one, *two;
	(void)state;
	join(&a, "", 0);
	join(&b, "", 0);
	put("one", "x", 10);
	put("two", "x", 10);
	settle();
	assert_int_equal(a.frames, 1);
	assert_int_equal(a.events, 2);
	assert_int_equal(b.frames, 1);
	assert_true(a.feed.cursor == store_revision(w.store));
	assert_true(buf_ok(&a.told) && span_eq(buf_span(&a.told), buf_span(&b.told)));
	buf_add_char(&a.told, '\0');
	one = strstr(a.told.ptr, "\"name\":\"one\"");
	two = strstr(a.told.ptr, "\"name\":\"two\"");
	assert_true(one && two && one < two);
	leave(&a);
	leave(&b);
}

static void a_selector_makes_frames_of_its_own(void **state)
{
	struct listener all, some;
	(void)state;
	join(&all, "", 0);
	join(&some, "l=y", 0);
	put("one", "x", 10);
	put("two", "y", 10);
	put("three", "x", 10);
	settle();
	assert_int_equal(all.events, 3);
	assert_int_equal(some.events, 1);
	buf_add_char(&some.told, '\0');
	assert_non_null(strstr(some.told.ptr, "\"name\":\"two\""));
	leave(&all);
	leave(&some);
}

static void who_is_ahead_of_the_feed_is_not_told_twice(void **state)
{
	struct listener a;
	(void)state;
	put("one", "x", 10);
	put("two", "x", 10);
	join(&a, "", store_revision(w.store));
	settle();
	assert_int_equal(a.events, 0);
	put("three", "x", 10);
	put("four", "x", 10);
	settle();
	assert_int_equal(a.events, 2);
	assert_int_equal(a.frames, 1); /* as the others by now */
	leave(&a);
}

/* A bookmark names no revision before that of an event that was sent, nor one whose rows a watcher
 * has not been told. */
static void what_a_watcher_was_told_never_goes_back(void **state)
{
	struct listener ahead, live;
	(void)state;
	join(&live, "", 0);
	uint64_t before = feed_revision(w.feed);
	put("one", "x", 10);
	put("two", "x", 10);
	join(&ahead, "", store_revision(w.store)); /* from the log, and the feed has not read it */
	assert_true(feed_revision(w.feed) < store_revision(w.store));
	assert_int_equal(feed_told(w.feed, &ahead.feed), store_revision(w.store));
	assert_int_equal(feed_told(w.feed, &live.feed), before);
	settle();
	assert_int_equal(feed_told(w.feed, &live.feed), store_revision(w.store));
	leave(&live);
	join(&live, "l=y", 0);
	put("three", "x", 10); /* which is nothing to the second one */
	settle();
	assert_int_equal(live.events, 0);
	assert_int_equal(feed_told(w.feed, &live.feed), store_revision(w.store));
	feed_leave(w.feed, &live.feed);
	put("four", "x", 10);
	settle();
	assert_int_equal(feed_told(w.feed, &live.feed), live.feed.cursor);
	leave(&live);
	leave(&ahead);
}

static void long_texts_are_told_in_several_frames(void **state)
{
	struct listener a;
	char name[16];
	(void)state;
	join(&a, "", 0);
	for (int i = 0; i < 10; i++) {
		snprintf(name, sizeof(name), "n-%d", i);
		put(name, "x", 30000);
	}
	settle();
	assert_int_equal(a.events, 10);
	assert_true(a.frames > 3);
	leave(&a);
}

static void what_comes_while_the_feed_rests_is_told_without_another_wake(void **state)
{
	struct listener *all = xcalloc(MANY, sizeof(*all));
	(void)state;
	for (int i = 0; i < MANY; i++)
		join(&all[i], "", 0);
	put("one", "x", 10);
	settle();
	assert_int_equal(all[0].events, 1);
	assert_int_equal(all[MANY - 1].events, 1);
	put("two", "x", 10);
	put("three", "x", 10);
	settle();
	for (int i = 0; i < MANY; i++) {
		assert_int_equal(all[i].events, 3);
		assert_int_equal(all[i].frames, 2);
		leave(&all[i]);
	}
	free(all);
}

static void who_takes_nothing_is_overrun_beside_one_who_reads(void **state)
{
	struct listener slow, reader;
	char name[16];
	(void)state;
	join(&reader, "", 0);
	join(&slow, "", 0);
	slow.blocked = true;
	for (int i = 0; i < 10; i++) {
		snprintf(name, sizeof(name), "n-%d", i);
		put(name, "x", 600000);
		settle();
	}
	assert_int_equal(slow.overran, 1);
	assert_int_equal(slow.feed.queue.len, 0);
	assert_int_equal(reader.events, 10);
	assert_int_equal(reader.overran, 0);
	leave(&reader);
	leave(&slow);
}

static void rest_grows_with_the_crowd_to_a_bound(void **state)
{
	(void)state;
	assert_int_equal(feed_rest(0), 0);
	assert_int_equal(feed_rest(10), 0);
	assert_int_equal(feed_rest(1000), 1000 * FEED_REST_EACH);
	assert_int_equal(feed_rest(100000), FEED_REST_MAX);
}

#define test(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    test(rows_of_one_read_are_one_frame_in_their_order),
	    test(a_selector_makes_frames_of_its_own),
	    test(who_is_ahead_of_the_feed_is_not_told_twice),
	    test(what_a_watcher_was_told_never_goes_back),
	    test(long_texts_are_told_in_several_frames),
	    test(what_comes_while_the_feed_rests_is_told_without_another_wake),
	    test(who_takes_nothing_is_overrun_beside_one_who_reads),
	    cmocka_unit_test(rest_grows_with_the_crowd_to_a_bound),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Who waits for a revision, who goes on, and when. */
#include "request.h"

#include "api/await_revision.h"
#include "kinds/kinds.h"
#include "kinds/types.h"

static struct world {
	uv_loop_t loop;
	struct api api;
	struct api_listener listener;
	struct backend backend;
	struct store *store;
	struct arena mem;
} w;

/* A request that may wait, and whether it has gone on. */
struct waiter {
	struct call call; /* first */
	struct http_request request;
	char revision[32];
	int went;
};

static int setup(void **state)
{
	(void)state;
	w = (struct world){0};
	if (uv_loop_init(&w.loop) < 0 || mailbox_open(&w.api.mailbox, &w.loop) < 0 ||
	    store_open_memory(&(struct store_options){.first_revision = STORE_FIRST_REVISION},
			      &w.store, NULL) < 0)
		return -1;
	w.backend = (struct backend){.kinds = kinds_hub(), .truth = w.store};
	w.listener.api = &w.api;
	w.listener.backend = &w.backend;
	w.api.listeners = &w.listener;
	await_revision_init(&w.listener);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	mailbox_close(&w.api.mailbox);
	uv_run(&w.loop, UV_RUN_DEFAULT);
	arena_done(&w.mem);
	store_close(w.store);
	return uv_loop_close(&w.loop);
}

static void go(struct call *c)
{
	((struct waiter *)c)->went++;
}

/* Whether a request for the revision, so many after the store's, has to wait. */
static bool asks_to(struct waiter *a, uint64_t ahead, void (*then)(struct call *c))
{
	*a = (struct waiter){0};
	snprintf(a->revision, sizeof(a->revision), "%llu",
		 (unsigned long long)(store_revision(w.store) + ahead));
	a->request.params[0].name = SPAN("resourceVersion");
	a->request.params[0].value = span_of(a->revision);
	a->request.n_params = 1;
	a->call = (struct call){.listener = &w.listener,
				.mem = &w.mem,
				.request = &a->request,
				.kind = kind_by_type(kinds_hub(), TYPE_CONFIG_MAP)};
	return await_revision(&a->call, then);
}

static bool asks(struct waiter *a, uint64_t ahead)
{
	return asks_to(a, ahead, go);
}

static void commit(void)
{
	static int made;
	struct store_change change = {.op = STORE_PUT};
	char name[16];
	struct err e = ERR_INIT;
	snprintf(name, sizeof(name), "c%d", made++);
	change.key = (struct store_key){TYPE_CONFIG_MAP, SPAN("default"), span_of(name)};
	change.json = SPAN("{\"metadata\":{}}");
	if (store_apply(w.store, &change, 1, 1, &e) < 0)
		fail_msg("%s", e.text);
}

/* What the core and the loop do after a commit. */
static void tell(void)
{
	await_revision_committed(&w.listener);
	mailbox_drain(&w.api.mailbox);
}

static size_t waiting(void)
{
	return atomic_load(&w.listener.waits.n);
}

static void what_is_there_is_not_waited_for(void **state)
{
	static const char *const texts[] = {"", "0", "x", "-1", "99999999999999999999"};
	struct waiter a;
	(void)state;
	assert_false(asks(&a, 0));
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		(void)asks(&a, 0);
		a.request.params[0].value = span_of(texts[i]);
		assert_false(await_revision(&a.call, go));
	}
	a.request.n_params = 0;
	assert_false(await_revision(&a.call, go));
	assert_int_equal(waiting(), 0);
}

static void a_commit_lets_those_go_whose_revision_it_brought(void **state)
{
	struct waiter one, two, three;
	(void)state;
	assert_true(asks(&one, 1));
	assert_true(asks(&three, 3));
	assert_true(asks(&two, 2));
	assert_int_equal(waiting(), 3);
	tell();
	assert_int_equal(waiting(), 3);
	commit();
	tell();
	assert_int_equal(one.went, 1);
	assert_int_equal(two.went + three.went, 0);
	commit();
	commit();
	tell();
	assert_int_equal(one.went, 1);
	assert_int_equal(two.went, 1);
	assert_int_equal(three.went, 1);
	assert_int_equal(waiting(), 0);
	tell(); /* nobody is left to be told */
	assert_true(mailbox_is_empty(&w.api.mailbox));
}

static void commits_in_a_row_post_one_task(void **state)
{
	struct waiter a;
	(void)state;
	await_revision_committed(&w.listener);
	assert_true(mailbox_is_empty(&w.api.mailbox)); /* nobody waits */
	assert_true(asks(&a, 2));
	commit();
	await_revision_committed(&w.listener);
	commit();
	await_revision_committed(&w.listener);
	mailbox_drain(&w.api.mailbox);
	assert_int_equal(a.went, 1);
	assert_true(mailbox_is_empty(&w.api.mailbox));
}

static void patience_ends_after_three_seconds(void **state)
{
	struct waiter a;
	usec before = clock_monotonic(), after;
	(void)state;
	assert_true(asks(&a, 5));
	after = clock_monotonic();
	await_revision_tick(&w.api, before + 3 * USEC_PER_SEC - 1, false);
	assert_int_equal(a.went, 0);
	await_revision_tick(&w.api, after + 3 * USEC_PER_SEC, false);
	assert_int_equal(a.went, 1);
	assert_int_equal(waiting(), 0);
}

static void the_end_lets_everybody_go_and_nobody_in(void **state)
{
	struct waiter a, b;
	(void)state;
	assert_true(asks(&a, 1));
	assert_true(asks(&b, 1));
	w.api.closing = true;
	await_revision_tick(&w.api, clock_monotonic(), true);
	assert_int_equal(a.went, 1);
	assert_int_equal(b.went, 1);
	assert_false(asks(&a, 1));
	assert_int_equal(waiting(), 0);
}

/* One that goes on may wait again, as a watch does that is refused. */
static struct waiter again;
static bool waits_again;

static void ask_again(struct call *c)
{
	(void)c;
	waits_again = asks(&again, 7);
}

static void who_goes_on_may_wait_again(void **state)
{
	struct waiter a;
	(void)state;
	assert_true(asks_to(&a, 1, ask_again));
	commit();
	tell();
	assert_true(waits_again);
	assert_int_equal(waiting(), 1);
	await_revision_tick(&w.api, 0, true);
	assert_int_equal(again.went, 1);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
	    TEST(what_is_there_is_not_waited_for),
	    TEST(a_commit_lets_those_go_whose_revision_it_brought),
	    TEST(commits_in_a_row_post_one_task),
	    TEST(patience_ends_after_three_seconds),
	    TEST(the_end_lets_everybody_go_and_nobody_in),
	    TEST(who_goes_on_may_wait_again),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

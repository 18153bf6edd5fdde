#include "fixture.h"
#include "registry/inbox.h"
#include <pthread.h>

static struct fixture f;
static struct inbox *in;
static struct wakeup *wake;

static int setup(void **state)
{
	struct err e = ERR_INIT;
	fixture_open(&f);
	assert_int_equal(wakeup_create(&wake, &e), 0);
	in = inbox_create(&(struct inbox_options){.kinds = registry_kinds(f.reg),
						  .truth = f.truth,
						  .mirror = f.mirror,
						  .version = "v1.34.0",
						  .wakeup = wake,
						  .max_commands = 3});
	return 0;
}

static int teardown(void **state)
{
	inbox_destroy(in);
	wakeup_destroy(wake);
	fixture_close(&f);
	return 0;
}

static void count_done(struct command *c)
{
	*(int *)c->origin += 1;
	command_destroy(c);
}

static struct command *named(const char *name, int *counter)
{
	char text[256];
	snprintf(text, sizeof(text),
		 "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'%s','namespace':'team',"
		 "'uid':'%s'}}",
		 name, fixture_uid(1));
	struct command *c =
	    fixture_command(COMMAND_CREATE, &kind_config_map, "team", name, text, 0);
	c->origin = counter;
	c->done = count_done;
	return c;
}

static void a_full_inbox_refuses_and_does_not_take(void **state)
{
	static int answered;
	answered = 0;
	struct err e = ERR_INIT;
	for (int i = 0; i < 3; i++)
		assert_int_equal(inbox_submit(in, named("x", &answered), &e), 0);
	struct command *c = named("y", &answered);
	assert_int_equal(inbox_submit(in, c, &e), err_errno(ERR_TOO_MANY));
	assert_int_equal(e.kind, ERR_TOO_MANY);
	command_destroy(c);
	assert_int_equal(inbox_depth(in), 3);
}

static void bytes_are_bounded_too(void **state)
{
	static int answered;
	answered = 0;
	struct err e = ERR_INIT;
	struct inbox *small = inbox_create(&(struct inbox_options){.max_bytes = 1000});
	assert_int_equal(inbox_submit(small, named("a", &answered), &e), 0);
	struct command *c = named("b", &answered);
	assert_int_equal(inbox_submit(small, c, &e), err_errno(ERR_TOO_MANY));
	command_destroy(c);
	inbox_destroy(small);
	assert_int_equal(answered, 1); /* the one inside, told that the server goes down */
}

static void order_is_kept_and_a_returned_command_is_next(void **state)
{
	static int answered;
	answered = 0;
	struct err e = ERR_INIT;
	assert_int_equal(inbox_submit(in, named("a", &answered), &e), 0);
	assert_int_equal(inbox_submit(in, named("b", &answered), &e), 0);
	struct command *c = inbox_take(in);
	assert_string_equal(c->name, "a");
	inbox_untake(in, c);
	assert_false(inbox_is_empty(in));
	c = inbox_take(in);
	assert_string_equal(c->name, "a");
	command_destroy(c);
	c = inbox_take(in);
	assert_string_equal(c->name, "b");
	command_destroy(c);
	assert_null(inbox_take(in));
}

static void a_shut_inbox_takes_nothing(void **state)
{
	static int answered;
	answered = 0;
	struct err e = ERR_INIT;
	inbox_shut(in);
	struct command *c = named("a", &answered);
	assert_int_equal(inbox_submit(in, c, &e), err_errno(ERR_UNAVAILABLE));
	command_destroy(c);
}

static void an_ended_inbox_answers_what_waits_and_takes_nothing(void **state)
{
	static int answered;
	answered = 0;
	struct err e = ERR_INIT;
	assert_int_equal(inbox_submit(in, named("a", &answered), &e), 0);
	assert_int_equal(inbox_submit(in, named("b", &answered), &e), 0);
	struct command *c = inbox_take(in);
	inbox_untake(in, c);
	inbox_end(in);
	assert_int_equal(answered, 2);
	assert_true(inbox_is_empty(in));
	c = named("c", &answered);
	assert_int_equal(inbox_submit(in, c, &e), err_errno(ERR_UNAVAILABLE));
	command_destroy(c);
}

static void on_commit(void *arg, struct store *store, uint64_t revision)
{
	if (store == f.truth)
		*(uint64_t *)arg = revision;
}

static void a_batch_is_published_and_answered_after_its_commit(void **state)
{
	static int answered;
	answered = 0;
	static uint64_t told;
	told = 0;
	struct err e = ERR_INIT;
	struct registry_batch *b;
	static struct backend_listener l = {.committed = on_commit, .arg = &told};
	struct backend *back = inbox_backend(in);
	assert_null(back->ops->proxy);
	back->ops->listen(back, &l);
	assert_int_equal(back->ops->submit(back, named("a", &answered), &e), 0);
	assert_int_equal(back->ops->submit(back, named("b", &answered), &e), 0);
	assert_int_equal(registry_begin(f.reg, f.now, &b, &e), 0);
	inbox_drain(in, b);
	assert_int_equal(answered, 0);
	assert_int_equal(registry_commit(b, &e), 0);
	assert_int_equal(told, 0);
	inbox_release(in, b);
	registry_end(b);
	assert_int_equal(answered, 2);
	assert_int_equal(told, store_revision(f.truth));
	assert_true(inbox_is_empty(in));
}

static void *send_some(void *arg)
{
	struct err e = ERR_INIT;
	for (int i = 0; i < 500; i++) {
		struct command *c = command_create(COMMAND_QUERY, &kind_job, SPAN(""), SPAN(""));
		c->done = count_done;
		c->origin = arg;
		while (inbox_submit(in, c, &e))
			;
	}
	return NULL;
}

static void senders_wake_a_sleeping_core(void **state)
{
	static int answered;
	int taken = 0;
	answered = 0;
	pthread_t threads[3];
	for (int i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, send_some, &answered), 0);
	usec until = clock_monotonic() + 60 * USEC_PER_SEC;
	while (taken < 1500) {
		struct command *c = inbox_take(in);
		if (c) {
			taken++;
			c->done(c);
		} else if (!wakeup_wait(wake, until)) {
			fail_msg("no wake-up after %d commands", taken);
		}
	}
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(answered, 1500);
}

static void a_wait_ends_at_its_time(void **state)
{
	assert_false(wakeup_wait(wake, clock_monotonic()));
	wakeup_ring(wake);
	wakeup_ring(wake);
	assert_true(wakeup_wait(wake, INT64_MAX));
	assert_false(wakeup_wait(wake, clock_monotonic()));
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(a_full_inbox_refuses_and_does_not_take),
	    T(bytes_are_bounded_too),
	    T(order_is_kept_and_a_returned_command_is_next),
	    T(a_shut_inbox_takes_nothing),
	    T(an_ended_inbox_answers_what_waits_and_takes_nothing),
	    T(a_batch_is_published_and_answered_after_its_commit),
	    T(senders_wake_a_sleeping_core),
	    T(a_wait_ends_at_its_time),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

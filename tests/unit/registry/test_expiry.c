#include "fixture.h"

#define HOUR (3600 * USEC_PER_SEC)

static struct fixture f;

static int setup(void **state)
{
	fixture_open(&f);
	return 0;
}

static int teardown(void **state)
{
	fixture_close(&f);
	return 0;
}

static uint64_t event(const char *name, int uid, const char *note, uint64_t revision)
{
	char text[400], now[CLOCK_TEXT_MAX];
	static char created[CLOCK_TEXT_MAX];
	clock_format(f.now, now);
	if (!revision)
		memcpy(created, now, sizeof(created));
	snprintf(text, sizeof(text),
		 "{'apiVersion':'v1','kind':'Event','metadata':{'name':'%s','namespace':'team',"
		 "'uid':'%s','creationTimestamp':'%s'},'message':'%s','lastTimestamp':'%s'}",
		 name, fixture_uid(uid), created, note, now);
	if (revision)
		return fixture_update(&f, &kind_event, "team", name, text, revision);
	return fixture_create(&f, &kind_event, "team", name, text);
}

static bool exists(const char *name)
{
	return fixture_revision(&f, &kind_event, "team", name) > 0;
}

/* The most that an Event lives longer than an hour. */
#define SLACK (HOUR / 20 + USEC_PER_SEC)

static void an_event_lives_one_hour(void **state)
{
	event("a", 1, "x", 0);
	f.now += HOUR / 2;
	event("b", 2, "x", 0);
	fixture_work(&f, 64);
	assert_true(exists("a"));
	f.now += HOUR / 2 - 2 * USEC_PER_SEC;
	fixture_work(&f, 64);
	assert_true(exists("a"));
	f.now += SLACK;
	assert_true(registry_due(f.reg) <= f.now);
	fixture_work(&f, 64);
	assert_false(exists("a"));
	assert_true(exists("b"));
	f.now += HOUR / 2;
	fixture_work(&f, 64);
	assert_false(exists("b"));
	assert_true(registry_due(f.reg) > f.now + HOUR);
}

static void an_update_renews_its_life(void **state)
{
	uint64_t r = event("a", 1, "x", 0);
	f.now += HOUR - USEC_PER_SEC;
	event("a", 1, "again", r);
	f.now += HOUR - 2 * USEC_PER_SEC;
	fixture_work(&f, 64);
	assert_true(exists("a"));
	f.now += SLACK;
	fixture_work(&f, 64);
	assert_false(exists("a"));
}

static void expiry_goes_on_after_a_restart_in_bounded_steps(void **state)
{
	for (int i = 0; i < 50; i++) {
		char name[16];
		snprintf(name, sizeof(name), "e%d", i);
		event(name, 10 + i, "x", 0);
	}
	f.now += 2 * HOUR;
	fixture_reopen(&f);
	event("young", 1, "x", 0);
	assert_true(fixture_work(&f, 24) >= 4);
	assert_int_equal(fixture_count(&f, &kind_event, "team"), 1);
	assert_true(exists("young"));
}

static void other_kinds_do_not_expire(void **state)
{
	fixture_job(&f, "job", 1, "");
	f.now += 48 * HOUR;
	fixture_work(&f, 64);
	assert_true(fixture_revision(&f, &kind_job, "team", "job") > 0);
}

static void a_clock_ahead_does_not_keep_an_event_for_ever(void **state)
{
	usec now = f.now;
	f.now += 1000 * HOUR;
	char ahead[CLOCK_TEXT_MAX], text[400], created[CLOCK_TEXT_MAX];
	clock_format(f.now, ahead);
	f.now = now;
	snprintf(text, sizeof(text),
		 "{'apiVersion':'v1','kind':'Event','metadata':{'name':'a','namespace':'team',"
		 "'uid':'%s','creationTimestamp':'%s'},'lastTimestamp':'%s'}",
		 fixture_uid(1), clock_format(now, created), ahead);
	fixture_create(&f, &kind_event, "team", "a", text);
	f.now += HOUR + SLACK;
	fixture_work(&f, 64);
	assert_false(exists("a"));
}

static void a_short_log_does_not_shorten_lives(void **state)
{
	struct err e = ERR_INIT;
	struct store_options small = {.log_max_bytes = 4096};
	f.reg = registry_close(f.reg);
	store_close(f.mirror);
	assert_int_equal(store_open_memory(&small, &f.mirror, &e), 0);
	fixture_reopen(&f);
	for (int i = 0; i < 60; i++) {
		char name[16];
		snprintf(name, sizeof(name), "e%02d", i);
		event(name, 10 + i, "x", 0);
	}
	assert_true(store_floor(f.mirror) > 10);
	f.now += HOUR / 2;
	fixture_reopen(&f);
	fixture_work(&f, 24);
	assert_int_equal(fixture_count(&f, &kind_event, "team"), 60);
	f.now += HOUR / 2 + SLACK;
	fixture_work(&f, 24);
	assert_int_equal(fixture_count(&f, &kind_event, "team"), 0);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(an_event_lives_one_hour),
	    T(an_update_renews_its_life),
	    T(expiry_goes_on_after_a_restart_in_bounded_steps),
	    T(other_kinds_do_not_expire),
	    T(a_clock_ahead_does_not_keep_an_event_for_ever),
	    T(a_short_log_does_not_shorten_lives),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

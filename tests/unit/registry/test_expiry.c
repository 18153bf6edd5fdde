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
	char text[256];
	snprintf(text, sizeof(text),
		 "{'apiVersion':'v1','kind':'Event','metadata':{'name':'%s','namespace':'team',"
		 "'uid':'%s'},'message':'%s'}",
		 name, fixture_uid(uid), note);
	if (revision)
		return fixture_update(&f, &kind_event, "team", name, text, revision);
	return fixture_create(&f, &kind_event, "team", name, text);
}

static bool exists(const char *name)
{
	return fixture_revision(&f, &kind_event, "team", name) > 0;
}

static void an_event_lives_one_hour(void **state)
{
	event("a", 1, "x", 0);
	f.now += HOUR / 2;
	event("b", 2, "x", 0);
	fixture_work(&f, 64);
	assert_true(exists("a"));
	f.now += HOUR / 2 + USEC_PER_SEC;
	assert_true(registry_due(f.reg) <= f.now);
	fixture_work(&f, 64);
	assert_false(exists("a"));
	assert_true(exists("b"));
	f.now += HOUR;
	fixture_work(&f, 64);
	assert_false(exists("b"));
}

static void an_update_renews_its_life(void **state)
{
	uint64_t r = event("a", 1, "x", 0);
	f.now += HOUR - USEC_PER_SEC;
	event("a", 1, "again", r);
	f.now += HOUR - USEC_PER_SEC;
	fixture_work(&f, 64);
	assert_true(exists("a"));
	f.now += 2 * USEC_PER_SEC;
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

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(an_event_lives_one_hour),
	    T(an_update_renews_its_life),
	    T(expiry_goes_on_after_a_restart_in_bounded_steps),
	    T(other_kinds_do_not_expire),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

#ifndef TESTS_MEMBER_SYNC_NET_TEST_H
#define TESTS_MEMBER_SYNC_NET_TEST_H
/*
 * The whole net thread against a scripted API server: what the core hears, fault by fault
 * (reliability-performance.md, fault catalogue "Member API"). What the files test_net_*.c share.
 */
#include "net_harness.h"

#include "kube/object.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#define OTHER_UID "22222222-2222-4333-8444-555555555555"

static inline int setup(void **state)
{
	*state = harness_create();
	return 0;
}

static inline int teardown(void **state)
{
	harness_destroy(*state);
	return 0;
}

static inline const char *message_of(struct harness *h, size_t i)
{
	return harness_fact(h, i)->member_state.message;
}

static inline void assert_contains(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("\"%s\" does not contain \"%s\"", text, part);
}

/* Joins a healthy member with one node "a" at revision 5, list revision 10; synced. */
static inline size_t join_healthy(struct harness *h, const struct fake_member_options *o)
{
	harness_start_member(h, o);
	fake_member_set_list(h->member, "nodes", "10", node_json("a", 5));
	harness_join(h, 1, "m1", NULL, NULL);
	size_t at = await_condition(h, 0, MEMBER_READY);
	await_op(h, at, FACT_LIST_END, STREAM_PODS);
	return await_op(h, at, FACT_LIST_END, STREAM_NODES);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
/* All tests, or those whose name matches the program's argument. */
#define RUN_NET(name, ...)                                                                         \
	int main(int argc, char **argv)                                                            \
	{                                                                                          \
		const struct CMUnitTest tests[] = {__VA_ARGS__};                                   \
		if (argc > 1)                                                                      \
			cmocka_set_test_filter(argv[1]);                                           \
		return cmocka_run_group_tests_name(name, tests, NULL, NULL);                       \
	}

#endif

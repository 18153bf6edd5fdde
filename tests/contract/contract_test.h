#ifndef TESTS_CONTRACT_CONTRACT_TEST_H
#define TESTS_CONTRACT_CONTRACT_TEST_H
/*
 * The contract of store.h, run against every backend. What the files test_contract*.c share: each
 * names its tests with RUN_CONTRACT, and runs all of them once with each backend.
 */
#include "fixture.h"

static const struct store_range all_of_1 = {.type = 1};

static inline void assert_extent(const struct store_object *o, struct store_extent e,
				 const char *want)
{
	assert_true(span_is(span_make(o->json.ptr + e.at, e.len), want));
}

static inline int count_rows(void *arg, const struct store_log_row *row)
{
	(void)row;
	++*(int *)arg;
	return 0;
}

static inline int setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));
	fixture_init(f, *(enum fixture_backend *)*state);
	fixture_open(f);
	*state = f;
	return 0;
}

static inline int teardown(void **state)
{
	fixture_done(*state);
	free(*state);
	return 0;
}

struct contract_test {
	const char *name;
	CMUnitTestFunction run;
};

#define CONTRACT_MAX_TESTS 64

static inline int run_contract(const struct contract_test *tests, size_t n)
{
	static enum fixture_backend backends[BACKEND_MAX];
	int failed = 0;

	for (size_t b = 0; b < BACKEND_MAX; b++) {
		/* cmocka passes over the empty ones. */
		struct CMUnitTest group[CONTRACT_MAX_TESTS] = {0};
		backends[b] = (enum fixture_backend)b;
		for (size_t i = 0; i < n; i++)
			group[i] = (struct CMUnitTest){tests[i].name, tests[i].run, setup, teardown,
						       &backends[b]};
		printf("# %s\n", fixture_backend_name(backends[b]));
		fflush(stdout);
		failed += cmocka_run_group_tests_name(fixture_backend_name(backends[b]), group,
						      NULL, NULL);
	}
	return failed != 0;
}

#define T(name)                                                                                    \
	{                                                                                          \
#name, name                                                                        \
	}
#define RUN_CONTRACT(...)                                                                          \
	int main(void)                                                                             \
	{                                                                                          \
		static const struct contract_test tests[] = {__VA_ARGS__};                         \
		return run_contract(tests, ARRAY_LEN(tests));                                      \
	}

#endif

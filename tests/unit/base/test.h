#ifndef TESTS_UNIT_BASE_TEST_H
#define TESTS_UNIT_BASE_TEST_H
/* cmocka wants these three first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>

#define RUN(...)                                                                                   \
	int main(void)                                                                             \
	{                                                                                          \
		const struct CMUnitTest tests[] = {__VA_ARGS__};                                   \
		return cmocka_run_group_tests(tests, NULL, NULL);                                  \
	}
#define T cmocka_unit_test

#endif

#ifndef TESTS_CORE_SEEDS_H
#define TESTS_CORE_SEEDS_H
/*
 * What the simulations share: numbers that follow from a seed, and which seeds are run.
 * SIM_SEEDS=first:count runs others than the suite's. The seed of a run that fails is told.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static uint64_t seeds_current;

static inline uint64_t seeds_begin(uint64_t seed)
{
	return seed * 0x9e3779b97f4a7c15ULL + 1;
}

/* From 0 to below n; xorshift. */
static inline unsigned seeds_below(uint64_t *random, unsigned n)
{
	*random ^= *random << 13;
	*random ^= *random >> 7;
	*random ^= *random << 17;
	return (unsigned)((*random >> 11) % n);
}

/* The suite's seeds are 1 to `count`, and those of `more`, a list that ends with 0, or NULL. */
static inline void seeds_run(void (*run)(uint64_t seed), unsigned long count, const uint64_t *more)
{
	const char *given = getenv("SIM_SEEDS");
	unsigned long first = 1;

	if (given && sscanf(given, "%lu:%lu", &first, &count) < 1)
		fail_msg("SIM_SEEDS=first:count");
	for (unsigned long i = 0; i < count; i++) {
		seeds_current = first + i;
		if (given)
			print_message("seed %lu\n", first + i);
		run(seeds_current);
	}
	for (; !given && more && *more; more++)
		run(seeds_current = *more);
	seeds_current = 0;
}

/* Teardown of the test. */
static inline int seeds_tell(void **state)
{
	(void)state;
	if (seeds_current)
		print_error("seed %lu\n", (unsigned long)seeds_current);
	return 0;
}

#endif

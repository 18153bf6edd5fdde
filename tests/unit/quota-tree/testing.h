#ifndef TESTS_UNIT_QUOTA_TREE_TESTING_H
#define TESTS_UNIT_QUOTA_TREE_TESTING_H
/*
 * What the tests of this room share: cmocka, a seeded random source, and short literals for trees.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "quota-tree/elastic_queue.h"

#define UNLIMITED QUOTA_UNLIMITED

/* splitmix64: the same numbers on every machine. */
static inline uint64_t test_random(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15u);
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

/* In [0, n). */
static inline uint32_t test_below(uint64_t *state, uint32_t n)
{
	return (uint32_t)(test_random(state) % n);
}

#define Q(name, amount)                                                                            \
	{                                                                                          \
		.resource = {name, sizeof(name) - 1}, .value = (amount)                            \
	}
#define LIST(...)                                                                                  \
	{                                                                                          \
		.items = (const struct elastic_quantity[]){__VA_ARGS__},                           \
		.len = ARRAY_LEN(((const struct elastic_quantity[]){__VA_ARGS__}))                 \
	}
#define NAMESPACES(...)                                                                            \
	.namespaces = (const struct span[]){__VA_ARGS__},                                          \
	.n_namespaces = ARRAY_LEN(((const struct span[]){__VA_ARGS__}))
#define CHILDREN(...)                                                                              \
	.children = (const struct elastic_node_spec[]){__VA_ARGS__},                               \
	.n_children = ARRAY_LEN(((const struct elastic_node_spec[]){__VA_ARGS__}))

#define CPU(cores) ((int64_t)(cores)*1000)

#endif

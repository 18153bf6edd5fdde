#ifndef MEMBER_SYNC_JITTER_H
#define MEMBER_SYNC_JITTER_H
/*
 * Randomness from a seed, for spreading retries and watches over time (splitmix64, Steele et al.
 * 2014), and backoff with full jitter: uniform in [0, step], steps doubling to a maximum.
 */
#include "base/clock.h"
#include <stdint.h>

static inline uint64_t jitter_next(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15ULL);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

/* Uniform in [low, high]. */
static inline usec jitter_between(uint64_t *state, usec low, usec high)
{
	if (high <= low)
		return low;
	return low + (usec)(jitter_next(state) % (uint64_t)(high - low + 1));
}

/* The wait before try number `failures` + 1 (failures >= 1). Never under a tenth of the first
 * step, so that a burst of failures is not a busy loop. */
static inline usec jitter_backoff(uint64_t *state, unsigned failures, usec first, usec max)
{
	usec step = first;

	for (unsigned i = 1; i < failures && step < max; i++)
		step *= 2;
	return jitter_between(state, first / 10, step < max ? step : max);
}

#endif

#ifndef CORE_KUEUE_TRANSFORM_H
#define CORE_KUEUE_TRANSFORM_H
/*
 * What of a pod's requests counts against quota: `resources:` of Kueue's configuration.
 *
 * Resources with an excluded prefix are dropped; then each that has a transformation becomes its
 * outputs, so much of each for every unit asked for, and stays beside them or not. Amounts are as
 * everywhere: cpu in thousandths, everything else in whole units, rounded up; they saturate.
 * Pure. Source: reference/kueue.md 2.1, KEP-2937.
 */
#include "base/arena.h"
#include "quota-tree/kueue_spec.h"

#define TRANSFORM_MAX_EXCLUDED 64
#define TRANSFORM_MAX	       64 /* transformations */
#define TRANSFORM_MAX_OUTPUTS  16 /* of each */

struct transform_output {
	const char *resource;
	int64_t milli; /* for each unit of the input, in thousandths; INT64_MAX: more than fits */
};

struct transform {
	const char *input;
	const char
	    *multiply_by; /* a resource of the same pod that the input counts times, or NULL */
	bool replace;	  /* the input itself does not count */
	const struct transform_output *outputs;
	size_t n_outputs;
};

struct transform_rules {
	const char *const *excluded; /* prefixes */
	size_t n_excluded;
	const struct transform *items;
	size_t n;
};

/* The requests that count; in the arena. */
struct kueue_request *transform_requests(const struct transform_rules *rules,
					 const struct kueue_request *requests, size_t n,
					 struct arena *mem, size_t *ret_n);

#endif

#ifndef POLICIES_RESOURCE_H
#define POLICIES_RESOURCE_H
/*
 * Resource names as dense indexes, so that what a pod asks and a node has are short vectors.
 *
 * The first four are fixed. cpu is in milli-cores, all others in units (bytes, slots, devices).
 * At most RESOURCE_MAX names, ever: names come from members and jobs, and are not forgotten. A
 * name that finds no room is reported to the caller, who treats what a node has of it as zero.
 */
#include "base/compat.h"
#include "base/err.h"
#include "base/span.h"
#include <stdbool.h>
#include <stdint.h>

enum { RESOURCE_CPU, RESOURCE_MEMORY, RESOURCE_EPHEMERAL, RESOURCE_PODS, RESOURCE_FIRST_OTHER };
enum {
	RESOURCE_MAX = 64,	/* one bit each in a mask; state vectors grow with it */
	RESOURCE_NAME_MAX = 317 /* prefix 253, slash, name 63: Kubernetes qualified names */
};
/* No node and no pod counts for more than this of anything (64 TiB): sums over the nodes of a
 * cluster then stay inside int64. Larger amounts are cut to it, on the way in and out alike. */
#define RESOURCE_AMOUNT_MAX ((int64_t)1 << 46)

struct resource_table {
	char *names[RESOURCE_MAX];
	uint32_t n;
};

void resource_table_init(struct resource_table *t); /* cpu, memory, ephemeral-storage, pods */
void resource_table_done(struct resource_table *t);

/* Index of `name`, added when new. ERR_INVALID for an empty or over-long name, ERR_TOO_LARGE
 * (-EMSGSIZE) when the table is full. */
int resource_table_index(struct resource_table *t, struct span name, uint32_t *ret,
			 struct err *reterr) MUST_CHECK;
/* Index of `name`, -ENOENT when it was never seen. */
int resource_table_find(const struct resource_table *t, struct span name, uint32_t *ret) MUST_CHECK;
/* Name of an index, "" when out of range. */
const char *resource_table_name(const struct resource_table *t, uint32_t index);

/* Extended resources (devices) are what a fleet is short of; a pod that needs none should not
 * sit on a node that has some free. Everything but cpu, memory, ephemeral-storage, pods,
 * hugepages-* and attachable-volumes-*. */
bool resource_table_is_extended(const struct resource_table *t, uint32_t index);

/* Amount as Kubernetes prints it: cpu 1500 -> "1500m", 2000 -> "2"; bytes in Ki..Pi when exact;
 * else digits. Writes at most `size` bytes with the NUL; returns `out`. */
const char *resource_format(const struct resource_table *t, uint32_t index, int64_t amount,
			    char *out, size_t size);

#endif

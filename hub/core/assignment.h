#ifndef CORE_ASSIGNMENT_H
#define CORE_ASSIGNMENT_H
/*
 * Which nodes a decision counts on, in bytes that outlive a restart: they stand in the binding's
 * digest while the job holds capacity. Packing the jobs anew after a restart would find other
 * nodes than those that the other decisions left, and so sell them twice.
 */
#include "base/arena.h"
#include "policies/fit.h"

/* Beyond this nothing is kept, and the job is held against the totals of its cluster. */
#define ASSIGNMENT_MAX ((size_t)256 << 10)

/* The slots with their nodes by name; caller frees. NULL when there are none or too many. */
char *assignment_pack(const struct fleet *f, uint32_t cluster, const struct fit_slot *slots,
		      size_t n, size_t *ret_len);
/* Back: nodes that are not known (yet) become placeholders of the cluster. What is malformed is
 * left out. The slots live in `mem`. */
size_t assignment_unpack(struct fleet *f, uint32_t cluster, struct span bytes, struct arena *mem,
			 struct fit_slot **ret);

#endif

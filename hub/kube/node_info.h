#ifndef KUBE_NODE_INFO_H
#define KUBE_NODE_INFO_H
/*
 * A core/v1 Node as placement needs it. All strings live in the arena given to the decoder.
 */
#include "base/arena.h"
#include "base/err.h"
#include "base/span.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cJSON;

struct info_pair { /* a label, selector entry or annotation */
	struct span key, value;
};

struct info_amount { /* milli-units for cpu, else whole units (bytes, devices); never negative */
	struct span resource;
	int64_t value;
};

/* Prefixed: kube/toleration.h has enum taint_effect, of the pure rooms. */
enum info_effect { INFO_NO_SCHEDULE, INFO_PREFER_NO_SCHEDULE, INFO_NO_EXECUTE };

struct info_taint {
	struct span key, value;
	enum info_effect effect;
};

struct node_info {
	struct span name;
	uint64_t revision; /* its resourceVersion on its server */
	struct info_pair *labels;
	size_t n_labels;
	struct info_amount *allocatable; /* includes "pods" */
	size_t n_allocatable;
	struct info_taint *taints;
	size_t n_taints;
	bool unschedulable;
	bool ready; /* condition Ready is True (absent: false) */
};

/* From checked JSON text of one Node. Quantities that cannot be parsed or overflow count as
 * absent (unknown capacity is zero). ERR_INVALID when it has no name. */
int node_info_decode(struct span json, struct arena *mem, struct node_info *ret,
		     struct err *reterr) MUST_CHECK;

/* Binary form for the mirror, and back (borrowed from `bytes` where possible). -EINVAL. */
struct buf;
void node_info_pack(const struct node_info *n, struct buf *out);
int node_info_unpack(struct span bytes, struct arena *mem, struct node_info *ret) MUST_CHECK;

#endif

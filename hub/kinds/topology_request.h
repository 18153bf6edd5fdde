#ifndef KINDS_TOPOLOGY_REQUEST_H
#define KINDS_TOPOLOGY_REQUEST_H
/*
 * How near to each other the pods of one set want to be: Kueue's topology annotations on a pod
 * template, and spec.podSets[].topologyRequest of a Workload, which says the same
 * (reference/kueue.md 1.6 and 2.10; Kueue's pkg/controller/jobframework/tas_validation.go).
 *
 *   kueue.x-k8s.io/podset-required-topology: LEVEL        all in one domain of the level
 *   kueue.x-k8s.io/podset-preferred-topology: LEVEL       as narrow as can be from there upwards
 *   kueue.x-k8s.io/podset-unconstrained-topology: "true"  anywhere in the topology
 *   kueue.x-k8s.io/podset-slice-required-topology: LEVEL  each podset-slice-size pods in one domain
 *   kueue.x-k8s.io/podset-slice-required-topology-constraints: JSON, up to three such layers
 *   kueue.x-k8s.io/podset-group-name: NAME                with the other pod set of that name
 *
 * Levels are node labels. Reading takes nothing for granted: what the rules would refuse counts as
 * absent. Nothing here knows nodes or Topology objects.
 */
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "kube/field_errors.h"
#include "kube/info_codec.h"
#include "kube/kind.h"

#define TOPOLOGY_KEY_REQUIRED	   "kueue.x-k8s.io/podset-required-topology"
#define TOPOLOGY_KEY_PREFERRED	   "kueue.x-k8s.io/podset-preferred-topology"
#define TOPOLOGY_KEY_UNCONSTRAINED "kueue.x-k8s.io/podset-unconstrained-topology"
#define TOPOLOGY_KEY_SLICE_LEVEL   "kueue.x-k8s.io/podset-slice-required-topology"
#define TOPOLOGY_KEY_SLICE_SIZE	   "kueue.x-k8s.io/podset-slice-size"
#define TOPOLOGY_KEY_LAYERS	   "kueue.x-k8s.io/podset-slice-required-topology-constraints"
#define TOPOLOGY_KEY_GROUP	   "kueue.x-k8s.io/podset-group-name"
#define TOPOLOGY_KEY_OFFSET	   "kueue.x-k8s.io/pod-index-offset"

#define TOPOLOGY_MAX_LAYERS 3

/* Each `size` pods stay in one domain of `level`. */
struct topology_layer {
	struct span level;
	int32_t size;
};

struct topology_request {
	struct span required, preferred; /* levels; at most one is there */
	bool unconstrained;
	struct topology_layer layers[TOPOLOGY_MAX_LAYERS]; /* the widest first */
	size_t n_layers;
	struct span group; /* podset-group-name */
};

/* Whether it asks for anything. */
bool topology_request_asks(const struct topology_request *t);
/* The levels that it names, in the order above; at most TOPOLOGY_MAX_LAYERS + 1. Returns how many;
 * one that is named twice is there once. */
size_t topology_request_levels(const struct topology_request *t,
			       struct span out[TOPOLOGY_MAX_LAYERS + 1]);

/* From the annotations of a PodTemplateSpec; texts borrowed from the tree, or in `mem`. */
void topology_request_read(const struct cJSON *pod_template, struct arena *mem,
			   struct topology_request *ret);
/* From a topologyRequest of v1beta2; texts borrowed from the tree. NULL asks for nothing. */
void topology_request_from_object(const struct cJSON *request, struct topology_request *ret);
/* Appends the topologyRequest object. Only of one that asks. */
void topology_request_print(const struct topology_request *t, struct buf *out);

/* Row form: one byte for one that asks for nothing. The reader fails on what is malformed. */
void topology_request_pack(const struct topology_request *t, struct buf *out);
void topology_request_unpack(struct info_reader *r, struct topology_request *ret);

/* Kueue's rules for all templates of a job: refusals with its words at the annotation's path.
 * Whether a count can be divided is not one of them: that is told when the job is tried. */
void topology_request_check_job(const struct kind *k, const struct cJSON *job,
				const struct kind_write *w, struct field_errors *errors);

#endif

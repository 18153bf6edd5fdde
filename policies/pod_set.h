#ifndef POLICIES_POD_SET_H
#define POLICIES_POD_SET_H
/*
 * What the pods of one set ask of a node. All pods of a set are alike; they are counted, never
 * iterated.
 *
 * The structs are views: their spans and arrays belong to the caller and are only read during the
 * call that takes them. Semantics are those of the Kubernetes scheduler (NodeAffinity,
 * TaintToleration, NodeResourcesFit). Not here: pod affinity, host ports, volumes, preferred terms.
 */
#include "base/arena.h"
#include "base/buf.h"
#include "base/compat.h"
#include "base/err.h"
#include "base/span.h"
#include "kube/node_affinity.h"
#include "kube/toleration.h"
#include <stdbool.h>
#include <stdint.h>

enum { /* limits on what a user may write; beyond them job_shape_check() says which and how many */
       POD_SET_MAX_SETS = 65, /* as many as a job may have, and a helper of theirs */
       POD_SET_MAX_REQUESTS = 32,
       POD_SET_MAX_SELECTOR = 64,
       POD_SET_MAX_TERMS = 32,
       POD_SET_MAX_EXPRS = 64,
       POD_SET_MAX_VALUES = 1024,
       POD_SET_MAX_TOLERATIONS = 64,
       POD_SET_MAX_LEVELS = 16,	   /* of a topology */
       POD_SET_MAX_INNER = 2,	   /* layers of slices inside slices */
       POD_SET_MAX_PODS = 1000000, /* over all sets of one shape */
};

/* How the pods of a set want to stand together (kueue.x-k8s.io/podset-...-topology). */
enum pod_topology_mode {
	POD_TOPOLOGY_NONE = 0,
	POD_TOPOLOGY_REQUIRED,	    /* all in one domain of `level` */
	POD_TOPOLOGY_PREFERRED,	    /* as narrow as can be from `level` upwards, else spread */
	POD_TOPOLOGY_UNCONSTRAINED, /* on nodes of the topology, small rooms first */
	POD_TOPOLOGY_SLICES,	    /* only slices: each in one domain, anywhere */
	POD_TOPOLOGY_MODE_MAX,
};

struct pod_topology {
	enum pod_topology_mode mode;
	const struct span *levels; /* node labels of the Topology, the widest first */
	size_t n_levels;
	uint32_t level; /* index; REQUIRED and PREFERRED */
	/* Each `slice_size` pods stay in one domain of `slice_level` (podset-slice-...): the hosts
	 * of a TPU slice. Size 0 or 1: no slices. UNCONSTRAINED with slices is SLICES. */
	uint32_t slice_level, slice_size;
	/* Smaller slices inside those, the larger ones first: lower levels, and sizes of which each
	 * divides the one before it. */
	struct pod_topology_layer {
		uint32_t level, size;
	} inner[POD_SET_MAX_INNER];
	uint32_t n_inner;
	/* REQUIRED and PREFERRED: sets of one group (numbers other than 0) want to be in the same
	 * domain together (podset-group-name). They have the same levels and ask the same. */
	uint32_t group;
};

struct request {
	uint32_t resource; /* of resource_table_index() */
	int64_t amount;	   /* per pod; cpu in milli-cores */
};

struct pod_set {
	struct span name; /* "worker"; shown in results and verdicts */
	int64_t count;	  /* pods; 0 is allowed and asks for nothing */
	/* With an exclusive topology: how many equal parts need a domain each (the replicas of a
	 * replicated job). 0 counts as 1; count must be a multiple of it. */
	uint32_t groups;
	const struct request *requests;
	size_t n_requests;
	const struct label *selector; /* spec.nodeSelector */
	size_t n_selector;
	const struct node_term *terms; /* required node affinity, ORed; none: no requirement */
	size_t n_terms;
	const struct toleration *tolerations;
	size_t n_tolerations;
	struct pod_topology topology; /* an exclusive topology of the shape goes before it */
};

/* A canonical deep copy in `a`: requests of one resource summed (cut at RESOURCE_AMOUNT_MAX + 1,
 * which no node has), zeros dropped, one slot of `pods` added; requests, pairs, expressions, terms,
 * values and tolerations sorted and made unique, where their order means nothing. */
struct pod_set pod_set_canonical(struct arena *a, const struct pod_set *s);

/* Appends bytes that are equal exactly when two canonical sets ask the same of a node; name, count
 * groups and topology are left out. */
void pod_set_key(const struct pod_set *s, struct buf *out);
/* The same of what it asks of the topology alone. */
void pod_set_topology_key(const struct pod_topology *t, struct buf *out);

#endif

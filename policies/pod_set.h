#ifndef POLICIES_POD_SET_H
#define POLICIES_POD_SET_H
/*
 * The shape of a job: what its pods ask for, without who asked.
 *
 * A shape is a list of pod sets (master and worker, head and groups, replicated jobs). All pods
 * of a set are alike; they are counted, never iterated. Two jobs of one shape share all work of
 * placement, so a shape is canonical: pairs, terms and tolerations are sorted, zero requests
 * dropped, and every pod asks for one slot of `pods` without saying so.
 *
 * The structs here are views: their spans and arrays belong to the caller and are only read
 * during the call that takes them; fleet_shape_ref() keeps a canonical copy. Semantics are those of
 * the Kubernetes scheduler (NodeAffinity, TaintToleration, NodeResourcesFit). Not here: pod
 * affinity, host ports, volumes, preferred terms.
 */
#include "base/compat.h"
#include "base/err.h"
#include "base/span.h"
#include <stdbool.h>
#include <stdint.h>

enum { /* limits on what a user may write; beyond them job_shape_check() says which and how many */
       POD_SET_MAX_SETS = 64,
       POD_SET_MAX_REQUESTS = 32,
       POD_SET_MAX_SELECTOR = 64,
       POD_SET_MAX_TERMS = 32,
       POD_SET_MAX_EXPRS = 64,
       POD_SET_MAX_VALUES = 1024,
       POD_SET_MAX_TOLERATIONS = 64,
       POD_SET_MAX_PODS = 1000000, /* over all sets of one shape */
};

enum node_op {
	NODE_OP_IN,
	NODE_OP_NOT_IN, /* true also where the key is absent */
	NODE_OP_EXISTS,
	NODE_OP_DOES_NOT_EXIST,
	NODE_OP_GT, /* one integer value; a label that is no integer does not match */
	NODE_OP_LT,
	NODE_OP_MAX,
	NODE_OP_INVALID = -22,
};
/* "In", "NotIn", ...; NODE_OP_INVALID for anything else. */
enum node_op node_op_from_string(struct span s);
const char *node_op_to_string(enum node_op op);

enum taint_effect {
	TAINT_ANY_EFFECT, /* in a toleration only: all effects */
	TAINT_NO_SCHEDULE,
	TAINT_PREFER_NO_SCHEDULE, /* never keeps a pod away */
	TAINT_NO_EXECUTE,
	TAINT_EFFECT_MAX,
	TAINT_EFFECT_INVALID = -22,
};
enum taint_effect taint_effect_from_string(struct span s); /* "" is TAINT_ANY_EFFECT */
const char *taint_effect_to_string(enum taint_effect e);

struct label {
	struct span key, value;
};

struct taint {
	struct span key, value;
	enum taint_effect effect;
};

struct toleration {
	struct span key; /* empty with `exists`: tolerates every taint */
	struct span value;
	bool exists; /* operator Exists; otherwise Equal */
	enum taint_effect effect;
};

struct node_expr {
	struct span key;
	enum node_op op;
	const struct span *values;
	size_t n_values;
};

/* All expressions must hold; a term without any matches nothing. */
struct node_term {
	const struct node_expr *labels;
	size_t n_labels;
	const struct node_expr *fields; /* metadata.name only, In or NotIn */
	size_t n_fields;
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
};

struct job_shape {
	const struct pod_set *sets;
	size_t n_sets;
	/* alpha.jobset.sigs.k8s.io/exclusive-topology: a node label; each group of each set gets
	 * a domain that holds no other exclusive group. Absent: none. */
	struct span exclusive_topology;
};

/* Checks limits and signs. ERR_INVALID with the field path (podSets[1].count) and both numbers. */
int job_shape_check(const struct job_shape *shape, struct err *reterr) MUST_CHECK;

/* A canonical deep copy in one allocation (free() it): requests of one resource summed, zeros
 * dropped, pairs, terms, values and tolerations sorted and made unique. Set order is kept: it is
 * what users see. The shape must have passed job_shape_check(). */
struct job_shape *job_shape_dup(const struct job_shape *shape);

/* Of canonical copies. Equal shapes have equal hashes in every process. */
uint64_t job_shape_hash(const struct job_shape *shape);
bool job_shape_eq(const struct job_shape *a, const struct job_shape *b);

/* Whether two sets ask the same of a node; name, count and groups aside. Of canonical copies. */
bool pod_set_same_pods(const struct pod_set *a, const struct pod_set *b);
uint64_t pod_set_hash_pods(const struct pod_set *s);

/* Pods over all sets. */
int64_t job_shape_pods(const struct job_shape *shape);

/* Kubernetes v1.Toleration.ToleratesTaint. */
bool toleration_tolerates(const struct toleration *t, const struct taint *taint);
/* The first NoSchedule or NoExecute taint that no toleration covers, NULL when none is left. */
const struct taint *toleration_first_untolerated(const struct taint *taints, size_t n_taints,
						 const struct toleration *tolerations,
						 size_t n_tolerations);

#endif

#ifndef WIRE_FACT_H
#define WIRE_FACT_H
/*
 * Facts: what member-sync saw on a member, decoded on the net thread into typed records.
 *
 * A fact owns everything it points to (one arena) and moves to the core. Facts of one member
 * keep their order; a later fact of the same object may replace one that still waits. A fact
 * carries the member's number, incarnation and JOIN, and a stale one is dropped at the core's door.
 */
#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "kube/copy_info.h"
#include "kube/node_info.h"
#include "kube/pod_info.h"
#include "store/store.h"
#include <stdbool.h>
#include <stdint.h>

enum fact_op {
	FACT_MEMBER,	 /* the member's state changed: `member` */
	FACT_NODE,	 /* upsert or delete: `node` */
	FACT_POD,	 /* upsert or delete: `pod` (all namespaces) */
	FACT_COPY,	 /* upsert or delete of a job copy that carries our hub uid: `copy` */
	FACT_EVENT,	 /* a member's event about a copy or its pods: `json` */
	FACT_LIST_BEGIN, /* a relist of `stream` starts: what is not named until LIST_END is gone */
	FACT_LIST_END,
	FACT_CURSOR, /* bookmark: `revision` of `stream` */
	FACT_RESULT, /* an order's outcome: `result` */
	FACT_OP_MAX,
};

/* The streams that member-sync keeps per member. Their cursors persist: those of job kinds in
 * truth, in the transaction of their effects; the others in the mirror. */
enum member_stream {
	STREAM_NODES,
	STREAM_PODS,
	STREAM_JOBS,	    /* batch/v1 */
	STREAM_PYTORCHJOBS, /* kubeflow.org/v1 */
	STREAM_TFJOBS,
	STREAM_MPIJOBS,
	STREAM_JOBSETS, /* jobset.x-k8s.io/v1alpha2 */
	STREAM_RAYJOBS, /* ray.io/v1 */
	STREAM_EVENTS,
	STREAM_XGBOOSTJOBS, /* kubeflow.org/v1; cursors are stored by number, so that these stand
			       last */
	STREAM_PADDLEJOBS,
	STREAM_JAXJOBS,
	STREAM_RAYCLUSTERS,	      /* ray.io/v1 */
	STREAM_PROVISIONING_REQUESTS, /* autoscaling.x-k8s.io/v1: the hub's own; no job kind */
	/* The same of a member that serves them in v1beta1 only; never both of one member. */
	STREAM_PROVISIONING_REQUESTS_V1BETA1,
	/* kubeflow.org/v2beta1. Of a member that serves both versions only the other one is
	 * watched: it has all objects. */
	STREAM_MPIJOBS_V2BETA1,
	STREAM_MAX,
};

enum member_condition {
	MEMBER_CONNECTING,
	MEMBER_READY,
	MEMBER_UNREACHABLE,	   /* connect, DNS, TLS handshake or timeout */
	MEMBER_BAD_CERTIFICATE,	   /* the server's certificate does not verify against the CA */
	MEMBER_CREDENTIAL_EXPIRED, /* the client certificate has expired */
	MEMBER_UNAUTHORIZED,	   /* 401 or 403 on the health check */
	MEMBER_BAD_KUBECONFIG,
	MEMBER_CHANGED_IDENTITY, /* kube-system uid differs from the one that joined */
};

static inline bool member_stream_is_provisioning(enum member_stream s)
{
	return s == STREAM_PROVISIONING_REQUESTS || s == STREAM_PROVISIONING_REQUESTS_V1BETA1;
}

struct member_fact {
	enum member_condition condition;
	char *message;			    /* one sentence with the cause */
	uint8_t incarnation[STORE_UID_LEN]; /* kube-system uid; zero until known */
	char *kubernetes_version;	    /* "v1.33.1" or NULL */
	char *server;			    /* URL from the kubeconfig */
	uint32_t apis;			    /* bit per enum member_stream whose kind is served */
	bool apis_known;
};

/* The outcome of an order: what the member answered, or that nobody knows. */
struct order_outcome {
	uint64_t order_id;
	enum { OUTCOME_ANSWERED, OUTCOME_NOT_SENT, OUTCOME_UNKNOWN } outcome;
	int http_code;	/* ANSWERED */
	struct err err; /* words of a refusal or of the transport failure */
	bool has_copy;	/* the answer was an object: decoded below */
	struct copy_info copy;
	struct span body; /* ANSWERED and small (16 KiB): the answer's bytes */
};

struct fact {
	struct fact *next;
	enum fact_op op;
	uint32_t member;
	uint64_t join; /* id of the ORDER_JOIN whose streams told it; 0 in a RESULT */
	uint8_t incarnation[STORE_UID_LEN];
	enum member_stream stream;
	bool deleted;
	uint64_t revision; /* the member's resourceVersion of the object or bookmark */
	struct arena mem;  /* owns all below */
	union {
		struct member_fact member_state;
		struct node_info node;
		struct pod_info pod;
		struct copy_info copy;
		struct order_outcome result;
	};
	struct span json; /* FACT_EVENT, and FACT_POD of the hub's own jobs: the object's bytes;
			   * FACT_NODE: what kube/node_view.h prints of it */
	size_t bytes;	  /* counted against the member's 1 MiB */
};

struct fact *fact_create(enum fact_op op, uint32_t member);
struct fact *fact_destroy(struct fact *f); /* NULL is fine; returns NULL */

#endif

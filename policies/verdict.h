#ifndef POLICIES_VERDICT_H
#define POLICIES_VERDICT_H
/*
 * A verdict: one cluster's structured answer to "why not here?", with the numbers, one sentence,
 * what would change it, and who decides. The codes are those of reference ux, "reason codes".
 *
 * Verdicts are plain data, made when somebody asks (placement_explain) from the structures that
 * decide. Texts are rendered from them by the functions here, the same for events, conditions,
 * the command line and the dashboard. Nothing here decides.
 */
#include "policies/fit.h"

enum verdict_code {
	VERDICT_FITS,	     /* it is the best one: a decision now would take it */
	VERDICT_LOWER_SCORE, /* fits, but another cluster is preferred */
	VERDICT_INSUFFICIENT_FREE,
	VERDICT_GANG_FRAGMENTED,
	VERDICT_TOO_SMALL,	   /* never fits as the cluster is */
	VERDICT_NODE_AFFINITY,	   /* AffinityMismatch, because of node labels */
	VERDICT_NODE_TAINTED,	   /* Tainted, because of node taints */
	VERDICT_NODES_UNAVAILABLE, /* Cordoned, because of nodes */
	VERDICT_NO_NODES,
	VERDICT_AFFINITY_MISMATCH, /* the policy does not select this cluster */
	VERDICT_TAINTED,	   /* the cluster has a taint that the policy does not tolerate */
	VERDICT_CORDONED,
	VERDICT_NOT_READY,
	VERDICT_STALE,
	VERDICT_API_MISSING,
	VERDICT_BACKOFF,  /* this job was just refused or taken back there */
	VERDICT_RESERVED, /* it fits, but the cluster is kept free for a gang that starves */
	VERDICT_CONFLICT, /* something it needs is there under the same name, and not the hub's */
	VERDICT_FAILED_THERE, /* the job was there and failed (failover.h) */
	VERDICT_MAX,
	VERDICT_INVALID = -22,
};

enum verdict_decider {
	DECIDER_NOBODY, /* it fits */
	DECIDER_WAIT,
	DECIDER_USER,
	DECIDER_CLUSTER_ADMIN,
	DECIDER_POLICY_OWNER,
	DECIDER_MAX,
};

struct verdict {
	enum verdict_code code;
	uint32_t cluster;
	uint32_t group;		       /* affinity group the cluster was found in */
	struct fit_misfit fit;	       /* the numbers of the codes that come from nodes */
	int64_t since_us;	       /* NOT_READY, STALE: since when, 0 unknown */
	int64_t until_us;	       /* BACKOFF */
	uint32_t better;	       /* LOWER_SCORE: the cluster that is preferred */
	uint32_t better_by;	       /* LOWER_SCORE: enum verdict_better */
	struct taint taint;	       /* TAINTED: borrowed from the fleet */
	struct span api_version, kind; /* API_MISSING: borrowed from the ask */
	struct span why;	   /* CONFLICT, FAILED_THERE: a sentence, borrowed from the ask */
	const struct shape *shape; /* for set names; borrowed from the ask */
};

/* What made another cluster preferred, in the order in which scores are compared. */
enum verdict_better {
	BETTER_GROUP,	 /* an earlier affinity group */
	BETTER_HOLES,	 /* smaller holes are filled */
	BETTER_LEFTOVER, /* less room of this kind is left over: a tighter fit */
	BETTER_LOAD,	 /* less loaded */
	BETTER_NAME,
	BETTER_MAX,
};

/* Published reason of a code ("InsufficientFree"); several codes share one. Never NULL. */
const char *verdict_reason(enum verdict_code code);
/* Who can change it ("wait", "user", "cluster admin", "policy owner", "nobody"). */
enum verdict_decider verdict_decider(enum verdict_code code);
const char *verdict_decider_to_string(enum verdict_decider d);
/* Whether the job could never run there as things are, however long it waits. */
bool verdict_is_never(enum verdict_code code);

/* One sentence with the numbers, without the cluster's name: "needs 8 nvidia.com/gpu per pod ...".
 * Writes at most `size` bytes with the NUL (cut, never split inside UTF-8), returns the length
 * written. `now_us` turns times into durations. */
size_t verdict_sentence(const struct fleet *f, const struct verdict *v, int64_t now_us, char *out,
			size_t size);
/* What would change it: "4 more free nvidia.com/gpu on matching nodes". Empty when nothing can. */
size_t verdict_remedy(const struct fleet *f, const struct verdict *v, char *out, size_t size);

/*
 * The line Kubernetes users know: "0/3 clusters are available: 1 Insufficient nvidia.com/gpu,
 * 2 cluster(s) had untolerated taint {k=v:NoSchedule}." Equal parts are counted together, most
 * frequent first, then by text; cut with " ..." when longer than `size`. Returns the length.
 */
size_t verdict_summary(const struct fleet *f, const struct verdict *v, size_t n, char *out,
		       size_t size);

/* The most telling of the verdicts: what a REASON column shows. Index into `v`, n when n is 0. */
size_t verdict_top(const struct verdict *v, size_t n);

#endif

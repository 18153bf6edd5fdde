#include "policies/verdict.h"

static const struct {
	const char *reason;
	enum verdict_decider decider;
	bool never;
	int closeness; /* how near a cluster is to taking the job; the nearest says most */
} codes[VERDICT_MAX] = {
    [VERDICT_FITS] = {"Fits", DECIDER_NOBODY, false, 16},
    [VERDICT_LOWER_SCORE] = {"LowerScore", DECIDER_NOBODY, false, 15},
    [VERDICT_BACKOFF] = {"Backoff", DECIDER_WAIT, false, 14},
    [VERDICT_RESERVED] = {"Reserved", DECIDER_WAIT, false, 14},
    [VERDICT_GANG_FRAGMENTED] = {"GangFragmented", DECIDER_WAIT, false, 13},
    [VERDICT_INSUFFICIENT_FREE] = {"InsufficientFree", DECIDER_WAIT, false, 12},
    [VERDICT_NODES_UNAVAILABLE] = {"Cordoned", DECIDER_CLUSTER_ADMIN, false, 11},
    [VERDICT_STALE] = {"Stale", DECIDER_WAIT, false, 10},
    [VERDICT_NOT_READY] = {"NotReady", DECIDER_CLUSTER_ADMIN, false, 9},
    [VERDICT_CORDONED] = {"Cordoned", DECIDER_CLUSTER_ADMIN, false, 8},
    [VERDICT_NO_NODES] = {"NoNodes", DECIDER_CLUSTER_ADMIN, false, 7},
    [VERDICT_CONFLICT] = {"Conflict", DECIDER_CLUSTER_ADMIN, false, 6},
    [VERDICT_FAILED_THERE] = {"ApplicationFailure", DECIDER_USER, true, 6},
    [VERDICT_NODE_TAINTED] = {"Tainted", DECIDER_USER, true, 5},
    [VERDICT_TAINTED] = {"Tainted", DECIDER_POLICY_OWNER, true, 4},
    [VERDICT_TOO_SMALL] = {"TooSmall", DECIDER_USER, true, 3},
    [VERDICT_NODE_AFFINITY] = {"AffinityMismatch", DECIDER_USER, true, 2},
    [VERDICT_API_MISSING] = {"APIMissing", DECIDER_CLUSTER_ADMIN, true, 1},
    [VERDICT_AFFINITY_MISMATCH] = {"AffinityMismatch", DECIDER_POLICY_OWNER, true, 0},
};

const char *verdict_reason(enum verdict_code code)
{
	return code >= 0 && code < VERDICT_MAX ? codes[code].reason : "Unknown";
}

enum verdict_decider verdict_decider(enum verdict_code code)
{
	return code >= 0 && code < VERDICT_MAX ? codes[code].decider : DECIDER_NOBODY;
}

const char *verdict_decider_to_string(enum verdict_decider d)
{
	static const char *const names[DECIDER_MAX] = {
	    [DECIDER_NOBODY] = "nobody",
	    [DECIDER_WAIT] = "wait",
	    [DECIDER_USER] = "user",
	    [DECIDER_CLUSTER_ADMIN] = "cluster admin",
	    [DECIDER_POLICY_OWNER] = "policy owner",
	};

	return d < DECIDER_MAX ? names[d] : "nobody";
}

bool verdict_is_never(enum verdict_code code)
{
	return code >= 0 && code < VERDICT_MAX && codes[code].never;
}

size_t verdict_top(const struct verdict *v, size_t n)
{
	size_t top = 0;

	for (size_t i = 1; i < n; i++)
		if (codes[v[i].code].closeness > codes[v[top].code].closeness)
			top = i;
	return n ? top : 0;
}

#ifndef MEMBER_SYNC_SIM_POD_STATUS_H
#define MEMBER_SYNC_SIM_POD_STATUS_H
/*
 * The kubelet's decisions about one pod, and the status that says them. Pure.
 */
#include "member-sync/sim/cluster_priv.h"

enum pod_next {
	POD_NEXT_NOTHING,
	POD_NEXT_START,	    /* its container starts (again) */
	POD_NEXT_SUCCEEDED, /* it ended, for good */
	POD_NEXT_FAILED,
	POD_NEXT_BACKOFF, /* it ended, and starts again at *ret_at */
	POD_NEXT_LOST,	  /* its node is lost: Failed */
	POD_NEXT_REMOVE,  /* its node is gone: the object goes too */
};

/* What becomes of a pod at `now`; *ret_at: when to ask again (0: never). */
enum pod_next pod_status_decide(const struct sim_pod *p, usec now, int32_t time_scale,
				usec *ret_at);
/* The JSON of its status; `why`: for a pending pod, the scheduler's words, or NULL. */
void pod_status_print(const struct sim_pod *p, const char *why, usec now, struct buf *out);

#endif

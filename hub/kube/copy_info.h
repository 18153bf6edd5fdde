#ifndef KUBE_COPY_INFO_H
#define KUBE_COPY_INFO_H
/*
 * A job's copy on a member, as the hub's dispatch needs it. Decoded on the net thread.
 */
#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/span.h"
#include "store/store.h"
#include <stdbool.h>
#include <stdint.h>

enum copy_phase {
	COPY_CREATED, /* exists, nothing running yet (or suspended) */
	COPY_RUNNING, /* its controller says so, or pods are active */
	COPY_SUCCEEDED,
	COPY_FAILED,
};

struct copy_info {
	uint16_t type; /* hub type number of its kind: kinds/types.h */
	struct span ns, name;
	struct span uid;     /* of the copy, text */
	uint64_t revision;   /* its resourceVersion on the member */
	struct span hub_uid; /* label COPY_LABEL_HUB_UID, absent for foreign objects */
	struct span job_uid; /* annotation COPY_ANNOTATION_JOB_UID */
	uint64_t epoch;	     /* annotation COPY_ANNOTATION_EPOCH; 0 when absent */
	bool suspended;
	bool deleting;
	enum copy_phase phase;
	struct span status; /* JSON text of .status, absent when there is none; bytes as they are */
	const int32_t *reclaimable; /* pods by pod set that will not run again (copy_reclaim.h) */
	size_t n_reclaimable;
};

/* From checked JSON text of an object of type `type` (a job kind, or a ProvisioningRequest).
 * ERR_INVALID without name or
 * uid. The phase follows each kind's own conditions (kubernetes-api.md section 4). */
int copy_info_decode(uint16_t type, struct span json, struct arena *mem, struct copy_info *ret,
		     struct err *reterr) MUST_CHECK;

/* The phase that a status says (checked JSON text; absent: COPY_CREATED), by its kind's own
 * conditions. For a type that is no job kind: COPY_CREATED. */
enum copy_phase copy_info_phase(uint16_t type, struct span status);
/* The sentence with which a job of this kind says that it ended: its terminal condition's message,
 * a RayJob's status.message. Appended to `out`; nothing where it says none. Negative when it is not
 * a string of UTF-8, or `out` is full. */
int copy_info_words(uint16_t type, struct span status, struct buf *out) MUST_CHECK;
/* The kind's suspend field, from the JSON text of .spec (absent: false). */
bool copy_info_suspended(uint16_t type, struct span spec);
static inline bool copy_phase_is_terminal(enum copy_phase p)
{
	return p == COPY_SUCCEEDED || p == COPY_FAILED;
}

#endif

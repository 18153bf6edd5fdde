#ifndef KUBE_POD_INFO_H
#define KUBE_POD_INFO_H
/*
 * A core/v1 Pod as placement and views need it, and the scheduling part of a pod template.
 */
#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/span.h"
#include "kube/node_info.h"
#include <stdbool.h>
#include <stdint.h>

enum pod_phase { POD_PENDING, POD_RUNNING, POD_SUCCEEDED, POD_FAILED, POD_UNKNOWN };

/* Labels that the hub puts on its copies' pod templates (so that pods name their job). */
#define POD_LABEL_HUB_UID	"muster.dev/hub-uid" /* the hub's own uid (store incarnation) */
#define POD_LABEL_JOB_UID	"muster.dev/job-uid" /* uid of the hub's job object */
#define POD_LABEL_POD_SET	"muster.dev/pod-set" /* name of the pod set */
#define POD_LABEL_EPOCH		"muster.dev/epoch" /* of the placement: copy annotation of that name */
#define COPY_LABEL_HUB_UID	"muster.dev/hub-uid"
#define COPY_ANNOTATION_JOB_UID "muster.dev/job-uid"
#define COPY_ANNOTATION_EPOCH	"muster.dev/epoch"
/* Says of which spec of the hub's object the copy was made. */
#define COPY_ANNOTATION_SPEC_HASH "muster.dev/spec-hash"

struct pod_info {
	struct span ns, name;
	uint64_t revision;
	struct span node; /* spec.nodeName; absent while unscheduled */
	enum pod_phase phase;
	bool ready, deleting;
	struct span hub_uid, job_uid, pod_set; /* from labels; absent for foreign pods */
	uint64_t epoch;			       /* from its label; 0 when absent */
	struct info_amount *requests; /* effective: max(init, sum of containers) + overhead */
	size_t n_requests;
};

/* From checked JSON text of one Pod. ERR_INVALID when it has no name. Quantities that cannot be
 * parsed count as absent, sums that overflow stay at INT64_MAX: other people's pods are taken as
 * they are, and one that asks for too much leaves nothing on its node. */
int pod_info_decode(struct span json, struct arena *mem, struct pod_info *ret,
		    struct err *reterr) MUST_CHECK;
/* Binary form for the mirror, and back (borrowed from `bytes` where possible). -EINVAL. */
void pod_info_pack(const struct pod_info *p, struct buf *out);
int pod_info_unpack(struct span bytes, struct arena *mem, struct pod_info *ret) MUST_CHECK;

/* ---- the scheduling part of a pod template ---- */

enum match_op { MATCH_IN, MATCH_NOT_IN, MATCH_EXISTS, MATCH_DOES_NOT_EXIST, MATCH_GT, MATCH_LT };

struct info_requirement {
	struct span key;
	enum match_op op;
	struct span *values;
	size_t n_values;
	bool is_field; /* of matchFields: key is metadata.name, not a label */
};

/* All requirements of a term must hold; a term without any matches nothing. Terms are ORed. */
struct info_term {
	struct info_requirement *requirements;
	size_t n_requirements;
};

enum toleration_op { TOLERATE_EQUAL, TOLERATE_EXISTS };
struct info_toleration {
	struct span key, value; /* an absent key with EXISTS tolerates everything */
	enum toleration_op op;
	bool any_effect;
	enum info_effect effect;
	bool limited; /* NoExecute: for so many seconds only (tolerationSeconds) */
	int64_t seconds;
};

struct template_info {
	struct info_amount *requests; /* effective per-pod requests; limits stand in where a
				       * container names no request for a resource */
	size_t n_requests;
	struct info_pair *node_selector;
	size_t n_node_selector;
	struct info_term *affinity; /* required node affinity; none: no requirement */
	size_t n_affinity;
	struct info_toleration *tolerations;
	size_t n_tolerations;
	struct span priority_class;
};

/* From the tree of a PodTemplateSpec. Errors (unparsable, negative or overflowing quantities)
 * are added to `errors` with paths below `path`; returns 0 or ERR_INVALID's errno. */
struct field_errors;
int template_info_decode(const struct cJSON *pod_template, const char *path, struct arena *mem,
			 struct template_info *ret, struct field_errors *errors) MUST_CHECK;

#endif

#ifndef CORE_KUEUE_QUOTA_DECODE_H
#define CORE_KUEUE_QUOTA_DECODE_H
/*
 * The parts of specs that ClusterQueues, Cohorts and flavors share, from trees that passed their
 * kind's validation. What is malformed all the same counts as absent. Memory from `mem`, texts
 * borrowed from the tree.
 */
#include "base/arena.h"
#include "quota-tree/kueue_spec.h"

struct cJSON;

/* spec.resourceGroups. Amounts over int64 are unlimited, as in Kueue. */
const struct kueue_group_spec *quota_decode_groups(const struct cJSON *list, struct arena *mem,
						   size_t *ret_n);
/* spec.fairSharing.weight; 1 when absent. */
double quota_decode_weight(const struct cJSON *fair_sharing);
/* A stopPolicy's text. */
enum kueue_stop quota_decode_stop(const char *policy);
struct kueue_preemption quota_decode_preemption(const struct cJSON *preemption);
const struct label *quota_decode_labels(const struct cJSON *map, struct arena *mem, size_t *ret_n);
const struct taint *quota_decode_taints(const struct cJSON *list, struct arena *mem, size_t *ret_n);
const struct toleration *quota_decode_tolerations(const struct cJSON *list, struct arena *mem,
						  size_t *ret_n);

#endif

#ifndef QUOTA_TREE_QUOTA_MESSAGE_H
#define QUOTA_TREE_QUOTA_MESSAGE_H
/*
 * Words for the elastic dialect: verdicts in the sentences that users of ACK Kube Queue know
 * (reference/ack-fleet.md section 1.5; the spelling "oversellreate" is part of the shape),
 * quantities in Kubernetes' canonical form, and the names of automatic queues.
 *
 * Every function writes at most `max` bytes with a terminating NUL, cuts what is longer, and
 * returns the length written. Nothing allocates.
 */
#include "quota-tree/elastic_queue.h"

#define QUOTA_QUANTITY_MAX	    32
#define QUOTA_QUEUE_NAME_PREFIX_MAX 58 /* so that with 5 characters of suffix it is a DNS label */
#define QUOTA_QUEUE_NAME_SUFFIX	    5
#define QUOTA_QUEUE_NAME_MAX	    (QUOTA_QUEUE_NAME_PREFIX_MAX + QUOTA_QUEUE_NAME_SUFFIX + 1)
#define QUOTA_NOT_IN_TREE	    "the job doesn't belong to any elastic quota"

/* value in the tree's unit for that resource, as resource.Quantity prints it: cpu 5000 -> "5",
 * 500 -> "500m"; memory 1073741824 -> "1Gi"; others in decimal; QUOTA_UNLIMITED -> "unlimited". */
size_t quota_message_quantity(struct span resource, int64_t value, char *out, size_t max);
/* {cpu:4,memory:2Gi}: one number of every resource that the node states. */
enum quota_message_number { QUOTA_NUMBER_USED, QUOTA_NUMBER_MIN, QUOTA_NUMBER_MAX };
size_t quota_message_list(const struct elastic_tree *tree, uint32_t node,
			  enum quota_message_number which, char *out, size_t max);

/* Sentence for a refusal (verdict->reason != QUOTA_FITS) of a request made at `node`: its own form
 * when the node itself refuses, the parent form when an ancestor does, "jobs" for
 * kube-queue/max-jobs, the min form for non-preemptible requests. A verdict that fits: "". */
size_t quota_message_verdict(const struct elastic_tree *tree, uint32_t node,
			     const struct quota_verdict *verdict, char *out, size_t max);
/* "X(used:..,min:..) is blocked by quota Y(used:..,min:..) because of Min." */
size_t quota_message_oversold(const struct elastic_tree *tree, uint32_t node, uint32_t blocker,
			      char *out, size_t max);
/* Why a unit waits, from its standing; "" for one that does not. ELASTIC_PLACEMENT is core's to
 * tell (it knows the clusters): "" too. */
size_t quota_message_standing(const struct elastic_tree *tree,
			      const struct elastic_standing *standing, char *out, size_t max);

/* generateName of a node's automatic queue: its path in lower case with / and _ as -, and "-", of
 * which the last 58 characters are kept. */
size_t quota_message_queue_prefix(struct span path, char *out, size_t max);
/* prefix + the 5 characters of suffix (caller's random lower-case letters and digits). */
size_t quota_message_queue_name(struct span path, struct span suffix, char *out, size_t max);

#endif

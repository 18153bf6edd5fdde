#ifndef TESTS_BENCH_KUEUE_OBJECTS_H
#define TESTS_BENCH_KUEUE_OBJECTS_H
/*
 * The objects of a scenario as requests: one namespace, ClusterQueue and LocalQueue each, in
 * cohorts; and Workloads of a class with no job behind them.
 */
#include "fleet.h"
#include "http_load.h"
#include "kueue_scenario.h"

#define KUEUE_OBJECTS_API "/apis/kueue.x-k8s.io/v1beta2"

/* A queue's quota, in thousandths of a CPU. */
struct kueue_quota_pair {
	int64_t nominal, borrowing;
};

/* Makes them all; returns when every LocalQueue says that it takes workloads. */
void kueue_objects_create(struct fleet *f, const struct kueue_scenario *s,
			  struct kueue_quota_pair quota);
/* The request that creates workload `number`. */
void kueue_objects_workload(const char *token, const struct kueue_class *k, uint32_t queue,
			    uint32_t number, int64_t cpu, struct buf *out);
void kueue_objects_workload_path(const struct kueue_class *k, uint32_t queue, uint32_t number,
				 char out[160]);
/* A request with a body. */
void kueue_objects_request(struct buf *out, const char *method, const char *path, const char *token,
			   const char *content_type, struct span body);

#endif

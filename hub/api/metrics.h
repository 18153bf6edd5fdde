#ifndef API_METRICS_H
#define API_METRICS_H
/*
 * Counts of one front, named as kube-apiserver names them; kept by its loop alone.
 *
 * apiserver_request_total{verb,code}, apiserver_request_duration_seconds (histogram by verb),
 * apiserver_current_inflight_requests, apiserver_longrunning_requests.
 */
#include "base/buf.h"
#include "base/clock.h"
#include <stdint.h>

#define METRICS_VERBS	10 /* API verbs, other, connect */
#define METRICS_BUCKETS 14
#define METRICS_CODES	24

struct metrics {
	struct {
		uint64_t bucket[METRICS_BUCKETS + 1]; /* last: +Inf */
		uint64_t count;
		usec sum;
	} duration[METRICS_VERBS];
	struct {
		int code;
		uint64_t n;
	} codes[METRICS_VERBS][METRICS_CODES];
	uint64_t watch_events, watch_closed_slow;
	int64_t watches;
};

void metrics_request(struct metrics *m, int verb, int code, usec duration);
void metrics_print(const struct metrics *m, size_t inflight, size_t connections, struct buf *out);

#endif

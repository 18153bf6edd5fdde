/*
 * Any bytes as the parameters of a pod's log: no crash, and whatever is taken names a part that
 * exists.
 */
#include "base/compat.h"
#include "member-sync/sim/pod_log.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pod_log_options o;
	struct pod_log_run run = {
	    .started = 1000 * USEC_PER_SEC, .duration = 100 * USEC_PER_SEC, .time_scale = 3};
	usec now = 1010 * USEC_PER_SEC;

	if (pod_log_parse(span_make((const char *)data, size), &o, NULL) < 0)
		return 0;
	int64_t count = pod_log_count(&run, now), first = pod_log_first(&run, &o, now);
	if (first < 0 || first > count || (o.tail >= 0 && count - first > o.tail))
		abort();
	return 0;
}

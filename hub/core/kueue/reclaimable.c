#include "core/kueue/reclaimable.h"

#include "base/num.h"
#include "core/kueue/workload_restore.h"
#include "core/state.h"
#include <inttypes.h>

static void settle(struct core *c, struct workload *w, const int32_t *pods)
{
	bool holds = workload_holds_quota(w);

	if (holds)
		workload_uncount_usage(c, w);
	kueue_queues_reclaim(c->kueue->queues, w->unit, pods);
	if (holds)
		workload_count_usage(c, w);
	c->pump_wanted = true;
}

static void tell(struct core *c, struct workload *w, const int32_t *pods, size_t n)
{
	auto_buf b = BUF_INIT;
	const char *comma = "";

	buf_add_char(&b, '[');
	for (size_t i = 0; i < n; i++) {
		if (!pods[i])
			continue;
		buf_addf(&b, "%s{\"name\":", comma);
		buf_add_json_str(&b, w->job->digest.pod_sets[i].name);
		buf_addf(&b, ",\"count\":%" PRId32 "}", pods[i]);
		comma = ",";
	}
	buf_add_char(&b, ']');
	workload_set_reclaimable(c, w, buf_steal(&b, NULL));
	workload_freed(c, w);
}

void reclaimable_take(struct core *c, struct workload *w, const struct copy_info *copy)
{
	int32_t pods[KUEUE_MAX_POD_SETS] = {0};
	size_t n = copy->n_reclaimable;
	bool more = false;

	if (!c->kueue->settings.reclaimable_pods || !w->admitted_at || w->evicted_at ||
	    !workload_holds_quota(w) || n > w->n_sets || n > w->job->digest.n_pod_sets)
		return;
	for (size_t i = 0; i < w->n_sets; i++) {
		int32_t was = w->unit->reclaimable ? w->unit->reclaimable[i] : 0;
		pods[i] = was;
		if (i >= n || copy->reclaimable[i] <= was)
			continue;
		pods[i] = copy->reclaimable[i];
		more = true;
	}
	if (!more)
		return;
	settle(c, w, pods);
	tell(c, w, pods, n);
}

void reclaimable_forget(struct core *c, struct workload *w)
{
	if (!w->job || !w->unit->reclaimable)
		return;
	kueue_queues_reclaim(c->kueue->queues, w->unit, NULL);
	workload_set_reclaimable(c, w, xstrdup(""));
}

static int set_index(const struct workload_digest *d, struct span name)
{
	for (size_t i = 0; i < d->n_pod_sets; i++)
		if (span_eq(d->pod_sets[i].name, name))
			return (int)i;
	return -1;
}

void reclaimable_read(struct core *c, struct workload *w, const struct workload_digest *d,
		      const struct workload_status *s)
{
	int32_t pods[KUEUE_MAX_POD_SETS] = {0};
	bool any = false;

	if (!w->unit || !c->kueue->settings.reclaimable_pods ||
	    (w->job && !workload_holds_quota(w)))
		return;
	for (size_t i = 0; i < s->n_reclaimable; i++) {
		int set = set_index(d, s->reclaimable_names[i]);
		if (set < 0 || s->reclaimable[i] <= 0)
			continue;
		pods[set] = s->reclaimable[i];
		any = true;
	}
	if (any || w->unit->reclaimable)
		settle(c, w, any ? pods : NULL);
}

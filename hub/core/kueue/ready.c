#include "core/kueue/ready.h"

static void count(struct core *c, struct workload *w, bool unready)
{
	struct kueue *k = c->kueue;

	if (unready == w->counted_unready)
		return;
	w->counted_unready = unready;
	if (unready)
		k->n_unready++;
	else if (--k->n_unready == 0 && k->settings.block_admission)
		c->pump_wanted = true;
}

/* A workload without a job is ready when its creator says so. */
static bool is_ready(const struct workload *w)
{
	return w->job ? w->admitted_at && !w->unready_since : w->was_ready;
}

void ready_review(struct core *c, struct workload *w)
{
	count(c, w, workload_holds_quota(w) && !is_ready(w));
}

void ready_forget(struct core *c, struct workload *w)
{
	count(c, w, false);
}

bool ready_blocks(const struct core *c)
{
	const struct kueue *k = c->kueue;

	return k->settings.block_admission && k->settings.wait_for_pods_ready && k->n_unready > 0;
}

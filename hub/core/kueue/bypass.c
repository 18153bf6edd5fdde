#include "core/kueue/bypass.h"

#include "core/kueue/cluster_queue.h"
#include "core/kueue/local_queue.h"
#include "core/kueue/workload_restore.h"

/* A second's worth: rows cost, and queues are long. */
#define EVERY	     USEC_PER_SEC
#define MOST_TOLD    64
#define MOST_VISITED 512

void bypass_wanted(struct core *c)
{
	struct kueue *k = c->kueue;

	k->bypass_again = true;
	if (k->bypass_at == INT64_MAX)
		k->bypass_at = c->now + EVERY;
}

/* The pending workload at the cursor, which moves on; NULL when all queues are through. */
static struct workload *next(struct core *c)
{
	struct kueue *k = c->kueue;

	for (; k->bypass_queue < k->locals_by_number.len; k->bypass_queue++, k->bypass_place = 0) {
		const struct local_queue *l = k->locals_by_number.items[k->bypass_queue];
		const struct cluster_queue *q = l ? local_queue_cluster(c, l) : NULL;
		if (!q || q->node == KUEUE_NONE)
			continue;
		const struct kueue_workload *unit =
		    kueue_queues_at_local(k->queues, q->node, l->number, k->bypass_place);
		if (!unit)
			continue;
		k->bypass_place++;
		return unit->owner;
	}
	return NULL;
}

void bypass_run(struct core *c)
{
	struct kueue *k = c->kueue;
	size_t told = 0, visited = 0;
	struct workload *w;

	if (c->now < k->bypass_at)
		return;
	if (k->bypass_queue == 0 && k->bypass_place == 0)
		k->bypass_again = false;
	while (told < MOST_TOLD && visited++ < MOST_VISITED && (w = next(c)))
		told += workload_tell_bypassed(c, w);
	bool through = k->bypass_queue >= k->locals_by_number.len;
	if (through)
		k->bypass_queue = k->bypass_place = 0;
	k->bypass_at = through && !k->bypass_again ? INT64_MAX : c->now + EVERY;
}

/*
 * Reading the queues: counts, positions (the visibility API), standing.
 */
#include "quota-tree/kueue_engine.h"

enum kueue_state kueue_queues_state(const struct kueue_workload *w)
{
	return w->state == KUEUE_PENDING && w->class && w->class->parked ? KUEUE_INADMISSIBLE
									 : w->state;
}

const char *kueue_queues_parked_reason(const struct kueue_workload *w)
{
	return kueue_queues_state(w) == KUEUE_INADMISSIBLE ? w->class->reason : "";
}

static const struct kueue_queue *find_queue(const struct kueue_queues *q, uint32_t queue)
{
	return queue < q->by_node.len ? q->by_node.items[queue] : NULL;
}

static const struct kueue_lane *find_local(const struct kueue_queues *q, uint32_t queue,
					   uint32_t local)
{
	const struct kueue_queue *at = find_queue(q, queue);
	return at ? kueue_lane_find_local(at, local) : NULL;
}

static struct kueue_counts counts_of(const struct kueue_lane *lane)
{
	return (struct kueue_counts){.pending = rank_list_len(&lane->pending),
				     .reserving = lane->reserving,
				     .admitted = lane->admitted};
}

struct kueue_counts kueue_queues_count(const struct kueue_queues *q, uint32_t queue)
{
	const struct kueue_queue *at = find_queue(q, queue);
	struct kueue_counts n = at ? counts_of(&at->own) : (struct kueue_counts){0};
	n.active = at ? at->n_active : 0;
	return n;
}

struct kueue_counts kueue_queues_count_local(const struct kueue_queues *q, uint32_t queue,
					     uint32_t local_queue)
{
	const struct kueue_lane *lane = find_local(q, queue, local_queue);
	return lane ? counts_of(lane) : (struct kueue_counts){0};
}

/* ---- places ---- */

/* How many of the lane's pending go before w, which may stand in another lane. */
static size_t n_before(const struct kueue_lane *lane, const struct kueue_workload *w)
{
	return rank_list_before(&lane->pending, w->turn, w);
}

/* With fair sharing among LocalQueues: all of a lane of less usage, and of equal usage those that
 * go before. Usage is compared for identity of order, as the heads are. */
static size_t place_in_fair(const struct kueue_queue *queue, const struct kueue_workload *w)
{
	size_t place = 0;
	for (size_t i = 0; i < queue->locals.len; i++) {
		const struct kueue_lane *lane = queue->locals.items[i];
		if (lane->usage < w->lane->usage)
			place += rank_list_len(&lane->pending);
		else if (!(lane->usage > w->lane->usage))
			place += n_before(lane, w);
	}
	return place;
}

size_t kueue_queues_position(const struct kueue_queues *q, const struct kueue_workload *w)
{
	if (!w->listed)
		return SIZE_MAX;
	const struct kueue_queue *queue = find_queue(q, w->queue);
	return queue->fair ? place_in_fair(queue, w)
			   : rank_list_of(&queue->own.pending, w->turn, w);
}

size_t kueue_queues_position_local(const struct kueue_queues *q, const struct kueue_workload *w)
{
	(void)q;
	return w->listed ? rank_list_of(&w->lane->pending, w->turn, w) : SIZE_MAX;
}

static struct kueue_workload *local_at(const struct kueue_lane *lane, size_t place)
{
	return rank_list_at(&lane->pending, place);
}

static struct kueue_workload *fair_at(const struct kueue_queue *queue, size_t place)
{
	for (size_t i = 0; i < queue->locals.len; i++) {
		const struct kueue_lane *lane = queue->locals.items[i];
		size_t lo = 0, hi = rank_list_len(&lane->pending);
		while (lo < hi) {
			size_t mid = (lo + hi) / 2;
			if (place_in_fair(queue, local_at(lane, mid)) < place)
				lo = mid + 1;
			else
				hi = mid;
		}
		struct kueue_workload *w = local_at(lane, lo);
		if (w && place_in_fair(queue, w) == place)
			return w;
	}
	return NULL;
}

struct kueue_workload *kueue_queues_at(const struct kueue_queues *q, uint32_t queue, size_t place)
{
	const struct kueue_queue *at = find_queue(q, queue);
	if (!at)
		return NULL;
	if (at->fair)
		return fair_at(at, place);
	return rank_list_at(&at->own.pending, place);
}

struct kueue_workload *kueue_queues_at_local(const struct kueue_queues *q, uint32_t queue,
					     uint32_t local_queue, size_t place)
{
	const struct kueue_lane *lane = find_local(q, queue, local_queue);
	return lane ? local_at(lane, place) : NULL;
}

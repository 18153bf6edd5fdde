/*
 * AdmissionFairSharing: what the LocalQueues of a queue consumed lately, and who of them goes first
 * (KEP-4136; pkg/util/admissionfairsharing, reference/kueue.md sections 2.1 and 2.7). Floats as
 * Kueue's: usage is compared, never charged.
 *
 * consumed = consumed x 0.5^(t / half life) + what it holds now x (1 - 0.5^(t / half life))
 * at each sample, t after the last; an admission adds at once, until that sample, what one sampling
 * interval of the workload would add: its requests x (1 - 0.5^(interval / half life)).
 */
#include "quota-tree/kueue_engine.h"
#include <math.h>

static double *consumed_of(struct kueue_lane *lane, uint32_t resource)
{
	vec_foreach (&lane->consumed, c) {
		if (c->resource == resource)
			return &c->value;
	}
	vec_push(&lane->consumed, (struct kueue_consumed){.resource = resource});
	return &lane->consumed.items[lane->consumed.len - 1].value;
}

static double *penalty_of(struct kueue_lane *lane, uint32_t resource)
{
	vec_foreach (&lane->penalty, c) {
		if (c->resource == resource)
			return &c->value;
	}
	vec_push(&lane->penalty, (struct kueue_consumed){.resource = resource});
	return &lane->penalty.items[lane->penalty.len - 1].value;
}

static double weight_of(const struct kueue_queues *q, uint32_t resource)
{
	for (size_t i = 0; i < q->usage_weights.len; i++) {
		if (q->usage_weights.items[i].resource == resource)
			return q->usage_weights.items[i].value;
	}
	return 1;
}

/* As a quantity reads: cpu is counted in milli-units here, in cores there. */
static double as_quantity(const struct kueue_queues *q, uint32_t resource, int64_t value)
{
	bool cpu = span_is(kueue_forest_resource_name(q->forest, resource), "cpu");
	return cpu ? (double)value / 1000 : (double)value;
}

static double decay(int64_t elapsed, int64_t half_life)
{
	return half_life > 0 ? pow(0.5, (double)elapsed / (double)half_life) : 1;
}

/* The forest reads it for the order of victims. */
static void publish(struct kueue_queues *q, const struct kueue_lane *lane)
{
	if (lane->local == KUEUE_NONE || lane->local >= (1u << 24))
		return;
	while (q->local_usage.len <= lane->local)
		vec_push(&q->local_usage, 0);
	q->local_usage.items[lane->local] = lane->usage;
	kueue_forest_set_local_usage(q->forest, q->local_usage.items, q->local_usage.len);
}

void kueue_usage_changed(struct kueue_queues *q, struct kueue_lane *lane)
{
	double usage = 0;
	vec_foreach (&lane->consumed, c)
		usage += weight_of(q, c->resource) * c->value;
	vec_foreach (&lane->penalty, c)
		usage += weight_of(q, c->resource) * c->value;
	/* A LocalQueue of no weight goes last. */
	usage = lane->weight > 0 ? usage / lane->weight : (double)INFINITY;
	if (usage < lane->usage || usage > lane->usage) {
		lane->usage = usage;
		if (lane->queue->fair && lane->queue->n_awake) {
			lane->queue->tree->dirty = true;
			kueue_lane_ask(q, lane->queue->tree);
		}
	}
	publish(q, lane);
}

void kueue_usage_count(struct kueue_queues *q, const struct kueue_workload *w, int sign)
{
	(void)q;
	for (size_t i = 0; i < w->n_uses; i++) {
		struct kueue_held *held = NULL;
		vec_foreach (&w->lane->held, h) {
			if (h->resource == w->uses[i].resource)
				held = h;
		}
		if (!held) {
			vec_push(&w->lane->held,
				 (struct kueue_held){.resource = w->uses[i].resource});
			held = &w->lane->held.items[w->lane->held.len - 1];
		}
		held->value += sign * w->uses[i].value;
	}
}

void kueue_usage_penalize(struct kueue_queues *q, const struct kueue_workload *w)
{
	if (!w->lane->queue->fair || q->options.usage_half_life <= 0)
		return;
	double alpha = 1 - decay(q->options.usage_sampling_interval, q->options.usage_half_life);
	for (size_t i = 0; i < w->n_uses; i++)
		*penalty_of(w->lane, w->uses[i].resource) +=
		    alpha * as_quantity(q, w->uses[i].resource, w->uses[i].value);
	kueue_usage_changed(q, w->lane);
}

static void sample(struct kueue_queues *q, struct kueue_lane *lane, int64_t now)
{
	double kept = decay(now - lane->last_sample, q->options.usage_half_life);
	bool remembers = q->options.usage_half_life > 0;
	vec_foreach (&lane->consumed, c)
		c->value = remembers ? c->value * kept : 0;
	vec_foreach (&lane->held, h) {
		if (remembers)
			*consumed_of(lane, h->resource) +=
			    as_quantity(q, h->resource, h->value) * (1 - kept);
	}
	vec_foreach (&lane->penalty, p) {
		if (remembers)
			*consumed_of(lane, p->resource) += p->value;
	}
	vec_clear(&lane->penalty);
	lane->last_sample = now;
	kueue_usage_changed(q, lane);
}

int64_t kueue_queues_sample_usage(struct kueue_queues *q, int64_t now)
{
	int64_t next = INT64_MAX, interval = q->options.usage_sampling_interval;
	for (size_t i = 0; i < q->by_node.len && interval > 0; i++) {
		struct kueue_queue *queue = q->by_node.items[i];
		for (size_t k = 0; queue && queue->fair && k < queue->locals.len; k++) {
			struct kueue_lane *lane = queue->locals.items[k];
			if (lane->last_sample == 0)
				lane->last_sample = now;
			if (now - lane->last_sample >= interval)
				sample(q, lane, now);
			if (lane->last_sample + interval < next)
				next = lane->last_sample + interval;
		}
	}
	return next;
}

void kueue_queues_set_local_weight(struct kueue_queues *q, uint32_t queue, uint32_t local_queue,
				   double weight)
{
	struct kueue_lane *lane = kueue_lane_local(kueue_lane_queue(q, queue), local_queue);
	lane->weight = weight;
	kueue_usage_changed(q, lane);
}

void kueue_queues_set_usage_weight(struct kueue_queues *q, struct span resource, double weight)
{
	uint32_t r = kueue_forest_resource(q->forest, resource);
	for (size_t i = 0; i < q->usage_weights.len; i++) {
		if (q->usage_weights.items[i].resource == r) {
			q->usage_weights.items[i].value = weight;
			return;
		}
	}
	vec_push(&q->usage_weights, (struct kueue_consumed){.resource = r, .value = weight});
}

void kueue_queues_restore_usage(struct kueue_queues *q, uint32_t queue, uint32_t local_queue,
				struct span resource, double consumed, int64_t last_update)
{
	struct kueue_lane *lane = kueue_lane_local(kueue_lane_queue(q, queue), local_queue);
	*consumed_of(lane, kueue_forest_resource(q->forest, resource)) = consumed;
	lane->last_sample = last_update;
	kueue_usage_changed(q, lane);
}

static struct kueue_lane *find_lane(const struct kueue_queues *q, uint32_t queue, uint32_t local)
{
	if (queue >= q->by_node.len || !q->by_node.items[queue])
		return NULL;
	return kueue_lane_find_local(q->by_node.items[queue], local);
}

double kueue_queues_local_usage(const struct kueue_queues *q, uint32_t queue, uint32_t local_queue)
{
	const struct kueue_lane *lane = find_lane(q, queue, local_queue);
	return lane ? lane->usage : 0;
}

double kueue_queues_local_consumed(const struct kueue_queues *q, uint32_t queue,
				   uint32_t local_queue, struct span resource,
				   int64_t *ret_last_update)
{
	const struct kueue_lane *lane = find_lane(q, queue, local_queue);
	uint32_t r = kueue_forest_find_resource(q->forest, resource);
	if (ret_last_update)
		*ret_last_update = lane ? lane->last_sample : 0;
	for (size_t i = 0; lane && i < lane->consumed.len; i++) {
		if (lane->consumed.items[i].resource == r)
			return lane->consumed.items[i].value;
	}
	return 0;
}

void kueue_usage_done(struct kueue_lane *lane)
{
	vec_done(&lane->consumed);
	vec_done(&lane->penalty);
	vec_done(&lane->held);
}

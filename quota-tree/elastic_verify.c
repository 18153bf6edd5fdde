/*
 * The queues' invariants against a full recomputation, for tests (elastic_queue.h).
 */
#include "quota-tree/elastic_group.h"

/* What is charged without the admitted units must be nothing. */
static int check_usage(const struct elastic_queues *q, struct err *reterr)
{
	struct quota_tree *quota = quota_tree_dup(q->quota);
	size_t n_admitted = 0, n_pending = 0;
	for (const struct elastic_unit *u = q->units; u; u = u->next) {
		struct quota_request req = elastic_lane_request(u->lane);
		n_admitted += u->admitted;
		n_pending += !u->admitted;
		if (u->admitted)
			quota_tree_release(quota, u->lane->node, &req);
	}
	int result = 0;
	for (uint32_t n = 0; n < q->n_nodes && result == 0; n++) {
		for (uint32_t r = 0; r < q->n_resources && result == 0; r++) {
			struct quota_state s;
			quota_tree_get(quota, n, r, &s);
			if (s.used != 0 || s.nonpreemptible_used != 0)
				result = err_set(reterr, ERR_INTERNAL,
						 "node %u holds %lld that no unit has", n,
						 (long long)s.used);
		}
	}
	quota_tree_destroy(quota);
	if (result == 0 && (n_admitted != q->n_admitted || n_pending != q->n_pending))
		result = err_set(reterr, ERR_INTERNAL, "units are miscounted");
	return result;
}

/* Every lane with pending units is offered, or in a group that offers what could fit, or held back
 * by a strict queue whose head is. */
static int check_lane(const struct elastic_queues *q, const struct lane *lane, struct err *reterr)
{
	const struct queue *queue = &q->queues[lane->node];
	struct elastic_unit *head = elastic_lane_head(lane);
	if (!head)
		return lane->group || lane->offer.unit
			   ? err_set(reterr, ERR_INTERNAL, "an empty lane waits")
			   : 0;
	if (lane->group) {
		if (lane->offer.unit)
			return err_set(reterr, ERR_INTERNAL, "a lane waits and is offered");
		if (elastic_group_best(q, lane->group) && !lane->group->offer.unit)
			return err_set(reterr, ERR_INTERNAL, "a group does not offer its best");
		return 0;
	}
	struct elastic_unit *first = elastic_queue_at(q, lane->node, 1);
	if (queue->strict ? queue->offer.unit != (first->lane->group ? NULL : first)
			  : lane->offer.unit != head)
		return err_set(reterr, ERR_INTERNAL, "a ready lane of node %u is not offered",
			       lane->node);
	return 0;
}

int elastic_queue_check(const struct elastic_queues *q, struct err *reterr)
{
	int r = quota_tree_check(q->quota, reterr);
	if (r == 0)
		r = check_usage(q, reterr);
	for (uint32_t n = 0; n < q->n_nodes && r == 0; n++) {
		size_t in_lanes = 0;
		for (const struct lane *l = q->queues[n].lanes; l && r == 0; l = l->next) {
			in_lanes += rank_len(&l->units);
			r = check_lane(q, l, reterr);
		}
		if (r == 0 && in_lanes != rank_len(&q->queues[n].units))
			r = err_set(reterr, ERR_INTERNAL, "a unit of node %u is in no lane", n);
	}
	return r;
}

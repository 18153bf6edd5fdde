#include "base/json.h"
#include "base/num.h"
#include "core/job.h"
#include "core/kueue/workload.h"
#include "core/member.h"
#include "core/swap/swap_record.h"

/*
 * How the pods of a gang stand that lost nodes: which are there, which are missing, which do not
 * end, and where none should be sent.
 */

#define STUCK_AFTER (60 * USEC_PER_SEC)

/* ---- what is missing ---- */

int32_t swap_priority(const struct job *j)
{
	return j->workload ? workload_priority(j->workload) : j->priority;
}

bool swap_is_of_placement(const struct job *j, const struct member *m, const struct member_pod *p)
{
	return p->member == m->number && (!p->epoch || p->epoch == (uint32_t)j->dispatch.epoch);
}

/* The lost node that the pod stands on and still tolerates; NULL. */
static const struct lost_node *tolerated_by(const struct core *c, const struct member *m,
					    const struct job *j, const struct member_pod *p)
{
	struct span name = cluster_view_node_name(c->fleet, m->view, p->node);

	if (j->swap)
		vec_foreach (&j->swap->nodes, n)
			if (n->tolerated && n->due > c->now && span_is(name, n->name))
				return n;
	return NULL;
}

bool swap_is_lost(const struct core *c, const struct member *m, const struct job *j, uint32_t node)
{
	return j->shape && m->view != CLUSTER_NONE &&
	       hot_swap_node(c->fleet, m->view, node, j->shape, UINT32_MAX) != HOT_SWAP_NODE_OK;
}

const struct member_pod *swap_stuck(const struct job *j, const struct member *m)
{
	vec_foreach (&j->pods, it)
		if ((*it)->doomed && (*it)->member == m->number)
			return *it;
	return NULL;
}

usec swap_stuck_due(const struct job *j, const struct member *m)
{
	const struct swap *s = j->swap;

	if (s->told_stuck || (s->step != SWAP_RESERVED && s->step != SWAP_MOVING) ||
	    !swap_stuck(j, m))
		return INT64_MAX;
	return s->since + STUCK_AFTER;
}

bool swap_stands(const struct core *c, const struct member *m, const struct job *j,
		 const struct member_pod *p)
{
	if (p->node == NODE_NONE || p->doomed)
		return false;
	enum hot_swap_node state = hot_swap_node(c->fleet, m->view, p->node, j->shape, p->set);
	return state == HOT_SWAP_NODE_OK ||
	       (state == HOT_SWAP_NODE_TAINTED && tolerated_by(c, m, j, p));
}

usec swap_leaves_at(const struct core *c, const struct member *m, const struct job *j)
{
	usec at = INT64_MAX;

	vec_foreach (&j->pods, it) {
		const struct member_pod *p = *it;
		const struct lost_node *n =
		    p->over || p->node == NODE_NONE || !swap_is_of_placement(j, m, p)
			? NULL
			: tolerated_by(c, m, j, p);
		at = n ? num_min(at, n->due) : at;
	}
	return at;
}

int64_t swap_missing(const struct core *c, const struct member *m, const struct job *j,
		     int64_t *counts)
{
	const struct job_shape *s = shape_spec(j->shape);
	int64_t sum = 0, ready = 0;

	for (size_t i = 0; i < s->n_sets; i++)
		counts[i] = s->sets[i].count;
	vec_foreach (&j->pods, it) {
		const struct member_pod *p = *it;
		if (!swap_is_of_placement(j, m, p) || p->set >= s->n_sets)
			continue;
		ready += p->ready;
		if (p->over ? p->ready : swap_stands(c, m, j, p))
			counts[p->set]--;
	}
	/* Those that succeeded and were cleaned up since are not listed any more. */
	int64_t succeeded = num_max(0, (int64_t)j->ready_pods - ready);
	for (size_t i = 0; i < s->n_sets; i++) {
		int64_t n = num_min(succeeded, num_max(0, counts[i]));
		succeeded -= n;
		counts[i] = num_max(0, counts[i] - n);
		sum += counts[i];
	}
	return sum;
}

/* ---- what does not end ---- */

void swap_tell_stuck(struct core *c, struct job *j, const struct member *m)
{
	struct swap *s = j->swap;
	const struct member_pod *p = swap_stuck(j, m);
	auto_buf words = BUF_INIT;

	if (s->told_stuck && !p) {
		free(s->words);
		s->words = xstrdup("Hot-swap: the pods that did not end are gone; room for others "
				   "is kept.");
		s->reason = "HotSwap";
		s->told_stuck = false;
		j->binding_dirty = true;
		core_job_dirty(c, j);
	}
	if (swap_stuck_due(j, m) > c->now)
		return;
	buf_addf(&words,
		 "Hot-swap: pods of the job on node %.*s are Terminating and do not end, since "
		 "nothing is heard of the node: %s. If the node is down for good, delete it, or "
		 "taint it node.kubernetes.io/out-of-service=nodeshutdown:NoExecute.",
		 SPAN_ARGS(cluster_view_node_name(c->fleet, m->view, p->node)),
		 s->step == SWAP_MOVING
		     ? "the job cannot start elsewhere before they are gone"
		     : "its controller may wait for them before it makes others");
	swap_tell(c, j, "Warning", "HotSwapBlocked", &words);
	s->told_stuck = true;
}

/* ---- where not to go ---- */

/* Whether the node is one of the domain; of one that is gone nobody knows. */
static bool is_in(const struct core *c, const struct member *m, uint32_t node, struct span labels)
{
	struct span key, value;

	for (size_t pos = 0; node != NODE_NONE && json_text_next(labels, &pos, &key, &value);) {
		struct span is = cluster_view_node_label(c->fleet, m->view, node, key);
		if (is.len && !span_eq(is, json_text_plain(value)))
			return false;
	}
	return true;
}

bool swap_shuns(const struct core *c, const struct member *m, const struct job *j,
		struct span labels)
{
	const struct swap *s = j->swap;

	if (!s || s->step == SWAP_RESERVED)
		return s && !hot_swap_holds(c->fleet, c->ledger, j->number);
	if (s->step != SWAP_SUSPECTED)
		return true;
	vec_foreach (&s->nodes, n)
		if (!n->tolerated &&
		    is_in(c, m, cluster_view_node_find(c->fleet, m->view, span_of(n->name)),
			  labels))
			return true;
	return false;
}

#include "core/swap/swap.h"

#include "base/num.h"
#include "core/admission/pump.h"
#include "core/dispatch/ungater.h"
#include "core/job.h"
#include "core/kueue/workload_status.h"
#include "core/member.h"
#include "core/stopping.h"
#include "core/swap/node_jobs.h"
#include "core/swap/swap_record.h"

#define LOOK_INTERVAL USEC_PER_SEC

/* ---- records ---- */

static struct swap *record_of(struct core *c, struct job *j)
{
	if (j->swap)
		return j->swap;
	j->swap = xcalloc(1, sizeof(*j->swap));
	j->swap->step = SWAP_SUSPECTED;
	j->swap->next = INT64_MAX;
	vec_push(&c->swaps, j);
	return j->swap;
}

void swap_forget(struct core *c, struct job *j)
{
	struct swap *s = j->swap;

	if (!s)
		return;
	for (size_t i = 0; i < c->swaps.len; i++) {
		if (c->swaps.items[i] == j) {
			c->swaps.items[i] = c->swaps.items[--c->swaps.len];
			break;
		}
	}
	swap_hold_free(c, j);
	vec_foreach (&s->nodes, n)
		free(n->name);
	vec_done(&s->nodes);
	j->binding_dirty = j->binding_dirty || s->step != SWAP_SUSPECTED;
	vec_done(&s->victims);
	free(s->words);
	free(s);
	j->swap = NULL;
}

void swap_released(struct core *c, struct job *j)
{
	if (swap_step(j) != SWAP_MOVING)
		swap_forget(c, j);
}

void swap_placed(struct core *c, struct job *j)
{
	if (swap_step(j) != SWAP_MOVING)
		return;
	swap_hold_drop(c, j);
	swap_forget(c, j);
}

bool swap_moves(struct core *c, struct job *j)
{
	struct swap *s = record_of(c, j);

	if (s->step != SWAP_SUSPECTED && s->step != SWAP_MOVING)
		return false;
	s->step = SWAP_MOVING;
	s->reason = "HotSwap";
	if (!s->words)
		s->words = xstrdup("Nodes of the job are lost: room for it is kept on another "
				   "cluster.");
	return true;
}

enum swap_step swap_step(const struct job *j)
{
	return j->swap ? j->swap->step : SWAP_NONE;
}

const char *swap_words(const struct job *j, const char **ret_reason)
{
	if (!j->swap || j->swap->step == SWAP_SUSPECTED || !j->swap->words)
		return NULL;
	*ret_reason = j->swap->reason;
	return j->swap->words;
}

size_t swap_victims(const struct core *c, const struct job *j, const struct job **out, size_t max)
{
	size_t n = 0;

	if (!j->swap)
		return 0;
	vec_foreach (&j->swap->victims, number) {
		const struct job *v = job_by_number(c, *number);
		if (!v || !v->holds || !stopping_is(v))
			continue;
		if (n < max)
			out[n] = v;
		n++;
	}
	return n;
}

const struct job *swap_stopped_for(const struct core *c, const struct job *victim)
{
	vec_foreach (&c->swaps, j)
		vec_foreach (&(*j)->swap->victims, number)
			if (*number == victim->number)
				return *j;
	return NULL;
}

usec swap_since(const struct job *j)
{
	return j->swap ? j->swap->since : 0;
}

void swap_restore(struct core *c, struct job *j, enum swap_step step)
{
	if (step != SWAP_RESERVED && step != SWAP_WAITING)
		return;
	struct swap *s = record_of(c, j);
	s->step = step;
	s->changed = true;
	s->since = c->now;
	s->reason = step == SWAP_RESERVED ? "HotSwap" : "HotSwapWaiting";
	s->words = xstrdup(step == SWAP_RESERVED
			       ? "Nodes of the job are lost: room for its pods is kept on others."
			       : "Nodes of the job are lost: its pods wait for room.");
}

/* ---- what happens to nodes and pods ---- */

static bool runs(const struct job *j)
{
	return j->holds && j->shape && !j->finished && !j->deleting && !j->gone &&
	       j->dispatch.step == DISPATCH_STARTED;
}

static void lose(struct core *c, struct job *j, struct span name, usec due, bool tolerated)
{
	struct swap *s = record_of(c, j);

	s->changed = true;
	c->pump_wanted = true;
	vec_foreach (&s->nodes, n) {
		if (!span_is(name, n->name))
			continue;
		/* How long a taint is tolerated counts from when it was seen first. */
		n->due = tolerated && n->tolerated ? num_min(n->due, due) : due;
		n->tolerated = tolerated;
		return;
	}
	vec_push(&s->nodes,
		 ((struct lost_node){xstrndup(name.ptr, name.len), due, .tolerated = tolerated}));
}

static usec due_of(const struct core *c, const struct member *m, const struct job *j, uint32_t node,
		   struct span name, enum hot_swap_node state)
{
	const struct member_node *n = map_get(&m->nodes, name);

	if (state == HOT_SWAP_NODE_TAINTED) {
		int64_t seconds = hot_swap_time(c->fleet, m->view, node, j->shape, UINT32_MAX);
		return num_add_sat(c->now, num_mul_sat(seconds, USEC_PER_SEC));
	}
	if (state == HOT_SWAP_NODE_NOT_READY)
		return num_add_sat(n && n->not_ready ? n->not_ready : c->now,
				   c->settings.not_ready_for);
	/* What was written before the restart may be of a pod whose node was not told of yet. */
	if (state == HOT_SWAP_NODE_GONE && c->restoring)
		return num_add_sat(c->now, c->settings.not_ready_for);
	return c->now;
}

static void check(struct core *c, struct member *m, struct job *j, uint32_t node, struct span name)
{
	if (!c->settings.hot_swap || !runs(j) || m->view == CLUSTER_NONE)
		return;
	enum hot_swap_node state = hot_swap_node(c->fleet, m->view, node, j->shape, UINT32_MAX);
	if (state != HOT_SWAP_NODE_OK)
		lose(c, j, name, due_of(c, m, j, node, name, state),
		     state == HOT_SWAP_NODE_TAINTED);
	else if (j->swap)
		j->swap->changed = c->pump_wanted = true;
}

void swap_check_node(struct core *c, struct member *m, struct job *j, uint32_t node)
{
	struct span name = cluster_view_node_name(c->fleet, m->view, node);

	/* Of a node that is not known the stream of nodes is late, unless it is told to be gone. */
	if (c->restoring || map_has(&m->nodes, name))
		check(c, m, j, node, name);
}

void swap_node_changed(struct core *c, struct member *m, uint32_t node, struct span name)
{
	const struct node_job *there;
	size_t n = node_jobs_get(m, node, c->now, &there);

	for (size_t i = 0; i < n; i++) {
		struct job *j = job_by_number(c, there[i].job);
		if (j && member_of(c, j) == m)
			check(c, m, j, node, name);
	}
}

bool swap_pod_lost(struct core *c, struct member *m, struct job *j, uint32_t set, uint32_t node)
{
	if (!j->swap || !runs(j) || set >= job_n_placed(j))
		return false;
	j->swap->changed = c->pump_wanted = true;
	return ledger_await(c->ledger, j->number, j->shape, m->view, set, node, NULL) == 0;
}

bool swap_counts(const struct job *j, struct member *m, uint32_t set, uint32_t node,
		 const struct core *c)
{
	(void)m;
	return !c->restoring || !j->swap || j->swap->step != SWAP_RESERVED ||
	       ledger_expects(c->ledger, j->number, set, node);
}

/* ---- the run ---- */

/* Nodes that are well again are not lost; the earliest time at which one of the others is. */
static usec recheck_nodes(struct core *c, const struct member *m, struct job *j)
{
	struct swap *s = j->swap;
	usec due = INT64_MAX;

	for (size_t i = 0; i < s->nodes.len;) {
		struct lost_node *n = &s->nodes.items[i];
		uint32_t node = cluster_view_node_find(c->fleet, m->view, span_of(n->name));
		if (hot_swap_node(c->fleet, m->view, node, j->shape, UINT32_MAX) ==
		    HOT_SWAP_NODE_OK) {
			free(n->name);
			*n = s->nodes.items[--s->nodes.len];
			continue;
		}
		due = num_min(due, n->due);
		i++;
	}
	return due;
}

/* All its pods are where they are: nothing is assumed any more. `next`: until then. */
static void end(struct core *c, struct job *j, usec next)
{
	ungater_hurry(c);
	if (j->swap->step == SWAP_RESERVED)
		(void)ledger_drop(c->ledger, j->number);
	if (j->swap->step != SWAP_SUSPECTED) {
		job_event_add(c, j, "Normal", "HotSwapDone",
			      "All pods of the job are on nodes that are well.");
		core_job_dirty(c, j);
		j->binding_dirty = true;
		if (j->workload && j->domains && workload_holds_quota(j->workload))
			workload_set_unhealthy(c, j->workload, NULL, 0);
	}
	if (next == INT64_MAX) {
		swap_forget(c, j);
		return;
	}
	j->swap->step = SWAP_SUSPECTED;
	j->swap->next = next;
}

static void look_at_moving(struct core *c, struct job *j)
{
	struct swap *s = j->swap;

	s->changed = false;
	s->looked = fleet_version(c->fleet);
	s->looked_at = c->now;
	if (member_of(c, j))
		swap_tell_stuck(c, j, member_of(c, j));
	if (swap_hold_look(c, j) || swap_step(j) != SWAP_MOVING)
		return;
	swap_hold_drop(c, j);
	swap_forget(c, j);
	pump_wake_all(c); /* others may have that room */
}

static void look(struct swap_round *r, struct job *j)
{
	struct core *c = r->c;
	struct swap *s = j->swap;
	struct member *m = member_of(c, j);
	int64_t counts[POD_SET_MAX_SETS];

	if (s->step == SWAP_MOVING) {
		look_at_moving(c, j);
		return;
	}
	if (!runs(j) || !m || m->view == CLUSTER_NONE) {
		swap_forget(c, j);
		return;
	}
	s->changed = false;
	s->looked = fleet_version(c->fleet);
	s->looked_here = cluster_view_version(c->fleet, m->view);
	s->looked_at = c->now;
	s->next = INT64_MAX;
	/* Of a member that does not answer nothing is known: that is not a matter of nodes. */
	if (m->condition != MEMBER_READY || !m->nodes_listed || !m->pods_listed) {
		s->next = c->now + LOOK_INTERVAL;
		return;
	}
	usec due = recheck_nodes(c, m, j), leaves = swap_leaves_at(c, m, j);
	int64_t missing = swap_missing(c, m, j, counts);
	s->next = leaves;
	if (missing == 0 || (s->step == SWAP_SUSPECTED && s->nodes.len == 0))
		end(c, j, leaves);
	else if (s->step == SWAP_SUSPECTED && due > c->now)
		s->next = due;
	else if (s->step != SWAP_RESERVED || !hot_swap_holds(c->fleet, c->ledger, j->number))
		swap_decide(r, j, m, counts, missing);
	if (swap_step(j) != SWAP_RESERVED)
		return;
	swap_tell_stuck(c, j, m);
	s->next = num_min(s->next, swap_stuck_due(j, m));
}

static usec due_at(const struct core *c, const struct job *j)
{
	const struct swap *s = j->swap;
	const struct member *m = member_of(c, j);
	usec at = s->changed ? 0 : s->next;

	if (s->step == SWAP_MOVING)
		return num_min(swap_hold_due(c, j), m ? swap_stuck_due(j, m) : INT64_MAX);
	/* What comes free on its own member is offered to it before anybody else. */
	if (s->step == SWAP_WAITING && m && m->view != CLUSTER_NONE &&
	    s->looked_here != cluster_view_version(c->fleet, m->view))
		return 0;
	if (s->step != SWAP_SUSPECTED && s->looked != fleet_version(c->fleet))
		at = num_min(at, s->looked_at + LOOK_INTERVAL);
	return at;
}

usec swap_due(const struct core *c)
{
	usec due = INT64_MAX;

	vec_foreach (&c->swaps, j)
		due = num_min(due, due_at(c, *j));
	return due;
}

/* Higher priority first, then the older, then the smaller name. */
static int by_priority(const void *a, const void *b)
{
	const struct job *x = *(struct job *const *)a, *y = *(struct job *const *)b;

	if (swap_priority(x) != swap_priority(y))
		return swap_priority(x) > swap_priority(y) ? -1 : 1;
	if (x->first_attempt != y->first_attempt)
		return x->first_attempt < y->first_attempt ? -1 : 1;
	return strcmp(x->uid_text, y->uid_text);
}

void swap_run(struct core *c)
{
	struct swap_round r = {.c = c};
	struct VEC(struct job *) all = {0};

	vec_foreach (&c->swaps, j)
		if (due_at(c, *j) <= c->now)
			vec_push(&all, *j);
	if (all.len)
		qsort(all.items, all.len, sizeof(*all.items), by_priority);
	/* One may have to go for another one; then it has no record any more. */
	vec_foreach (&all, j)
		if ((*j)->swap && !registry_batch_full(c->batch))
			look(&r, *j);
	vec_done(&all);
	arena_done(&r.mem);
	evict_fit_done(&r.trial);
	hot_swap_plan_done(&r.plan);
}

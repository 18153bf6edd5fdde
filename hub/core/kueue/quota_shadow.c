#include "core/kueue/quota_shadow.h"

#include "base/num.h"
#include "core/admission/running.h"
#include "core/admission/starvation.h"
#include "core/job.h"
#include "core/kueue/workload_restore.h"
#include "quota-tree/kueue_holders.h"

#define MOST_STARVING 64
#define CAST_INTERVAL USEC_PER_SEC

/* ---- the list ---- */

/* The order of a queue, over all of them: total. */
static int cmp(const struct workload *a, const struct workload *b)
{
	return kueue_workload_cmp(a->unit, b->unit);
}

struct quota_shadow *quota_shadow_find(const struct core *c, const struct workload *w)
{
	vec_foreach (&c->kueue->starving, s)
		if ((*s)->workload == w)
			return *s;
	return NULL;
}

static void drop_at(struct core *c, size_t i)
{
	struct kueue *k = c->kueue;

	kueue_shadow_done(&k->starving.items[i]->of);
	free(k->starving.items[i]);
	k->starving.len--;
	memmove(k->starving.items + i, k->starving.items + i + 1,
		(k->starving.len - i) * sizeof(*k->starving.items));
	k->shadows_moved = k->shadows_stale = true;
}

/* It waits still, in the queue in which it did. */
static bool is_there(const struct quota_shadow *s)
{
	const struct kueue_workload *u = s->workload->unit;

	return u && u->state == KUEUE_PENDING && u->queue == s->of.queue;
}

static void drop_gone(struct core *c)
{
	for (size_t i = 0; i < c->kueue->starving.len;) {
		if (is_there(c->kueue->starving.items[i]))
			i++;
		else
			drop_at(c, i);
	}
}

void quota_shadow_add(struct core *c, struct workload *w)
{
	struct kueue *k = c->kueue;

	if (quota_shadow_find(c, w))
		return;
	drop_gone(c);
	size_t at = k->starving.len;
	if (at == MOST_STARVING && cmp(w, k->starving.items[at - 1]->workload) > 0)
		return;
	if (at == MOST_STARVING)
		drop_at(c, at - 1);
	struct quota_shadow *s = xcalloc(1, sizeof(*s));
	*s = (struct quota_shadow){
	    .workload = w,
	    .of = {.queue = w->unit->queue, .at = KUEUE_SHADOW_NEVER, .lender = KUEUE_NONE}};
	vec_push(&k->starving, s);
	for (at = k->starving.len - 1; at > 0 && cmp(w, k->starving.items[at - 1]->workload) < 0;
	     at--)
		k->starving.items[at] = k->starving.items[at - 1];
	k->starving.items[at] = s;
	k->shadows_new = true;
}

void quota_shadow_drop(struct core *c, const struct workload *w)
{
	for (size_t i = 0; i < c->kueue->starving.len; i++)
		if (c->kueue->starving.items[i]->workload == w) {
			drop_at(c, i);
			return;
		}
}

void quota_shadow_drop_all(struct core *c)
{
	while (c->kueue->starving.len)
		drop_at(c, c->kueue->starving.len - 1);
	vec_done(&c->kueue->starving);
}

bool quota_shadow_holds(const struct core *c, const struct quota_shadow *s)
{
	const struct kueue_workload *u = s->workload->unit;
	const struct kueue_forest *f = c->kueue->forest;

	if (!is_there(s) || kueue_forest_active(f, u->queue) != KUEUE_ACTIVE)
		return false;
	if (s->workload->lacking_at && !starvation_may_promise(c, s->workload->job))
		return false;
	/* Whoever stands behind another one there cannot be next. */
	return kueue_forest_queue_spec(f, u->queue)->strategy != KUEUE_STRICT_FIFO ||
	       kueue_queues_position(c->kueue->queues, u) == 0;
}

/* ---- ends ---- */

int64_t quota_shadow_limit(const struct core *c, const struct workload *w)
{
	if (w->job)
		return running_limit(w->job);
	return w->max_execution
		   ? num_mul_sat(num_max(0, w->max_execution - w->past_execution), USEC_PER_SEC)
		   : KUEUE_SHADOW_NEVER;
}

static int64_t after(usec start, int64_t limit)
{
	return limit == KUEUE_SHADOW_NEVER ? limit : num_add_sat(start, limit);
}

static int64_t end_of(const struct core *c, const struct workload *w)
{
	if (w->unit->state == KUEUE_EVICTED)
		return c->now;
	if (w->job && w->job->holds)
		return running_end(c, w->job);
	if (w->ahead)
		return after(starvation_shadow(c, w->job), quota_shadow_limit(c, w));
	/* Nobody knows when its checks are Ready. */
	return w->unit->state == KUEUE_ADMITTED ? after(w->admitted_at, quota_shadow_limit(c, w))
						: KUEUE_SHADOW_NEVER;
}

struct endings VEC(struct kueue_ending);

static void add_queue(const struct core *c, uint32_t queue, struct endings *out)
{
	const struct kueue_forest *f = c->kueue->forest;
	size_t n = kueue_holders_count(f, queue);

	for (size_t i = 0; i < n; i++) {
		struct kueue_workload *u = kueue_holders_at(f, queue, i);
		int64_t at = end_of(c, u->owner);
		/* Who never ends stays charged. */
		if (at != KUEUE_SHADOW_NEVER)
			vec_push(out, (struct kueue_ending){at, queue, u->uses, u->n_uses, u});
	}
}

static void add_tree(const struct core *c, uint32_t node, struct endings *out)
{
	const struct kueue_forest *f = c->kueue->forest;
	uint32_t child;

	if (kueue_forest_is_queue(f, node))
		add_queue(c, node, out);
	for (size_t i = 0; (child = kueue_forest_child(f, node, i)) != KUEUE_NONE; i++)
		add_tree(c, child, out);
}

/* ---- casting ---- */

/* Those of one tree, in their order. One that no cluster can be promised to is promised no quota.
 */
static void cast_tree(struct core *c, uint32_t root)
{
	struct kueue_forest *f = c->kueue->forest;
	struct kueue_shadow *list[MOST_STARVING];
	struct endings endings = {0};
	size_t n = 0;

	vec_foreach (&c->kueue->starving, it) {
		struct quota_shadow *s = *it;
		if (kueue_forest_root(f, s->of.queue) != root)
			continue;
		s->generation = kueue_forest_tree_generation(f, s->of.queue);
		s->of.workload = s->workload->unit;
		s->of.limit = quota_shadow_limit(c, s->workload);
		s->of.at = KUEUE_SHADOW_NEVER;
		if (quota_shadow_holds(c, s) && !starvation_is_hopeless(c, s->workload->job))
			list[n++] = &s->of;
	}
	add_tree(c, root, &endings);
	kueue_ending_sort(endings.items, endings.len);
	kueue_shadow_cast(f, list, n, endings.items, endings.len, c->now);
	vec_done(&endings);
}

/* Priorities change. */
static void sort(struct kueue *k)
{
	for (size_t i = 1; i < k->starving.len; i++) {
		struct quota_shadow *s = k->starving.items[i];
		size_t at = i;
		for (; at > 0 && cmp(s->workload, k->starving.items[at - 1]->workload) < 0; at--)
			k->starving.items[at] = k->starving.items[at - 1];
		k->starving.items[at] = s;
	}
}

static void cast_all(struct core *c)
{
	struct kueue *k = c->kueue;

	sort(k);
	for (size_t i = 0; i < k->starving.len; i++) {
		uint32_t root = kueue_forest_root(k->forest, k->starving.items[i]->of.queue);
		bool done = false;
		for (size_t m = 0; m < i && !done; m++)
			done = kueue_forest_root(k->forest, k->starving.items[m]->of.queue) == root;
		if (!done)
			cast_tree(c, root);
	}
	k->shadows_at = c->now;
	k->shadows_stale = k->shadows_new = false;
}

static bool is_stale(const struct core *c)
{
	if (c->kueue->shadows_stale)
		return true;
	vec_foreach (&c->kueue->starving, s)
		if (!is_there(*s) || (*s)->generation != kueue_forest_tree_generation(
							     c->kueue->forest, (*s)->of.queue))
			return true;
	return false;
}

bool quota_shadow_refresh(struct core *c)
{
	struct kueue *k = c->kueue;
	bool moved;

	drop_gone(c);
	if (k->shadows_new || (k->starving.len && is_stale(c) &&
			       (k->shadows_moved || c->now - k->shadows_at >= CAST_INTERVAL))) {
		cast_all(c);
		k->shadows_moved = true;
	}
	moved = k->shadows_moved;
	k->shadows_moved = false;
	return moved;
}

usec quota_shadow_due(const struct core *c)
{
	const struct kueue *k = c->kueue;

	if (k->shadows_moved || !k->starving.len)
		return c->now;
	return is_stale(c) ? num_add_sat(k->shadows_at, CAST_INTERVAL) : INT64_MAX;
}

#include "quota-tree/elastic_reclaim.h"

#include <assert.h>
#include <stdlib.h>

/*
 * Every turn picks the best candidate that is left by looking at all of them: a search runs once
 * for an owner that waits, over the jobs of one tree, and ratios change with every victim.
 */

struct search {
	struct quota_tree *tree;
	const struct elastic_reclaim_options *options;
	const struct elastic_job *job;
	const struct elastic_job *running;
	size_t n;
	const struct elastic_room *room;
	int64_t now;
	bool owner;
	bool quota_short; /* at the start; else only nodes are missing */
	bool *out;	  /* by job: a victim, or passed over */
	struct elastic_victims *ret;
};

/* How far a node is above its min: used / min. */
struct excess {
	int64_t used, min;
};

void elastic_victims_done(struct elastic_victims *v)
{
	vec_done(&v->items);
}

static bool fits(const struct search *s)
{
	return quota_tree_test(s->tree, s->job->node, &s->job->request, NULL) &&
	       (!s->room || s->room->fits(s->room->context));
}

bool elastic_reclaim_is_owner(const struct quota_tree *tree,
			      const struct elastic_reclaim_options *options,
			      const struct elastic_job *job)
{
	for (size_t i = 0; i < job->request.n_amounts; i++) {
		const struct quota_amount *a = &job->request.amounts[i];
		struct quota_state state;
		if (a->resource == options->jobs_resource ||
		    a->resource >= quota_tree_n_resources(tree))
			continue;
		quota_tree_get(tree, job->node, a->resource, &state);
		if (a->value > state.nominal_oversold - state.used)
			return false;
	}
	return true;
}

/* Whether some node on the job's path has too little of the resource for it. */
static bool is_short(const struct search *s, const struct quota_amount *a)
{
	const struct quota_request one = {
	    .amounts = a, .n_amounts = 1, .nonpreemptible = s->job->request.nonpreemptible};
	return !quota_tree_test(s->tree, s->job->node, &one, NULL);
}

/* What others may be asked for: what is short; when only nodes are missing, all it asks. The count
 * of jobs has no min, so nobody owns it. */
static bool is_wanted(const struct search *s, const struct quota_amount *a)
{
	if (a->resource >= quota_tree_n_resources(s->tree))
		return false;
	if (a->resource == s->options->jobs_resource && (s->owner || !s->quota_short))
		return false;
	return !s->quota_short || is_short(s, a);
}

static bool holds(const struct elastic_job *job, uint32_t resource)
{
	for (size_t i = 0; i < job->request.n_amounts; i++)
		if (job->request.amounts[i].resource == resource)
			return true;
	return false;
}

static struct excess excess_of(const struct search *s, uint32_t node, uint32_t resource)
{
	struct quota_state state;
	quota_tree_get(s->tree, node, resource, &state);
	return (struct excess){state.used, state.nominal_oversold};
}

static bool is_above(struct excess e)
{
	return e.used > e.min;
}

/* > 0: a is further above. */
static int excess_cmp(struct excess a, struct excess b)
{
	if (!a.min || !b.min) {
		if (!a.min != !b.min)
			return a.min ? -1 : 1;
		return (a.used > b.used) - (a.used < b.used);
	}
	__int128 x = (__int128)a.used * b.min, y = (__int128)b.used * a.min;
	return x != y ? (x > y ? 1 : -1) : (a.used > b.used) - (a.used < b.used);
}

static bool is_on_path(const struct quota_tree *t, uint32_t node, uint32_t from)
{
	for (; from != QUOTA_NO_NODE; from = quota_tree_parent(t, from))
		if (from == node)
			return true;
	return false;
}

/* Whether the node and all above it, up to the lowest that the owner is below too, are above their
 * min of the resource. */
static bool has_borrowed(const struct search *s, uint32_t node, uint32_t resource)
{
	for (; node != QUOTA_NO_NODE && !is_on_path(s->tree, node, s->job->node);
	     node = quota_tree_parent(s->tree, node))
		if (!is_above(excess_of(s, node, resource)))
			return false;
	return true;
}

/* Whether the job may go now, for what reason of quota; *ret is how far its node is above min. */
static bool is_candidate(const struct search *s, const struct elastic_job *c, struct excess *ret)
{
	*ret = (struct excess){0, 1};
	if (c->request.nonpreemptible || c->leaving ||
	    c->admitted_at > s->now - s->options->protect)
		return false;
	if (!s->owner && (c->node != s->job->node || c->priority >= s->job->priority))
		return false;
	if (s->owner && c->node == s->job->node)
		return false;
	bool frees = false, helps = s->room && s->room->useful(s->room->context, c);
	for (size_t i = 0; i < s->job->request.n_amounts; i++) {
		const struct quota_amount *a = &s->job->request.amounts[i];
		if (!holds(c, a->resource) || !is_wanted(s, a))
			continue;
		if (s->owner && !has_borrowed(s, c->node, a->resource))
			continue;
		struct excess e = excess_of(s, c->node, a->resource);
		if (!frees || excess_cmp(e, *ret) > 0)
			*ret = e;
		frees = true;
	}
	return frees && (s->quota_short || helps);
}

static bool goes_before(const struct elastic_job *a, struct excess ea, const struct elastic_job *b,
			struct excess eb)
{
	int c = a->node == b->node ? 0 : excess_cmp(ea, eb);
	if (c)
		return c > 0;
	if (a->node != b->node)
		return a->node < b->node;
	if (a->priority != b->priority)
		return a->priority < b->priority;
	if (a->admitted_at != b->admitted_at)
		return a->admitted_at > b->admitted_at;
	return span_cmp(a->name, b->name) < 0;
}

static const struct elastic_job *best(const struct search *s)
{
	const struct elastic_job *found = NULL;
	struct excess found_excess = {0, 1}, e;
	for (size_t i = 0; i < s->n; i++) {
		if (s->out[i] || !is_candidate(s, &s->running[i], &e))
			continue;
		if (!found || goes_before(&s->running[i], e, found, found_excess)) {
			found = &s->running[i];
			found_excess = e;
		}
	}
	return found;
}

static void take(struct search *s, const struct elastic_job *v)
{
	quota_tree_release(s->tree, v->node, &v->request);
	if (s->room)
		s->room->take(s->room->context, v);
}

static void give_back(struct search *s, const struct elastic_job *v)
{
	int r = quota_tree_charge_forced(s->tree, v->node, &v->request);
	assert(!r); /* it was charged before */
	(void)r;
	if (s->room)
		s->room->give_back(s->room->context, v);
}

/* Whoever is not needed stays, the first taken last to be asked. */
static void fill_back(struct search *s)
{
	for (size_t i = s->ret->items.len - 1; i-- > 0;) {
		const struct elastic_job *v = s->ret->items.items[i];
		give_back(s, v);
		if (!fits(s)) {
			take(s, v);
			continue;
		}
		for (size_t k = i + 1; k < s->ret->items.len; k++)
			s->ret->items.items[k - 1] = s->ret->items.items[k];
		s->ret->items.len--;
	}
}

static void run(struct search *s)
{
	bool enough = fits(s);
	const struct elastic_job *v;
	while (!enough && (v = best(s))) {
		s->out[v - s->running] = true;
		take(s, v);
		vec_push(&s->ret->items, v);
		enough = fits(s);
		/* What is short is asked for first; then nodes. */
		s->quota_short = !quota_tree_test(s->tree, s->job->node, &s->job->request, NULL);
	}
	if (enough && s->ret->items.len)
		fill_back(s);
	for (size_t i = s->ret->items.len; i-- > 0;)
		give_back(s, s->ret->items.items[i]);
	if (!enough)
		vec_clear(&s->ret->items);
}

void elastic_reclaim(struct quota_tree *tree, const struct elastic_reclaim_options *options,
		     const struct elastic_job *job, const struct elastic_job *running, size_t n,
		     const struct elastic_room *room, int64_t now, struct elastic_victims *ret)
{
	vec_clear(&ret->items);
	ret->waits = false;
	struct search s = {.tree = tree,
			   .options = options,
			   .job = job,
			   .running = running,
			   .n = n,
			   .room = room,
			   .now = now,
			   .ret = ret};
	s.owner = elastic_reclaim_is_owner(tree, options, job);
	ret->reason = s.owner ? ELASTIC_RECLAIM : ELASTIC_PREEMPT_LOWER;
	for (size_t i = 0; i < n && !ret->waits; i++)
		ret->waits = running[i].leaving;
	if (ret->waits)
		return;
	s.quota_short = !quota_tree_test(tree, job->node, &job->request, NULL);
	s.out = xcalloc(n ? n : 1, sizeof(*s.out));
	run(&s);
	free(s.out);
}

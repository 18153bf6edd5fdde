#include "core/swap/node_jobs.h"

#define REMEMBERED (30 * USEC_PER_SEC)

static struct node_jobs *of(struct member *m, uint32_t node)
{
	return node < m->node_jobs.len ? &m->node_jobs.items[node] : NULL;
}

static struct node_job *find(struct node_jobs *all, uint64_t job)
{
	for (size_t i = 0; all && i < all->items.len; i++)
		if (all->items.items[i].job == job)
			return &all->items.items[i];
	return NULL;
}

static void drop(struct node_jobs *all, struct node_job *j)
{
	*j = all->items.items[--all->items.len];
	if (all->items.len == 0)
		vec_done(&all->items);
}

static void purge(struct node_jobs *all, usec now)
{
	for (size_t i = all ? all->items.len : 0; i-- > 0;)
		if (all->items.items[i].pods == 0 && all->items.items[i].left + REMEMBERED < now)
			drop(all, &all->items.items[i]);
}

void node_jobs_add(struct member *m, uint32_t node, uint64_t job, usec now)
{
	while (m->node_jobs.len <= node)
		vec_push(&m->node_jobs, (struct node_jobs){0});
	struct node_jobs *all = of(m, node);
	purge(all, now);
	struct node_job *j = find(all, job);
	if (j)
		j->pods++;
	else
		vec_push(&all->items, ((struct node_job){.job = job, .pods = 1}));
}

void node_jobs_remove(struct member *m, uint32_t node, uint64_t job, bool failed, usec now)
{
	struct node_jobs *all = of(m, node);
	struct node_job *j = find(all, job);

	if (!j || j->pods == 0 || --j->pods > 0)
		return;
	j->left = now;
	if (!failed)
		drop(all, j);
}

void node_jobs_reset(struct member *m, uint32_t node)
{
	struct node_jobs *all = of(m, node);

	for (size_t i = all ? all->items.len : 0; i-- > 0;)
		if (all->items.items[i].pods == 0)
			drop(all, &all->items.items[i]);
}

size_t node_jobs_get(struct member *m, uint32_t node, usec now, const struct node_job **ret)
{
	struct node_jobs *all = of(m, node);

	purge(all, now);
	*ret = all ? all->items.items : NULL;
	return all ? all->items.len : 0;
}

void node_jobs_done(struct member *m)
{
	vec_foreach (&m->node_jobs, all)
		vec_done(&all->items);
	vec_done(&m->node_jobs);
}

#include "core/admission/starving.h"

#include "core/job.h"
#include "core/kueue/workload.h"

struct starving *starving_find(const struct core *c, const struct job *j)
{
	struct starvation *s = c->starvation;
	for (size_t i = 0; j && i < s->items.len; i++)
		if (s->items.items[i].job == j->number)
			return &s->items.items[i];
	return NULL;
}

bool starving_holds(const struct core *c, uint32_t cluster, const struct starving *but)
{
	vec_foreach (&c->starvation->items, it)
		if (it != but && it->held.cluster == cluster)
			return true;
	return false;
}

size_t starving_reserved(const struct core *c)
{
	size_t n = 0;
	vec_foreach (&c->starvation->items, it)
		n += it->held.cluster != CLUSTER_NONE || it->woken;
	return n;
}

size_t starving_most_reserved(const struct core *c)
{
	size_t n = 0;
	vec_foreach (&c->members, m)
		n += *m != NULL;
	return n / 4 > 0 ? n / 4 : 1;
}

static int32_t priority_of(const struct job *j)
{
	return j->workload ? workload_priority(j->workload) : j->priority;
}

static int cmp_starving(const void *a, const void *b, void *core)
{
	const struct job *x = job_by_number(core, ((const struct starving *)a)->job);
	const struct job *y = job_by_number(core, ((const struct starving *)b)->job);

	if (!x || !y)
		return (x ? 0 : 1) - (y ? 0 : 1);
	if (priority_of(x) != priority_of(y))
		return priority_of(x) > priority_of(y) ? -1 : 1;
	if (x->first_attempt != y->first_attempt)
		return x->first_attempt < y->first_attempt ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

void starving_sort(struct core *c)
{
	struct starvation *s = c->starvation;

	if (s->items.len > 1)
		qsort_r(s->items.items, s->items.len, sizeof(*s->items.items), cmp_starving, c);
}

bool starving_has_place(struct core *c, const struct starving *it)
{
	struct starvation *s = c->starvation;

	if (s->items.len < STARVATION_MOST)
		return true;
	starving_sort(c);
	struct starving *last = &s->items.items[s->items.len - 1];
	if (last->held.cluster != CLUSTER_NONE || cmp_starving(it, last, c) > 0)
		return false;
	s->items.len--;
	return true;
}

#include "core/admission/running.h"

#include "base/num.h"
#include "core/job.h"
#include "core/kueue/workload.h"
#include "core/member.h"

int64_t running_limit(const struct job *j)
{
	int64_t seconds = j ? j->digest.limit_seconds : -1;
	const struct workload *w = j ? j->workload : NULL;

	if (w && w->max_execution > 0) {
		int64_t rest = num_max(0, w->max_execution - w->past_execution);
		seconds = seconds < 0 ? rest : num_min(seconds, rest);
	}
	return seconds < 0 ? RESERVATION_NEVER : num_mul_sat(seconds, USEC_PER_SEC);
}

int64_t running_end(const struct core *c, const struct job *j)
{
	int64_t limit = running_limit(j);

	if (j->dispatch.step == DISPATCH_WITHDRAWING || j->dispatch.step == DISPATCH_STOPPING ||
	    j->finished)
		return c->now;
	return limit == RESERVATION_NEVER ? RESERVATION_NEVER : num_add_sat(j->decided_at, limit);
}

static struct evict_job pods_of(const struct job *j, const struct member *m, struct arena *mem)
{
	struct evict_pods *pods = arena_array(mem, struct evict_pods, j->pods.len);
	size_t n = 0;

	vec_foreach (&j->pods, it) {
		const struct member_pod *p = *it;
		if (p->member != m->number || p->node == NODE_NONE)
			continue;
		struct pod_usage *usage = arena_new(mem, struct pod_usage);
		*usage = (struct pod_usage){p->amounts, p->n_amounts, p->exclusive};
		pods[n++] = (struct evict_pods){p->node, 1, usage};
	}
	return (struct evict_job){.number = j->number, .pods = pods, .n_pods = n};
}

static void gather_member(struct core *c, const struct member *m, struct running *g)
{
	struct reservation_job *jobs = arena_array(&g->mem, struct reservation_job, m->jobs.len);
	size_t n = 0;

	vec_foreach (&m->jobs, number) {
		const struct job *j = job_by_number(c, *number);
		if (!j || !j->holds || member_placed(c, j) != m)
			continue;
		jobs[n++] = (struct reservation_job){pods_of(j, m, &g->mem), running_end(c, j)};
	}
	reservation_sort(jobs, n);
	g->clusters[g->n++] = (struct reservation_cluster){m->view, jobs, n};
}

void running_gather(struct core *c, struct running *g)
{
	if (g->done)
		return;
	g->done = true;
	g->clusters = arena_array(&g->mem, struct reservation_cluster, c->members.len);
	vec_foreach (&c->members, p)
		if (*p && !(*p)->leaving)
			gather_member(c, *p, g);
}

#include "core/memory.h"
#include "core/admission/elastic_wait.h"
#include "core/admission/reclaim.h"
#include "core/admission/starvation.h"

#include "core/core_thread.h"
#include "core/dispatch/courier.h"
#include "core/dispatch/ungater.h"
#include "core/job.h"
#include "core/kueue/kueue.h"
#include "core/member.h"
#include "core/priority.h"
#include "core/provisioning/provisioning.h"
#include "core/recorder.h"
#include "core/restore.h"
#include "core/retention_sweep.h"
#include "core/turn.h"

static int born(struct core *c, struct err *reterr)
{
	static const char *const names[] = {"default", "kube-system", "kube-public",
					    "kube-node-lease", "kube-queue"};
	int r = registry_begin(c->registry, core_thread_now(c), &c->batch, reterr);

	if (r < 0)
		return r;
	for (size_t i = 0; r == 0 && i < ARRAY_LEN(names); i++)
		r = registry_ensure_namespace(c->batch, names[i], reterr);
	if (r == 0)
		r = registry_ensure_system_classes(c->batch, reterr);
	if (r == 0)
		r = registry_seed_definitions(c->batch, reterr);
	if (r == 0)
		r = registry_commit(c->batch, reterr);
	c->batch = registry_end(c->batch);
	c->born = r == 0;
	return r;
}

int memory_open(struct core *c, struct err *reterr)
{
	c->policies = propagation_index_create();
	c->fleet = fleet_create();
	c->placer = placer_create(c->fleet);
	c->ledger = ledger_create(c->fleet);
	c->waiting = waiting_create(c->placer);
	c->starvation = starvation_create();
	c->elastic_wait = elastic_wait_create();
	c->ungater = ungater_create();
	kueue_open(c);
	provisioning_open(c);
	c->retention_next = 0;
	c->retention_put = UINT64_MAX;
	int r = c->born ? 0 : born(c, reterr);
	if (r == 0)
		r = registry_begin(c->registry, core_thread_now(c), &c->batch, reterr);
	if (r < 0)
		return r;
	c->now = registry_now(c->batch);
	c->restoring = true;
	r = restore_all(c, reterr);
	if (r == 0)
		retention_sweep_open(c);
	c->restoring = false;
	if (r == 0)
		r = registry_commit(c->batch, reterr);
	c->batch = registry_end(c->batch);
	return r;
}

/* The queues go before the jobs: they compare by names that the jobs own. */
static void quota_close(struct core *c)
{
	c->quota.queues = elastic_queue_destroy(c->quota.queues);
	reclaim_done(c);
	c->quota.tree = elastic_tree_destroy(c->quota.tree);
	map_foreach (&c->quota.queue_by_path, e) {
		struct queue_object *q = e->value;
		free(q->name);
		free(q);
	}
	map_done(&c->quota.queue_by_path);
	free(c->quota.name);
	free(c->quota.created);
	free(c->quota.spec_text);
	memset(&c->quota, 0, sizeof(c->quota));
}

static void jobs_close(struct core *c)
{
	struct VEC(struct job *) all = {0};

	vec_foreach (&c->dirty, j)
		(*j)->dirty = false;
	c->n_freed = 0;
	vec_foreach (&c->flushed, j)
		(*j)->flushed = false;
	vec_reserve(&all, c->jobs_by_number.len + 1);
	map_foreach (&c->jobs_by_number, e)
		vec_push(&all, e->value);
	vec_foreach (&all, j)
		job_destroy(c, *j);
	vec_done(&all);
	vec_done(&c->dirty);
	vec_done(&c->flushed);
	vec_done(&c->timers);
	vec_done(&c->swaps);
	map_done(&c->jobs_by_key);
	map_done(&c->jobs_by_uid);
	map_done(&c->jobs_by_number);
}

static void asks_close(struct core *c)
{
	c->elastic_wait = elastic_wait_destroy(c->elastic_wait);
	c->starvation = starvation_destroy(c->starvation);
	c->waiting = waiting_destroy(c->waiting); /* it refers to asks without holding them */
	vec_foreach (&c->asks, w) {
		placer_ask_unref(c->placer, w->parked);
		free(w->reason);
		free(w->summary);
		vec_done(&w->newcomers);
		vec_done(&w->shapes);
		vec_done(&w->heap);
	}
	vec_done(&c->asks);
	vec_done(&c->ready_asks);
}

static void messages_close(struct core *c)
{
	map_foreach (&c->calls, e) {
		struct call *call = e->value;
		free(call->thing);
		free(call->uid);
		free(call);
	}
	map_done(&c->calls);
	vec_foreach (&c->orders, o)
		order_destroy(*o);
	vec_done(&c->orders);
	vec_foreach (&c->observed, o) {
		free(o->ns);
		free(o->name);
	}
	vec_done(&c->observed);
	map_done(&c->observed_keys);
}

void memory_close(struct core *c)
{
	quota_close(c);
	c->ungater = ungater_destroy(c->ungater);
	jobs_close(c);
	kueue_close(c);
	provisioning_close(c);
	recorder_close(c);
	asks_close(c);
	c->ledger = ledger_destroy(c->ledger);
	vec_foreach (&c->members, p)
		if (*p)
			member_free(c, *p);
	vec_done(&c->members);
	map_done(&c->members_by_name);
	c->placer = placer_destroy(c->placer);
	c->fleet = fleet_destroy(c->fleet);
	c->policies = propagation_index_destroy(c->policies);
	priority_close(c);
	c->cursors_dirty = false;
	retention_sweep_close(c);
	messages_close(c);
}

void core_rebuild(struct core *c, struct err *reterr)
{
	c->rebuild = false;
	memory_close(c);
	if (memory_open(c, reterr) < 0)
		c->rebuild = true;
	else
		turn_send_orders(c);
}

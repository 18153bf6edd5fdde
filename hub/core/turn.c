#include "core/turn.h"

#include "base/num.h"
#include "core/admission/elastic_wait.h"
#include "core/admission/pump.h"
#include "core/admission/reclaim.h"
#include "core/admission/starvation.h"
#include "core/capacity.h"
#include "core/core.h"
#include "core/core_thread.h"
#include "core/cursors.h"
#include "core/dispatch/ungater.h"
#include "core/facts.h"
#include "core/flush.h"
#include "core/intake.h"
#include "core/kueue/kueue.h"
#include "core/member.h"
#include "core/member_view.h"
#include "core/observe.h"
#include "core/provisioning/provisioning.h"
#include "core/query.h"
#include "core/quota.h"
#include "core/recorder.h"
#include "core/retention.h"
#include "core/retention_sweep.h"
#include "core/swap/swap.h"
#include "core/timers.h"

usec core_next_time(const struct core *c)
{
	if (c->starved_since)
		return c->starved_until;
	usec t = registry_due(c->registry);

	t = num_min(t, timers_due(c));
	t = num_min(t, member_view_due(c));
	t = num_min(t, quota_due(c));
	t = num_min(t, starvation_due(c));
	t = num_min(t, elastic_wait_due(c));
	t = num_min(t, swap_due(c));
	t = num_min(t, reclaim_due(c));
	t = num_min(t, kueue_due(c));
	t = num_min(t, provisioning_due(c));
	t = num_min(t, ungater_due(c));
	return num_min(t, retention_due(c));
}

/* ---- a batch ---- */

void turn_send_orders(struct core *c)
{
	vec_foreach (&c->orders, o) {
		if (c->net)
			c->net->ops->submit(c->net, *o);
		else
			order_destroy(*o);
	}
	vec_clear(&c->orders);
}

/* Everything that is to be done now, into the batch. True when some of it found no room. */
static bool plan(struct core *c)
{
	bool more = observe_run(c);

	more |= facts_run(c);
	timers_run(c);
	capacity_sweep(c);
	ungater_run(c);
	kueue_flush_late_status(c);
	intake_run(c);
	if (!registry_batch_full(c->batch)) {
		usec began = clock_thread_cpu();
		more |= pump_run(c);
		c->counters.decide_time += clock_thread_cpu() - began;
	}
	more |= recorder_flush(c);
	more |= flush_jobs(c);
	more |= provisioning_flush(c);
	member_view_flush(c);
	quota_flush(c);
	kueue_flush_status(c);
	more |= retention_sweep_run(c);
	retention_run(c);
	more |= intake_fill(c);
	cursors_flush(c);
	observe_save(c);
	if (!registry_batch_full(c->batch))
		more |= registry_work(c->batch, 32);
	return more;
}

/* One batch. True when there is more to do at once. */
static bool turn(struct core *c, struct err *reterr)
{
	if (registry_begin(c->registry, core_thread_now(c), &c->batch, reterr) < 0) {
		c->failed = true;
		return false;
	}
	c->now = registry_now(c->batch);
	c->settings.keep_finished = atomic_load(&core_thread_of(c)->keep_finished);
	bool more = plan(c);
	c->counters.batches++;
	usec began = clock_monotonic();
	int r = registry_commit(c->batch, reterr);
	query_count_commit(&c->counters, clock_monotonic() - began);
	if (r == 0) {
		observe_collect(c);
		inbox_release(c->inbox, c->batch);
		flush_committed(c);
		provisioning_committed(c);
		turn_send_orders(c);
		more |= c->observed.len > 0 || c->dirty.len > 0 || c->kueue->dirty.len > 0 ||
			c->late_events.len > 0 || c->provisioning->dirty.len > 0;
	} else {
		registry_reply(c->batch);
		c->failed = reterr->kind != ERR_NO_SPACE;
		c->rebuild = true;
	}
	c->batch = registry_end(c->batch);
	return more;
}

/* After a commit that found no space nothing is planned: writes are refused, questions answered,
 * deletes tried (the store keeps room for them), facts wait. Every RETRY_ROOM a batch is tried all
 * the same: a refused one trims the log. */
#define STARVED_WAIT USEC_PER_SEC
#define RETRY_ROOM   (10 * USEC_PER_SEC)

/* True when commands are left that found no room in the batch. */
static bool starve(struct core *c)
{
	struct err err = ERR_INIT;

	if (registry_begin(c->registry, core_thread_now(c), &c->batch, &err) < 0)
		return false;
	c->now = registry_now(c->batch);
	bool deletes = intake_starved(c);
	if (registry_commit(c->batch, &err) == 0) {
		observe_collect(c);
		inbox_release(c->inbox, c->batch);
	} else {
		registry_reply(c->batch);
		c->failed = c->failed || err.kind != ERR_NO_SPACE;
		c->rebuild = c->rebuild || deletes;
	}
	c->batch = registry_end(c->batch);
	return !inbox_is_empty(c->inbox);
}

static bool has_room(const struct core *c)
{
	return store_has_room(c->truth) && (!c->mirror || store_has_room(c->mirror));
}

/* Reads memory anew. False when the store cannot be read or written even for that. */
static bool rebuilt(struct core *c, struct err *reterr)
{
	log_error(c->log, "commit failed, memory is rebuilt", "error=\"%s\"", reterr->text);
	core_rebuild(c, reterr);
	if (c->rebuild && reterr->kind != ERR_NO_SPACE)
		c->failed = true;
	return !c->rebuild;
}

static bool is_starved(struct core *c)
{
	usec now = core_thread_now(c);

	if (!c->starved_since || now < c->starved_until)
		return c->starved_since;
	if (has_room(c) || now >= c->starved_since + RETRY_ROOM)
		return false;
	c->starved_until = now + STARVED_WAIT;
	return true;
}

static bool guarded_turn(struct core *c, struct err *reterr)
{
	if (is_starved(c))
		return starve(c);
	if (c->rebuild && !rebuilt(c, reterr)) {
		c->starved_until = core_thread_now(c) + STARVED_WAIT;
		return !c->failed && starve(c);
	}
	c->starved_since = 0;
	c->has_room = has_room(c);
	bool more = turn(c, reterr);
	if (!c->rebuild || c->failed)
		return more;
	c->starved_since = core_thread_now(c);
	c->starved_until = c->starved_since + STARVED_WAIT;
	(void)rebuilt(c, reterr);
	return starve(c);
}

bool core_turn(struct core *c, struct err *reterr)
{
	bool more = guarded_turn(c, reterr);

	if (c->failed)
		atomic_store(&core_thread_of(c)->failed, true);
	return more && !c->failed;
}

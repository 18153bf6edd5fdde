#include "core/timers.h"

#include "base/num.h"
#include "core/admission/failover.h"
#include "core/dispatch/courier.h"
#include "core/dispatch/dependency.h"
#include "core/kueue/kueue.h"
#include "core/member.h"
#include "core/member_event.h"
#include "core/provisioning/provisioning.h"
#include "core/unjoin.h"

/* ---- the heap ---- */

static void timer_set(struct core *c, size_t at, struct job *j)
{
	c->timers.items[at] = j;
	j->timer_at = at + 1;
}

static void timer_up(struct core *c, size_t at)
{
	struct job *j = c->timers.items[at];
	while (at > 0 && j->timer < c->timers.items[(at - 1) / 2]->timer) {
		timer_set(c, at, c->timers.items[(at - 1) / 2]);
		at = (at - 1) / 2;
	}
	timer_set(c, at, j);
}

static void timer_down(struct core *c, size_t at)
{
	struct job *j = c->timers.items[at];
	for (;;) {
		size_t child = at * 2 + 1;
		if (child >= c->timers.len)
			break;
		if (child + 1 < c->timers.len &&
		    c->timers.items[child + 1]->timer < c->timers.items[child]->timer)
			child++;
		if (j->timer <= c->timers.items[child]->timer)
			break;
		timer_set(c, at, c->timers.items[child]);
		at = child;
	}
	timer_set(c, at, j);
}

void core_job_timer(struct core *c, struct job *j, usec when)
{
	if (j->timer_at && j->timer <= when)
		return;
	j->timer = when;
	if (!j->timer_at) {
		vec_push(&c->timers, j);
		j->timer_at = c->timers.len;
	}
	timer_up(c, j->timer_at - 1);
}

void core_job_timer_remove(struct core *c, struct job *j)
{
	if (!j->timer_at)
		return;
	size_t at = j->timer_at - 1;
	struct job *last = c->timers.items[--c->timers.len];

	j->timer_at = 0;
	if (last != j) {
		timer_set(c, at, last);
		timer_up(c, at);
		timer_down(c, last->timer_at - 1);
	}
}

/* ---- what is due ---- */

void timers_run(struct core *c)
{
	while (c->timers.len && c->timers.items[0]->timer <= c->now) {
		struct job *j = c->timers.items[0];
		core_job_timer_remove(c, j);
		if (j->status && j->status_due <= c->now)
			core_job_dirty(c, j);
		else if (j->status)
			core_job_timer(c, j, j->status_due);
		courier_feed(c, j, &(struct dispatch_event){EVENT_TIMER});
		failover_timer(c, j);
		if (j->dispatch.retry_at > c->now)
			core_job_timer(c, j, j->dispatch.retry_at);
	}
	kueue_timers(c);
	provisioning_timers(c);
	vec_foreach (&c->members, p) {
		struct member *m = *p;
		if (!m)
			continue;
		if (m->unjoin_at && m->unjoin_at <= c->now && registry_batch_room(c->batch) > 80) {
			m->unjoin_at = 0;
			unjoin_step(c, m);
		}
		courier_orphans(c, m);
		dependency_timers(c, m);
		member_event_retry(c, m);
	}
}

usec timers_due(const struct core *c)
{
	usec t = c->timers.len ? c->timers.items[0]->timer : INT64_MAX;

	vec_foreach (&c->members, p) {
		const struct member *m = *p;
		if (m && m->unjoin_at)
			t = num_min(t, m->unjoin_at);
		if (m && m->dependencies_due)
			t = num_min(t, m->dependencies_due);
		if (m && m->early_due)
			t = num_min(t, m->early_due);
		for (size_t i = 0; m && i < m->orphans.len; i++)
			t = num_min(t, m->orphans.items[i].retry_at);
	}
	return t;
}

#include "core/dispatch/courier.h"

#include "base/json.h"
#include "core/admission/settle.h"
#include "core/binding.h"
#include "core/cursors.h"
#include "core/dispatch/amend.h"
#include "core/dispatch/answer.h"
#include "core/dispatch/copy_order.h"
#include "core/dispatch/dependency_look.h"
#include "core/dispatch/prepare.h"
#include "core/dispatch/ungater.h"
#include "core/job.h"
#include "core/member.h"
#include "core/provisioning/request_try.h"

#include <errno.h>

static struct span id_key(const uint64_t *id)
{
	return span_make((const char *)id, sizeof(*id));
}

uint64_t courier_call(struct core *c, struct order *take_order, struct call take_call)
{
	struct call *call = xcalloc(1, sizeof(*call));
	const struct member *m = member_by_number(c, take_order->member);

	*call = take_call;
	take_order->id = ++c->next_order;
	if (m)
		memcpy(take_order->incarnation, m->incarnation, STORE_UID_LEN);
	map_put(&c->calls, id_key(&take_order->id), call);
	vec_push(&c->orders, take_order);
	c->counters.orders++;
	return c->next_order;
}

/* ---- plans ---- */

static void send(struct core *c, struct job *j)
{
	struct member *m = member_of(c, j);
	enum dispatch_order what = j->order;

	j->order = DISPATCH_ORDER_NONE;
	if (!m || what == DISPATCH_ORDER_NONE)
		return;
	if (what == DISPATCH_ORDER_PREPARE) {
		j->prepare_at = 0;
		prepare_step(c, j, m);
		return;
	}
	struct order *o = copy_order_make(c, j, m, what);
	free(steal_ptr(&j->copy_text));
	if (!o) {
		courier_feed(c, j, &(struct dispatch_event){EVENT_NOT_SENT});
		return;
	}
	j->order_id = courier_call(
	    c, o,
	    (struct call){
		.purpose = CALL_DISPATCH, .job = j->number, .member = m->number, .order = what});
}

/* The start follows from the durable uid, and a restart takes a durable decision for a create that
 * may be under way: neither step needs a row of its own. */
static bool needs_row(enum dispatch_step was, enum dispatch_step next)
{
	return was != next && next != DISPATCH_STARTED &&
	       !(was == DISPATCH_DECIDED && next == DISPATCH_CREATING);
}

/* Its copy is, or is to be, on another member than before; or it is to be. */
static void follow(struct core *c, struct job *j, const struct dispatch_state *was)
{
	const struct dispatch_state *now = &j->dispatch;
	bool left = was->step == DISPATCH_LEAVING, leaves = now->step == DISPATCH_LEAVING;
	struct member *m = member_by_number(c, left ? was->target : now->target);

	if (left && !leaves && m)
		m->incoming--;
	if (leaves && !left && m)
		m->incoming++;
	if (left && now->step == DISPATCH_DECIDED)
		j->copy_revision = 0; /* of another copy from now on */
	if (left && now->step == DISPATCH_DECIDED && was->member != now->member && m) {
		settle_leave_member(c, j, was->member);
		settle_enter_member(m, j);
	}
}

void courier_feed(struct core *c, struct job *j, const struct dispatch_event *e)
{
	struct dispatch_state was = j->dispatch;
	struct dispatch_plan plan = dispatch_next(&was, e, c->now);

	j->dispatch = plan.next;
	if (needs_row(was.step, plan.next.step))
		j->binding_dirty = j->unit_dirty = true;
	if (plan.durable) {
		j->binding_dirty = true;
		j->durable_wanted = true;
	}
	/* Nothing is awaited any more: neither what was not sent yet, nor an answer on its way. */
	if (!plan.next.in_flight) {
		j->order = DISPATCH_ORDER_NONE;
		j->order_id = 0;
	}
	if (plan.order != DISPATCH_ORDER_NONE) {
		j->order = plan.order;
		j->order_id = 0;
		memcpy(j->order_uid, plan.uid, sizeof(j->order_uid));
		j->order_epoch = plan.copy_epoch;
	}
	follow(c, j, &was);
	if (j->amendment && !dispatch_has_standing_copy(&plan.next))
		amend_drop(c, j);
	if (j->binding_dirty || j->order != DISPATCH_ORDER_NONE)
		core_job_dirty(c, j);
	if (plan.next.retry_at)
		core_job_timer(c, j, plan.next.retry_at);
	if (plan.freed)
		settle_release(c, j);
	if (was.step != DISPATCH_IDLE && plan.next.step == DISPATCH_IDLE)
		settle_idle(c, j, was.member);
	else if (was.step != DISPATCH_PARKED && plan.next.step == DISPATCH_PARKED)
		settle_parked(c, j);
	else if (was.step == DISPATCH_PARKED && !j->holds && !dispatch_is_free(&plan.next))
		settle_unparked(c, j);
}

void courier_committed(struct core *c, struct job *j)
{
	j->durable_wanted = false;
	send(c, j);
	courier_feed(c, j, &(struct dispatch_event){EVENT_DURABLE});
	if (!j->durable_wanted)
		send(c, j);
}

void courier_member_ready(struct core *c, struct member *m)
{
	if (m->dependencies_due)
		m->dependencies_due = c->now;
	vec_foreach (&m->jobs, n) {
		struct job *j = job_by_number(c, *n);
		if (!j || member_of(c, j) != m || !j->dispatch.retry_at)
			continue;
		j->dispatch.retry_at = c->now;
		j->dispatch.failures = 0;
		core_job_timer(c, j, c->now);
	}
}

/* ---- what members say ---- */

static void orphan_retry(struct core *c, struct member *m, struct call *call)
{
	if (m)
		vec_push(&m->orphans,
			 (struct orphan){steal_ptr(&call->thing), steal_ptr(&call->uid),
					 call->stream, c->now + USEC_PER_SEC});
}

void courier_outcome(struct core *c, const struct fact *f)
{
	const struct order_outcome *r = &f->result;
	struct call *call = map_remove(&c->calls, id_key(&r->order_id));

	if (!call)
		return;
	struct job *j = call->purpose == CALL_DISPATCH ? job_by_number(c, call->job) : NULL;
	struct member *m = member_by_number(c, call->member);
	bool answered = r->outcome == OUTCOME_ANSWERED;

	if (call->purpose == CALL_ORPHAN) {
		if (!answered ||
		    (r->http_code / 100 != 2 && r->http_code != 404 && r->http_code != 409))
			orphan_retry(c, m, call);
		else if (m)
			cursors_release(c, m, call->stream);
	} else if (call->purpose == CALL_DEPENDENCY) {
		if (m)
			dependency_look_outcome(c, m, call->thing, r);
	} else if (call->purpose == CALL_UNGATE) {
		if (m)
			ungater_outcome(c, m, call, r);
	} else if (call->purpose == CALL_REQUEST) {
		if (m)
			request_try_outcome(c, call, r);
	} else if (j && m && member_of(c, j) == m && j->order_id == r->order_id) {
		if (answered)
			answer_take(c, j, call->order, r);
		else
			answer_none(c, j, call->order, r);
	}
	free(call->thing);
	free(call->uid);
	free(call);
}

/* A copy that carries our hub uid but belongs to nothing that we know. Truth is local, so absence
 * there is certain: the copy is deleted, by uid. */
static void orphan(struct core *c, struct member *m, const struct copy_info *copy)
{
	const struct kind *kind = member_kind(c, m, copy->type);
	auto_buf path = BUF_INIT, name = BUF_INIT, ns = BUF_INIT;

	if (!kind || copy->deleting || !copy->uid.len)
		return;
	buf_add_span(&ns, copy->ns);
	buf_add_span(&name, copy->name);
	member_path(kind, ns.ptr, name.ptr, &path);
	auto_free char *uid = xstrndup(copy->uid.ptr, copy->uid.len);
	struct order *o = copy_order_delete(m, path.ptr, uid);
	enum member_stream stream = member_stream_of(m, copy->type);
	cursors_hold(m, stream);
	courier_call(c, o,
		     (struct call){.purpose = CALL_ORPHAN,
				   .member = m->number,
				   .thing = buf_steal(&path, NULL),
				   .uid = steal_ptr(&uid),
				   .stream = stream});
	log_info(c->log, "copy without a job is deleted", "cluster=%s kind=%s name=%s/%s uid=%.*s",
		 m->name, kind->kind, ns.ptr, name.ptr, SPAN_ARGS(copy->uid));
}

/* A finished job has no record; its binding tells whether this is its copy. */
static bool belongs_to_binding(struct core *c, const struct member *m, const struct copy_info *copy)
{
	const struct kind *kind = kind_by_type(c->kinds, copy->type);
	char name[BINDING_NAME_MAX];
	struct store_object o;
	struct dispatch_state s;

	if (!kind || copy->name.len >= STORE_MAX_NAME)
		return true;
	auto_free char *job_name = xstrndup(copy->name.ptr, copy->name.len);
	int r = registry_get(c->batch, kind_by_type(c->kinds, TYPE_RESOURCE_BINDING), copy->ns,
			     span_of(binding_name(kind, job_name, name)), &o);
	if (r < 0 && r != -ENOENT)
		return true;
	return r == 0 && binding_dispatch(&o, &s) == 0 && s.step != DISPATCH_IDLE &&
	       s.member == m->number && dispatch_owns(&s, copy->uid, copy->epoch);
}

void courier_copy(struct core *c, struct member *m, const struct fact *f)
{
	const struct copy_info *copy = &f->copy;
	struct job *j = job_by_uid(c, copy->job_uid);
	char uid[DISPATCH_UID_MAX];

	if (!span_is(copy->hub_uid, c->hub_uid))
		return;
	if (copy->type == TYPE_PROVISIONING_REQUEST) {
		if (!request_try_copy(c, m, f) && !f->deleted)
			orphan(c, m, copy);
		return;
	}
	if (!j || member_of(c, j) != m ||
	    (!answer_is_current(j, copy) && copy->epoch != j->dispatch.epoch)) {
		if (!f->deleted && (j ? member_of(c, j) != m || copy->epoch < j->dispatch.epoch
				      : !belongs_to_binding(c, m, copy)))
			orphan(c, m, copy);
		return;
	}
	struct dispatch_event e = answer_reading(c, j, copy, uid);
	if (f->deleted) {
		if (!answer_is_current(j, copy))
			return;
		e.kind = EVENT_GONE;
		e.pods_gone = j->live_pods == 0;
		courier_feed(c, j, &e);
		return;
	}
	j->copy_seen = true;
	/* While a call is out its answer decides; the stream only brings status then. */
	if (e.kind == EVENT_READ_OURS && !copy->deleting && j->dispatch.step != DISPATCH_RESUMING)
		courier_feed(c, j, &e);
	if (e.kind == EVENT_READ_OURS)
		answer_seen(c, j, copy);
}

void courier_list_begin(struct core *c, struct member *m, enum member_stream s)
{
	(void)s;
	vec_foreach (&m->jobs, n) {
		struct job *j = job_by_number(c, *n);
		if (j)
			j->copy_seen = false;
	}
}

/* Absence from a list proves nothing for a copy whose create is under way; for a settled one it
 * is only a reason to read. */
void courier_list_end(struct core *c, struct member *m, enum member_stream s)
{
	for (size_t i = 0; i < m->jobs.len; i++) {
		struct job *j = job_by_number(c, m->jobs.items[i]);
		if (!j || member_of(c, j) != m || j->copy_seen || j->dispatch.in_flight ||
		    !j->dispatch.uid[0] || member_stream_of(m, j->kind->type) != s)
			continue;
		if (j->dispatch.step == DISPATCH_STARTED || j->dispatch.step == DISPATCH_PARKED) {
			j->dispatch.start_seen = false;
			j->dispatch.retry_at = c->now;
			core_job_timer(c, j, c->now);
		}
	}
}

void courier_orphans(struct core *c, struct member *m)
{
	for (size_t i = 0; i < m->orphans.len;) {
		struct orphan o = m->orphans.items[i];
		if (o.retry_at > c->now) {
			i++;
			continue;
		}
		m->orphans.items[i] = m->orphans.items[--m->orphans.len];
		courier_call(c, copy_order_delete(m, o.path, o.uid),
			     (struct call){.purpose = CALL_ORPHAN,
					   .member = m->number,
					   .thing = o.path,
					   .uid = o.uid,
					   .stream = o.stream});
	}
}

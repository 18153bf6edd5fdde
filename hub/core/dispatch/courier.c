#include "core/dispatch/courier.h"

#include "base/json.h"
#include "core/admission/settle.h"
#include "core/binding.h"
#include "core/cursors.h"
#include "core/dispatch/copy_order.h"
#include "core/dispatch/dependency_look.h"
#include "core/dispatch/prepare.h"
#include "core/job.h"
#include "core/member.h"
#include "core/provisioning/request_try.h"

#include <errno.h>

#define STATUS_INTERVAL (100 * USEC_PER_MS)

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
	struct order *o = copy_order_make(c, j, m, what, j->order_uid);
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
	}
	if (j->binding_dirty || j->order != DISPATCH_ORDER_NONE)
		core_job_dirty(c, j);
	if (plan.next.retry_at)
		core_job_timer(c, j, plan.next.retry_at);
	if (plan.freed)
		settle_release(c, j);
	if (was.step != DISPATCH_IDLE && plan.next.step == DISPATCH_IDLE)
		settle_idle(c, j, was.member);
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

static void note(struct job *j, const char *text)
{
	free(j->dispatch_message);
	j->dispatch_message = text && text[0] ? xstrdup(text) : NULL;
}

static bool is_ours(const struct core *c, const struct job *j, const struct copy_info *copy)
{
	return span_is(copy->hub_uid, c->hub_uid) && span_is(copy->job_uid, j->uid_text);
}

static bool is_current(const struct job *j, const struct copy_info *copy)
{
	return copy->epoch == j->dispatch.epoch &&
	       (j->dispatch.uid[0] == '\0' || span_is(copy->uid, j->dispatch.uid));
}

static void schedule_status(struct core *c, struct job *j, const struct copy_info *copy)
{
	struct buf text = BUF_MAX(STORE_MAX_OBJECT);
	bool terminal = copy->phase == COPY_SUCCEEDED || copy->phase == COPY_FAILED;

	if (j->gone || !copy->status.len ||
	    job_hub_status(j->kind->type, copy->status, &text, NULL) < 0) {
		buf_done(&text);
		return;
	}
	free(j->status);
	j->status = buf_steal(&text, &j->status_len);
	j->status_finished = terminal;
	j->status_due = terminal ? c->now : j->status_written + STATUS_INTERVAL;
	if (j->status_due <= c->now)
		core_job_dirty(c, j);
	else
		core_job_timer(c, j, j->status_due);
}

static void seen(struct core *c, struct job *j, const struct copy_info *copy)
{
	enum copy_phase was = j->phase;

	/* An answer may be older than what the stream has told since: never go back. */
	if (copy->revision < j->copy_revision)
		return;
	j->copy_revision = copy->revision;
	if (j->dispatch.step != DISPATCH_STARTED || copy->suspended || j->finished)
		return;
	schedule_status(c, j, copy);
	j->phase = copy->phase;
	if (was != copy->phase) {
		j->unit_dirty = true;
		core_job_dirty(c, j);
	}
	if (copy->phase == COPY_SUCCEEDED || copy->phase == COPY_FAILED)
		settle_finished(c, j);
}

/* The event that a copy's present state amounts to; its uid is put into `uid`. */
static struct dispatch_event reading(const struct core *c, const struct job *j,
				     const struct copy_info *copy, char uid[DISPATCH_UID_MAX])
{
	(void)snprintf(uid, DISPATCH_UID_MAX, "%.*s", SPAN_ARGS(copy->uid));
	struct dispatch_event e = {
	    .uid = uid, .suspended = copy->suspended, .pods_gone = j->live_pods == 0};
	if (!is_ours(c, j, copy))
		e.kind = EVENT_READ_FOREIGN;
	else
		e.kind = is_current(j, copy) ? EVENT_READ_OURS : EVENT_READ_STALE;
	return e;
}

static void on_created(struct core *c, struct job *j, const struct order_outcome *r)
{
	char uid[DISPATCH_UID_MAX];
	struct dispatch_event e = {EVENT_UNKNOWN};

	if (r->http_code / 100 == 2 && r->has_copy) {
		e = reading(c, j, &r->copy, uid);
		e.kind = e.kind == EVENT_READ_OURS ? EVENT_CREATED : EVENT_UNKNOWN;
		note(j, NULL);
	} else if (r->http_code == 409 || r->http_code >= 500) {
		/* 409: something has the name, look what. 5xx: it may have happened. */
		note(j, r->err.text);
	} else {
		prepare_forget(c, member_of(c, j), j);
		note(j, r->err.text);
		job_event_add(c, j, "Warning", "SyncFailed", "%s", r->err.text);
		e.kind = EVENT_REFUSED;
	}
	courier_feed(c, j, &e);
}

static void on_read(struct core *c, struct job *j, const struct order_outcome *r)
{
	char uid[DISPATCH_UID_MAX];
	struct dispatch_event e = {EVENT_NOT_SENT, .pods_gone = j->live_pods == 0};

	if (r->http_code == 404)
		e.kind = EVENT_READ_ABSENT;
	else if (r->http_code == 200 && r->has_copy)
		e = reading(c, j, &r->copy, uid);
	else
		note(j, r->err.text);
	if (e.kind == EVENT_READ_FOREIGN && j->dispatch.step == DISPATCH_CREATING) {
		note(j, "An object of the same name that is not the hub's exists on the cluster.");
		job_event_add(c, j, "Warning", "SyncFailed", "%s", j->dispatch_message);
	}
	bool ours = e.kind == EVENT_READ_OURS;
	courier_feed(c, j, &e);
	if (ours)
		seen(c, j, &r->copy);
}

/* An answer that is not a list that was read to its end proves nothing. */
static void on_read_pods(struct core *c, struct job *j, const struct order_outcome *r)
{
	struct dispatch_event e = {EVENT_NOT_SENT};
	struct span items, key, first;
	size_t pos = 0;

	if (r->http_code == 200 && r->body.len && json_check(r->body, NULL, NULL) == 0 &&
	    json_text_member(r->body, "items", &items) == 0 && json_text_type(items) == JSON_ARRAY)
		e.kind =
		    json_text_next(items, &pos, &key, &first) ? EVENT_PODS_LEFT : EVENT_PODS_ABSENT;
	else
		note(j, r->err.text);
	courier_feed(c, j, &e);
}

static void on_answer(struct core *c, struct job *j, enum dispatch_order what,
		      const struct order_outcome *r)
{
	struct dispatch_event e = {EVENT_REFUSED, .pods_gone = j->live_pods == 0};

	switch (what) {
	case DISPATCH_ORDER_CREATE:
		on_created(c, j, r);
		return;
	case DISPATCH_ORDER_READ:
		on_read(c, j, r);
		return;
	case DISPATCH_ORDER_READ_PODS:
		on_read_pods(c, j, r);
		return;
	case DISPATCH_ORDER_START:
		if (r->http_code / 100 == 2)
			e.kind = EVENT_STARTED;
		else
			note(j, r->err.text);
		break;
	case DISPATCH_ORDER_DELETE:
		if (r->http_code / 100 == 2)
			e.kind = EVENT_DELETE_ANSWERED;
		else if (r->http_code == 404)
			e.kind = EVENT_READ_ABSENT;
		break;
	case DISPATCH_ORDER_NONE:
	case DISPATCH_ORDER_PREPARE:
	case DISPATCH_ORDER_MAX:
	default:
		return;
	}
	courier_feed(c, j, &e);
	if (e.kind == EVENT_STARTED && r->has_copy)
		seen(c, j, &r->copy);
}

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
	} else if (call->purpose == CALL_REQUEST) {
		if (m)
			request_try_outcome(c, call, r);
	} else if (j && m && member_of(c, j) == m && j->order_id == r->order_id) {
		if (answered) {
			on_answer(c, j, call->order, r);
		} else {
			note(j, r->err.text);
			courier_feed(c, j,
				     &(struct dispatch_event){r->outcome == OUTCOME_NOT_SENT
								  ? EVENT_NOT_SENT
								  : EVENT_UNKNOWN});
		}
	}
	free(call->thing);
	free(call->uid);
	free(call);
}

/* A copy that carries our hub uid but belongs to nothing that we know. Truth is local, so absence
 * there is certain: the copy is deleted, by uid. */
static void orphan(struct core *c, struct member *m, const struct copy_info *copy)
{
	const struct kind *kind = kind_by_type(c->kinds, copy->type);
	auto_buf path = BUF_INIT, name = BUF_INIT, ns = BUF_INIT;

	if (!kind || copy->deleting || !copy->uid.len)
		return;
	buf_add_span(&ns, copy->ns);
	buf_add_span(&name, copy->name);
	member_path(kind, ns.ptr, name.ptr, &path);
	auto_free char *uid = xstrndup(copy->uid.ptr, copy->uid.len);
	struct order *o = copy_order_delete(m, path.ptr, uid);
	enum member_stream stream = core_stream_of(copy->type);
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
	       s.member == m->number && s.epoch == copy->epoch;
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
	if (!j || member_of(c, j) != m || copy->epoch != j->dispatch.epoch) {
		if (!f->deleted && (j ? member_of(c, j) != m || copy->epoch < j->dispatch.epoch
				      : !belongs_to_binding(c, m, copy)))
			orphan(c, m, copy);
		return;
	}
	struct dispatch_event e = reading(c, j, copy, uid);
	if (f->deleted) {
		if (!is_current(j, copy))
			return;
		e.kind = EVENT_GONE;
		e.pods_gone = j->live_pods == 0;
		courier_feed(c, j, &e);
		return;
	}
	j->copy_seen = true;
	/* While a call is out its answer decides; the stream only brings status then. */
	if (e.kind == EVENT_READ_OURS && !copy->deleting)
		courier_feed(c, j, &e);
	if (e.kind == EVENT_READ_OURS)
		seen(c, j, copy);
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
		    !j->dispatch.uid[0] || core_stream_of(j->kind->type) != s)
			continue;
		if (j->dispatch.step == DISPATCH_STARTED) {
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

#include "core/provisioning/request_try.h"

#include "base/json.h"
#include "core/dispatch/dependency.h"
#include "core/kueue/provisioning_check.h"
#include "core/member.h"
#include "core/provisioning/request_call.h"
#include "core/provisioning/request_nodes.h"
#include "core/provisioning/request_phase.h"

/* ---- plans ---- */

static void note(struct request_try *t, const char *words)
{
	free(t->message);
	t->message = words && words[0] ? xstrdup(words) : NULL;
}

static void feed(struct core *c, struct provisioning_request *r, struct request_try *t,
		 enum dispatch_event_kind kind)
{
	request_try_feed(c, r, t, &(struct dispatch_event){.kind = kind, .pods_gone = true});
}

/* The namespace first. */
static void prepare(struct core *c, struct provisioning_request *r, struct request_try *t,
		    struct member *m)
{
	const struct kind *kind = kind_by_type(c->kinds, TYPE_NAMESPACE);

	t->template_at = 0;
	t->templates_stand = t->template_read = false;
	switch (dependency_ensure(c, m, kind, "", r->ns, NULL)) {
	case DEPENDENCY_READY:
		feed(c, r, t, EVENT_PREPARED);
		break;
	case DEPENDENCY_CONFLICT:
	case DEPENDENCY_FAILED:
		feed(c, r, t, EVENT_NOT_SENT);
		break;
	case DEPENDENCY_WAIT:
	default:
		t->preparing = true; /* request_try_told() asks again */
		break;
	}
}

static struct order *order_of(struct core *c, struct provisioning_request *r, struct request_try *t,
			      const struct member *m, enum dispatch_order what)
{
	if (what != DISPATCH_ORDER_START)
		return request_call_copy(c, r, t, m, what);
	return request_call_template(c, r, t, m, t->template_at, t->template_read);
}

static void send(struct core *c, struct provisioning_request *r, struct request_try *t)
{
	struct member *m = member_by_number(c, t->member);
	enum dispatch_order what = t->order;

	t->order = DISPATCH_ORDER_NONE;
	if (!m || what == DISPATCH_ORDER_NONE)
		return;
	if (what == DISPATCH_ORDER_PREPARE) {
		prepare(c, r, t, m);
		return;
	}
	if (what == DISPATCH_ORDER_READ_PODS) {
		/* Pods are not the request's: it is gone when it is gone. */
		feed(c, r, t, EVENT_PODS_ABSENT);
		return;
	}
	/* In which version it is to be spoken to is not known before it has answered. */
	struct order *o = m->apis_known ? order_of(c, r, t, m, what) : NULL;
	if (!o) {
		feed(c, r, t, EVENT_NOT_SENT);
		return;
	}
	t->order_id = courier_call(
	    c, o,
	    (struct call){
		.purpose = CALL_REQUEST, .job = r->number, .member = m->number, .order = what});
}

void request_try_feed(struct core *c, struct provisioning_request *r, struct request_try *t,
		      const struct dispatch_event *e)
{
	struct dispatch_state was = t->dispatch;
	struct dispatch_plan plan = dispatch_next(&was, e, c->now);

	t->dispatch = plan.next;
	if (plan.durable) {
		r->row_dirty = true;
		t->durable_wanted = true;
	}
	if (!plan.next.in_flight) {
		t->order = DISPATCH_ORDER_NONE;
		t->order_id = 0;
		t->preparing = false;
	}
	if (plan.order != DISPATCH_ORDER_NONE) {
		t->order = plan.order;
		t->order_id = 0;
		memcpy(t->order_uid, plan.uid, sizeof(t->order_uid));
	}
	if (r->row_dirty || t->order != DISPATCH_ORDER_NONE)
		request_dirty(c, r);
	if (plan.next.retry_at)
		request_due(c, r, plan.next.retry_at);
	if (was.step != DISPATCH_IDLE && plan.next.step == DISPATCH_IDLE) {
		struct member *m = member_by_number(c, t->member);
		if (m && m->deleting)
			m->unjoin_at = c->now;
		request_due(c, r, c->now);
	}
}

void request_try_committed(struct core *c, struct provisioning_request *r)
{
	for (size_t i = 0; i < r->tries.len; i++) {
		struct request_try *t = r->tries.items[i];
		t->durable_wanted = false;
		send(c, r, t);
		feed(c, r, t, EVENT_DURABLE);
		if (!t->durable_wanted)
			send(c, r, t);
	}
}

/* ---- what members say ---- */

static bool is_current(const struct request_try *t, const struct copy_info *copy)
{
	return copy->epoch == t->dispatch.epoch &&
	       (t->dispatch.uid[0] == '\0' || span_is(copy->uid, t->dispatch.uid));
}

static struct dispatch_event reading(const struct core *c, const struct provisioning_request *r,
				     const struct request_try *t, const struct copy_info *copy,
				     char uid[DISPATCH_UID_MAX])
{
	(void)snprintf(uid, DISPATCH_UID_MAX, "%.*s", SPAN_ARGS(copy->uid));
	struct dispatch_event e = {.kind = EVENT_READ_STALE,
				   .epoch = copy->epoch,
				   .uid = uid,
				   .suspended = !t->templates_stand,
				   .pods_gone = true};

	if (!span_is(copy->hub_uid, c->hub_uid))
		e.kind = EVENT_READ_FOREIGN;
	else if (span_is(copy->job_uid, r->uid_text) && is_current(t, copy))
		e.kind = EVENT_READ_OURS;
	return e;
}

static void take_nodes(struct provisioning_request *r, struct request_try *t)
{
	char *nodes = request_nodes_value(span_of(t->status));

	r->row_dirty = r->row_dirty || (nodes && (!t->nodes || strcmp(nodes, t->nodes) != 0));
	if (!nodes)
		return;
	free(t->nodes);
	t->nodes = nodes;
}

static void seen(struct core *c, struct provisioning_request *r, struct request_try *t,
		 const struct copy_info *copy)
{
	if (copy->revision < t->copy_revision || copy->deleting ||
	    t->dispatch.step == DISPATCH_WITHDRAWING)
		return;
	t->copy_revision = copy->revision;
	/* The end stays the end, whatever is still said. */
	if (!copy->status.len || t->phase == PROVISION_FAILED ||
	    t->phase == PROVISION_CAPACITY_REVOKED || t->phase == PROVISION_CANCELLED ||
	    (t->status && span_is(copy->status, t->status)))
		return;
	free(t->status);
	t->status = xstrndup(copy->status.ptr, copy->status.len);
	take_nodes(r, t);
	enum provision_phase phase = request_phase(copy->status);
	if (phase != t->phase) {
		t->phase = phase;
		r->row_dirty = true;
		provisioning_check_wake(c, r);
		if (phase == PROVISION_PROVISIONED && !t->provisioned_at)
			t->provisioned_at = c->now;
	}
	r->status_dirty = true;
	request_dirty(c, r);
	request_due(c, r, c->now);
}

static void fail(struct core *c, struct provisioning_request *r, struct request_try *t,
		 const char *words)
{
	note(t, words);
	t->phase = PROVISION_FAILED;
	r->row_dirty = r->status_dirty = true;
	request_dirty(c, r);
	request_due(c, r, c->now);
	provisioning_check_wake(c, r);
}

static void on_created(struct core *c, struct provisioning_request *r, struct request_try *t,
		       const struct order_outcome *o)
{
	char uid[DISPATCH_UID_MAX];
	struct dispatch_event e = {EVENT_UNKNOWN};

	if (o->http_code / 100 == 2 && o->has_copy) {
		e = reading(c, r, t, &o->copy, uid);
		e.kind = e.kind == EVENT_READ_OURS ? EVENT_CREATED : EVENT_UNKNOWN;
	} else if (o->http_code != 409 && o->http_code < 500) {
		dependency_doubt(member_by_number(c, t->member),
				 kind_by_type(c->kinds, TYPE_NAMESPACE), "", r->ns);
		/* 404: its namespace is gone; 429: later. Anything else stays refused. */
		if (o->http_code != 404 && o->http_code != 429 && t->phase < PROVISION_FAILED)
			fail(c, r, t, o->err.text);
		e.kind = EVENT_REFUSED;
	}
	request_try_feed(c, r, t, &e);
}

static void on_read(struct core *c, struct provisioning_request *r, struct request_try *t,
		    const struct order_outcome *o)
{
	char uid[DISPATCH_UID_MAX];
	struct dispatch_event e = {EVENT_NOT_SENT, .pods_gone = true};

	if (o->http_code == 404)
		e.kind = EVENT_READ_ABSENT;
	else if (o->http_code == 200 && o->has_copy)
		e = reading(c, r, t, &o->copy, uid);
	if (e.kind == EVENT_READ_FOREIGN && t->phase < PROVISION_FAILED &&
	    t->dispatch.step == DISPATCH_CREATING)
		fail(c, r, t,
		     "A ProvisioningRequest of the same name that is not the hub's exists on the "
		     "cluster.");
	bool ours = e.kind == EVENT_READ_OURS;
	request_try_feed(c, r, t, &e);
	if (ours)
		seen(c, r, t, &o->copy);
}

static void next_template(struct core *c, struct provisioning_request *r, struct request_try *t)
{
	t->template_read = false;
	t->template_at++;
	if (t->template_at < request_call_templates(c, r)) {
		t->order = DISPATCH_ORDER_START;
		request_dirty(c, r);
		return;
	}
	t->templates_stand = true;
	feed(c, r, t, EVENT_STARTED);
}

/* One of the PodTemplates: made, or there already; then it must be this copy's. */
static void on_template(struct core *c, struct provisioning_request *r, struct request_try *t,
			const struct order_outcome *o)
{
	bool read = t->template_read;

	t->template_read = false;
	if (o->http_code / 100 == 2 &&
	    (!read || (o->body.len && memmem(o->body.ptr, o->body.len, t->dispatch.uid,
					     strlen(t->dispatch.uid))))) {
		next_template(c, r, t);
	} else if (!read && o->http_code == 409) {
		t->template_read = true;
		t->order = DISPATCH_ORDER_START;
		request_dirty(c, r);
	} else {
		note(t, o->err.text);
		feed(c, r, t, EVENT_REFUSED);
	}
}

static void on_answer(struct core *c, struct provisioning_request *r, struct request_try *t,
		      enum dispatch_order what, const struct order_outcome *o)
{
	switch (what) {
	case DISPATCH_ORDER_CREATE:
		on_created(c, r, t, o);
		break;
	case DISPATCH_ORDER_READ:
		on_read(c, r, t, o);
		break;
	case DISPATCH_ORDER_START:
		if (t->dispatch.step == DISPATCH_STARTED)
			on_template(c, r, t, o);
		else
			feed(c, r, t, EVENT_STARTED); /* withdrawn meanwhile */
		break;
	case DISPATCH_ORDER_DELETE:
		feed(c, r, t,
		     o->http_code == 404       ? EVENT_READ_ABSENT
		     : o->http_code / 100 == 2 ? EVENT_DELETE_ANSWERED
					       : EVENT_REFUSED);
		break;
	case DISPATCH_ORDER_NONE:
	case DISPATCH_ORDER_PREPARE:
	case DISPATCH_ORDER_READ_PODS:
	case DISPATCH_ORDER_MAX:
	default:
		break;
	}
}

void request_try_outcome(struct core *c, const struct call *call, const struct order_outcome *o)
{
	struct provisioning_request *r = request_by_number(c, call->job);
	struct request_try *t = r ? request_try_on(r, call->member) : NULL;

	if (!t || t->order_id != o->order_id)
		return;
	t->order_id = 0;
	if (o->outcome == OUTCOME_ANSWERED) {
		on_answer(c, r, t, call->order, o);
		return;
	}
	feed(c, r, t, o->outcome == OUTCOME_NOT_SENT ? EVENT_NOT_SENT : EVENT_UNKNOWN);
}

bool request_try_copy(struct core *c, struct member *m, const struct fact *f)
{
	const struct copy_info *copy = &f->copy;
	struct provisioning_request *r = request_by_uid(c, copy->job_uid);
	struct request_try *t = r ? request_try_on(r, m->number) : NULL;
	char uid[DISPATCH_UID_MAX];

	if (!t || t->dispatch.step == DISPATCH_IDLE || copy->epoch != t->dispatch.epoch)
		return r && r->exists && f->deleted;
	struct dispatch_event e = reading(c, r, t, copy, uid);
	if (e.kind != EVENT_READ_OURS)
		return true;
	if (f->deleted) {
		/* Nobody but the hub should: its nodes are not for this try any more. */
		if (t->phase < PROVISION_FAILED && t->dispatch.step != DISPATCH_WITHDRAWING)
			fail(c, r, t, "The request was deleted on the cluster.");
		feed(c, r, t, EVENT_GONE);
		return true;
	}
	t->copy_seen = true;
	if (!copy->deleting)
		request_try_feed(c, r, t, &e);
	seen(c, r, t, copy);
	return true;
}

static void each(struct core *c, const struct member *m,
		 void (*what)(struct core *c, struct provisioning_request *r,
			      struct request_try *t))
{
	map_foreach (&c->provisioning->by_number, e) {
		struct provisioning_request *r = e->value;
		struct request_try *t = request_try_on(r, m->number);
		if (t)
			what(c, r, t);
	}
}

static void unsee(struct core *c, struct provisioning_request *r, struct request_try *t)
{
	(void)c;
	(void)r;
	t->copy_seen = false;
}

static void look_if_unseen(struct core *c, struct provisioning_request *r, struct request_try *t)
{
	if (t->copy_seen || t->dispatch.in_flight || t->dispatch.step != DISPATCH_STARTED)
		return;
	t->dispatch.start_seen = false;
	t->dispatch.retry_at = c->now;
	request_due(c, r, c->now);
}

static void prepare_again(struct core *c, struct provisioning_request *r, struct request_try *t)
{
	if (!t->preparing)
		return;
	t->preparing = false;
	if (t->dispatch.in_flight)
		t->order = DISPATCH_ORDER_PREPARE;
	request_dirty(c, r);
}

static void retry(struct core *c, struct provisioning_request *r, struct request_try *t)
{
	if (!t->dispatch.retry_at)
		return;
	t->dispatch.retry_at = c->now;
	t->dispatch.failures = 0;
	request_due(c, r, c->now);
}

void request_try_list_begin(struct core *c, const struct member *m)
{
	each(c, m, unsee);
}

void request_try_list_end(struct core *c, const struct member *m)
{
	each(c, m, look_if_unseen);
}

void request_try_told(struct core *c, const struct member *m)
{
	each(c, m, prepare_again);
}

void request_try_member_ready(struct core *c, const struct member *m)
{
	each(c, m, retry);
}

#include "core/dispatch/answer.h"

#include "base/json.h"
#include "core/admission/failover.h"
#include "core/admission/settle.h"
#include "core/dispatch/amend.h"
#include "core/dispatch/courier.h"
#include "core/dispatch/prepare.h"
#include "core/job.h"
#include "core/kueue/reclaimable.h"
#include "core/member.h"

#define STATUS_INTERVAL (100 * USEC_PER_MS)

void answer_note(struct job *j, const char *text)
{
	free(j->dispatch_message);
	j->dispatch_message = text && text[0] ? xstrdup(text) : NULL;
}

static bool is_ours(const struct core *c, const struct job *j, const struct copy_info *copy)
{
	return span_is(copy->hub_uid, c->hub_uid) && span_is(copy->job_uid, j->uid_text);
}

bool answer_is_current(const struct job *j, const struct copy_info *copy)
{
	return dispatch_owns(&j->dispatch, copy->uid, copy->epoch);
}

static bool is_parking(const struct job *j)
{
	return j->dispatch.step == DISPATCH_STOPPING || j->dispatch.step == DISPATCH_PARKED;
}

static void schedule_status(struct core *c, struct job *j, const struct copy_info *copy)
{
	bool shown = is_parking(j) && copy->suspended;
	struct buf text = BUF_MAX(STORE_MAX_OBJECT);
	bool terminal = copy->phase == COPY_SUCCEEDED || copy->phase == COPY_FAILED;

	if (j->gone || !copy->status.len ||
	    job_hub_status(j->kind->type, copy->status, shown, &text, NULL) < 0) {
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

/* Whether what the copy says is about the run that the hub wants, or about its end. */
static bool says_something(const struct job *j, const struct copy_info *copy)
{
	switch (j->dispatch.step) {
	case DISPATCH_STARTED:
		return !copy->suspended && copy->epoch == j->dispatch.epoch;
	case DISPATCH_STOPPING:
	case DISPATCH_PARKED:
		return true;
	case DISPATCH_RESUMING:
	case DISPATCH_LEAVING:
		return copy_phase_is_terminal(copy->phase);
	default:
		return false;
	}
}

void answer_seen(struct core *c, struct job *j, const struct copy_info *copy)
{
	enum copy_phase was = j->phase;

	/* An answer may be older than what the stream has told since: never go back. */
	if (copy->revision < j->copy_revision)
		return;
	j->copy_revision = copy->revision;
	if (j->finished || !says_something(j, copy) || failover_withholds(c, j, copy->phase))
		return;
	schedule_status(c, j, copy);
	if (j->dispatch.step == DISPATCH_STARTED || copy_phase_is_terminal(copy->phase))
		j->phase = copy->phase;
	if (was != j->phase) {
		j->unit_dirty = true;
		core_job_dirty(c, j);
	}
	if (copy_phase_is_terminal(copy->phase))
		settle_finished(c, j);
	else if (j->workload && j->dispatch.step == DISPATCH_STARTED)
		reclaimable_take(c, j->workload, copy);
}

/* The event that a copy's present state amounts to; its uid is put into `uid`. */
struct dispatch_event answer_reading(const struct core *c, const struct job *j,
				     const struct copy_info *copy, char uid[DISPATCH_UID_MAX])
{
	(void)snprintf(uid, DISPATCH_UID_MAX, "%.*s", SPAN_ARGS(copy->uid));
	struct dispatch_event e = {.uid = uid,
				   .suspended = copy->suspended,
				   .epoch = copy->epoch,
				   .pods_gone = j->live_pods == 0};
	if (!is_ours(c, j, copy))
		e.kind = EVENT_READ_FOREIGN;
	else
		e.kind = answer_is_current(j, copy) ? EVENT_READ_OURS : EVENT_READ_STALE;
	return e;
}

static void on_created(struct core *c, struct job *j, const struct order_outcome *r)
{
	char uid[DISPATCH_UID_MAX];
	struct dispatch_event e = {EVENT_UNKNOWN};

	if (r->http_code / 100 == 2 && r->has_copy) {
		e = answer_reading(c, j, &r->copy, uid);
		e.kind = e.kind == EVENT_READ_OURS ? EVENT_CREATED : EVENT_UNKNOWN;
		answer_note(j, NULL);
	} else if (r->http_code == 409 || r->http_code >= 500) {
		/* 409: something has the name, look what. 5xx: it may have happened. */
		answer_note(j, r->err.text);
	} else {
		prepare_forget(c, member_of(c, j), j);
		answer_note(j, r->err.text);
		job_event_add(c, j, "Warning", "SyncFailed", "%s", r->err.text);
		e.kind = EVENT_REFUSED;
	}
	courier_feed(c, j, &e);
}

static bool keep_text(struct job *j, struct span body)
{
	free(j->copy_text);
	j->copy_text = body.len ? xstrndup(body.ptr, body.len) : NULL;
	j->copy_len = body.len;
	return body.len > 0;
}

static void on_read(struct core *c, struct job *j, const struct order_outcome *r)
{
	char uid[DISPATCH_UID_MAX];
	struct dispatch_event e = {EVENT_NOT_SENT, .pods_gone = j->live_pods == 0};

	if (r->http_code == 404)
		e.kind = EVENT_READ_ABSENT;
	else if (r->http_code == 200 && r->has_copy)
		e = answer_reading(c, j, &r->copy, uid);
	else
		answer_note(j, r->err.text);
	if (e.kind == EVENT_READ_FOREIGN && j->dispatch.step == DISPATCH_CREATING) {
		answer_note(
		    j, "An object of the same name that is not the hub's exists on the cluster.");
		job_event_add(c, j, "Warning", "SyncFailed", "%s", j->dispatch_message);
	}
	bool ours = e.kind == EVENT_READ_OURS;
	bool resumes = j->dispatch.step == DISPATCH_RESUMING;
	if (ours && (resumes || j->dispatch.edited))
		e.has_text = keep_text(j, r->body);
	if (ours && !e.has_text && resumes)
		e.kind = EVENT_UNFIT;
	else if (ours && !e.has_text && j->dispatch.edited)
		e.kind = EVENT_NOT_SENT;
	courier_feed(c, j, &e);
	if (ours)
		answer_seen(c, j, &r->copy);
}

static void on_stopped(struct core *c, struct job *j, const struct order_outcome *r)
{
	struct dispatch_event e = {EVENT_REFUSED, .pods_gone = j->live_pods == 0};

	if (r->http_code / 100 == 2) {
		e.kind = r->has_copy ? EVENT_STOPPED : EVENT_UNKNOWN;
		e.epoch = r->copy.epoch;
	} else if (r->http_code == 404) {
		e.kind = EVENT_READ_ABSENT;
	} else if (r->http_code == 429 || r->http_code >= 500) {
		e.kind = EVENT_NOT_SENT;
	}
	if (r->http_code / 100 != 2)
		answer_note(j, r->err.text);
	courier_feed(c, j, &e);
	if (e.kind == EVENT_STOPPED)
		answer_seen(c, j, &r->copy);
}

/* Of the two requests that a rewrite may take, the first leaves the old epoch: look again. A copy
 * that cannot become what is wanted is made anew. */
static void on_rewritten(struct core *c, struct job *j, const struct order_outcome *r)
{
	struct dispatch_event e = {EVENT_UNFIT, .pods_gone = j->live_pods == 0};

	if (r->http_code / 100 == 2)
		e.kind = r->has_copy && r->copy.epoch == j->dispatch.epoch ? EVENT_REWRITTEN
									   : EVENT_UNKNOWN;
	else if (r->http_code == 404)
		e.kind = EVENT_READ_ABSENT;
	else if (r->http_code == 409 || r->http_code == 429 || r->http_code >= 500)
		e.kind = EVENT_NOT_SENT;
	if (r->http_code / 100 != 2)
		answer_note(j, r->err.text);
	courier_feed(c, j, &e);
}

/* A copy that changed since it was read is read again. */
static void on_amended(struct core *c, struct job *j, const struct order_outcome *r)
{
	struct dispatch_event e = {EVENT_NOT_SENT, .pods_gone = j->live_pods == 0};

	if (r->http_code / 100 == 2) {
		answer_note(j, NULL);
		amend_answered(c, j, true, NULL);
		if (r->has_copy)
			answer_seen(c, j, &r->copy);
		return;
	}
	answer_note(j, r->err.text);
	if (r->http_code == 404)
		e.kind = EVENT_READ_ABSENT;
	else if (r->http_code == 400 || r->http_code == 413 || r->http_code == 422)
		amend_answered(c, j, false, r->err.text);
	if (r->http_code != 400 && r->http_code != 413 && r->http_code != 422)
		courier_feed(c, j, &e);
}

/* A body that cannot be made, because the job is another than the copy was made of, is no matter of
 * time. */
void answer_none(struct core *c, struct job *j, enum dispatch_order what,
		 const struct order_outcome *r)
{
	bool sent = r->outcome != OUTCOME_NOT_SENT;
	bool unfit = !sent && r->err.kind == ERR_INVALID;
	struct dispatch_event e = {sent ? EVENT_UNKNOWN : EVENT_NOT_SENT};

	answer_note(j, r->err.text);
	if (unfit && what == DISPATCH_ORDER_AMEND) {
		amend_answered(c, j, false, r->err.text);
		return;
	}
	if (unfit && what == DISPATCH_ORDER_REWRITE)
		e.kind = EVENT_UNFIT;
	courier_feed(c, j, &e);
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
		answer_note(j, r->err.text);
	courier_feed(c, j, &e);
}

void answer_take(struct core *c, struct job *j, enum dispatch_order what,
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
	case DISPATCH_ORDER_STOP:
		on_stopped(c, j, r);
		return;
	case DISPATCH_ORDER_REWRITE:
		on_rewritten(c, j, r);
		return;
	case DISPATCH_ORDER_AMEND:
		on_amended(c, j, r);
		return;
	case DISPATCH_ORDER_START:
		if (r->http_code / 100 == 2)
			e.kind = EVENT_STARTED;
		else
			answer_note(j, r->err.text);
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
		answer_seen(c, j, &r->copy);
}

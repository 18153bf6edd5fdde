#include "core/kueue/provisioning_check.h"

#include "base/json.h"
#include "core/job.h"
#include "core/kueue/admission.h"
#include "core/kueue/cluster_queue.h"
#include "core/kueue/evict.h"
#include "core/kueue/provisioning_object.h"
#include "core/kueue/workload_status.h"
#include "core/member.h"
#include "core/provisioning/request_phase.h"

/* ---- marks ---- */

void provisioning_check_mark(struct core *c, struct workload *w)
{
	if (w->checking)
		return;
	w->checking = true;
	c->kueue->checking_soon = true;
	vec_push(&c->kueue->checking, w);
}

void provisioning_check_free(struct workload *w)
{
	struct provisioning_check *p = w->provisioning;

	if (!p)
		return;
	free(p->check);
	free(p->request);
	free(p->told);
	free(p);
	w->provisioning = NULL;
}

void provisioning_check_drop(struct core *c, struct workload *w)
{
	struct provisioning_check *p = w->provisioning;
	struct provisioning_request *r = p ? request_find(c, w->ns, span_of(p->request)) : NULL;

	if (r) {
		r->retired = true;
		request_due(c, r, c->now);
	}
	provisioning_check_free(w);
}

struct provisioning_request *provisioning_check_request(const struct core *c,
							const struct workload *w, bool *ret_known)
{
	*ret_known = !w->checking;
	return w->provisioning ? request_find(c, w->ns, span_of(w->provisioning->request)) : NULL;
}

/* ---- the check's state ---- */

static void tell(struct core *c, struct workload *w, const char *state, int64_t requeue_after,
		 const char *updates, const char *message)
{
	struct provisioning_check *p = w->provisioning;

	free(p->told);
	p->told = xstrdup(message);
	workload_set_check(c, w,
			   &(struct workload_check_edit){.name = p->check,
							 .state = state,
							 .message = message,
							 .requeue_after = requeue_after,
							 .updates = updates});
	if (strcmp(state, "Pending") != 0)
		workload_event(
		    c, w, "Normal", WORKLOAD_CONTROLLER, "AdmissionCheckUpdated",
		    "Admission check %s updated state from Pending to %s with message %s", p->check,
		    state, message);
}

/* Whether every check but those of this controller is Ready, as the row says. */
static bool others_are_ready(struct core *c, const struct workload *w)
{
	const struct kind *kind = kind_by_type(c->kinds, TYPE_WORKLOAD);
	auto_arena mem = ARENA_INIT;
	struct workload_status s;
	struct store_object o;

	if (registry_get(c->batch, kind, w->ns, w->name, &o) < 0)
		return false;
	workload_status_read(&o, &mem, &s);
	for (size_t i = 0; i < s.n_checks; i++) {
		auto_free char *name = xstrndup(s.checks[i].name.ptr, s.checks[i].name.len);
		if (!provisioning_config_is_check(c, name) && !span_is(s.checks[i].state, "Ready"))
			return false;
	}
	return true;
}

static void become_ready(struct core *c, struct workload *w, const char *updates,
			 const char *message)
{
	w->provisioning->ready = true;
	tell(c, w, "Ready", 0, updates, message);
	if (w->unit->state == KUEUE_RESERVING && others_are_ready(c, w))
		admission_checks_ready(c, w);
}

static void words_of(const struct core *c, const struct provisioning_request *r, struct buf *out)
{
	const struct request_try *t = request_shown(r);
	const struct member *m = t ? member_by_number(c, t->member) : NULL;
	auto_buf why = BUF_INIT;

	if (!t) {
		buf_add_str(out, r->no_candidates
				     ? "No cluster that is ready can be asked for nodes"
				     : "The nodes are not asked for yet");
		return;
	}
	if (t->message)
		buf_add_str(&why, t->message);
	else if (t->status)
		request_phase_words(span_of(t->status), &why);
	buf_addf(out, "%s on cluster %s", request_phase_name(t->phase), m ? m->name : "(gone)");
	if (why.len)
		buf_addf(out, ": %s", why.ptr);
}

static void retry(struct core *c, struct workload *w, const struct provisioning_request *r,
		  const char *words)
{
	const struct kueue_check again = {.name = span_of(w->provisioning->check),
					  .state = KUEUE_CHECK_RETRY,
					  .since = c->now,
					  .requeue_after = r->retry_after / USEC_PER_SEC};

	tell(c, w, "Retry", again.requeue_after, NULL, words);
	evict_by_checks(c, w, &again, 1);
}

static void reject(struct core *c, struct workload *w, const char *words)
{
	const struct kueue_check no = {.name = span_of(w->provisioning->check),
				       .state = KUEUE_CHECK_REJECTED,
				       .since = c->now};

	tell(c, w, "Rejected", 0, NULL, words);
	workload_event(c, w, "Warning", WORKLOAD_CONTROLLER, "AdmissionCheckRejected",
		       "Deactivating workload because AdmissionCheck for %s was Rejected: %s",
		       w->provisioning->check, words);
	evict_by_checks(c, w, &no, 1);
}

/* The status that it has: of the winner, or where that is not known, of the hub's object. */
static struct cJSON *status_of(struct core *c, const struct provisioning_request *r)
{
	const struct kind *kind = kind_by_type(c->kinds, TYPE_PROVISIONING_REQUEST);
	const struct request_try *t = request_winner(r);
	struct cJSON *tree = NULL;
	struct store_object o;

	if (t && t->status && json_parse(span_of(t->status), NULL, &tree, NULL) == 0)
		return tree;
	if (registry_get(c->batch, kind, span_of(r->ns), span_of(r->name), &o) == 0 &&
	    o.extents.status.len &&
	    json_parse(store_object_part(&o, o.extents.status), NULL, &tree, NULL) == 0)
		return tree;
	return NULL;
}

static void provisioned(struct core *c, struct workload *w, const struct provisioning_request *r,
			const char *words)
{
	auto_json *status = status_of(c, r);
	auto_buf updates = BUF_MAX(STORE_MAX_OBJECT);

	if (provisioning_object_updates(c, w, status, &updates) == 0)
		become_ready(c, w, updates.ptr, words);
}

void provisioning_check_news(struct core *c, struct workload *w, struct provisioning_request *r)
{
	struct provisioning_check *p = w->provisioning;
	auto_buf words = BUF_MAX(8192);

	words_of(c, r, &words);
	switch (r->verdict) {
	case PROVISION_READY:
		if (!p->ready && !w->admitted_at)
			provisioned(c, w, r, words.ptr);
		break;
	case PROVISION_RETRY:
		if (!w->admitted_at)
			retry(c, w, r, words.ptr);
		break;
	case PROVISION_REJECT:
		reject(c, w, words.ptr);
		break;
	case PROVISION_WAIT:
	default:
		if (w->admitted_at)
			break;
		if (p->ready || !p->told || strcmp(p->told, words.ptr) != 0)
			tell(c, w, "Pending", 0, NULL, words.ptr);
		if (p->ready)
			w->ready_to_place = false;
		p->ready = false;
		break;
	}
}

void provisioning_check_lost(struct core *c, struct provisioning_request *r)
{
	struct workload *w =
	    r->workload ? workload_find(c, span_of(r->ns), span_of(r->workload)) : NULL;

	if (w && w->provisioning && strcmp(w->provisioning->request, r->name) == 0 &&
	    !w->admitted_at && !w->checking) {
		provisioning_check_free(w);
		provisioning_check_mark(c, w);
	}
}

/* ---- looking ---- */

/* The first check of this controller that the workload has; NULL. */
static const struct workload_check *check_of(const struct core *c, const struct workload_status *s)
{
	for (size_t i = 0; i < s->n_checks; i++) {
		auto_free char *name = xstrndup(s->checks[i].name.ptr, s->checks[i].name.len);
		if (provisioning_config_is_check(c, name))
			return &s->checks[i];
	}
	return NULL;
}

/* Others of the controller follow it. */
static void settle_others(struct core *c, struct workload *w, const struct workload_status *s,
			  const struct workload_check *first)
{
	for (size_t i = 0; i < s->n_checks; i++) {
		auto_free char *name = xstrndup(s->checks[i].name.ptr, s->checks[i].name.len);
		if (&s->checks[i] == first || !provisioning_config_is_check(c, name) ||
		    span_is(s->checks[i].state, "Ready"))
			continue;
		workload_set_check(
		    c, w,
		    &(struct workload_check_edit){
			.name = name,
			.state = "Ready",
			.message = "The nodes are asked for by another check of the workload"});
	}
}

static void link_check(struct workload *w, const struct workload_check *k)
{
	struct provisioning_check *p = xcalloc(1, sizeof(*p));
	auto_buf name = BUF_INIT;

	provisioning_check_free(w);
	p->check = xstrndup(k->name.ptr, k->name.len);
	p->attempt = (int32_t)k->retries + 1;
	p->ready = span_is(k->state, "Ready");
	provisioning_spec_name(w->name, p->check, p->attempt, &name);
	p->request = buf_steal(&name, NULL);
	w->provisioning = p;
}

static bool stands(struct core *c, const struct workload *w, struct store_object *ret)
{
	const struct kind *kind = kind_by_type(c->kinds, TYPE_PROVISIONING_REQUEST);

	return registry_get(c->batch, kind, w->ns, span_of(w->provisioning->request), ret) == 0;
}

/* What stands under the name was made for an earlier reservation: nodes are never reused. Times of
 * objects are whole seconds. */
static bool is_of_the_past(struct core *c, const struct workload *w, const struct store_object *o)
{
	const struct provisioning_request *r = request_find(c, o->key.ns, o->key.name);
	struct span v;
	usec t;

	if (r && r->retired && memcmp(r->uid, o->uid, STORE_UID_LEN) == 0)
		return true;
	return json_text_path(o->json, &v, "metadata", "creationTimestamp", NULL) == 0 &&
	       clock_parse(json_text_plain(v), &t) == 0 &&
	       t < w->reserved_at - w->reserved_at % USEC_PER_SEC;
}

/* It goes first; its successor is made in a later batch. */
static void drop_past(struct core *c, struct workload *w, const struct store_object *o)
{
	struct provisioning_request *r = request_find(c, o->key.ns, o->key.name);

	if (r)
		r->retired = true;
	core_delete(c, kind_by_type(c->kinds, TYPE_PROVISIONING_REQUEST), o->key.ns, o->key.name);
	provisioning_check_free(w);
	w->checking = true;
}

/* Requests of its earlier attempts are looked at: they go. */
static void wake_requests(struct core *c, const struct workload *w)
{
	map_foreach (&c->provisioning->by_number, e) {
		struct provisioning_request *r = e->value;
		if (r->workload && span_is(w->name, r->workload) && span_is(w->ns, r->ns))
			request_due(c, r, c->now);
	}
}

/* False: there was no room. */
static bool look(struct core *c, struct workload *w)
{
	const struct kind *kind = kind_by_type(c->kinds, TYPE_WORKLOAD);
	auto_arena mem = ARENA_INIT;
	struct workload_status s;
	struct store_object o;

	if (registry_batch_full(c->batch) || registry_batch_room(c->batch) < REGISTRY_RESERVE ||
	    registry_get(c->batch, kind, w->ns, w->name, &o) < 0)
		return false;
	workload_status_read(&o, &mem, &s);
	const struct workload_check *k = check_of(c, &s);
	w->checking = false;
	if (!k)
		return true;
	settle_others(c, w, &s, k);
	link_check(w, k);
	bool there = stands(c, w, &o);
	if (w->admitted_at && !there) {
		provisioning_check_free(w); /* it runs, with nodes or without need of any */
		return true;
	}
	if (there && is_of_the_past(c, w, &o)) {
		drop_past(c, w, &o);
		return false;
	}
	switch (provisioning_object_make(c, w)) {
	case PROVISIONING_MADE:
		workload_event(c, w, "Normal", WORKLOAD_ADMISSION, "ProvisioningRequestCreated",
			       "Created ProvisioningRequest: \"%s\"", w->provisioning->request);
		if (w->provisioning->ready && !w->admitted_at) {
			/* What made it Ready was deleted meanwhile. */
			w->provisioning->ready = w->ready_to_place = false;
			tell(c, w, "Pending", 0, NULL, "The nodes are not asked for yet");
		}
		break;
	case PROVISIONING_STANDS:
		break;
	case PROVISIONING_NOT_NEEDED:
		if (!w->provisioning->ready)
			become_ready(c, w, NULL, "The provisioning request is not needed");
		provisioning_check_free(w);
		break;
	case PROVISIONING_FOREIGN:
		tell(c, w, "Pending", 0, NULL,
		     "A ProvisioningRequest of the name that it would have exists already");
		break;
	case PROVISIONING_BAD_CONFIG:
	default:
		tell(c, w, "Pending", 0, NULL, "The check's ProvisioningRequestConfig is missing");
		w->checking = true; /* looked at again when it is there */
		break;
	}
	if (w->provisioning)
		w->provisioning->managed = provisioning_object_managed(c, w);
	wake_requests(c, w);
	return true;
}

bool provisioning_check_run(struct core *c)
{
	struct kueue *k = c->kueue;
	bool changed = k->checks_changed, all = provisioning_config_flush(c);
	size_t kept = 0;

	for (size_t i = 0; i < k->checking.len; i++) {
		struct workload *w = k->checking.items[i];
		if (!w)
			continue;
		/* One whose row cannot be written is not asked for, nor looked at for ever. */
		if (!workload_holds_quota(w) || w->evicted_at || (!w->exists && !w->dirty)) {
			w->checking = false;
			continue;
		}
		/* Its reservation is to be written first; one without config waits for a change. */
		bool waits = w->provisioning && !changed;
		if (!waits && w->exists && !w->edit && look(c, w) && !w->checking)
			continue;
		all = all && w->provisioning;
		k->checking.items[kept++] = w;
	}
	k->checking.len = kept;
	return all;
}

/*
 * What the verdict of a round means for the checks that asked (provisioning_check.h).
 */
#include "core/kueue/provisioning_check.h"

#include "base/json.h"
#include "base/num.h"
#include "core/job.h"
#include "core/kueue/admission.h"
#include "core/kueue/evict.h"
#include "core/kueue/provisioning_object.h"
#include "core/kueue/workload_status.h"
#include "core/member.h"
#include "core/provisioning/request_phase.h"

#define MAX_CHECKS 64 /* that are told of one verdict */

void provisioning_check_tell(struct core *c, struct workload *w, struct provisioning_check *p,
			     const char *state, int64_t requeue_after, const char *updates,
			     const char *message)
{
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

void provisioning_check_settle(struct core *c, struct workload *w)
{
	bool ready = !w->checking;

	for (const struct provisioning_check *p = w->provisioning; p; p = p->next)
		ready = ready && p->ready;
	if (ready && w->unit->state == KUEUE_RESERVING && others_are_ready(c, w))
		admission_checks_ready(c, w);
}

static struct provisioning_request *request_of(const struct core *c, const struct workload *w,
					       const struct provisioning_check *p)
{
	return request_find(c, w->ns, span_of(p->request));
}

/* After a restart the hub's object knows what the member said. */
static void stored_words(const struct core *c, const struct provisioning_request *r,
			 struct buf *out)
{
	const struct kind *kind = kind_by_type(c->kinds, TYPE_PROVISIONING_REQUEST);
	struct store_object o;

	if (registry_get(c->batch, kind, span_of(r->ns), span_of(r->name), &o) == 0 &&
	    memcmp(o.uid, r->uid, STORE_UID_LEN) == 0 && o.extents.status.len)
		request_phase_words(store_object_part(&o, o.extents.status), out);
}

static void words_of(const struct core *c, const struct provisioning_request *r, struct buf *out)
{
	const struct request_try *t = request_shown(r);
	const struct member *m = t ? member_by_number(c, t->member) : NULL;
	auto_buf why = BUF_INIT;

	if (!t) {
		buf_add_str(out,
			    r->crowded ? "Every cluster that could be asked has as many requests "
					 "waiting for nodes as it may have (TooManyAccepted)"
			    : r->no_candidates ? "No cluster that is ready can be asked for nodes"
					       : "The nodes are not asked for yet");
		return;
	}
	if (t->message)
		buf_add_str(&why, t->message);
	else if (t->status)
		request_phase_words(span_of(t->status), &why);
	else
		stored_words(c, r, &why);
	buf_addf(out, "%s on cluster %s", request_phase_name(t->phase), m ? m->name : "(gone)");
	if (why.len)
		buf_addf(out, ": %s", why.ptr);
}

/* ---- a round that is over ---- */

/* Whether the request itself failed, not only its round. */
static bool has_failed(const struct provisioning_request *r)
{
	if (r)
		vec_foreach (&r->tries, t)
			if ((*t)->phase >= PROVISION_FAILED && (*t)->phase != PROVISION_CANCELLED)
				return true;
	return false;
}

struct ending {
	struct kueue_check check;
	struct provisioning_check *of;
};

/* By the check's own retryStrategy, unless what runs has lost its nodes. */
static struct ending ending_of(struct core *c, const struct workload *w,
			       struct provisioning_check *p)
{
	struct provisioning_config config;
	struct provision_options options = provision_options_default();
	struct ending e = {{.name = span_of(p->check), .since = c->now}, p};

	if (provisioning_config_read(c, p->check, &config, NULL) == 0)
		options = config.options;
	provisioning_config_done(&config);
	bool rejected = w->admitted_at || p->attempt > options.backoff_limit;
	e.check.state = rejected ? KUEUE_CHECK_REJECTED : KUEUE_CHECK_RETRY;
	if (!rejected)
		e.check.requeue_after = provision_backoff(&options, p->attempt) / USEC_PER_SEC;
	return e;
}

static void tell_ending(struct core *c, struct workload *w, const struct ending *e)
{
	struct provisioning_check *p = e->of;
	auto_buf words = BUF_MAX(8192);
	struct provisioning_request *r = request_of(c, w, p);

	if (r)
		words_of(c, r, &words);
	else
		buf_add_str(&words, "The request is gone");
	if (e->check.state == KUEUE_CHECK_RETRY) {
		provisioning_check_tell(c, w, p, "Retry", e->check.requeue_after, NULL, words.ptr);
		return;
	}
	provisioning_check_tell(c, w, p, "Rejected", 0, NULL, words.ptr);
}

static void give_up(struct core *c, struct workload *w)
{
	struct ending all[MAX_CHECKS];
	struct kueue_check told[MAX_CHECKS];
	size_t n = 0;

	for (struct provisioning_check *p = w->provisioning; p && n < MAX_CHECKS; p = p->next)
		if (has_failed(request_of(c, w, p)))
			all[n++] = ending_of(c, w, p);
	if (n == 0)
		all[n++] = ending_of(c, w, w->provisioning);
	for (size_t i = 0; i < n; i++) {
		tell_ending(c, w, &all[i]);
		told[i] = all[i].check;
		told[i].message = span_of(all[i].of->told);
	}
	evict_by_checks(c, w, told, n);
}

bool provisioning_check_last_words(const struct core *c, const struct workload *w,
				   struct span check, int32_t attempt, struct buf *out)
{
	auto_free char *name = xstrndup(check.ptr, check.len);
	auto_buf request = BUF_INIT;

	if (attempt < 1 || !provisioning_config_is_check(c, name))
		return false;
	provisioning_spec_name(w->name, name, attempt, &request);
	const struct provisioning_request *r = request_find(c, w->ns, buf_span(&request));
	if (!r || !request_shown(r))
		return false;
	words_of(c, r, out);
	return true;
}

/* ---- nodes are there ---- */

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

void provisioning_check_labels(struct core *c, const struct provisioning_check *p,
			       const struct provisioning_request *r, struct arena *mem,
			       struct job_term *t)
{
	struct provisioning_config config;

	if (provisioning_config_read(c, p->check, &config, NULL) == 0 && config.node_selector) {
		auto_json *status = status_of(c, r);
		const struct cJSON *details = json_get(status, "provisioningClassDetails");
		size_t most = t->n_labels + json_len(config.node_selector);
		struct label *labels = arena_array(mem, struct label, most);
		for (size_t i = 0; i < t->n_labels; i++)
			labels[i] = t->labels[i];
		json_foreach (config.node_selector, k) {
			const char *key = json_str(k, "key"),
				   *from = json_str(k, "valueFromProvisioningClassDetail"),
				   *value = from ? json_str(details, from) : NULL;
			if (key && value)
				labels[t->n_labels++] = (struct label){
				    arena_span(mem, span_of(key)), arena_span(mem, span_of(value))};
		}
		t->labels = labels;
	}
	provisioning_config_done(&config);
}

static void become_ready(struct core *c, struct workload *w, struct provisioning_check *p)
{
	const struct provisioning_request *r = request_of(c, w, p);
	auto_buf words = BUF_MAX(8192), updates = BUF_MAX(STORE_MAX_OBJECT);

	if (p->ready || !r)
		return;
	auto_json *status = status_of(c, r);
	words_of(c, r, &words);
	if (provisioning_object_updates(c, w, p, status, &updates) < 0)
		return;
	p->ready = true;
	provisioning_check_tell(c, w, p, "Ready", 0, updates.ptr, words.ptr);
}

static void go_on_waiting(struct core *c, struct workload *w, struct provisioning_check *p)
{
	const struct provisioning_request *r = request_of(c, w, p);
	auto_buf words = BUF_MAX(8192);

	if (!r)
		return;
	words_of(c, r, &words);
	if (p->ready || !p->told || strcmp(p->told, words.ptr) != 0)
		provisioning_check_tell(c, w, p, "Pending", 0, NULL, words.ptr);
	if (p->ready)
		w->ready_to_place = false;
	p->ready = false;
}

/* All of them in the commit that fixes the member. */
static void all_ready(struct core *c, struct workload *w)
{
	bool were = true;

	for (struct provisioning_check *p = w->provisioning; p; p = p->next) {
		were = were && p->ready;
		become_ready(c, w, p);
	}
	if (!were)
		provisioning_check_settle(c, w);
}

void provisioning_check_news(struct core *c, struct workload *w, struct provisioning_request *lead)
{
	switch (lead->verdict) {
	case PROVISION_READY:
		if (!w->admitted_at)
			all_ready(c, w);
		break;
	case PROVISION_RETRY:
		if (!w->admitted_at)
			give_up(c, w);
		break;
	case PROVISION_REJECT:
		give_up(c, w);
		break;
	case PROVISION_WAIT:
	default:
		for (struct provisioning_check *p = w->provisioning; p && !w->admitted_at;
		     p = p->next)
			go_on_waiting(c, w, p);
		break;
	}
}

#include "core/admission/awaited.h"

#include "base/json.h"
#include "core/admission/reclaim.h"
#include "core/job.h"
#include "core/kueue/preempted.h"
#include "core/member.h"
#include "core/stopping.h"
#include "core/swap/swap.h"

#define MOST_NAMED 3 /* in a sentence */

/* A victim: a job, or a Workload that a user created without one. */
struct victim {
	const struct job *job;
	const struct workload *workload;
};

struct awaited {
	size_t n; /* all of them */
	struct victim items[AWAITED_MOST];
};

/* ---- whom ---- */

static void gather_workloads(const struct core *c, const struct job *j, struct awaited *ret)
{
	const struct workload *found[AWAITED_MOST];

	ret->n = preempted_left(c, j->workload, found, AWAITED_MOST);
	for (size_t i = 0; i < ret->n && i < AWAITED_MOST; i++)
		ret->items[i] = (struct victim){found[i]->job, found[i]};
}

static void gather_jobs(struct awaited *ret, const struct job **found, size_t n)
{
	ret->n = n;
	for (size_t i = 0; i < n && i < AWAITED_MOST; i++)
		ret->items[i] = (struct victim){found[i], found[i]->workload};
}

static bool gather(const struct core *c, const struct job *j, struct awaited *ret)
{
	const struct job *found[AWAITED_MOST];

	*ret = (struct awaited){0};
	if (j->finished || j->deleting)
		return false;
	if (j->swap && !dispatch_is_free(&j->dispatch))
		gather_jobs(ret, found, swap_victims(c, j, found, AWAITED_MOST));
	else if (j->workload && !workload_holds_quota(j->workload))
		gather_workloads(c, j, ret);
	else if (j->unit && !j->workload)
		gather_jobs(ret, found, reclaim_victims(c, j, found, AWAITED_MOST));
	return ret->n > 0;
}

static usec told_at(const struct victim *v)
{
	return v->workload ? v->workload->evicted_at : 0;
}

/* ---- in words ---- */

static void add_victim_words(struct core *c, const struct victim *v, bool with_pod, struct buf *out)
{
	if (v->job)
		stopping_words(c, v->job, with_pod, out);
	else
		buf_addf(out, "Workload %s", v->workload->key);
}

static void add_words(struct core *c, const struct awaited *a, bool with_pod, struct buf *out)
{
	buf_addf(out, "Waits for %zu preempted job%s to stop: ", a->n, a->n == 1 ? "" : "s");
	for (size_t i = 0; i < a->n && i < MOST_NAMED; i++) {
		buf_add_str(out, i ? ", " : "");
		add_victim_words(c, &a->items[i], with_pod, out);
	}
	if (a->n > MOST_NAMED)
		buf_addf(out, " and %zu more", a->n - MOST_NAMED);
}

bool awaited_tell(struct core *c, const struct job *j, char *out, size_t size)
{
	auto_buf words = BUF_INIT;
	struct awaited a;

	if (!gather(c, j, &a))
		return false;
	add_words(c, &a, false, &words);
	(void)snprintf(out, size, "%s", words.ptr);
	return true;
}

/* ---- the victim's side ---- */

static const struct job *stopped_for(const struct core *c, const struct job *j)
{
	const struct workload *w = j->workload;
	const struct job *other =
	    w ? preempted_by(c, span_of(w->evicted_words)) : reclaim_owner(c, j);

	return other ? other : swap_stopped_for(c, j);
}

bool awaited_tell_stop(struct core *c, const struct job *j, char *out, size_t size,
		       const char **ret_code)
{
	const struct workload *w = j->workload;
	const struct member *m = member_of(c, j);
	const struct job *other;
	auto_buf words = BUF_INIT;
	char text[JOB_TEXT_MAX];

	if (!stopping_is(j) || j->deleting || j->gone || j->finished)
		return false;
	other = stopped_for(c, j);
	if (other)
		buf_addf(&words, "Gives way to %s: ", job_text(other, text));
	else
		buf_addf(&words, "Stops%s%s: ", m ? " on " : "", m ? m->name : "");
	stopping_pod_words(c, j, false, &words);
	if (j->dispatch_message)
		buf_addf(&words, "; %s", j->dispatch_message);
	(void)snprintf(out, size, "%s", words.ptr);
	*ret_code = w && w->evicted_as ? w->evicted_as : other ? "Preempted" : "";
	return true;
}

/* ---- JSON ---- */

static void add_waits_for(struct core *c, const struct job *j, struct buf *b)
{
	auto_buf words = BUF_INIT;
	struct awaited a;

	if (!gather(c, j, &a))
		return;
	add_words(c, &a, true, &words);
	buf_addf(b, ",\"waitsFor\":{\"count\":%zu,\"message\":", a.n);
	buf_add_json_str(b, buf_span(&words));
	buf_add_str(b, ",\"jobs\":[");
	for (size_t i = 0; i < a.n && i < AWAITED_MOST; i++) {
		const struct victim *v = &a.items[i];
		buf_add_str(b, i ? "," : "");
		if (v->job) {
			stopping_add(c, v->job, told_at(v), b);
			continue;
		}
		buf_add_str(b, "{\"kind\":\"Workload\",\"namespace\":");
		buf_add_json_str(b, v->workload->ns);
		buf_add_str(b, ",\"name\":");
		buf_add_json_str(b, v->workload->name);
		buf_add_char(b, '}');
	}
	buf_add_str(b, "]}");
}

static void add_other(const struct job *other, struct buf *b)
{
	buf_addf(b, ",\"kind\":\"%s\",\"namespace\":", other->kind->kind);
	buf_add_json_str(b, span_of(other->ns));
	buf_add_str(b, ",\"name\":");
	buf_add_json_str(b, span_of(other->name));
}

/* A member of a JSON object, decoded; "" when absent. */
static void take_text(struct span object, const char *key, struct buf *out)
{
	struct span value;

	buf_clear(out);
	if (json_text_member(object, key, &value) < 0 || json_text_string(value, out) < 0)
		buf_clear(out);
}

/* The condition Preempted of its Workload, while it is True. */
static bool find_preempted(struct core *c, const struct workload *w, struct span *ret)
{
	struct store_object o;
	struct span list, one, value;

	if (registry_get(c->batch, kind_by_type(c->kinds, TYPE_WORKLOAD), w->ns, w->name, &o) < 0 ||
	    json_text_path(o.json, &list, "status", "conditions", NULL) < 0 ||
	    json_text_type(list) != JSON_ARRAY)
		return false;
	for (size_t pos = 0; json_text_next(list, &pos, NULL, &one);) {
		if (json_text_member(one, "type", &value) < 0 ||
		    !span_is(json_text_plain(value), "Preempted"))
			continue;
		*ret = one;
		return json_text_member(one, "status", &value) == 0 &&
		       span_is(json_text_plain(value), "True");
	}
	return false;
}

static void add_preempted_workload(struct core *c, const struct job *j, struct buf *b)
{
	static const struct {
		const char *name, *field;
	} fields[] = {{"reason", "reason"}, {"at", "lastTransitionTime"}, {"message", "message"}};
	auto_buf text = BUF_INIT;
	struct span condition;

	if (!find_preempted(c, j->workload, &condition))
		return;
	buf_add_str(b, ",\"preemptedBy\":{");
	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		take_text(condition, fields[i].field, &text);
		buf_addf(b, "%s\"%s\":", i ? "," : "", fields[i].name);
		buf_add_json_str(b, buf_span(&text));
	}
	const struct job *other = preempted_by(c, buf_span(&text)); /* the message */
	if (other)
		add_other(other, b);
	buf_add_char(b, '}');
}

static void add_preempted_by(struct core *c, const struct job *j, struct buf *b)
{
	const struct job *other = NULL;

	if (j->workload) {
		add_preempted_workload(c, j, b);
		return;
	}
	other = stopped_for(c, j);
	if (!other)
		return;
	buf_add_str(b, ",\"preemptedBy\":{\"reason\":\"Preempted\"");
	add_other(other, b);
	buf_add_char(b, '}');
}

void awaited_add(struct core *c, const struct job *j, struct buf *b)
{
	add_waits_for(c, j, b);
	if (j->finished)
		return;
	if (stopping_is(j)) {
		buf_add_str(b, ",\"stops\":");
		stopping_add(c, j, j->workload ? j->workload->evicted_at : 0, b);
	}
	add_preempted_by(c, j, b);
}

/*
 * The text of a status is copied around what the edit names. What is not plain (escapes in keys or
 * types, conditions that are no list) is left to the tree.
 */
#include "base/json.h"
#include "core/kueue/workload_edit.h"
#include <inttypes.h>

/* Edits of one write; more go by the tree. */
#define MAX_EDITS 16
/* Of a message that is quoted in the next one. */
#define MAX_QUOTED 16384

struct writer {
	const struct workload_edit *edit;
	char when[CLOCK_TEXT_MAX];
	int64_t generation; /* 0: none is told */
	struct buf *out;
	bool applied[MAX_EDITS];
	bool finished, saw_finished;
};

static bool is_simple(const struct workload *w)
{
	const struct workload_edit *e = w->edit;

	return e && e->conditions.len <= MAX_EDITS && !e->domains && !e->ends_delay &&
	       !e->unhealthy && !e->reclaimable && !e->cluster && !e->checks.len &&
	       !e->has_requeue && !e->evicted_for && !w->past_execution;
}

static bool has_escapes(struct span text)
{
	return text.len && memchr(text.ptr, '\\', text.len);
}

static void add_comma(struct buf *out, bool *started)
{
	if (*started)
		buf_add_char(out, ',');
	*started = true;
}

static void add_key(struct buf *out, struct span key, bool *started)
{
	add_comma(out, started);
	buf_add_char(out, '"');
	buf_add_span(out, key);
	buf_add_str(out, "\":");
}

static void add_text(struct buf *out, const char *key, struct span value, bool *started)
{
	add_key(out, span_of(key), started);
	buf_add_json_str(out, value);
}

/* ---- one condition ---- */

static const char observed[] = "observedGeneration";

static void add_generation(struct writer *t, bool *started)
{
	add_key(t->out, span_of(observed), started);
	buf_addf(t->out, "%" PRId64, t->generation);
}

/* What is written of it; `since`: whether its time moves. */
struct words {
	const char *status;
	struct span reason, message;
	bool since;
};

static void add_new(struct writer *t, const struct condition_edit *k)
{
	bool started = false;

	buf_add_char(t->out, '{');
	add_text(t->out, "type", span_of(k->type), &started);
	add_text(t->out, "lastTransitionTime", span_of(t->when), &started);
	add_text(t->out, "status", span_of(k->status ? "True" : "False"), &started);
	add_text(t->out, "reason", span_of(k->reason), &started);
	add_text(t->out, "message", span_of(k->message), &started);
	if (t->generation)
		add_generation(t, &started);
	buf_add_char(t->out, '}');
}

/* Members keep their places; those that it lacked come last. */
static bool add_edited(struct writer *t, struct span one, const struct words *words)
{
	static const char *const names[] = {"lastTransitionTime", "status", "reason", "message"};
	const struct span values[] = {span_of(t->when), span_of(words->status), words->reason,
				      words->message};
	bool started = false, written[ARRAY_LEN(names)] = {!words->since};
	bool told = !t->generation;
	struct span key, value;

	buf_add_char(t->out, '{');
	for (size_t pos = 0; json_text_next(one, &pos, &key, &value);) {
		size_t i = 0;
		if (has_escapes(key))
			return false;
		if (!told && span_is(key, observed)) {
			add_generation(t, &started);
			told = true;
			continue;
		}
		while (i < ARRAY_LEN(names) && !span_is(key, names[i]))
			i++;
		add_key(t->out, key, &started);
		if (i == ARRAY_LEN(names) || (i == 0 && !words->since)) {
			buf_add_span(t->out, value);
		} else {
			buf_add_json_str(t->out, values[i]);
			written[i] = true;
		}
	}
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (!written[i])
			add_text(t->out, names[i], values[i], &started);
	if (!told)
		add_generation(t, &started);
	buf_add_char(t->out, '}');
	return true;
}

static bool edit_one(struct writer *t, struct span one, const struct condition_edit *k,
		     struct span was)
{
	auto_buf message = BUF_INIT;
	struct words words = {.status = k->status ? "True" : "False",
			      .reason = span_of(k->reason),
			      .message = span_of(k->message)};
	struct span quoted;

	if (k->clear && !span_is(was, "True")) {
		buf_add_span(t->out, one);
		return true;
	}
	if (k->clear) {
		buf_add_str(&message, "Previously: ");
		if (json_text_member(one, "message", &quoted) == 0 &&
		    json_text_type(quoted) == JSON_STRING &&
		    (quoted.len > MAX_QUOTED || json_text_string(quoted, &message) < 0))
			return false;
		words.message = buf_span(&message);
	}
	words.since = !span_is(was, words.status);
	return add_edited(t, one, &words);
}

/* ---- conditions ---- */

static const struct condition_edit *edit_for(struct writer *t, struct span type)
{
	for (size_t i = 0; i < t->edit->conditions.len; i++) {
		if (t->applied[i] || !span_is(type, t->edit->conditions.items[i].type))
			continue;
		t->applied[i] = true;
		return &t->edit->conditions.items[i];
	}
	return NULL;
}

/* A string member; false when it needs decoding. Absent or of another type: SPAN_NONE. */
static bool plain(struct span one, const char *key, struct span *ret)
{
	struct span value;

	*ret = SPAN_NONE;
	if (json_text_member(one, key, &value) < 0 || json_text_type(value) != JSON_STRING)
		return true;
	*ret = json_text_plain(value);
	return !has_escapes(value);
}

static bool add_one(struct writer *t, struct span one)
{
	struct span type, was;

	if (json_text_type(one) != JSON_OBJECT) {
		buf_add_span(t->out, one);
		return true;
	}
	if (!plain(one, "type", &type) || !plain(one, "status", &was))
		return false;
	const struct condition_edit *k = type.len ? edit_for(t, type) : NULL;
	if (span_is(type, "Finished") && !t->saw_finished) {
		t->saw_finished = true;
		t->finished = k && !k->clear ? k->status : !k && span_is(was, "True");
	}
	if (k)
		return edit_one(t, one, k, was);
	buf_add_span(t->out, one);
	return true;
}

static bool add_conditions(struct writer *t, struct span list)
{
	bool started = false;
	struct span one;

	buf_add_char(t->out, '[');
	for (size_t pos = 0; list.len && json_text_next(list, &pos, NULL, &one);) {
		add_comma(t->out, &started);
		if (!add_one(t, one))
			return false;
	}
	for (size_t i = 0; i < t->edit->conditions.len; i++) {
		const struct condition_edit *k = &t->edit->conditions.items[i];
		if (t->applied[i] || k->clear)
			continue;
		add_comma(t->out, &started);
		add_new(t, k);
		if (strcmp(k->type, "Finished") == 0)
			t->finished = k->status;
	}
	buf_add_char(t->out, ']');
	return true;
}

/* ---- the status ---- */

static bool add_members(struct writer *t, struct span stored)
{
	const struct workload_edit *e = t->edit;
	bool started = false, listed = false;
	struct span key, value;

	buf_add_char(t->out, '{');
	for (size_t pos = 0; stored.len && json_text_next(stored, &pos, &key, &value);) {
		bool conditions = span_is(key, "conditions");
		if (has_escapes(key) || (conditions && json_text_type(value) != JSON_ARRAY))
			return false;
		/* Nodes that failed go with the admission that was on them. */
		if (e->has_admission &&
		    (span_is(key, "admission") || span_is(key, "unhealthyNodes")))
			continue;
		add_key(t->out, key, &started);
		if (!conditions)
			buf_add_span(t->out, value);
		else if (!add_conditions(t, value))
			return false;
		listed |= conditions;
	}
	if (!listed && e->conditions.len) {
		add_key(t->out, SPAN("conditions"), &started);
		if (!add_conditions(t, SPAN_NONE))
			return false;
	}
	if (e->admission) {
		add_key(t->out, SPAN("admission"), &started);
		buf_add_str(t->out, e->admission);
	}
	buf_add_char(t->out, '}');
	return true;
}

bool workload_text_write(const struct workload *w, struct span stored, usec now, struct buf *out,
			 bool *ret_finished)
{
	struct writer t = {.edit = w->edit, .generation = w->generation, .out = out};
	size_t before = out->len;

	if (!is_simple(w) || (stored.len && json_text_type(stored) != JSON_OBJECT))
		return false;
	clock_format(now, t.when);
	if (!add_members(&t, stored)) {
		out->len = before;
		return false;
	}
	*ret_finished = t.finished;
	return true;
}

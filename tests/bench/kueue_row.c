#include "kueue_row.h"

#include "base/clock.h"
#include "base/json.h"
#include <stdlib.h>

static struct span type_of(struct span condition)
{
	struct span v;
	return json_text_member(condition, "type", &v) == 0 ? json_text_plain(v) : SPAN_NONE;
}

static bool stands(struct span condition)
{
	struct span v;
	return json_text_member(condition, "status", &v) == 0 && span_is(v, "\"True\"");
}

static enum ledger_state state_of(struct span status, struct span conditions)
{
	struct span one, admission;
	bool admitted = false, evicted = false;

	for (size_t pos = 0; json_text_next(conditions, &pos, NULL, &one);) {
		struct span type = type_of(one);
		if (!stands(one))
			continue;
		if (span_is(type, "Finished"))
			return LEDGER_FINISHED;
		admitted |= span_is(type, "Admitted");
		evicted |= span_is(type, "Evicted");
	}
	if (json_text_member(status, "admission", &admission) < 0 ||
	    json_text_type(admission) != JSON_OBJECT)
		return LEDGER_PENDING;
	return evicted ? LEDGER_EVICTED : admitted ? LEDGER_HOLDS : LEDGER_PENDING;
}

static bool read_metadata(struct span meta, struct kueue_row *ret)
{
	struct span name, revision, created;
	usec t;

	if (json_text_member(meta, "name", &name) < 0 ||
	    json_text_member(meta, "resourceVersion", &revision) < 0 ||
	    json_text_member(meta, "creationTimestamp", &created) < 0 ||
	    clock_parse(json_text_plain(created), &t) < 0)
		return false;
	name = json_text_plain(name);
	const char *dash = memrchr(name.ptr, '-', name.len);
	if (!dash)
		return false;
	ret->number = (uint32_t)strtoul(dash + 1, NULL, 10);
	ret->revision = strtoull(revision.ptr + 1, NULL, 10);
	ret->created = t / USEC_PER_SEC;
	return true;
}

bool kueue_row_read(struct span line, struct kueue_row *ret)
{
	struct span event, object, meta, status;

	*ret = (struct kueue_row){.state = LEDGER_PENDING};
	if (json_text_member(line, "type", &event) < 0 ||
	    (!span_is(event, "\"ADDED\"") && !span_is(event, "\"MODIFIED\"")) ||
	    json_text_member(line, "object", &object) < 0 ||
	    json_text_member(object, "metadata", &meta) < 0 || !read_metadata(meta, ret))
		return false;
	if (json_text_member(object, "status", &status) == 0 &&
	    json_text_type(status) == JSON_OBJECT &&
	    json_text_member(status, "conditions", &ret->conditions) == 0)
		ret->state = state_of(status, ret->conditions);
	return true;
}

/* ---- patches ---- */

static void begin(uint64_t revision, struct buf *out)
{
	buf_addf(out, "{\"metadata\":{\"resourceVersion\":\"%llu\"},\"status\":{\"conditions\":[",
		 (unsigned long long)revision);
}

/* Those that stand there, but for the types of `but`. */
static void copy_conditions(struct span conditions, const char *const but[2], struct buf *out)
{
	struct span one;

	for (size_t pos = 0; json_text_next(conditions, &pos, NULL, &one);) {
		if (span_is(type_of(one), but[0]) || span_is(type_of(one), but[1]))
			continue;
		buf_add_span(out, one);
		buf_add_char(out, ',');
	}
}

static void add_condition(const char *type, const char *status, const char *reason,
			  const char *message, struct buf *out)
{
	char when[CLOCK_TEXT_MAX];

	clock_format(clock_now(), when);
	buf_addf(out,
		 "{\"type\":\"%s\",\"status\":\"%s\",\"reason\":\"%s\",\"message\":\"%s\","
		 "\"lastTransitionTime\":\"%s\"}",
		 type, status, reason, message, when);
}

void kueue_row_finish(uint64_t revision, struct span conditions, struct buf *out)
{
	begin(revision, out);
	copy_conditions(conditions, (const char *const[2]){"Finished", "Finished"}, out);
	add_condition("Finished", "True", "ByTest", "By test runner", out);
	buf_add_str(out, "]}}");
}

void kueue_row_release(uint64_t revision, struct span conditions, struct buf *out)
{
	begin(revision, out);
	copy_conditions(conditions, (const char *const[2]){"QuotaReserved", "Admitted"}, out);
	add_condition("QuotaReserved", "False", "Pending", "By test runner", out);
	buf_add_char(out, ',');
	add_condition("Admitted", "False", "NoReservation", "By test runner", out);
	buf_add_str(out, "],\"admission\":null}}");
}

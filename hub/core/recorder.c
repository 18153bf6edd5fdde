#include "core/recorder.h"

#include "base/num.h"
#include "core/object_writer.h"

#include <ctype.h>
#include <inttypes.h>

static void add_involved(struct buf *b, const struct recorder_event *e)
{
	char api_version[KIND_API_VERSION_MAX];

	buf_addf(b, ",\"involvedObject\":{\"apiVersion\":\"%s\",\"kind\":\"%s\",\"namespace\":",
		 kind_api_version(e->kind, api_version), e->kind->kind);
	buf_add_json_str(b, e->ns);
	buf_add_str(b, ",\"name\":");
	buf_add_json_str(b, e->name);
	buf_addf(b, ",\"uid\":\"%s\"}", e->uid_text);
}

/* ---- those that wait ---- */

static const struct kind *event_kind(const struct core *c)
{
	return kind_by_type(c->kinds, TYPE_EVENT);
}

static bool has_room(const struct core *c)
{
	return registry_batch_room_of(c->batch, event_kind(c)) > RECORDER_RESERVE &&
	       !registry_batch_full(c->batch);
}

static size_t n_late(const struct core *c)
{
	return c->late_events.len - c->late_first;
}

bool recorder_is_behind(const struct core *c)
{
	return n_late(c) >= RECORDER_MAX_LATE;
}

static void drop(struct late_event *e)
{
	free(e->ns);
	free(e->name);
	object_draft_done(&e->draft);
}

bool recorder_flush(struct core *c)
{
	while (n_late(c) && has_room(c)) {
		struct late_event *e = &c->late_events.items[c->late_first++];
		(void)core_put(c, event_kind(c), span_of(e->ns), span_of(e->name), &e->draft);
		e->draft = (struct object_draft){0};
		drop(e);
	}
	if (!n_late(c))
		c->late_events.len = c->late_first = 0;
	if (c->late_first < RECORDER_MAX_LATE)
		return n_late(c) > 0;
	memmove(c->late_events.items, c->late_events.items + c->late_first,
		n_late(c) * sizeof(*c->late_events.items));
	c->late_events.len = n_late(c);
	c->late_first = 0;
	return true;
}

void recorder_close(struct core *c)
{
	for (size_t i = c->late_first; i < c->late_events.len; i++)
		drop(&c->late_events.items[i]);
	vec_done(&c->late_events);
	c->late_first = 0;
}

/* Those that wait go first: events about one object keep their order. */
static void put(struct core *c, struct span ns, const char *name, struct object_draft *take_draft)
{
	if (has_room(c) && !n_late(c)) {
		(void)core_put(c, event_kind(c), ns, span_of(name), take_draft);
		return;
	}
	vec_push(&c->late_events,
		 (struct late_event){xstrndup(ns.ptr, ns.len), xstrdup(name), *take_draft});
}

/* ---- writing ---- */

void recorder_write_about(struct core *c, const struct recorder_event *e)
{
	const struct kind *kind = event_kind(c);
	struct managed_write by = core_manager(c, kind);
	char name[STORE_MAX_NAME + 1], when[CLOCK_TEXT_MAX];
	uint8_t uid[STORE_UID_LEN];
	struct object_writer w;
	struct object_draft draft;
	/* As client-go names them, in nanoseconds: a list by name is in the order of time, also
	 * within the second that timestamps have. */
	uint64_t tail = (uint64_t)c->now * 1000 + c->events_named++ % 1000;

	registry_new_uid(c->registry, uid);
	(void)snprintf(name, sizeof(name), "%.*s.%016" PRIx64,
		       (int)num_min((int64_t)e->name.len, 230), e->name.ptr, tail);
	object_writer_begin(&w, &(struct object_head){.kind = kind,
						      .by = &by,
						      .spec_only = true,
						      .ns = e->ns,
						      .name = span_of(name),
						      .uid = uid,
						      .created = c->now});
	add_involved(&w.text, e);
	buf_addf(&w.text, ",\"type\":\"%s\",\"reason\":\"%s\",\"message\":", e->type, e->reason);
	buf_add_json_str(&w.text, span_of(e->message));
	clock_format(c->now, when);
	buf_addf(&w.text,
		 ",\"source\":{\"component\":\"%s\"},\"firstTimestamp\":\"%s\","
		 "\"lastTimestamp\":\"%s\",\"count\":1,\"eventTime\":null,"
		 "\"reportingComponent\":\"%s\",\"reportingInstance\":\"\"",
		 e->component, when, when, e->component);
	if (object_writer_end(&w, &draft, NULL) == 0)
		put(c, e->ns, name, &draft);
}

void recorder_write(struct core *c, const struct job *j, const struct job_event *e)
{
	char component[192] = "default-scheduler";

	if (e->component) {
		(void)snprintf(component, sizeof(component), "%s", e->component);
	} else if (e->of_queue) {
		int n = snprintf(component, sizeof(component), "%s/%s-kueue-controller",
				 j->kind->group, j->kind->kind);
		for (int i = 0; i < n && component[i]; i++)
			component[i] = (char)tolower((unsigned char)component[i]);
	}
	recorder_write_about(c, &(struct recorder_event){
				    .kind = j->kind,
				    .ns = span_of(j->ns),
				    .name = span_of(j->name),
				    .uid_text = j->uid_text,
				    .component = component,
				    .type = e->type,
				    .reason = e->reason,
				    .message = e->message,
				});
}

#include "core/recorder.h"

#include "core/object_writer.h"

#include <inttypes.h>

static void add_involved(struct buf *b, const struct job *j)
{
	char api_version[KIND_API_VERSION_MAX];

	buf_addf(b, ",\"involvedObject\":{\"apiVersion\":\"%s\",\"kind\":\"%s\",\"namespace\":",
		 kind_api_version(j->kind, api_version), j->kind->kind);
	buf_add_json_str(b, span_of(j->ns));
	buf_add_str(b, ",\"name\":");
	buf_add_json_str(b, span_of(j->name));
	buf_addf(b, ",\"uid\":\"%s\"}", j->uid_text);
}

void recorder_write(struct core *c, const struct job *j, const struct job_event *e)
{
	const struct kind *kind = kind_by_type(c->kinds, TYPE_EVENT);
	char name[STORE_MAX_NAME + 1], when[CLOCK_TEXT_MAX];
	uint8_t uid[STORE_UID_LEN];
	struct object_writer w;
	struct object_draft draft;
	uint64_t tail;

	registry_new_uid(c->registry, uid);
	memcpy(&tail, uid, sizeof(tail));
	(void)snprintf(name, sizeof(name), "%.230s.%016" PRIx64, j->name, tail);
	object_writer_begin(&w, &(struct object_head){.kind = kind,
						      .ns = span_of(j->ns),
						      .name = span_of(name),
						      .uid = uid,
						      .created = c->now});
	add_involved(&w.text, j);
	buf_addf(&w.text, ",\"type\":\"%s\",\"reason\":\"%s\",\"message\":", e->type, e->reason);
	buf_add_json_str(&w.text, span_of(e->message));
	clock_format(c->now, when);
	buf_addf(&w.text,
		 ",\"source\":{\"component\":\"default-scheduler\"},\"firstTimestamp\":\"%s\","
		 "\"lastTimestamp\":\"%s\",\"count\":1,\"eventTime\":null,"
		 "\"reportingComponent\":\"default-scheduler\",\"reportingInstance\":\"\"",
		 when, when);
	if (object_writer_end(&w, &draft, NULL) == 0)
		(void)core_put(c, kind, span_of(j->ns), span_of(name), &draft);
}

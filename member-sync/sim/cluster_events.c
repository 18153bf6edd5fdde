#include "member-sync/sim/cluster_priv.h"
#include <stdarg.h>

/* Rows of the batch that Events leave to what matters more. */
#define KEPT_ROWS 24

static void print_times(const struct cluster *c, struct buf *out)
{
	char time[CLOCK_TEXT_MAX];
	clock_format(c->now, time);
	buf_addf(out,
		 ",\"firstTimestamp\":\"%s\",\"lastTimestamp\":\"%s\",\"count\":1,"
		 "\"eventTime\":null",
		 time, time);
}

void cluster_event(struct cluster *c, const struct kind *k, struct span ns, struct span name,
		   struct span uid_text, const char *component, bool warning, const char *reason,
		   const char *fmt, ...)
{
	char message[400], event_name[320], version[KIND_API_VERSION_MAX];
	uint8_t uid[STORE_UID_LEN];
	struct writer w;
	struct object_draft d;
	/* An Event is never worth a batch: when this one is nearly full it is dropped, as the
	 * clients of a real cluster drop theirs under load. */
	if (!c->options.events || registry_batch_room(c->batch) < KEPT_ROWS)
		return;
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(message, sizeof(message), fmt, ap);
	va_end(ap);
	registry_new_uid(c->reg, uid);
	snprintf(event_name, sizeof(event_name), "%.*s.%02x%02x%02x%02x%02x%02x%02x%02x",
		 (int)(name.len < 230 ? name.len : 230), name.ptr, uid[0], uid[1], uid[2], uid[3],
		 uid[4], uid[5], uid[9], uid[10]);
	writer_begin(&w, c->event_kind, ns, event_name, uid, c->now);
	writer_end_metadata(&w);
	buf_addf(&w.text,
		 ",\"involvedObject\":{\"kind\":\"%s\",\"namespace\":\"%.*s\",\"name\":\"%.*s\","
		 "\"uid\":\"%.*s\",\"apiVersion\":\"%s\"},\"reason\":\"%s\",\"message\":",
		 k->kind, SPAN_ARGS(ns), SPAN_ARGS(name), SPAN_ARGS(uid_text),
		 kind_api_version(k, version), reason);
	buf_add_json_str(&w.text, span_of(message));
	print_times(c, &w.text);
	buf_addf(&w.text,
		 ",\"source\":{\"component\":\"%s\"},\"type\":\"%s\",\"reportingComponent\":\"%s\","
		 "\"reportingInstance\":\"\"",
		 component, warning ? "Warning" : "Normal", component);
	if (writer_finish(&w, &d, NULL) == 0 &&
	    registry_put(c->batch, c->event_kind, ns, span_of(event_name), &d) != 0)
		return; /* a broken batch fails at its commit */
}

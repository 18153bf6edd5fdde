#include "member-sync/sim/pod_codec.h"
#include "base/json.h"
#include "base/num.h"
#include "member-sync/sim/duration.h"

#define DEFAULT_DURATION (10 * USEC_PER_SEC)

static struct span member(struct span object, const char *key)
{
	struct span v;
	return object.len && json_text_member(object, key, &v) == 0 ? v : SPAN_NONE;
}

static struct span plain(struct span object, const char *key)
{
	struct span v = member(object, key);
	return v.len ? json_text_plain(v) : SPAN_NONE;
}

static void read_labels(struct sim_pod *p, struct span labels)
{
	struct span key, value;
	size_t n = 0;
	if (!labels.len || json_text_type(labels) != JSON_OBJECT)
		return;
	for (size_t pos = 0; json_text_next(labels, &pos, &key, &value);)
		n++;
	struct info_pair *pairs = arena_array(&p->mem, struct info_pair, n);
	for (size_t pos = 0; json_text_next(labels, &pos, &key, &value);) {
		struct info_pair *to = &pairs[p->sched.n_labels++];
		to->key = arena_span(&p->mem, key);
		to->value = arena_span(&p->mem, json_text_plain(value));
	}
	p->sched.labels = pairs;
}

static int32_t slot_number(struct span *slot)
{
	struct span one = span_split(slot, '.');
	int64_t v;
	return one.ptr && num_parse_i64(one, -1, INT32_MAX, &v) == 0 ? (int32_t)v : -1;
}

static void read_annotations(struct sim_pod *p, struct span annotations)
{
	struct span duration = plain(annotations, "muster.dev/sim-duration");
	struct span code = plain(annotations, "muster.dev/sim-exit-code");
	struct span slot = plain(annotations, POD_CODEC_SLOT);
	int64_t exit_code = 0;
	p->duration = DEFAULT_DURATION;
	if (duration.ptr && duration_parse(duration, &p->duration))
		p->duration = DEFAULT_DURATION;
	if (code.ptr && num_parse_i64(code, 0, 255, &exit_code) == 0)
		p->exit_code = (int32_t)exit_code;
	p->forever = span_is(plain(annotations, POD_CODEC_FOREVER), "true");
	p->set = slot_number(&slot);
	p->index = slot_number(&slot);
	p->attempt = slot_number(&slot);
	p->epoch = arena_span(&p->mem, plain(annotations, COPY_ANNOTATION_EPOCH));
	p->job_uid = arena_span(&p->mem, plain(annotations, COPY_ANNOTATION_JOB_UID));
}

static usec read_time(struct span object, const char *key)
{
	usec t = 0;
	struct span text = plain(object, key);
	return text.ptr && clock_parse(text, &t) == 0 ? t : 0;
}

static void read_container(struct sim_pod *p, struct span status)
{
	struct span list = member(status, "containerStatuses"), first, key = SPAN_NONE;
	size_t pos = 0;
	int64_t n;
	if (!list.len || json_text_type(list) != JSON_ARRAY ||
	    !json_text_next(list, &pos, &key, &first))
		return;
	struct span state = member(first, "state"), terminated = member(state, "terminated");
	if (json_text_int64(member(first, "restartCount"), &n) == 0)
		p->restarts = (int32_t)n;
	p->started = read_time(member(state, "running"), "startedAt");
	if (terminated.len) {
		p->started = read_time(terminated, "startedAt");
		p->ended = read_time(terminated, "finishedAt");
		if (json_text_int64(member(terminated, "exitCode"), &n) == 0)
			p->exit_code = (int32_t)n;
	}
	struct span waiting = plain(member(state, "waiting"), "message");
	if (span_starts(waiting, SPAN("since ")))
		(void)!clock_parse(span_make(waiting.ptr + 6, waiting.len - 6), &p->ended);
}

static enum pod_phase phase_of(struct span text)
{
	static const char *const names[] = {"Pending", "Running", "Succeeded", "Failed", "Unknown"};
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (span_is(text, names[i]))
			return (enum pod_phase)i;
	return POD_PENDING;
}

void pod_codec_read_status(struct sim_pod *p, const struct store_object *o)
{
	struct span status = store_object_part(o, o->extents.status);
	p->phase = phase_of(plain(status, "phase"));
	p->start_time = read_time(status, "startTime");
	if (sim_pod_over(p) && span_is(plain(status, "reason"), POD_CODEC_LOST))
		p->lost = true;
	if (!status.len)
		return;
	/* only a scheduler that found no node writes conditions while it is pending */
	p->told_pending = p->phase == POD_PENDING && member(status, "conditions").len > 0;
	read_container(p, status);
}

struct span pod_codec_node(const struct store_object *o)
{
	return plain(store_object_part(o, o->extents.spec), "nodeName");
}

bool pod_codec_gated(const struct store_object *o)
{
	struct span gates = member(store_object_part(o, o->extents.spec), "schedulingGates"), one;
	size_t pos = 0;

	return gates.len && json_text_type(gates) == JSON_ARRAY &&
	       json_text_next(gates, &pos, NULL, &one);
}

void pod_codec_read(struct sim_pod *p, const struct store_object *o)
{
	struct span meta = store_object_part(o, o->extents.metadata);
	p->created = read_time(meta, "creationTimestamp");
	read_labels(p, member(meta, "labels"));
	read_annotations(p, member(meta, "annotations"));
	pod_codec_read_status(p, o);
	p->node = arena_span(&p->mem, pod_codec_node(o));
	p->gated = pod_codec_gated(o);
	for (size_t i = 0; i < p->sched.n_labels && !p->job_uid.ptr; i++)
		if (span_is(p->sched.labels[i].key, POD_LABEL_JOB_UID))
			p->job_uid = p->sched.labels[i].value;
}

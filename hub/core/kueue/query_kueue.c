#include "core/kueue/query_kueue.h"

#include "base/json.h"
#include "base/num.h"
#include "core/admission/pump.h"
#include "core/job.h"
#include "core/kueue/cluster_queue.h"
#include "core/kueue/local_queue.h"
#include "core/kueue/provisioning_check.h"
#include "core/query.h"

#define MAX_QUEUE_ITEMS 100
#define DEFAULT_LIMIT	1000
#define MAX_LIMIT	100000

/* ---- one job ---- */

/* The message of QuotaReserved, from the row. */
static void stored_message(struct core *c, const struct workload *w, char *out, size_t size)
{
	struct span list, one, type, message;
	struct store_object o;

	if (registry_get(c->batch, kind_by_type(c->kinds, TYPE_WORKLOAD), w->ns, w->name, &o) < 0 ||
	    json_text_path(o.json, &list, "status", "conditions", NULL) < 0 ||
	    json_text_type(list) != JSON_ARRAY)
		return;
	for (size_t pos = 0; json_text_next(list, &pos, NULL, &one);) {
		auto_buf text = BUF_INIT;
		if (json_text_member(one, "type", &type) < 0 ||
		    !span_is(json_text_plain(type), "QuotaReserved") ||
		    json_text_member(one, "message", &message) < 0 ||
		    json_text_string(message, &text) < 0)
			continue;
		(void)snprintf(out, size, "%s", text.ptr ? text.ptr : "");
		return;
	}
}

const char *query_kueue_standing(struct core *c, const struct job *j, char *sentence, size_t size,
				 size_t *ret_position)
{
	const struct workload *w = j->workload;
	auto_buf text = BUF_INIT;

	sentence[0] = '\0';
	*ret_position = 0;
	if (!w->unit)
		return "Misconfigured";
	if (!workload_holds_quota(w)) {
		size_t at = kueue_queues_position(c->kueue->queues, w->unit);
		*ret_position = at == SIZE_MAX ? 0 : at + 1;
	}
	if (w->provisioning && w->provisioning->told && !w->admitted_at && !w->evicted_at) {
		(void)snprintf(sentence, size, "%s", w->provisioning->told);
		return "WaitingForProvisioning";
	}
	if (w->ready_to_place && w->unit->state == KUEUE_RESERVING && j->ask) {
		(void)snprintf(sentence, size, "%s", pump_summary(c, j->ask));
		return "TopologyPlacementFailed";
	}
	workload_wait_text(c, w, &text);
	if (text.len)
		(void)snprintf(sentence, size, "%s", text.ptr);
	else if (w->told || workload_holds_quota(w))
		stored_message(c, w, sentence, size);
	if (w->told)
		return w->told;
	const char *parked = kueue_queues_parked_reason(w->unit);
	if (!parked[0])
		return "PendingEvaluation";
	if (!sentence[0])
		(void)snprintf(sentence, size, "%s", KUEUE_BYPASSED_MESSAGE);
	return parked;
}

/* ---- queues ---- */

static void add_queue(struct core *c, const struct cluster_queue *q, struct buf *b)
{
	const struct kueue_queues *queues = c->kueue->queues;
	struct kueue_counts n = {0};
	bool first = true;

	if (q->node != KUEUE_NONE)
		n = kueue_queues_count(queues, q->node);
	const struct kueue_queue_spec *s =
	    q->node == KUEUE_NONE ? NULL : kueue_forest_queue_spec(c->kueue->forest, q->node);
	buf_add_str(b, "{\"name\":");
	buf_add_json_str(b, span_of(q->name));
	buf_addf(b, ",\"quota\":\"ClusterQueue\",\"policy\":\"%s\",\"priority\":0,\"pending\":%zu",
		 s && s->strategy == KUEUE_STRICT_FIFO ? "StrictFIFO" : "BestEffortFIFO",
		 n.pending);
	buf_addf(b, ",\"reserving\":%zu,\"admitted\":%zu,\"items\":[", n.reserving, n.admitted);
	for (size_t i = 0; i < n.pending && i < MAX_QUEUE_ITEMS; i++) {
		const struct kueue_workload *u = kueue_queues_at(queues, q->node, i);
		const struct workload *w = u ? u->owner : NULL;
		if (!w || !w->job)
			continue;
		if (!first)
			buf_add_char(b, ',');
		first = false;
		query_job_line(c, w->job, b);
	}
	buf_add_str(b, "]}");
}

void query_kueue_queues(struct core *c, bool *first, struct buf *b)
{
	map_foreach (&c->kueue->cluster_queues, e) {
		if (!*first)
			buf_add_char(b, ',');
		*first = false;
		add_queue(c, e->value, b);
	}
}

/* ---- pendingworkloads ---- */

static void add_pending(struct core *c, const struct kueue_workload *u, struct buf *b)
{
	const struct kueue_queues *queues = c->kueue->queues;
	const struct workload *w = u->owner;
	char when[CLOCK_TEXT_MAX], version[KIND_API_VERSION_MAX];

	buf_add_str(b, "{\"metadata\":{\"name\":");
	buf_add_json_str(b, w->name);
	buf_add_str(b, ",\"namespace\":");
	buf_add_json_str(b, w->ns);
	buf_addf(b, ",\"creationTimestamp\":\"%s\"", clock_format(w->created, when));
	if (w->job) {
		buf_addf(b,
			 ",\"ownerReferences\":[{\"apiVersion\":\"%s\",\"kind\":\"%s\",\"name\":",
			 kind_api_version(w->job->kind, version), w->job->kind->kind);
		buf_add_json_str(b, span_of(w->job->name));
		buf_addf(b, ",\"uid\":\"%s\"}]", w->job->uid_text);
	}
	buf_addf(b, "},\"priority\":%d,\"localQueueName\":", w->priority);
	buf_add_json_str(b, w->queue ? w->queue->name : SPAN(""));
	buf_addf(b, ",\"positionInClusterQueue\":%zu,\"positionInLocalQueue\":%zu}",
		 kueue_queues_position(queues, u), kueue_queues_position_local(queues, u));
}

static uint64_t number(struct span args, const char *key, uint64_t otherwise, uint64_t max)
{
	while (args.len) {
		struct span value = span_split(&args, '&');
		struct span name = span_split(&value, '=');
		uint64_t v;
		if (span_is(name, key) && num_parse_u64(value, max, &v) == 0)
			return v;
	}
	return otherwise;
}

int query_kueue_pending(struct core *c, struct span rest, struct span args, struct buf *b,
			struct err *reterr)
{
	const struct kueue_queues *queues = c->kueue->queues;
	struct span version = span_split(&rest, '/'), kind = span_split(&rest, '/'), ns = SPAN_NONE;
	const struct local_queue *local = NULL;
	const struct cluster_queue *q;

	if (span_is(kind, "namespaces")) {
		ns = span_split(&rest, '/');
		kind = span_split(&rest, '/');
	}
	struct span name = span_split(&rest, '/');
	if (span_is(kind, "localqueues") && ns.len) {
		local = local_queue_find(c, ns, name);
		q = local_queue_cluster(c, local);
	} else {
		q = span_is(kind, "clusterqueues") ? cluster_queue_find(c, name) : NULL;
	}
	if (!span_is(rest, "pendingworkloads") || !q || q->node == KUEUE_NONE)
		return err_set(reterr, ERR_NOT_FOUND, "%.*s \"%.*s\" not found", SPAN_ARGS(kind),
			       SPAN_ARGS(name));
	uint64_t limit = number(args, "limit", DEFAULT_LIMIT, MAX_LIMIT);
	size_t at = (size_t)number(args, "offset", 0, UINT32_MAX);
	buf_addf(b,
		 "{\"kind\":\"PendingWorkloadsSummary\",\"apiVersion\":"
		 "\"visibility.kueue.x-k8s.io/%.*s\",\"metadata\":{},\"items\":[",
		 SPAN_ARGS(version));
	for (uint64_t i = 0; i < limit; i++, at++) {
		const struct kueue_workload *u =
		    local ? kueue_queues_at_local(queues, q->node, local->number, at)
			  : kueue_queues_at(queues, q->node, at);
		if (!u)
			break;
		buf_add_str(b, i ? "," : "");
		add_pending(c, u, b);
	}
	buf_add_str(b, "]}");
	return 0;
}

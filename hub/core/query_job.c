/*
 * Where one job stands: a line for lists, and the whole story for `why`.
 */
#include "base/json.h"
#include "base/num.h"
#include "core/admission/awaited.h"
#include "core/admission/elastic_wait.h"
#include "core/admission/failover.h"
#include "core/admission/reclaim.h"
#include "core/admission/starvation.h"
#include "core/binding.h"
#include "core/job.h"
#include "core/kueue/query_kueue.h"
#include "core/kueue/query_workload.h"
#include "core/kueue/quota_wait.h"
#include "core/member.h"
#include "core/provisioning/consumer.h"
#include "core/query.h"
#include "core/swap/swap.h"
#include "quota-tree/quota_message.h"

#include <inttypes.h>

#define MAX_VERDICTS 1024

static const char *running_state(const struct job *j)
{
	if (j->finished)
		return j->phase == COPY_FAILED ? "Failed" : "Succeeded";
	if (j->deleting || j->gone)
		return "Deleting";
	if (j->dispatch.step == DISPATCH_WITHDRAWING)
		return "Withdrawing";
	if (j->dispatch.step == DISPATCH_STOPPING)
		return "Stopping";
	if (j->dispatch.step == DISPATCH_CONFLICT)
		return "Conflict";
	if (swap_step(j) > SWAP_SUSPECTED)
		return "Recovering";
	if (j->dispatch.step == DISPATCH_STARTED && j->phase == COPY_FAILED)
		return "FailingOver";
	if (j->dispatch.step == DISPATCH_STARTED)
		return j->phase == COPY_RUNNING ? "Running" : "Starting";
	return dispatch_is_free(&j->dispatch) ? "Queued" : "Placing";
}

static const char *standing_code(const struct elastic_standing *s)
{
	switch (s->state) {
	case ELASTIC_QUOTA:
		return s->verdict.never ? "ExceedsMaxQuota" : "WaitingForQuota";
	case ELASTIC_MIN:
		return "WaitingForQuota";
	case ELASTIC_PLACEMENT:
		return "NoFeasibleCluster";
	case ELASTIC_BEHIND:
		return "AheadInQueue";
	case ELASTIC_READY:
	case ELASTIC_SKIPPED:
	case ELASTIC_ADMITTED:
	case ELASTIC_STATE_MAX:
	default:
		return "PendingEvaluation";
	}
}

/* Who has yet to stop for it, behind what it was told. */
static void add_awaited(struct core *c, const struct job *j, char *sentence, size_t size)
{
	size_t len = strlen(sentence);

	if (len + 2 < size && awaited_tell(c, j, sentence + len + 1, size - len - 1))
		sentence[len] = ' ';
}

const char *query_standing(struct core *c, struct job *j, char *sentence, size_t size,
			   size_t *ret_position)
{
	struct elastic_standing s;
	const char *code;

	sentence[0] = '\0';
	*ret_position = 0;
	if (failover_tell(c, j, sentence, size))
		return "ApplicationFailure";
	if (swap_words(j, &code)) {
		(void)snprintf(sentence, size, "%s", swap_words(j, &code));
		return code;
	}
	if (awaited_tell_stop(c, j, sentence, size, &code))
		return code;
	if (!dispatch_is_free(&j->dispatch) || j->finished) {
		(void)snprintf(sentence, size, "%s",
			       j->dispatch_message ? j->dispatch_message : "");
		return "";
	}
	if (j->hold != HOLD_NONE) {
		(void)snprintf(sentence, size, "%s", j->hold_detail ? j->hold_detail : "");
		return j->top_reason ? j->top_reason : "Suspended";
	}
	if (reclaim_tell(c, j, sentence, size)) {
		add_awaited(c, j, sentence, size);
		return "WaitingForReclaim";
	}
	if (starvation_tell(c, j, sentence, size))
		return j->top_reason ? j->top_reason : "NoFeasibleCluster";
	if (j->workload) {
		code = query_kueue_standing(c, j, sentence, size, ret_position);
		if (!awaited_tell(c, j, sentence, size))
			(void)quota_wait_tell(c, j->workload, sentence, size);
		return code;
	}
	if (!j->unit || !c->quota.queues)
		return j->top_reason ? j->top_reason : "PendingEvaluation";
	elastic_queue_standing(c->quota.queues, j->unit, &s);
	*ret_position = s.position;
	if (elastic_wait_tell(c, j, sentence, size))
		return "WaitingForQuota";
	quota_message_standing(c->quota.tree, &s, sentence, size);
	if (s.state == ELASTIC_PLACEMENT && j->top_reason)
		return j->top_reason;
	return standing_code(&s);
}

void query_job_line(struct core *c, struct job *j, struct buf *b)
{
	const struct member *m = member_placed(c, j);
	char sentence[512], when[CLOCK_TEXT_MAX];
	size_t position;
	const char *code = query_standing(c, j, sentence, sizeof(sentence), &position);

	buf_add_str(b, "{\"namespace\":");
	buf_add_json_str(b, span_of(j->ns));
	buf_add_str(b, ",\"name\":");
	buf_add_json_str(b, span_of(j->name));
	buf_addf(b,
		 ",\"kind\":\"%s\",\"uid\":\"%s\",\"priority\":%d,\"pods\":%" PRId64
		 ",\"livePods\":%u,\"status\":\"%s\",\"queue\":",
		 j->kind->kind, j->uid_text, j->workload ? j->workload->priority : j->priority,
		 job_pods(j) + (j->digest.submitter ? 1 : 0), j->live_pods, running_state(j));
	buf_add_json_str(b, job_queue(c, j));
	buf_add_str(b, ",\"cluster\":");
	buf_add_json_str(b, span_of(m ? m->name : ""));
	buf_addf(b, ",\"position\":%zu,\"reason\":\"%s\",\"message\":", position, code);
	buf_add_json_str(b, span_of(sentence));
	buf_addf(b, ",\"created\":\"%s\",\"waitSeconds\":%" PRId64 ",\"resources\":",
		 clock_format(j->created, when),
		 ((j->decided_at ? j->decided_at : c->now) - j->first_attempt) / USEC_PER_SEC);
	job_add_totals(j, b);
	buf_add_char(b, '}');
}

/* ---- columns of tables ---- */

static void add_cell(struct span value, struct buf *out)
{
	buf_add_char(out, ',');
	buf_add_json_str(out, value.len ? value : SPAN("<none>"));
}

static void add_columns(struct core *c, struct job *j, struct buf *out)
{
	const struct member *m = member_placed(c, j);
	char sentence[512], place[24] = "";
	size_t position;
	const char *code = query_standing(c, j, sentence, sizeof(sentence), &position);

	if (position)
		(void)snprintf(place, sizeof(place), "%zu", position);
	add_cell(job_queue(c, j), out);
	add_cell(span_of(m ? m->name : ""), out);
	add_cell(span_of(place), out);
	add_cell(span_of(code), out);
}

void query_columns(struct core *c, struct span lines, struct buf *out)
{
	while (lines.len) {
		struct span line = span_split(&lines, '\n'), type = span_split(&line, '/');
		struct span ns = span_split(&line, '/');
		uint64_t number;
		struct job *j = num_parse_u64(type, UINT16_MAX, &number) == 0
				    ? job_by_key(c, (uint16_t)number, ns, line)
				    : NULL;
		if (j && !j->finished)
			add_columns(c, j, out);
		buf_add_char(out, '\n');
	}
}

/* ---- why ---- */

static void add_quota_path(struct core *c, struct job *j, struct buf *b)
{
	struct quota_verdict path[QUOTA_MAX_DEPTH];
	struct quota_request request;
	char text[512];

	if (!j->unit || !c->quota.tree)
		return;
	const struct quota_tree *q = elastic_tree_quota_const(c->quota.tree);
	request = elastic_unit_request(j->unit);
	size_t n =
	    quota_tree_explain(q, elastic_unit_node(j->unit), &request, path, ARRAY_LEN(path));
	buf_add_str(b, ",\"quota\":[");
	for (size_t i = 0; i < n && i < ARRAY_LEN(path); i++) {
		const struct quota_verdict *v = &path[i];
		struct span resource = quota_tree_resource_name(q, v->resource);
		buf_add_str(b, i ? ",{\"node\":" : "{\"node\":");
		buf_add_json_str(b, elastic_tree_path(c->quota.tree, v->node));
		buf_add_str(b, ",\"resource\":");
		buf_add_json_str(b, resource);
		buf_addf(b, ",\"fits\":%s,\"never\":%s", v->reason == QUOTA_FITS ? "true" : "false",
			 v->never ? "true" : "false");
		const struct {
			const char *key;
			int64_t value;
		} numbers[] = {{"request", v->request}, {"limit", v->limit}, {"used", v->used}};
		for (size_t k = 0; k < ARRAY_LEN(numbers); k++) {
			quota_message_quantity(resource, numbers[k].value, text, sizeof(text));
			buf_addf(b, ",\"%s\":\"%s\"", numbers[k].key, text);
		}
		if (quota_message_verdict(c->quota.tree, elastic_unit_node(j->unit), v, text,
					  sizeof(text))) {
			buf_add_str(b, ",\"message\":");
			buf_add_json_str(b, span_of(text));
		}
		buf_add_char(b, '}');
	}
	buf_add_char(b, ']');
}

static void add_verdict(struct core *c, const struct verdict *v, struct buf *b)
{
	const struct cluster_spec *spec = cluster_view_spec(c->fleet, v->cluster);
	char text[512];

	buf_add_str(b, "{\"cluster\":");
	buf_add_json_str(b, spec ? spec->name : SPAN(""));
	buf_addf(b, ",\"verdict\":\"%s\",\"never\":%s,\"decider\":\"%s\",\"message\":",
		 verdict_reason(v->code), verdict_is_never(v->code) ? "true" : "false",
		 verdict_decider_to_string(verdict_decider(v->code)));
	verdict_sentence(c->fleet, v, c->now, text, sizeof(text));
	buf_add_json_str(b, span_of(text));
	verdict_remedy(c->fleet, v, text, sizeof(text));
	buf_add_str(b, ",\"remedy\":");
	buf_add_json_str(b, span_of(text));
	buf_addf(b,
		 ",\"need\":%" PRId64 ",\"free\":%" PRId64 ",\"total\":%" PRId64
		 ",\"largest\":%" PRId64 "}",
		 v->fit.need, v->fit.free, v->fit.total, v->fit.largest);
}

/* `ask`: what it would ask now, NULL for what it asked last. */
static void add_verdicts(struct core *c, struct job *j, struct ask *ask, struct buf *b)
{
	struct verdict *v;

	ask = ask ? ask : j->ask;
	if (!ask || !dispatch_is_free(&j->dispatch) || consumer_add_verdicts(c, j, b))
		return;
	v = xcalloc(MAX_VERDICTS, sizeof(*v));
	struct placement_exclusion excluded[STARVATION_EXCLUSIONS];
	size_t n = starvation_exclude(c, j, excluded);
	n = placement_explain(c->placer, ask, excluded, n, c->now, v, MAX_VERDICTS);
	n = n < MAX_VERDICTS ? n : MAX_VERDICTS;
	buf_addf(b, ",\"neverFits\":%s,\"clusters\":[",
		 n && placement_never_fits(v, n) && !consumer_gets_nodes(c, j) ? "true" : "false");
	for (size_t i = 0; i < n; i++) {
		if (i)
			buf_add_char(b, ',');
		add_verdict(c, &v[i], b);
	}
	buf_add_char(b, ']');
	free(v);
}

static void add_policy(const struct job *j, struct buf *b)
{
	buf_add_str(b, ",\"policy\":");
	if (!j->policy_name) {
		buf_add_str(b, "\"(built-in: gang, every cluster)\"");
		return;
	}
	auto_buf name = BUF_INIT;
	buf_addf(&name, "%s%s%s", j->policy_ns ? j->policy_ns : "", j->policy_ns ? "/" : "",
		 j->policy_name);
	buf_add_json_str(b, buf_span(&name));
}

static void add_gates(struct core *c, struct job *j, struct buf *b)
{
	struct elastic_standing s = {0};
	bool quota = true, first = true;

	if (j->unit && c->quota.queues) {
		elastic_queue_standing(c->quota.queues, j->unit, &s);
		quota = s.verdict.reason == QUOTA_FITS;
		first = s.state != ELASTIC_BEHIND;
	}
	buf_addf(
	    b, ",\"gates\":{\"policy\":%s,\"queue\":%s,\"turn\":%s,\"quota\":%s,\"placement\":%s}",
	    j->hold == HOLD_NO_POLICY ? "false" : "true",
	    j->hold == HOLD_NO_QUEUE || j->hold == HOLD_NO_QUOTA || j->hold == HOLD_PREBUILT
		? "false"
		: "true",
	    first ? "true" : "false", quota ? "true" : "false",
	    dispatch_is_free(&j->dispatch) ? "false" : "true");
	if (j->unit)
		buf_addf(b, ",\"pending\":%zu", s.pending);
}

static void add_kueue(struct core *c, struct job *j, struct buf *b)
{
	struct query_workload q;

	query_workload_begin(c, j, &q);
	query_workload_gates(c, &q, j, b);
	query_workload_add(c, &q, j, b);
	struct ask *ask = query_workload_ask(c, &q, j);
	add_verdicts(c, j, ask, b);
	placer_ask_unref(c->placer, ask);
	query_workload_done(&q);
}

/* What is fitted with the gang, but is no part of what the job is said to ask. */
static void add_submitter(const struct job *j, struct buf *b)
{
	const struct job_pod_set *s = j->digest.submitter;
	char text[QUOTA_QUANTITY_MAX];

	if (!s)
		return;
	buf_add_str(b, ",\"submitter\":{");
	for (size_t i = 0; i < s->pod.n_requests; i++) {
		const struct info_amount *a = &s->pod.requests[i];
		buf_add_str(b, i ? "," : "");
		buf_add_json_str(b, a->resource);
		quota_message_quantity(a->resource, a->value, text, sizeof(text));
		buf_addf(b, ":\"%s\"", text);
	}
	buf_add_char(b, '}');
}

void query_why(struct core *c, struct job *j, struct buf *b)
{
	char when[CLOCK_TEXT_MAX];

	buf_add_str(b, "{\"job\":");
	query_job_line(c, j, b);
	add_submitter(j, b);
	add_policy(j, b);
	if (j->decided_at) {
		buf_addf(b, ",\"decidedAt\":\"%s\",\"epoch\":%" PRIu64 ",\"dispatch\":\"%s\"",
			 clock_format(j->decided_at, when), j->dispatch.epoch,
			 dispatch_step_name(j->dispatch.step));
	}
	failover_add(c, j, b);
	awaited_add(c, j, b);
	if (!j->finished && !j->deleting && j->workload)
		add_kueue(c, j, b);
	else if (!j->finished && !j->deleting) {
		add_gates(c, j, b);
		add_quota_path(c, j, b);
		add_verdicts(c, j, NULL, b);
	}
	buf_add_char(b, '}');
}

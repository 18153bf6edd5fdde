#include "core/binding.h"

#include "core/admission/failover.h"
#include "core/admission/pump.h"
#include "core/dispatch/amend.h"
#include "core/job.h"
#include "core/kueue/workload.h"
#include "core/member.h"
#include "core/object_writer.h"
#include "core/swap/swap.h"
#include "quota-tree/quota_message.h"

#include <ctype.h>
#include <errno.h>
#include <stddef.h>

/* Older versions: 6 has no failover, 5 no target, 4 no domains, 3 no finished_at, 2 no priority
 * either. */
#define DIGEST_VERSION	7
#define DIGEST_TARGET	6
#define DIGEST_DOMAINS	5
#define DIGEST_FINISHED 4
#define DIGEST_PRIORITY 3
#define DIGEST_OLDEST	2

const char *binding_name(const struct kind *kind, const char *job_name, char out[BINDING_NAME_MAX])
{
	int n = snprintf(out, BINDING_NAME_MAX, "%s-%s", job_name, kind->kind);
	size_t from = strlen(job_name);

	for (size_t i = 0; n > 0 && i < (size_t)n && i < BINDING_NAME_MAX; i++) {
		if (out[i] == ':')
			out[i] = '.';
		if (i > from)
			out[i] = (char)tolower((unsigned char)out[i]);
	}
	return out;
}

void binding_result(const struct job *j, const char *cluster, struct buf *out)
{
	if (j->digest.single_template) {
		buf_addf(out, "{%s:%lld}", cluster, (long long)job_pods(j));
		return;
	}
	buf_addf(out, "{%s:0,[", cluster);
	for (size_t i = 0; i < j->digest.n_pod_sets; i++)
		buf_addf(out, "%s{%.*s %lld}", i ? " " : "", SPAN_ARGS(j->digest.pod_sets[i].name),
			 (long long)j->digest.pod_sets[i].count);
	buf_add_str(out, "]}");
}

/* ---- the digest ---- */

enum {
	DIGEST_POLICY_NS = 1,
	DIGEST_MUST_QUEUE = 2,
	DIGEST_PROPAGATE_DEPS = 4,
	DIGEST_PRIORITY_PENDING = 8,
	DIGEST_SWAP = 16 | 32, /* enum swap_step */
	DIGEST_SWAP_SHIFT = 4,
	DIGEST_RELEASED = 64,
};

struct digest_head {
	uint8_t version, step, start_seen, copy_gone;
	uint32_t member;
	uint64_t epoch;
	int64_t first_attempt, decided_at;
	uint32_t replacements;
	uint8_t uid_len, policy_ns_len, policy_name_len, reason_len, flags;
	uint32_t assignment_len;
	int32_t priority;
	int64_t finished_at;
	uint32_t domains_len;
	uint32_t target, failover_len; /* 0 before version 7 */
};

static size_t head_size(const struct digest_head *h)
{
	if (h->version < DIGEST_FINISHED)
		return offsetof(struct digest_head, finished_at);
	if (h->version < DIGEST_DOMAINS)
		return offsetof(struct digest_head, domains_len);
	return h->version < DIGEST_TARGET ? offsetof(struct digest_head, target) : sizeof(*h);
}

static void add_text(struct buf *b, const char *s)
{
	buf_add_str(b, s ? s : "");
}

static void digest_pack(const struct job *j, struct buf *out)
{
	struct span reason = span_of(j->top_reason);
	auto_buf failover = BUF_INIT;

	failover_pack(j, &failover);
	reason.len = reason.len < UINT8_MAX ? reason.len : UINT8_MAX;
	struct digest_head h = {
	    .version = DIGEST_VERSION,
	    .step = (uint8_t)j->dispatch.step,
	    .start_seen = j->dispatch.start_seen,
	    .copy_gone = j->dispatch.copy_gone,
	    .member = j->dispatch.member,
	    .epoch = j->dispatch.epoch,
	    .first_attempt = j->first_attempt,
	    .decided_at = j->decided_at,
	    .replacements = j->replacements,
	    .uid_len = (uint8_t)strlen(j->dispatch.uid),
	    .policy_ns_len = (uint8_t)(j->policy_ns ? strlen(j->policy_ns) : 0),
	    .policy_name_len = (uint8_t)(j->policy_name ? strlen(j->policy_name) : 0),
	    .reason_len = (uint8_t)reason.len,
	    .flags = (uint8_t)((j->policy_ns ? DIGEST_POLICY_NS : 0) |
			       (j->must_queue ? DIGEST_MUST_QUEUE : 0) |
			       (j->propagate_deps ? DIGEST_PROPAGATE_DEPS : 0) |
			       (j->priority_pending ? DIGEST_PRIORITY_PENDING : 0) |
			       ((unsigned)swap_step(j) << DIGEST_SWAP_SHIFT & DIGEST_SWAP) |
			       (j->dispatch.released ? DIGEST_RELEASED : 0)),
	    .assignment_len = (uint32_t)j->assignment_len,
	    .priority = j->priority,
	    .finished_at = j->finished_at,
	    .domains_len = (uint32_t)(j->domains ? strlen(j->domains) : 0),
	    .target = j->dispatch.target,
	    .failover_len = (uint32_t)failover.len,
	};
	buf_add(out, &h, sizeof(h));
	add_text(out, j->dispatch.uid);
	add_text(out, j->policy_ns);
	add_text(out, j->policy_name);
	buf_add_span(out, reason);
	buf_add(out, j->assignment, j->assignment_len);
	add_text(out, j->domains);
	buf_add_span(out, buf_span(&failover));
}

static int digest_head(const struct store_object *o, struct digest_head *h)
{
	*h = (struct digest_head){0};
	if (o->digest.len < offsetof(struct digest_head, finished_at))
		return -EINVAL;
	memcpy(h, o->digest.ptr, o->digest.len < sizeof(*h) ? o->digest.len : sizeof(*h));
	if (h->version < DIGEST_FINISHED)
		h->finished_at = 0;
	if (h->version < DIGEST_TARGET)
		h->target = 0;
	if (h->version < DIGEST_VERSION)
		h->failover_len = 0;
	if (h->version < DIGEST_DOMAINS)
		h->domains_len = 0;
	if (h->version > DIGEST_VERSION || h->version < DIGEST_OLDEST ||
	    h->step >= DISPATCH_STEP_MAX || h->uid_len >= DISPATCH_UID_MAX ||
	    o->digest.len != head_size(h) + h->uid_len + h->policy_ns_len + h->policy_name_len +
				 h->reason_len + (uint64_t)h->assignment_len + h->domains_len +
				 h->failover_len)
		return -EINVAL;
	return 0;
}

int binding_dispatch(const struct store_object *o, struct dispatch_state *ret)
{
	struct digest_head h;

	if (digest_head(o, &h) < 0)
		return -EINVAL;
	*ret = (struct dispatch_state){
	    .step = (enum dispatch_step)h.step,
	    .member = h.member,
	    .epoch = h.epoch,
	    .start_seen = h.start_seen,
	    .copy_gone = h.copy_gone,
	    .target = h.target,
	    .released = h.flags & DIGEST_RELEASED,
	};
	memcpy(ret->uid, o->digest.ptr + head_size(&h), h.uid_len);
	return 0;
}

enum swap_step binding_swap(const struct store_object *o)
{
	struct digest_head h;

	return digest_head(o, &h) < 0
		   ? SWAP_NONE
		   : (enum swap_step)((h.flags & DIGEST_SWAP) >> DIGEST_SWAP_SHIFT);
}

usec binding_finished_at(const struct store_object *o)
{
	struct digest_head h;

	return digest_head(o, &h) < 0 ? 0 : h.finished_at;
}

int binding_restore(struct job *j, const struct store_object *o)
{
	struct digest_head h;

	if (digest_head(o, &h) < 0 || binding_dispatch(o, &j->dispatch) < 0)
		return -EINVAL;
	const char *policy = o->digest.ptr + head_size(&h) + h.uid_len;
	j->first_attempt = h.first_attempt;
	j->decided_at = h.decided_at;
	j->finished_at = h.finished_at;
	j->replacements = h.replacements;
	free(j->policy_ns);
	free(j->policy_name);
	if (h.version >= DIGEST_PRIORITY) {
		j->priority = h.priority;
		j->priority_pending = h.flags & DIGEST_PRIORITY_PENDING;
	}
	j->must_queue = h.flags & DIGEST_MUST_QUEUE;
	j->propagate_deps = h.flags & DIGEST_PROPAGATE_DEPS;
	j->policy_ns = h.flags & DIGEST_POLICY_NS ? xstrndup(policy, h.policy_ns_len) : NULL;
	j->policy_name =
	    h.policy_name_len ? xstrndup(policy + h.policy_ns_len, h.policy_name_len) : NULL;
	const char *rest = policy + h.policy_ns_len + h.policy_name_len;
	free(j->top_reason);
	j->top_reason = h.reason_len ? xstrndup(rest, h.reason_len) : NULL;
	free(j->assignment);
	j->assignment_len = h.assignment_len;
	j->assignment = h.assignment_len ? xstrndup(rest + h.reason_len, h.assignment_len) : NULL;
	rest += h.reason_len + h.assignment_len;
	free(j->domains);
	j->domains = h.domains_len ? xstrndup(rest, h.domains_len) : NULL;
	if (failover_unpack(j, span_make(rest + h.domains_len, h.failover_len)) < 0)
		return -EINVAL;
	memcpy(j->binding_uid, o->uid, STORE_UID_LEN);
	j->binding_exists = true;
	return 0;
}

/* ---- the object ---- */

static void add_requests(struct buf *b, const struct template_info *pod)
{
	char text[QUOTA_QUANTITY_MAX];

	buf_add_str(b, ",\"replicaRequirements\":{\"resourceRequest\":{");
	for (size_t i = 0; i < pod->n_requests; i++) {
		if (i)
			buf_add_char(b, ',');
		buf_add_json_str(b, pod->requests[i].resource);
		quota_message_quantity(pod->requests[i].resource, pod->requests[i].value, text,
				       sizeof(text));
		buf_addf(b, ":\"%s\"", text);
	}
	buf_add_char(b, '}');
	if (pod->priority_class.len) {
		buf_add_str(b, ",\"priorityClassName\":");
		buf_add_json_str(b, pod->priority_class);
	}
	buf_add_char(b, '}');
}

static void add_components(struct buf *b, const struct job *j)
{
	buf_add_str(b, ",\"components\":[");
	for (size_t i = 0; i < j->digest.n_pod_sets; i++) {
		const struct job_pod_set *p = &j->digest.pod_sets[i];
		buf_add_str(b, i ? ",{\"name\":" : "{\"name\":");
		buf_add_json_str(b, p->name);
		buf_addf(b, ",\"replicas\":%lld", (long long)p->count);
		add_requests(b, &p->pod);
		buf_add_char(b, '}');
	}
	buf_add_char(b, ']');
}

static void add_spec(const struct core *c, const struct job *j, struct buf *b)
{
	char api_version[KIND_API_VERSION_MAX];
	const struct member *m = member_placed(c, j);

	buf_addf(b, "{\"resource\":{\"apiVersion\":\"%s\",\"kind\":\"%s\",\"namespace\":",
		 kind_api_version(j->kind, api_version), j->kind->kind);
	buf_add_json_str(b, span_of(j->ns));
	buf_add_str(b, ",\"name\":");
	buf_add_json_str(b, span_of(j->name));
	buf_addf(b, ",\"uid\":\"%s\"},\"propagateDeps\":%s", j->uid_text,
		 j->propagate_deps ? "true" : "false");
	if (j->digest.single_template && j->digest.n_pod_sets == 1) {
		buf_addf(b, ",\"replicas\":%lld", (long long)j->digest.pod_sets[0].count);
		add_requests(b, &j->digest.pod_sets[0].pod);
	} else {
		add_components(b, j);
	}
	/* What orders it, also when it is over: its Workload's, where a queue of Kueue has it. */
	buf_addf(b, ",\"schedulePriority\":{\"priority\":%d}",
		 j->workload ? j->workload->priority : j->priority);
	if (m) {
		buf_add_str(b, ",\"clusters\":[{\"name\":");
		buf_add_json_str(b, span_of(m->name));
		if (j->digest.single_template)
			buf_addf(b, ",\"replicas\":%lld", (long long)job_pods(j));
		buf_add_str(b, "}]");
	}
	failover_add_tasks(c, j, b);
	if (j->must_queue && !m)
		buf_add_str(b, ",\"suspension\":{\"scheduling\":true}");
	buf_add_char(b, '}');
}

static void add_condition(struct buf *b, const char *type, bool status, const char *reason,
			  const char *message, usec at)
{
	char when[CLOCK_TEXT_MAX];

	buf_addf(b, "{\"type\":\"%s\",\"status\":\"%s\",\"reason\":\"%s\",\"message\":", type,
		 status ? "True" : "False", reason);
	buf_add_json_str(b, span_of(message));
	buf_addf(b, ",\"lastTransitionTime\":\"%s\"}", clock_format(at, when));
}

static const char *health_of(const struct job *j)
{
	if (j->dispatch.step != DISPATCH_STARTED && j->dispatch.step != DISPATCH_FINISHED)
		return "Unknown";
	return j->phase == COPY_FAILED ? "Unhealthy" : "Healthy";
}

/* Only while it is so. */
static void add_swap(const struct job *j, struct buf *b)
{
	const char *reason, *words = swap_words(j, &reason);

	if (!words)
		return;
	buf_add_char(b, ',');
	add_condition(b, "HotSwap", true, reason, words, swap_since(j));
}

/* Only while its member refuses what its user wrote. */
static void add_edit(const struct job *j, struct buf *b)
{
	usec since = 0;
	const char *words = amend_refusal(j, &since);

	if (!words)
		return;
	buf_add_char(b, ',');
	add_condition(b, "EditApplied", false, "EditRefused", words, since);
}

static void add_status(const struct core *c, const struct job *j, struct buf *b)
{
	const struct member *m = member_placed(c, j);
	bool applied = j->dispatch.step == DISPATCH_SUSPENDED ||
		       j->dispatch.step == DISPATCH_STARTED ||
		       j->dispatch.step == DISPATCH_FINISHED;
	char when[CLOCK_TEXT_MAX];

	buf_add_str(b, "{\"conditions\":[");
	if (m) {
		add_condition(b, "Scheduled", true, "Success",
			      "Binding has been scheduled successfully.", j->decided_at);
		buf_add_char(b, ',');
		add_condition(b, "FullyApplied", applied,
			      applied ? "FullyAppliedSuccess" : "FullyAppliedFailed",
			      applied		    ? "All works have been successfully applied"
			      : j->dispatch_message ? j->dispatch_message
						    : "The copy is being created on the member.",
			      j->decided_at);
		add_swap(j, b);
		add_edit(j, b);
	} else {
		add_condition(b, "Scheduled", false,
			      j->top_reason ? j->top_reason : "Unschedulable",
			      j->hold_detail ? j->hold_detail : pump_why(c, j), j->first_attempt);
	}
	buf_add_char(b, ']');
	if (m) {
		buf_addf(b, ",\"lastScheduledTime\":\"%s\",\"aggregatedStatus\":[{\"clusterName\":",
			 clock_format(j->decided_at, when));
		buf_add_json_str(b, span_of(m->name));
		buf_addf(b, ",\"applied\":%s,\"health\":\"%s\"}]", applied ? "true" : "false",
			 health_of(j));
	}
	buf_add_char(b, '}');
}

static void add_annotations(const struct core *c, const struct job *j, struct buf *b)
{
	struct span queue = job_queue(c, j);

	buf_addf(b, "{\"muster.dev/epoch\":\"%llu\",\"muster.dev/dispatch\":\"%s\"",
		 (unsigned long long)j->dispatch.epoch, dispatch_step_name(j->dispatch.step));
	if (queue.len) {
		buf_add_str(b, ",\"muster.dev/queue\":");
		buf_add_json_str(b, queue);
	}
	if (j->domains) {
		buf_add_str(b, ",\"muster.dev/topology-domains\":");
		buf_add_json_str(b, span_of(j->domains));
	}
	buf_add_char(b, '}');
}

int binding_draft(const struct core *c, const struct job *j, struct object_draft *ret,
		  struct err *reterr)
{
	char name[BINDING_NAME_MAX];
	auto_buf digest = BUF_INIT, annotations = BUF_INIT;
	const struct kind *kind = kind_by_type(c->kinds, TYPE_RESOURCE_BINDING);
	struct managed_write by = core_manager(c, kind);
	struct object_writer w;

	add_annotations(c, j, &annotations);
	object_writer_begin(&w, &(struct object_head){
				    .kind = kind,
				    .by = &by,
				    .ns = span_of(j->ns),
				    .name = span_of(binding_name(j->kind, j->name, name)),
				    .uid = j->binding_uid,
				    .created = j->binding_created,
				    .generation = 1 + (int64_t)j->dispatch.epoch,
				    .annotations = annotations.ptr,
				    .owner_kind = j->kind,
				    .owner_name = j->name,
				    .owner_uid = j->uid,
				    .owner_controller = true,
				});
	object_writer_spec(&w);
	add_spec(c, j, &w.text);
	object_writer_status(&w);
	add_status(c, j, &w.text);
	digest_pack(j, &digest);
	object_writer_digest(&w, buf_span(&digest));
	return object_writer_end(&w, ret, reterr);
}

#include "core/admission/failover.h"

#include "base/num.h"
#include "core/admission/settle.h"
#include "core/dispatch/courier.h"
#include "core/job.h"
#include "core/kueue/evict.h"
#include "core/member.h"
#include "core/provisioning/consumer.h"

#include <errno.h>

#define REASON	     "ApplicationFailure" /* Karmada's, of an eviction task */
#define READ_AGAIN   USEC_PER_SEC
#define MAX_VERDICTS 1024

struct failover_loss {
	usec at;
	uint32_t member, unused;
};

struct failover {
	usec failed_at;	    /* the copy says Failed since; 0: it does not */
	bool moving;	    /* it is taken back for that */
	bool told;	    /* not durable: that the failure stands */
	int64_t generation; /* of the job that the losses are of */
	struct failover_loss losses[FAILOVER_MOST];
	size_t n;
};

static struct failover *record_of(struct job *j)
{
	if (!j->failover)
		j->failover = xcalloc(1, sizeof(*j->failover));
	return j->failover;
}

void failover_free(struct job *j)
{
	free(j->failover);
	j->failover = NULL;
}

/* An edit of the job makes it another one: who failed that one may take this one. */
static bool is_of_this_job(const struct job *j)
{
	return j->failover && j->failover->generation == j->generation;
}

static size_t losses_of(const struct job *j)
{
	return is_of_this_job(j) ? j->failover->n : 0;
}

static const char *cluster_name(const struct core *c, uint32_t number)
{
	const struct member *m = member_by_number(c, number);

	/* One that is left has no number any more, whatever else keeps its Cluster. */
	return m && !m->leaving ? m->name : "(unjoined)";
}

static void note(struct core *c, struct job *j)
{
	j->binding_dirty = true;
	core_job_dirty(c, j);
}

/* ---- the decision ---- */

static size_t others_of(struct core *c, struct job *j, const struct propagation_policy *p)
{
	const struct member *m = member_of(c, j);
	struct ask *ask = NULL;

	if (job_ask_trial(c, j, p, NULL, &ask, NULL) < 0 && !j->ask)
		return 0;
	ask = ask ? ask : ask_dup_ref(j->ask);
	struct verdict *v = xcalloc(MAX_VERDICTS, sizeof(*v));
	size_t n = placement_explain(c->placer, ask, NULL, 0, c->now, v, MAX_VERDICTS);
	size_t others =
	    failover_others(v, num_min(n, (size_t)MAX_VERDICTS), m ? m->view : CLUSTER_NONE);
	free(v);
	placer_ask_unref(c->placer, ask);
	return others;
}

static struct failover_plan decide(struct core *c, struct job *j)
{
	const struct propagation_policy *p = settle_policy(c, j);
	struct failover_case f = {
	    .rule = p->failover,
	    .failed_at = j->failover && j->failover->failed_at ? j->failover->failed_at : c->now,
	    .stopping = j->dispatch.step != DISPATCH_STARTED,
	    .bound = consumer_gets_nodes(c, j),
	    .left = losses_of(j),
	};
	if (f.rule.enabled && !f.bound)
		f.others = others_of(c, j, p);
	return failover_decide(&f, c->now);
}

/* ---- carried out ---- */

static void lose(struct core *c, struct job *j, uint32_t member)
{
	struct failover *f = record_of(j);

	if (!is_of_this_job(j)) {
		f->n = 0;
		f->generation = j->generation;
	}
	for (size_t i = 0; i < f->n; i++)
		if (f->losses[i].member == member)
			return;
	if (f->n < FAILOVER_MOST)
		f->losses[f->n++] = (struct failover_loss){.at = c->now, .member = member};
	note(c, j);
}

static void move(struct core *c, struct job *j)
{
	static const struct eviction failed = {.reason = REASON, .cause = ""};
	struct failover *f = record_of(j);
	bool leaves = j->dispatch.step == DISPATCH_LEAVING;
	char words[512];

	(void)snprintf(words, sizeof(words),
		       "The job failed on cluster %s and is taken back, to be placed on another.",
		       cluster_name(c, j->dispatch.member));
	lose(c, j, j->dispatch.member);
	f->failed_at = f->failed_at ? f->failed_at : c->now;
	f->moving = true;
	job_event_add(c, j, "Warning", REASON, "%s", words);
	/* One that was on its way gives back at once what it held on its target. */
	if (j->workload && leaves)
		evict_workload(c, j->workload, &failed, words);
	courier_feed(c, j, &(struct dispatch_event){EVENT_WITHDRAW});
	if (j->workload && !leaves)
		evict_workload(c, j->workload, &failed, words);
}

static void wait_on(struct core *c, struct job *j, usec until)
{
	struct failover *f = record_of(j);
	char when[CLOCK_TEXT_MAX];

	core_job_timer(c, j, until);
	if (f->failed_at)
		return;
	f->failed_at = c->now;
	job_event_add(c, j, "Warning", REASON,
		      "The job failed on cluster %s; unless it recovers it is taken back at %s and "
		      "placed on another.",
		      cluster_name(c, j->dispatch.member), clock_format(until, when));
	note(c, j);
}

static void tell_stands(struct core *c, struct job *j, const struct failover_plan *p)
{
	struct failover *f = record_of(j);

	if (!p->why[0] || f->told)
		return;
	f->told = true;
	job_event_add(c, j, "Warning", REASON, "The job failed on cluster %s, and that stands: %s.",
		      cluster_name(c, j->dispatch.member), p->why);
}

static void recovered(struct core *c, struct job *j)
{
	struct failover *f = j->failover;

	if (!f || !f->failed_at || f->moving)
		return;
	f->failed_at = 0;
	note(c, j);
}

bool failover_withholds(struct core *c, struct job *j, enum copy_phase phase)
{
	if (j->failover && j->failover->moving)
		return true;
	if (phase != COPY_FAILED) {
		recovered(c, j);
		return false;
	}
	struct failover_plan p = decide(c, j);
	if (p.outcome == FAILOVER_STANDS) {
		tell_stands(c, j, &p);
		recovered(c, j);
		return false;
	}
	if (j->phase != phase)
		j->unit_dirty = true;
	j->phase = phase;
	if (p.outcome == FAILOVER_WAITS)
		wait_on(c, j, p.until);
	else
		move(c, j);
	return true;
}

/* The status was held back, and may be lost: it is read again, and the job ends with it. */
static void read_again(struct core *c, struct job *j)
{
	if (j->dispatch.in_flight) {
		core_job_timer(c, j, c->now + READ_AGAIN);
		return;
	}
	j->dispatch.start_seen = false;
	j->dispatch.retry_at = c->now;
	core_job_timer(c, j, c->now);
}

void failover_review(struct core *c, struct job *j)
{
	const struct failover *f = j->failover;

	if (!f || !f->failed_at || f->moving || j->finished || j->deleting || j->gone ||
	    j->dispatch.step != DISPATCH_STARTED)
		return;
	struct failover_plan p = decide(c, j);
	if (p.outcome == FAILOVER_WAITS)
		core_job_timer(c, j, p.until);
	else if (p.outcome == FAILOVER_MOVES)
		move(c, j);
	else
		read_again(c, j);
}

void failover_timer(struct core *c, struct job *j)
{
	if (j->failover && !j->dispatch.reading)
		failover_review(c, j);
}

void failover_idle(struct core *c, struct job *j, uint32_t was)
{
	struct failover *f = j->failover;

	if (!f || !f->failed_at)
		return;
	lose(c, j, was);
	job_event_add(c, j, "Normal", "EvictWorkloadFromClusterSucceed",
		      "Evict from cluster %s succeed.", cluster_name(c, was));
	f->failed_at = 0;
	f->moving = false;
}

bool failover_parked(struct core *c, struct job *j)
{
	if (!j->failover || !j->failover->failed_at)
		return false;
	move(c, j);
	return true;
}

void failover_refuse(const struct core *c, const struct job *j,
		     const struct propagation_policy *policy, struct arena *mem,
		     struct placement_spec *placement)
{
	size_t n = placement->n_refusals, losses = losses_of(j);

	if (!policy->failover.enabled || !losses)
		return;
	struct placement_refusal *out = arena_array(mem, struct placement_refusal, n + losses);
	size_t at = 0;
	for (size_t i = 0; i < losses; i++) {
		const struct member *m = member_by_number(c, j->failover->losses[i].member);
		if (m)
			out[at++] = (struct placement_refusal){
			    arena_span(mem, span_of(m->name)),
			    SPAN("the job failed here, and failover.application of its policy "
				 "places it elsewhere"),
			    true};
	}
	if (n)
		memcpy(out + at, placement->refusals, n * sizeof(*out));
	placement->refusals = out;
	placement->n_refusals = at + n;
}

/* ---- stored ---- */

struct packed_head {
	int64_t failed_at, generation;
	uint32_t moving, n;
};

void failover_pack(const struct job *j, struct buf *out)
{
	const struct failover *f = j->failover;

	if (!f || (!f->failed_at && !losses_of(j)))
		return;
	struct packed_head h = {f->failed_at, f->generation, f->moving, (uint32_t)f->n};
	buf_add(out, &h, sizeof(h));
	buf_add(out, f->losses, f->n * sizeof(*f->losses));
}

int failover_unpack(struct job *j, struct span packed)
{
	struct packed_head h;

	failover_free(j);
	if (!packed.len)
		return 0;
	if (packed.len < sizeof(h))
		return -EINVAL;
	memcpy(&h, packed.ptr, sizeof(h));
	if (h.n > FAILOVER_MOST || packed.len != sizeof(h) + h.n * sizeof(struct failover_loss))
		return -EINVAL;
	struct failover *f = record_of(j);
	f->failed_at = h.failed_at;
	f->generation = h.generation;
	f->moving = h.moving;
	f->n = h.n;
	if (h.n)
		memcpy(f->losses, packed.ptr + sizeof(h), h.n * sizeof(*f->losses));
	return 0;
}

void failover_restore(struct core *c, struct job *j)
{
	const struct failover *f = j->failover;

	if (!f || !f->failed_at || j->finished)
		return;
	j->phase = COPY_FAILED;
	core_job_timer(c, j, c->now);
}

/* ---- told ---- */

bool failover_tell(const struct core *c, const struct job *j, char *out, size_t size)
{
	const struct failover *f = j->failover;
	char since[CLOCK_TEXT_MAX], until[CLOCK_TEXT_MAX];

	if (!f || !f->failed_at || j->finished)
		return false;
	clock_format(f->failed_at, since);
	clock_format(num_add_sat(f->failed_at, settle_policy(c, j)->failover.toleration_us), until);
	if (f->moving)
		(void)snprintf(out, size,
			       "The job failed on cluster %s at %s: it is being taken back.",
			       cluster_name(c, j->dispatch.member), since);
	else
		(void)snprintf(out, size,
			       "The job failed on cluster %s at %s: unless it recovers it is taken "
			       "back at %s and placed on another.",
			       cluster_name(c, j->dispatch.member), since, until);
	return true;
}

void failover_add(const struct core *c, const struct job *j, struct buf *b)
{
	const struct failover *f = j->failover;
	char when[CLOCK_TEXT_MAX];

	if (!f || (!f->failed_at && !losses_of(j)))
		return;
	buf_add_str(b, ",\"failover\":{\"clusters\":[");
	for (size_t i = 0; i < losses_of(j); i++) {
		buf_add_str(b, i ? ",{\"cluster\":" : "{\"cluster\":");
		buf_add_json_str(b, span_of(cluster_name(c, f->losses[i].member)));
		buf_addf(b, ",\"failedAt\":\"%s\"}", clock_format(f->losses[i].at, when));
	}
	buf_add_char(b, ']');
	if (f->failed_at)
		buf_addf(b, ",\"failedAt\":\"%s\"", clock_format(f->failed_at, when));
	buf_addf(b, ",\"moving\":%s}", f->moving ? "true" : "false");
}

void failover_add_tasks(const struct core *c, const struct job *j, struct buf *b)
{
	const struct failover *f = j->failover;
	char when[CLOCK_TEXT_MAX];

	if (!f || !f->moving)
		return;
	buf_add_str(b, ",\"gracefulEvictionTasks\":[{\"fromCluster\":");
	buf_add_json_str(b, span_of(cluster_name(c, j->dispatch.member)));
	buf_addf(b,
		 ",\"purgeMode\":\"%s\",\"reason\":\"" REASON
		 "\",\"message\":\"The job failed there.\",\"producer\":\"" CORE_MANAGER
		 "\",\"creationTimestamp\":\"%s\"}]",
		 failover_purge_to_string(FAILOVER_DIRECTLY), clock_format(f->failed_at, when));
}

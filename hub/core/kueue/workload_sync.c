#include "core/kueue/workload_sync.h"

#include "base/json.h"
#include "core/admission/settle.h"
#include "core/job.h"
#include "core/kueue/evict.h"
#include "core/kueue/prebuilt.h"
#include "core/kueue/priority_class.h"
#include "core/kueue/workload_restore.h"
#include "kinds/job_keys.h"
#include "kinds/job_path.h"
#include "kinds/pod_set_equal.h"

/* What of a Workload stands for the job's pod sets, as bytes. */
static void pack(const struct workload_digest *d, bool admitted, struct arena *mem, struct buf *out)
{
	struct workload_digest sets = *d;

	sets.pod_sets = arena_array(mem, struct job_pod_set, d->n_pod_sets);
	for (size_t i = 0; i < d->n_pod_sets; i++) {
		sets.pod_sets[i] = d->pod_sets[i];
		sets.pod_sets[i].pod.priority_class = SPAN_NONE;
		if (admitted)
			sets.pod_sets[i].pod.n_tolerations = 0;
	}

	sets.priority = 0;
	sets.priority_source = WORKLOAD_PRIORITY_NONE;
	sets.queue_name = sets.priority_class = SPAN_NONE;
	sets.inactive = false;
	sets.max_execution_seconds = 0;
	workload_digest_pack(&sets, out);
}

/* The templates that the Workload was made of, against those of the job. */
static bool same_templates(const struct workload_digest *d, struct span workload, struct span job,
			   bool admitted)
{
	struct span sets, set, was, is;
	size_t i = 0;

	if (json_text_path(workload, &sets, "spec", "podSets", NULL) < 0 ||
	    json_text_type(sets) != JSON_ARRAY)
		return true;
	for (size_t pos = 0; i < d->n_pod_sets && json_text_next(sets, &pos, NULL, &set); i++)
		if (d->pod_sets[i].path.len && job_path_find(job, d->pod_sets[i].path, &is) == 0 &&
		    json_text_member(set, "template", &was) == 0 &&
		    !pod_set_equal_text(was, is, !admitted))
			return false;
	return true;
}

/* Also when it cannot be told: then it is not said to differ. */
static bool matches(struct core *c, const struct job *j)
{
	auto_arena mem = ARENA_INIT;
	auto_buf was = BUF_INIT, is = BUF_INIT;
	bool admitted = j->workload->admitted_at;
	struct workload_digest stored, now;
	struct store_object o, job;
	struct err err = ERR_INIT;

	if (registry_get(c->batch, kind_by_type(c->kinds, TYPE_WORKLOAD), j->workload->ns,
			 j->workload->name, &o) < 0 ||
	    workload_digest_unpack(o.digest, &mem, &stored) < 0 ||
	    workload_compose(c, j, &mem, &now, &err) < 0 ||
	    registry_get(c->batch, j->kind, span_of(j->ns), span_of(j->name), &job) < 0)
		return true;
	pack(&stored, admitted, &mem, &was);
	pack(&now, admitted, &mem, &is);
	return span_eq(buf_span(&was), buf_span(&is)) &&
	       same_templates(&now, o.json, job.json, admitted);
}

/* Another class: its order in the queue, and who may preempt it. */
static void follow_class(struct core *c, struct job *j)
{
	auto_arena mem = ARENA_INIT;
	struct workload *w = j->workload;
	struct workload_digest now;
	struct err err = ERR_INIT;

	if (workload_compose(c, j, &mem, &now, &err) < 0 ||
	    (w->priority_source == now.priority_source &&
	     span_eq(now.priority_class,
		     w->priority_class ? span_of(w->priority_class) : SPAN_NONE)))
		return;
	workload_take_priority(c, w, &now);
	w->respec = true;
	workload_dirty(c, w);
}

/* Its user's Workload ends, once the job has stopped: prebuilt_offer() finds it so then. */
static bool sync_prebuilt(struct core *c, struct job *j)
{
	static const struct eviction other = {.reason = "Deactivated", .cause = ""};
	struct workload *w = j->workload;
	struct store_object o;

	if (registry_get(c->batch, kind_by_type(c->kinds, TYPE_WORKLOAD), w->ns, w->name, &o) < 0 ||
	    prebuilt_is_in_sync(c, j, w, &o)) {
		prebuilt_follow_class(c, j);
		return false;
	}
	evict_workload(c, w, &other, PREBUILT_OUT_OF_SYNC);
	if (dispatch_is_free(&j->dispatch))
		settle_offer(c, j);
	return true;
}

bool workload_sync(struct core *c, struct job *j)
{
	struct workload *w = j->workload;

	if (!w || !workload_holds_quota(w) || w->evicted_at || w->deleting)
		return false;
	if (w->prebuilt)
		return sync_prebuilt(c, j);
	if (matches(c, j)) {
		follow_class(c, j);
		return false;
	}
	if (registry_remove(c->batch, kind_by_type(c->kinds, TYPE_WORKLOAD), w->ns, w->name,
			    PROPAGATE_BACKGROUND) < 0)
		return false;
	job_queue_event(c, j, "Normal", "DeletedWorkload", "Deleted not matching Workload: %s",
			w->key);
	return true;
}

/* A class may become another one; it neither comes while quota is held, nor ever goes. */
static int check_class(const struct job *j, const struct job_digest *d, struct err *reterr)
{
	static const char path[] = "metadata.labels[" JOB_KEY_PRIORITY_CLASS "]";
	bool was = job_digest_label(&j->digest, JOB_KEY_PRIORITY_CLASS).len > 0;
	bool is = job_digest_label(d, JOB_KEY_PRIORITY_CLASS).len > 0;

	if (was && !is)
		return err_set_field(reterr, ERR_INVALID, path,
				     "WorkloadPriorityClass cannot be removed from a workload");
	if (is && !was && workload_holds_quota(j->workload))
		return err_set_field(reterr, ERR_INVALID, path,
				     "WorkloadPriorityClass cannot be added to a non-suspended "
				     "workload");
	return 0;
}

int workload_admit_job(struct core *c, struct command *cmd)
{
	static const char fixed[] = "field is immutable while the job is not suspended";
	static const char limit[] = JOB_KEY_MAX_EXECUTION;
	auto_arena mem = ARENA_INIT;
	struct job_digest d;
	const struct job *j;

	if (cmd->verb != COMMAND_UPDATE || !cmd->draft.digest)
		return 0;
	j = job_by_key(c, cmd->kind->type, span_of(cmd->ns), span_of(cmd->name));
	if (!j || !j->workload ||
	    job_digest_unpack(span_make(cmd->draft.digest, cmd->draft.digest_len), &mem, &d) < 0)
		return 0;
	int r = check_class(j, &d, &cmd->err);
	if (r < 0 || !workload_holds_quota(j->workload))
		return r;
	if (!span_eq(d.queue_name, j->digest.queue_name))
		return err_set_field(&cmd->err, ERR_INVALID, "metadata.labels[" JOB_KEY_QUEUE "]",
				     "%s", fixed);
	if (!span_eq(job_digest_label(&d, limit), job_digest_label(&j->digest, limit)))
		return err_set_field(&cmd->err, ERR_INVALID,
				     "metadata.labels[" JOB_KEY_MAX_EXECUTION "]", "%s", fixed);
	return 0;
}

#include "core/kueue/workload_sync.h"

#include "core/job.h"
#include "core/kueue/workload_restore.h"
#include "kinds/job_keys.h"

/* What of a Workload stands for the job's pod sets, as bytes. */
static void pack(const struct workload_digest *d, struct buf *out)
{
	struct workload_digest sets = *d;

	sets.priority = 0;
	sets.priority_source = WORKLOAD_PRIORITY_NONE;
	sets.queue_name = sets.priority_class = SPAN_NONE;
	sets.inactive = false;
	sets.max_execution_seconds = 0;
	workload_digest_pack(&sets, out);
}

/* Also when it cannot be told: then it is not said to differ. */
static bool matches(struct core *c, const struct job *j)
{
	auto_arena mem = ARENA_INIT;
	auto_buf was = BUF_INIT, is = BUF_INIT;
	struct workload_digest stored, now;
	struct store_object o;
	struct err err = ERR_INIT;

	if (registry_get(c->batch, kind_by_type(c->kinds, TYPE_WORKLOAD), j->workload->ns,
			 j->workload->name, &o) < 0 ||
	    workload_digest_unpack(o.digest, &mem, &stored) < 0 ||
	    workload_compose(c, j, &mem, &now, &err) < 0)
		return true;
	pack(&stored, &was);
	pack(&now, &is);
	return span_eq(buf_span(&was), buf_span(&is));
}

bool workload_sync(struct core *c, struct job *j)
{
	struct workload *w = j->workload;

	if (!w || !workload_holds_quota(w) || w->evicted_at || w->deleting || matches(c, j))
		return false;
	if (registry_remove(c->batch, kind_by_type(c->kinds, TYPE_WORKLOAD), w->ns, w->name,
			    PROPAGATE_BACKGROUND) < 0)
		return false;
	job_queue_event(c, j, "Normal", "DeletedWorkload", "Deleted not matching Workload: %s",
			w->key);
	return true;
}

int workload_admit_job(struct core *c, struct command *cmd)
{
	auto_arena mem = ARENA_INIT;
	struct job_digest d;
	const struct job *j;

	if (cmd->verb != COMMAND_UPDATE || !cmd->draft.digest)
		return 0;
	j = job_by_key(c, cmd->kind->type, span_of(cmd->ns), span_of(cmd->name));
	if (!j || !j->workload || !workload_holds_quota(j->workload) ||
	    job_digest_unpack(span_make(cmd->draft.digest, cmd->draft.digest_len), &mem, &d) < 0 ||
	    span_eq(d.queue_name, j->digest.queue_name))
		return 0;
	return err_set_field(&cmd->err, ERR_INVALID, "metadata.labels[" JOB_KEY_QUEUE "]",
			     "field is immutable while the job is not suspended");
}

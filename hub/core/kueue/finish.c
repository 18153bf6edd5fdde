#include "core/kueue/finish.h"

#include "core/job.h"
#include "core/kueue/claim.h"
#include "core/kueue/provisioning_check.h"
#include "core/kueue/queue_meter.h"
#include "core/kueue/queue_status.h"
#include "core/kueue/quota_wait.h"
#include "core/kueue/workload_restore.h"
#include "kube/copy_info.h"

/* With the words of the status that ended it, which is not always stored yet. */
static void add_end_words(struct core *c, const struct job *j, struct buf *out)
{
	struct span status = span_make(j->status, j->status_len);
	struct store_object o;

	if (!status.len &&
	    registry_get(c->batch, j->kind, span_of(j->ns), span_of(j->name), &o) == 0)
		status = store_object_part(&o, o.extents.status);
	if (copy_info_words(j->kind->type, status, out) < 0)
		buf_clear(out);
}

static void tell_finished(struct core *c, struct workload *w, bool succeeded)
{
	auto_buf words = BUF_MAX(STORE_MAX_OBJECT);

	if (w->job)
		add_end_words(c, w->job, &words);
	workload_set_condition(c, w, "Finished", true, succeeded ? "Succeeded" : "Failed", "%s",
			       words.ptr ? words.ptr : "");
}

/* Its record holds nothing any more. */
static void let_go(struct core *c, struct workload *w)
{
	queue_meter_finished(c, w);
	workload_timer_remove(c, w);
	provisioning_check_drop(c, w);
	workload_freed(c, w);
	if (!w->unit)
		return;
	workload_uncount_usage(c, w);
	kueue_queues_remove(c->kueue->queues, w->unit);
	w->unit = NULL;
	c->pump_wanted = true;
}

void finish_out_of_sync(struct core *c, struct workload *w, const char *words)
{
	workload_set_condition(c, w, "Finished", true, "OutOfSync", "%s", words);
	w->over = true;
	claim_drop(c, w);
	quota_wait_forget(c, w);
	workload_forget_asks(c, w);
	let_go(c, w);
}

void finish_workload(struct core *c, struct workload *w, bool succeeded)
{
	tell_finished(c, w, succeeded);
	if (w->job)
		job_queue_event(c, w->job, "Normal", "FinishedWorkload",
				"Workload '%s' is declared finished", w->key);
	let_go(c, w);
}

#include "core/observe.h"

#include "base/json.h"
#include "base/num.h"
#include "core/admission/failover.h"
#include "core/admission/settle.h"
#include "core/dispatch/dependency.h"
#include "core/job.h"
#include "core/kueue/kueue.h"
#include "core/kueue/workload.h"
#include "core/member.h"
#include "core/policy_spec.h"
#include "core/priority.h"
#include "core/provisioning/provisioning.h"
#include "core/quota.h"
#include "core/restore.h"
#include "core/retention.h"
#include "core/suspension.h"

#include <errno.h>

/* ---- jobs ---- */

/* Its status mostly came with the row (admit.h): not in rows of an older version. */
static void accept(struct core *c, struct job *j, bool has_status)
{
	auto_buf status = BUF_INIT;

	/* Its place in the queue: creationTimestamp has whole seconds only. */
	c->last_attempt = num_max(c->now, c->last_attempt + 1);
	j->first_attempt = c->last_attempt;
	if (!has_status)
		job_accepted_status(j->kind, j->name, j->user_suspended, c->now, &status);
	else
		j->status_written = c->now;
	if (status.len) {
		free(j->status);
		j->status = buf_steal(&status, &j->status_len);
		j->status_finished = false;
		j->status_due = c->now;
	}
	if (j->kind->type == TYPE_JOB && suspension_begins(c, j))
		vec_push(&j->events, ((struct job_event){.type = "Normal",
							 .reason = "Suspended",
							 .message = xstrdup("Job suspended"),
							 .component = "job-controller"}));
	j->binding_dirty = true;
	core_job_dirty(c, j);
}

static void job_observe(struct core *c, const struct kind *kind, const struct store_object *o)
{
	struct job *j = job_by_key(c, kind->type, o->key.ns, o->key.name);

	if (j && memcmp(j->uid, o->uid, STORE_UID_LEN) != 0) {
		/* Another object under the old name: the record waits for its copy alone. */
		j->gone = true;
		settle_changed(c, j, true);
		j = NULL;
	}
	if (j) {
		int64_t was = j->generation;
		bool asks = job_update(c, j, o);
		/* Who failed it may take what it is now. */
		settle_changed(c, j, asks || (j->failover && j->generation != was));
		/* What it asks for is not in its spec alone: its least parallelism. */
		if (asks || j->generation != was || j->amendment)
			settle_edited(c, j);
		return;
	}
	/* Done with, and kept by the finalizers of others. */
	if (o->flags & OBJECT_DELETING && !core_has_hub_finalizer(o))
		return;
	if (!(o->flags & OBJECT_DELETING) && o->flags & OBJECT_FINISHED) {
		retention_changed(c, kind, o);
		return;
	}
	j = restore_job(c, kind, o);
	if (!j)
		return;
	if (j->deleting) {
		settle_changed(c, j, true);
	} else if (!j->binding_exists) {
		accept(c, j, o->extents.status.len > 0);
		settle_offer(c, j);
	}
}

static void job_gone(struct core *c, const struct kind *kind, struct span ns, struct span name)
{
	struct job *j = job_by_key(c, kind->type, ns, name);

	if (!j)
		return;
	j->gone = true;
	settle_changed(c, j, true);
}

/* ---- policies and classes ---- */

static void policy_observe(struct core *c, const struct kind *kind, const struct store_object *o)
{
	auto_arena mem = ARENA_INIT;
	auto_json *tree = NULL;
	struct propagation_policy p;
	struct err err;

	if (object_tree(o, &tree, NULL) < 0)
		return;
	policy_spec_decode(tree, kind->type == TYPE_CLUSTER_PROPAGATION_POLICY, &mem, &p);
	if (propagation_index_put(c->policies, &p, &err) < 0)
		log_warn(c->log, "policy refused", "policy=%.*s error=\"%s\"",
			 SPAN_ARGS(o->key.name), err.text);
}

/* A policy came, changed or went: jobs that wait are matched anew. */
static void rematch(struct core *c)
{
	map_foreach (&c->jobs_by_number, e) {
		struct job *j = e->value;
		if (dispatch_is_free(&j->dispatch) && !j->finished && !j->deleting && !j->gone)
			settle_offer(c, j);
		else
			failover_review(c, j);
	}
}

/* ---- the queue of changes ---- */

static bool is_interesting(const struct kind *k)
{
	switch (k->type) {
	case TYPE_CLUSTER:
	case TYPE_SECRET:
	case TYPE_PROPAGATION_POLICY:
	case TYPE_CLUSTER_PROPAGATION_POLICY:
	case TYPE_ELASTIC_QUOTA_TREE:
	case TYPE_QUEUE:
	case TYPE_PRIORITY_CLASS:
	case TYPE_NAMESPACE:
	case TYPE_CONFIG_MAP:
	case TYPE_PERSISTENT_VOLUME_CLAIM:
	case TYPE_SERVICE_ACCOUNT:
		return true;
	default:
		return k->is_job || kueue_is_interesting(k) || provisioning_is_interesting(k);
	}
}

void observe_enqueue(struct core *c, const struct kind *kind, const struct store_key *k)
{
	auto_buf key = BUF_INIT;

	buf_addf(&key, "%u/%.*s/%.*s", kind->type, SPAN_ARGS(k->ns), SPAN_ARGS(k->name));
	if (!is_interesting(kind) || map_has(&c->observed_keys, buf_span(&key)))
		return;
	map_put(&c->observed_keys, buf_span(&key), c);
	vec_push(&c->observed, (struct observed){kind, xstrndup(k->ns.ptr, k->ns.len),
						 xstrndup(k->name.ptr, k->name.len)});
}

void observe_collect(struct core *c)
{
	size_t n;
	const struct registry_change *changes = registry_changes(c->batch, &n);

	for (size_t i = 0; i < n; i++) {
		if (changes[i].kind->type == TYPE_WORKLOAD && changes[i].op == STORE_PUT &&
		    workload_is_own_change(c, &changes[i].object))
			continue;
		observe_enqueue(c, changes[i].kind, &changes[i].object.key);
	}
	c->observed_revision = num_max(c->observed_revision, registry_truth_revision(c->batch));
}

/* A row for every commit would cost more than reading a little twice after a restart. */
#define SAVE_EVERY 256 /* revisions */

struct span observe_saved_key(void)
{
	return SPAN("observed");
}

void observe_save(struct core *c)
{
	if (c->observed.len || c->dirty.len || c->kueue->dirty.len ||
	    registry_batch_full(c->batch) || c->observed_revision < c->observed_saved + SAVE_EVERY)
		return;
	c->observed_saved = c->observed_revision;
	registry_put_aux(c->batch, false, STORE_AUX_CURSOR, observe_saved_key(),
			 span_make((const char *)&c->observed_saved, sizeof(c->observed_saved)));
}

void observe_present(struct core *c, const struct kind *kind, const struct store_object *o)
{
	if (kind->is_job) {
		job_observe(c, kind, o);
		return;
	}
	if (kueue_observe(c, kind, o) || provisioning_observe(c, kind, o))
		return;
	dependency_observe(c, kind, o->key.ns, o->key.name);
	switch (kind->type) {
	case TYPE_CLUSTER:
		member_observe(c, o);
		break;
	case TYPE_SECRET:
		member_observe_secret(c, o->key.ns, o->key.name);
		break;
	case TYPE_PROPAGATION_POLICY:
	case TYPE_CLUSTER_PROPAGATION_POLICY:
		policy_observe(c, kind, o);
		rematch(c);
		break;
	case TYPE_ELASTIC_QUOTA_TREE:
		quota_observe(c, o);
		break;
	case TYPE_QUEUE:
		quota_observe_queue(c, o);
		break;
	case TYPE_PRIORITY_CLASS:
		priority_observe(c, o);
		break;
	case TYPE_NAMESPACE:
		kueue_observe_namespace(c, o->key.name);
		break;
	default:
		break;
	}
}

static void observe_absent(struct core *c, const struct observed *o)
{
	struct span ns = span_of(o->ns), name = span_of(o->name);

	if (o->kind->is_job) {
		job_gone(c, o->kind, ns, name);
		return;
	}
	if (kueue_observe_absent(c, o->kind, ns, name) ||
	    provisioning_observe_absent(c, o->kind, ns, name))
		return;
	dependency_observe(c, o->kind, ns, name);
	switch (o->kind->type) {
	case TYPE_CLUSTER:
		member_forget(c, name);
		break;
	case TYPE_SECRET:
		member_observe_secret(c, ns, name);
		break;
	case TYPE_PROPAGATION_POLICY:
	case TYPE_CLUSTER_PROPAGATION_POLICY:
		propagation_index_remove(c->policies, ns.len ? ns : SPAN_NONE, name);
		rematch(c);
		break;
	case TYPE_ELASTIC_QUOTA_TREE:
		quota_forget(c, ns, name);
		break;
	case TYPE_PRIORITY_CLASS:
		priority_forget(c, name);
		break;
	default:
		break;
	}
}

/* Rows that looking at one change may write at once: member_forget's cursors and settings. */
#define ROWS_PER_CHANGE (STREAM_MAX + 6)

bool observe_run(struct core *c)
{
	size_t done = 0;

	for (; done < c->observed.len; done++) {
		struct observed *o = &c->observed.items[done];
		auto_buf key = BUF_INIT;
		struct store_object object;
		if (registry_batch_room(c->batch) < ROWS_PER_CHANGE ||
		    registry_batch_full(c->batch))
			break;
		buf_addf(&key, "%u/%s/%s", o->kind->type, o->ns, o->name);
		map_remove(&c->observed_keys, buf_span(&key));
		int r = registry_get(c->batch, o->kind, span_of(o->ns), span_of(o->name), &object);
		if (r == 0)
			observe_present(c, o->kind, &object);
		else if (r == -ENOENT)
			observe_absent(c, o);
		free(o->ns);
		free(o->name);
	}
	if (done)
		memmove(c->observed.items, c->observed.items + done,
			(c->observed.len - done) * sizeof(*c->observed.items));
	c->observed.len -= done;
	return c->observed.len > 0;
}

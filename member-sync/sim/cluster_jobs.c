/*
 * Jobs of every kind: records from objects, and the queue of those to look at.
 */
#include "member-sync/sim/cluster_priv.h"
#include "member-sync/sim/job_codec.h"
#include "member-sync/sim/job_sync.h"
#include "registry/owner_refs.h"

bool cluster_jobs_is_kind(const struct kind *k)
{
	switch (k->type) {
	case TYPE_JOB:
	case TYPE_JOB_SET:
	case TYPE_PYTORCH_JOB:
	case TYPE_TF_JOB:
	case TYPE_MPI_JOB:
	case TYPE_XGBOOST_JOB:
	case TYPE_PADDLE_JOB:
	case TYPE_JAX_JOB:
	case TYPE_RAY_JOB:
	case TYPE_RAY_CLUSTER:
		return true;
	default:
		return false;
	}
}

static enum sim_job_type type_of(const struct kind *k)
{
	return k->type == TYPE_JOB	     ? SIM_BATCH
	       : k->type == TYPE_JOB_SET     ? SIM_JOB_SET
	       : k->type == TYPE_RAY_JOB     ? SIM_RAY
	       : k->type == TYPE_RAY_CLUSTER ? SIM_RAY_CLUSTER
					     : SIM_TRAINING;
}

bool cluster_jobs_finished(const struct sim_job *j)
{
	switch (j->type) {
	case SIM_BATCH:
		return batch_job_finished(&j->state.batch);
	case SIM_JOB_SET:
		return job_set_finished(j->state.job_set);
	case SIM_TRAINING:
		return training_finished(&j->state.training);
	case SIM_RAY_CLUSTER:
		return false; /* it stays until it is deleted */
	default:
		return ray_job_finished(&j->state.ray);
	}
}

static struct span job_uid(const struct sim_job *j)
{
	return span_make((const char *)j->uid, STORE_UID_LEN);
}

void cluster_jobs_enqueue(struct cluster *c, struct sim_job *j)
{
	if (j->queued)
		return;
	j->queued = true;
	j->next_queued = NULL;
	*c->queue_tail = j;
	c->queue_tail = &j->next_queued;
}

/* ---- records ---- */

static void find_parent(struct cluster *c, struct sim_job *j, const struct store_object *o)
{
	struct owner_ref ref;
	for (size_t pos = 0; owner_refs_next(o, &pos, &ref);) {
		struct sim_job *p =
		    map_get(&c->jobs, span_make((const char *)ref.uid, STORE_UID_LEN));
		if (!p || p->type != SIM_JOB_SET)
			continue;
		j->parent = p;
		j->parent_slot = p->children.len;
		vec_push(&p->children, j);
		/* "<jobset>-<replicated job>-<index>" */
		size_t at = strlen(p->name) + 1;
		for (size_t i = 0; i < p->spec.job_set->n_jobs; i++) {
			const char *set = p->spec.job_set->jobs[i].name;
			size_t n = strlen(set);
			if (strlen(j->name) > at + n && j->name[at + n] == '-' &&
			    strncmp(j->name + at, set, n) == 0 &&
			    !strchr(j->name + at + n + 1, '-'))
				j->set = (int32_t)i;
		}
		return;
	}
}

static void leave_parent(struct sim_job *j)
{
	struct sim_job *p = j->parent;
	if (!p)
		return;
	struct sim_job *last = p->children.items[--p->children.len];
	p->children.items[j->parent_slot] = last;
	last->parent_slot = j->parent_slot;
	j->parent = NULL;
}

static void scale(const struct cluster *c, struct sim_job *j)
{
	j->spec.batch.time_scale = c->options.time_scale;
	j->spec.ray.duration /= c->options.time_scale;
}

void cluster_jobs_add(struct cluster *c, const struct store_object *o)
{
	struct err why = ERR_INIT;
	struct sim_job *j = xcalloc(1, sizeof(*j));
	j->kind = kind_by_type(c->kinds, o->key.type);
	j->type = type_of(j->kind);
	j->ns = xstrndup(o->key.ns.ptr, o->key.ns.len);
	j->name = xstrndup(o->key.name.ptr, o->key.name.len);
	memcpy(j->uid, o->uid, STORE_UID_LEN);
	object_uid_format(j->uid, j->uid_text);
	j->revision = o->revision;
	j->deleting = (o->flags & OBJECT_DELETING) != 0;
	j->has_services = true; /* until looked at */
	map_put(&c->jobs, job_uid(j), j);
	if (job_codec_read(j, o, true, &why)) {
		log_warn(c->options.log, "job left alone", "job=%s/%s cause=\"%s\"", j->ns, j->name,
			 why.text);
		j->managed_elsewhere = true;
	}
	scale(c, j);
	find_parent(c, j, o);
	c->stats.jobs++;
	cluster_jobs_enqueue(c, j);
	if (j->parent)
		cluster_jobs_enqueue(c, j->parent);
}

static void drop_queued(struct cluster *c, struct sim_job *j)
{
	struct sim_job **at = &c->queue;
	if (!j->queued)
		return;
	while (*at != j)
		at = &(*at)->next_queued;
	*at = j->next_queued;
	if (!*at)
		c->queue_tail = at;
}

static void job_free(struct sim_job *j)
{
	job_codec_clear_sets(j);
	vec_done(&j->sets);
	vec_done(&j->pods);
	vec_done(&j->children);
	batch_job_state_done(&j->state.batch);
	batch_policy_destroy(j->spec.batch.policy);
	if (j->spec.job_set)
		job_set_spec_done(j->spec.job_set);
	free(j->spec.job_set);
	if (j->state.job_set)
		job_set_state_done(j->state.job_set);
	free(j->state.job_set);
	free(j->ns);
	free(j->name);
	free(j->job_uid);
	free(j->epoch);
	free(j);
}

void cluster_jobs_forget(struct cluster *c, struct sim_job *j)
{
	drop_queued(c, j);
	cluster_timer_drop(c, &j->heap_slot);
	leave_parent(j);
	while (j->children.len) {
		struct sim_job *child = j->children.items[j->children.len - 1];
		leave_parent(child);
		cluster_jobs_enqueue(c, child);
	}
	while (j->pods.len) {
		struct sim_pod *p = j->pods.items[--j->pods.len];
		p->owner = NULL;
		if (p->phase == POD_SUCCEEDED || p->phase == POD_FAILED)
			cluster_pods_forget(c, p);
	}
	map_remove(&c->jobs, job_uid(j));
	job_free(j);
	c->stats.jobs--;
}

static void put_observed(struct cluster *c, const struct registry_change *ch, struct sim_job *j)
{
	struct err why = ERR_INIT;
	j->revision = ch->object.revision;
	j->deleting = (ch->object.flags & OBJECT_DELETING) != 0;
	if (j->ours) {
		/* The status that was just written said all there was to say; one more look
		 * lets go of a job that is over. */
		j->ours = false;
		if (cluster_jobs_finished(j))
			cluster_jobs_enqueue(c, j);
	} else {
		if (job_codec_read(j, &ch->object, false, &why))
			log_warn(c->options.log, "job not understood", "job=%s/%s cause=\"%s\"",
				 j->ns, j->name, why.text);
		scale(c, j);
		cluster_jobs_enqueue(c, j);
	}
	if (j->parent)
		cluster_jobs_enqueue(c, j->parent);
}

void cluster_jobs_observe(struct cluster *c, const struct registry_change *ch)
{
	struct sim_job *j =
	    map_get(&c->jobs, span_make((const char *)ch->object.uid, STORE_UID_LEN));
	if (ch->op == STORE_PUT && !j)
		cluster_jobs_add(c, &ch->object);
	else if (ch->op == STORE_PUT)
		put_observed(c, ch, j);
	else if (j) {
		if (j->parent)
			cluster_jobs_enqueue(c, j->parent);
		cluster_jobs_forget(c, j);
	}
}

/* ---- the queue ---- */

bool cluster_jobs_sync(struct cluster *c)
{
	struct sim_job *last = NULL;
	for (struct sim_job *j = c->queue; j; j = j->next_queued)
		last = j; /* what comes back during this pass waits for the next one */
	while (c->queue && last) {
		struct sim_job *j = c->queue;
		if (registry_batch_room(c->batch) < 2 * REGISTRY_RESERVE ||
		    registry_batch_full(c->batch))
			return false;
		c->queue = j->next_queued;
		if (!c->queue)
			c->queue_tail = &c->queue;
		j->queued = false;
		j->next_queued = NULL;
		bool end = j == last;
		job_sync(c, j);
		if (end)
			break;
	}
	return c->queue == NULL;
}

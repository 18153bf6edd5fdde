/*
 * Job kinds: records from objects, the work queue, and carrying decisions out.
 *
 * The status is written before pods are made: when a batch fills up, the rest of the work waits
 * in the queue and is decided anew from what was committed.
 */
#include "member-sync/sim/cluster_priv.h"
#include "registry/owner_refs.h"
#include <errno.h>

/* Rows that one pod may need (pod, service, Event), and its job's status. */
#define ROWS_PER_POD 4

bool cluster_jobs_is_kind(const struct kind *k)
{
	switch (k->type) {
	case TYPE_JOB:
	case TYPE_JOB_SET:
	case TYPE_PYTORCH_JOB:
	case TYPE_TF_JOB:
	case TYPE_MPI_JOB:
	case TYPE_RAY_JOB:
		return true;
	default:
		return false;
	}
}

static enum sim_job_type type_of(const struct kind *k)
{
	return k->type == TYPE_JOB	 ? SIM_BATCH
	       : k->type == TYPE_JOB_SET ? SIM_JOB_SET
	       : k->type == TYPE_RAY_JOB ? SIM_RAY
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
	vec_foreach (&j->sets, s) {
		free(s->labels);
		free(s->annotations);
		free(s->spec);
	}
	vec_done(&j->sets);
	vec_done(&j->pods);
	vec_done(&j->children);
	batch_job_state_done(&j->state.batch);
	free(j->spec.job_set);
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

/* ---- carrying out ---- */

struct sync {
	struct cluster *c;
	struct sim_job *j;
	struct store_object object;
	struct plan plan;
	struct VEC(struct pod_view) views;
	bool again; /* something is left for the next batch */
};

static void view_pods(struct sync *s)
{
	vec_foreach (&s->j->pods, it) {
		const struct sim_pod *p = *it;
		vec_push(&s->views, (struct pod_view){
					.set = p->set,
					.index = p->index,
					.attempt = p->attempt,
					.phase = p->phase,
					.deleting = p->deleting,
					.ready = p->phase == POD_RUNNING && p->started,
					.restarts = p->restarts,
					.exit_code = p->exit_code,
					.finished = p->ended,
				    });
	}
}

static int put_status(struct sync *s)
{
	struct cluster *c = s->c;
	struct sim_job *j = s->j;
	struct object_draft d;
	struct err why = ERR_INIT;
	auto_buf status = BUF_INIT;
	job_codec_print_status(j, &status);
	int rc = object_draft_splice_status(&s->object, buf_span(&status), cluster_jobs_finished(j),
					    &d, &why);
	if (rc)
		return cluster_fail(c, &why);
	j->ours = true;
	return registry_put(c->batch, j->kind, span_of(j->ns), span_of(j->name), &d);
}

/* Five letters that follow from what they name, so that doing it twice makes one pod. The
 * alphabet is apimachinery's: no vowels, no look-alikes. */
static void suffix(const struct sim_job *j, const struct plan_create *slot, char out[6])
{
	static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
	uint64_t h = 0xcbf29ce484222325ull;
	const int32_t parts[] = {slot->set, slot->index, slot->attempt};
	for (size_t i = 0; i < STORE_UID_LEN; i++)
		h = (h ^ j->uid[i]) * 0x100000001b3ull;
	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		h = (h ^ (uint32_t)parts[i]) * 0x9e3779b97f4a7c15ull;
	h ^= h >> 29;
	for (int i = 0; i < 5; i++, h /= 27)
		out[i] = letters[h % 27];
	out[5] = '\0';
}

struct birth_text {
	char name[STORE_MAX_NAME + 1], labels[1200], annotations[300], front[600];
};

static void lower_of(const char *s, char out[64])
{
	size_t i = 0;
	for (; s[i] && i < 63; i++)
		out[i] = s[i] >= 'A' && s[i] <= 'Z' ? (char)(s[i] | 0x20) : s[i];
	out[i] = '\0';
}

static void batch_birth(const struct sim_job *j, const struct plan_create *slot,
			struct birth_text *t)
{
	char end[6];
	suffix(j, slot, end);
	int n = snprintf(t->labels, sizeof(t->labels),
			 "\"batch.kubernetes.io/controller-uid\":\"%s\","
			 "\"batch.kubernetes.io/job-name\":\"%s\",\"controller-uid\":\"%s\","
			 "\"job-name\":\"%s\"",
			 j->uid_text, j->name, j->uid_text, j->name);
	if (!j->spec.batch.indexed) {
		snprintf(t->name, sizeof(t->name), "%s-%s", j->name, end);
		return;
	}
	snprintf(t->name, sizeof(t->name), "%s-%d-%s", j->name, slot->index, end);
	snprintf(t->front, sizeof(t->front), "\"hostname\":\"%.57s-%d\",", j->name, slot->index);
	snprintf(t->labels + n, sizeof(t->labels) - (size_t)n,
		 ",\"batch.kubernetes.io/job-completion-index\":\"%d\"", slot->index);
	snprintf(t->annotations, sizeof(t->annotations),
		 "\"batch.kubernetes.io/job-completion-index\":\"%d\"", slot->index);
}

static void training_selector(const struct sim_job *j, const struct plan_create *slot, char *out,
			      size_t size)
{
	char type[64];
	lower_of(j->sets.items[slot->set].name, type);
	snprintf(out, size,
		 "\"training.kubeflow.org/job-name\":\"%s\","
		 "\"training.kubeflow.org/operator-name\":\"%s-controller\","
		 "\"training.kubeflow.org/replica-index\":\"%d\","
		 "\"training.kubeflow.org/replica-type\":\"%s\"",
		 j->name, j->kind->singular, slot->index, type);
}

static void training_name(const struct sim_job *j, const struct plan_create *slot, char *out,
			  size_t size)
{
	char type[64];
	lower_of(j->sets.items[slot->set].name, type);
	if (j->spec.training.kind == TRAINING_MPI && strcmp(type, "launcher") == 0)
		snprintf(out, size, "%s-launcher", j->name);
	else
		snprintf(out, size, "%s-%s-%d", j->name, type, slot->index);
}

static bool is_master(const struct sim_job *j, const struct plan_create *slot)
{
	const char *type = j->sets.items[slot->set].name;
	return strcmp(type, "Master") == 0 || strcmp(type, "Chief") == 0 ||
	       strcmp(type, "Launcher") == 0;
}

static void training_birth(const struct sim_job *j, const struct plan_create *slot,
			   struct birth_text *t)
{
	training_name(j, slot, t->name, sizeof(t->name));
	training_selector(j, slot, t->labels, sizeof(t->labels) - 60);
	size_t n = strlen(t->labels);
	if (is_master(j, slot))
		snprintf(t->labels + n, sizeof(t->labels) - n,
			 ",\"training.kubeflow.org/job-role\":\"master\"");
}

static void ray_birth(const struct sim_job *j, const struct plan_create *slot, struct birth_text *t)
{
	char end[6], cluster[200];
	const char *group = j->sets.items[slot->set].name;
	bool head = slot->set == 0;
	suffix(j, slot, end);
	snprintf(cluster, sizeof(cluster), "%.180s-%.5s%d", j->name, j->uid_text, slot->attempt);
	if (head)
		snprintf(t->name, sizeof(t->name), "%s-head-%s", cluster, end);
	else
		snprintf(t->name, sizeof(t->name), "%s-%.30s-worker-%s", cluster, group, end);
	snprintf(t->labels, sizeof(t->labels),
		 "\"ray.io/cluster\":\"%s\",\"ray.io/group\":\"%s\",\"ray.io/is-ray-node\":\"yes\","
		 "\"ray.io/node-type\":\"%s\",\"ray.io/originated-from-cr-name\":\"%s\"",
		 cluster, head ? "headgroup" : group, head ? "head" : "worker", j->name);
}

static const char *controller_of(const struct sim_job *j, char out[80])
{
	switch (j->type) {
	case SIM_BATCH:
		return "job-controller";
	case SIM_JOB_SET:
		return "jobset";
	case SIM_RAY:
		return "rayjob-controller";
	default:
		snprintf(out, 80, "%s-controller", j->kind->singular);
		return out;
	}
}

static int create_pod(struct sync *s, const struct plan_create *slot)
{
	struct sim_job *j = s->j;
	struct birth_text t = {.name = ""};
	char component[80], selector[600];
	if (j->type == SIM_BATCH)
		batch_birth(j, slot, &t);
	else if (j->type == SIM_TRAINING)
		training_birth(j, slot, &t);
	else
		ray_birth(j, slot, &t);
	struct pod_birth birth = {
	    .job = j,
	    .set = &j->sets.items[j->type == SIM_BATCH ? 0 : slot->set],
	    .slot = *slot,
	    .name = t.name,
	    .labels = t.labels,
	    .annotations = t.annotations,
	    .spec_front = t.front,
	    .forever = j->type == SIM_RAY,
	};
	int rc = cluster_pods_create(s->c, &birth);
	if (!rc && j->type == SIM_TRAINING) {
		training_selector(j, slot, selector, sizeof(selector));
		j->has_services = true;
		rc = cluster_services_create(s->c, j, t.name, selector,
					     "[{\"name\":\"job-port\",\"port\":23456}]");
	}
	if (!rc)
		cluster_event(s->c, j->kind, span_of(j->ns), span_of(j->name), span_of(j->uid_text),
			      controller_of(j, component), false,
			      j->type == SIM_TRAINING ? "SuccessfulCreatePod" : "SuccessfulCreate",
			      "Created pod: %s", t.name);
	return rc;
}

static bool has_room(const struct sync *s)
{
	return registry_batch_room(s->c->batch) >= ROWS_PER_POD + REGISTRY_RESERVE &&
	       !registry_batch_full(s->c->batch);
}

static void carry_out(struct sync *s)
{
	/* Pods first leave, then come: what goes makes room. */
	vec_foreach (&s->plan.deletes, i) {
		if (!has_room(s)) {
			s->again = true;
			return;
		}
		if (cluster_pods_delete(s->c, s->j->pods.items[*i]) == -ESTALE)
			s->again = true;
	}
	vec_foreach (&s->plan.creates, slot) {
		if (!has_room(s)) {
			s->again = true;
			return;
		}
		/* A pod of that name on its way out, or in this batch: decide again later. */
		if (create_pod(s, slot))
			s->again = s->again || !registry_batch_empty(s->c->batch);
	}
}

static void drop_services(struct sync *s)
{
	struct sim_job *j = s->j;
	char name[STORE_MAX_NAME + 1];
	for (size_t t = 0; t < j->spec.training.n_types; t++) {
		for (int32_t i = 0; i < j->spec.training.types[t].replicas; i++) {
			struct plan_create slot = {(int32_t)t, i, 0};
			if (!has_room(s)) {
				s->again = true;
				return;
			}
			training_name(j, &slot, name, sizeof(name));
			(void)!cluster_services_delete(s->c, j, name);
		}
	}
	j->has_services = false;
}

static void sync_training(struct sync *s)
{
	struct sim_job *j = s->j;
	bool services;
	if (training_decide(&j->spec.training, j->name, s->views.items, s->views.len, s->c->now,
			    &j->state.training, &s->plan, &services))
		(void)!put_status(s);
	bool over = training_finished(&j->state.training);
	if (j->has_services && !services && (!over || j->spec.training.clean != CLEAN_NONE))
		drop_services(s);
	carry_out(s);
}

static void sync_batch(struct sync *s)
{
	struct sim_job *j = s->j;
	if (batch_job_decide(&j->spec.batch, s->views.items, s->views.len, s->c->now,
			     &j->state.batch, &s->plan))
		(void)!put_status(s);
	carry_out(s);
	if (cluster_jobs_finished(j) && j->ours)
		cluster_event(s->c, j->kind, span_of(j->ns), span_of(j->name), span_of(j->uid_text),
			      "job-controller",
			      !conditions_true(&j->state.batch.conditions, "Complete"),
			      conditions_true(&j->state.batch.conditions, "Complete")
				  ? "Completed"
				  : conditions_get(&j->state.batch.conditions, "Failed")->reason,
			      "%s",
			      conditions_true(&j->state.batch.conditions, "Complete")
				  ? "Job completed"
				  : conditions_get(&j->state.batch.conditions, "Failed")->message);
}

static void sync_ray(struct sync *s)
{
	struct sim_job *j = s->j;
	if (ray_job_decide(&j->spec.ray, s->views.items, s->views.len, s->c->now, &j->state.ray,
			   &s->plan))
		(void)!put_status(s);
	carry_out(s);
}

static struct job_set_child child_view(const struct sim_job *k)
{
	const struct condition *failed = conditions_get(&k->state.batch.conditions, "Failed");
	struct job_set_child v = {
	    .set = k->set,
	    .index = k->index,
	    .attempt = k->attempt,
	    .deleting = k->deleting,
	    .suspended = k->spec.batch.suspend,
	    .complete = conditions_true(&k->state.batch.conditions, "Complete"),
	    .failed = failed && failed->status,
	    .name = k->name,
	    .active = k->state.batch.active,
	    .ready = k->state.batch.ready,
	    .succeeded = k->state.batch.succeeded,
	};
	if (v.failed) {
		snprintf(v.reason, sizeof(v.reason), "%s", failed->reason);
		v.failed_at = failed->changed;
	}
	return v;
}

static int delete_child(struct sync *s, struct sim_job *k)
{
	struct store_object o;
	int rc = cluster_current(s->c, k->kind, span_of(k->ns), span_of(k->name), k->revision, &o);
	if (!rc)
		rc = registry_remove(s->c->batch, k->kind, span_of(k->ns), span_of(k->name),
				     PROPAGATE_BACKGROUND);
	if (!rc)
		k->deleting = true;
	return rc;
}

static void carry_out_children(struct sync *s, const struct job_set_plan *plan)
{
	struct sim_job *j = s->j;
	int rc = 0;
	vec_foreach (&plan->deletes, i) {
		if (!has_room(s) || delete_child(s, j->children.items[*i]) == -ESTALE)
			s->again = true;
	}
	vec_foreach (&plan->suspends, i) {
		if (!has_room(s) || cluster_children_suspend(s->c, j->children.items[*i],
							     j->spec.job_set->suspend) == -ESTALE)
			s->again = true;
	}
	if (plan->creates.len)
		rc = cluster_children_create(s->c, j, &s->object, plan->creates.items,
					     plan->creates.len);
	s->again |= rc == -ENOSPC;
}

static void sync_job_set(struct sync *s)
{
	struct sim_job *j = s->j;
	struct VEC(struct job_set_child) views = {0};
	struct job_set_plan plan = {0};
	vec_foreach (&j->children, k)
		vec_push(&views, child_view(*k));
	int32_t restarts = j->state.job_set->restarts;
	bool changed = job_set_decide(j->spec.job_set, views.items, views.len, s->c->now,
				      j->state.job_set, &plan);
	/* Children are made from the object as it was read: put_status() replaces it. */
	carry_out_children(s, &plan);
	if (changed)
		(void)!put_status(s);
	s->again |= restarts != j->state.job_set->restarts;
	job_set_plan_done(&plan);
	vec_done(&views);
}

/* ---- the queue ---- */

static void look_after_ttl(struct sync *s)
{
	struct sim_job *j = s->j;
	if (!cluster_jobs_finished(j))
		return;
	if (!j->finished_at)
		j->finished_at = s->c->now;
	if (j->ttl < 0 || j->parent)
		return;
	usec at = j->finished_at + j->ttl * USEC_PER_SEC;
	if (s->c->now < at)
		plan_again(&s->plan, at);
	else
		(void)!registry_remove(s->c->batch, j->kind, span_of(j->ns), span_of(j->name),
				       PROPAGATE_BACKGROUND);
}

/* Over, and nobody will ask about it. */
static bool is_done_with(const struct sim_job *j)
{
	if (j->queued || j->parent || j->ttl >= 0 || j->ours || !cluster_jobs_finished(j))
		return false;
	if (j->type == SIM_RAY && j->spec.ray.shutdown && j->pods.len)
		return false;
	return j->heap_slot == 0;
}

static void sync_one(struct cluster *c, struct sim_job *j)
{
	struct sync s = {.c = c, .j = j};
	if (j->deleting || j->managed_elsewhere)
		return;
	int rc =
	    cluster_current(c, j->kind, span_of(j->ns), span_of(j->name), j->revision, &s.object);
	if (rc == -ESTALE)
		cluster_jobs_enqueue(c, j);
	if (rc)
		return;
	view_pods(&s);
	switch (j->type) {
	case SIM_BATCH:
		sync_batch(&s);
		break;
	case SIM_JOB_SET:
		sync_job_set(&s);
		break;
	case SIM_TRAINING:
		sync_training(&s);
		break;
	case SIM_RAY:
		sync_ray(&s);
		break;
	}
	look_after_ttl(&s);
	if (s.again)
		cluster_jobs_enqueue(c, j);
	else if (s.plan.again)
		cluster_timer_set(c, s.plan.again, NULL, j);
	plan_done(&s.plan);
	vec_done(&s.views);
	if (is_done_with(j))
		cluster_jobs_forget(c, j);
}

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
		sync_one(c, j);
		if (end)
			break;
	}
	return c->queue == NULL;
}

/*
 * Pods: records from objects, the queue of those without a node, and their owners.
 */
#include "member-sync/sim/pod_class.h"
#include "member-sync/sim/pod_codec.h"
#include "registry/owner_refs.h"

static struct span pod_uid(const struct sim_pod *p)
{
	return span_make((const char *)p->uid, STORE_UID_LEN);
}

/* ---- the queue of pods without a node ---- */

static void pending_push(struct cluster *c, struct sim_pod *p)
{
	p->next_pending = NULL;
	p->at_pending = c->pending_tail;
	*c->pending_tail = p;
	c->pending_tail = &p->next_pending;
	c->n_pending++;
	c->pending_new = true;
}

void cluster_pods_unqueue(struct cluster *c, struct sim_pod *p)
{
	if (!p->at_pending)
		return;
	*p->at_pending = p->next_pending;
	if (p->next_pending)
		p->next_pending->at_pending = p->at_pending;
	else
		c->pending_tail = p->at_pending;
	p->at_pending = NULL;
	c->n_pending--;
}

/* ---- owners ---- */

/* Whose run the pod's lines in runs.jsonl are: the hub's job where the pod's own metadata does
 * not say, else its job's here. */
static void inherit(struct sim_pod *p, const struct sim_job *j, struct span owner_uid)
{
	const char *job_uid = NULL, *epoch = NULL;
	for (const struct sim_job *of = j; of && !job_uid; of = of->parent)
		job_uid = of->job_uid;
	for (const struct sim_job *of = j; of && !epoch; of = of->parent)
		epoch = of->epoch;
	if (!p->job_uid.ptr)
		p->job_uid = arena_span(&p->mem, job_uid ? span_of(job_uid) : owner_uid);
	if (!p->epoch.ptr && epoch)
		p->epoch = arena_span(&p->mem, span_of(epoch));
}

static void find_owner(struct cluster *c, struct sim_pod *p, const struct store_object *o)
{
	char uid_text[OBJECT_UID_TEXT];
	struct owner_ref ref;
	for (size_t pos = 0; owner_refs_next(o, &pos, &ref);) {
		struct sim_job *j =
		    map_get(&c->jobs, span_make((const char *)ref.uid, STORE_UID_LEN));
		p->job_name = arena_span(&p->mem, ref.name);
		inherit(p, j, span_of(object_uid_format(ref.uid, uid_text)));
		if (!j)
			continue;
		p->owner = j;
		p->owner_slot = j->pods.len;
		vec_push(&j->pods, p);
		return;
	}
}

static void leave_owner(struct sim_pod *p)
{
	struct sim_job *j = p->owner;
	if (!j)
		return;
	struct sim_pod *last = j->pods.items[--j->pods.len];
	j->pods.items[p->owner_slot] = last;
	last->owner_slot = p->owner_slot;
	p->owner = NULL;
}

static void touch_owner(struct cluster *c, struct sim_pod *p)
{
	if (p->owner)
		cluster_jobs_enqueue(c, p->owner);
}

/* ---- coming and going ---- */

void cluster_pods_add(struct cluster *c, const struct store_object *o)
{
	struct err why = ERR_INIT;
	struct sim_pod *p = xcalloc(1, sizeof(*p));
	char uid_text[OBJECT_UID_TEXT];
	if (pod_class_get(c, o, &p->class, &why)) {
		log_warn(c->options.log, "pod left alone", "pod=%.*s cause=\"%s\"",
			 SPAN_ARGS(o->key.name), why.text);
		free(p);
		return;
	}
	p->ns = arena_span(&p->mem, o->key.ns);
	p->name = arena_span(&p->mem, o->key.name);
	memcpy(p->uid, o->uid, STORE_UID_LEN);
	p->uid_text = arena_span(&p->mem, span_of(object_uid_format(o->uid, uid_text)));
	p->revision = o->revision;
	p->deleting = (o->flags & OBJECT_DELETING) != 0;
	p->sched.shape = p->class->shape;
	p->sched.ns = p->ns;
	p->address = ++c->next_address;
	pod_codec_read(p, o);
	find_owner(c, p, o);
	map_put(&c->pods, pod_uid(p), p);
	c->stats.pods++;
	if (sim_pod_over(p)) {
		touch_owner(c, p);
		return;
	}
	struct scheduler_node *n = p->node.len ? scheduler_find_node(c->scheduler, p->node) : NULL;
	if (n)
		scheduler_bind(c->scheduler, &p->sched, n);
	if (p->node.len)
		cluster_timer_set(c, c->now, p, NULL);
	else if (!p->gated)
		pending_push(c, p);
	bool silent = n && cluster_silence_has(c, p);
	bool evicted = n && cluster_kubelet_tolerates(c, p, n) == 0;
	p->lost = p->node.len && (!n || evicted || !scheduler_node_ready(n));
	p->node_gone = p->node.len && (!n || evicted);
	if (silent) {
		p->lost = p->node_gone = false;
		p->held = p->evicted = p->deleting;
		p->deleted = p->deleting ? c->now : 0;
	}
	touch_owner(c, p);
}

void cluster_pods_log_run(struct cluster *c, struct sim_pod *p, usec end, const char *result)
{
	struct err why = ERR_INIT;
	struct runs_line line = {
	    .job_uid = p->job_uid.ptr ? p->job_uid : p->uid_text,
	    .epoch = p->epoch,
	    .ns = p->ns,
	    .job = p->job_name.ptr ? p->job_name : p->name,
	    .pod = p->name,
	    .pod_uid = p->uid_text,
	    .node = p->node,
	    .start = p->started,
	    .end = end,
	    .result = result,
	};
	c->stats.pods_ended++;
	if (runs_append(c->runs, &line, &why))
		cluster_fail(c, &why);
}

void cluster_pods_forget(struct cluster *c, struct sim_pod *p)
{
	cluster_timer_drop(c, &p->heap_slot);
	cluster_pods_unqueue(c, p);
	scheduler_unbind(c->scheduler, &p->sched);
	leave_owner(p);
	map_remove(&c->pods, pod_uid(p));
	pod_class_release(c, p->class);
	arena_done(&p->mem);
	free(p);
	c->stats.pods--;
}

struct pod_view cluster_pods_view(const struct sim_pod *p)
{
	return (struct pod_view){
	    .set = p->set,
	    .index = p->index,
	    .attempt = p->attempt,
	    .phase = p->phase,
	    .deleting = p->deleting,
	    .ready = p->phase == POD_RUNNING && p->started && !p->unheard,
	    .evicted = p->evicted,
	    .restarts = p->restarts,
	    .exit_code = p->exit_code,
	    .disrupted = p->lost || p->evicted,
	    .finished = p->ended ? p->ended : p->deleted,
	    .ns = p->ns,
	    .name = p->name,
	    .containers = p->class->containers,
	    .n_containers = p->class->n_containers,
	};
}

static void count_gone(struct sim_pod *p)
{
	struct pod_view view = cluster_pods_view(p);
	struct sim_job *j = p->owner;
	if (!j || j->type != SIM_BATCH || cluster_jobs_finished(j))
		return;
	/* A pod that went while it ran has failed for its Job, unless the Job itself took it. */
	j->state.batch.gone_succeeded += p->phase == POD_SUCCEEDED;
	j->state.batch.gone_failed +=
	    (p->phase == POD_FAILED || view.evicted) &&
	    batch_policy_judge(j->spec.batch.policy, &view, NULL) != BATCH_IGNORE;
}

/* Its gates are off, and the selectors that came with that count. */
static void ungate(struct cluster *c, struct sim_pod *p, const struct store_object *o)
{
	struct sim_class *class;
	struct err why = ERR_INIT;

	if (!p->gated || p->node.len || sim_pod_over(p) || pod_codec_gated(o))
		return;
	if (pod_class_get(c, o, &class, &why)) {
		log_warn(c->options.log, "pod stays gated", "pod=%.*s cause=\"%s\"",
			 SPAN_ARGS(p->name), why.text);
		return;
	}
	pod_class_release(c, p->class);
	p->class = class;
	p->sched.shape = class->shape;
	p->gated = p->told_pending = false;
	pending_push(c, p);
}

/* A change from outside: what a controller may have to react to. */
static void reread(struct cluster *c, struct sim_pod *p, const struct store_object *o)
{
	struct span node = pod_codec_node(o);
	bool deleting = (o->flags & OBJECT_DELETING) != 0;
	p->evicted |= deleting && !p->deleting && cluster_silence_has(c, p);
	p->deleting = deleting;
	enum pod_phase before = p->phase;
	pod_codec_read_status(p, o);
	ungate(c, p, o);
	if (!sim_pod_over(p) && node.len && !p->node.len) { /* bound by somebody else */
		p->node = arena_span(&p->mem, node);
		struct scheduler_node *n = scheduler_find_node(c->scheduler, node);
		cluster_pods_unqueue(c, p);
		if (n)
			scheduler_bind(c->scheduler, &p->sched, n);
		cluster_timer_set(c, c->now, p, NULL);
	}
	if (sim_pod_over(p) && before != p->phase) {
		cluster_pods_unqueue(c, p);
		scheduler_unbind(c->scheduler, &p->sched);
	}
	touch_owner(c, p);
}

static void observe_put(struct cluster *c, const struct registry_change *ch)
{
	struct sim_pod *p =
	    map_get(&c->pods, span_make((const char *)ch->object.uid, STORE_UID_LEN));
	if (!p) {
		if (ch->created)
			cluster_pods_add(c, &ch->object);
		return;
	}
	p->revision = ch->object.revision;
	if ((ch->object.flags & OBJECT_DELETING) && !p->held && cluster_silence_has(c, p)) {
		p->held = true;
		p->deleted = c->now;
		cluster_timer_set(c, c->now, p, NULL);
	}
	if (!p->ours)
		reread(c, p, &ch->object);
	else
		touch_owner(c, p);
	p->ours = false;
	/* Nobody asks about a pod that is over and whose job is over, too. */
	if (sim_pod_over(p) && !p->owner && !p->node_gone)
		cluster_pods_forget(c, p);
}

void cluster_pods_observe(struct cluster *c, const struct registry_change *ch)
{
	if (ch->op == STORE_PUT) {
		observe_put(c, ch);
		return;
	}
	struct sim_pod *p =
	    map_get(&c->pods, span_make((const char *)ch->object.uid, STORE_UID_LEN));
	if (!p)
		return;
	if (p->phase == POD_RUNNING && p->started)
		cluster_pods_log_run(c, p, c->now, "Killed");
	touch_owner(c, p);
	count_gone(p);
	cluster_pods_forget(c, p);
}

int cluster_pods_delete(struct cluster *c, struct sim_pod *p)
{
	struct store_object o;
	int rc = cluster_current(c, c->pod_kind, p->ns, p->name, p->revision, &o);
	if (rc)
		return rc;
	p->deleting = true;
	p->ours = true;
	return registry_remove(c->batch, c->pod_kind, p->ns, p->name, PROPAGATE_BACKGROUND);
}

/*
 * Pods: records from objects, births, binding, and the kubelets' acts.
 */
#include "base/json.h"
#include "base/num.h"
#include "member-sync/sim/duration.h"
#include "member-sync/sim/pod_class.h"
#include "member-sync/sim/pod_status.h"
#include <errno.h>

#define SLOT_ANNOTATION	   "muster.dev/sim-slot"
#define FOREVER_ANNOTATION "muster.dev/sim-forever"
#define DEFAULT_DURATION   (10 * USEC_PER_SEC)
/* A pod's row, its two Events, and what the registry may add. */
#define ROWS_PER_POD 6

/* ---- records ---- */

static struct span member(struct span object, const char *key)
{
	struct span v;
	return object.len && json_text_member(object, key, &v) == 0 ? v : SPAN_NONE;
}

static struct span plain(struct span object, const char *key)
{
	struct span v = member(object, key);
	return v.len ? json_text_plain(v) : SPAN_NONE;
}

static struct span part(const struct store_object *o, struct store_extent e)
{
	return e.len ? span_make(o->json.ptr + e.at, e.len) : SPAN_NONE;
}

static void read_labels(struct sim_pod *p, struct span labels)
{
	struct span key, value;
	size_t n = 0;
	if (!labels.len || json_text_type(labels) != JSON_OBJECT)
		return;
	for (size_t pos = 0; json_text_next(labels, &pos, &key, &value);)
		n++;
	struct info_pair *pairs = arena_array(&p->mem, struct info_pair, n);
	for (size_t pos = 0; json_text_next(labels, &pos, &key, &value);) {
		struct info_pair *to = &pairs[p->sched.n_labels++];
		to->key = arena_span(&p->mem, key);
		to->value = arena_span(&p->mem, json_text_plain(value));
	}
	p->sched.labels = pairs;
}

static int32_t slot_number(struct span *slot)
{
	struct span one = span_split(slot, '.');
	int64_t v;
	return one.ptr && num_parse_i64(one, -1, INT32_MAX, &v) == 0 ? (int32_t)v : -1;
}

static void read_annotations(struct sim_pod *p, struct span annotations)
{
	struct span duration = plain(annotations, "muster.dev/sim-duration");
	struct span code = plain(annotations, "muster.dev/sim-exit-code");
	struct span slot = plain(annotations, SLOT_ANNOTATION);
	int64_t exit_code = 0;
	p->duration = DEFAULT_DURATION;
	if (duration.ptr && duration_parse(duration, &p->duration))
		p->duration = DEFAULT_DURATION;
	if (code.ptr && num_parse_i64(code, 0, 255, &exit_code) == 0)
		p->exit_code = (int32_t)exit_code;
	p->forever = span_is(plain(annotations, FOREVER_ANNOTATION), "true");
	p->set = slot_number(&slot);
	p->index = slot_number(&slot);
	p->attempt = slot_number(&slot);
	p->epoch = arena_span(&p->mem, plain(annotations, COPY_ANNOTATION_EPOCH));
	p->job_uid = arena_span(&p->mem, plain(annotations, COPY_ANNOTATION_JOB_UID));
}

static usec read_time(struct span object, const char *key)
{
	usec t = 0;
	struct span text = plain(object, key);
	return text.ptr && clock_parse(text, &t) == 0 ? t : 0;
}

static void read_container(struct sim_pod *p, struct span status)
{
	struct span list = member(status, "containerStatuses"), first, key = SPAN_NONE;
	size_t pos = 0;
	int64_t n;
	if (!list.len || json_text_type(list) != JSON_ARRAY ||
	    !json_text_next(list, &pos, &key, &first))
		return;
	struct span state = member(first, "state"), terminated = member(state, "terminated");
	if (json_text_int64(member(first, "restartCount"), &n) == 0)
		p->restarts = (int32_t)n;
	p->started = read_time(member(state, "running"), "startedAt");
	if (terminated.len) {
		p->ended = read_time(terminated, "finishedAt");
		if (json_text_int64(member(terminated, "exitCode"), &n) == 0)
			p->exit_code = (int32_t)n;
	}
	struct span waiting = plain(member(state, "waiting"), "message");
	if (span_starts(waiting, SPAN("since ")))
		(void)!clock_parse(span_make(waiting.ptr + 6, waiting.len - 6), &p->ended);
}

static enum pod_phase phase_of(struct span text)
{
	static const char *const names[] = {"Pending", "Running", "Succeeded", "Failed", "Unknown"};
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (span_is(text, names[i]))
			return (enum pod_phase)i;
	return POD_PENDING;
}

static void read_status(struct sim_pod *p, struct span status)
{
	p->phase = phase_of(plain(status, "phase"));
	p->start_time = read_time(status, "startTime");
	if (!status.len)
		return;
	/* only a scheduler that found no node writes conditions while it is pending */
	p->told_pending = p->phase == POD_PENDING && member(status, "conditions").len > 0;
	read_container(p, status);
}

static struct span pod_uid(const struct sim_pod *p)
{
	return span_make((const char *)p->uid, STORE_UID_LEN);
}

static bool is_over(const struct sim_pod *p)
{
	return p->phase == POD_SUCCEEDED || p->phase == POD_FAILED;
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

static void pending_drop(struct cluster *c, struct sim_pod *p)
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

static void find_owner(struct cluster *c, struct sim_pod *p, struct span metadata)
{
	struct span list = member(metadata, "ownerReferences"), one, key = SPAN_NONE;
	uint8_t uid[STORE_UID_LEN];
	if (!list.len || json_text_type(list) != JSON_ARRAY)
		return;
	for (size_t pos = 0; json_text_next(list, &pos, &key, &one);) {
		if (object_uid_parse(plain(one, "uid"), uid))
			continue;
		struct sim_job *j = map_get(&c->jobs, span_make((const char *)uid, STORE_UID_LEN));
		p->job_name = arena_span(&p->mem, plain(one, "name"));
		if (!p->job_uid.ptr) {
			const char *of = j && j->job_uid ? j->job_uid : NULL;
			if (!of && j && j->parent)
				of = j->parent->job_uid;
			p->job_uid = arena_span(&p->mem, of ? span_of(of) : plain(one, "uid"));
		}
		if (!p->epoch.ptr && j)
			p->epoch = arena_span(&p->mem, span_of(j->epoch	   ? j->epoch
							       : j->parent ? j->parent->epoch
									   : NULL));
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
	struct span meta = part(o, o->extents.metadata), spec = part(o, o->extents.spec);
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
	p->created = read_time(meta, "creationTimestamp");
	p->sched.shape = p->class->shape;
	p->sched.ns = p->ns;
	p->address = ++c->next_address;
	read_labels(p, member(meta, "labels"));
	read_annotations(p, member(meta, "annotations"));
	read_status(p, part(o, o->extents.status));
	p->node = arena_span(&p->mem, plain(spec, "nodeName"));
	for (size_t i = 0; i < p->sched.n_labels && !p->job_uid.ptr; i++)
		if (span_is(p->sched.labels[i].key, POD_LABEL_JOB_UID))
			p->job_uid = p->sched.labels[i].value;
	find_owner(c, p, meta);
	map_put(&c->pods, pod_uid(p), p);
	c->stats.pods++;
	if (is_over(p)) {
		touch_owner(c, p);
		return;
	}
	struct scheduler_node *n = p->node.len ? scheduler_find_node(c->scheduler, p->node) : NULL;
	if (n)
		scheduler_bind(c->scheduler, &p->sched, n);
	if (!p->node.len)
		pending_push(c, p);
	else
		cluster_timer_set(c, c->now, p, NULL);
	p->lost = p->node.len && (!n || !scheduler_node_ready(n));
	p->node_gone = p->node.len && !n;
	touch_owner(c, p);
}

static void log_run(struct cluster *c, struct sim_pod *p, usec end, const char *result)
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
	pending_drop(c, p);
	scheduler_unbind(c->scheduler, &p->sched);
	leave_owner(p);
	map_remove(&c->pods, pod_uid(p));
	pod_class_release(c, p->class);
	arena_done(&p->mem);
	free(p);
	c->stats.pods--;
}

static void count_gone(struct sim_pod *p)
{
	struct sim_job *j = p->owner;
	if (!j || j->type != SIM_BATCH || cluster_jobs_finished(j))
		return;
	/* A pod that went while it ran has failed for its Job, unless the Job itself took it. */
	j->state.batch.gone_succeeded += p->phase == POD_SUCCEEDED;
	j->state.batch.gone_failed += p->phase == POD_FAILED;
}

/* A change from outside: what a controller may have to react to. */
static void reread(struct cluster *c, struct sim_pod *p, const struct store_object *o)
{
	struct span node = plain(part(o, o->extents.spec), "nodeName");
	p->deleting = (o->flags & OBJECT_DELETING) != 0;
	enum pod_phase before = p->phase;
	read_status(p, part(o, o->extents.status));
	if (!is_over(p) && node.len && !p->node.len) { /* bound by somebody else */
		p->node = arena_span(&p->mem, node);
		struct scheduler_node *n = scheduler_find_node(c->scheduler, node);
		pending_drop(c, p);
		if (n)
			scheduler_bind(c->scheduler, &p->sched, n);
		cluster_timer_set(c, c->now, p, NULL);
	}
	if (is_over(p) && before != p->phase) {
		pending_drop(c, p);
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
	if (!p->ours)
		reread(c, p, &ch->object);
	else
		touch_owner(c, p);
	p->ours = false;
	/* Nobody asks about a pod that is over and whose job is over, too. */
	if (is_over(p) && !p->owner && !p->node_gone)
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
		log_run(c, p, c->now, "Killed");
	touch_owner(c, p);
	count_gone(p);
	cluster_pods_forget(c, p);
}

/* ---- birth ---- */

static void add_members(struct buf *out, const char *more, const char *object)
{
	/* object is "{...}"; its members come after ours, and ours win where both say something:
	 * readers take the first of two equal keys, so equal ones are left out. */
	struct span key, value, text = span_of(object);
	bool any = *more != 0;
	buf_add_str(out, more);
	for (size_t pos = 0; json_text_next(text, &pos, &key, &value);) {
		char quoted[340]; /* ours are shorter than that */
		snprintf(quoted, sizeof(quoted), "\"%.*s\":", SPAN_ARGS(key));
		if (strstr(more, quoted))
			continue;
		buf_add_str(out, any ? ",\"" : "\"");
		buf_add_span(out, key);
		buf_add_str(out, "\":");
		buf_add_span(out, value);
		any = true;
	}
}

int cluster_pods_create(struct cluster *c, const struct pod_birth *birth)
{
	const struct sim_job *j = birth->job;
	struct span ns = span_of(j->ns), name = span_of(birth->name);
	struct store_object there;
	struct object_draft d;
	struct err why = ERR_INIT;
	struct writer w;
	uint8_t uid[STORE_UID_LEN];
	int rc = registry_get(c->batch, c->pod_kind, ns, name, &there);
	if (rc != -ENOENT)
		return rc ? rc : -EEXIST;
	registry_new_uid(c->reg, uid);
	writer_begin(&w, c->pod_kind, ns, birth->name, uid, c->now);
	buf_add_str(&w.text, ",\"labels\":{");
	add_members(&w.text, birth->labels, birth->set->labels);
	buf_add_str(&w.text, "},\"annotations\":{");
	char mine[600];
	snprintf(mine, sizeof(mine), "%s%s\"" SLOT_ANNOTATION "\":\"%d.%d.%d\"%s",
		 birth->annotations, *birth->annotations ? "," : "", birth->slot.set,
		 birth->slot.index, birth->slot.attempt,
		 birth->forever ? ",\"" FOREVER_ANNOTATION "\":\"true\"" : "");
	add_members(&w.text, mine, birth->set->annotations);
	buf_add_char(&w.text, '}');
	writer_owner(&w, j->kind, j->name, j->uid);
	writer_end_metadata(&w);
	writer_part(&w, "spec", span_of(birth->set->spec));
	writer_part(&w, "status", SPAN("{\"phase\":\"Pending\",\"qosClass\":\"Burstable\"}"));
	rc = writer_finish(&w, &d, &why);
	if (!rc && *birth->spec_front) {
		rc = writer_insert_in_spec(&d, birth->spec_front, &why);
		if (rc)
			object_draft_done(&d);
	}
	if (rc)
		return cluster_fail(c, &why);
	return registry_put(c->batch, c->pod_kind, ns, name, &d);
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

/* ---- status ---- */

/* Writes the record's state into the object; bind: with spec.nodeName. */
static int put_status(struct cluster *c, struct sim_pod *p, const struct store_object *o, bool bind,
		      const char *why)
{
	struct err err = ERR_INIT;
	struct object_draft d;
	auto_buf status = BUF_INIT;
	pod_status_print(p, why, c->now, &status);
	int rc = object_draft_splice_status(o, buf_span(&status), false, &d, &err);
	if (!rc && bind) {
		char text[300];
		snprintf(text, sizeof(text), "\"nodeName\":\"%.*s\",", SPAN_ARGS(p->node));
		rc = writer_insert_in_spec(&d, text, &err);
		if (rc)
			object_draft_done(&d);
	}
	if (rc)
		return cluster_fail(c, &err);
	p->ours = true;
	return registry_put(c->batch, c->pod_kind, p->ns, p->name, &d);
}

static int current(struct cluster *c, const struct sim_pod *p, struct store_object *ret)
{
	return cluster_current(c, c->pod_kind, p->ns, p->name, p->revision, ret);
}

static void start(struct cluster *c, struct sim_pod *p)
{
	p->phase = POD_RUNNING;
	p->started = c->now;
	c->stats.pods_started++;
	if (!p->start_time)
		p->start_time = c->now;
	if (p->class->n_containers)
		cluster_event(c, c->pod_kind, p->ns, p->name, p->uid_text, "kubelet", false,
			      "Started", "Started container %s", p->class->containers[0].name);
	if (!p->forever)
		cluster_timer_set(c, p->started + p->duration / c->options.time_scale, p, NULL);
}

/* ---- binding ---- */

static bool bind_one(struct cluster *c, struct sim_pod *p)
{
	const char *why = NULL;
	struct store_object o;
	if (p->deleting || current(c, p, &o))
		return true; /* overtaken: the next step sees what became of it */
	struct scheduler_node *n = scheduler_place(c->scheduler, &p->sched, &why);
	if (!n) {
		if (p->told_pending)
			return true;
		p->told_pending = true;
		cluster_event(c, c->pod_kind, p->ns, p->name, p->uid_text, "default-scheduler",
			      true, "FailedScheduling", "%s", why);
		(void)!put_status(c, p, &o, false, why);
		return true;
	}
	pending_drop(c, p);
	scheduler_bind(c->scheduler, &p->sched, n);
	p->node = arena_span(&p->mem, scheduler_node_name(n));
	cluster_event(c, c->pod_kind, p->ns, p->name, p->uid_text, "default-scheduler", false,
		      "Scheduled", "Successfully assigned %.*s/%.*s to %.*s", SPAN_ARGS(p->ns),
		      SPAN_ARGS(p->name), SPAN_ARGS(p->node));
	start(c, p);
	(void)!put_status(c, p, &o, true, NULL);
	return true;
}

bool cluster_pods_schedule(struct cluster *c)
{
	uint64_t generation = scheduler_generation(c->scheduler);
	if (!c->pending)
		c->pending_new = false;
	if (!c->pending_new && c->scheduled_at == generation)
		return true;
	for (struct sim_pod *p = c->pending, *next; p; p = next) {
		next = p->next_pending;
		if (registry_batch_room(c->batch) < ROWS_PER_POD + REGISTRY_RESERVE)
			return false;
		if (p->told_pending && scheduler_is_hopeless(c->scheduler, &p->sched))
			continue;
		bind_one(c, p);
	}
	c->pending_new = false;
	c->scheduled_at = generation;
	return true;
}

/* ---- the kubelet ---- */

static void end_run(struct cluster *c, struct sim_pod *p, const char *result)
{
	usec end = c->now;
	/* A run that was over while nobody simulated it ended when it should have. */
	usec due = p->started + p->duration / c->options.time_scale;
	if (!p->forever && due < end)
		end = due;
	if (p->started)
		log_run(c, p, end, result);
	p->ended = end;
}

static void finish(struct cluster *c, struct sim_pod *p, enum pod_next next,
		   const struct store_object *o)
{
	bool good = next == POD_NEXT_SUCCEEDED;
	end_run(c, p, good ? "Succeeded" : next == POD_NEXT_LOST ? "Killed" : "Failed");
	p->phase = good ? POD_SUCCEEDED : POD_FAILED;
	if (next == POD_NEXT_LOST && !p->exit_code)
		p->exit_code = 137;
	scheduler_unbind(c->scheduler, &p->sched);
	(void)!put_status(c, p, o, false, NULL);
	if (p->node_gone)
		cluster_timer_set(c, c->now, p, NULL);
}

void cluster_pods_due(struct cluster *c, struct sim_pod *p)
{
	struct store_object o;
	usec at = 0;
	if (p->phase == POD_PENDING && p->node.len && !p->lost && !p->deleting) {
		/* bound by somebody else: the kubelet takes it up */
		if (current(c, p, &o) == 0) {
			start(c, p);
			(void)!put_status(c, p, &o, false, NULL);
		}
		return;
	}
	enum pod_next next = pod_status_decide(p, c->now, c->options.time_scale, &at);
	if (next == POD_NEXT_NOTHING) {
		if (at)
			cluster_timer_set(c, at, p, NULL);
		return;
	}
	int rc = current(c, p, &o);
	if (rc == -ESTALE)
		cluster_timer_set(c, c->now, p, NULL);
	if (rc)
		return;
	switch (next) {
	case POD_NEXT_START:
		p->restarts++;
		start(c, p);
		(void)!put_status(c, p, &o, false, NULL);
		break;
	case POD_NEXT_BACKOFF:
		end_run(c, p, p->exit_code ? "Failed" : "Succeeded");
		p->started = 0;
		(void)!put_status(c, p, &o, false, NULL);
		cluster_timer_set(c, at, p, NULL);
		break;
	case POD_NEXT_REMOVE:
		(void)!cluster_pods_delete(c, p);
		break;
	default:
		finish(c, p, next, &o);
	}
}

void cluster_pods_lost(struct cluster *c, struct scheduler_node *n, bool node_gone)
{
	for (struct scheduler_pod *sp = scheduler_node_pods(n), *next; sp; sp = next) {
		struct sim_pod *p = (struct sim_pod *)sp;
		next = sp->next;
		p->lost = true;
		p->node_gone = node_gone;
		if (node_gone)
			scheduler_unbind(c->scheduler, sp);
		cluster_timer_set(c, c->now, p, NULL);
	}
}

#include "core/kueue/workload_row.h"

#include "base/json.h"
#include "core/job.h"
#include "core/kueue/checks_told.h"
#include "core/kueue/cluster_queue.h"
#include "core/kueue/prebuilt.h"
#include "core/kueue/workload_restore.h"
#include "core/object_writer.h"
#include "core/recorder.h"
#include "kinds/job_path.h"

static const struct kind *workload_kind(const struct core *c)
{
	return kind_by_type(c->kinds, TYPE_WORKLOAD);
}

/* ---- the spec, from a job ---- */

/* A submitter that the user gave no template: what KubeRay makes then. */
#define PLAIN_SUBMITTER                                                                            \
	"{\"spec\":{\"containers\":[{\"name\":\"ray-job-submitter\",\"resources\":{\"limits\":{"   \
	"\"cpu\":\"1\",\"memory\":\"1Gi\"},\"requests\":{\"cpu\":\"500m\",\"memory\":\"200Mi\"}}"  \
	"}],\"restartPolicy\":\"Never\"}}"

static void add_pod_sets(const struct workload_digest *d, struct span job, struct buf *b)
{
	buf_add_str(b, "{\"podSets\":[");
	for (size_t i = 0; i < d->n_pod_sets; i++) {
		const struct job_pod_set *s = &d->pod_sets[i];
		struct span text = SPAN(PLAIN_SUBMITTER);
		if (s->path.len && job_path_find(job, s->path, &text) < 0)
			text = SPAN("{\"spec\":{\"containers\":[]}}");
		buf_add_str(b, i ? ",{\"name\":" : "{\"name\":");
		buf_add_json_str(b, s->name);
		buf_addf(b, ",\"count\":%lld", (long long)s->count);
		if (s->min_count)
			buf_addf(b, ",\"minCount\":%lld", (long long)s->min_count);
		if (topology_request_asks(&s->topology)) {
			buf_add_str(b, ",\"topologyRequest\":");
			topology_request_print(&s->topology, b);
		}
		buf_add_str(b, ",\"template\":");
		buf_add_span(b, text);
		buf_add_char(b, '}');
	}
	buf_add_char(b, ']');
}

static void add_priority(const struct workload_digest *d, struct buf *b)
{
	static const char *const refs[] = {
	    [WORKLOAD_PRIORITY_CLASS] = "kueue.x-k8s.io\",\"kind\":\"WorkloadPriorityClass",
	    [WORKLOAD_PRIORITY_POD_CLASS] = "scheduling.k8s.io\",\"kind\":\"PriorityClass",
	};

	buf_addf(b, ",\"priority\":%d", d->priority);
	if (d->priority_source == WORKLOAD_PRIORITY_NONE)
		return;
	buf_addf(b, ",\"priorityClassRef\":{\"group\":\"%s\",\"name\":", refs[d->priority_source]);
	buf_add_json_str(b, d->priority_class);
	buf_add_char(b, '}');
}

static void add_spec(const struct workload *w, const struct workload_digest *d, struct span job,
		     struct buf *b)
{
	add_pod_sets(d, job, b);
	if (d->queue_name.len) {
		buf_add_str(b, ",\"queueName\":");
		buf_add_json_str(b, d->queue_name);
	}
	add_priority(d, b);
	buf_addf(b, ",\"active\":%s", w->inactive ? "false" : "true");
	if (d->max_execution_seconds)
		buf_addf(b, ",\"maximumExecutionTimeSeconds\":%lld",
			 (long long)d->max_execution_seconds);
	buf_add_char(b, '}');
}

/* ---- drafts ---- */

/* The whole object anew, from its job; the status that stands is kept and edited. */
static int draft_from_job(struct core *c, struct workload *w, const struct store_object *stored,
			  struct object_draft *ret, struct err *reterr)
{
	const struct job *j = w->job;
	auto_arena mem = ARENA_INIT;
	auto_buf digest = BUF_INIT, labels = BUF_INIT, annotations = BUF_INIT;
	struct span v;
	struct workload_digest d;
	struct store_object job;
	struct object_writer o;
	struct managed_write by = core_manager(c, workload_kind(c));
	bool finished;

	if (registry_get(c->batch, j->kind, span_of(j->ns), span_of(j->name), &job) < 0)
		return err_set(reterr, ERR_NOT_FOUND, "its job is gone");
	int r = workload_compose(c, j, &mem, &d, reterr);
	if (r < 0)
		return r;
	d.priority = w->priority;
	d.inactive = w->inactive;
	buf_addf(&labels, "{\"kueue.x-k8s.io/job-uid\":\"%s\"}", j->uid_text);
	if (stored && json_text_path(stored->json, &v, "metadata", "annotations", NULL) == 0)
		buf_add_span(&annotations, v);
	object_writer_begin(&o, &(struct object_head){
				    .kind = workload_kind(c),
				    .ns = w->ns,
				    .name = w->name,
				    .uid = w->uid,
				    .created = w->created,
				    .generation = ++w->generation,
				    .labels = labels.ptr,
				    .annotations = annotations.ptr,
				    .owner_kind = j->kind,
				    .owner_name = j->name,
				    .owner_uid = j->uid,
				    .owner_controller = true,
				    .finalizer = KUEUE_FINALIZER,
				    .by = &by,
				});
	object_writer_spec(&o);
	add_spec(w, &d, job.json, &o.text);
	object_writer_status(&o);
	workload_status_write(
	    w, stored ? store_object_part(stored, stored->extents.status) : SPAN_NONE, c->now,
	    &o.text, &finished);
	workload_digest_pack(&d, &digest);
	object_writer_digest(&o, buf_span(&digest));
	if (finished)
		o.draft.flags |= OBJECT_FINISHED;
	if (stored)
		o.draft.flags |= stored->flags & OBJECT_DELETING;
	r = object_writer_end(&o, ret, reterr);
	if (r == 0 && stored)
		managed_draft_edited(&by, stored, ret);
	return r;
}

/* What the job that a user made it for says of it: its queue, and the class that it names. */
static void edit_spec(const struct workload *w, struct cJSON *spec)
{
	int64_t priority;

	if (w->queue)
		json_set(spec, "queueName", json_new_span(w->queue->name));
	if (json_int64(spec, "priority", &priority) < 0)
		priority = 0;
	if (priority != w->priority)
		json_set_int(spec, "priority", w->priority);
	if (w->priority_source != WORKLOAD_PRIORITY_CLASS || !w->priority_class)
		return;
	struct cJSON *ref = json_object();
	json_set_str(ref, "group", "kueue.x-k8s.io");
	json_set_str(ref, "kind", "WorkloadPriorityClass");
	json_set_str(ref, "name", w->priority_class);
	json_set(spec, "priorityClassRef", ref);
}

/* A spec that a user wrote is edited as a tree, beside the status. */
static int draft_edited(struct core *c, struct workload *w, const struct store_object *stored,
			struct object_draft *ret, struct err *reterr)
{
	struct managed_write by = core_manager(c, workload_kind(c));
	auto_json *tree = NULL, *was = NULL;
	auto_buf status = BUF_MAX(STORE_MAX_OBJECT);
	bool finished;

	int r = object_tree(stored, &tree, reterr);
	if (r < 0)
		return r;
	struct cJSON *spec = json_ensure_object(tree, "spec");
	was = json_dup(spec);
	if (w->prebuilt)
		prebuilt_own(tree, w->job);
	if (w->prebuilt)
		edit_spec(w, spec);
	if (workload_edit_deactivates(w))
		json_set_bool(spec, "active", false);
	if (!json_equal(was, spec))
		json_set_int(json_ensure_object(tree, "metadata"), "generation", ++w->generation);
	workload_status_write(w, store_object_part(stored, stored->extents.status), c->now, &status,
			      &finished);
	auto_json *text = NULL;
	r = json_parse(buf_span(&status), NULL, &text, reterr);
	if (r < 0)
		return r;
	json_set(tree, "status", steal_ptr(&text));
	r = object_draft_from_tree(workload_kind(c), tree, ret, reterr);
	if (r == 0)
		managed_draft_edited(&by, stored, ret);
	return r;
}

static int draft_status(struct core *c, const struct workload *w, const struct store_object *stored,
			struct object_draft *ret, struct err *reterr)
{
	auto_buf status = BUF_MAX(STORE_MAX_OBJECT);
	bool finished;

	workload_status_write(w, store_object_part(stored, stored->extents.status), c->now, &status,
			      &finished);
	if (!buf_ok(&status))
		return err_set(reterr, ERR_TOO_LARGE, "the status is too large");
	return core_splice_status(c, workload_kind(c), stored, buf_span(&status), finished, ret,
				  reterr);
}

static int draft_of(struct core *c, struct workload *w, const struct store_object *stored,
		    struct object_draft *ret, struct err *reterr)
{
	bool edits = w->respec || workload_edit_deactivates(w);

	if (w->job && !w->prebuilt && (!stored || edits))
		return draft_from_job(c, w, stored, ret, reterr);
	if (!stored)
		return err_set(reterr, ERR_NOT_FOUND, "the Workload is gone");
	if (edits)
		return draft_edited(c, w, stored, ret, reterr);
	return draft_status(c, w, stored, ret, reterr);
}

/* ---- rows ---- */

static void write_row(struct core *c, struct workload *w)
{
	const struct kind *kind = workload_kind(c);
	struct object_draft draft;
	struct store_object o;
	struct err err = ERR_INIT;

	bool stored = registry_get(c->batch, kind, w->ns, w->name, &o) == 0;
	w->generation = stored ? object_generation(&o) : 0;
	/* Somebody else's of that name: the job's takes its place. */
	if (stored && memcmp(o.uid, w->uid, STORE_UID_LEN) != 0 && w->job && !w->prebuilt &&
	    !w->exists) {
		memcpy(w->uid, o.uid, STORE_UID_LEN);
		object_uid_format(w->uid, w->uid_text);
	} else if (stored && memcmp(o.uid, w->uid, STORE_UID_LEN) != 0) {
		return;
	}
	/* What stands there was not looked at yet: it is, after this commit. */
	bool unseen = stored && w->exists && o.revision != w->revision;
	if (draft_of(c, w, stored ? &o : NULL, &draft, &err) < 0) {
		if (err.kind != ERR_NOT_FOUND)
			log_error(c->log, "workload not written", "workload=%s error=\"%s\"",
				  w->key, err.text);
		return;
	}
	if (core_put(c, kind, w->ns, w->name, &draft) < 0)
		return;
	/* A user's edit of the same batch gives the quota that it takes no place before the rows
	 * that give that quota back. */
	registry_put_last(c->batch, kind, w->ns, w->name);
	w->own = !unseen;
	w->exists = true;
	w->respec = false;
}

static void write_events(struct core *c, struct workload *w)
{
	vec_foreach (&w->events, e)
		recorder_write_about(c, &(struct recorder_event){
					    .kind = workload_kind(c),
					    .ns = w->ns,
					    .name = w->name,
					    .uid_text = w->uid_text,
					    .component = e->component,
					    .type = e->type,
					    .reason = e->reason,
					    .message = e->message,
					});
	workload_drop_events(w);
}

static void tell_checks(struct core *c, struct workload *w)
{
	auto_arena mem = ARENA_INIT;
	struct workload_status s;
	struct store_object o;

	if (!w->job || registry_get(c->batch, workload_kind(c), w->ns, w->name, &o) < 0)
		return;
	workload_status_read(&o, &mem, &s);
	checks_told_review(c, w, &s);
}

void workload_flush(struct core *c, struct workload *w)
{
	bool checks = workload_edit_has_checks(w);

	w->dirty = false;
	if (w->edit || w->respec)
		write_row(c, w);
	if (checks)
		tell_checks(c, w);
	workload_edit_free(w);
	w->admitted_before = 0;
	write_events(c, w);
}

void workload_drop_row(struct core *c, const struct workload *w)
{
	struct store_object o;

	if (registry_get(c->batch, workload_kind(c), w->ns, w->name, &o) == 0 &&
	    memcmp(o.uid, w->uid, STORE_UID_LEN) == 0)
		core_delete(c, workload_kind(c), w->ns, w->name);
}

#include "core/kueue/prebuilt.h"

#include "base/json.h"
#include "core/admission/settle.h"
#include "core/job.h"
#include "core/kueue/admission.h"
#include "core/kueue/cluster_queue.h"
#include "core/kueue/evict.h"
#include "core/kueue/finish.h"
#include "core/kueue/pods_ready.h"
#include "core/kueue/priority_class.h"
#include "core/kueue/provisioning_check.h"
#include "core/kueue/ready.h"
#include "core/kueue/workload_read.h"
#include "core/kueue/workload_restore.h"
#include "core/kueue/workload_status.h"
#include "core/retention.h"
#include "kinds/job_keys.h"
#include "kinds/job_path.h"
#include "kinds/pod_set_equal.h"

#include <stdlib.h>

/* Words and events of the reconciler's. */
#define FINISHED   "The prebuilt workload is already finished"
#define NOT_FOUND  "prebuilt workload not found"
#define CONTROLLED "The workload is already controlled by another object"

static const struct kind *workload_kind(const struct core *c)
{
	return kind_by_type(c->kinds, TYPE_WORKLOAD);
}

static int get_row(struct core *c, const struct job *j, struct store_object *ret)
{
	return registry_get(c->batch, workload_kind(c), span_of(j->ns), j->digest.prebuilt, ret);
}

/* ---- who names which ---- */

struct awaited {
	struct VEC(struct job *) jobs; /* all that name it, in no order */
};

static void await(struct core *c, struct job *j)
{
	auto_buf key = BUF_INIT;

	buf_addf(&key, "%s/%.*s", j->ns, SPAN_ARGS(j->digest.prebuilt));
	if (j->awaits && span_is(buf_span(&key), j->awaits))
		return;
	prebuilt_forget(c, j);
	struct awaited *a = map_get(&c->kueue->awaited, buf_span(&key));
	if (!a) {
		a = xcalloc(1, sizeof(*a));
		map_put(&c->kueue->awaited, buf_span(&key), a);
	}
	vec_push(&a->jobs, j);
	j->awaits = buf_steal(&key, NULL);
}

void prebuilt_forget(struct core *c, struct job *j)
{
	struct awaited *a = j->awaits ? map_get(&c->kueue->awaited, span_of(j->awaits)) : NULL;
	size_t at = 0;

	while (a && at < a->jobs.len && a->jobs.items[at] != j)
		at++;
	if (a && at < a->jobs.len)
		a->jobs.items[at] = a->jobs.items[--a->jobs.len];
	if (a && !a->jobs.len) {
		(void)map_remove(&c->kueue->awaited, span_of(j->awaits));
		vec_done(&a->jobs);
		free(a);
	}
	free(j->awaits);
	j->awaits = NULL;
}

void prebuilt_done(struct kueue *k)
{
	map_foreach (&k->awaited, e) {
		struct awaited *a = e->value;
		vec_done(&a->jobs);
		free(a);
	}
	map_done(&k->awaited);
}

static int by_age(const void *a, const void *b)
{
	const struct job *x = *(struct job *const *)a, *y = *(struct job *const *)b;

	return x->first_attempt < y->first_attempt   ? -1
	       : x->first_attempt > y->first_attempt ? 1
						     : strcmp(x->uid_text, y->uid_text);
}

/* The oldest job gets it. */
void prebuilt_look(struct core *c, struct span ns, struct span name)
{
	struct VEC(struct job *) waiting = {0};
	auto_buf key = BUF_INIT;

	if (!c->kueue->awaited.len)
		return;
	buf_addf(&key, "%.*s/%.*s", SPAN_ARGS(ns), SPAN_ARGS(name));
	const struct awaited *a = map_get(&c->kueue->awaited, buf_span(&key));
	if (!a)
		return;
	vec_foreach (&a->jobs, p)
		if (!(*p)->workload && dispatch_is_free(&(*p)->dispatch))
			vec_push(&waiting, *p);
	if (waiting.len)
		qsort(waiting.items, waiting.len, sizeof(*waiting.items), by_age);
	vec_foreach (&waiting, p)
		settle_offer(c, *p);
	vec_done(&waiting);
}

/* ---- whose it is ---- */

static struct cJSON *controller_of(const struct cJSON *owners)
{
	json_foreach (owners, one)
		if (json_bool(one, "controller", false))
			return one;
	return NULL;
}

static bool is_controlled_by(const struct store_object *o, const struct job *j, bool *ret_other)
{
	auto_json *owners = NULL;
	struct span text;
	bool is = false;

	*ret_other = false;
	if (json_text_path(o->json, &text, "metadata", "ownerReferences", NULL) < 0 ||
	    json_parse(text, NULL, &owners, NULL) < 0)
		return false;
	const struct cJSON *one = controller_of(owners);
	const char *uid = one ? json_str(one, "uid") : NULL;
	is = uid && strcmp(uid, j->uid_text) == 0;
	*ret_other = one && !is;
	return is;
}

bool prebuilt_belongs(const struct job *j, const struct store_object *o)
{
	bool other;

	return span_eq(o->key.name, j->digest.prebuilt) && is_controlled_by(o, j, &other);
}

static void add_finalizer(struct cJSON *meta)
{
	if (!json_is(json_get(meta, "finalizers"), JSON_ARRAY))
		json_set(meta, "finalizers", json_array());
	struct cJSON *list = json_get(meta, "finalizers");
	json_foreach (list, one) {
		const char *text = json_value_str(one);
		if (text && strcmp(text, KUEUE_FINALIZER) == 0)
			return;
	}
	json_append(list, json_new_str(KUEUE_FINALIZER));
}

void prebuilt_own(struct cJSON *tree, const struct job *j)
{
	struct cJSON *meta = json_ensure_object(tree, "metadata");
	char api_version[KIND_API_VERSION_MAX];

	if (!json_is(json_get(meta, "ownerReferences"), JSON_ARRAY))
		json_set(meta, "ownerReferences", json_array());
	struct cJSON *owners = json_get(meta, "ownerReferences");
	add_finalizer(meta);
	json_set_str(json_ensure_object(meta, "labels"), "kueue.x-k8s.io/job-uid", j->uid_text);
	if (controller_of(owners))
		return;
	json_foreach (owners, one) {
		const char *uid = json_str(one, "uid");
		if (!uid || strcmp(uid, j->uid_text) != 0)
			continue;
		json_remove_child(owners, one);
		break;
	}
	struct cJSON *owner = json_object();
	json_set_str(owner, "apiVersion", kind_api_version(j->kind, api_version));
	json_set_str(owner, "kind", j->kind->kind);
	json_set_str(owner, "name", j->name);
	json_set_str(owner, "uid", j->uid_text);
	json_set_bool(owner, "controller", true);
	json_set_bool(owner, "blockOwnerDeletion", true);
	json_append(owners, owner);
}

/* ---- whether it is the job's ---- */

static bool same_topology(const struct topology_request *a, const struct topology_request *b)
{
	auto_buf x = BUF_INIT, y = BUF_INIT;

	if (!topology_request_asks(a) && !topology_request_asks(b))
		return true;
	topology_request_print(a, &x);
	topology_request_print(b, &y);
	return span_eq(buf_span(&x), buf_span(&y));
}

static bool same_set(const struct job_pod_set *was, const struct job_pod_set *is,
		     struct span template, struct span job, bool admitted)
{
	struct span text;

	if (!span_eq(was->name, is->name) || was->count != is->count ||
	    was->min_count != is->min_count || !same_topology(&was->topology, &is->topology))
		return false;
	return !is->path.len || (job_path_find(job, is->path, &text) == 0 &&
				 pod_set_equal_text(template, text, !admitted));
}

bool prebuilt_is_in_sync(struct core *c, const struct job *j, const struct workload *w,
			 const struct store_object *o)
{
	auto_arena mem = ARENA_INIT;
	struct workload_digest was, is;
	struct span sets, set, template;
	struct store_object job;
	struct err err = ERR_INIT;
	size_t i = 0, pos = 0;

	if (workload_digest_unpack(o->digest, &mem, &was) < 0 ||
	    workload_compose(c, j, &mem, &is, &err) < 0 ||
	    registry_get(c->batch, j->kind, span_of(j->ns), span_of(j->name), &job) < 0 ||
	    was.n_pod_sets != is.n_pod_sets ||
	    json_text_path(o->json, &sets, "spec", "podSets", NULL) < 0 ||
	    json_text_type(sets) != JSON_ARRAY)
		return false;
	for (; i < is.n_pod_sets && json_text_next(sets, &pos, NULL, &set); i++)
		if (json_text_member(set, "template", &template) < 0 ||
		    !same_set(&was.pod_sets[i], &is.pod_sets[i], template, job.json,
			      w->admitted_at))
			return false;
	return i == is.n_pod_sets;
}

/* ---- it becomes the job's ---- */

/* What it held without nodes is held for a job that has none yet. */
static void wait_for_nodes(struct core *c, struct workload *w, const struct store_object *o)
{
	auto_arena mem = ARENA_INIT;
	struct workload_status s;

	if (w->evicted_at) { /* it has no pods that would have to go first */
		evict_released(c, w);
		return;
	}
	if (w->unit->state == KUEUE_ADMITTED) {
		w->admitted_before = w->admitted_at;
		w->admitted_at = w->unready_since = 0;
		w->was_ready = false;
		workload_uncount_usage(c, w);
		kueue_queues_unadmitted(c->kueue->queues, w->unit);
		workload_count_usage(c, w);
		workload_set_condition(c, w, "Admitted", false, WORKLOAD_PENDING_PLACEMENT,
				       "The workload has quota, and waits for a member cluster "
				       "that takes its job");
		pods_ready_begin(c, w);
		admission_checks_ready(c, w);
		return;
	}
	provisioning_check_mark(c, w);
	workload_status_read(o, &mem, &s);
	workload_read_checks(c, w, &s);
}

static void adopt(struct core *c, struct job *j, struct workload *w)
{
	workload_take_job(c, w, j);
	w->respec = true;
	workload_dirty(c, w);
	settle_unhold(j);
	if (w->told)
		settle_tell(c, j, w->told);
}

static void hold(struct core *c, struct job *j, const char *words)
{
	auto_buf text = BUF_INIT;

	buf_addf(&text, "%s: %s/%.*s", words, j->ns, SPAN_ARGS(j->digest.prebuilt));
	settle_hold(c, j, HOLD_PREBUILT, text.ptr);
}

/* Both for one that ends now and for one that did. */
static void hold_finished(struct core *c, struct job *j, const struct store_object *o)
{
	auto_arena mem = ARENA_INIT;
	struct workload_status s;

	workload_status_read(o, &mem, &s);
	hold(c, j, span_is(s.finished.reason, "OutOfSync") ? PREBUILT_OUT_OF_SYNC : FINISHED);
}

/* The record of the Workload that it names, its own or free to take; NULL: the job is held. */
static struct workload *find(struct core *c, struct job *j, struct store_object *ret)
{
	struct workload *w = j->workload;
	bool other = false;
	int r = get_row(c, j, ret);

	if (w && (r < 0 || memcmp(w->uid, ret->uid, STORE_UID_LEN) != 0)) {
		workload_destroy(c, w);
		w = NULL;
	}
	if (r < 0 || (!w && ret->flags & OBJECT_DELETING)) {
		hold(c, j, NOT_FOUND);
		return NULL;
	}
	if (w)
		return w;
	if (ret->flags & OBJECT_FINISHED) {
		hold_finished(c, j, ret);
		return NULL;
	}
	w = workload_find(c, ret->key.ns, ret->key.name);
	if (!is_controlled_by(ret, j, &other) && (other || (w && w->job))) {
		hold(c, j, CONTROLLED);
		return NULL;
	}
	/* At start the rows of no job are read after the jobs: it is looked at again then. */
	if (!w && !c->restoring) {
		workload_observe(c, ret);
		w = workload_find(c, ret->key.ns, ret->key.name);
	}
	if (!w || w->job || memcmp(w->uid, ret->uid, STORE_UID_LEN) != 0) {
		hold(c, j, NOT_FOUND);
		return NULL;
	}
	return w;
}

/* Not in sync: it ends with the job as its owner, as Kueue has it. */
static void end(struct core *c, struct job *j, struct workload *w)
{
	if (!w->job)
		adopt(c, j, w);
	finish_out_of_sync(c, w, PREBUILT_OUT_OF_SYNC);
	hold(c, j, PREBUILT_OUT_OF_SYNC);
}

void prebuilt_ended(struct core *c, struct workload *w)
{
	retention_workload(c, w->ns, w->name, w->uid);
	workload_destroy(c, w);
}

/* ---- with its job ---- */

static void file(struct core *c, struct workload *w, struct span queue,
		 const struct workload_digest *d)
{
	workload_enter_queue(c, w, queue);
	if (!span_eq(d->queue_name, queue) && queue.len) {
		w->respec = true;
		workload_dirty(c, w);
	}
	workload_recount(c, w, d);
}

void prebuilt_offer(struct core *c, struct job *j, struct span queue)
{
	auto_arena mem = ARENA_INIT;
	struct workload_digest d;
	struct store_object o;

	if (j->workload && j->workload->over)
		return;
	await(c, j);
	struct workload *w = find(c, j, &o);
	if (!w)
		return;
	if (workload_digest_unpack(o.digest, &mem, &d) < 0 || !prebuilt_is_in_sync(c, j, w, &o)) {
		end(c, j, w);
		return;
	}
	bool comes = !w->job;
	if (comes)
		adopt(c, j, w);
	if (comes && workload_holds_quota(w))
		wait_for_nodes(c, w, &o);
	prebuilt_follow_class(c, j);
	if (!workload_holds_quota(w))
		file(c, w, queue, &d);
	c->pump_wanted = true;
}

void prebuilt_refile(struct core *c, struct job *j)
{
	struct workload *w = j->workload;
	auto_arena mem = ARENA_INIT;
	struct workload_digest d;
	struct store_object o;

	await(c, j);
	if (get_row(c, j, &o) == 0 && workload_digest_unpack(o.digest, &mem, &d) == 0)
		workload_recount(c, w, &d);
}

void prebuilt_follow_class(struct core *c, struct job *j)
{
	struct workload *w = j->workload;
	struct workload_digest d = {
	    .priority_source = WORKLOAD_PRIORITY_CLASS,
	    .priority_class = job_digest_label(&j->digest, JOB_KEY_PRIORITY_CLASS),
	};

	if (!d.priority_class.len ||
	    (w->priority_source == WORKLOAD_PRIORITY_CLASS && w->priority_class &&
	     span_is(d.priority_class, w->priority_class)))
		return;
	workload_take_priority(c, w, &d);
	w->respec = true;
	workload_dirty(c, w);
}

/* ---- without it ---- */

/* Whoever took the finalizer off does not get its quota for others while its pods run. */
void prebuilt_gone(struct core *c, struct workload *w)
{
	static const struct eviction gone = {.reason = "Deactivated", .cause = ""};
	struct job *j = w->job;

	w->exists = false;
	if (!dispatch_is_free(&j->dispatch)) {
		evict_workload(c, w, &gone, "The workload was deleted");
		return;
	}
	workload_destroy(c, w);
	c->pump_wanted = true;
	settle_offer(c, j);
}

void prebuilt_leave(struct core *c, struct workload *w)
{
	auto_arena mem = ARENA_INIT;
	struct workload_digest d;
	struct store_object o;
	struct job *j = w->job;

	if (w->over || get_row(c, j, &o) < 0 || workload_digest_unpack(o.digest, &mem, &d) < 0) {
		workload_destroy(c, w);
		return;
	}
	workload_lose_job(c, w);
	workload_recount(c, w, &d);
}

#include "core/dispatch/copy_order.h"

#include "base/json.h"
#include "core/dispatch/amend.h"
#include "core/domain.h"
#include "core/kueue/pod_set_updates.h"
#include "core/member.h"
#include "kinds/job_amend.h"
#include "kinds/job_rewrite.h"

struct copy_build {
	const struct kind *kind;
	char hub_uid[OBJECT_UID_TEXT], job_uid[OBJECT_UID_TEXT];
	uint64_t epoch;
};

/* A member of the body beside metadata and spec: what the job's queue adds. */
#define UPDATES "podSetUpdates"
/* Another: the copy as it was read. */
#define PRESENT "present"
/* Another: the paths of what it lacks. */
#define EDITS "edits"

/* Net thread. */
static int build_copy(struct order *o, struct err *reterr)
{
	const struct copy_build *b = o->build_arg;
	struct buf out = BUF_MAX(2 * STORE_MAX_OBJECT);
	auto_json *job = NULL;

	int r = json_parse(span_make(o->body, o->body_len), NULL, &job, reterr);
	auto_json *updates = r == 0 ? json_take(job, UPDATES) : NULL;
	auto_json *present = r == 0 ? json_take(job, PRESENT) : NULL;
	auto_json *edits = r == 0 ? json_take(job, EDITS) : NULL;
	const struct job_copy_options options = {.hub_uid = b->hub_uid,
						 .job_uid = b->job_uid,
						 .epoch = b->epoch,
						 .suspend = !edits,
						 .pod_set_updates = updates};
	if (r == 0 && edits)
		r = job_amend(b->kind, present, job, edits, &options, &out, reterr);
	else if (r == 0)
		r = present ? job_rewrite(b->kind, present, job, &options, &out, reterr)
			    : job_copy_make(b->kind, job, &options, &out, reterr);
	if (r < 0) {
		buf_done(&out);
		return r;
	}
	free(o->body);
	o->body = buf_steal(&out, &o->body_len);
	return o->body ? 0 : err_set(reterr, ERR_TOO_LARGE, "the copy is too large");
}

static struct order *call(const struct member *m, const char *method, char *take_path)
{
	struct order *o = order_create(ORDER_CALL, m->number);
	o->method = method;
	o->path = take_path;
	return o;
}

/* What a copy is made of: metadata and spec. Managers' fields may be more than all the rest, and
 * none of them leaves the hub. */
static char *copy_parts(const struct store_object *o, const struct buf *updates,
			struct span present, struct span edits, size_t *ret_len)
{
	struct span key, value, meta = store_object_part(o, o->extents.metadata);
	struct buf b = BUF_MAX(2 * STORE_MAX_OBJECT);
	const char *sep = "";

	buf_add_str(&b, "{\"metadata\":{");
	for (size_t pos = 0; json_text_next(meta, &pos, &key, &value);) {
		if (span_is(key, "managedFields"))
			continue;
		buf_addf(&b, "%s\"%.*s\":", sep, SPAN_ARGS(key));
		buf_add_span(&b, value);
		sep = ",";
	}
	buf_add_str(&b, "},\"spec\":");
	buf_add_span(&b,
		     o->extents.spec.len ? store_object_part(o, o->extents.spec) : SPAN("null"));
	if (updates->len) {
		buf_add_str(&b, ",\"" UPDATES "\":");
		buf_add_span(&b, buf_span(updates));
	}
	if (present.len) {
		buf_add_str(&b, ",\"" PRESENT "\":");
		buf_add_span(&b, present);
	}
	if (edits.len) {
		buf_add_str(&b, ",\"" EDITS "\":");
		buf_add_span(&b, edits);
	}
	buf_add_char(&b, '}');
	return buf_steal(&b, ret_len);
}

/* A body that build_copy() makes on the net thread. */
static bool build_later(struct core *c, struct job *j, struct span present, bool amends,
			struct order *o)
{
	auto_buf updates = BUF_MAX(STORE_MAX_OBJECT);
	struct store_object stored;

	if (registry_get(c->batch, j->kind, span_of(j->ns), span_of(j->name), &stored) < 0)
		return false;
	struct copy_build *b = xcalloc(1, sizeof(*b));
	b->kind = j->kind;
	b->epoch = j->dispatch.epoch;
	memcpy(b->hub_uid, c->hub_uid, sizeof(b->hub_uid));
	memcpy(b->job_uid, j->uid_text, sizeof(b->job_uid));
	if (j->workload)
		workload_pod_set_updates(c, j->workload, &updates);
	else
		domain_updates(j, &updates);
	o->body = copy_parts(&stored, &updates, present,
			     amends ? amend_sent(j, &stored) : SPAN_NONE, &o->body_len);
	o->build = build_copy;
	o->build_arg = b;
	return o->body != NULL;
}

static struct order *create_order(struct core *c, struct job *j, const struct member *m)
{
	auto_buf path = BUF_INIT;

	member_path(j->kind, j->ns, NULL, &path);
	struct order *o = call(m, "POST", buf_steal(&path, NULL));
	o->content_type = "application/json";
	return build_later(c, j, SPAN_NONE, false, o) ? o : order_destroy(o);
}

#define EPOCH_PATH "/metadata/annotations/muster.dev~1epoch"

/* A JSON patch whose tests make the server refuse it for any other object, and for this one once it
 * says another epoch: one that was lost on its way starts nothing that was parked since. */
static struct order *suspend_order(const struct job *j, const struct member *m, char *take_path,
				   bool stop)
{
	auto_buf body = BUF_INIT;

	buf_addf(&body,
		 "[{\"op\":\"test\",\"path\":\"/metadata/uid\",\"value\":\"%s\"},"
		 "{\"op\":\"test\",\"path\":\"" EPOCH_PATH "\",\"value\":\"%llu\"},",
		 j->order_uid, (unsigned long long)j->order_epoch);
	if (stop)
		buf_addf(&body,
			 "{\"op\":\"replace\",\"path\":\"" EPOCH_PATH "\",\"value\":\"%llu\"},",
			 (unsigned long long)j->dispatch.epoch + 1);
	buf_addf(&body, "{\"op\":\"add\",\"path\":\"%s\",\"value\":%s}]", job_suspend_path(j->kind),
		 stop ? "true" : "false");
	struct order *o = call(m, "PATCH", take_path);
	o->content_type = "application/json-patch+json";
	o->body = buf_steal(&body, &o->body_len);
	return o;
}

/* A Job that ran is steered anew only without a start time (Kueue takes it off too). */
static bool has_start_time(const struct job *j)
{
	struct span v;

	return j->kind->type == TYPE_JOB &&
	       json_text_path(span_make(j->copy_text, j->copy_len), &v, "status", "startTime",
			      NULL) == 0 &&
	       json_text_type(v) != JSON_NULL;
}

static struct order *forget_start_order(const struct job *j, const struct member *m,
					const char *path)
{
	auto_buf body = BUF_INIT, status = BUF_INIT;

	buf_addf(&status, "%s/status", path);
	buf_addf(&body, "{\"metadata\":{\"uid\":\"%s\"},\"status\":{\"startTime\":null}}",
		 j->order_uid);
	struct order *o = call(m, "PATCH", buf_steal(&status, NULL));
	o->content_type = "application/merge-patch+json";
	o->body = buf_steal(&body, &o->body_len);
	return o;
}

/* A patch of the copy as it was read. */
static struct order *patch_order(struct core *c, struct job *j, const struct member *m,
				 const char *path, bool amends)
{
	struct span present = span_make(j->copy_text, j->copy_len);

	if (!j->copy_text || (amends && !j->amendment))
		return NULL;
	if (!amends && has_start_time(j))
		return forget_start_order(j, m, path);
	struct order *o = call(m, "PATCH", xstrdup(path));
	o->content_type = "application/merge-patch+json";
	return build_later(c, j, present, amends, o) ? o : order_destroy(o);
}

struct order *copy_order_delete(const struct member *m, const char *path, const char *uid)
{
	auto_buf body = BUF_INIT;

	buf_addf(
	    &body,
	    "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\",\"preconditions\":{\"uid\":\"%s\"},"
	    "\"propagationPolicy\":\"Foreground\"}",
	    uid);
	struct order *o = call(m, "DELETE", xstrdup(path));
	o->content_type = "application/json";
	o->body = buf_steal(&body, &o->body_len);
	return o;
}

/* Pods that are over run nothing; the first of the others says enough. */
static struct order *pods_order(const struct job *j, const struct member *m)
{
	auto_buf path = BUF_INIT;

	buf_addf(
	    &path,
	    "/api/v1/namespaces/%s/pods?labelSelector=muster.dev%%2Fjob-uid%%3D%s"
	    "&fieldSelector=status.phase%%21%%3DSucceeded%%2Cstatus.phase%%21%%3DFailed&limit=1",
	    j->ns, j->uid_text);
	struct order *o = call(m, "GET", buf_steal(&path, NULL));
	o->accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,"
		    "application/json";
	return o;
}

struct order *copy_order_make(struct core *c, struct job *j, const struct member *m,
			      enum dispatch_order what)
{
	auto_buf path = BUF_INIT;

	if (what == DISPATCH_ORDER_CREATE)
		return create_order(c, j, m);
	if (what == DISPATCH_ORDER_READ_PODS)
		return pods_order(j, m);
	member_path(j->kind, j->ns, j->name, &path);
	if (what == DISPATCH_ORDER_READ) {
		struct order *o = call(m, "GET", buf_steal(&path, NULL));
		o->whole =
		    j->dispatch.step == DISPATCH_RESUMING || j->dispatch.step == DISPATCH_STARTED;
		return o;
	}
	if (what == DISPATCH_ORDER_START || what == DISPATCH_ORDER_STOP)
		return suspend_order(j, m, buf_steal(&path, NULL), what == DISPATCH_ORDER_STOP);
	if (what == DISPATCH_ORDER_REWRITE || what == DISPATCH_ORDER_AMEND)
		return patch_order(c, j, m, path.ptr, what == DISPATCH_ORDER_AMEND);
	return what == DISPATCH_ORDER_DELETE ? copy_order_delete(m, path.ptr, j->order_uid) : NULL;
}

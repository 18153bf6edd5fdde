#include "core/dispatch/copy_order.h"

#include "base/json.h"
#include "core/domain.h"
#include "core/kueue/pod_set_updates.h"
#include "core/member.h"

struct copy_build {
	const struct kind *kind;
	char hub_uid[OBJECT_UID_TEXT], job_uid[OBJECT_UID_TEXT];
	uint64_t epoch;
};

/* A member of the body beside metadata and spec: what the job's queue adds. */
#define UPDATES "podSetUpdates"

/* Net thread. */
static int build_copy(struct order *o, struct err *reterr)
{
	const struct copy_build *b = o->build_arg;
	struct buf out = BUF_MAX(2 * STORE_MAX_OBJECT);
	auto_json *job = NULL;

	int r = json_parse(span_make(o->body, o->body_len), NULL, &job, reterr);
	auto_json *updates = r == 0 ? json_take(job, UPDATES) : NULL;
	if (r == 0)
		r = job_copy_make(b->kind, job,
				  &(struct job_copy_options){.hub_uid = b->hub_uid,
							     .job_uid = b->job_uid,
							     .epoch = b->epoch,
							     .suspend = true,
							     .pod_set_updates = updates},
				  &out, reterr);
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
static char *copy_parts(const struct store_object *o, const struct buf *updates, size_t *ret_len)
{
	struct span key, value, meta = store_object_part(o, o->extents.metadata);
	struct buf b = BUF_MAX(STORE_MAX_OBJECT);
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
	buf_add_char(&b, '}');
	return buf_steal(&b, ret_len);
}

static struct order *create_order(struct core *c, const struct job *j, const struct member *m)
{
	auto_buf path = BUF_INIT, updates = BUF_MAX(STORE_MAX_OBJECT);
	struct store_object stored;

	if (registry_get(c->batch, j->kind, span_of(j->ns), span_of(j->name), &stored) < 0)
		return NULL;
	member_path(j->kind, j->ns, NULL, &path);
	struct order *o = call(m, "POST", buf_steal(&path, NULL));
	struct copy_build *b = xcalloc(1, sizeof(*b));
	b->kind = j->kind;
	b->epoch = j->dispatch.epoch;
	memcpy(b->hub_uid, c->hub_uid, sizeof(b->hub_uid));
	memcpy(b->job_uid, j->uid_text, sizeof(b->job_uid));
	o->content_type = "application/json";
	if (j->workload)
		workload_pod_set_updates(c, j->workload, &updates);
	else
		domain_updates(j, &updates);
	o->body = copy_parts(&stored, &updates, &o->body_len);
	o->build = build_copy;
	o->build_arg = b;
	return o;
}

/* The suspend patch with the copy's uid in it: the server refuses it for any other object. */
static struct order *start_order(const struct job *j, const struct member *m, char *take_path,
				 const char *uid)
{
	auto_buf body = BUF_INIT;

	buf_addf(&body, "{\"metadata\":{\"uid\":\"%s\"},%s", uid,
		 job_suspend_patch(j->kind, false) + 1);
	struct order *o = call(m, "PATCH", take_path);
	o->content_type = "application/merge-patch+json";
	o->body = buf_steal(&body, &o->body_len);
	return o;
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

struct order *copy_order_make(struct core *c, const struct job *j, const struct member *m,
			      enum dispatch_order what, const char *uid)
{
	auto_buf path = BUF_INIT;

	if (what == DISPATCH_ORDER_CREATE)
		return create_order(c, j, m);
	if (what == DISPATCH_ORDER_READ_PODS)
		return pods_order(j, m);
	member_path(j->kind, j->ns, j->name, &path);
	if (what == DISPATCH_ORDER_READ)
		return call(m, "GET", buf_steal(&path, NULL));
	if (what == DISPATCH_ORDER_START)
		return start_order(j, m, buf_steal(&path, NULL), uid);
	return what == DISPATCH_ORDER_DELETE ? copy_order_delete(m, path.ptr, uid) : NULL;
}

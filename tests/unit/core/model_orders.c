/*
 * Orders to a model cluster, answered as an API server does: creates, reads, patches and deletes of
 * copies and pods. Other objects are model_things.c's.
 */
#include "model_parts.h"

#include "model_things.h"

#include "base/json.h"
#include "base/num.h"
#include "kinds/types.h"
#include "kube/patch.h"

#include <assert.h>
#include <inttypes.h>

/* ---- answers ---- */

static struct fact *result_of(const struct order *o, int code, const char *words)
{
	struct fact *f = fact_create(FACT_RESULT, o->member);

	f->result.order_id = o->id;
	f->result.outcome = OUTCOME_ANSWERED;
	f->result.http_code = code;
	if (code / 100 != 2)
		err_set(&f->result.err, ERR_INVALID, "%s", words);
	return f;
}

static struct fact *with_copy(const struct order *o, int code, const struct model_copy *c)
{
	struct fact *f = result_of(o, code, "");

	f->result.has_copy = true;
	model_fill_copy(c, &f->mem, &f->result.copy);
	return f;
}

struct fact *model_no_answer(const struct order *o, bool sent)
{
	struct fact *f = result_of(o, 0, sent ? "the connection was reset" : "not sent");
	f->result.outcome = sent ? OUTCOME_UNKNOWN : OUTCOME_NOT_SENT;
	return f;
}

/* ---- pods ---- */

/* PATCH of a pod: its gates and its node selectors. */
static struct fact *patch_pod(struct model *m, const struct order *o)
{
	struct arena mem = ARENA_INIT;
	struct model_pod *p = NULL;
	auto_json *was = NULL, *patch = NULL, *now = NULL;
	auto_buf held = BUF_INIT;
	struct err err = ERR_INIT;

	vec_foreach (&m->pods, it) {
		char path[700];
		(void)snprintf(path, sizeof(path), "/api/v1/namespaces/%s/pods/%s", (*it)->ns,
			       (*it)->name);
		if (!(*it)->gone && strcmp(path, o->path) == 0)
			p = *it;
	}
	if (!p)
		return result_of(o, 404, "pods not found");
	if (m->no_patches)
		return result_of(o, 403, "pods is forbidden");
	assert(json_parse(model_pod_json(m, p, &mem), NULL, &was, &err) == 0);
	arena_done(&mem);
	if (json_parse(span_make(o->body, o->body_len), NULL, &patch, &err) < 0 ||
	    patch_apply(PATCH_JSON, NULL, was, patch, &now, &err) < 0)
		return result_of(o, 422, err.text);
	p->gated = json_len(json_path(now, "spec", "schedulingGates", NULL)) > 0;
	json_print(json_path(now, "spec", "nodeSelector", NULL), &held);
	free(p->held);
	p->held = buf_steal(&held, NULL);
	m->ungated++;
	model_tell_pod(m, p);
	return result_of(o, 200, "");
}

/* A list of a job's pods that are not over. */
static struct fact *list_pods(const struct model *m, const struct order *o, const char *uid)
{
	size_t n = 0, len = strcspn(uid, "&");

	vec_foreach (&m->all_copies, p) {
		const struct model_copy *c = *p;
		if (strlen(c->job_uid) != len || memcmp(c->job_uid, uid, len) != 0)
			continue;
		vec_foreach (&c->pods, pod)
			n += !(*pod)->gone && (*pod)->phase != POD_SUCCEEDED &&
			     (*pod)->phase != POD_FAILED;
	}
	struct fact *f = result_of(o, 200, "");
	f->result.body = arena_span(&f->mem, n ? SPAN("{\"items\":[{}]}") : SPAN("{\"items\":[]}"));
	return f;
}

/* ---- copies ---- */

/* The job kind, namespace and name that a path speaks of; NULL for other paths. */
static const struct kind *job_path(const struct model *m, const char *path, struct span *ret_ns,
				   struct span *ret_name)
{
	struct span rest = span_of(path);

	if (!span_starts(rest, SPAN("/apis/")))
		return NULL;
	rest = span_make(rest.ptr + 6, rest.len - 6);
	struct span group = span_split(&rest, '/'), version = span_split(&rest, '/');
	(void)span_split(&rest, '/');
	*ret_ns = span_split(&rest, '/');
	struct span plural = span_split(&rest, '/');
	*ret_name = rest;
	const struct kind *k = kind_by_resource(m->kinds, group, version, plural);
	if (k && k->type == TYPE_PROVISIONING_REQUEST)
		return span_is(version, m->v1beta1 ? "v1beta1" : "v1") ? k : NULL;
	if (k && k->type == TYPE_MPI_JOB &&
	    m->lacks & 1u << (span_is(version, "v1") ? STREAM_MPIJOBS : STREAM_MPIJOBS_V2BETA1))
		return NULL;
	return k && k->is_job ? k : NULL;
}

static char *label(const struct cJSON *object, const char *where, const char *key)
{
	const char *v = json_str(json_path(object, "metadata", where, NULL), key);
	return v ? xstrdup(v) : NULL;
}

static void read_copy(struct model_copy *c, const struct cJSON *tree)
{
	char *epoch = label(tree, "annotations", COPY_ANNOTATION_EPOCH);
	auto_buf spec = BUF_INIT, digest = BUF_INIT;
	auto_arena mem = ARENA_INIT;
	struct job_digest d;

	if (!c->body_read) { /* events borrow them */
		c->hub_uid = label(tree, "labels", COPY_LABEL_HUB_UID);
		c->job_uid = label(tree, "annotations", COPY_ANNOTATION_JOB_UID);
		c->body_read = true;
	}
	if (epoch)
		assert(num_parse_u64(span_of(epoch), UINT64_MAX, &c->epoch) == 0);
	free(epoch);
	json_print(json_get(tree, "spec"), &spec);
	c->suspended = copy_info_suspended(c->kind->type, buf_span(&spec));
	if (c->kind->is_job && c->kind->digest(c->kind, tree, &digest, NULL) == 0 &&
	    job_digest_unpack(buf_span(&digest), &mem, &d) == 0) {
		c->n_pods = 0;
		for (size_t i = 0; i < d.n_pod_sets; i++)
			c->n_pods += d.pod_sets[i].count;
	}
}

static struct fact *create_copy(struct model *m, struct order *o, const struct kind *k,
				struct span ns, const struct cJSON *tree)
{
	const char *name = json_str(json_get(tree, "metadata"), "name");
	auto_buf path = BUF_INIT, space = BUF_INIT;
	char uid[64];

	buf_addf(&path, "%s/%s", o->path, name);
	buf_addf(&space, "/api/v1/namespaces/%.*s", SPAN_ARGS(ns));
	if (!model_things_has(m, buf_span(&space)))
		return result_of(o, 404, "namespaces not found");
	if (map_has(&m->copies, buf_span(&path)))
		return result_of(o, 409, "already exists");
	struct model_copy *c = xcalloc(1, sizeof(*c));
	(void)snprintf(uid, sizeof(uid), "%s-%" PRIu64, m->name, ++m->next_uid);
	*c = (struct model_copy){.kind = k,
				 .path = xstrdup(path.ptr),
				 .ns = xstrndup(ns.ptr, ns.len),
				 .name = xstrdup(name),
				 .uid = xstrdup(uid)};
	c->body = xstrndup(o->body, o->body_len);
	read_copy(c, tree);
	model_make_pods(m, c, tree);
	vec_push(&m->all_copies, c);
	map_put(&m->copies, buf_span(&path), c);
	model_tell_copy(m, c);
	m->creates++;
	return with_copy(o, 201, c);
}

static struct fact *post(struct model *m, struct order *o)
{
	struct err err;
	struct span ns, name;
	auto_json *tree = NULL;
	const struct kind *k = job_path(m, o->path, &ns, &name);

	if (o->build && o->build(o, &err) < 0)
		return model_no_answer(o, false);
	if (!k)
		return model_things_call(m, o);
	if (json_parse(span_make(o->body, o->body_len), NULL, &tree, &err) < 0)
		return result_of(o, 400, err.text);
	return create_copy(m, o, k, ns, tree);
}

static struct fact *delete_copy(struct model *m, const struct order *o, struct model_copy *c)
{
	m->deletes++;
	if (!c->deleting) {
		c->deleting = true;
		model_tell_copy(m, c);
	}
	return with_copy(o, 200, c);
}

static void start_copy(struct model *m, struct model_copy *c, const struct cJSON *tree)
{
	m->starts++;
	++m->next_uid;
	model_make_pods(m, c, tree);
	vec_foreach (&c->pods, p) {
		(*p)->gone = c->deleting;
		if (!c->deleting)
			model_tell_pod(m, *p);
	}
}

/* The object as a GET shows it. Owned. */
static struct cJSON *tree_of(const struct model_copy *c)
{
	struct cJSON *tree = NULL, *status = NULL;
	char revision[24];

	assert(json_parse(span_of(c->body), NULL, &tree, NULL) == 0);
	(void)snprintf(revision, sizeof(revision), "%" PRIu64, c->revision);
	json_set_str(json_get(tree, "metadata"), "uid", c->uid);
	json_set_str(json_get(tree, "metadata"), "resourceVersion", revision);
	if (c->status && json_parse(span_of(c->status), NULL, &status, NULL) == 0)
		json_set(tree, "status", status);
	return tree;
}

/* As an API server: preconditions, and what no queue may change of a Job that ran. */
static struct fact *refuse_patch(const struct order *o, const struct model_copy *c,
				 const struct cJSON *was, const struct cJSON *now)
{
	static const char *const fixed[] = {"uid", "resourceVersion"};

	for (size_t i = 0; i < ARRAY_LEN(fixed); i++)
		if (!json_equal(json_path(was, "metadata", fixed[i], NULL),
				json_path(now, "metadata", fixed[i], NULL)))
			return result_of(o, 409, "the precondition failed");
	if (c->kind->type == TYPE_JOB && json_path(was, "status", "startTime", NULL) &&
	    !json_equal(json_path(was, "spec", "template", NULL),
			json_path(now, "spec", "template", NULL)))
		return result_of(o, 422, "spec.template: field is immutable");
	return NULL;
}

static struct fact *patch_copy(struct model *m, struct order *o, struct model_copy *c)
{
	enum patch_type type = PATCH_MERGE;
	auto_json *patch = NULL, *now = NULL;
	struct err err = ERR_INIT;

	if (o->build && o->build(o, &err) < 0) {
		struct fact *f = model_no_answer(o, false);
		f->result.err = err;
		return f;
	}
	auto_json *was = tree_of(c);
	(void)patch_type_from_media(span_of(o->content_type), &type);
	if (json_parse(span_make(o->body, o->body_len), NULL, &patch, &err) < 0 ||
	    patch_apply(type, c->kind, was, patch, &now, &err) < 0)
		return result_of(o, 422, err.text);
	struct fact *refusal = refuse_patch(o, c, was, now);
	if (refusal)
		return refusal;
	bool suspended = c->suspended;
	auto_buf text = BUF_INIT, status = BUF_INIT;
	json_print(json_get(now, "status"), &status);
	if (status.len && c->status) {
		free(c->status);
		c->status = buf_steal(&status, NULL);
	}
	json_remove(now, "status");
	json_print(now, &text);
	free(c->body);
	c->body = buf_steal(&text, NULL);
	read_copy(c, now);
	if (suspended && !c->suspended)
		start_copy(m, c, now);
	m->stops += !suspended && c->suspended;
	model_tell_copy(m, c);
	return with_copy(o, 200, c);
}

static struct fact *get_copy(const struct order *o, const struct model_copy *c)
{
	struct fact *f = with_copy(o, 200, c);
	auto_json *tree = tree_of(c);
	auto_buf text = BUF_INIT;

	json_print(tree, &text);
	f->result.body = arena_span(&f->mem, buf_span(&text));
	return f;
}

struct fact *model_call(struct model *m, struct order *o)
{
	static const uint8_t none[STORE_UID_LEN];

	if (memcmp(o->incarnation, none, STORE_UID_LEN) != 0 &&
	    memcmp(o->incarnation, m->incarnation, STORE_UID_LEN) != 0)
		return model_no_answer(o, false);
	if (strcmp(o->method, "POST") == 0)
		return post(m, o);
	static const char by_job[] = "/pods?labelSelector=muster.dev%2Fjob-uid%3D";
	const char *at = strstr(o->path, by_job);
	if (at)
		return list_pods(m, o, at + sizeof(by_job) - 1);
	struct span path = span_of(o->path);
	if (span_ends(path, SPAN("/status")))
		path.len -= strlen("/status");
	struct model_copy *c = map_get(&m->copies, path);
	if (!c && strcmp(o->method, "PATCH") == 0 && strstr(o->path, "/pods/"))
		return patch_pod(m, o);
	if (!c)
		return model_things_call(m, o);
	if (strcmp(o->method, "GET") == 0)
		return get_copy(o, c);
	if (strcmp(o->method, "PATCH") == 0)
		return patch_copy(m, o, c);
	if (!o->body || !memmem(o->body, o->body_len, c->uid, strlen(c->uid)))
		return result_of(o, 409, "the precondition failed: uid");
	return delete_copy(m, o, c);
}

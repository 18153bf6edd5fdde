#include "core/provisioning/request_call.h"

#include "base/json.h"
#include "core/dispatch/copy_order.h"
#include "core/member.h"
#include "kube/copy_info.h"

#include <inttypes.h>

static const struct kind *request_kind(const struct core *c)
{
	return kind_by_type(c->kinds, TYPE_PROVISIONING_REQUEST);
}

bool request_call_serves(const struct member *m)
{
	return m->apis &
	       (1u << STREAM_PROVISIONING_REQUESTS | 1u << STREAM_PROVISIONING_REQUESTS_V1BETA1);
}

/* In the version that the member serves. */
static const struct kind *kind_on(const struct core *c, const struct member *m)
{
	const struct kind *k = request_kind(c);

	if (m->apis & 1u << STREAM_PROVISIONING_REQUESTS_V1BETA1)
		k = kind_by_gvk(c->kinds, span_of(k->group), SPAN("v1beta1"), span_of(k->kind));
	return k ? k : request_kind(c);
}

static const struct kind *template_kind(const struct core *c)
{
	return kind_by_type(c->kinds, TYPE_POD_TEMPLATE);
}

static struct cJSON *tree_of(struct core *c, const struct provisioning_request *r)
{
	struct cJSON *tree = NULL;
	struct store_object o;

	if (!r->exists ||
	    registry_get(c->batch, request_kind(c), span_of(r->ns), span_of(r->name), &o) < 0 ||
	    memcmp(o.uid, r->uid, STORE_UID_LEN) != 0 || object_tree(&o, &tree, NULL) < 0)
		return NULL;
	return tree;
}

/* ---- names ---- */

static uint64_t hash_of(const char *text)
{
	uint64_t h = 14695981039346656037u; /* FNV-1a */

	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * 1099511628211u;
	return h;
}

/* What the admission check names by itself is named after the request already. */
static void template_name(const struct provisioning_request *r, const char *ref, struct buf *out)
{
	size_t len = strlen(r->name);

	if (strncmp(ref, "ppt-", 4) == 0 && strncmp(ref + 4, r->name, len) == 0 &&
	    ref[4 + len] == '-') {
		buf_add_str(out, ref);
		return;
	}
	buf_addf(out, "ppt-%s-%s", r->name, ref);
	if (out->len <= 253)
		return;
	uint64_t h = hash_of(out->ptr);
	buf_clear(out);
	buf_addf(out, "ppt-%.200s-%016" PRIx64, r->name, h);
}

static const char *ref_of(const struct cJSON *set)
{
	const char *ref = json_str(json_get(set, "podTemplateRef"), "name");
	return ref ? ref : "";
}

static const struct cJSON *sets_of(const struct cJSON *tree)
{
	return json_path(tree, "spec", "podSets", NULL);
}

bool request_call_complete(struct core *c, const struct provisioning_request *r)
{
	auto_json *tree = tree_of(c, r);
	struct store_object o;

	if (!tree)
		return false;
	json_foreach (sets_of(tree), set)
		if (registry_get(c->batch, template_kind(c), span_of(r->ns), span_of(ref_of(set)),
				 &o) < 0)
			return false;
	return true;
}

size_t request_call_templates(struct core *c, const struct provisioning_request *r)
{
	auto_json *tree = tree_of(c, r);
	return tree ? json_len(sets_of(tree)) : 0;
}

/* ---- bodies ---- */

static struct order *call(const struct member *m, const char *method, struct buf *take_path)
{
	struct order *o = order_create(ORDER_CALL, m->number);

	o->method = method;
	o->path = buf_steal(take_path, NULL);
	return o;
}

static struct order *post(const struct member *m, const struct kind *kind, const char *ns,
			  const struct cJSON *body)
{
	auto_buf path = BUF_INIT;
	struct buf text = BUF_MAX(STORE_MAX_OBJECT);

	member_path(kind, ns, NULL, &path);
	json_print(body, &text);
	if (!buf_ok(&text)) {
		buf_done(&text);
		return NULL;
	}
	struct order *o = call(m, "POST", &path);
	o->content_type = "application/json";
	o->body = buf_steal(&text, &o->body_len);
	return o;
}

static struct cJSON *head(const struct core *c, const struct kind *kind, const char *ns,
			  const char *name)
{
	char version[KIND_API_VERSION_MAX];
	struct cJSON *o = json_object(), *meta = json_object();

	json_set_str(o, "apiVersion", kind_api_version(kind, version));
	json_set_str(o, "kind", kind->kind);
	json_set_str(meta, "name", name);
	json_set_str(meta, "namespace", ns);
	json_add(o, "metadata", meta);
	json_set_str(json_ensure_object(meta, "labels"), COPY_LABEL_HUB_UID, c->hub_uid);
	return o;
}

static struct order *create(struct core *c, const struct provisioning_request *r,
			    const struct request_try *t, const struct member *m)
{
	auto_json *tree = tree_of(c, r), *body = NULL;
	char epoch[24];

	if (!tree)
		return NULL;
	body = head(c, kind_on(c, m), r->ns, r->name);
	struct cJSON *annotations = json_ensure_object(json_get(body, "metadata"), "annotations");
	json_set_str(annotations, COPY_ANNOTATION_JOB_UID, r->uid_text);
	(void)snprintf(epoch, sizeof(epoch), "%" PRIu64, t->dispatch.epoch);
	json_set_str(annotations, COPY_ANNOTATION_EPOCH, epoch);
	json_foreach (json_path(tree, "spec", "podSets", NULL), set) {
		auto_buf name = BUF_INIT;
		template_name(r, ref_of(set), &name);
		json_set_str(json_ensure_object(set, "podTemplateRef"), "name", name.ptr);
	}
	json_add(body, "spec", json_take(tree, "spec"));
	return post(m, kind_on(c, m), r->ns, body);
}

struct order *request_call_copy(struct core *c, const struct provisioning_request *r,
				const struct request_try *t, const struct member *m,
				enum dispatch_order what)
{
	auto_buf path = BUF_INIT;

	if (what == DISPATCH_ORDER_CREATE)
		return create(c, r, t, m);
	member_path(kind_on(c, m), r->ns, r->name, &path);
	if (what == DISPATCH_ORDER_DELETE)
		return copy_order_delete(m, path.ptr, t->order_uid);
	return what == DISPATCH_ORDER_READ ? call(m, "GET", &path) : NULL;
}

static void own(struct cJSON *body, const struct kind *kind, const struct provisioning_request *r,
		const char *uid)
{
	struct cJSON *list = json_array(), *owner = json_object();
	char version[KIND_API_VERSION_MAX];

	json_set_str(owner, "apiVersion", kind_api_version(kind, version));
	json_set_str(owner, "kind", kind->kind);
	json_set_str(owner, "name", r->name);
	json_set_str(owner, "uid", uid);
	json_append(list, owner);
	json_add(json_get(body, "metadata"), "ownerReferences", list);
}

struct order *request_call_template(struct core *c, const struct provisioning_request *r,
				    const struct request_try *t, const struct member *m,
				    size_t index, bool read)
{
	auto_json *tree = tree_of(c, r), *template = NULL, *body = NULL;
	auto_buf name = BUF_INIT, path = BUF_INIT;
	struct store_object o;
	const char *ref = ref_of(json_at(sets_of(tree), index));

	if (!tree)
		return NULL;
	template_name(r, ref, &name);
	if (read) {
		member_path(template_kind(c), r->ns, name.ptr, &path);
		return call(m, "GET", &path);
	}
	if (registry_get(c->batch, template_kind(c), span_of(r->ns), span_of(ref), &o) < 0 ||
	    object_tree(&o, &template, NULL) < 0)
		return NULL;
	body = head(c, template_kind(c), r->ns, name.ptr);
	own(body, kind_on(c, m), r, t->dispatch.uid);
	struct cJSON *pod = json_take(template, "template");
	json_add(body, "template", pod ? pod : json_object());
	return post(m, template_kind(c), r->ns, body);
}

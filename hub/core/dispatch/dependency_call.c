#include "core/dispatch/dependency_call.h"

#include "base/json.h"
#include "core/dispatch/copy_order.h"
#include "core/member.h"
#include "kube/copy_info.h"
#include "kube/pod_info.h"

#include <errno.h>

/* Metadata alone: what is in a Secret stays where it is. */
#define METADATA_ONLY "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"

/* ---- bodies ---- */

static void strip(struct cJSON *tree)
{
	static const char *const gone[] = {"uid",
					   "resourceVersion",
					   "generation",
					   "creationTimestamp",
					   "managedFields",
					   "ownerReferences",
					   "finalizers",
					   "selfLink",
					   "deletionTimestamp",
					   "deletionGracePeriodSeconds"};
	struct cJSON *meta = json_get(tree, "metadata");

	for (size_t i = 0; i < ARRAY_LEN(gone); i++)
		json_remove(meta, gone[i]);
	json_remove(tree, "status");
}

/* The hub's object as it is to stand on a member; NULL when there is none. */
static struct cJSON *wanted(struct core *c, const struct dependency_name *what, uint64_t *ret_sent)
{
	struct store_object o;
	struct cJSON *tree = NULL;

	if (registry_get(c->batch, what->kind, span_of(what->ns), span_of(what->name), &o) < 0 ||
	    object_tree(&o, &tree, NULL) < 0)
		return NULL;
	*ret_sent = o.revision;
	strip(tree);
	if (what->kind->type == TYPE_NAMESPACE)
		json_remove(tree, "spec");
	struct cJSON *labels = json_ensure_object(json_get(tree, "metadata"), "labels");
	if (labels)
		json_set_str(labels, COPY_LABEL_HUB_UID, c->hub_uid);
	return tree;
}

static void add_op(struct cJSON *patch, const char *op, const char *path, struct cJSON *take_value)
{
	struct cJSON *o = json_object();

	json_add(o, "op", json_new_str(op));
	json_add(o, "path", json_new_str(path));
	json_add(o, "value", take_value);
	json_append(patch, o);
}

/* "~" and "/" in a key of a JSON pointer (RFC 6901). */
static void add_pointer(struct buf *b, const char *key)
{
	for (; *key; key++) {
		if (*key == '~')
			buf_add_str(b, "~0");
		else if (*key == '/')
			buf_add_str(b, "~1");
		else
			buf_add_char(b, *key);
	}
}

/* Labels of a namespace are also others': they are added one by one, never taken away. */
static void add_labels(struct cJSON *patch, const struct cJSON *tree, bool one_by_one)
{
	const struct cJSON *labels = json_path(tree, "metadata", "labels", NULL);

	if (!one_by_one) {
		add_op(patch, "add", "/metadata/labels", json_dup(labels));
		return;
	}
	json_foreach (labels, l) {
		auto_buf path = BUF_INIT;
		buf_add_str(&path, "/metadata/labels/");
		add_pointer(&path, json_key(l));
		add_op(patch, "add", path.ptr, json_dup(l));
	}
}

/* The fields that the hub's object decides, by kind; one that it lacks is emptied when it is a
 * map, else left to the member. Values that Kubernetes does not let change are not among them. */
static const struct {
	uint16_t type;
	const char *field;
	bool map;
} fields[] = {
    {TYPE_CONFIG_MAP, "data", true},
    {TYPE_CONFIG_MAP, "binaryData", true},
    {TYPE_CONFIG_MAP, "immutable", false},
    {TYPE_SECRET, "data", true},
    {TYPE_SECRET, "immutable", false},
    {TYPE_SERVICE_ACCOUNT, "secrets", false},
    {TYPE_SERVICE_ACCOUNT, "imagePullSecrets", false},
    {TYPE_SERVICE_ACCOUNT, "automountServiceAccountToken", false},
    {TYPE_PRIORITY_CLASS, "globalDefault", false},
    {TYPE_PRIORITY_CLASS, "description", false},
};

static void add_fields(struct cJSON *patch, const struct kind *kind, const struct cJSON *tree)
{
	char path[64];

	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		struct cJSON *value = json_dup(json_get(tree, fields[i].field));
		if (fields[i].type != kind->type)
			json_free(value);
		else if (value || fields[i].map) {
			(void)snprintf(path, sizeof(path), "/%s", fields[i].field);
			add_op(patch, "add", path, value ? value : json_object());
		}
	}
	const struct cJSON *requests = json_path(tree, "spec", "resources", "requests", NULL);
	if (kind->type == TYPE_PERSISTENT_VOLUME_CLAIM && requests)
		add_op(patch, "add", "/spec/resources/requests", json_dup(requests));
}

static void write_patch(const struct core *c, const struct kind *kind, const struct cJSON *tree,
			struct buf *out)
{
	auto_json *patch = json_array();
	const struct cJSON *annotations = json_path(tree, "metadata", "annotations", NULL);
	auto_buf label = BUF_INIT;

	buf_add_str(&label, "/metadata/labels/");
	add_pointer(&label, COPY_LABEL_HUB_UID);
	add_op(patch, "test", label.ptr, json_new_str(c->hub_uid));
	add_labels(patch, tree, kind->type == TYPE_NAMESPACE);
	/* Controllers of the member keep notes on claims, accounts and namespaces. */
	if (annotations && (kind->type == TYPE_CONFIG_MAP || kind->type == TYPE_SECRET))
		add_op(patch, "add", "/metadata/annotations", json_dup(annotations));
	add_fields(patch, kind, tree);
	json_print(patch, out);
}

/* ---- requests ---- */

static struct order *body_order(struct core *c, const struct member *m,
				const struct dependency_name *what, bool create, uint64_t *ret_sent)
{
	auto_json *tree = wanted(c, what, ret_sent);
	auto_buf body = BUF_MAX(2 * STORE_MAX_OBJECT), path = BUF_INIT;

	if (!tree)
		return NULL;
	if (create) {
		json_print(tree, &body);
		member_path(what->kind, what->ns, NULL, &path);
	} else {
		write_patch(c, what->kind, tree, &body);
		buf_add_str(&path, what->path);
	}
	if (!buf_ok(&body))
		return NULL;
	struct order *o = order_create(ORDER_CALL, m->number);
	o->method = create ? "POST" : "PATCH";
	o->content_type = create ? "application/json" : "application/json-patch+json";
	o->path = buf_steal(&path, NULL);
	o->body = buf_steal(&body, &o->body_len);
	return o;
}

struct order *dependency_call_make(struct core *c, const struct member *m,
				   const struct dependency_name *what, enum dependency_ask ask,
				   const char *uid, uint64_t *ret_sent)
{
	if (ask == ASK_CREATE || ask == ASK_PATCH)
		return body_order(c, m, what, ask == ASK_CREATE, ret_sent);
	struct order *o = order_create(ORDER_CALL, m->number);
	o->path = xstrdup(what->path);
	if (ask == ASK_READ) {
		o->method = "GET";
		if (what->kind->type != TYPE_PRIORITY_CLASS)
			o->accept = METADATA_ONLY;
		return o;
	}
	auto_buf body = BUF_INIT;
	buf_addf(&body,
		 "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\",\"preconditions\":{\"uid\":"
		 "\"%s\"},\"propagationPolicy\":\"Background\"}",
		 uid);
	o->method = "DELETE";
	o->content_type = "application/json";
	o->body = buf_steal(&body, &o->body_len);
	return o;
}

/* ---- answers ---- */

static bool value_of(struct span json, int64_t *ret)
{
	struct span v;

	return json_text_member(json, "value", &v) == 0 && json_text_int64(v, ret) == 0;
}

int dependency_call_read(const struct core *c, struct span body, const struct store_object *at_hub,
			 struct dependency_seen *ret)
{
	struct span meta, v;
	int64_t there, here;

	*ret = (struct dependency_seen){0};
	if (!body.len || json_check(body, NULL, NULL) < 0 ||
	    json_text_member(body, "metadata", &meta) < 0 || json_text_member(meta, "uid", &v) < 0)
		return -EINVAL;
	v = json_text_plain(v);
	if (!v.len || v.len >= DISPATCH_UID_MAX)
		return -EINVAL;
	memcpy(ret->uid, v.ptr, v.len);
	ret->deleting = json_text_member(meta, "deletionTimestamp", &v) == 0 &&
			json_text_type(v) == JSON_STRING;
	ret->ours = json_text_path(meta, &v, "labels", COPY_LABEL_HUB_UID, NULL) == 0 &&
		    span_is(json_text_plain(v), c->hub_uid);
	ret->same_value =
	    at_hub && value_of(body, &there) && value_of(at_hub->json, &here) && there == here;
	return 0;
}

char *dependency_call_conflict(struct core *c, const struct kind *kind, const char *name)
{
	auto_buf b = BUF_INIT;
	struct store_object o;
	int64_t value;

	if (kind->type == TYPE_PRIORITY_CLASS &&
	    registry_get(c->batch, kind, SPAN_NONE, span_of(name), &o) == 0 &&
	    value_of(o.json, &value))
		buf_addf(&b,
			 "it has a PriorityClass \"%s\" of its own, whose value is not the hub's "
			 "%lld",
			 name, (long long)value);
	else
		buf_addf(&b, "it has a %s \"%s\" of its own, which is not the hub's", kind->kind,
			 name);
	return buf_steal(&b, NULL);
}

/* ---- paths ---- */

const struct kind *dependency_call_kind(const struct kind_set *kinds, struct span path,
					struct span *ret_ns, struct span *ret_name)
{
	struct span group = SPAN("");

	(void)span_split(&path, '/');
	if (span_is(span_split(&path, '/'), "apis"))
		group = span_split(&path, '/');
	struct span version = span_split(&path, '/'), plural = span_split(&path, '/');
	*ret_ns = SPAN("");
	*ret_name = span_split(&path, '/');
	if (path.len) {
		*ret_ns = *ret_name;
		plural = span_split(&path, '/');
		*ret_name = path;
	}
	return ret_name->len ? kind_by_resource(kinds, group, version, plural) : NULL;
}

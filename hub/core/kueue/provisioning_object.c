#include "core/kueue/provisioning_object.h"

#include "base/json.h"
#include "core/job.h"
#include "core/kueue/cluster_queue.h"
#include "core/kueue/local_queue.h"
#include "core/kueue/provisioning_check.h"
#include "core/object_writer.h"

#include <errno.h>

struct parts {
	struct arena mem;
	struct provisioning_config config;
	struct workload_digest digest;
	struct provisioning_spec spec;
	struct cJSON *workload;
	size_t n_managed;
};

static void parts_done(struct parts *p)
{
	provisioning_config_done(&p->config);
	json_free(p->workload);
	arena_done(&p->mem);
}

/* Pod sets that an earlier check of the workload asks for, a bit each. */
static uint64_t asked_before(const struct workload *w, const struct provisioning_check *by)
{
	uint64_t bits = 0;

	for (const struct provisioning_check *p = w->provisioning; p && p != by; p = p->next)
		bits |= p->managed;
	return bits;
}

/* Leaves to the check what got a flavor that it is for, and that nobody else asks for. */
static size_t keep_own(struct core *c, const struct workload *w,
		       const struct provisioning_check *by, bool *managed, size_t n)
{
	const struct cluster_queue *q = local_queue_cluster(c, w->queue);
	uint64_t before = asked_before(w, by);
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		if (i < 64 && before & UINT64_C(1) << i)
			managed[i] = false;
		if (managed[i] && q && i < w->n_sets)
			managed[i] = cluster_queue_checks_flavors(
			    c, q, by->check, w->sets[i].flavors, w->sets[i].n_flavors);
		kept += managed[i];
	}
	return kept;
}

static int parts_read(struct core *c, const struct workload *w, const struct provisioning_check *by,
		      struct parts *p)
{
	struct store_object o;
	struct err err = ERR_INIT;

	*p = (struct parts){.mem = ARENA_INIT};
	if (provisioning_config_read(c, by->check, &p->config, &err) < 0)
		return -ENOENT;
	if (registry_get(c->batch, kind_by_type(c->kinds, TYPE_WORKLOAD), w->ns, w->name, &o) < 0 ||
	    object_tree(&o, &p->workload, &err) < 0)
		return -EINVAL;
	auto_free char *digest = xstrndup(o.digest.ptr, o.digest.len);
	struct span bytes = arena_span(&p->mem, span_make(digest, o.digest.len));
	if (workload_digest_unpack(bytes, &p->mem, &p->digest) < 0)
		return -EINVAL;
	for (size_t i = 0; i < p->digest.n_pod_sets && i < w->n_sets; i++)
		p->digest.pod_sets[i].count = w->sets[i].count; /* fewer after partial admission */
	bool *managed = arena_array(&p->mem, bool, p->digest.n_pod_sets);
	(void)provisioning_spec_managed(&p->config, &p->digest, managed);
	p->n_managed = keep_own(c, w, by, managed, p->digest.n_pod_sets);
	p->spec = (struct provisioning_spec){&p->config, &p->digest, managed};
	return 0;
}

/* ---- the template ---- */

static void add_flavor(struct core *c, uint32_t flavor, struct cJSON *spec)
{
	const struct kind *kind = kind_by_type(c->kinds, TYPE_RESOURCE_FLAVOR);
	struct span name = kueue_forest_flavor_name(c->kueue->forest, flavor);
	struct store_object o;
	auto_json *tree = NULL;

	if (registry_get(c->batch, kind, SPAN(""), name, &o) < 0 ||
	    object_tree(&o, &tree, NULL) < 0)
		return;
	json_foreach (json_path(tree, "spec", "nodeLabels", NULL), l)
		if (json_value_str(l))
			json_set_str(json_ensure_object(spec, "nodeSelector"), json_key(l),
				     json_value_str(l));
	json_foreach (json_path(tree, "spec", "tolerations", NULL), t) {
		if (!json_is(json_get(spec, "tolerations"), JSON_ARRAY))
			json_set(spec, "tolerations", json_array());
		json_append(json_get(spec, "tolerations"), json_dup(t));
	}
}

static struct cJSON *template_of(struct core *c, const struct workload *w, const struct parts *p,
				 size_t set)
{
	const struct cJSON *from =
	    json_get(json_at(json_path(p->workload, "spec", "podSets", NULL), set), "template");
	struct cJSON *t = from ? json_dup(from) : json_object();
	struct cJSON *spec = json_ensure_object(t, "spec");

	if (spec && !json_get(spec, "containers"))
		json_set(spec, "containers", json_array());
	for (uint32_t k = 0; spec && set < w->n_sets && k < w->sets[set].n_flavors; k++)
		add_flavor(c, w->sets[set].flavors[k], spec);
	return t;
}

static int put_template(struct core *c, const struct workload *w,
			const struct provisioning_check *by, struct cJSON *take_template,
			const char *name, const uint8_t request_uid[STORE_UID_LEN])
{
	const struct kind *kind = kind_by_type(c->kinds, TYPE_POD_TEMPLATE);
	auto_json *tree = json_object();
	char when[CLOCK_TEXT_MAX], uid_text[OBJECT_UID_TEXT], version[KIND_API_VERSION_MAX];
	uint8_t uid[STORE_UID_LEN];
	struct cJSON *meta = json_object(), *owners = json_array(), *owner = json_object();
	const struct kind *request = kind_by_type(c->kinds, TYPE_PROVISIONING_REQUEST);
	struct managed_write by_core = core_manager(c, kind);
	struct object_draft draft;
	struct err err = ERR_INIT;

	registry_new_uid(c->registry, uid);
	json_set_str(tree, "apiVersion", kind_api_version(kind, version));
	json_set_str(tree, "kind", kind->kind);
	json_add(meta, "name", json_new_str(name));
	json_add(meta, "namespace", json_new_span(w->ns));
	json_set_str(meta, "uid", object_uid_format(uid, uid_text));
	json_set_str(meta, "creationTimestamp", clock_format(c->now, when));
	json_set_str(owner, "apiVersion", kind_api_version(request, version));
	json_set_str(owner, "kind", request->kind);
	json_set_str(owner, "name", by->request);
	json_set_str(owner, "uid", object_uid_format(request_uid, uid_text));
	json_set_bool(owner, "controller", true);
	json_append(owners, owner);
	json_add(meta, "ownerReferences", owners);
	json_add(tree, "metadata", meta);
	json_add(tree, "template", take_template);
	managed_record(&by_core, NULL, tree, NULL);
	int r = object_draft_from_tree(kind, tree, &draft, &err);
	return r < 0 ? r : core_put(c, kind, w->ns, span_of(name), &draft);
}

/* ---- the request ---- */

/* Of the job where there is one, else of the Workload itself. */
static struct cJSON *annotations_of(struct core *c, const struct workload *w, const struct parts *p)
{
	const struct job *j = w->job;
	struct store_object o;
	auto_json *tree = NULL;

	if (j && registry_get(c->batch, j->kind, span_of(j->ns), span_of(j->name), &o) == 0 &&
	    object_tree(&o, &tree, NULL) == 0)
		return json_take(json_get(tree, "metadata"), "annotations");
	const struct cJSON *own = json_path(p->workload, "metadata", "annotations", NULL);
	return own ? json_dup(own) : NULL;
}

static int put_request(struct core *c, const struct workload *w,
		       const struct provisioning_check *by, const struct parts *p,
		       const struct provisioning_group *groups, size_t n_groups,
		       const uint8_t uid[STORE_UID_LEN])
{
	const struct kind *kind = kind_by_type(c->kinds, TYPE_PROVISIONING_REQUEST);
	auto_json *annotations = annotations_of(c, w, p);
	auto_free char *owner = xstrndup(w->name.ptr, w->name.len);
	struct managed_write by_core = core_manager(c, kind);
	struct object_writer o;
	struct object_draft draft;

	object_writer_begin(&o, &(struct object_head){
				    .kind = kind,
				    .ns = w->ns,
				    .name = span_of(by->request),
				    .uid = uid,
				    .created = c->now,
				    .generation = 1,
				    .labels = "{\"kueue.x-k8s.io/managed\":\"true\"}",
				    .owner_kind = kind_by_type(c->kinds, TYPE_WORKLOAD),
				    .owner_name = owner,
				    .owner_uid = w->uid,
				    .owner_controller = true,
				    .by = &by_core,
				    .spec_only = true,
				});
	object_writer_spec(&o);
	provisioning_spec_request(&p->spec, by->request, groups, n_groups, annotations, &o.text);
	int r = object_writer_end(&o, &draft, NULL);
	return r < 0 ? r : core_put(c, kind, w->ns, span_of(by->request), &draft);
}

static bool is_owned_by(const struct store_object *o, const struct workload *w)
{
	struct span list, one, uid;

	if (json_text_path(o->json, &list, "metadata", "ownerReferences", NULL) < 0 ||
	    json_text_type(list) != JSON_ARRAY)
		return false;
	for (size_t pos = 0; json_text_next(list, &pos, NULL, &one);)
		if (json_text_member(one, "uid", &uid) == 0 &&
		    span_is(json_text_plain(uid), w->uid_text))
			return true;
	return false;
}

static void put_all(struct core *c, struct workload *w, const struct provisioning_check *by,
		    struct parts *p)
{
	size_t n = p->digest.n_pod_sets;
	struct cJSON **templates = arena_array(&p->mem, struct cJSON *, n);
	struct provisioning_group *groups = arena_array(&p->mem, struct provisioning_group, n);
	uint8_t uid[STORE_UID_LEN];
	int r = 0;

	registry_new_uid(c->registry, uid);
	for (size_t i = 0; i < n; i++)
		templates[i] = p->spec.managed[i] ? template_of(c, w, p, i) : NULL;
	size_t n_groups =
	    provisioning_spec_groups(&p->spec, (const struct cJSON *const *)templates, groups);
	for (size_t i = 0; i < n_groups && r == 0; i++) {
		auto_buf name = BUF_INIT;
		provisioning_spec_template_name(by->request, p->digest.pod_sets[groups[i].set].name,
						&name);
		r = put_template(c, w, by, templates[groups[i].set], name.ptr, uid);
		templates[groups[i].set] = NULL;
	}
	if (r < 0 || put_request(c, w, by, p, groups, n_groups, uid) < 0)
		log_error(c->log, "ProvisioningRequest not written", "name=%.*s/%s",
			  SPAN_ARGS(w->ns), by->request);
	for (size_t i = 0; i < n; i++)
		json_free(templates[i]);
}

enum provisioning_made provisioning_object_make(struct core *c, struct workload *w,
						const struct provisioning_check *by)
{
	const struct kind *kind = kind_by_type(c->kinds, TYPE_PROVISIONING_REQUEST);
	enum provisioning_made ret = PROVISIONING_BAD_CONFIG;
	struct store_object o;
	struct parts p;

	if (registry_get(c->batch, kind, w->ns, span_of(by->request), &o) == 0)
		return is_owned_by(&o, w) ? PROVISIONING_STANDS : PROVISIONING_FOREIGN;
	if (parts_read(c, w, by, &p) == 0) {
		ret = p.n_managed ? PROVISIONING_MADE : PROVISIONING_NOT_NEEDED;
		if (p.n_managed)
			put_all(c, w, by, &p);
	}
	parts_done(&p);
	return ret;
}

uint64_t provisioning_object_managed(struct core *c, struct workload *w,
				     const struct provisioning_check *by)
{
	uint64_t bits = 0;
	struct parts p;

	if (parts_read(c, w, by, &p) < 0)
		bits = UINT64_MAX;
	else
		for (size_t i = 0; i < p.digest.n_pod_sets && i < 64; i++)
			bits |= p.spec.managed[i] ? UINT64_C(1) << i : 0;
	parts_done(&p);
	return bits;
}

int provisioning_object_updates(struct core *c, struct workload *w,
				const struct provisioning_check *by, const struct cJSON *status,
				struct buf *out)
{
	struct parts p;
	int r = parts_read(c, w, by, &p);

	if (r == 0)
		provisioning_spec_updates(&p.spec, by->request, status, out);
	parts_done(&p);
	return r;
}

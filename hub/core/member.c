#include "core/member.h"

#include "base/json.h"
#include "core/binding.h"
#include "core/capacity.h"
#include "core/cursors.h"
#include "core/dispatch/courier.h"
#include "core/job.h"
#include "core/observe.h"
#include "core/query.h"
#include "kube/node_info.h"
#include "quota-tree/quota_message.h"

#include <inttypes.h>
#include <openssl/evp.h>

#define STATUS_INTERVAL (500 * USEC_PER_MS)

static const struct {
	const char *api_version, *kind;
} stream_kinds[STREAM_MAX] = {
    [STREAM_JOBS] = {"batch/v1", "Job"},
    [STREAM_PYTORCHJOBS] = {"kubeflow.org/v1", "PyTorchJob"},
    [STREAM_TFJOBS] = {"kubeflow.org/v1", "TFJob"},
    [STREAM_MPIJOBS] = {"kubeflow.org/v1", "MPIJob"},
    [STREAM_JOBSETS] = {"jobset.x-k8s.io/v1alpha2", "JobSet"},
    [STREAM_RAYJOBS] = {"ray.io/v1", "RayJob"},
};

struct member *member_by_number(const struct core *c, uint32_t number)
{
	return number < c->members.len ? c->members.items[number] : NULL;
}

struct member *member_by_name(const struct core *c, struct span name)
{
	return map_get(&c->members_by_name, name);
}

struct member *member_of(const struct core *c, const struct job *j)
{
	return j->dispatch.step == DISPATCH_IDLE ? NULL : member_by_number(c, j->dispatch.member);
}

const char *member_condition_reason(enum member_condition condition)
{
	switch (condition) {
	case MEMBER_READY:
		return "ClusterReady";
	case MEMBER_UNREACHABLE:
		return "ClusterNotReachable";
	case MEMBER_BAD_CERTIFICATE:
		return "ServerCertificateInvalid";
	case MEMBER_CREDENTIAL_EXPIRED:
		return "ClientCertificateExpired";
	case MEMBER_UNAUTHORIZED:
		return "Unauthorized";
	case MEMBER_BAD_KUBECONFIG:
		return "KubeconfigInvalid";
	case MEMBER_CHANGED_IDENTITY:
		return "ClusterIdentityChanged";
	case MEMBER_CONNECTING:
	default:
		return "Connecting";
	}
}

void member_path(const struct kind *kind, const char *ns, const char *name, struct buf *out)
{
	if (kind->group[0])
		buf_addf(out, "/apis/%s/%s", kind->group, kind->version);
	else
		buf_addf(out, "/api/%s", kind->version);
	if (kind->scope == KIND_NAMESPACED && ns && ns[0])
		buf_addf(out, "/namespaces/%s", ns);
	buf_addf(out, "/%s", kind->plural);
	if (name)
		buf_addf(out, "/%s", name);
}

/* ---- numbers ---- */

static uint32_t number_for(struct core *c, const uint8_t uid[STORE_UID_LEN])
{
	char key[64], text[OBJECT_UID_TEXT];
	struct span value;
	uint32_t number = 1;

	(void)snprintf(key, sizeof(key), "member/%s", object_uid_format(uid, text));
	if (registry_get_aux(c->batch, false, STORE_AUX_SETTING, span_of(key), &value) == 0 &&
	    value.len == sizeof(number)) {
		memcpy(&number, value.ptr, sizeof(number));
		return number;
	}
	if (registry_get_aux(c->batch, false, STORE_AUX_SETTING, SPAN("next-member"), &value) ==
		0 &&
	    value.len == sizeof(number))
		memcpy(&number, value.ptr, sizeof(number));
	uint32_t next = number + 1;
	registry_put_aux(c->batch, false, STORE_AUX_SETTING, span_of(key),
			 span_make((const char *)&number, sizeof(number)));
	registry_put_aux(c->batch, false, STORE_AUX_SETTING, SPAN("next-member"),
			 span_make((const char *)&next, sizeof(next)));
	return number;
}

static void incarnation_key(const struct member *m, char out[64])
{
	(void)snprintf(out, 64, "incarnation/%u", m->number);
}

static struct member *member_create(struct core *c, const struct store_object *o)
{
	struct member *m = xcalloc(1, sizeof(*m));
	struct span value;
	char key[64];

	m->number = number_for(c, o->uid);
	m->name = xstrndup(o->key.name.ptr, o->key.name.len);
	memcpy(m->cluster_uid, o->uid, STORE_UID_LEN);
	m->view = CLUSTER_NONE;
	m->condition = MEMBER_CONNECTING;
	m->message = xstrdup("The hub is connecting to the cluster.");
	m->condition_since = c->now;
	incarnation_key(m, key);
	if (registry_get_aux(c->batch, false, STORE_AUX_SETTING, span_of(key), &value) == 0 &&
	    value.len == STORE_UID_LEN)
		memcpy(m->incarnation, value.ptr, STORE_UID_LEN);
	while (c->members.len <= m->number)
		vec_push(&c->members, NULL);
	c->members.items[m->number] = m;
	map_put(&c->members_by_name, span_of(m->name), m);
	m->status_dirty = true;
	return m;
}

/* ---- the view ---- */

static struct span text_of(const struct cJSON *object, const char *key)
{
	return span_of(json_str(object, key));
}

static void decode_taints(const struct cJSON *spec, struct arena *mem, struct cluster_spec *ret)
{
	const struct cJSON *list = json_get(spec, "taints");
	struct taint *taints = arena_array(mem, struct taint, json_len(list));

	json_foreach (list, t) {
		enum taint_effect effect = taint_effect_from_string(text_of(t, "effect"));
		if (span_is(text_of(t, "key"), MEMBER_CORDON_TAINT))
			ret->cordoned = true;
		else if (effect > TAINT_ANY_EFFECT)
			taints[ret->n_taints++] =
			    (struct taint){text_of(t, "key"), text_of(t, "value"), effect};
	}
	ret->taints = taints;
}

static void decode_labels(const struct cJSON *labels, struct arena *mem, struct cluster_spec *ret)
{
	struct label *out = arena_array(mem, struct label, json_len(labels));

	json_foreach (labels, l)
		if (json_value_str(l))
			out[ret->n_labels++] =
			    (struct label){span_of(json_key(l)), span_of(json_value_str(l))};
	ret->labels = out;
}

static void decode_zones(const struct cJSON *spec, struct arena *mem, struct cluster_spec *ret)
{
	const struct cJSON *list = json_get(spec, "zones");
	struct span *zones = arena_array(mem, struct span, json_len(list) + 1);

	json_foreach (list, z)
		if (json_value_str(z))
			zones[ret->n_zones++] = span_of(json_value_str(z));
	if (ret->n_zones == 0 && json_str(spec, "zone"))
		zones[ret->n_zones++] = text_of(spec, "zone");
	ret->zones = zones;
}

static void served_kinds(const struct member *m, struct arena *mem, struct cluster_spec *ret)
{
	struct api_kind *kinds = arena_array(mem, struct api_kind, STREAM_MAX);

	for (int s = 0; s < STREAM_MAX; s++)
		if (stream_kinds[s].kind && (m->apis & 1u << s))
			kinds[ret->n_kinds++] = (struct api_kind){
			    span_of(stream_kinds[s].api_version), span_of(stream_kinds[s].kind)};
	ret->kinds = kinds;
}

void member_refresh(struct core *c, struct member *m)
{
	const struct kind *kind = kind_by_type(c->kinds, TYPE_CLUSTER);
	struct store_object o;
	auto_json *tree = NULL;
	auto_arena mem = ARENA_INIT;
	struct cluster_spec spec = {.name = span_of(m->name)};

	if (registry_get(c->batch, kind, SPAN_NONE, span_of(m->name), &o) < 0 ||
	    object_tree(&o, &tree, NULL) < 0)
		return;
	const struct cJSON *in = json_get(tree, "spec");
	decode_taints(in, &mem, &spec);
	decode_labels(json_path(tree, "metadata", "labels", NULL), &mem, &spec);
	decode_zones(in, &mem, &spec);
	served_kinds(m, &mem, &spec);
	spec.provider = text_of(in, "provider");
	spec.region = text_of(in, "region");
	const char *mode =
	    json_str(json_path(tree, "metadata", "annotations", NULL), "muster.dev/capacity");
	spec.sum_of_free = mode && strcmp(mode, "sum") == 0;
	spec.ready = m->condition == MEMBER_READY;
	spec.fresh = spec.ready && m->nodes_listed && m->pods_listed;
	spec.cordoned = spec.cordoned || m->deleting;
	spec.ready_since_us = spec.fresh_since_us = m->condition_since;
	m->cordoned = spec.cordoned;
	struct err err;
	if (cluster_view_upsert(c->fleet, &spec, &m->view, &err) < 0)
		log_warn(c->log, "cluster refused by the view", "cluster=%s error=\"%s\"", m->name,
			 err.text);
}

/* ---- credentials ---- */

/* The kubeconfig out of the Secret's JSON; caller frees. */
static char *kubeconfig_of(const struct store_object *secret, size_t *ret_len)
{
	struct span value, plain;

	if (json_text_path(secret->json, &value, "data", "kubeconfig", NULL) < 0)
		return NULL;
	plain = json_text_plain(value);
	if (!plain.ptr || plain.len % 4 || plain.len > STORE_MAX_OBJECT)
		return NULL;
	char *out = xcalloc(1, plain.len / 4 * 3 + 1);
	int n =
	    EVP_DecodeBlock((unsigned char *)out, (const unsigned char *)plain.ptr, (int)plain.len);
	if (n < 0) {
		free(out);
		return NULL;
	}
	for (size_t i = plain.len; i > 0 && plain.ptr[i - 1] == '='; i--)
		n--;
	*ret_len = (size_t)n;
	return out;
}

static void set_condition(struct core *c, struct member *m, enum member_condition condition,
			  const char *message)
{
	if (m->condition != condition)
		m->condition_since = c->now;
	m->condition = condition;
	free(m->message);
	m->message = xstrdup(message);
	m->status_dirty = true;
	m->status_due = c->now;
}

static void join(struct core *c, struct member *m, const struct cJSON *cluster)
{
	const struct cJSON *ref = json_path(cluster, "spec", "secretRef", NULL);
	const struct kind *kind = kind_by_type(c->kinds, TYPE_SECRET);
	struct store_object secret;
	char message[512];
	size_t len = 0;
	char *kubeconfig = NULL;

	if (registry_get(c->batch, kind, text_of(ref, "namespace"), text_of(ref, "name"),
			 &secret) == 0)
		kubeconfig = kubeconfig_of(&secret, &len);
	if (!kubeconfig) {
		(void)snprintf(
		    message, sizeof(message),
		    "The Secret %s/%s of spec.secretRef has no usable key \"kubeconfig\".",
		    json_str(ref, "namespace") ? json_str(ref, "namespace") : "",
		    json_str(ref, "name") ? json_str(ref, "name") : "");
		set_condition(c, m, MEMBER_BAD_KUBECONFIG, message);
		return;
	}
	struct order *o = order_create(ORDER_JOIN, m->number);
	o->name = xstrdup(m->name);
	o->kubeconfig = kubeconfig;
	o->kubeconfig_len = len;
	memcpy(o->incarnation, m->incarnation, STORE_UID_LEN);
	memcpy(o->cursors, m->cursors, sizeof(o->cursors));
	vec_push(&c->orders, o);
}

void member_observe(struct core *c, const struct store_object *o)
{
	struct member *m = member_by_name(c, o->key.name);
	auto_json *tree = NULL;
	bool fresh = false;

	if (object_tree(o, &tree, NULL) < 0)
		return;
	if (m && memcmp(m->cluster_uid, o->uid, STORE_UID_LEN) != 0) {
		member_forget(c, o->key.name);
		m = NULL;
	}
	if (!m) {
		m = member_create(c, o);
		fresh = true;
	}
	m->deleting = o->flags & OBJECT_DELETING;
	const char *dead =
	    json_str(json_path(tree, "metadata", "annotations", NULL), "muster.dev/dead");
	m->dead = dead && strcmp(dead, "true") == 0;
	member_refresh(c, m);
	if (fresh) {
		cursors_load(c, m);
		join(c, m, tree);
	}
	if (m->deleting || m->dead)
		m->unjoin_at = c->now;
}

void member_observe_secret(struct core *c, struct span ns, struct span name)
{
	const struct kind *kind = kind_by_type(c->kinds, TYPE_CLUSTER);

	vec_foreach (&c->members, p) {
		struct store_object o;
		auto_json *tree = NULL;
		if (!*p || registry_get(c->batch, kind, SPAN_NONE, span_of((*p)->name), &o) < 0 ||
		    object_tree(&o, &tree, NULL) < 0)
			continue;
		const struct cJSON *ref = json_path(tree, "spec", "secretRef", NULL);
		if (span_eq(text_of(ref, "namespace"), ns) && span_eq(text_of(ref, "name"), name))
			join(c, *p, tree);
	}
}

void member_free(struct core *c, struct member *m)
{
	capacity_forget(c, m);
	if (m->view != CLUSTER_NONE)
		cluster_view_remove(c->fleet, m->view);
	map_foreach (&m->prepared, e) {
		struct prepared_thing *t = e->value;
		vec_done(&t->waiting);
		free(t);
	}
	map_done(&m->prepared);
	vec_foreach (&m->orphans, o) {
		free(o->path);
		free(o->uid);
	}
	vec_done(&m->orphans);
	vec_done(&m->jobs);
	free(m->name);
	free(m->message);
	free(m->kubernetes_version);
	free(m->server);
	free(m);
}

void member_forget(struct core *c, struct span name)
{
	struct member *m = member_by_name(c, name);
	char key[64];

	if (!m)
		return;
	vec_push(&c->orders, order_create(ORDER_LEAVE, m->number));
	cursors_forget(c, m);
	incarnation_key(m, key);
	registry_delete_aux(c->batch, false, STORE_AUX_SETTING, span_of(key));
	map_remove(&c->members_by_name, name);
	c->members.items[m->number] = NULL;
	member_free(c, m);
}

void member_state(struct core *c, struct member *m, const struct fact *f)
{
	static const uint8_t none[STORE_UID_LEN];
	const struct member_fact *s = &f->member_state;
	char key[64];

	set_condition(c, m, s->condition, s->message ? s->message : "");
	if (memcmp(m->incarnation, none, STORE_UID_LEN) == 0 &&
	    memcmp(s->incarnation, none, STORE_UID_LEN) != 0) {
		memcpy(m->incarnation, s->incarnation, STORE_UID_LEN);
		incarnation_key(m, key);
		registry_put_aux(c->batch, false, STORE_AUX_SETTING, span_of(key),
				 span_make((const char *)m->incarnation, STORE_UID_LEN));
	}
	if (s->kubernetes_version) {
		free(m->kubernetes_version);
		m->kubernetes_version = xstrdup(s->kubernetes_version);
	}
	if (s->server) {
		free(m->server);
		m->server = xstrdup(s->server);
	}
	if (s->apis_known) {
		m->apis = s->apis;
		m->apis_known = true;
	}
	member_refresh(c, m);
	if (m->condition == MEMBER_READY)
		courier_member_ready(c, m);
}

/* ---- status ---- */

static void add_enablements(const struct member *m, struct buf *b)
{
	bool first = true;

	buf_add_str(b, ",\"apiEnablements\":[");
	for (int s = 0; s < STREAM_MAX; s++) {
		if (!stream_kinds[s].kind || !(m->apis & 1u << s))
			continue;
		buf_addf(b,
			 "%s{\"groupVersion\":\"%s\",\"resources\":[{\"kind\":\"%s\",\"name\":\"",
			 first ? "" : ",", stream_kinds[s].api_version, stream_kinds[s].kind);
		for (const char *p = stream_kinds[s].kind; *p; p++)
			buf_add_char(b, (char)(*p | 0x20));
		buf_add_str(b, "s\"}]}");
		first = false;
	}
	buf_add_char(b, ']');
}

static void add_amounts(const struct core *c, const struct member *m, bool allocated, struct buf *b)
{
	const struct resource_table *t = fleet_resource_names(c->fleet);
	char text[QUOTA_QUANTITY_MAX];
	bool first = true;

	buf_add_char(b, '{');
	for (uint32_t r = 0; r < t->n; r++) {
		struct cluster_totals totals;
		cluster_view_totals(c->fleet, m->view, r, &totals);
		if (totals.allocatable == 0)
			continue;
		quota_message_quantity(span_of(t->names[r]),
				       allocated ? totals.requested : totals.allocatable, text,
				       sizeof(text));
		buf_addf(b, "%s\"%s\":\"%s\"", first ? "" : ",", t->names[r], text);
		first = false;
	}
	buf_add_char(b, '}');
}

static void status_text(const struct core *c, const struct member *m, struct buf *b)
{
	char when[CLOCK_TEXT_MAX];
	uint32_t total = 0, usable = 0;

	buf_addf(
	    b,
	    "{\"kubernetesVersion\":\"%s\",\"conditions\":[{\"type\":\"Ready\",\"status\":\"%s\","
	    "\"reason\":\"%s\",\"message\":",
	    m->kubernetes_version ? m->kubernetes_version : "",
	    m->condition == MEMBER_READY	? "True"
	    : m->condition == MEMBER_CONNECTING ? "Unknown"
						: "False",
	    member_condition_reason(m->condition));
	buf_add_json_str(b, span_of(m->message));
	buf_addf(b, ",\"lastTransitionTime\":\"%s\"}]", clock_format(m->condition_since, when));
	if (m->apis_known)
		add_enablements(m, b);
	if (m->view != CLUSTER_NONE) {
		cluster_view_node_counts(c->fleet, m->view, &total, &usable);
		buf_addf(b, ",\"nodeSummary\":{\"totalNum\":%u,\"readyNum\":%u}", total, usable);
		buf_add_str(b, ",\"resourceSummary\":{\"allocatable\":");
		add_amounts(c, m, false, b);
		buf_add_str(b, ",\"allocated\":");
		add_amounts(c, m, true, b);
		buf_add_char(b, '}');
	}
	buf_add_char(b, '}');
}

static void write_status(struct core *c, struct member *m)
{
	const struct kind *kind = kind_by_type(c->kinds, TYPE_CLUSTER);
	struct store_object o;
	struct object_draft draft;
	auto_buf text = BUF_INIT;

	m->status_dirty = false;
	m->status_due = c->now + STATUS_INTERVAL;
	if (registry_get(c->batch, kind, SPAN_NONE, span_of(m->name), &o) < 0)
		return;
	status_text(c, m, &text);
	struct span old = span_make(o.json.ptr + o.extents.status.at, o.extents.status.len);
	if (span_eq(old, buf_span(&text)))
		return;
	if (object_draft_splice_status(&o, buf_span(&text), false, &draft, NULL) == 0)
		(void)core_put(c, kind, SPAN_NONE, span_of(m->name), &draft);
}

void member_flush(struct core *c)
{
	vec_foreach (&c->members, p) {
		struct member *m = *p;
		if (!m || !m->status_dirty || m->status_due > c->now)
			continue;
		if (registry_batch_full(c->batch))
			return;
		write_status(c, m);
	}
}

usec member_due(const struct core *c)
{
	usec due = INT64_MAX;
	vec_foreach (&c->members, p)
		if (*p && (*p)->status_dirty && (*p)->status_due < due)
			due = (*p)->status_due;
	return due;
}

/* ---- unjoin ---- */

/* Finished jobs have no records; their copies are found through their bindings. */
static void revive_finished(struct core *c, struct member *m)
{
	const struct kind *kind = kind_by_type(c->kinds, TYPE_RESOURCE_BINDING);
	struct store_reader *reader;
	struct store_iter *it;
	struct store_object o;
	int fail = 0;

	if (registry_reader(c->batch, kind, &reader, NULL) < 0 ||
	    store_iter_begin(reader, &(struct store_range){.type = kind->type}, &it, NULL) < 0)
		return;
	while (store_iter_next(it, &o, &fail)) {
		struct dispatch_state s;
		struct store_object object;
		struct span resource, word, name;
		if (binding_dispatch(&o, &s) < 0 || s.step == DISPATCH_IDLE ||
		    s.member != m->number ||
		    json_text_path(o.json, &resource, "spec", "resource", NULL) < 0 ||
		    json_text_member(resource, "kind", &word) < 0 ||
		    json_text_member(resource, "name", &name) < 0)
			continue;
		const struct kind *k = query_job_kind(c, json_text_plain(word));
		if (k && registry_get(c->batch, k, o.key.ns, json_text_plain(name), &object) == 0)
			(void)observe_revive(c, k, &object);
	}
	store_iter_end(it);
	m->finished_revived = fail == 0;
}

void member_unjoin_step(struct core *c, struct member *m)
{
	const struct kind *kind = kind_by_type(c->kinds, TYPE_CLUSTER);
	struct store_object o;

	if (!m->finished_revived)
		revive_finished(c, m);
	/* From the end: a job that leaves puts the last one, which was seen, in its place. */
	for (size_t i = m->jobs.len; i-- > 0;) {
		struct job *j = job_by_number(c, m->jobs.items[i]);
		courier_feed(
		    c, j, &(struct dispatch_event){m->dead ? EVENT_MEMBER_DEAD : EVENT_WITHDRAW});
	}
	if (!m->deleting || m->jobs.len > 0)
		return;
	if (!m->dead && !courier_clean_member(c, m))
		return;
	if (registry_get(c->batch, kind, SPAN_NONE, span_of(m->name), &o) == 0)
		core_remove_hub_finalizer(c, kind, &o);
}

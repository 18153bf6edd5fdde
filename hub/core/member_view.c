#include "core/member_view.h"

#include "base/json.h"
#include "core/member.h"
#include "quota-tree/quota_message.h"

#define STATUS_INTERVAL (500 * USEC_PER_MS)

static const struct {
	const char *api_version, *kind;
} stream_kinds[STREAM_MAX] = {
    [STREAM_JOBS] = {"batch/v1", "Job"},
    [STREAM_PYTORCHJOBS] = {"kubeflow.org/v1", "PyTorchJob"},
    [STREAM_TFJOBS] = {"kubeflow.org/v1", "TFJob"},
    [STREAM_MPIJOBS] = {"kubeflow.org/v1", "MPIJob"},
    [STREAM_MPIJOBS_V2BETA1] = {"kubeflow.org/v2beta1", "MPIJob"},
    [STREAM_JOBSETS] = {"jobset.x-k8s.io/v1alpha2", "JobSet"},
    [STREAM_RAYJOBS] = {"ray.io/v1", "RayJob"},
    [STREAM_RAYCLUSTERS] = {"ray.io/v1", "RayCluster"},
    [STREAM_XGBOOSTJOBS] = {"kubeflow.org/v1", "XGBoostJob"},
    [STREAM_PADDLEJOBS] = {"kubeflow.org/v1", "PaddleJob"},
    [STREAM_JAXJOBS] = {"kubeflow.org/v1", "JAXJob"},
    [STREAM_PROVISIONING_REQUESTS] = {"autoscaling.x-k8s.io/v1", "ProvisioningRequest"},
    [STREAM_PROVISIONING_REQUESTS_V1BETA1] = {"autoscaling.x-k8s.io/v1beta1",
					      "ProvisioningRequest"},
};

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

void member_view_refresh(struct core *c, struct member *m)
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
	spec.cordoned = spec.cordoned || m->deleting || m->dead;
	spec.ready_since_us = spec.fresh_since_us = m->condition_since;
	m->cordoned = spec.cordoned;
	struct err err;
	if (cluster_view_upsert(c->fleet, &spec, &m->view, &err) < 0)
		log_warn(c->log, "cluster refused by the view", "cluster=%s error=\"%s\"", m->name,
			 err.text);
}

/* ---- status ---- */

const char *member_view_reason(enum member_condition condition)
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
	    member_view_reason(m->condition));
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
	if (core_splice_status(c, kind, &o, buf_span(&text), false, &draft, NULL) == 0)
		(void)core_put(c, kind, SPAN_NONE, span_of(m->name), &draft);
}

void member_view_flush(struct core *c)
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

usec member_view_due(const struct core *c)
{
	usec due = INT64_MAX;
	vec_foreach (&c->members, p)
		if (*p && (*p)->status_dirty && (*p)->status_due < due)
			due = (*p)->status_due;
	return due;
}

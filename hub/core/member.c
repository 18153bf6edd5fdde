#include "core/member.h"
#include "core/member_view.h"
#include "core/provisioning/provisioning.h"

#include "base/json.h"
#include "core/capacity.h"
#include "core/cursors.h"
#include "core/dispatch/courier.h"
#include "core/dispatch/dependency_record.h"
#include "core/job.h"
#include "core/kueue/claim.h"
#include "core/kueue/multikueue.h"
#include "core/member_event.h"
#include "core/provisioning/request_claim.h"
#include "core/swap/swap_hold.h"
#include "kinds/mpi_job.h"

#include <openssl/evp.h>

struct member *member_by_number(const struct core *c, uint32_t number)
{
	return number < c->members.len ? c->members.items[number] : NULL;
}

struct member *member_by_name(const struct core *c, struct span name)
{
	return map_get(&c->members_by_name, name);
}

struct member *member_by_view(const struct core *c, uint32_t view)
{
	vec_foreach (&c->members, p)
		if (*p && (*p)->view == view)
			return *p;
	return NULL;
}

struct member *member_of(const struct core *c, const struct job *j)
{
	return j->dispatch.step == DISPATCH_IDLE ? NULL : member_by_number(c, j->dispatch.member);
}

struct member *member_placed(const struct core *c, const struct job *j)
{
	const struct dispatch_state *s = &j->dispatch;

	if (dispatch_is_free(s))
		return NULL;
	return member_by_number(c, s->step == DISPATCH_LEAVING ? s->target : s->member);
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

enum member_stream core_stream_of(uint16_t type)
{
	switch (type) {
	case TYPE_JOB:
		return STREAM_JOBS;
	case TYPE_PYTORCH_JOB:
		return STREAM_PYTORCHJOBS;
	case TYPE_TF_JOB:
		return STREAM_TFJOBS;
	case TYPE_MPI_JOB:
		return STREAM_MPIJOBS;
	case TYPE_JOB_SET:
		return STREAM_JOBSETS;
	case TYPE_RAY_JOB:
		return STREAM_RAYJOBS;
	case TYPE_RAY_CLUSTER:
		return STREAM_RAYCLUSTERS;
	case TYPE_XGBOOST_JOB:
		return STREAM_XGBOOSTJOBS;
	case TYPE_PADDLE_JOB:
		return STREAM_PADDLEJOBS;
	case TYPE_JAX_JOB:
		return STREAM_JAXJOBS;
	case TYPE_PROVISIONING_REQUEST:
		return STREAM_PROVISIONING_REQUESTS;
	default:
		return STREAM_MAX;
	}
}

enum member_stream member_stream_of(const struct member *m, uint16_t type)
{
	const uint32_t v1 = 1u << STREAM_MPIJOBS, beta = 1u << STREAM_MPIJOBS_V2BETA1;

	if (type == TYPE_MPI_JOB && (m->apis & (v1 | beta)) == beta)
		return STREAM_MPIJOBS_V2BETA1;
	return core_stream_of(type);
}

const struct kind *member_kind(const struct core *c, const struct member *m, uint16_t type)
{
	const struct kind *k = kind_by_type(c->kinds, type), *beta = NULL;

	if (k && member_stream_of(m, type) == STREAM_MPIJOBS_V2BETA1)
		beta =
		    kind_by_gvk(c->kinds, span_of(k->group), SPAN(MPI_JOB_BETA), span_of(k->kind));
	return beta ? beta : k;
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

/* ---- credentials ---- */

static struct span text_of(const struct cJSON *object, const char *key)
{
	return span_of(json_str(object, key));
}

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

	m->secret = 0;
	if (registry_get(c->batch, kind, text_of(ref, "namespace"), text_of(ref, "name"),
			 &secret) == 0) {
		kubeconfig = kubeconfig_of(&secret, &len);
		m->secret = secret.revision;
	}
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
	o->id = m->join = ++c->next_order;
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
	member_view_refresh(c, m);
	if (fresh) {
		cursors_load(c, m);
		dependency_record_restore(c, m);
		join(c, m, tree);
		multikueue_members_changed(c);
	}
	if (m->deleting || m->dead)
		m->unjoin_at = c->now;
}

static uint64_t secret_revision(struct core *c, struct span ns, struct span name)
{
	struct store_object o;

	return registry_get(c->batch, kind_by_type(c->kinds, TYPE_SECRET), ns, name, &o) == 0
		   ? o.revision
		   : 0;
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
		if (!span_eq(text_of(ref, "namespace"), ns) || !span_eq(text_of(ref, "name"), name))
			continue;
		/* Told again, as after a restart: the connections are good. */
		if (secret_revision(c, ns, name) != (*p)->secret)
			join(c, *p, tree);
	}
}

void member_free(struct core *c, struct member *m)
{
	capacity_forget(c, m);
	if (m->view != CLUSTER_NONE)
		claim_leave(c, m->view);
	request_claim_leave(c, m);
	swap_hold_leave(c, m);
	if (m->view != CLUSTER_NONE)
		cluster_view_remove(c->fleet, m->view);
	dependency_record_free_all(m);
	member_event_free_all(m);
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

void member_erase(struct core *c, struct member *m)
{
	char key[64], text[OBJECT_UID_TEXT];

	cursors_forget(c, m);
	incarnation_key(m, key);
	registry_delete_aux(c->batch, false, STORE_AUX_SETTING, span_of(key));
	(void)snprintf(key, sizeof(key), "member/%s", object_uid_format(m->cluster_uid, text));
	registry_delete_aux(c->batch, false, STORE_AUX_SETTING, span_of(key));
}

void member_forget(struct core *c, struct span name)
{
	struct member *m = member_by_name(c, name);

	if (!m)
		return;
	vec_push(&c->orders, order_create(ORDER_LEAVE, m->number));
	member_erase(c, m);
	map_remove(&c->members_by_name, name);
	c->members.items[m->number] = NULL;
	member_free(c, m);
	multikueue_members_changed(c);
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
	member_view_refresh(c, m);
	if (m->condition == MEMBER_READY) {
		courier_member_ready(c, m);
		provisioning_member_changed(c, m);
	}
}

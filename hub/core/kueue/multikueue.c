#include "core/kueue/multikueue.h"

#include "base/json.h"
#include "core/job.h"
#include "core/kueue/active_condition.h"
#include "core/kueue/admission_check.h"
#include "core/kueue/cluster_queue.h"
#include "core/kueue/provisioning_config.h"
#include "core/kueue/workload_status.h"
#include "core/member.h"

struct multikueue_config {
	struct VEC(char *) clusters;
};

static void config_free(struct multikueue_config *k)
{
	if (!k)
		return;
	vec_foreach (&k->clusters, name)
		free(*name);
	vec_done(&k->clusters);
	free(k);
}

/* Checks may be active or not, and queues' jobs have other candidates. */
static void changed(struct core *c)
{
	provisioning_config_changed(c);
	kueue_queues_edited(c->kueue->queues, KUEUE_NONE);
	c->pump_wanted = true;
}

void multikueue_observe_config(struct core *c, const struct store_object *o)
{
	struct multikueue_config *k = xcalloc(1, sizeof(*k));
	auto_json *tree = NULL;

	if (object_tree(o, &tree, NULL) == 0)
		json_foreach (json_path(tree, "spec", "clusters", NULL), name)
			if (json_value_str(name))
				vec_push(&k->clusters, xstrdup(json_value_str(name)));
	config_free(map_put(&c->kueue->multikueue_configs, o->key.name, k));
	changed(c);
}

void multikueue_forget_config(struct core *c, struct span name)
{
	config_free(map_remove(&c->kueue->multikueue_configs, name));
	changed(c);
}

void multikueue_observe_cluster(struct core *c, const struct store_object *o)
{
	map_put(&c->kueue->multikueue_clusters, o->key.name, c->kueue);
	provisioning_config_changed(c);
}

void multikueue_forget_cluster(struct core *c, struct span name)
{
	map_remove(&c->kueue->multikueue_clusters, name);
	provisioning_config_changed(c);
}

void multikueue_members_changed(struct core *c)
{
	if (c->kueue)
		provisioning_config_changed(c);
}

void multikueue_done(struct kueue *k)
{
	map_foreach (&k->multikueue_configs, e)
		config_free(e->value);
	map_done(&k->multikueue_configs);
	map_done(&k->multikueue_clusters);
}

/* ---- checks ---- */

static const struct admission_check *check_of(const struct core *c, struct span name)
{
	const struct admission_check *a = map_get(&c->kueue->checks, name);

	return a && a->controller && strcmp(a->controller, MULTIKUEUE_CONTROLLER) == 0 ? a : NULL;
}

bool multikueue_is_check(const struct core *c, struct span check)
{
	return check_of(c, check) != NULL;
}

size_t multikueue_others(const struct core *c, const char *const *checks, size_t n)
{
	size_t others = 0;

	for (size_t i = 0; i < n; i++)
		others += !multikueue_is_check(c, span_of(checks[i]));
	return others;
}

static const struct multikueue_config *config_of(const struct core *c,
						 const struct admission_check *a)
{
	return a->config ? map_get_str(&c->kueue->multikueue_configs, a->config) : NULL;
}

const char *multikueue_activity(const struct core *c, const struct admission_check *a,
				bool *ret_active, struct buf *out)
{
	const struct multikueue_config *k = config_of(c, a);
	auto_buf missing = BUF_INIT, inactive = BUF_INIT;
	size_t joined = 0;

	*ret_active = false;
	if (!k) {
		buf_addf(out,
			 "Cannot load the AdmissionChecks parameters: "
			 "MultiKueueConfig.kueue.x-k8s.io \"%s\" not found",
			 a->config ? a->config : "");
		return "BadConfig";
	}
	vec_foreach (&k->clusters, name) {
		if (member_by_name(c, span_of(*name))) {
			joined++;
			continue;
		}
		struct buf *to =
		    map_get_str(&c->kueue->multikueue_clusters, *name) ? &inactive : &missing;
		buf_addf(to, "%s%s", to->len ? " " : "", *name);
	}
	*ret_active = joined > 0;
	if (joined == k->clusters.len)
		buf_add_str(out, "The admission check is active");
	if (missing.len)
		buf_addf(out, "Missing clusters: [%s]", missing.ptr);
	if (inactive.len)
		buf_addf(out, "%sInactive clusters: [%s]", missing.len ? ", " : "", inactive.ptr);
	if (joined == k->clusters.len)
		return "Active";
	return joined ? "SomeActiveClusters" : "NoUsableClusters";
}

static void add_name(struct buf *list, const char *name)
{
	buf_addf(list, "%s%s", list->len ? "," : "", name);
}

const char *multikueue_problem(const struct core *c, const struct cluster_queue *q, size_t which,
			       struct buf *out)
{
	auto_buf ours = BUF_INIT, per_flavor = BUF_INIT, provisioning = BUF_INIT;
	size_t n = 0;

	vec_foreach (&q->checks, k) {
		bool is_ours = multikueue_is_check(c, span_of(k->name));
		n += is_ours;
		if (is_ours)
			add_name(&ours, k->name);
		if (is_ours && k->n_on_flavors)
			add_name(&per_flavor, k->name);
		if (provisioning_config_is_check(c, k->name))
			add_name(&provisioning, k->name);
	}
	if (which == 0 && n > 1) {
		buf_addf(out,
			 "Cannot use multiple MultiKueue AdmissionChecks on the same ClusterQueue, "
			 "found: %s",
			 ours.ptr);
		return "MultipleMultiKueueAdmissionChecks";
	}
	if (which == 1 && per_flavor.len) {
		buf_addf(out, "Cannot specify MultiKueue AdmissionCheck per flavor, found: %s",
			 per_flavor.ptr);
		return "MultiKueueAdmissionCheckAppliedPerFlavor";
	}
	if (which == 2 && n && provisioning.len) {
		buf_addf(out,
			 "Cannot use both MultiKueue and ProvisioningRequest AdmissionChecks "
			 "together, found: %s, %s",
			 ours.ptr, provisioning.ptr);
		return "MultiKueueWithProvisioningRequest";
	}
	return NULL;
}

bool multikueue_flush_clusters(struct core *c)
{
	const struct kind *kind = kind_by_type(c->kinds, TYPE_MULTI_KUEUE_CLUSTER);

	map_foreach (&c->kueue->multikueue_clusters, e) {
		struct span name = span_make(e->key, e->key_len);
		bool joined = member_by_name(c, name) != NULL;
		if (registry_batch_full(c->batch) || registry_batch_room(c->batch) < 2)
			return false;
		active_condition_write(
		    c, kind, name, joined, joined ? "Active" : "ClientConnectionFailed",
		    joined ? "Connected" : "no member cluster of this name has joined");
	}
	return true;
}

/* ---- jobs ---- */

/* The check of the job's queue, or NULL. */
static const struct admission_check *check_of_job(const struct core *c, const struct job *j)
{
	const struct cluster_queue *q = j->workload ? workload_cluster_queue(c, j->workload) : NULL;

	if (!q)
		return NULL;
	vec_foreach (&q->checks, k) {
		const struct admission_check *a = check_of(c, span_of(k->name));
		if (a)
			return a;
	}
	return NULL;
}

void multikueue_narrow(const struct core *c, const struct job *j, struct arena *mem,
		       struct placement_spec *placement)
{
	const struct admission_check *a = check_of_job(c, j);
	const struct multikueue_config *k = a ? config_of(c, a) : NULL;

	if (!k || !k->clusters.len)
		return;
	struct span *names = arena_array(mem, struct span, k->clusters.len);
	for (size_t i = 0; i < k->clusters.len; i++)
		names[i] = span_of(k->clusters.items[i]);
	placement->only = names;
	placement->n_only = k->clusters.len;
}

void multikueue_placed(struct core *c, struct workload *w)
{
	const struct cluster_queue *q = workload_cluster_queue(c, w);
	const struct member *m = w->job ? member_placed(c, w->job) : NULL;
	char text[400];

	if (!q || !m)
		return;
	(void)snprintf(text, sizeof(text), "The workload got reservation on \"%s\"", m->name);
	vec_foreach (&q->checks, k) {
		if (!multikueue_is_check(c, span_of(k->name)))
			continue;
		workload_set_check(c, w,
				   &(struct workload_check_edit){
				       .name = k->name, .state = "Ready", .message = text});
		workload_set_cluster(c, w, m->name);
		workload_event(c, w, "Normal", "kueue-multikueue", "MultiKueue", "%s", text);
	}
}

#include "core/kueue/kueue.h"

#include "core/kueue/bypass.h"

#include "base/num.h"
#include "core/kueue/admission_check.h"
#include "core/kueue/cluster_queue.h"
#include "core/kueue/evict.h"
#include "core/kueue/in_use.h"
#include "core/kueue/local_queue.h"
#include "core/kueue/multikueue.h"
#include "core/kueue/prebuilt.h"
#include "core/kueue/priority_class.h"
#include "core/kueue/provisioning_check.h"
#include "core/kueue/provisioning_config.h"
#include "core/kueue/queue_status.h"
#include "core/kueue/quota_shadow.h"
#include "core/kueue/quota_wait.h"
#include "core/kueue/resource_flavor.h"
#include "core/kueue/topology.h"
#include "core/kueue/workload.h"
#include "core/kueue/workload_row.h"
#include "core/kueue/workload_status.h"
#include "core/recorder.h"

/* ---- memory ---- */

static void take_selector(struct kueue *k)
{
	struct field_errors errors = {.n = 0};

	/* It was checked when it was read. */
	if (selector_add_label_selector(&k->managed_namespaces, k->settings.managed_namespaces, "",
					&errors) < 0)
		abort();
	field_errors_done(&errors);
}

void kueue_open(struct core *c)
{
	struct kueue *k = xcalloc(1, sizeof(*k));

	k->settings = c->settings.kueue;
	k->forest = kueue_forest_create(&k->settings.engine);
	k->queues = kueue_queues_create(k->forest, &k->settings.engine);
	for (size_t i = 0; i < k->settings.n_usage_weights; i++)
		kueue_queues_set_usage_weight(k->queues,
					      span_of(k->settings.usage_weights[i].resource),
					      k->settings.usage_weights[i].weight);
	k->usage_due = k->settings.engine.usage_sampling_interval > 0 ? 0 : INT64_MAX;
	take_selector(k);
	k->starves_at = k->bypass_at = INT64_MAX;
	c->kueue = k;
}

static void close_workloads(struct core *c)
{
	struct VEC(struct workload *) all = {0};

	map_foreach (&c->kueue->workloads, e)
		vec_push(&all, e->value);
	vec_foreach (&all, w)
		workload_destroy(c, *w);
	vec_done(&all);
}

void kueue_close(struct core *c)
{
	struct kueue *k = c->kueue;

	if (!k)
		return;
	close_workloads(c);
	quota_shadow_drop_all(c);
	vec_done(&k->refused_shapes);
	k->queues = kueue_queues_destroy(k->queues);
	k->forest = kueue_forest_destroy(k->forest);
	map_foreach (&k->cluster_queues, e)
		cluster_queue_free(e->value);
	map_foreach (&k->local_queues, e)
		local_queue_free(e->value);
	map_foreach (&k->classes, e)
		free(e->value);
	map_foreach (&k->checks, e)
		admission_check_free(e->value);
	map_done(&k->cluster_queues);
	map_done(&k->local_queues);
	map_done(&k->classes);
	map_done(&k->checks);
	multikueue_done(k);
	topologies_done(k);
	map_done(&k->workloads);
	prebuilt_done(k);
	vec_done(&k->locals_by_number);
	vec_done(&k->dirty);
	vec_done(&k->timers);
	vec_done(&k->placing);
	vec_done(&k->checking);
	vec_done(&k->claims);
	vec_done(&k->lacking);
	vec_done(&k->dirty_queues);
	vec_done(&k->dirty_locals);
	in_use_done(k);
	selector_done(&k->managed_namespaces);
	free(k);
	c->kueue = NULL;
}

/* ---- objects ---- */

bool kueue_is_interesting(const struct kind *kind)
{
	switch (kind->type) {
	case TYPE_RESOURCE_FLAVOR:
	case TYPE_COHORT:
	case TYPE_CLUSTER_QUEUE:
	case TYPE_LOCAL_QUEUE:
	case TYPE_WORKLOAD_PRIORITY_CLASS:
	case TYPE_ADMISSION_CHECK:
	case TYPE_TOPOLOGY:
	case TYPE_PROVISIONING_REQUEST_CONFIG:
	case TYPE_MULTI_KUEUE_CONFIG:
	case TYPE_MULTI_KUEUE_CLUSTER:
	case TYPE_WORKLOAD:
		return true;
	default:
		return false;
	}
}

static bool observe(struct core *c, const struct kind *kind, const struct store_object *o)
{
	switch (kind->type) {
	case TYPE_RESOURCE_FLAVOR:
		resource_flavor_observe(c, o);
		return true;
	case TYPE_COHORT:
		cohort_observe(c, o);
		return true;
	case TYPE_CLUSTER_QUEUE:
		cluster_queue_observe(c, o);
		return true;
	case TYPE_LOCAL_QUEUE:
		local_queue_observe(c, o);
		return true;
	case TYPE_WORKLOAD_PRIORITY_CLASS:
		priority_class_observe(c, o);
		return true;
	case TYPE_ADMISSION_CHECK:
		admission_check_observe(c, o);
		return true;
	case TYPE_TOPOLOGY:
		topology_observe(c, o);
		return true;
	case TYPE_PROVISIONING_REQUEST_CONFIG:
		provisioning_config_changed(c);
		return true;
	case TYPE_MULTI_KUEUE_CONFIG:
		multikueue_observe_config(c, o);
		return true;
	case TYPE_MULTI_KUEUE_CLUSTER:
		multikueue_observe_cluster(c, o);
		return true;
	case TYPE_WORKLOAD:
		workload_observe(c, o);
		prebuilt_look(c, o->key.ns, o->key.name);
		return true;
	default:
		return false;
	}
}

bool kueue_observe(struct core *c, const struct kind *kind, const struct store_object *o)
{
	if (!observe(c, kind, o))
		return false;
	in_use_observe(c, kind, o);
	return true;
}

static bool observe_absent(struct core *c, const struct kind *kind, struct span ns,
			   struct span name)
{
	switch (kind->type) {
	case TYPE_RESOURCE_FLAVOR:
		resource_flavor_forget(c, name);
		return true;
	case TYPE_COHORT:
		cohort_forget(c, name);
		return true;
	case TYPE_CLUSTER_QUEUE:
		cluster_queue_forget(c, name);
		return true;
	case TYPE_LOCAL_QUEUE:
		local_queue_forget(c, ns, name);
		return true;
	case TYPE_WORKLOAD_PRIORITY_CLASS:
		priority_class_forget(c, name);
		return true;
	case TYPE_ADMISSION_CHECK:
		admission_check_forget(c, name);
		return true;
	case TYPE_TOPOLOGY:
		topology_forget(c, name);
		return true;
	case TYPE_PROVISIONING_REQUEST_CONFIG:
		provisioning_config_changed(c);
		return true;
	case TYPE_MULTI_KUEUE_CONFIG:
		multikueue_forget_config(c, name);
		return true;
	case TYPE_MULTI_KUEUE_CLUSTER:
		multikueue_forget_cluster(c, name);
		return true;
	case TYPE_WORKLOAD:
		workload_gone(c, ns, name);
		prebuilt_look(c, ns, name);
		return true;
	default:
		return false;
	}
}

bool kueue_observe_absent(struct core *c, const struct kind *kind, struct span ns, struct span name)
{
	if (!observe_absent(c, kind, ns, name))
		return false;
	in_use_forget(c, kind, name);
	return true;
}

bool kueue_is_quota(const struct kind *kind)
{
	return kind->type == TYPE_RESOURCE_FLAVOR || kind->type == TYPE_COHORT ||
	       kind->type == TYPE_CLUSTER_QUEUE;
}

bool kueue_owes_admissions(const struct core *c)
{
	vec_foreach (&c->dirty, j)
		if ((*j)->workload && workload_edit_admits((*j)->workload))
			return true;
	vec_foreach (&c->kueue->dirty, w)
		if (workload_edit_admits(*w))
			return true;
	return false;
}

bool kueue_manages(struct core *c, struct span ns)
{
	const struct kueue *k = c->kueue;
	struct store_object o;

	if (!k->settings.managed_namespaces)
		return !span_is(ns, "kube-system") && !span_is(ns, "kueue-system");
	return registry_get(c->batch, kind_by_type(c->kinds, TYPE_NAMESPACE), SPAN(""), ns, &o) ==
		   0 &&
	       selector_matches_row(&k->managed_namespaces, &o);
}

void kueue_observe_namespace(struct core *c, struct span name)
{
	local_queue_refile_namespace(c, name);
	if (c->kueue->settings.managed_namespaces && !c->restoring)
		local_queue_offer_namespace(c, name);
}

/* ---- what is due ---- */

void kueue_timers(struct core *c)
{
	struct kueue *k = c->kueue;

	while (k->timers.len && k->timers.items[0]->timer <= c->now) {
		struct workload *w = k->timers.items[0];
		workload_timer_remove(c, w);
		evict_timer(c, w);
	}
	queue_status_sample_usage(c);
	bypass_run(c);
	if (k->checking.len || k->checks_changed)
		k->checking_soon = !provisioning_check_run(c);
}

usec kueue_due(const struct core *c)
{
	const struct kueue *k = c->kueue;
	usec t = k->timers.len ? k->timers.items[0]->timer : INT64_MAX;

	if (k->checking_soon || k->checks_changed)
		return c->now;
	t = num_min(t, k->bypass_at);
	t = num_min(t, in_use_due(c));
	return num_min(num_min(t, queue_status_due(c)), num_min(k->usage_due, quota_wait_due(c)));
}

bool kueue_flush_workloads(struct core *c, bool freed_only)
{
	struct kueue *k = c->kueue;
	size_t done = 0, end = freed_only ? k->n_freed : k->dirty.len;

	for (; done < end; done++) {
		struct workload *w = k->dirty.items[done];
		if (registry_batch_full(c->batch) ||
		    registry_batch_room(c->batch) < WORKLOAD_ROWS || recorder_is_behind(c))
			break;
		workload_flush(c, w);
	}
	bool all = done == end;
	if (done)
		memmove(k->dirty.items, k->dirty.items + done,
			(k->dirty.len - done) * sizeof(*k->dirty.items));
	k->dirty.len -= done;
	k->n_freed -= done < k->n_freed ? done : k->n_freed;
	return all;
}

void kueue_flush_late_status(struct core *c)
{
	queue_status_flush_late(c);
}

void kueue_flush_status(struct core *c)
{
	c->kueue->edited = false;
	in_use_flush(c);
	queue_status_flush(c);
}

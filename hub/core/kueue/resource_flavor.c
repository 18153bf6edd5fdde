#include "core/kueue/resource_flavor.h"

#include "base/json.h"
#include "core/kueue/cluster_queue.h"
#include "core/kueue/quota_decode.h"

static struct span text(const struct cJSON *object, const char *key)
{
	const char *v = json_str(object, key);
	return v ? span_of(v) : SPAN_NONE;
}

/* A flavor came, changed or went: any queue may have become active, or fit other pods. */
static void edited(struct core *c)
{
	kueue_queues_edited(c->kueue->queues, KUEUE_NONE);
	cluster_queue_review_all(c);
	c->pump_wanted = true;
}

void resource_flavor_observe(struct core *c, const struct store_object *o)
{
	auto_arena mem = ARENA_INIT;
	auto_json *tree = NULL;
	struct err err;

	if (object_tree(o, &tree, NULL) < 0)
		return;
	const struct cJSON *spec = json_get(tree, "spec");
	struct kueue_flavor_spec f = {.name = o->key.name, .topology = text(spec, "topologyName")};
	f.labels = quota_decode_labels(json_get(spec, "nodeLabels"), &mem, &f.n_labels);
	f.taints = quota_decode_taints(json_get(spec, "nodeTaints"), &mem, &f.n_taints);
	f.tolerations =
	    quota_decode_tolerations(json_get(spec, "tolerations"), &mem, &f.n_tolerations);
	if (kueue_forest_set_flavor(c->kueue->forest, &f, &err) < 0)
		log_warn(c->log, "flavor refused", "flavor=%.*s error=\"%s\"",
			 SPAN_ARGS(o->key.name), err.text);
	edited(c);
}

void resource_flavor_forget(struct core *c, struct span name)
{
	kueue_forest_remove_flavor(c->kueue->forest, name);
	edited(c);
}

/* ---- cohorts ---- */

void cohort_observe(struct core *c, const struct store_object *o)
{
	struct kueue *k = c->kueue;
	auto_arena mem = ARENA_INIT;
	auto_json *tree = NULL;
	struct err err;

	if (object_tree(o, &tree, NULL) < 0)
		return;
	const struct cJSON *spec = json_get(tree, "spec");
	struct kueue_cohort_spec s = {
	    .name = o->key.name,
	    .parent = text(spec, "parentName"),
	    .weight = quota_decode_weight(json_get(spec, "fairSharing")),
	};
	s.groups = quota_decode_groups(json_get(spec, "resourceGroups"), &mem, &s.n_groups);
	uint32_t was = kueue_forest_cohort(k->forest, o->key.name);
	if (was != KUEUE_NONE)
		kueue_queues_edited(k->queues, was);
	if (kueue_forest_set_cohort(k->forest, &s, &err) < 0)
		log_warn(c->log, "cohort refused", "cohort=%.*s error=\"%s\"",
			 SPAN_ARGS(o->key.name), err.text);
	kueue_queues_edited(k->queues, kueue_forest_cohort(k->forest, o->key.name));
	cluster_queue_review_all(c);
	c->pump_wanted = true;
}

void cohort_forget(struct core *c, struct span name)
{
	struct kueue *k = c->kueue;

	kueue_queues_edited(k->queues, kueue_forest_cohort(k->forest, name));
	kueue_forest_remove_cohort(k->forest, name);
	kueue_queues_edited(k->queues, KUEUE_NONE);
	cluster_queue_review_all(c);
	c->pump_wanted = true;
}

#include "core/kueue/cluster_queue.h"

#include "base/json.h"
#include "core/kueue/admission_check.h"
#include "core/kueue/local_queue.h"
#include "core/kueue/multikueue.h"
#include "core/kueue/queue_status.h"
#include "core/kueue/quota_decode.h"
#include "core/kueue/topology.h"
#include "core/kueue/usage.h"

struct cluster_queue *cluster_queue_find(const struct core *c, struct span name)
{
	return map_get(&c->kueue->cluster_queues, name);
}

struct cluster_queue *cluster_queue_by_node(const struct core *c, uint32_t node)
{
	return node == KUEUE_NONE
		   ? NULL
		   : cluster_queue_find(c, kueue_forest_name(c->kueue->forest, node));
}

static void drop_checks(struct cluster_queue *q)
{
	vec_foreach (&q->checks, k) {
		for (size_t i = 0; i < k->n_on_flavors; i++)
			free(k->on_flavors[i]);
		free(k->on_flavors);
		free(k->name);
	}
	vec_clear(&q->checks);
}

void cluster_queue_free(struct cluster_queue *q)
{
	if (!q)
		return;
	drop_checks(q);
	vec_done(&q->checks);
	vec_foreach (&q->short_of_quota, w)
		(*w)->short_of_quota = false;
	vec_done(&q->short_of_quota);
	queue_meter_done(&q->meter);
	selector_done(&q->namespaces);
	usage_done(&q->admitted);
	free(q->spec_text);
	free(q->name);
	free(q);
}

/* ---- the object ---- */

static void take_checks(struct cluster_queue *q, const struct cJSON *list)
{
	drop_checks(q);
	json_foreach (list, k) {
		const struct cJSON *flavors = json_get(k, "onFlavors");
		struct queue_check check = {0};
		if (!json_str(k, "name"))
			continue;
		check.name = xstrdup(json_str(k, "name"));
		check.on_flavors = xcalloc(json_len(flavors) + 1, sizeof(char *));
		json_foreach (flavors, f)
			if (json_value_str(f))
				check.on_flavors[check.n_on_flavors++] = xstrdup(json_value_str(f));
		vec_push(&q->checks, check);
	}
}

static void take_selector(struct cluster_queue *q, const struct cJSON *selector)
{
	struct field_errors errors = {.n = 0};

	selector_done(&q->namespaces);
	q->namespaces = SELECTOR_INIT;
	q->has_selector = json_is(selector, JSON_OBJECT);
	if (q->has_selector && selector_add_label_selector(&q->namespaces, selector,
							   "spec.namespaceSelector", &errors) < 0)
		q->has_selector = false;
	field_errors_done(&errors);
}

static bool is(const struct cJSON *object, const char *key, const char *value)
{
	const char *v = json_str(object, key);
	return v && strcmp(v, value) == 0;
}

static struct kueue_queue_spec decode(const struct cJSON *spec, struct span name, struct arena *mem)
{
	const struct cJSON *fungibility = json_get(spec, "flavorFungibility");
	const char *cohort = json_str(spec, "cohortName");
	struct kueue_queue_spec s = {
	    .name = name,
	    .cohort = cohort ? span_of(cohort) : SPAN_NONE,
	    .strategy = is(spec, "queueingStrategy", "StrictFIFO") ? KUEUE_STRICT_FIFO
								   : KUEUE_BEST_EFFORT_FIFO,
	    .stop = quota_decode_stop(json_str(spec, "stopPolicy")),
	    .preemption = quota_decode_preemption(json_get(spec, "preemption")),
	    .when_can_borrow = is(fungibility, "whenCanBorrow", "TryNextFlavor")
				   ? KUEUE_TRY_NEXT_FLAVOR
				   : KUEUE_MAY_STOP_SEARCH,
	    .when_can_preempt = is(fungibility, "whenCanPreempt", "MayStopSearch")
				    ? KUEUE_MAY_STOP_SEARCH
				    : KUEUE_TRY_NEXT_FLAVOR,
	    .preference = is(fungibility, "preference", "PreemptionOverBorrowing")
			      ? KUEUE_PREEMPTION_OVER_BORROWING
			      : KUEUE_BORROWING_OVER_PREEMPTION,
	    .weight = quota_decode_weight(json_get(spec, "fairSharing")),
	    .admission_fair_sharing = is(json_get(spec, "admissionScope"), "admissionMode",
					 "UsageBasedAdmissionFairSharing"),
	};
	s.groups = quota_decode_groups(json_get(spec, "resourceGroups"), mem, &s.n_groups);
	return s;
}

static bool checks_work(const struct core *c, const struct cluster_queue *q)
{
	vec_foreach (&q->checks, k) {
		const struct admission_check *a = map_get_str(&c->kueue->checks, k->name);
		if (!a || !a->active)
			return false;
	}
	for (size_t i = 0; i < MULTIKUEUE_PROBLEMS; i++) {
		auto_buf words = BUF_INIT;
		if (multikueue_problem(c, q, i, &words))
			return false;
	}
	return true;
}

/* Whether every flavor's Topology exists; those that do not are told. */
static bool topologies_exist(const struct core *c, const struct kueue_queue_spec *s,
			     struct buf *out)
{
	bool all = true;

	for (size_t g = 0; s && g < s->n_groups; g++) {
		for (size_t i = 0; i < s->groups[g].n_flavors; i++) {
			struct span flavor = s->groups[g].flavors[i];
			uint32_t f = kueue_forest_flavor(c->kueue->forest, flavor);
			struct span name = f == KUEUE_NONE ? SPAN_NONE : topology_of_flavor(c, f);
			if (!name.len || topology_find(c, name))
				continue;
			all = false;
			if (out)
				buf_addf(out,
					 "%sthere is no Topology \"%.*s\" for TAS flavor \"%.*s\"",
					 out->len ? ", " : "", SPAN_ARGS(name), SPAN_ARGS(flavor));
		}
	}
	return all;
}

static void put_into_forest(struct core *c, struct cluster_queue *q, const struct cJSON *spec)
{
	struct kueue *k = c->kueue;
	auto_arena mem = ARENA_INIT;
	struct err err;

	struct kueue_queue_spec s = decode(spec, span_of(q->name), &mem);

	s.admission_fair_sharing = s.admission_fair_sharing && k->settings.admission_fair_sharing &&
				   k->settings.engine.usage_sampling_interval > 0;
	s.inactive = q->deleting || !checks_work(c, q) || !topologies_exist(c, &s, NULL);
	q->stop = s.stop;
	if (q->node != KUEUE_NONE)
		kueue_queues_edited(k->queues, q->node);
	if (kueue_forest_set_queue(k->forest, &s, &err) < 0)
		log_warn(c->log, "queue refused", "queue=%s error=\"%s\"", q->name, err.text);
	q->node = kueue_forest_queue(k->forest, span_of(q->name));
	if (q->node != KUEUE_NONE)
		kueue_queues_edited(k->queues, q->node);
}

void cluster_queue_observe(struct core *c, const struct store_object *o)
{
	struct cluster_queue *q = cluster_queue_find(c, o->key.name);
	auto_json *tree = NULL;
	bool deleting = o->flags & OBJECT_DELETING;

	if (q && q->deleting == deleting && q->spec_text &&
	    span_is(store_object_part(o, o->extents.spec), q->spec_text))
		return;
	if (object_tree(o, &tree, NULL) < 0)
		return;
	if (!q) {
		q = xcalloc(1, sizeof(*q));
		q->name = xstrndup(o->key.name.ptr, o->key.name.len);
		q->node = KUEUE_NONE;
		map_put(&c->kueue->cluster_queues, o->key.name, q);
	}
	const struct cJSON *spec = json_get(tree, "spec");
	memcpy(q->uid, o->uid, STORE_UID_LEN);
	q->deleting = deleting;
	free(q->spec_text);
	struct span text = store_object_part(o, o->extents.spec);
	q->spec_text = xstrndup(text.ptr, text.len);
	take_checks(q, json_path(spec, "admissionChecksStrategy", "admissionChecks", NULL));
	take_selector(q, json_get(spec, "namespaceSelector"));
	put_into_forest(c, q, spec);
	local_queue_refile_all(c, span_of(q->name));
	queue_status_dirty(c, q);
	queue_status_dirty_locals(c, q);
	c->pump_wanted = true;
}

void cluster_queue_forget(struct core *c, struct span name)
{
	struct kueue *k = c->kueue;
	struct cluster_queue *q = cluster_queue_find(c, name);

	if (!q)
		return;
	if (q->node != KUEUE_NONE)
		kueue_queues_edited(k->queues, q->node);
	queue_status_dirty_locals(c, q);
	queue_status_forget(c, q);
	(void)map_remove(&k->cluster_queues, name);
	local_queue_refile_all(c, span_of(q->name));
	kueue_forest_remove_queue(k->forest, span_of(q->name));
	kueue_queues_edited(k->queues, KUEUE_NONE);
	cluster_queue_free(q);
}

/* ---- activity ---- */

/* The engine is told again when what core says of the queue has changed. */
void cluster_queue_review(struct core *c, struct cluster_queue *q)
{
	const struct kind *kind = kind_by_type(c->kinds, TYPE_CLUSTER_QUEUE);
	struct store_object o;
	auto_json *tree = NULL;
	const struct kueue_queue_spec *s =
	    q->node == KUEUE_NONE ? NULL : kueue_forest_queue_spec(c->kueue->forest, q->node);

	queue_status_dirty(c, q);
	queue_status_dirty_locals(c, q);
	if (s &&
	    s->inactive == (q->deleting || !checks_work(c, q) || !topologies_exist(c, s, NULL)))
		return;
	if (registry_get(c->batch, kind, SPAN(""), span_of(q->name), &o) == 0 &&
	    object_tree(&o, &tree, NULL) == 0)
		put_into_forest(c, q, json_get(tree, "spec"));
	c->pump_wanted = true;
}

void cluster_queue_review_all(struct core *c)
{
	map_foreach (&c->kueue->cluster_queues, e)
		cluster_queue_review(c, e->value);
}

struct problems {
	const char *reason; /* of the first */
	struct buf *out;
};

static void add_problem(struct problems *p, const char *reason, const char *words,
			struct span names)
{
	buf_add_str(p->out, p->reason ? ", " : "Can't admit new workloads: ");
	if (!p->reason)
		p->reason = reason;
	buf_add_str(p->out, words);
	if (names.len) {
		buf_add_str(p->out, ": ");
		buf_add_span(p->out, names);
	}
}

static void missing_flavors(const struct core *c, const struct cluster_queue *q, struct buf *out)
{
	const struct kueue_queue_spec *s = kueue_forest_queue_spec(c->kueue->forest, q->node);

	for (size_t g = 0; s && g < s->n_groups; g++) {
		for (size_t i = 0; i < s->groups[g].n_flavors; i++) {
			struct span name = s->groups[g].flavors[i];
			uint32_t f = kueue_forest_flavor(c->kueue->forest, name);
			if (f != KUEUE_NONE && kueue_forest_flavor_spec(c->kueue->forest, f))
				continue;
			buf_addf(out, "%s%.*s", out->len ? "," : "", SPAN_ARGS(name));
		}
	}
}

static void find_check_problems(const struct core *c, const struct cluster_queue *q,
				struct problems *p)
{
	auto_buf missing = BUF_INIT, inactive = BUF_INIT;

	vec_foreach (&q->checks, k) {
		const struct admission_check *a = map_get_str(&c->kueue->checks, k->name);
		struct buf *list = !a ? &missing : !a->active ? &inactive : NULL;
		if (list)
			buf_addf(list, "%s%s", list->len ? "," : "", k->name);
	}
	if (missing.len)
		add_problem(p, "AdmissionCheckNotFound", "references missing AdmissionCheck(s)",
			    buf_span(&missing));
	if (inactive.len)
		add_problem(p, "AdmissionCheckInactive", "references inactive AdmissionCheck(s)",
			    buf_span(&inactive));
	for (size_t i = 0; i < MULTIKUEUE_PROBLEMS; i++) {
		auto_buf words = BUF_INIT;
		const char *reason = multikueue_problem(c, q, i, &words);
		if (reason)
			add_problem(p, reason, words.ptr, SPAN_NONE);
	}
}

const char *cluster_queue_activity(const struct core *c, const struct cluster_queue *q,
				   bool *ret_active, struct buf *out)
{
	struct problems p = {.out = out};
	auto_buf flavors = BUF_INIT, topologies = BUF_INIT;

	*ret_active = false;
	if (q->deleting) {
		buf_add_str(out, "Can't admit new workloads; clusterQueue is terminating");
		return "Terminating";
	}
	if (q->stop != KUEUE_STOP_NONE)
		add_problem(&p, "Stopped", "is stopped", SPAN_NONE);
	missing_flavors(c, q, &flavors);
	if (flavors.len)
		add_problem(&p, "FlavorNotFound", "references missing ResourceFlavor(s)",
			    buf_span(&flavors));
	find_check_problems(c, q, &p);
	if (!topologies_exist(c, kueue_forest_queue_spec(c->kueue->forest, q->node), &topologies))
		add_problem(&p, "TopologyNotFound", topologies.ptr, SPAN_NONE);
	if (q->node == KUEUE_NONE ||
	    kueue_forest_active(c->kueue->forest, q->node) == KUEUE_COHORT_CYCLE)
		add_problem(&p, "Unknown", "its cohorts form a cycle", SPAN_NONE);
	if (p.reason) {
		buf_add_char(out, '.');
		return p.reason;
	}
	*ret_active = true;
	buf_add_str(out, "Can admit new workloads");
	return "Ready";
}

/* ---- who may come ---- */

bool cluster_queue_takes(struct core *c, const struct cluster_queue *q, struct span ns)
{
	struct store_object o;

	if (!q->has_selector)
		return false;
	if (selector_is_empty(&q->namespaces))
		return true;
	return registry_get(c->batch, kind_by_type(c->kinds, TYPE_NAMESPACE), SPAN(""), ns, &o) ==
		   0 &&
	       selector_matches_row(&q->namespaces, &o);
}

static bool is_for(const struct core *c, const struct queue_check *k, uint32_t flavor)
{
	if (flavor == KUEUE_NONE)
		return false;
	for (size_t f = 0; f < k->n_on_flavors; f++)
		if (span_is(kueue_forest_flavor_name(c->kueue->forest, flavor), k->on_flavors[f]))
			return true;
	return k->n_on_flavors == 0;
}

size_t cluster_queue_checks(const struct core *c, const struct cluster_queue *q,
			    const struct kueue_assignment *a, const char **ret, size_t max)
{
	size_t n = 0;

	vec_foreach (&q->checks, k) {
		bool applies = false;
		vec_foreach (&a->choices, choice)
			applies = applies || is_for(c, k, choice->flavor);
		if (n < max && applies)
			ret[n++] = k->name;
	}
	return n;
}

bool cluster_queue_checks_flavors(const struct core *c, const struct cluster_queue *q,
				  const char *check, const uint32_t *flavors, size_t n)
{
	vec_foreach (&q->checks, k) {
		if (strcmp(k->name, check) != 0 || k->n_on_flavors == 0)
			continue;
		for (size_t i = 0; i < n; i++)
			if (is_for(c, k, flavors[i]))
				return true;
		return false;
	}
	return true;
}

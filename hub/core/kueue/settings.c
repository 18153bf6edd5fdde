#include "core/kueue/settings.h"

#include "base/json.h"
#include "base/num.h"
#include "core/kueue/feature_gates.h"
#include "core/kueue/settings_reader.h"
#include "kube/quantity.h"
#include "kube/selector.h"

#include <errno.h>

#define wrong		      settings_reader_wrong
#define take_bool	      settings_reader_bool
#define take_duration	      settings_reader_duration
#define take_seconds	      settings_reader_seconds
#define READ(object, members) settings_reader_members(r, path, object, members, ARRAY_LEN(members))

struct kueue_settings kueue_settings_default(void)
{
	return (struct kueue_settings){
	    .engine = kueue_options_default(),
	    .wait_for_pods_ready = true,
	    .pods_ready_timeout = 30 * 60 * USEC_PER_SEC,
	    .recovery_timeout = -1,
	    .priority_class_defaulting = true,
	    .reclaimable_pods = true,
	    .admission_fair_sharing = true,
	    .quota_check_strategy = true,
	    .observability = true,
	    .backoff_base = 60 * USEC_PER_SEC,
	    .backoff_max = 3600 * USEC_PER_SEC,
	    .backoff_limit = -1,
	    .retain_finished = -1,
	    .retain_deactivated = -1,
	};
}

/* ---- fairSharing, admissionFairSharing ---- */

static int take_fair_enable(const struct settings_reader *r, const char *path,
			    const struct cJSON *v)
{
	return take_bool(r, path, v, &r->s->engine.fair_sharing);
}

static int take_strategies(const struct settings_reader *r, const char *path, const struct cJSON *v)
{
	static const char *const names[] = {"LessThanOrEqualToFinalShare", "LessThanInitialShare"};
	struct kueue_options *o = &r->s->engine;
	size_t next = 0;

	o->n_fair_strategies = 0;
	json_foreach (v, it) {
		const char *name = json_value_str(it);
		size_t i = 0;
		while (i < ARRAY_LEN(names) && (!name || strcmp(names[i], name) != 0))
			i++;
		/* Kueue's valid sets: each alone, or both in this order. */
		if (i == ARRAY_LEN(names) || i < next)
			return wrong(r, path,
				     "must be LessThanOrEqualToFinalShare, LessThanInitialShare, "
				     "or both in this order");
		next = i + 1;
		o->fair_strategies[o->n_fair_strategies++] = (enum kueue_fair_strategy)i;
	}
	return o->n_fair_strategies ? 0 : wrong(r, path, "must be specified");
}

static int take_fair(const struct settings_reader *r, const char *path, const struct cJSON *v)
{
	static const struct settings_member members[] = {{"enable", take_fair_enable},
							 {"preemptionStrategies", take_strategies}};

	r->s->engine.fair_sharing = true;
	return READ(v, members);
}

static int take_half_life(const struct settings_reader *r, const char *path, const struct cJSON *v)
{
	return take_duration(r, path, v, &r->s->engine.usage_half_life);
}

static int take_sampling(const struct settings_reader *r, const char *path, const struct cJSON *v)
{
	int rc = take_duration(r, path, v, &r->s->engine.usage_sampling_interval);

	return rc || r->s->engine.usage_sampling_interval > 0
		   ? rc
		   : wrong(r, path, "must be greater than 0");
}

static int take_weights(const struct settings_reader *r, const char *path, const struct cJSON *v)
{
	struct kueue_usage_weight *list =
	    arena_array(r->mem, struct kueue_usage_weight, json_len(v));
	size_t n = 0;

	if (!json_is(v, JSON_OBJECT) || json_len(v) > KUEUE_MAX_USAGE_WEIGHTS)
		return wrong(r, path, "must map at most 64 resources to weights");
	json_foreach (v, it) {
		int64_t milli;
		if (quantity_from_node(it, QUANTITY_MILLI, &milli) < 0 || milli < 0)
			return wrong(r, path, "weights must be numbers of at least 0");
		list[n++] = (struct kueue_usage_weight){json_key(it), (double)milli / 1000};
	}
	r->s->usage_weights = list;
	r->s->n_usage_weights = n;
	return 0;
}

static int take_admission_fair(const struct settings_reader *r, const char *path,
			       const struct cJSON *v)
{
	static const struct settings_member members[] = {{"usageHalfLifeTime", take_half_life},
							 {"usageSamplingInterval", take_sampling},
							 {"resourceWeights", take_weights}};

	r->s->engine.usage_sampling_interval = 5 * 60 * USEC_PER_SEC;
	return READ(v, members);
}

/* ---- waitForPodsReady ---- */

static int take_wait_enable(const struct settings_reader *r, const char *path,
			    const struct cJSON *v)
{
	return take_bool(r, path, v, &r->s->wait_for_pods_ready);
}

static int take_timeout(const struct settings_reader *r, const char *path, const struct cJSON *v)
{
	return take_duration(r, path, v, &r->s->pods_ready_timeout);
}

static int take_recovery(const struct settings_reader *r, const char *path, const struct cJSON *v)
{
	return take_duration(r, path, v, &r->s->recovery_timeout);
}

static int take_block(const struct settings_reader *r, const char *path, const struct cJSON *v)
{
	return take_bool(r, path, v, &r->s->block_admission);
}

static int take_timestamp(const struct settings_reader *r, const char *path, const struct cJSON *v)
{
	const char *text = json_value_str(v);

	if (!text || (strcmp(text, "Eviction") != 0 && strcmp(text, "Creation") != 0))
		return wrong(r, path, "must be Eviction or Creation");
	r->s->requeue_by_creation = strcmp(text, "Creation") == 0;
	return 0;
}

static int take_limit(const struct settings_reader *r, const char *path, const struct cJSON *v)
{
	int64_t n = -1;

	if (!json_is(v, JSON_NULL) && (json_value_int64(v, &n) < 0 || n < 0 || n > INT32_MAX))
		return wrong(r, path, "must be a number, or null for no limit");
	r->s->backoff_limit = (int32_t)n;
	return 0;
}

static int take_base(const struct settings_reader *r, const char *path, const struct cJSON *v)
{
	return take_seconds(r, path, v, &r->s->backoff_base);
}

static int take_most(const struct settings_reader *r, const char *path, const struct cJSON *v)
{
	return take_seconds(r, path, v, &r->s->backoff_max);
}

static int take_requeuing(const struct settings_reader *r, const char *path, const struct cJSON *v)
{
	static const struct settings_member members[] = {{"timestamp", take_timestamp},
							 {"backoffLimitCount", take_limit},
							 {"backoffBaseSeconds", take_base},
							 {"backoffMaxSeconds", take_most}};

	return READ(v, members);
}

static int take_wait(const struct settings_reader *r, const char *path, const struct cJSON *v)
{
	static const struct settings_member members[] = {{"enable", take_wait_enable},
							 {"timeout", take_timeout},
							 {"recoveryTimeout", take_recovery},
							 {"blockAdmission", take_block},
							 {"requeuingStrategy", take_requeuing}};

	return READ(v, members);
}

/* ---- resources ---- */

static int take_prefixes(const struct settings_reader *r, const char *path, const struct cJSON *v)
{
	const char **list = arena_array(r->mem, const char *, json_len(v));
	size_t n = 0;

	if (!json_is(v, JSON_ARRAY) || json_len(v) > TRANSFORM_MAX_EXCLUDED)
		return wrong(r, path, "must be a list of at most 64 prefixes");
	json_foreach (v, it) {
		if (!json_value_str(it) || !json_value_str(it)[0])
			return wrong(r, path, "must be a list of at most 64 prefixes");
		list[n++] = json_value_str(it);
	}
	r->s->resources.excluded = list;
	r->s->resources.n_excluded = n;
	return 0;
}

static int read_outputs(const struct settings_reader *r, const char *path,
			const struct cJSON *outputs, struct transform *t)
{
	struct transform_output *list =
	    arena_array(r->mem, struct transform_output, json_len(outputs));

	if (!json_is(outputs, JSON_OBJECT) || json_len(outputs) > TRANSFORM_MAX_OUTPUTS)
		return wrong(r, path, "outputs must map at most 16 resources to quantities");
	json_foreach (outputs, o) {
		struct transform_output *to = &list[t->n_outputs++];
		int rc = quantity_from_node(o, QUANTITY_MILLI, &to->milli);
		to->resource = json_key(o);
		if (rc == -ERANGE)
			to->milli = INT64_MAX;
		else if (rc < 0)
			return wrong(r, path,
				     "outputs must map at most 16 resources to quantities");
	}
	t->outputs = list;
	return 0;
}

static int read_transform(const struct settings_reader *r, const char *path, const struct cJSON *v,
			  struct transform *t)
{
	static const char *const known[] = {"input", "strategy", "multiplyBy", "outputs"};
	const char *strategy = json_str(v, "strategy");

	json_foreach (v, m) {
		size_t i = 0;
		while (i < ARRAY_LEN(known) && strcmp(known[i], json_key(m)) != 0)
			i++;
		if (i == ARRAY_LEN(known))
			return wrong(r, path, "has an unknown setting");
	}
	t->input = json_str(v, "input");
	t->multiply_by = json_str(v, "multiplyBy");
	if (!t->input || !t->input[0])
		return wrong(r, path, "needs an input");
	if (json_get(v, "strategy") &&
	    (!strategy || (strcmp(strategy, "Retain") != 0 && strcmp(strategy, "Replace") != 0)))
		return wrong(r, path, "strategy must be Retain or Replace");
	t->replace = strategy && strcmp(strategy, "Replace") == 0;
	return json_get(v, "outputs") ? read_outputs(r, path, json_get(v, "outputs"), t) : 0;
}

static int take_transformations(const struct settings_reader *r, const char *path,
				const struct cJSON *v)
{
	struct transform *list = arena_array(r->mem, struct transform, json_len(v));
	char below[192];
	size_t n = 0;

	if (!json_is(v, JSON_ARRAY) || json_len(v) > TRANSFORM_MAX)
		return wrong(r, path, "must be a list of at most 64 transformations");
	json_foreach (v, it) {
		(void)snprintf(below, sizeof(below), "%.150s[%zu]", path, n);
		int rc = read_transform(r, below, it, &list[n]);
		if (rc)
			return rc;
		for (size_t i = 0; i < n; i++)
			if (strcmp(list[i].input, list[n].input) == 0)
				return wrong(r, below, "the input has a transformation already");
		n++;
	}
	r->s->resources.items = list;
	r->s->resources.n = n;
	return 0;
}

static int take_check_strategy(const struct settings_reader *r, const char *path,
			       const struct cJSON *v)
{
	const char *text = json_value_str(v);

	if (!text ||
	    (strcmp(text, "BlockUndeclared") != 0 && strcmp(text, "IgnoreUndeclared") != 0))
		return wrong(r, path, "must be BlockUndeclared or IgnoreUndeclared");
	r->s->engine.ignore_undeclared = strcmp(text, "IgnoreUndeclared") == 0;
	return 0;
}

static int take_resources(const struct settings_reader *r, const char *path, const struct cJSON *v)
{
	static const struct settings_member members[] = {
	    {"excludeResourcePrefixes", take_prefixes},
	    {"transformations", take_transformations},
	    {"quotaCheckStrategy", take_check_strategy}};
	int rc = READ(v, members);

	if (!rc && r->s->engine.ignore_undeclared && r->s->resources.n_excluded)
		return wrong(r, path,
			     "excludeResourcePrefixes and quotaCheckStrategy IgnoreUndeclared "
			     "exclude each other");
	return rc;
}

/* ---- the rest ---- */

static int take_after_finished(const struct settings_reader *r, const char *path,
			       const struct cJSON *v)
{
	return take_duration(r, path, v, &r->s->retain_finished);
}

static int take_after_deactivated(const struct settings_reader *r, const char *path,
				  const struct cJSON *v)
{
	return take_duration(r, path, v, &r->s->retain_deactivated);
}

static int take_workload_retention(const struct settings_reader *r, const char *path,
				   const struct cJSON *v)
{
	static const struct settings_member members[] = {
	    {"afterFinished", take_after_finished},
	    {"afterDeactivatedByKueue", take_after_deactivated}};

	return READ(v, members);
}

static int take_retention(const struct settings_reader *r, const char *path, const struct cJSON *v)
{
	static const struct settings_member members[] = {{"workloads", take_workload_retention}};

	return READ(v, members);
}

static int take_unqueued(const struct settings_reader *r, const char *path, const struct cJSON *v)
{
	return take_bool(r, path, v, &r->s->manage_unqueued);
}

/* Kueue refuses a selector that takes in the namespaces of the control plane, too. */
static int take_namespaces(const struct settings_reader *r, const char *path, const struct cJSON *v)
{
	static const char *const never[] = {"kube-system", "kueue-system"};
	struct field_errors errors = {.n = 0};
	auto_selector selector = SELECTOR_INIT;
	bool good = json_is(v, JSON_OBJECT) &&
		    selector_add_label_selector(&selector, v, path, &errors) == 0;

	field_errors_done(&errors);
	if (!good)
		return wrong(r, path, "must be a label selector");
	for (size_t i = 0; i < ARRAY_LEN(never); i++) {
		const struct info_pair name = {SPAN("kubernetes.io/metadata.name"),
					       span_of(never[i])};
		if (selector_matches_pairs(&selector, &name, 1))
			return wrong(r, path,
				     "must not match the namespaces kube-system and kueue-system");
	}
	r->s->managed_namespaces = v;
	return 0;
}

static int take_submitter(const struct settings_reader *r, const char *path, const struct cJSON *v)
{
	return take_bool(r, path, v, &r->s->ray_submitter);
}

static int take_gates(const struct settings_reader *r, const char *path, const struct cJSON *v)
{
	char below[192];

	if (!json_is(v, JSON_OBJECT))
		return wrong(r, path, "must be a mapping");
	json_foreach (v, m) {
		bool on = false;
		struct err e = ERR_INIT;
		(void)snprintf(below, sizeof(below), "%.100s.%.80s", path, json_key(m));
		int rc = take_bool(r, below, m, &on);
		if (rc)
			return rc;
		if (feature_gates_set(r->s, json_key(m), on, &e) < 0)
			return wrong(r, below, e.text);
	}
	return 0;
}

int kueue_settings_read(const struct cJSON *section, struct arena *mem, struct kueue_settings *s,
			struct err *reterr)
{
	static const struct settings_member members[] = {
	    {"fairSharing", take_fair},
	    {"admissionFairSharing", take_admission_fair},
	    {"waitForPodsReady", take_wait},
	    {"resources", take_resources},
	    {"objectRetentionPolicies", take_retention},
	    {"manageJobsWithoutQueueName", take_unqueued},
	    {"managedJobsNamespaceSelector", take_namespaces},
	    {"countRaySubmitter", take_submitter},
	    {"featureGates", take_gates}};
	const struct settings_reader reader = {s, mem, reterr}, *r = &reader;
	const char *path = "kueue";
	int rc = READ(section, members);

	if (!rc)
		rc = feature_gates_check(s, reterr);
	if (!rc && s->no_wait_for_pods_ready)
		s->wait_for_pods_ready = false;
	return rc;
}

#include "core/kueue/quota_decode.h"

#include "base/json.h"
#include "kube/quantity.h"

#include <errno.h>

static struct span text(const struct cJSON *object, const char *key)
{
	const char *v = json_str(object, key);
	return v ? span_of(v) : SPAN_NONE;
}

static int64_t amount(const struct cJSON *node, struct span resource, int64_t otherwise)
{
	int64_t v;

	if (!node)
		return otherwise;
	int r = quantity_from_node(node, quantity_unit(resource), &v);
	return r == 0 ? v : r == -ERANGE ? QUOTA_UNLIMITED : 0;
}

static const struct cJSON *by_name(const struct cJSON *list, struct span name)
{
	json_foreach (list, i)
		if (span_eq(text(i, "name"), name))
			return i;
	return NULL;
}

static struct kueue_group_spec decode_group(const struct cJSON *from, struct arena *mem)
{
	const struct cJSON *covered = json_get(from, "coveredResources");
	const struct cJSON *flavors = json_get(from, "flavors");
	struct kueue_group_spec g = {0};
	struct span *resources = arena_array(mem, struct span, json_len(covered));
	struct span *names = arena_array(mem, struct span, json_len(flavors));

	json_foreach (covered, r)
		if (json_value_str(r))
			resources[g.n_resources++] = span_of(json_value_str(r));
	struct kueue_quota *quotas =
	    arena_array(mem, struct kueue_quota, json_len(flavors) * g.n_resources);
	json_foreach (flavors, f) {
		for (size_t r = 0; r < g.n_resources; r++) {
			const struct cJSON *q = by_name(json_get(f, "resources"), resources[r]);
			quotas[g.n_flavors * g.n_resources + r] = (struct kueue_quota){
			    .nominal = amount(json_get(q, "nominalQuota"), resources[r], 0),
			    .borrowing = amount(json_get(q, "borrowingLimit"), resources[r],
						QUOTA_UNLIMITED),
			    .lending =
				amount(json_get(q, "lendingLimit"), resources[r], QUOTA_UNLIMITED),
			};
		}
		names[g.n_flavors++] = text(f, "name");
	}
	g.resources = resources;
	g.flavors = names;
	g.quotas = quotas;
	return g;
}

const struct kueue_group_spec *quota_decode_groups(const struct cJSON *list, struct arena *mem,
						   size_t *ret_n)
{
	struct kueue_group_spec *out = arena_array(mem, struct kueue_group_spec, json_len(list));

	*ret_n = 0;
	json_foreach (list, g)
		out[(*ret_n)++] = decode_group(g, mem);
	return out;
}

/* In thousandths, rounded up: a weight that is not 0 stays so. */
double quota_decode_weight(const struct cJSON *fair_sharing)
{
	const struct cJSON *node = json_get(fair_sharing, "weight");
	int64_t milli;

	if (!node || quantity_from_node(node, QUANTITY_MILLI, &milli) < 0)
		return 1;
	return (double)milli / 1000;
}

enum kueue_stop quota_decode_stop(const char *policy)
{
	if (policy && strcmp(policy, "Hold") == 0)
		return KUEUE_STOP_HOLD;
	if (policy && strcmp(policy, "HoldAndDrain") == 0)
		return KUEUE_STOP_HOLD_AND_DRAIN;
	return KUEUE_STOP_NONE;
}

static enum kueue_preempt_policy policy_of(const struct cJSON *object, const char *key)
{
	static const struct {
		const char *text;
		enum kueue_preempt_policy policy;
	} policies[] = {
	    {"LowerPriority", KUEUE_PREEMPT_LOWER_PRIORITY},
	    {"LowerOrNewerEqualPriority", KUEUE_PREEMPT_LOWER_OR_NEWER_EQUAL},
	    {"Any", KUEUE_PREEMPT_ANY},
	};
	struct span v = text(object, key);

	for (size_t i = 0; i < ARRAY_LEN(policies); i++)
		if (span_is(v, policies[i].text))
			return policies[i].policy;
	return KUEUE_PREEMPT_NEVER;
}

struct kueue_preemption quota_decode_preemption(const struct cJSON *preemption)
{
	const struct cJSON *borrow = json_get(preemption, "borrowWithinCohort");
	struct kueue_preemption p = {
	    .within_cluster_queue = policy_of(preemption, "withinClusterQueue"),
	    .reclaim_within_cohort = policy_of(preemption, "reclaimWithinCohort"),
	    .borrow_within_cohort = policy_of(borrow, "policy"),
	};
	int64_t threshold;

	if (json_int64(borrow, "maxPriorityThreshold", &threshold) == 0 && threshold >= INT32_MIN &&
	    threshold <= INT32_MAX) {
		p.has_max_priority_threshold = true;
		p.max_priority_threshold = (int32_t)threshold;
	}
	return p;
}

const struct label *quota_decode_labels(const struct cJSON *map, struct arena *mem, size_t *ret_n)
{
	struct label *out = arena_array(mem, struct label, json_len(map));

	*ret_n = 0;
	json_foreach (map, l)
		if (json_value_str(l))
			out[(*ret_n)++] =
			    (struct label){span_of(json_key(l)), span_of(json_value_str(l))};
	return out;
}

const struct taint *quota_decode_taints(const struct cJSON *list, struct arena *mem, size_t *ret_n)
{
	struct taint *out = arena_array(mem, struct taint, json_len(list));

	*ret_n = 0;
	json_foreach (list, t) {
		enum taint_effect effect = taint_effect_from_string(text(t, "effect"));
		if (effect > TAINT_ANY_EFFECT)
			out[(*ret_n)++] = (struct taint){text(t, "key"), text(t, "value"), effect};
	}
	return out;
}

const struct toleration *quota_decode_tolerations(const struct cJSON *list, struct arena *mem,
						  size_t *ret_n)
{
	struct toleration *out = arena_array(mem, struct toleration, json_len(list));

	*ret_n = 0;
	json_foreach (list, t) {
		enum taint_effect effect = taint_effect_from_string(text(t, "effect"));
		if (effect < TAINT_ANY_EFFECT)
			continue;
		out[(*ret_n)++] = (struct toleration){
		    .key = text(t, "key"),
		    .value = text(t, "value"),
		    .exists = span_is(text(t, "operator"), "Exists"),
		    .effect = effect,
		    .limited = json_get(t, "tolerationSeconds") != NULL,
		};
		int64_t seconds;
		if (json_int64(t, "tolerationSeconds", &seconds) == 0 && seconds > 0)
			out[*ret_n - 1].seconds = seconds;
	}
	return out;
}

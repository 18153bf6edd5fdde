#include "base/num.h"
#include "member-sync/sim/scheduler_priv.h"

const struct info_pair *scheduler_find_label(const struct info_pair *labels, size_t n,
					     struct span key)
{
	for (size_t i = 0; i < n; i++)
		if (span_eq(labels[i].key, key))
			return &labels[i];
	return NULL;
}

static bool match_number(const struct info_requirement *r, struct span value)
{
	int64_t have, want;
	if (r->n_values != 1 || num_parse_i64(value, INT64_MIN, INT64_MAX, &have) ||
	    num_parse_i64(r->values[0], INT64_MIN, INT64_MAX, &want))
		return false;
	return r->op == MATCH_GT ? have > want : have < want;
}

static bool match(const struct info_requirement *r, const struct info_pair *labels, size_t n)
{
	const struct info_pair *l = scheduler_find_label(labels, n, r->key);
	bool in = false;
	for (size_t i = 0; l && i < r->n_values && !in; i++)
		in = span_eq(l->value, r->values[i]);
	switch (r->op) {
	case MATCH_IN:
		return in;
	case MATCH_NOT_IN:
		return !in;
	case MATCH_EXISTS:
		return l != NULL;
	case MATCH_DOES_NOT_EXIST:
		return l == NULL;
	default:
		return l && match_number(r, l->value);
	}
}

bool scheduler_match(const struct info_requirement *r, size_t n_requirements,
		     const struct info_pair *labels, size_t n)
{
	for (size_t i = 0; i < n_requirements; i++)
		if (!match(&r[i], labels, n))
			return false;
	return true;
}

/* The first that does, as Kubernetes has it; NULL. */
static const struct info_toleration *tolerates(const struct template_info *pod,
					       const struct info_taint *taint)
{
	for (size_t i = 0; i < pod->n_tolerations; i++) {
		const struct info_toleration *t = &pod->tolerations[i];
		if (!t->any_effect && t->effect != taint->effect)
			continue;
		if (t->key.len == 0 && t->op == TOLERATE_EXISTS)
			return t;
		if (span_eq(t->key, taint->key) &&
		    (t->op == TOLERATE_EXISTS || span_eq(t->value, taint->value)))
			return t;
	}
	return NULL;
}

bool scheduler_node_has_taint(const struct scheduler_node *n, struct span key)
{
	for (size_t i = 0; i < n->info.n_taints; i++)
		if (span_eq(n->info.taints[i].key, key))
			return true;
	return false;
}

int64_t scheduler_tolerated_for(const struct scheduler_node *n, const struct scheduler_shape *shape)
{
	int64_t least = INT64_MAX;

	for (size_t i = 0; i < n->info.n_taints; i++) {
		if (n->info.taints[i].effect != INFO_NO_EXECUTE)
			continue;
		const struct info_toleration *t = tolerates(&shape->needs.pod, &n->info.taints[i]);
		if (!t || t->limited)
			least = num_min(least, t ? t->seconds : 0);
	}
	return least;
}

enum filter scheduler_filter_node(const struct template_info *pod, const struct node_info *n)
{
	if (!n->ready)
		return FILTER_NOT_READY;
	if (n->unschedulable)
		return FILTER_UNSCHEDULABLE;
	for (size_t i = 0; i < n->n_taints; i++)
		if (n->taints[i].effect != INFO_PREFER_NO_SCHEDULE &&
		    !tolerates(pod, &n->taints[i]))
			return FILTER_TAINT;
	for (size_t i = 0; i < pod->n_node_selector; i++) {
		const struct info_pair *want = &pod->node_selector[i];
		const struct info_pair *l = scheduler_find_label(n->labels, n->n_labels, want->key);
		if (!l || !span_eq(l->value, want->value))
			return FILTER_SELECTOR;
	}
	bool any = pod->n_affinity == 0;
	for (size_t i = 0; i < pod->n_affinity && !any; i++)
		any = scheduler_match(pod->affinity[i].requirements,
				      pod->affinity[i].n_requirements, n->labels, n->n_labels);
	return any ? FILTER_OK : FILTER_SELECTOR;
}

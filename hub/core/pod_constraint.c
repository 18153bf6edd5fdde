#include "core/pod_constraint.h"

static const struct label *labels_of(const struct template_info *pod, struct arena *mem)
{
	struct label *out = arena_array(mem, struct label, pod->n_node_selector);

	for (size_t i = 0; i < pod->n_node_selector; i++)
		out[i] = (struct label){pod->node_selector[i].key, pod->node_selector[i].value};
	return out;
}

static enum node_op op_of(enum match_op op)
{
	static const enum node_op ops[] = {
	    [MATCH_IN] = NODE_OP_IN,	     [MATCH_NOT_IN] = NODE_OP_NOT_IN,
	    [MATCH_EXISTS] = NODE_OP_EXISTS, [MATCH_DOES_NOT_EXIST] = NODE_OP_DOES_NOT_EXIST,
	    [MATCH_GT] = NODE_OP_GT,	     [MATCH_LT] = NODE_OP_LT,
	};
	return (size_t)op < ARRAY_LEN(ops) ? ops[op] : NODE_OP_INVALID;
}

static const struct node_term *terms_of(const struct template_info *pod, struct arena *mem)
{
	struct node_term *out = arena_array(mem, struct node_term, pod->n_affinity);

	for (size_t i = 0; i < pod->n_affinity; i++) {
		const struct info_term *term = &pod->affinity[i];
		size_t n = term->n_requirements, n_labels = 0, n_fields = 0;
		struct node_expr *labels = arena_array(mem, struct node_expr, n);
		struct node_expr *fields = arena_array(mem, struct node_expr, n);
		for (size_t k = 0; k < n; k++) {
			const struct info_requirement *q = &term->requirements[k];
			struct node_expr e = {q->key, op_of(q->op), q->values, q->n_values};
			if (q->is_field)
				fields[n_fields++] = e;
			else
				labels[n_labels++] = e;
		}
		out[i] = (struct node_term){labels, n_labels, fields, n_fields};
	}
	return out;
}

static const struct toleration *tolerations_of(const struct template_info *pod, struct arena *mem)
{
	struct toleration *out = arena_array(mem, struct toleration, pod->n_tolerations);

	for (size_t i = 0; i < pod->n_tolerations; i++) {
		const struct info_toleration *t = &pod->tolerations[i];
		out[i] = (struct toleration){
		    .key = t->key,
		    .value = t->value,
		    .exists = t->op == TOLERATE_EXISTS,
		    .effect = t->any_effect ? TAINT_ANY_EFFECT : core_taint_effect(t->effect),
		    .limited = t->limited,
		    .seconds = t->seconds,
		};
	}
	return out;
}

struct constraint pod_constraint(const struct template_info *pod, struct arena *mem)
{
	return (struct constraint){
	    .selector = labels_of(pod, mem),
	    .n_selector = pod->n_node_selector,
	    .terms = terms_of(pod, mem),
	    .n_terms = pod->n_affinity,
	    .tolerations = tolerations_of(pod, mem),
	    .n_tolerations = pod->n_tolerations,
	};
}

int pod_requests(struct core *c, const struct template_info *pod, struct arena *mem,
		 struct pod_set *set, struct err *reterr)
{
	struct request *out = arena_array(mem, struct request, pod->n_requests);

	for (size_t i = 0; i < pod->n_requests; i++) {
		int r = resource_table_index(fleet_resources(c->fleet), pod->requests[i].resource,
					     &out[i].resource, reterr);
		if (r < 0)
			return r;
		out[i].amount = pod->requests[i].value;
	}
	set->requests = out;
	set->n_requests = pod->n_requests;
	return 0;
}

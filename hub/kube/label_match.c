#include "kube/label_match.h"

#include "base/num.h"

const struct span *label_find(const struct label *labels, size_t n, struct span key)
{
	for (size_t i = 0; i < n; i++)
		if (span_eq(labels[i].key, key))
			return &labels[i].value;
	return NULL;
}

static bool is_among(const struct node_expr *e, struct span value)
{
	for (size_t i = 0; i < e->n_values; i++)
		if (span_eq(e->values[i], value))
			return true;
	return false;
}

/* Kubernetes wants exactly one integer, and a label that is one too. */
static bool compares(const struct node_expr *e, struct span value)
{
	int64_t limit, is;

	if (e->n_values != 1 || num_parse_i64(e->values[0], INT64_MIN, INT64_MAX, &limit) < 0 ||
	    num_parse_i64(value, INT64_MIN, INT64_MAX, &is) < 0)
		return false;
	return e->op == NODE_OP_GT ? is > limit : is < limit;
}

bool label_match_expr(const struct node_expr *e, const struct span *value)
{
	switch (e->op) {
	case NODE_OP_IN:
		return value && is_among(e, *value);
	case NODE_OP_NOT_IN:
		return !value || !is_among(e, *value);
	case NODE_OP_EXISTS:
		return value != NULL;
	case NODE_OP_DOES_NOT_EXIST:
		return value == NULL;
	case NODE_OP_GT:
	case NODE_OP_LT:
		return value && compares(e, *value);
	default:
		return false;
	}
}

bool label_match(const struct label_selector *s, const struct label *labels, size_t n)
{
	for (size_t i = 0; i < s->n_match_labels; i++) {
		const struct span *v = label_find(labels, n, s->match_labels[i].key);
		if (!v || !span_eq(*v, s->match_labels[i].value))
			return false;
	}
	for (size_t i = 0; i < s->n_exprs; i++)
		if (!label_match_expr(&s->exprs[i], label_find(labels, n, s->exprs[i].key)))
			return false;
	return true;
}

const struct span *label_values_dup(struct arena *a, const struct span *from, size_t n)
{
	struct span *to = arena_array(a, struct span, n);

	for (size_t i = 0; i < n; i++)
		to[i] = arena_span(a, from[i]);
	return to;
}

const struct node_expr *label_exprs_dup(struct arena *a, const struct node_expr *from, size_t n)
{
	struct node_expr *to = arena_array(a, struct node_expr, n);

	for (size_t i = 0; i < n; i++) {
		to[i] = from[i];
		to[i].key = arena_span(a, from[i].key);
		to[i].values = label_values_dup(a, from[i].values, from[i].n_values);
	}
	return to;
}

struct label_selector label_selector_dup(struct arena *a, const struct label_selector *from)
{
	struct label *labels = arena_array(a, struct label, from->n_match_labels);

	for (size_t i = 0; i < from->n_match_labels; i++)
		labels[i] = (struct label){arena_span(a, from->match_labels[i].key),
					   arena_span(a, from->match_labels[i].value)};
	return (struct label_selector){
	    .match_labels = labels,
	    .n_match_labels = from->n_match_labels,
	    .exprs = label_exprs_dup(a, from->exprs, from->n_exprs),
	    .n_exprs = from->n_exprs,
	};
}

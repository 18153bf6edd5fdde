#include "policies/pod_set.h"

#include "base/num.h"
#include "policies/resource.h"

/* ---- keys: a length before every part, so that no two lists share their bytes ---- */

static void put_num(struct buf *out, uint64_t v)
{
	buf_add(out, (const char *)&v, sizeof(v));
}

static void put_span(struct buf *out, struct span s)
{
	put_num(out, s.ptr ? s.len : UINT64_MAX);
	if (s.len)
		buf_add(out, s.ptr, s.len);
}

static void put_expr(struct buf *out, const struct node_expr *e)
{
	put_span(out, e->key);
	put_num(out, (uint64_t)e->op);
	put_num(out, e->n_values);
	for (size_t i = 0; i < e->n_values; i++)
		put_span(out, e->values[i]);
}

static void put_term(struct buf *out, const struct node_term *t)
{
	put_num(out, t->n_labels);
	for (size_t i = 0; i < t->n_labels; i++)
		put_expr(out, &t->labels[i]);
	put_num(out, t->n_fields);
	for (size_t i = 0; i < t->n_fields; i++)
		put_expr(out, &t->fields[i]);
}

void pod_set_key(const struct pod_set *s, struct buf *out)
{
	put_num(out, s->n_requests);
	for (size_t i = 0; i < s->n_requests; i++) {
		put_num(out, s->requests[i].resource);
		put_num(out, (uint64_t)s->requests[i].amount);
	}
	put_num(out, s->n_selector);
	for (size_t i = 0; i < s->n_selector; i++) {
		put_span(out, s->selector[i].key);
		put_span(out, s->selector[i].value);
	}
	put_num(out, s->n_terms);
	for (size_t i = 0; i < s->n_terms; i++)
		put_term(out, &s->terms[i]);
	put_num(out, s->n_tolerations);
	for (size_t i = 0; i < s->n_tolerations; i++) {
		const struct toleration *t = &s->tolerations[i];
		put_span(out, t->key);
		put_span(out, t->exists ? SPAN_NONE : t->value);
		put_num(out, (uint64_t)t->effect << 2 | (uint64_t)t->limited << 1 | t->exists);
		if (t->limited)
			put_num(out, (uint64_t)t->seconds);
	}
}

void pod_set_topology_key(const struct pod_topology *t, struct buf *out)
{
	put_num(out, (uint64_t)t->mode);
	if (t->mode == POD_TOPOLOGY_NONE)
		return;
	put_num(out, t->n_levels);
	for (size_t i = 0; i < t->n_levels; i++)
		put_span(out, t->levels[i]);
	put_num(out, (uint64_t)t->level << 32 | t->slice_level);
	put_num(out, (uint64_t)t->slice_size << 32 | t->group);
	put_num(out, t->n_inner);
	for (uint32_t i = 0; i < t->n_inner; i++)
		put_num(out, (uint64_t)t->inner[i].level << 32 | t->inner[i].size);
}

/* ---- canonical copies ---- */

static int cmp_span(const void *a, const void *b)
{
	return span_cmp(*(const struct span *)a, *(const struct span *)b);
}

static int cmp_label(const void *a, const void *b)
{
	const struct label *x = a, *y = b;
	int c = span_cmp(x->key, y->key);
	return c ? c : span_cmp(x->value, y->value);
}

static int cmp_request(const void *a, const void *b)
{
	const struct request *x = a, *y = b;
	return (x->resource > y->resource) - (x->resource < y->resource);
}

static int cmp_expr(const void *a, const void *b)
{
	const struct node_expr *x = a, *y = b;
	int c = span_cmp(x->key, y->key);
	if (c)
		return c;
	if (x->op != y->op)
		return x->op < y->op ? -1 : 1;
	for (size_t i = 0; i < x->n_values && i < y->n_values; i++) {
		c = span_cmp(x->values[i], y->values[i]);
		if (c)
			return c;
	}
	return (x->n_values > y->n_values) - (x->n_values < y->n_values);
}

static int cmp_exprs(const struct node_expr *a, size_t n_a, const struct node_expr *b, size_t n_b)
{
	for (size_t i = 0; i < n_a && i < n_b; i++) {
		int c = cmp_expr(&a[i], &b[i]);
		if (c)
			return c;
	}
	return (n_a > n_b) - (n_a < n_b);
}

static int cmp_term(const void *a, const void *b)
{
	const struct node_term *x = a, *y = b;
	int c = cmp_exprs(x->labels, x->n_labels, y->labels, y->n_labels);
	return c ? c : cmp_exprs(x->fields, x->n_fields, y->fields, y->n_fields);
}

static int cmp_toleration(const void *a, const void *b)
{
	const struct toleration *x = a, *y = b;
	int c = span_cmp(x->key, y->key);
	if (!c)
		c = span_cmp(x->value, y->value);
	if (!c)
		c = (x->exists > y->exists) - (x->exists < y->exists);
	if (!c)
		c = (x->effect > y->effect) - (x->effect < y->effect);
	if (!c)
		c = (x->limited > y->limited) - (x->limited < y->limited);
	return c ? c : (x->seconds > y->seconds) - (x->seconds < y->seconds);
}

/* Sorts `n` items and drops those that are equal to the one before. */
static size_t sort_unique(void *items, size_t n, size_t size,
			  int (*cmp)(const void *, const void *))
{
	char *p = items;
	size_t kept = 0;

	if (n == 0)
		return 0;
	qsort(items, n, size, cmp);
	for (size_t i = 1; i < n; i++)
		if (cmp(p + kept * size, p + i * size) != 0 && ++kept != i)
			memcpy(p + kept * size, p + i * size, size);
	return kept + 1;
}

static struct node_expr *copy_exprs(struct arena *a, const struct node_expr *from, size_t *n)
{
	struct node_expr *to = arena_array(a, struct node_expr, *n);

	for (size_t i = 0; i < *n; i++) {
		struct span *values = arena_array(a, struct span, from[i].n_values);
		for (size_t j = 0; j < from[i].n_values; j++)
			values[j] = arena_span(a, from[i].values[j]);
		to[i] = (struct node_expr){
		    .key = arena_span(a, from[i].key),
		    .op = from[i].op,
		    .values = values,
		    .n_values = sort_unique(values, from[i].n_values, sizeof(*values), cmp_span),
		};
	}
	*n = sort_unique(to, *n, sizeof(*to), cmp_expr);
	return to;
}

static void copy_requests(struct arena *a, const struct pod_set *from, struct pod_set *to)
{
	struct request *r = arena_array(a, struct request, from->n_requests + 1);
	size_t n = 0;

	/* The slot on the node is the pod itself: what a job says about `pods` is not asked. */
	r[n++] = (struct request){RESOURCE_PODS, 1};
	for (size_t i = 0; i < from->n_requests; i++) {
		struct request q = from->requests[i];
		size_t at = 0;

		if (q.resource == RESOURCE_PODS || q.amount <= 0)
			continue;
		while (at < n && r[at].resource != q.resource)
			at++;
		if (at == n)
			r[n++] = (struct request){q.resource, 0};
		r[at].amount =
		    num_min(num_add_sat(r[at].amount, q.amount), RESOURCE_AMOUNT_MAX + 1);
	}
	qsort(r, n, sizeof(*r), cmp_request);
	to->requests = r;
	to->n_requests = n;
}

static struct pod_topology copy_topology(struct arena *a, const struct pod_topology *from)
{
	struct pod_topology to = *from;
	struct span *levels = arena_array(a, struct span, from->n_levels);

	if (from->mode == POD_TOPOLOGY_NONE)
		return (struct pod_topology){0};
	for (size_t i = 0; i < from->n_levels; i++)
		levels[i] = arena_span(a, from->levels[i]);
	to.levels = levels;
	return to;
}

struct pod_set pod_set_canonical(struct arena *a, const struct pod_set *s)
{
	struct pod_set c = {
	    .name = arena_span(a, s->name),
	    .count = s->count,
	    .groups = s->groups ? s->groups : 1,
	};
	struct label *selector = arena_array(a, struct label, s->n_selector);
	struct node_term *terms = arena_array(a, struct node_term, s->n_terms);
	struct toleration *tols = arena_array(a, struct toleration, s->n_tolerations);

	copy_requests(a, s, &c);
	c.topology = copy_topology(a, &s->topology);
	for (size_t i = 0; i < s->n_selector; i++)
		selector[i] = (struct label){arena_span(a, s->selector[i].key),
					     arena_span(a, s->selector[i].value)};
	for (size_t i = 0; i < s->n_terms; i++) {
		terms[i] = s->terms[i];
		terms[i].labels = copy_exprs(a, s->terms[i].labels, &terms[i].n_labels);
		terms[i].fields = copy_exprs(a, s->terms[i].fields, &terms[i].n_fields);
	}
	for (size_t i = 0; i < s->n_tolerations; i++) {
		tols[i] = s->tolerations[i];
		tols[i].key = arena_span(a, tols[i].key);
		tols[i].value = tols[i].exists ? SPAN_NONE : arena_span(a, tols[i].value);
	}
	c.selector = selector;
	c.n_selector = sort_unique(selector, s->n_selector, sizeof(*selector), cmp_label);
	c.terms = terms;
	c.n_terms = sort_unique(terms, s->n_terms, sizeof(*terms), cmp_term);
	c.tolerations = tols;
	c.n_tolerations = sort_unique(tols, s->n_tolerations, sizeof(*tols), cmp_toleration);
	return c;
}

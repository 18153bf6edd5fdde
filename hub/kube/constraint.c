#include "kube/constraint.h"

struct constraint constraint_dup(struct arena *a, const struct constraint *from)
{
	struct label *selector = arena_array(a, struct label, from->n_selector);
	struct node_term *terms = arena_array(a, struct node_term, from->n_terms);
	struct toleration *tols = arena_array(a, struct toleration, from->n_tolerations);

	for (size_t i = 0; i < from->n_selector; i++)
		selector[i] = (struct label){arena_span(a, from->selector[i].key),
					     arena_span(a, from->selector[i].value)};
	for (size_t i = 0; i < from->n_terms; i++) {
		terms[i] = from->terms[i];
		terms[i].labels = label_exprs_dup(a, terms[i].labels, terms[i].n_labels);
		terms[i].fields = label_exprs_dup(a, terms[i].fields, terms[i].n_fields);
	}
	for (size_t i = 0; i < from->n_tolerations; i++) {
		tols[i] = from->tolerations[i];
		tols[i].key = arena_span(a, tols[i].key);
		tols[i].value = arena_span(a, tols[i].value);
	}
	return (struct constraint){
	    .selector = selector,
	    .n_selector = from->n_selector,
	    .terms = terms,
	    .n_terms = from->n_terms,
	    .tolerations = tols,
	    .n_tolerations = from->n_tolerations,
	};
}

/* ---- keys: a length before every part, so that no two lists share their bytes ---- */

static void put_num(struct buf *out, uint64_t v)
{
	buf_add(out, (const char *)&v, sizeof(v));
}

static void put_span(struct buf *out, struct span s)
{
	put_num(out, s.len);
	if (s.len)
		buf_add(out, s.ptr, s.len);
}

static void put_exprs(struct buf *out, const struct node_expr *exprs, size_t n)
{
	put_num(out, n);
	for (size_t i = 0; i < n; i++) {
		put_span(out, exprs[i].key);
		put_num(out, (uint64_t)exprs[i].op);
		put_num(out, exprs[i].n_values);
		for (size_t j = 0; j < exprs[i].n_values; j++)
			put_span(out, exprs[i].values[j]);
	}
}

void constraint_key(const struct constraint *c, struct buf *out)
{
	put_num(out, c->n_selector);
	for (size_t i = 0; i < c->n_selector; i++) {
		put_span(out, c->selector[i].key);
		put_span(out, c->selector[i].value);
	}
	put_num(out, c->n_terms);
	for (size_t i = 0; i < c->n_terms; i++) {
		put_exprs(out, c->terms[i].labels, c->terms[i].n_labels);
		put_exprs(out, c->terms[i].fields, c->terms[i].n_fields);
	}
	put_num(out, c->n_tolerations);
	for (size_t i = 0; i < c->n_tolerations; i++) {
		const struct toleration *t = &c->tolerations[i];
		put_span(out, t->key);
		put_span(out, t->exists ? SPAN_NONE : t->value);
		put_num(out, (uint64_t)t->effect << 2 | (uint64_t)t->limited << 1 | t->exists);
		if (t->limited)
			put_num(out, (uint64_t)t->seconds);
	}
}

/* ---- matching on some keys ---- */

static bool is_among(const struct span *keys, size_t n, struct span key)
{
	for (size_t i = 0; i < n; i++)
		if (span_eq(keys[i], key))
			return true;
	return false;
}

static bool term_matches_on(const struct node_term *t, const struct label *labels, size_t n_labels,
			    const struct span *keys, size_t n_keys)
{
	for (size_t i = 0; i < t->n_labels; i++)
		if (is_among(keys, n_keys, t->labels[i].key) &&
		    !label_match_expr(&t->labels[i],
				      label_find(labels, n_labels, t->labels[i].key)))
			return false;
	return true;
}

bool constraint_matches_on(const struct constraint *c, const struct label *labels, size_t n_labels,
			   const struct span *keys, size_t n_keys)
{
	for (size_t i = 0; i < c->n_selector; i++) {
		if (!is_among(keys, n_keys, c->selector[i].key))
			continue;
		const struct span *v = label_find(labels, n_labels, c->selector[i].key);
		if (!v || !span_eq(*v, c->selector[i].value))
			return false;
	}
	for (size_t i = 0; i < c->n_terms; i++)
		if (term_matches_on(&c->terms[i], labels, n_labels, keys, n_keys))
			return true;
	return c->n_terms == 0;
}

/*
 * Each policy appears in the index once per kind it selects, under (namespace, apiVersion, kind).
 * Matching reads two such lists: that of the object's namespace, and that of cluster-wide ones. A
 * list is further split by the name that a selector gives, so that a thousand policies for one job
 * each cost nothing to the others.
 */
#include "policies/propagation.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/map.h"
#include "base/vec.h"

struct kept_policy {
	struct arena arena;
	struct propagation_policy p;
};

struct candidates {
	struct VEC(struct kept_policy *) policies;
};

struct propagation_index {
	struct map policies; /* (namespace, name) -> struct kept_policy */
	struct map lists;    /* (namespace, apiVersion, kind, name) -> struct candidates */
};

/* How precise a selector is. */
enum precision { MATCHES_NOT, MATCHES_KIND, MATCHES_LABELS, MATCHES_NAME };

/* ---- keys ---- */

static void put_part(struct buf *b, struct span s)
{
	uint32_t len = s.ptr ? (uint32_t)s.len : UINT32_MAX;

	buf_add(b, &len, sizeof(len));
	buf_add(b, s.ptr ? s.ptr : "", s.ptr ? s.len : 0);
}

static void policy_key(struct buf *b, struct span ns, struct span name)
{
	buf_clear(b);
	put_part(b, ns.len ? ns : SPAN_NONE);
	put_part(b, name);
}

static void list_key(struct buf *b, struct span ns, struct span api_version, struct span kind,
		     struct span name)
{
	buf_clear(b);
	put_part(b, ns.len ? ns : SPAN_NONE);
	put_part(b, api_version);
	put_part(b, kind);
	put_part(b, name.len ? name : SPAN_NONE);
}

/* ---- checks ---- */

static int too_many(struct err *reterr, const char *field, size_t n, size_t max)
{
	return err_set_field(reterr, ERR_INVALID, field, "has %zu entries, at most %zu are allowed",
			     n, max);
}

int propagation_policy_check(const struct propagation_policy *p, struct err *reterr)
{
	char path[64];

	if (p->name.len == 0)
		return err_set_field(reterr, ERR_INVALID, "metadata.name", "must not be empty");
	if (p->n_selectors == 0)
		return err_set_field(reterr, ERR_INVALID, "spec.resourceSelectors",
				     "must have at least one entry");
	if (p->n_selectors > PROPAGATION_MAX_SELECTORS)
		return too_many(reterr, "spec.resourceSelectors", p->n_selectors,
				PROPAGATION_MAX_SELECTORS);
	for (size_t i = 0; i < p->n_selectors; i++) {
		const struct resource_selector *s = &p->selectors[i];
		snprintf(path, sizeof(path), "spec.resourceSelectors[%zu]", i);
		if (s->api_version.len == 0 || s->kind.len == 0)
			return err_set_field(reterr, ERR_INVALID, path,
					     "apiVersion and kind must not be empty");
		if (p->ns.len && s->ns.len && !span_eq(p->ns, s->ns))
			return err_set_field(
			    reterr, ERR_INVALID, path,
			    "namespace %.*s, a policy of namespace %.*s selects only "
			    "there",
			    SPAN_ARGS(s->ns), SPAN_ARGS(p->ns));
	}
	return placement_spec_check(&p->placement, reterr);
}

/* ---- copies ---- */

static struct kept_policy *keep(const struct propagation_policy *p)
{
	struct kept_policy *k = xcalloc(1, sizeof(*k));
	struct arena *a = &k->arena;
	struct resource_selector *sel = arena_array(a, struct resource_selector, p->n_selectors);

	for (size_t i = 0; i < p->n_selectors; i++) {
		const struct resource_selector *s = &p->selectors[i];
		sel[i] = (struct resource_selector){
		    .api_version = arena_span(a, s->api_version),
		    .kind = arena_span(a, s->kind),
		    .ns = s->ns.len ? arena_span(a, s->ns) : SPAN_NONE,
		    .name = s->name.len ? arena_span(a, s->name) : SPAN_NONE,
		    .has_labels = s->has_labels,
		    .labels = label_selector_dup(a, &s->labels),
		};
	}
	k->p = *p;
	k->p.ns = p->ns.len ? arena_span(a, p->ns) : SPAN_NONE;
	k->p.name = arena_span(a, p->name);
	k->p.selectors = sel;
	k->p.placement = placement_spec_dup(a, &p->placement);
	return k;
}

/* ---- the index ---- */

struct propagation_index *propagation_index_create(void)
{
	return xcalloc(1, sizeof(struct propagation_index));
}

static void drop(struct kept_policy *k)
{
	arena_done(&k->arena);
	free(k);
}

struct propagation_index *propagation_index_destroy(struct propagation_index *x)
{
	if (!x)
		return NULL;
	map_foreach (&x->policies, e)
		drop(e->value);
	map_foreach (&x->lists, e) {
		struct candidates *c = e->value;
		vec_done(&c->policies);
		free(c);
	}
	map_done(&x->policies);
	map_done(&x->lists);
	free(x);
	return NULL;
}

static void list_add(struct propagation_index *x, struct kept_policy *k,
		     const struct resource_selector *s)
{
	auto_buf key = BUF_INIT;

	list_key(&key, k->p.ns, s->api_version, s->kind, s->name);
	struct candidates *c = map_get(&x->lists, buf_span(&key));
	if (!c) {
		c = xcalloc(1, sizeof(*c));
		map_put(&x->lists, buf_span(&key), c);
	}
	/* A policy with two selectors for one list stands there once: it is last then. */
	if (c->policies.len == 0 || c->policies.items[c->policies.len - 1] != k)
		vec_push(&c->policies, k);
}

static void list_remove(struct propagation_index *x, struct kept_policy *k,
			const struct resource_selector *s)
{
	auto_buf key = BUF_INIT;

	list_key(&key, k->p.ns, s->api_version, s->kind, s->name);
	struct candidates *c = map_get(&x->lists, buf_span(&key));
	for (size_t i = 0; c && i < c->policies.len; i++)
		if (c->policies.items[i] == k) {
			c->policies.items[i] = c->policies.items[--c->policies.len];
			break;
		}
	if (!c || c->policies.len)
		return;
	map_remove(&x->lists, buf_span(&key));
	vec_done(&c->policies);
	free(c);
}

int propagation_index_put(struct propagation_index *x, const struct propagation_policy *p,
			  struct err *reterr)
{
	auto_buf key = BUF_INIT;
	int r = propagation_policy_check(p, reterr);

	if (r < 0)
		return r;
	/* The copy is made first: the caller may hand in what the index gave out. */
	struct kept_policy *k = keep(p);
	propagation_index_remove(x, k->p.ns, k->p.name);
	policy_key(&key, k->p.ns, k->p.name);
	map_put(&x->policies, buf_span(&key), k);
	for (size_t i = 0; i < k->p.n_selectors; i++)
		list_add(x, k, &k->p.selectors[i]);
	return 0;
}

void propagation_index_remove(struct propagation_index *x, struct span ns, struct span name)
{
	auto_buf key = BUF_INIT;

	policy_key(&key, ns, name);
	struct kept_policy *k = map_remove(&x->policies, buf_span(&key));
	if (!k)
		return;
	for (size_t i = 0; i < k->p.n_selectors; i++)
		list_remove(x, k, &k->p.selectors[i]);
	drop(k);
}

const struct propagation_policy *propagation_index_get(const struct propagation_index *x,
						       struct span ns, struct span name)
{
	auto_buf key = BUF_INIT;

	policy_key(&key, ns, name);
	struct kept_policy *k = map_get(&x->policies, buf_span(&key));
	return k ? &k->p : NULL;
}

size_t propagation_index_count(const struct propagation_index *x)
{
	return x->policies.len;
}

/* ---- matching ---- */

static enum precision selects(const struct resource_selector *s, const struct propagation_object *o)
{
	if (!span_eq(s->api_version, o->api_version) || !span_eq(s->kind, o->kind))
		return MATCHES_NOT;
	if (s->ns.len && !span_eq(s->ns, o->ns))
		return MATCHES_NOT;
	if (s->name.len)
		return span_eq(s->name, o->name) ? MATCHES_NAME : MATCHES_NOT;
	if (!s->has_labels)
		return MATCHES_KIND;
	return label_match(&s->labels, o->labels, o->n_labels) ? MATCHES_LABELS : MATCHES_NOT;
}

static enum precision policy_selects(const struct propagation_policy *p,
				     const struct propagation_object *o)
{
	enum precision best = MATCHES_NOT;

	for (size_t i = 0; i < p->n_selectors; i++) {
		enum precision m = selects(&p->selectors[i], o);
		best = m > best ? m : best;
	}
	return best;
}

struct best {
	const struct propagation_policy *p;
	enum precision precision;
};

static void consider(struct best *best, const struct propagation_policy *p,
		     const struct propagation_object *o)
{
	enum precision m = policy_selects(p, o);

	if (m == MATCHES_NOT)
		return;
	if (best->p && (p->priority < best->p->priority ||
			(p->priority == best->p->priority &&
			 (m < best->precision ||
			  (m == best->precision && span_cmp(p->name, best->p->name) >= 0)))))
		return;
	*best = (struct best){p, m};
}

static const struct propagation_policy *match_in(const struct propagation_index *x, struct span ns,
						 const struct propagation_object *o)
{
	struct best best = {0};
	auto_buf key = BUF_INIT;
	const struct span names[] = {o->name, SPAN_NONE};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		list_key(&key, ns, o->api_version, o->kind, names[i]);
		const struct candidates *c = map_get(&x->lists, buf_span(&key));
		for (size_t j = 0; c && j < c->policies.len; j++)
			consider(&best, &c->policies.items[j]->p, o);
	}
	return best.p;
}

const struct propagation_policy *propagation_match(const struct propagation_index *x,
						   const struct propagation_object *o)
{
	const struct propagation_policy *p = NULL;

	if (o->ns.len)
		p = match_in(x, o->ns, o);
	if (!p && !propagation_is_system_namespace(o->ns))
		p = match_in(x, SPAN_NONE, o);
	return p;
}

bool propagation_selects(const struct propagation_policy *p, const struct propagation_object *o)
{
	if (p->ns.len ? !span_eq(p->ns, o->ns) : propagation_is_system_namespace(o->ns))
		return false;
	return policy_selects(p, o) != MATCHES_NOT;
}

const struct propagation_policy *propagation_builtin(void)
{
	static const struct propagation_policy builtin = {
	    .placement = {.replica_scheduling = REPLICA_DIVIDED, .gang = true},
	    .propagate_deps = true,
	};
	return &builtin;
}

bool propagation_is_system_namespace(struct span ns)
{
	static const char *const names[] = {"karmada-system", "karmada-cluster", "kube-system",
					    "kube-public",    "kube-node-lease", "kube-queue"};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (span_is(ns, names[i]))
			return true;
	return span_starts(ns, SPAN("karmada-es-"));
}

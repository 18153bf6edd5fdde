#include "member-sync/sim/scheduler.h"
#include "base/buf.h"
#include "base/map.h"
#include "base/num.h"
#include "base/vec.h"

#define KEPT_SHAPES   1024
#define MAX_RESOURCES 32 /* distinct names on one member; more are never available */

struct scheduler_node {
	struct arena mem;
	struct node_info info;
	int64_t free[MAX_RESOURCES];
	int64_t allocatable[MAX_RESOURCES];
	struct scheduler_pod *pods;
	bool gone;
};

struct request {
	int resource; /* -1: no node has it */
	int64_t value;
};

enum filter { FILTER_OK, FILTER_SELECTOR, FILTER_TAINT, FILTER_UNSCHEDULABLE, FILTER_NOT_READY };

struct scheduler_shape {
	struct arena mem;
	struct scheduler_needs needs;
	struct request *requests;
	size_t n_requests;
	int main; /* resource that decides between nodes */
	/* caches, each with the generation it is of */
	unsigned char *filters; /* enum filter per node slot */
	uint64_t filters_at;
	uint64_t hopeless_at; /* 0: not known */
	char why[320];
	size_t last; /* slot + 1 of the node that took the last pod; 0: none */
	size_t users;
	char *key; /* owned */
	size_t key_len;
};

struct scheduler {
	struct VEC(
	    struct scheduler_node *) nodes; /* in order of arrival; removed ones stay, gone */
	struct map by_name;
	struct map shapes;
	struct map resources; /* name -> index + 1 */
	int pods_resource;
	uint64_t nodes_generation, free_generation;
	size_t n_alive, n_anti; /* bound pods with anti-affinity terms */
};

static int resource_index(struct scheduler *s, struct span name, bool add)
{
	void *v = map_get(&s->resources, name);
	if (v)
		return (int)(intptr_t)v - 1;
	if (!add || s->resources.len >= MAX_RESOURCES)
		return -1;
	map_put(&s->resources, name, (void *)(intptr_t)(s->resources.len + 1));
	return (int)s->resources.len - 1;
}

struct scheduler *scheduler_create(void)
{
	struct scheduler *s = xcalloc(1, sizeof(*s));
	s->pods_resource = resource_index(s, SPAN("pods"), true);
	s->nodes_generation = s->free_generation = 1;
	return s;
}

static void node_free(struct scheduler_node *n)
{
	arena_done(&n->mem);
	free(n);
}

static void shape_free(struct scheduler_shape *shape)
{
	free(shape->filters);
	free(shape->key);
	arena_done(&shape->mem);
	free(shape);
}

struct scheduler *scheduler_destroy(struct scheduler *s)
{
	if (!s)
		return NULL;
	vec_foreach (&s->nodes, n)
		node_free(*n);
	vec_done(&s->nodes);
	map_foreach (&s->shapes, e)
		shape_free(e->value);
	map_done(&s->shapes);
	map_done(&s->by_name);
	map_done(&s->resources);
	free(s);
	return NULL;
}

/* ---- nodes ---- */

static void charge(const struct scheduler *s, struct scheduler_node *n,
		   const struct scheduler_shape *shape, int sign)
{
	for (size_t i = 0; i < shape->n_requests; i++)
		if (shape->requests[i].resource >= 0)
			n->free[shape->requests[i].resource] -= sign * shape->requests[i].value;
	n->free[s->pods_resource] -= sign;
}

static void copy_node(struct scheduler_node *n, const struct node_info *from)
{
	auto_buf bytes = BUF_INIT;
	struct arena mem = ARENA_INIT;
	struct node_info info;
	node_info_pack(from, &bytes);
	struct span kept = arena_span(&mem, buf_span(&bytes));
	if (node_info_unpack(kept, &mem, &info))
		abort(); /* it was packed the line before */
	arena_done(&n->mem);
	n->mem = mem;
	n->info = info;
}

void scheduler_set_node(struct scheduler *s, const struct node_info *from)
{
	struct scheduler_node *n = map_get(&s->by_name, from->name);
	if (!n) {
		n = xcalloc(1, sizeof(*n));
		vec_push(&s->nodes, n);
		map_put(&s->by_name, from->name, n);
		s->n_alive++;
	}
	copy_node(n, from);
	memset(n->allocatable, 0, sizeof(n->allocatable));
	for (size_t i = 0; i < n->info.n_allocatable; i++) {
		int r = resource_index(s, n->info.allocatable[i].resource, true);
		if (r >= 0)
			n->allocatable[r] = n->info.allocatable[i].value;
	}
	memcpy(n->free, n->allocatable, sizeof(n->free));
	for (const struct scheduler_pod *p = n->pods; p; p = p->next)
		charge(s, n, p->shape, 1);
	s->nodes_generation++;
	s->free_generation++;
}

void scheduler_remove_node(struct scheduler *s, struct span name)
{
	struct scheduler_node *n = map_remove(&s->by_name, name);
	if (!n)
		return;
	n->gone = true;
	s->n_alive--;
	s->nodes_generation++;
}

struct scheduler_node *scheduler_find_node(struct scheduler *s, struct span name)
{
	return map_get(&s->by_name, name);
}

struct span scheduler_node_name(const struct scheduler_node *n)
{
	return n->info.name;
}

struct scheduler_pod *scheduler_node_pods(const struct scheduler_node *n)
{
	return n->pods;
}

bool scheduler_node_ready(const struct scheduler_node *n)
{
	return n->info.ready;
}

size_t scheduler_node_count(const struct scheduler *s)
{
	return s->n_alive;
}

/* ---- matching ---- */

static const struct info_pair *find_label(const struct info_pair *labels, size_t n, struct span key)
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
	const struct info_pair *l = find_label(labels, n, r->key);
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

static bool match_all(const struct info_requirement *r, size_t n_requirements,
		      const struct info_pair *labels, size_t n)
{
	for (size_t i = 0; i < n_requirements; i++)
		if (!match(&r[i], labels, n))
			return false;
	return true;
}

static bool tolerates(const struct template_info *pod, const struct info_taint *taint)
{
	for (size_t i = 0; i < pod->n_tolerations; i++) {
		const struct info_toleration *t = &pod->tolerations[i];
		if (!t->any_effect && t->effect != taint->effect)
			continue;
		if (t->key.len == 0 && t->op == TOLERATE_EXISTS)
			return true;
		if (span_eq(t->key, taint->key) &&
		    (t->op == TOLERATE_EXISTS || span_eq(t->value, taint->value)))
			return true;
	}
	return false;
}

static enum filter filter_node(const struct template_info *pod, const struct node_info *n)
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
		const struct info_pair *l = find_label(n->labels, n->n_labels, want->key);
		if (!l || !span_eq(l->value, want->value))
			return FILTER_SELECTOR;
	}
	bool any = pod->n_affinity == 0;
	for (size_t i = 0; i < pod->n_affinity && !any; i++)
		any = match_all(pod->affinity[i].requirements, pod->affinity[i].n_requirements,
				n->labels, n->n_labels);
	return any ? FILTER_OK : FILTER_SELECTOR;
}

/* ---- pod affinity ---- */

static bool term_selects(const struct scheduler_term *t, struct span own_ns,
			 const struct scheduler_pod *p)
{
	bool ns = t->n_namespaces == 0 && span_eq(own_ns, p->ns);
	for (size_t i = 0; i < t->n_namespaces && !ns; i++)
		ns = span_eq(t->namespaces[i], p->ns);
	return ns && match_all(t->requirements, t->n_requirements, p->labels, p->n_labels);
}

static struct span domain_of(const struct scheduler_node *n, struct span key)
{
	const struct info_pair *l = find_label(n->info.labels, n->info.n_labels, key);
	return l ? l->value : SPAN_NONE;
}

/* Domains of one topology key where pods are that a term selects. */
struct domains {
	struct map found;
};

static void find_domains(const struct scheduler *s, const struct scheduler_term *t, struct span ns,
			 struct domains *ret)
{
	vec_foreach (&s->nodes, it) {
		struct span domain = (*it)->gone ? SPAN_NONE : domain_of(*it, t->topology_key);
		if (!domain.ptr || map_has(&ret->found, domain))
			continue;
		for (const struct scheduler_pod *p = (*it)->pods; p; p = p->next)
			if (term_selects(t, ns, p)) {
				map_put(&ret->found, domain, *it);
				break;
			}
	}
}

/* Marks the nodes that terms forbid. `banned` has a flag per node slot. */
static void apply_term(const struct scheduler *s, const struct scheduler_pod *p,
		       const struct scheduler_term *t, bool *banned)
{
	struct domains d = {MAP_INIT};
	find_domains(s, t, p->ns, &d);
	/* The first pod of a group that asks for itself may go anywhere (upstream's rule). */
	bool first = !t->anti && d.found.len == 0 && term_selects(t, p->ns, p);
	for (size_t i = 0; i < s->nodes.len; i++) {
		struct span domain = domain_of(s->nodes.items[i], t->topology_key);
		bool has = domain.ptr && map_has(&d.found, domain);
		banned[i] |= t->anti ? has : !domain.ptr || (!first && !has);
	}
	map_done(&d.found);
}

/* Anti-affinity is mutual: bound pods keep others out of their domain. */
static void apply_others(const struct scheduler *s, const struct scheduler_pod *p, bool *banned)
{
	vec_foreach (&s->nodes, it) {
		for (const struct scheduler_pod *o = (*it)->pods; o; o = o->next) {
			const struct scheduler_needs *needs = &o->shape->needs;
			for (size_t t = 0; t < needs->n_terms; t++) {
				struct span key = needs->terms[t].topology_key;
				struct span domain = domain_of(*it, key);
				if (!needs->terms[t].anti || !domain.ptr ||
				    !term_selects(&needs->terms[t], o->ns, p))
					continue;
				for (size_t i = 0; i < s->nodes.len; i++)
					banned[i] |=
					    span_eq(domain_of(s->nodes.items[i], key), domain);
			}
		}
	}
}

/* ---- shapes ---- */

struct scheduler_shape *scheduler_get_shape(struct scheduler *s, struct span key)
{
	struct scheduler_shape *shape = map_get(&s->shapes, key);
	if (shape)
		shape->users++;
	return shape;
}

void scheduler_release_shape(struct scheduler *s, struct scheduler_shape *shape)
{
	/* A few unused ones are kept: the next job is often like the last one. */
	if (!shape || --shape->users > 0 || s->shapes.len < KEPT_SHAPES)
		return;
	map_remove(&s->shapes, span_make(shape->key, shape->key_len));
	shape_free(shape);
}

struct scheduler_shape *scheduler_add_shape(struct scheduler *s, struct span key,
					    const struct scheduler_needs *needs,
					    struct arena *take_mem)
{
	struct scheduler_shape *shape = xcalloc(1, sizeof(*shape));
	shape->mem = *take_mem;
	*take_mem = ARENA_INIT;
	shape->needs = *needs;
	size_t n = needs->pod.n_requests;
	shape->requests = arena_array(&shape->mem, struct request, n);
	shape->main = resource_index(s, SPAN("cpu"), true);
	for (size_t i = 0; i < n; i++) {
		const struct info_amount *a = &needs->pod.requests[i];
		if (a->value <= 0)
			continue;
		int r = resource_index(s, a->resource, true);
		shape->requests[shape->n_requests++] = (struct request){r, a->value};
		if (r >= 0 && memchr(a->resource.ptr, '/', a->resource.len))
			shape->main = r;
	}
	shape->key = xstrndup(key.ptr, key.len);
	shape->key_len = key.len;
	shape->users = 1;
	map_put(&s->shapes, key, shape);
	return shape;
}

static void refresh_filters(const struct scheduler *s, struct scheduler_shape *shape)
{
	if (shape->filters_at == s->nodes_generation)
		return;
	shape->filters = xrealloc(shape->filters, s->nodes.len);
	for (size_t i = 0; i < s->nodes.len; i++)
		shape->filters[i] =
		    (unsigned char)filter_node(&shape->needs.pod, &s->nodes.items[i]->info);
	shape->filters_at = s->nodes_generation;
}

static const struct request *lacking(const struct scheduler *s, const struct scheduler_node *n,
				     const struct scheduler_shape *shape)
{
	static const struct request one_pod = {0, 1};
	for (size_t i = 0; i < shape->n_requests; i++) {
		int r = shape->requests[i].resource;
		if (r < 0 || n->free[r] < shape->requests[i].value)
			return &shape->requests[i];
	}
	return n->free[s->pods_resource] < 1 ? &one_pod : NULL;
}

static struct span resource_name(const struct scheduler *s, int index)
{
	map_foreach (&s->resources, e)
		if ((int)(intptr_t)e->value == index + 1)
			return span_make(e->key, e->key_len);
	return SPAN("unknown resource");
}

static void add_reason(char *out, size_t size, size_t n, const char *text)
{
	size_t len = strlen(out);
	if (n && len < size)
		snprintf(out + len, size - len, "%s %zu %s", out[len - 1] == ':' ? "" : ",", n,
			 text);
}

static void explain(const struct scheduler *s, struct scheduler_shape *shape, const bool *banned)
{
	static const char *const words[] = {
	    [FILTER_SELECTOR] = "node(s) didn't match Pod's node affinity/selector",
	    [FILTER_TAINT] = "node(s) had untolerated taint(s)",
	    [FILTER_UNSCHEDULABLE] = "node(s) were unschedulable",
	    [FILTER_NOT_READY] = "node(s) were not ready",
	};
	size_t by_filter[ARRAY_LEN(words)] = {0}, by_resource[MAX_RESOURCES] = {0}, affinity = 0;
	for (size_t i = 0; i < s->nodes.len; i++) {
		const struct scheduler_node *n = s->nodes.items[i];
		if (n->gone)
			continue;
		const struct request *r = lacking(s, n, shape);
		if (shape->filters[i] != FILTER_OK)
			by_filter[shape->filters[i]]++;
		else if (banned && banned[i])
			affinity++;
		else if (r)
			by_resource[r->resource >= 0 ? r->resource : MAX_RESOURCES - 1]++;
	}
	char *out = shape->why, text[120];
	snprintf(out, sizeof(shape->why), "0/%zu nodes are available:", s->n_alive);
	for (int r = 0; r < MAX_RESOURCES; r++) {
		if (r == s->pods_resource)
			snprintf(text, sizeof(text), "Too many pods");
		else if (by_resource[r])
			snprintf(text, sizeof(text), "Insufficient %.*s",
				 SPAN_ARGS(resource_name(s, r)));
		add_reason(out, sizeof(shape->why), by_resource[r], text);
	}
	add_reason(out, sizeof(shape->why), affinity,
		   "node(s) didn't match pod affinity/anti-affinity rules");
	for (size_t f = 1; f < ARRAY_LEN(words); f++)
		add_reason(out, sizeof(shape->why), by_filter[f], words[f]);
	size_t len = strlen(out);
	if (len + 1 < sizeof(shape->why)) {
		out[len] = '.';
		out[len + 1] = '\0';
	}
}

/* ---- placing ---- */

static bool fits(const struct scheduler *s, const struct scheduler_shape *shape, size_t i,
		 const bool *banned)
{
	const struct scheduler_node *n = s->nodes.items[i];
	return !n->gone && shape->filters[i] == FILTER_OK && !(banned && banned[i]) &&
	       !lacking(s, n, shape);
}

bool scheduler_is_hopeless(const struct scheduler *s, const struct scheduler_pod *p)
{
	return p->shape->hopeless_at == s->free_generation;
}

uint64_t scheduler_generation(const struct scheduler *s)
{
	return s->free_generation;
}

static struct scheduler_node *search(const struct scheduler *s, struct scheduler_shape *shape,
				     const bool *banned, size_t *ret_slot)
{
	struct scheduler_node *best = NULL;
	*ret_slot = 0;
	for (size_t i = 0; i < s->nodes.len; i++) {
		struct scheduler_node *n = s->nodes.items[i];
		if (fits(s, shape, i, banned) &&
		    (!best || n->free[shape->main] < best->free[shape->main])) {
			best = n;
			*ret_slot = i + 1;
		}
	}
	return best;
}

struct scheduler_node *scheduler_place(struct scheduler *s, const struct scheduler_pod *p,
				       const char **ret_why)
{
	struct scheduler_shape *shape = p->shape;
	auto_free bool *banned = NULL;
	if (ret_why)
		*ret_why = shape->why;
	if (scheduler_is_hopeless(s, p))
		return NULL;
	refresh_filters(s, shape);
	if (shape->needs.n_terms || s->n_anti) {
		banned = xcalloc(s->nodes.len, sizeof(*banned));
		for (size_t t = 0; t < shape->needs.n_terms; t++)
			apply_term(s, p, &shape->needs.terms[t], banned);
		if (s->n_anti)
			apply_others(s, p, banned);
	} else if (shape->last && fits(s, shape, shape->last - 1, NULL)) {
		return s->nodes.items[shape->last - 1];
	}
	struct scheduler_node *best = search(s, shape, banned, &shape->last);
	if (!best) {
		shape->hopeless_at = s->free_generation;
		explain(s, shape, banned);
	}
	return best;
}

void scheduler_bind(struct scheduler *s, struct scheduler_pod *p, struct scheduler_node *n)
{
	p->node = n;
	p->next = n->pods;
	p->at = &n->pods;
	if (p->next)
		p->next->at = &p->next;
	n->pods = p;
	charge(s, n, p->shape, 1);
	for (size_t t = 0; t < p->shape->needs.n_terms; t++)
		s->n_anti += p->shape->needs.terms[t].anti;
	if (p->shape->needs.n_terms)
		s->free_generation++; /* a pod in place may be what another one asks for */
}

void scheduler_unbind(struct scheduler *s, struct scheduler_pod *p)
{
	if (!p->node)
		return;
	charge(s, p->node, p->shape, -1);
	for (size_t t = 0; t < p->shape->needs.n_terms; t++)
		s->n_anti -= p->shape->needs.terms[t].anti;
	*p->at = p->next;
	if (p->next)
		p->next->at = p->at;
	p->node = NULL;
	p->next = NULL;
	s->free_generation++;
}

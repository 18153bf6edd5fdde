#include "base/buf.h"
#include "member-sync/sim/scheduler_priv.h"

#define KEPT_SHAPES 1024

static int resource_index(struct scheduler *s, struct span name, bool add)
{
	void *v = map_get(&s->resources, name);
	if (v)
		return (int)(intptr_t)v - 1;
	if (!add || s->resources.len >= SCHEDULER_MAX_RESOURCES)
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
		shape->filters[i] = (unsigned char)scheduler_filter_node(&shape->needs.pod,
									 &s->nodes.items[i]->info);
	shape->filters_at = s->nodes_generation;
}

/* ---- placing ---- */

static bool fits(const struct scheduler *s, const struct scheduler_shape *shape, size_t i,
		 const bool *banned)
{
	const struct scheduler_node *n = s->nodes.items[i];
	return !n->gone && shape->filters[i] == FILTER_OK && !(banned && banned[i]) &&
	       !scheduler_lacking(s, n, shape);
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
		scheduler_apply_terms(s, p, banned);
	} else if (shape->last && fits(s, shape, shape->last - 1, NULL)) {
		return s->nodes.items[shape->last - 1];
	}
	struct scheduler_node *best = search(s, shape, banned, &shape->last);
	if (!best) {
		shape->hopeless_at = s->free_generation;
		scheduler_explain(s, shape, banned);
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

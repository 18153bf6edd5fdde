#include "policies/row.h"

#include "base/buf.h"
#include "kube/label_match.h"
#include "policies/cluster_nodes.h"
#include "policies/node_class.h"
#include "policies/node_state.h"

/* ---- labels that some row asks for ---- */

/* Counts `key` up or down. True when nobody asked for it before and some node may have it. */
static bool count_interest(struct fleet *f, struct span key, bool up)
{
	uintptr_t n = (uintptr_t)map_get(&f->interest, key);

	if (!up && n <= 1) {
		map_remove(&f->interest, key);
		return false;
	}
	map_put(&f->interest, key, (void *)(up ? n + 1 : n - 1));
	return up && n == 0 && (span_eq(key, NODE_CLASS_NAME_KEY) || intern_find(&f->names, key));
}

static bool count_interests(struct fleet *f, const struct pod_set *s, bool up)
{
	bool fresh = false;

	for (size_t i = 0; i < s->n_selector; i++)
		fresh |= count_interest(f, s->selector[i].key, up);
	for (size_t i = 0; i < s->n_terms; i++) {
		for (size_t j = 0; j < s->terms[i].n_labels; j++)
			fresh |= count_interest(f, s->terms[i].labels[j].key, up);
		if (s->terms[i].n_fields)
			fresh |= count_interest(f, NODE_CLASS_NAME_KEY, up);
	}
	return fresh;
}

struct row *row_ref(struct fleet *f, const struct pod_set *set)
{
	auto_buf key = BUF_INIT;

	pod_set_key(set, &key);
	struct row *r = map_get(&f->rows, buf_span(&key));
	if (r) {
		r->refs++;
		return r;
	}
	r = xcalloc(1, sizeof(*r));
	r->refs = 1;
	r->lane = LANE_NONE;
	struct pod_set nameless = *set;
	nameless.name = SPAN_NONE;
	struct arena measure = ARENA_INIT;
	pod_set_canonical(&measure, &nameless);
	arena_reserve(&r->arena, arena_used(&measure) + key.len + 16);
	arena_done(&measure);
	r->pods = pod_set_canonical(&r->arena, &nameless);
	r->key = arena_span(&r->arena, buf_span(&key));
	for (size_t i = 0; i < r->pods.n_requests; i++) {
		struct request q = r->pods.requests[i];
		r->resource[r->n_requests] = q.resource;
		r->amount[r->n_requests++] = q.amount;
		r->mask |= (uint64_t)1 << q.resource;
	}
	r->extended = r->mask & f->extended;
	r->hash_step = node_state_hash_step(r);
	map_put(&f->rows, r->key, r);
	/* Labels that nobody asked for before now tell nodes apart. Keys stay in the classes when
	 * the row goes: they do no harm, and go with the nodes. */
	if (count_interests(f, &r->pods, true))
		cluster_nodes_reclass(f);
	return r;
}

void row_unref(struct fleet *f, struct row *r)
{
	if (--r->refs > 0)
		return;
	map_remove(&f->rows, r->key);
	count_interests(f, &r->pods, false);
	arena_done(&r->arena);
	free(r);
}

/* ---- lanes ---- */

static void add_lanes(struct fleet *f)
{
	uint32_t lanes = f->cap_lanes ? f->cap_lanes * 2 : 32;
	uint32_t *more = xcalloc((size_t)f->cap_clusters * lanes * LEVELS, sizeof(*more));

	for (uint32_t c = 0; c < f->n_clusters && f->cap_lanes; c++)
		memcpy(more + (size_t)c * lanes * LEVELS, fleet_holes(f, c, 0),
		       (size_t)f->cap_lanes * LEVELS * sizeof(*more));
	free(f->holes);
	f->holes = more;
	node_state_add_lanes(f, lanes);
	f->cap_lanes = lanes;
}

bool row_lane_ref(struct fleet *f, struct row *r)
{
	if (r->lane_refs++ > 0)
		return true;
	uint32_t lane = 0;
	while (lane < f->n_lanes && f->lanes[lane])
		lane++;
	if (lane == LANES_MAX) {
		r->lane_refs = 0;
		return false;
	}
	if (lane >= f->cap_lanes)
		add_lanes(f);
	if (lane == f->n_lanes)
		f->n_lanes++;
	f->lanes[lane] = r;
	r->lane = lane;
	node_class_fill_lane(f, lane);
	node_state_fill_lane(f, lane);
	cluster_nodes_fill_lane(f, lane);
	return true;
}

void row_lane_unref(struct fleet *f, struct row *r)
{
	if (--r->lane_refs > 0)
		return;
	uint32_t lane = r->lane;
	r->lane = LANE_NONE;
	f->lanes[lane] = NULL;
	/* Empty lanes cost nothing as long as their fills are all zero. */
	node_state_fill_lane(f, lane);
	while (f->n_lanes && !f->lanes[f->n_lanes - 1])
		f->n_lanes--;
}

/* ---- matching ---- */

static bool matches_exprs(const struct node_expr *e, size_t n, bool fields,
			  const struct node_class *c)
{
	for (size_t i = 0; i < n; i++) {
		struct span key = fields ? NODE_CLASS_NAME_KEY : e[i].key;
		if (!label_match_expr(&e[i], label_find(c->labels, c->n_labels, key)))
			return false;
	}
	return true;
}

bool row_matches_labels(const struct row *r, const struct node_class *c)
{
	const struct pod_set *s = &r->pods;

	for (size_t i = 0; i < s->n_selector; i++) {
		const struct span *v = label_find(c->labels, c->n_labels, s->selector[i].key);
		if (!v || !span_eq(*v, s->selector[i].value))
			return false;
	}
	for (size_t i = 0; i < s->n_terms; i++) {
		const struct node_term *t = &s->terms[i];
		if (t->n_labels + t->n_fields == 0)
			continue; /* an empty term matches nothing */
		if (matches_exprs(t->labels, t->n_labels, false, c) &&
		    matches_exprs(t->fields, t->n_fields, true, c))
			return true;
	}
	return s->n_terms == 0;
}

const struct taint *row_untolerated(const struct row *r, const struct node_class *c)
{
	for (size_t i = 0; i < c->n_taints; i++) {
		const struct taint *t = &c->taints[i];
		if (taint_effect_keeps_away(t->effect) &&
		    toleration_time(r->pods.tolerations, r->pods.n_tolerations, t) != INT64_MAX)
			return t;
	}
	return NULL;
}

bool row_accepts(const struct row *r, const struct node_class *c)
{
	return c->usable && row_matches_labels(r, c) && !row_untolerated(r, c);
}

/* ---- counting ---- */

uint32_t row_pods(const struct row *r, const int64_t *free)
{
	int64_t pods = FILL_MAX;

	for (uint32_t i = 0; i < r->n_requests; i++) {
		int64_t have = free[r->resource[i]], ask = r->amount[i];
		if (have < ask)
			return 0;
		/* A full division is needed only when this resource is the scarcest so far. */
		if (have < pods * ask) {
			int64_t n = have / ask;
			pods = n < pods ? n : pods;
		}
	}
	return (uint32_t)pods;
}

uint16_t row_fill(const struct row *r, const int64_t *free, uint64_t devices)
{
	uint32_t pods = row_pods(r, free);

	if (pods == 0)
		return 0;
	uint32_t level = pods == 1 ? 0 : 32 - (uint32_t)__builtin_clz(pods - 1);
	if (level > 7)
		level = 7;
	if (devices & ~r->extended)
		level += 8;
	return (uint16_t)(level << FILL_BITS | pods);
}

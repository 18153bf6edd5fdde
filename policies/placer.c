#include "policies/placer.h"

#include "base/buf.h"
#include "policies/placement_score.h"
#include "policies/row.h"

struct placer *placer_create(struct fleet *f)
{
	struct placer *p = xcalloc(1, sizeof(*p));

	p->f = f;
	return p;
}

/* ---- tracking ---- */

static void unlink_tracked(struct placer *p, struct ask *a)
{
	*(a->older ? &a->older->newer : &p->oldest) = a->newer;
	*(a->newer ? &a->newer->older : &p->newest) = a->older;
	a->older = a->newer = NULL;
}

static void push_newest(struct placer *p, struct ask *a)
{
	a->older = p->newest;
	a->newer = NULL;
	*(p->newest ? &p->newest->newer : &p->oldest) = a;
	p->newest = a;
}

static void release_lanes(struct placer *p, struct ask *a, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		row_lane_unref(p->f, a->shape->parts[i].row);
}

static void untrack(struct placer *p, struct ask *a)
{
	if (!a->tracked)
		return;
	unlink_tracked(p, a);
	release_lanes(p, a, a->shape->n_parts);
	a->tracked = false;
	p->n_tracked--;
}

static void free_tree(struct ask *a)
{
	free(a->tree);
	free(a->group);
	a->tree = NULL;
	a->group = NULL;
	a->leaves = a->cap_leaves = 0;
}

/* Untracks the ask that was decided longest ago and does not wait. */
static bool evict(struct placer *p)
{
	for (struct ask *a = p->oldest; a; a = a->newer)
		if (!a->parked) {
			untrack(p, a);
			free_tree(a);
			return true;
		}
	return false;
}

static bool take_lanes(struct placer *p, struct ask *a)
{
	for (uint32_t i = 0; i < a->shape->n_parts; i++)
		while (!row_lane_ref(p->f, a->shape->parts[i].row))
			if (!evict(p)) {
				release_lanes(p, a, i);
				return false;
			}
	return true;
}

void placer_track(struct placer *p, struct ask *a)
{
	if (a->tracked) {
		if (p->newest == a)
			return;
		unlink_tracked(p, a);
		push_newest(p, a);
		return;
	}
	a->roster = 0; /* the tree, if there is one, is out of date */
	if ((p->n_tracked >= PLACER_TRACKED_MAX && !evict(p)) || !take_lanes(p, a))
		return;
	a->tracked = true;
	p->n_tracked++;
	push_newest(p, a);
}

/* ---- the tree ---- */

void placer_set(struct ask *a, uint32_t cluster, uint64_t score)
{
	uint32_t i = a->leaves + cluster;

	a->tree[i] = score;
	for (i /= 2; i; i /= 2) {
		uint64_t l = a->tree[2 * i], r = a->tree[2 * i + 1];
		uint64_t min = l < r ? l : r;
		if (a->tree[i] == min)
			return;
		a->tree[i] = min;
	}
}

static uint64_t look(struct placer *p, struct ask *a, uint32_t cluster, bool spec)
{
	uint32_t group = a->group[cluster];

	p->stats.rescored++;
	if (spec) {
		if (placement_candidate(p->f, a, cluster, &group) != VERDICT_FITS)
			group = GROUP_NONE;
		a->group[cluster] = (uint8_t)group;
	}
	return group == GROUP_NONE ? SCORE_NONE : placement_score(p->f, a, cluster, group, false);
}

static void rebuild(struct placer *p, struct ask *a)
{
	const struct fleet *f = p->f;
	uint32_t leaves = 1;

	while (leaves < f->n_clusters)
		leaves *= 2;
	if (leaves > a->cap_leaves) {
		free_tree(a);
		a->cap_leaves = leaves;
		a->tree = xcalloc(2 * (size_t)leaves, sizeof(*a->tree));
		a->group = xcalloc(leaves, sizeof(*a->group));
	}
	a->leaves = leaves;
	for (uint32_t c = 0; c < leaves; c++)
		a->tree[leaves + c] =
		    c < f->n_clusters && f->clusters[c].used ? look(p, a, c, true) : SCORE_NONE;
	for (uint32_t i = leaves - 1; i; i--)
		a->tree[i] =
		    a->tree[2 * i] < a->tree[2 * i + 1] ? a->tree[2 * i] : a->tree[2 * i + 1];
	a->roster = f->roster_version;
}

/* Changed clusters lie apart in memory: the next one is on its way while this one is looked at. */
static void prefetch(const struct fleet *f, const struct ask *a, uint32_t cluster)
{
	if (cluster == CLUSTER_NONE)
		return;
	__builtin_prefetch(&f->hot[cluster]);
	for (uint32_t i = 0; i < a->shape->n_parts && i < 2; i++)
		__builtin_prefetch(fleet_holes(f, cluster, a->shape->parts[i].row->lane));
}

void placer_refresh(struct placer *p, struct ask *a)
{
	const struct fleet *f = p->f;

	placer_track(p, a);
	if (!a->tracked || !a->tree || a->roster != f->roster_version) {
		rebuild(p, a);
	} else {
		for (uint32_t c = f->first_changed, next;
		     c != CLUSTER_NONE && f->hot[c].version > a->seen; c = next) {
			next = f->hot[c].next;
			prefetch(f, a, next);
			placer_set(a, c, look(p, a, c, f->hot[c].spec_version > a->seen));
		}
	}
	a->seen = f->version;
}

/* ---- asks ---- */

static void put_span(struct buf *b, struct span s)
{
	uint32_t len = s.ptr ? (uint32_t)s.len : UINT32_MAX;

	buf_add(b, &len, sizeof(len));
	buf_add(b, s.ptr ? s.ptr : "", s.ptr ? s.len : 0);
}

static void put_num(struct buf *b, uint64_t v)
{
	buf_add(b, &v, sizeof(v));
}

static void put_exprs(struct buf *b, const struct node_expr *e, size_t n)
{
	put_num(b, n);
	for (size_t i = 0; i < n; i++) {
		put_span(b, e[i].key);
		put_num(b, (uint64_t)e[i].op);
		put_num(b, e[i].n_values);
		for (size_t j = 0; j < e[i].n_values; j++)
			put_span(b, e[i].values[j]);
	}
}

static void put_spans(struct buf *b, const struct span *s, size_t n)
{
	put_num(b, n);
	for (size_t i = 0; i < n; i++)
		put_span(b, s[i]);
}

/* What decides; spread constraints and division do not. */
static void put_placement(struct buf *b, const struct placement_spec *s)
{
	put_num(b, s->n_affinities);
	for (size_t i = 0; i < s->n_affinities; i++) {
		const struct cluster_affinity *a = &s->affinities[i];
		put_spans(b, a->cluster_names, a->n_cluster_names);
		put_spans(b, a->exclude, a->n_exclude);
		put_num(b, a->has_labels);
		put_num(b, a->labels.n_match_labels);
		for (size_t j = 0; j < a->labels.n_match_labels; j++) {
			put_span(b, a->labels.match_labels[j].key);
			put_span(b, a->labels.match_labels[j].value);
		}
		put_exprs(b, a->labels.exprs, a->labels.n_exprs);
		put_exprs(b, a->fields, a->n_fields);
	}
	put_spans(b, s->only, s->n_only);
	put_num(b, s->n_tolerations);
	for (size_t i = 0; i < s->n_tolerations; i++) {
		put_span(b, s->tolerations[i].key);
		put_span(b, s->tolerations[i].value);
		put_num(b, (uint64_t)s->tolerations[i].effect << 1 | s->tolerations[i].exists);
	}
	put_num(b, s->n_refusals);
	for (size_t i = 0; i < s->n_refusals; i++) {
		put_span(b, s->refusals[i].cluster);
		put_span(b, s->refusals[i].why);
		put_num(b, s->refusals[i].failed);
	}
	put_num(b, s->sum_of_free);
}

int placer_ask_ref(struct placer *p, struct shape *shape, const struct placement_spec *placement,
		   const struct api_kind *kind, struct ask **ret, struct err *reterr)
{
	auto_buf key = BUF_INIT;
	int r = placement_spec_check(placement, reterr);

	if (r < 0)
		return r;
	put_num(&key, shape->id);
	put_span(&key, kind->api_version);
	put_span(&key, kind->kind);
	put_placement(&key, placement);
	if (!buf_ok(&key))
		return err_set(reterr, ERR_TOO_LARGE, "placement is too large to compare");
	struct ask *a = map_get(&p->asks, buf_span(&key));
	if (a) {
		*ret = ask_dup_ref(a);
		return 0;
	}
	a = xcalloc(1, sizeof(*a));
	a->refs = 1;
	a->id = p->free_ids.len ? p->free_ids.items[--p->free_ids.len] : p->n_ids++;
	a->shape = shape_dup_ref(shape);
	arena_reset(&p->f->tmp);
	placement_spec_dup(&p->f->tmp, placement);
	arena_reserve(&a->arena, arena_used(&p->f->tmp) + kind->api_version.len + kind->kind.len +
				     key.len + 3 * 16);
	a->placement = placement_spec_dup(&a->arena, placement);
	a->kind = (struct api_kind){arena_span(&a->arena, kind->api_version),
				    arena_span(&a->arena, kind->kind)};
	a->key = arena_span(&a->arena, buf_span(&key));
	map_put(&p->asks, a->key, a);
	*ret = a;
	return 0;
}

struct ask *ask_dup_ref(struct ask *a)
{
	a->refs++;
	return a;
}

static void drop_ask(struct placer *p, struct ask *a)
{
	untrack(p, a);
	free_tree(a);
	vec_push(&p->free_ids, a->id);
	fleet_shape_unref(p->f, a->shape);
	arena_done(&a->arena);
	free(a);
}

void placer_ask_unref(struct placer *p, struct ask *a)
{
	if (!a || --a->refs > 0)
		return;
	map_remove(&p->asks, a->key);
	drop_ask(p, a);
}

struct placer *placer_destroy(struct placer *p)
{
	if (!p)
		return NULL;
	map_foreach (&p->asks, e)
		drop_ask(p, e->value);
	map_done(&p->asks);
	vec_done(&p->free_ids);
	vec_done(&p->excluded);
	free(p);
	return NULL;
}

struct shape *ask_shape(const struct ask *a)
{
	return a->shape;
}

uint32_t ask_id(const struct ask *a)
{
	return a->id;
}

void placer_stats(const struct placer *p, struct placer_stats *ret)
{
	*ret = p->stats;
	ret->asks = (uint32_t)p->asks.len;
}

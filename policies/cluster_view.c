#include "policies/cluster_view.h"

#include "policies/cluster_nodes.h"
#include "policies/fleet.h"
#include "policies/ledger_private.h"
#include "policies/node_class.h"
#include "policies/node_state.h"

/* ---- deep copy of a spec ---- */

static const struct label *copy_labels(struct arena *a, const struct label *from, size_t n)
{
	struct label *to = arena_array(a, struct label, n);

	for (size_t i = 0; i < n; i++)
		to[i] = (struct label){arena_span(a, from[i].key), arena_span(a, from[i].value)};
	return to;
}

static const struct span *copy_spans(struct arena *a, const struct span *from, size_t n)
{
	struct span *to = arena_array(a, struct span, n);

	for (size_t i = 0; i < n; i++)
		to[i] = arena_span(a, from[i]);
	return to;
}

static const struct taint *copy_taints(struct arena *a, const struct taint *from, size_t n)
{
	struct taint *to = arena_array(a, struct taint, n);

	for (size_t i = 0; i < n; i++)
		to[i] = (struct taint){arena_span(a, from[i].key), arena_span(a, from[i].value),
				       from[i].effect};
	return to;
}

static const struct api_kind *copy_kinds(struct arena *a, const struct api_kind *from, size_t n)
{
	struct api_kind *to = arena_array(a, struct api_kind, n);

	for (size_t i = 0; i < n; i++)
		to[i] = (struct api_kind){arena_span(a, from[i].api_version),
					  arena_span(a, from[i].kind)};
	return to;
}

static void copy_spec(struct arena *a, const struct cluster_spec *from, struct cluster_spec *to)
{
	*to = *from;
	to->name = arena_span(a, from->name);
	to->labels = copy_labels(a, from->labels, from->n_labels);
	to->provider = arena_span(a, from->provider);
	to->region = arena_span(a, from->region);
	to->zones = copy_spans(a, from->zones, from->n_zones);
	to->taints = copy_taints(a, from->taints, from->n_taints);
	to->kinds = copy_kinds(a, from->kinds, from->n_kinds);
}

/* ---- whether anything that matters is new ---- */

static bool labels_eq(const struct label *a, const struct label *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!span_eq(a[i].key, b[i].key) || !span_eq(a[i].value, b[i].value))
			return false;
	return true;
}

static bool taints_eq(const struct taint *a, const struct taint *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!span_eq(a[i].key, b[i].key) || !span_eq(a[i].value, b[i].value) ||
		    a[i].effect != b[i].effect)
			return false;
	return true;
}

static bool kinds_eq(const struct api_kind *a, const struct api_kind *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!span_eq(a[i].kind, b[i].kind) || !span_eq(a[i].api_version, b[i].api_version))
			return false;
	return true;
}

static bool zones_eq(const struct span *a, const struct span *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!span_eq(a[i], b[i]))
			return false;
	return true;
}

/* Since-whens aside: they are for people, and decide nothing. */
static bool spec_eq(const struct cluster_spec *a, const struct cluster_spec *b)
{
	return a->ready == b->ready && a->fresh == b->fresh && a->cordoned == b->cordoned &&
	       a->sum_of_free == b->sum_of_free && span_eq(a->provider, b->provider) &&
	       span_eq(a->region, b->region) && a->n_labels == b->n_labels &&
	       a->n_zones == b->n_zones && a->n_taints == b->n_taints && a->n_kinds == b->n_kinds &&
	       labels_eq(a->labels, b->labels, a->n_labels) &&
	       zones_eq(a->zones, b->zones, a->n_zones) &&
	       taints_eq(a->taints, b->taints, a->n_taints) &&
	       kinds_eq(a->kinds, b->kinds, a->n_kinds);
}

/* ---- the roster ---- */

static void rank_clusters(struct fleet *f)
{
	for (uint32_t i = 0; i < f->n_used; i++)
		f->hot[f->by_name[i]].rank = i;
	f->roster_version = ++f->version;
}

static void roster_add(struct fleet *f, uint32_t cluster)
{
	struct span name = f->clusters[cluster].spec.name;
	uint32_t at = f->n_used++;

	while (at > 0 && span_cmp(f->clusters[f->by_name[at - 1]].spec.name, name) > 0) {
		f->by_name[at] = f->by_name[at - 1];
		at--;
	}
	f->by_name[at] = cluster;
	rank_clusters(f);
}

static void roster_remove(struct fleet *f, uint32_t cluster)
{
	uint32_t at = f->hot[cluster].rank;

	f->n_used--;
	memmove(f->by_name + at, f->by_name + at + 1, (f->n_used - at) * sizeof(*f->by_name));
	rank_clusters(f);
}

static void grow(struct fleet *f)
{
	uint32_t cap = f->cap_clusters ? f->cap_clusters * 2 : 8;
	size_t holes = (size_t)cap * f->cap_lanes * LEVELS;

	f->clusters = xrealloc(f->clusters, cap * sizeof(*f->clusters));
	f->hot = xrealloc(f->hot, cap * sizeof(*f->hot));
	f->by_name = xrealloc(f->by_name, cap * sizeof(*f->by_name));
	if (f->cap_lanes)
		f->holes = xrealloc(f->holes, holes * sizeof(*f->holes));
	f->cap_clusters = cap;
}

static uint32_t take_slot(struct fleet *f)
{
	uint32_t c = 0;

	while (c < f->n_clusters && f->clusters[c].used)
		c++;
	if (c == f->cap_clusters)
		grow(f);
	if (c == f->n_clusters)
		f->n_clusters++;
	f->clusters[c] = (struct cluster){.used = true, .free_node = NODE_NONE};
	f->hot[c] = (struct cluster_hot){.prev = CLUSTER_NONE, .next = f->first_changed};
	if (f->first_changed != CLUSTER_NONE)
		f->hot[f->first_changed].prev = c;
	else
		f->last_changed = c;
	f->first_changed = c;
	if (f->cap_lanes)
		memset(fleet_holes(f, c, 0), 0, f->cap_lanes * LEVELS * sizeof(*f->holes));
	return c;
}

static int check_spec(const struct cluster_spec *s, struct err *reterr)
{
	const struct {
		const char *field;
		size_t n, max;
	} limit[] = {
	    {"metadata.labels", s->n_labels, CLUSTER_VIEW_MAX_LABELS},
	    {"spec.zones", s->n_zones, CLUSTER_VIEW_MAX_LABELS},
	    {"spec.taints", s->n_taints, CLUSTER_VIEW_MAX_TAINTS},
	    {"status.apiEnablements", s->n_kinds, CLUSTER_VIEW_MAX_KINDS},
	};

	if (s->name.len == 0)
		return err_set_field(reterr, ERR_INVALID, "metadata.name", "must not be empty");
	for (size_t i = 0; i < ARRAY_LEN(limit); i++)
		if (limit[i].n > limit[i].max)
			return err_set_field(reterr, ERR_TOO_LARGE, limit[i].field,
					     "has %zu entries, at most %zu are counted", limit[i].n,
					     limit[i].max);
	return 0;
}

int cluster_view_upsert(struct fleet *f, const struct cluster_spec *spec, uint32_t *ret_cluster,
			struct err *reterr)
{
	int r = check_spec(spec, reterr);

	if (r < 0)
		return r;
	uint32_t c = cluster_view_find(f, spec->name);
	bool fresh = c == CLUSTER_NONE;
	if (fresh && f->n_used >= CLUSTER_VIEW_MAX_CLUSTERS)
		return err_set(reterr, ERR_TOO_LARGE, "cluster %.*s is one too many: at most %d",
			       SPAN_ARGS(spec->name), CLUSTER_VIEW_MAX_CLUSTERS);
	if (fresh)
		c = take_slot(f);
	struct cluster *k = &f->clusters[c];
	*ret_cluster = c;
	if (!fresh && spec_eq(&k->spec, spec)) {
		k->spec.ready_since_us = spec->ready_since_us;
		k->spec.fresh_since_us = spec->fresh_since_us;
		return 0;
	}
	struct arena old = k->arena;
	k->arena = ARENA_INIT;
	/* The given spec may be the one we hold, so it is copied before the old one goes. */
	copy_spec(&k->arena, spec, &k->spec);
	arena_done(&old);
	if (fresh) {
		map_put(&f->cluster_ids, k->spec.name, (void *)(uintptr_t)(c + 1));
		roster_add(f, c);
	}
	fleet_touch(f, c, true);
	return 0;
}

void cluster_view_remove(struct fleet *f, uint32_t cluster)
{
	struct cluster *k = &f->clusters[cluster];

	for (uint32_t n = 0; n < k->n_nodes; n++)
		if (k->spots[n].state != STATE_NONE)
			cluster_nodes_drop(f, cluster, n);
	map_remove(&f->cluster_ids, k->spec.name);
	roster_remove(f, cluster);
	struct cluster_hot *h = &f->hot[cluster];
	*(h->prev != CLUSTER_NONE ? &f->hot[h->prev].next : &f->first_changed) = h->next;
	*(h->next != CLUSTER_NONE ? &f->hot[h->next].prev : &f->last_changed) = h->prev;
	for (size_t i = 0; k->pending && i < f->pending.len; i++)
		if (f->pending.items[i] == cluster) {
			f->pending.items[i] = f->pending.items[--f->pending.len];
			break;
		}
	free(k->nodes);
	free(k->spots);
	free(k->allocatable);
	map_done(&k->by_name);
	free(k->groups);
	free(k->slots);
	arena_done(&k->arena);
	*k = (struct cluster){0};
}

uint32_t cluster_view_find(const struct fleet *f, struct span name)
{
	uintptr_t at = (uintptr_t)map_get(&f->cluster_ids, name);
	return at ? (uint32_t)at - 1 : CLUSTER_NONE;
}

void cluster_view_set_health(struct fleet *f, uint32_t cluster, bool ready, bool fresh,
			     int64_t now_us)
{
	struct cluster_spec *s = &f->clusters[cluster].spec;

	if (s->ready == ready && s->fresh == fresh)
		return;
	if (s->ready != ready)
		s->ready_since_us = now_us;
	if (s->fresh != fresh)
		s->fresh_since_us = now_us;
	s->ready = ready;
	s->fresh = fresh;
	fleet_touch(f, cluster, true);
}

void cluster_view_set_cordoned(struct fleet *f, uint32_t cluster, bool cordoned)
{
	if (f->clusters[cluster].spec.cordoned == cordoned)
		return;
	f->clusters[cluster].spec.cordoned = cordoned;
	fleet_touch(f, cluster, true);
}

const struct cluster_spec *cluster_view_spec(const struct fleet *f, uint32_t cluster)
{
	return cluster < f->n_clusters && f->clusters[cluster].used ? &f->clusters[cluster].spec
								    : NULL;
}

uint32_t cluster_view_by_name(const struct fleet *f, uint32_t i)
{
	return i < f->n_used ? f->by_name[i] : CLUSTER_NONE;
}

uint32_t cluster_view_count(const struct fleet *f)
{
	return f->n_used;
}

uint64_t fleet_version(const struct fleet *f)
{
	return f->version;
}

uint64_t cluster_view_version(const struct fleet *f, uint32_t cluster)
{
	return f->hot[cluster].version;
}

/* ---- sums ---- */

void cluster_view_totals(const struct fleet *f, uint32_t cluster, uint32_t resource,
			 struct cluster_totals *ret)
{
	const struct cluster *k = &f->clusters[cluster];

	*ret = (struct cluster_totals){0};
	if (resource >= f->stride)
		return;
	ret->allocatable = k->allocatable_sum[resource];
	ret->assumed = k->assumed_sum[resource];
	/* What is assumed on a node was taken from its free amounts; what is on no node was not,
	 * and nodes that take no pods now are not in the sum. */
	int64_t taken = ret->assumed - k->unplaced_sum[resource];
	if (taken && k->by_name.len > k->n_usable)
		taken -= ledger_stranded(f->ledger, cluster, resource);
	ret->requested = k->used_sum[resource] - taken;
	ret->free = k->free_sum[resource];
	for (uint32_t g = 0; g < k->n_groups; g++) {
		uint32_t state = k->groups[g].state;
		if (f->classes[f->states[state].node_class].usable &&
		    node_state_free(f, state)[resource] > ret->largest)
			ret->largest = node_state_free(f, state)[resource];
	}
}

void cluster_view_node_counts(const struct fleet *f, uint32_t cluster, uint32_t *ret_total,
			      uint32_t *ret_usable)
{
	*ret_total = f->clusters[cluster].n_known;
	*ret_usable = f->clusters[cluster].n_usable;
}

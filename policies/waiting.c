/*
 * Parked asks wait on the lane of their largest kind of pod, sorted by how many they need. When a
 * cluster got more of something, each lane with waiters is one sum of 16 numbers: how many pods
 * fit there now; only asks that need no more than that are looked at. Asks of several kinds of
 * pods, or with an exclusive topology, are packed before they are woken, so that they do not wake
 * for nothing at every release.
 */
#include "policies/waiting.h"

#include "policies/holes.h"
#include "policies/placement_score.h"

struct lane_queue {
	struct VEC(struct ask *) asks; /* fewest pods of the lane first */
};

struct waiting {
	struct placer *p;
	struct lane_queue lanes[LANES_MAX + 1]; /* the last: asks without a lane */
	struct VEC(uint32_t) used;		/* lanes with waiters, in no order */
	struct VEC(struct ask *) woken;		/* latest parked first; taken from the end */
	size_t n_parked;
	uint64_t clock;
};

struct waiting *waiting_create(struct placer *p)
{
	struct waiting *w = xcalloc(1, sizeof(*w));

	w->p = p;
	return w;
}

struct waiting *waiting_destroy(struct waiting *w)
{
	if (!w)
		return NULL;
	for (uint32_t i = 0; i <= LANES_MAX; i++) {
		vec_foreach (&w->lanes[i].asks, a)
			(*a)->parked = (*a)->woken = false;
		vec_done(&w->lanes[i].asks);
	}
	vec_done(&w->used);
	vec_done(&w->woken);
	free(w);
	return NULL;
}

static int64_t pods_needed(const struct ask *a)
{
	return a->shape->n_parts ? a->shape->parts[0].count : 0;
}

void waiting_park(struct waiting *w, struct ask *a)
{
	if (a->parked)
		return;
	bool by_sum = a->placement.sum_of_free || !a->shape->n_parts;
	a->lane = a->tracked && !by_sum ? a->shape->parts[0].row->lane : LANES_MAX;
	a->parked = true;
	a->woken = false;
	a->parked_at = ++w->clock;
	struct lane_queue *q = &w->lanes[a->lane];
	if (q->asks.len == 0)
		vec_push(&w->used, a->lane);
	vec_push(&q->asks, a);
	size_t at = q->asks.len - 1;
	for (; at > 0 && pods_needed(q->asks.items[at - 1]) > pods_needed(a); at--)
		q->asks.items[at] = q->asks.items[at - 1];
	q->asks.items[at] = a;
	w->n_parked++;
}

void waiting_unpark(struct waiting *w, struct ask *a)
{
	if (!a->parked)
		return;
	struct lane_queue *q = &w->lanes[a->lane];
	size_t at = 0;
	while (q->asks.items[at] != a)
		at++;
	q->asks.len--;
	memmove(q->asks.items + at, q->asks.items + at + 1,
		(q->asks.len - at) * sizeof(*q->asks.items));
	for (size_t i = 0; q->asks.len == 0 && i < w->used.len; i++)
		if (w->used.items[i] == a->lane) {
			w->used.items[i] = w->used.items[--w->used.len];
			break;
		}
	for (size_t i = 0; a->woken && i < w->woken.len; i++)
		if (w->woken.items[i] == a) {
			w->woken.len--;
			memmove(w->woken.items + i, w->woken.items + i + 1,
				(w->woken.len - i) * sizeof(*w->woken.items));
			break;
		}
	a->parked = a->woken = false;
	w->n_parked--;
}

bool waiting_is_parked(const struct waiting *w, const struct ask *a)
{
	return a->parked;
}

size_t waiting_count(const struct waiting *w)
{
	return w->n_parked;
}

/* ---- waking ---- */

static bool could_help(struct waiting *w, const struct ask *a, uint32_t cluster)
{
	struct fleet *f = w->p->f;
	enum fit_mode mode = placement_mode(f, a, cluster);
	struct fit_result fit;
	uint32_t group;

	if (!fit_could(f, cluster, a->shape, mode) ||
	    placement_candidate(f, a, cluster, &group) != VERDICT_FITS)
		return false;
	if (mode == FIT_SUM ||
	    (a->shape->n_parts <= 1 && !a->shape->exclusive && !a->shape->leveled))
		return true;
	return fit_gang(f, cluster, a->shape, mode, &fit);
}

static void wake_lane(struct waiting *w, uint32_t lane, uint32_t cluster, uint64_t freed, bool all)
{
	struct fleet *f = w->p->f;
	struct lane_queue *q = &w->lanes[lane];
	int64_t fits = INT64_MAX;

	/* Totals and other kinds of change are outside of what lanes count. */
	if (lane < LANES_MAX && !all)
		fits = holes_sum(fleet_holes(f, cluster, lane));
	for (size_t i = 0; i < q->asks.len && pods_needed(q->asks.items[i]) <= fits; i++) {
		struct ask *a = q->asks.items[i];
		if (a->woken || (!all && !(a->shape->mask & freed)) || !could_help(w, a, cluster))
			continue;
		a->woken = true;
		vec_push(&w->woken, a);
	}
}

static int cmp_parked(const void *a, const void *b)
{
	const struct ask *x = *(struct ask *const *)a, *y = *(struct ask *const *)b;
	return (x->parked_at < y->parked_at) - (x->parked_at > y->parked_at);
}

static void look_at_changes(struct waiting *w)
{
	struct fleet *f = w->p->f;
	size_t before = w->woken.len;

	for (size_t i = 0; i < f->pending.len; i++) {
		uint32_t c = f->pending.items[i];
		struct cluster *k = &f->clusters[c];
		bool all = k->changed || k->spec.sum_of_free;
		for (size_t l = 0; l < w->used.len; l++)
			wake_lane(w, w->used.items[l], c, k->freed, all);
		k->freed = 0;
		k->changed = k->pending = false;
	}
	vec_clear(&f->pending);
	if (w->woken.len > before)
		qsort(w->woken.items, w->woken.len, sizeof(*w->woken.items), cmp_parked);
}

struct ask *waiting_next(struct waiting *w)
{
	if (w->p->f->pending.len)
		look_at_changes(w);
	if (w->woken.len == 0)
		return NULL;
	struct ask *a = w->woken.items[w->woken.len - 1];
	waiting_unpark(w, a);
	return a;
}

#include "policies/reservation.h"
#include "base/num.h"
#include <stdlib.h>

/* A better cluster is taken only when its wait is less than 3/4 of the wait at the held one. */
#define BETTER_NUM 3
#define BETTER_DEN 4

static int cmp_end(const void *a, const void *b)
{
	const struct reservation_job *x = a, *y = b;
	if (x->ends_us != y->ends_us)
		return x->ends_us < y->ends_us ? -1 : 1;
	return (x->pods.number > y->pods.number) - (x->pods.number < y->pods.number);
}

void reservation_sort(struct reservation_job *jobs, size_t n)
{
	if (n)
		qsort(jobs, n, sizeof(*jobs), cmp_end);
}

int64_t reservation_shadow(struct evict_fit *trial, struct fleet *f, struct ledger *l,
			   struct ask *ask, const struct reservation_cluster *c, int64_t now_us)
{
	int64_t shadow = now_us;
	bool taken = false; /* since the last look */
	if (!evict_fit_begin(trial, f, l, ask, c->cluster))
		return RESERVATION_NEVER;
	bool fits = evict_fit_fits(trial);
	for (size_t i = 0; !fits && i < c->n_jobs; i++) {
		const struct reservation_job *j = &c->jobs[i];
		if (j->ends_us == RESERVATION_NEVER)
			break;
		if (taken && j->ends_us > shadow) {
			fits = evict_fit_fits(trial);
			taken = false;
			if (fits)
				break;
		}
		if (!evict_fit_useful(trial, &j->pods))
			continue;
		evict_fit_take(trial, &j->pods);
		shadow = num_max(shadow, j->ends_us);
		taken = true;
	}
	if (taken)
		fits = evict_fit_fits(trial);
	evict_fit_end(trial);
	return fits ? shadow : RESERVATION_NEVER;
}

static bool is_much_earlier(int64_t shadow, int64_t held, int64_t now_us)
{
	if (shadow == RESERVATION_NEVER)
		return false;
	if (held == RESERVATION_NEVER)
		return true;
	return (shadow - now_us) / BETTER_NUM < (held - now_us) / BETTER_DEN;
}

struct reservation reservation_choose(struct evict_fit *trial, struct fleet *f, struct ledger *l,
				      struct ask *ask, const struct reservation_cluster *clusters,
				      size_t n_clusters, const struct reservation *held,
				      int64_t now_us)
{
	struct reservation best = {CLUSTER_NONE, RESERVATION_NEVER};
	int64_t stays = RESERVATION_NEVER;
	for (size_t i = 0; i < n_clusters; i++) {
		int64_t shadow = reservation_shadow(trial, f, l, ask, &clusters[i], now_us);
		if (clusters[i].cluster == held->cluster)
			stays = shadow;
		if (shadow < best.shadow_us)
			best = (struct reservation){clusters[i].cluster, shadow};
	}
	if (stays == RESERVATION_NEVER || is_much_earlier(best.shadow_us, stays, now_us))
		return best;
	return (struct reservation){held->cluster, stays};
}

bool reservation_allows(const struct reservation *r, int64_t now_us, int64_t limit_us)
{
	return limit_us != RESERVATION_NEVER && num_add_sat(now_us, limit_us) <= r->shadow_us;
}

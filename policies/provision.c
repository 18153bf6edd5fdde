#include "policies/provision.h"
#include <assert.h>

#define US_PER_S ((int64_t)1000000)

struct provision_options provision_options_default(void)
{
	return (struct provision_options){
	    .parallel = 1,
	    .patience_us = 600 * US_PER_S,
	    .discovery_us = 60 * US_PER_S,
	    .backoff_limit = 3,
	    .backoff_base_us = 60 * US_PER_S,
	    .backoff_max_us = 1800 * US_PER_S,
	};
}

int64_t provision_backoff(const struct provision_options *o, int32_t attempt)
{
	int64_t wait = o->backoff_base_us;
	for (int32_t i = 1; i < attempt && wait < o->backoff_max_us; i++)
		wait = wait > o->backoff_max_us / 2 ? o->backoff_max_us : wait * 2;
	return wait < o->backoff_max_us ? wait : o->backoff_max_us;
}

enum provision_phase provision_phase_join(enum provision_phase a, enum provision_phase b)
{
	enum provision_phase low = a < b ? a : b, high = a < b ? b : a;

	if (high < PROVISION_FAILED)
		return low;
	/* Revoked capacity is the one end that matters to who runs. */
	return low == PROVISION_CAPACITY_REVOKED ? low : high;
}

static bool is_live(const struct provision_try *t)
{
	return t->phase < PROVISION_FAILED;
}

static const struct provision_try *find(const struct provision_view *v, uint32_t cluster)
{
	for (size_t i = 0; i < v->n_tries; i++)
		if (v->tries[i].cluster == cluster)
			return &v->tries[i];
	return NULL;
}

/* The first candidate, from *at on, that this attempt has not asked. */
static bool next_untried(const struct provision_view *v, size_t *at, uint32_t *ret)
{
	for (; *at < v->n_candidates; ++*at) {
		if (!find(v, v->candidates[*at])) {
			*ret = v->candidates[(*at)++];
			return true;
		}
	}
	return false;
}

static const struct provision_try *provisioned(const struct provision_view *v)
{
	for (size_t i = 0; i < v->n_candidates; i++) {
		const struct provision_try *t = find(v, v->candidates[i]);
		if (t && t->phase == PROVISION_PROVISIONED)
			return t;
	}
	/* one that is no candidate any more has nodes all the same */
	for (size_t i = 0; i < v->n_tries; i++)
		if (v->tries[i].phase == PROVISION_PROVISIONED)
			return &v->tries[i];
	return NULL;
}

static void settle_on(const struct provision_view *v, const struct provision_try *won,
		      struct provision_plan *ret)
{
	ret->verdict = PROVISION_READY;
	ret->cluster = won->cluster;
	for (size_t i = 0; i < v->n_tries; i++)
		if (&v->tries[i] != won && is_live(&v->tries[i]))
			ret->cancel[ret->n_cancel++] = v->tries[i].cluster;
}

/* When a request is given up while somebody else could be asked in its place. */
static int64_t late_at(const struct provision_view *v, const struct provision_try *t)
{
	int64_t wait = v->options->patience_us, discovery = v->options->discovery_us;

	if (t->phase == PROVISION_PENDING && discovery && (!wait || discovery < wait))
		wait = discovery;
	return wait && t->since_us <= INT64_MAX - wait ? t->since_us + wait : INT64_MAX;
}

static void go_on(const struct provision_view *v, struct provision_plan *ret)
{
	size_t live = 0, at = 0;
	uint32_t cluster;
	for (size_t i = 0; i < v->n_tries; i++)
		live += is_live(&v->tries[i]);
	while (live < v->options->parallel && next_untried(v, &at, &cluster)) {
		ret->create[ret->n_create++] = cluster;
		live++;
	}
	for (size_t i = 0; i < v->n_tries; i++) {
		const struct provision_try *t = &v->tries[i];
		if (!is_live(t))
			continue;
		int64_t late = late_at(v, t);
		if (v->now_us < late) {
			if (late < ret->again_us)
				ret->again_us = late;
			continue;
		}
		if (!next_untried(v, &at, &cluster))
			continue;
		ret->cancel[ret->n_cancel++] = t->cluster;
		ret->create[ret->n_create++] = cluster;
	}
	if (ret->n_create) {
		const struct provision_try fresh = {.since_us = v->now_us};
		int64_t late = late_at(v, &fresh);
		ret->again_us = late < ret->again_us ? late : ret->again_us;
	}
	if (live || ret->n_create || !v->n_tries || v->more)
		return;
	ret->verdict = v->attempt > v->options->backoff_limit ? PROVISION_REJECT : PROVISION_RETRY;
	if (ret->verdict == PROVISION_RETRY)
		ret->retry_after_us = provision_backoff(v->options, v->attempt);
}

void provision_decide(const struct provision_view *v, struct provision_plan *ret)
{
	assert(v->options->parallel && v->n_candidates <= PROVISION_MAX_CLUSTERS &&
	       v->n_tries <= PROVISION_MAX_CLUSTERS);
	ret->verdict = PROVISION_WAIT;
	ret->cluster = 0;
	ret->retry_after_us = 0;
	ret->again_us = INT64_MAX;
	ret->n_create = ret->n_cancel = 0;
	for (size_t i = 0; i < v->n_tries; i++) {
		if (v->tries[i].phase == PROVISION_CAPACITY_REVOKED && v->admitted) {
			ret->verdict = PROVISION_REJECT;
			return;
		}
	}
	const struct provision_try *won = provisioned(v);
	if (won)
		settle_on(v, won, ret);
	else if (v->admitted)
		ret->verdict = PROVISION_READY; /* its booking may well have expired since */
	else
		go_on(v, ret);
}

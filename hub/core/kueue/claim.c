#include "core/kueue/claim.h"

#include "core/job.h"
#include "core/swap/swap_hold.h"

void claim_take(struct core *c, struct workload *w, uint32_t cluster, const struct fit_slot *slots,
		size_t n_slots)
{
	struct err err = ERR_INIT;

	(void)swap_hold_lift(c, w->job); /* the same room would be asked for twice */
	if (ledger_claim(c->ledger, w->job->number, w->job->shape, cluster, slots, n_slots, &err) <
	    0) {
		claim_drop(c, w);
		swap_hold_back(c, w->job);
		return;
	}
	if (!w->claims)
		vec_push(&c->kueue->claims, w);
	w->claims = true;
}

void claim_drop(struct core *c, struct workload *w)
{
	struct kueue *k = c->kueue;

	if (!w->claims)
		return;
	w->claims = false;
	for (size_t i = 0; i < k->claims.len; i++)
		if (k->claims.items[i] == w)
			k->claims.items[i] = k->claims.items[--k->claims.len];
	(void)ledger_drop(c->ledger, w->job->number);
	swap_hold_back(c, w->job);
	c->pump_wanted = true;
}

void claim_lift(struct core *c, const struct workload *w, struct evict_fit *trial,
		struct evict_job *job)
{
	*job = (struct evict_job){.number = w->job->number};
	if (w->claims && ledger_cluster(c->ledger, job->number) == trial->cluster)
		evict_fit_take(trial, job);
}

bool claim_fits(struct core *c, const struct workload *w)
{
	uint32_t cluster = ledger_cluster(c->ledger, w->job->number);
	struct evict_fit trial = {0};
	struct evict_job own;
	bool fits = false;

	if (w->claims && cluster != CLUSTER_NONE &&
	    evict_fit_begin(&trial, c->fleet, c->ledger, w->job->ask, cluster)) {
		claim_lift(c, w, &trial, &own);
		fits = evict_fit_fits(&trial);
		evict_fit_end(&trial);
	}
	evict_fit_done(&trial);
	return fits;
}

void claim_sweep(struct core *c)
{
	struct kueue *k = c->kueue;

	for (size_t i = 0; i < k->claims.len;) {
		struct workload *w = k->claims.items[i];
		if (w->unit && w->unit->preemptor)
			i++;
		else
			claim_drop(c, w);
	}
}

void claim_leave(struct core *c, uint32_t cluster)
{
	struct kueue *k = c->kueue;

	for (size_t i = 0; k && i < k->claims.len;) {
		struct workload *w = k->claims.items[i];
		if (ledger_cluster(c->ledger, w->job->number) == cluster)
			claim_drop(c, w);
		else
			i++;
	}
}

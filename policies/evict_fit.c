#include "policies/evict_fit.h"

#include <assert.h>

#include "base/num.h"
#include "policies/fleet.h"
#include "policies/ledger_private.h"
#include "policies/placement_score.h"
#include "policies/row.h"

/*
 * The fleet is told that a trial runs (fleet.trial): then moves of nodes are not changes, and
 * nodes without pods keep their numbers. What the moves write beside the nodes themselves (the
 * resources that were freed, the cached load) is put back at the end.
 */

bool evict_fit_begin(struct evict_fit *t, struct fleet *f, struct ledger *l, struct ask *ask,
		     uint32_t cluster)
{
	assert(!f->trial);
	if (!cluster_view_spec(f, cluster) ||
	    placement_candidate(f, ask, cluster, &t->group) != VERDICT_FITS)
		return false;
	fleet_widen(f);
	t->f = f;
	t->l = l;
	t->ask = ask;
	t->cluster = cluster;
	t->freed = f->clusters[cluster].freed;
	t->result = (struct fit_result){0};
	vec_clear(&t->taken);
	f->trial = true;
	return true;
}

void evict_fit_end(struct evict_fit *t)
{
	while (t->taken.len)
		evict_fit_give_back(t, t->taken.items[t->taken.len - 1]);
	t->f->clusters[t->cluster].freed = t->freed;
	t->f->hot[t->cluster].load_version = 0;
	t->f->trial = false;
	t->result = (struct fit_result){0};
}

void evict_fit_done(struct evict_fit *t)
{
	vec_done(&t->taken);
}

/* ---- what would help ---- */

static const struct node_class *class_of(const struct evict_fit *t, uint32_t node)
{
	const struct cluster *k = &t->f->clusters[t->cluster];
	return &t->f->classes[t->f->states[k->spots[node].state].node_class];
}

static bool slots_are_short(const struct evict_fit *t, uint32_t node)
{
	return cluster_view_node_free(t->f, t->cluster, node, RESOURCE_PODS) <= 0;
}

/* Whether pods that hold these resources on the node stand where some pod of the gang could. */
static bool helps(const struct evict_fit *t, uint32_t node, uint64_t held, bool exclusive)
{
	const struct shape *s = t->ask->shape;
	const uint64_t slot = (uint64_t)1 << RESOURCE_PODS;

	if (placement_mode(t->f, t->ask, t->cluster) == FIT_SUM)
		return (held & s->mask & ~slot) != 0;
	for (uint32_t i = 0; i < s->n_parts; i++) {
		const struct row *r = s->parts[i].row;
		if (!row_accepts(r, class_of(t, node)))
			continue;
		if ((held & r->mask & ~slot) || (exclusive && s->exclusive) ||
		    slots_are_short(t, node))
			return true;
	}
	return false;
}

static uint64_t mask_of(const struct pod_usage *usage)
{
	uint64_t mask = 0;
	for (size_t i = 0; i < usage->n_requests; i++)
		if (usage->requests[i].value > 0)
			mask |= (uint64_t)1 << usage->requests[i].resource;
	return mask;
}

static bool assumed_helps(const struct evict_fit *t, uint64_t number)
{
	const struct entry *e = ledger_entry(t->l, number);

	if (!e || e->cluster != t->cluster)
		return false;
	for (uint32_t i = 0; i < e->n_slots; i++) {
		const struct fit_slot *s = &e->slots[i];
		const struct row *r = e->shape->parts[e->shape->part_of_set[s->set]].row;
		if (s->count && helps(t, s->node, r->mask, e->shape->exclusive))
			return true;
	}
	for (uint32_t i = 0; e->unplaced && i < e->shape->spec.n_sets; i++)
		if (e->unplaced[i] && (e->shape->mask & t->ask->shape->mask))
			return true;
	return false;
}

bool evict_fit_useful(const struct evict_fit *t, const struct evict_job *job)
{
	for (size_t i = 0; i < job->n_pods; i++) {
		const struct evict_pods *p = &job->pods[i];
		if (p->count && helps(t, p->node, mask_of(p->usage), p->usage->exclusive))
			return true;
	}
	return assumed_helps(t, job->number);
}

/* ---- taking and giving back ---- */

void evict_fit_take(struct evict_fit *t, const struct evict_job *job)
{
	for (size_t i = 0; i < job->n_pods; i++)
		for (uint32_t k = 0; k < job->pods[i].count; k++)
			cluster_view_pod_release(t->f, t->cluster, job->pods[i].node,
						 job->pods[i].usage);
	if (ledger_cluster(t->l, job->number) == t->cluster)
		ledger_charge_all(t->l, job->number, -1);
	vec_push(&t->taken, job);
}

void evict_fit_give_back(struct evict_fit *t, const struct evict_job *job)
{
	size_t at = t->taken.len;
	while (at && t->taken.items[at - 1] != job)
		at--;
	assert(at);
	t->taken.items[at - 1] = t->taken.items[--t->taken.len];
	for (size_t i = 0; i < job->n_pods; i++)
		for (uint32_t k = 0; k < job->pods[i].count; k++)
			cluster_view_pod_charge(t->f, t->cluster, job->pods[i].node,
						job->pods[i].usage);
	if (ledger_cluster(t->l, job->number) == t->cluster)
		ledger_charge_all(t->l, job->number, 1);
}

bool evict_fit_fits(struct evict_fit *t)
{
	return fit_gang(t->f, t->cluster, t->ask->shape, placement_mode(t->f, t->ask, t->cluster),
			&t->result);
}

const struct fit_result *evict_fit_result(const struct evict_fit *t)
{
	return &t->result;
}

uint64_t evict_fit_score(struct evict_fit *t)
{
	t->f->hot[t->cluster].load_version = 0;
	return placement_score(t->f, t->ask, t->cluster, t->group, true);
}

/* ---- between members ---- */

int64_t evict_lost_work(int64_t pods, int64_t started_us, int64_t now_us)
{
	return now_us > started_us ? num_mul_sat(pods, num_sub_sat(now_us, started_us)) : 0;
}

int evict_option_cmp(const struct evict_option *a, const struct evict_option *b)
{
	if (a->n_victims != b->n_victims)
		return a->n_victims < b->n_victims ? -1 : 1;
	if (a->lost_us != b->lost_us)
		return a->lost_us < b->lost_us ? -1 : 1;
	/* The last bits of a score are the rank of the member's name. */
	return (a->score > b->score) - (a->score < b->score);
}

size_t evict_option_choose(const struct evict_option *options, size_t n)
{
	size_t best = 0;
	for (size_t i = 1; i < n; i++)
		if (evict_option_cmp(&options[i], &options[best]) < 0)
			best = i;
	return best;
}

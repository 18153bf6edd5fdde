/*
 * Waking only what could be helped gives what waking everything gives. Random cohorts, policies,
 * flavors, pod sets and placements; random arrivals, ends, evictions, holds, priorities and edits,
 * told to three sets of queues:
 *
 *	index	as they are, rounds until nobody moves
 *	all	the same, but after every release everything of the tree is tried again
 *	pace	one head of every queue in a cycle, as Kueue, cycles until none has anything to do
 *
 * After every step the three must have admitted and evicted the same workloads in the same order,
 * nobody may hold more than its limits, and every queue must be as kueue_queues_check() says.
 */
#include "kueue_world.h"

enum { WORLDS = 3, QUEUES = 6, JOBS = 90, STEPS = 260, RUNS = 30 };
enum { INDEX = 0, ALL, PACE };

struct job {
	char name[12];
	struct kueue_workload *w[WORLDS]; /* NULL: the place is free */
	uint32_t queue;
};

struct model {
	uint64_t rng;
	struct world worlds[WORLDS];
	uint32_t queues[QUEUES];
	size_t n_queues;
	struct kueue_quota quotas[QUEUES][4]; /* flavor x resource */
	size_t n_flavors, n_resources, most_sets;
	bool edited[QUEUES]; /* its limits came down: it may be above them */
	bool strict[QUEUES];
	bool local_fair; /* AdmissionFairSharing */
	struct kueue_preemption policies[QUEUES];
	struct job jobs[JOBS];
	int64_t clock;
	uint32_t mood; /* what placement refuses now */
	/* what the runs saw, so that they cannot be green for want of cases */
	size_t admitted, evicted, parked, refused;
};

static const struct span resource_names[] = {SPAN("cpu"), SPAN("gpu")};
static const struct span flavor_names[] = {SPAN("default"), SPAN("two")};

static uint32_t below(struct model *m, uint32_t n)
{
	return test_below(&m->rng, n);
}

/* ---- a random cohort tree ---- */

static struct kueue_quota random_quota(struct model *m)
{
	struct kueue_quota q = {below(m, 9), NO, NO};

	if (below(m, 3) == 0)
		q.borrowing = below(m, 6);
	if (below(m, 3) == 0)
		q.lending = below(m, (uint32_t)q.nominal + 1);
	return q;
}

static void set_queue(struct model *m, size_t i)
{
	char name[16], cohort[16] = "";
	const struct kueue_group_spec group = {resource_names, m->n_resources, flavor_names,
					       m->n_flavors, m->quotas[i]};
	struct kueue_queue_spec spec = {.weight = 1, .preemption = m->policies[i]};

	spec.admission_fair_sharing = m->local_fair && i % 2 == 0;
	spec.strategy = m->strict[i] ? KUEUE_STRICT_FIFO : KUEUE_BEST_EFFORT_FIFO;
	spec.when_can_preempt = i % 2 ? KUEUE_TRY_NEXT_FLAVOR : KUEUE_MAY_STOP_SEARCH;
	snprintf(name, sizeof(name), "q%zu", i);
	if (m->n_queues > 1)
		snprintf(cohort, sizeof(cohort), "c%zu", i % 3);
	for (size_t k = 0; k < WORLDS; k++)
		m->queues[i] =
		    kt_queue_of(m->worlds[k].f, name, cohort[0] ? cohort : NULL, &group, 1, &spec);
}

static void set_cohorts(struct model *m)
{
	bool deep = below(m, 2);

	for (size_t i = 0; i < 3; i++) {
		char name[8], parent[8] = "";
		struct kueue_quota quotas[4];
		const struct kueue_group_spec group = {resource_names, m->n_resources, flavor_names,
						       m->n_flavors, quotas};
		struct kueue_cohort_spec spec = {.weight = 1};
		struct err err = ERR_INIT;

		for (size_t k = 0; k < 4; k++)
			quotas[k] = (struct kueue_quota){below(m, 3), NO, NO};
		snprintf(name, sizeof(name), "c%zu", i);
		if (deep && i == 2)
			snprintf(parent, sizeof(parent), "c1");
		else if (deep || i == 1)
			snprintf(parent, sizeof(parent), "root");
		spec.name = span_of(name);
		spec.parent = span_of(parent);
		if (below(m, 2)) {
			spec.groups = &group;
			spec.n_groups = 1;
		}
		for (size_t k = 0; k < WORLDS; k++)
			assert_ok(kueue_forest_set_cohort(m->worlds[k].f, &spec, &err), &err);
	}
}

static void random_policy(struct model *m, struct kueue_preemption *p)
{
	static const enum kueue_preempt_policy within[] = {
	    KUEUE_PREEMPT_NEVER, KUEUE_PREEMPT_LOWER_PRIORITY, KUEUE_PREEMPT_LOWER_OR_NEWER_EQUAL};
	static const enum kueue_preempt_policy reclaim[] = {
	    KUEUE_PREEMPT_NEVER, KUEUE_PREEMPT_LOWER_PRIORITY, KUEUE_PREEMPT_ANY};

	*p = (struct kueue_preemption){.within_cluster_queue = within[below(m, 3)],
				       .reclaim_within_cohort = reclaim[below(m, 3)]};
	if (p->reclaim_within_cohort != KUEUE_PREEMPT_NEVER && below(m, 4) == 0)
		p->borrow_within_cohort = KUEUE_PREEMPT_LOWER_PRIORITY;
}

static void start(struct model *m, uint64_t seed)
{
	struct kueue_options options = kueue_options_default();

	*m = (struct model){.rng = seed};
	options.fair_sharing = below(m, 4) == 0;
	options.equivalence_hashing = below(m, 4) != 0;
	options.recompute_on_overlap = below(m, 4) != 0;
	options.prioritize_preemptors = below(m, 4) == 0;
	m->local_fair = below(m, 5) == 0;
	options.usage_half_life = 40;
	options.usage_sampling_interval = 10;
	m->n_flavors = 1 + below(m, 2);
	m->n_resources = 1 + below(m, 2);
	m->most_sets = 1 + below(m, 2);
	/* Where several searches resume apart, a preemptor and its lack of one can follow each
	 * other for ever, in Kueue too: then "until nobody moves" says nothing. */
	options.flavor_fungibility =
	    m->n_flavors == 1 || (m->n_resources == 1 && m->most_sets == 1);
	for (size_t k = 0; k < WORLDS; k++) {
		options.one_head_per_cycle = k == PACE;
		m->worlds[k] = world_with(options);
		kt_flavor(m->worlds[k].f, "two");
	}
	m->n_queues = below(m, 4) ? QUEUES : 1 + below(m, QUEUES);
	bool all_best_effort = below(m, 2);
	set_cohorts(m);
	for (size_t i = 0; i < m->n_queues; i++) {
		m->strict[i] = !all_best_effort && below(m, 3) == 0;
		random_policy(m, &m->policies[i]);
		for (size_t k = 0; k < 4; k++)
			m->quotas[i][k] = random_quota(m);
		set_queue(m, i);
	}
	for (size_t k = 0; k < WORLDS; k++)
		kueue_queues_edited(m->worlds[k].q, KUEUE_NONE);
}

static void finish(struct model *m)
{
	for (size_t k = 0; k < WORLDS; k++)
		world_done(&m->worlds[k]);
}

/* ---- cycles ---- */

/* Placement says no to some totals in some moods; the same in every world. */
static bool places(const struct model *m, const struct kueue_entry *e)
{
	int64_t sum = 0;

	vec_foreach (&e->assignment.uses, u)
		sum += u->value * (1 + u->flavor);
	return m->mood == 0 || (uint64_t)(sum + m->mood) % 5 != 0;
}

static void one_cycle(struct model *m, struct world *w)
{
	struct kueue_entry *e;

	kueue_cycle_begin(w->q, m->clock);
	while ((e = kueue_cycle_next(w->q))) {
		struct span name = e->workload->name;
		bool goes_on = e->kind != KUEUE_ENTRY_WAITS;

		while (goes_on && !places(m, e)) {
			m->refused++;
			goes_on = kueue_cycle_refuse(w->q, e);
		}
		if (!goes_on)
			continue;
		if (e->kind == KUEUE_ENTRY_FITS) {
			kueue_cycle_admit(w->q, e, false);
			world_tell(w, '+', name);
			m->admitted++;
			continue;
		}
		for (size_t i = 0; i < e->victims.items.len; i++) {
			const struct kueue_workload *v = e->victims.items.items[i].workload;
			if (v->state == KUEUE_EVICTED)
				continue;
			world_tell(w, '!', v->name);
			m->evicted++;
		}
		kueue_cycle_preempt(w->q, e);
	}
}

static void run(struct model *m)
{
	for (size_t k = 0; k < WORLDS; k++) {
		struct world *w = &m->worlds[k];
		int left = 4000;

		w->story[0] = '\0';
		do
			one_cycle(m, w);
		while (kueue_cycle_end(w->q) && --left > 0);
		assert_true(left > 0);
	}
}

/* ---- steps ---- */

static struct job *pick(struct model *m, bool holder)
{
	for (int tries = 0; tries < 30; tries++) {
		struct job *j = &m->jobs[below(m, JOBS)];
		if (j->w[0] && kueue_workload_holds_quota(j->w[0]) == holder)
			return j;
	}
	return NULL;
}

static void add(struct model *m)
{
	struct kueue_request requests[2][2];
	struct kueue_pod_set sets[2];
	size_t n_sets = below(m, 3) ? 1 : m->most_sets, k = 0;
	struct job *j = NULL;

	for (size_t i = 0; i < JOBS && !j; i++)
		j = m->jobs[i].w[0] ? NULL : &m->jobs[i];
	if (!j)
		return;
	for (size_t s = 0; s < n_sets; s++) {
		for (size_t r = 0; r < m->n_resources; r++)
			requests[s][r] =
			    (struct kueue_request){resource_names[r], (int64_t)below(m, 4)};
		sets[s] = (struct kueue_pod_set){.name = s ? SPAN("b") : SPAN("a"),
						 .count = 1 + (int32_t)below(m, 3),
						 .requests = requests[s],
						 .n_requests = m->n_resources};
		if (s == 0 && below(m, 5) == 0)
			sets[s].min_count = 1;
	}
	snprintf(j->name, sizeof(j->name), "%c%u", 'a' + (char)below(m, 26), (unsigned)m->clock);
	j->queue = m->queues[below(m, (uint32_t)m->n_queues)];
	int32_t priority = (int32_t)below(m, 3);
	uint32_t local = below(m, 3);
	for (k = 0; k < WORLDS; k++)
		j->w[k] = world_add_sets_to(&m->worlds[k], j->queue, local, j->name, priority,
					    m->clock, sets, n_sets);
}

static void after_release(struct model *m, uint32_t queue)
{
	kueue_queues_edited(m->worlds[ALL].q, queue);
}

static void end(struct model *m, struct job *j)
{
	bool held = kueue_workload_holds_quota(j->w[0]);

	for (size_t k = 0; k < WORLDS; k++) {
		kueue_queues_remove(m->worlds[k].q, j->w[k]);
		j->w[k] = NULL;
	}
	if (held)
		after_release(m, j->queue);
}

static void evict_or_release(struct model *m, struct job *j)
{
	bool evicted = j->w[0]->state == KUEUE_EVICTED;

	for (size_t k = 0; k < WORLDS; k++) {
		if (evicted)
			kueue_queues_released(m->worlds[k].q, j->w[k]);
		else
			kueue_queues_evicted(m->worlds[k].q, j->w[k]);
	}
	if (evicted)
		after_release(m, j->queue);
}

static void hold_or_unhold(struct model *m, struct job *j)
{
	bool held = j->w[0]->held, listed = below(m, 2);

	for (size_t k = 0; k < WORLDS; k++) {
		if (held)
			kueue_queues_unhold(m->worlds[k].q, j->w[k]);
		else
			kueue_queues_hold(m->worlds[k].q, j->w[k], listed);
	}
}

static void edit(struct model *m)
{
	size_t i = below(m, (uint32_t)m->n_queues);

	m->quotas[i][below(m, 4)] = random_quota(m);
	memset(m->edited, 1, sizeof(m->edited));
	set_queue(m, i);
	for (size_t k = 0; k < WORLDS; k++)
		kueue_queues_edited(m->worlds[k].q, m->queues[i]);
}

/* The victims that a preemptor waits for end in time. */
static void release_a_victim(struct model *m)
{
	for (size_t i = 0; i < JOBS; i++) {
		struct job *j = &m->jobs[(i + m->clock) % JOBS];
		if (j->w[0] && j->w[0]->state == KUEUE_EVICTED) {
			evict_or_release(m, j);
			return;
		}
	}
}

static void step(struct model *m)
{
	uint32_t what = below(m, 20);
	struct job *j;

	m->clock++;
	for (size_t k = 0; k < WORLDS; k++)
		(void)kueue_queues_sample_usage(m->worlds[k].q, m->clock);
	if (what < 9) {
		add(m);
	} else if (what < 13) {
		if ((j = pick(m, true)))
			end(m, j);
	} else if (what < 16) {
		release_a_victim(m);
	} else if (what == 16 && (j = pick(m, true))) {
		evict_or_release(m, j);
	} else if (what == 17 && (j = pick(m, false))) {
		if (below(m, 2))
			end(m, j);
		else
			hold_or_unhold(m, j);
	} else if (what == 18 && (j = pick(m, below(m, 2)))) {
		int32_t priority = (int32_t)below(m, 3);
		for (size_t k = 0; k < WORLDS; k++)
			kueue_queues_set_priority(m->worlds[k].q, j->w[k], priority);
	} else if (below(m, 3) == 0) {
		edit(m);
	} else {
		m->mood = below(m, 3) ? 0 : 1 + below(m, 5);
		for (size_t k = 0; k < WORLDS; k++)
			kueue_queues_wake_shape(m->worlds[k].q, KUEUE_NONE);
	}
}

/* ---- what must hold ---- */

static void nobody_is_above_its_limit(struct model *m)
{
	struct kueue_forest *f = m->worlds[INDEX].f;

	for (size_t i = 0; i < m->n_queues; i++) {
		for (size_t k = 0; k < m->n_flavors * m->n_resources; k++) {
			uint32_t flavor = kueue_forest_flavor(f, flavor_names[k / m->n_resources]);
			uint32_t resource =
			    kueue_forest_find_resource(f, resource_names[k % m->n_resources]);
			const struct kueue_quota *q = &m->quotas[i][k];
			if (m->edited[i] || q->borrowing == NO || resource == KUEUE_NONE)
				continue;
			assert_true(kueue_forest_usage(f, m->queues[i], flavor, resource) <=
				    q->nominal + q->borrowing);
		}
	}
}

static void compare(struct model *m, uint64_t seed, int at)
{
	for (size_t k = 1; k < WORLDS; k++) {
		if (strcmp(m->worlds[INDEX].story, m->worlds[k].story) != 0)
			fail_msg("seed %llu step %d: index \"%s\", %s \"%s\"",
				 (unsigned long long)seed, at, m->worlds[INDEX].story,
				 k == ALL ? "all" : "pace", m->worlds[k].story);
	}
	for (size_t k = 0; k < WORLDS; k++)
		world_check(&m->worlds[k]);
	for (size_t i = 0; i < JOBS; i++) {
		const struct job *j = &m->jobs[i];
		if (!j->w[0])
			continue;
		m->parked += kueue_queues_state(j->w[0]) == KUEUE_INADMISSIBLE;
		for (size_t k = 1; k < WORLDS; k++) {
			assert_int_equal(j->w[k]->state, j->w[0]->state);
			assert_int_equal(j->w[k]->sticky, j->w[0]->sticky);
		}
	}
	nobody_is_above_its_limit(m);
}

static void waking_what_could_be_helped_equals_waking_all(void **state)
{
	static struct model m;
	uint64_t first = getenv("KUEUE_SEED") ? strtoull(getenv("KUEUE_SEED"), NULL, 10) : 1;
	size_t admitted = 0, evicted = 0, parked = 0, refused = 0;

	for (uint64_t seed = first; seed < first + RUNS; seed++) {
		start(&m, seed);
		for (int i = 0; i < STEPS; i++) {
			step(&m);
			run(&m);
			compare(&m, seed, i);
		}
		admitted += m.admitted;
		evicted += m.evicted;
		parked += m.parked;
		refused += m.refused;
		finish(&m);
	}
	print_message("%zu admitted, %zu evicted, %zu parked, %zu refused\n", admitted, evicted,
		      parked, refused);
	assert_true(admitted > 1000 && evicted > 200 && parked > 1000 && refused > 200);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(waking_what_could_be_helped_equals_waking_all),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

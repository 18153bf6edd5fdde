/*
 * Trees, holders and victims whose numbers are those of Kueue's own table tests
 * (pkg/scheduler/preemption/preemption_hierarchical_test.go and preemption_fair_test.go), restated.
 * cpu is in tenths. All holders got their quota at the same time: the uid, which is the name,
 * breaks ties.
 */
#include "kueue_testing.h"

enum { MAX_NODES = 16, MAX_HOLDERS = 24 };

struct node { /* nominal and lending in tenths; lending 0: no limit; weight 0 with `zero` */
	const char *name, *parent;
	bool queue;
	int nominal, lending;
	double weight; /* 0: 1 */
	bool zero;     /* weight 0 */
};

struct holder {
	const char *name, *queue;
	int cpu, priority;
	bool evicted;
};

struct scenario {
	const char *what;
	struct node nodes[MAX_NODES];
	struct holder holders[MAX_HOLDERS];
	struct kueue_preemption policies; /* of the queue that asks */
	const char *queue;
	int cpu, priority;
	const char *victims; /* by name */
	enum kueue_fair_strategy strategy;
	bool one_strategy;
};

#define QUEUE(name, parent, ...)                                                                   \
	{                                                                                          \
		name, parent, true __VA_OPT__(, ) __VA_ARGS__                                      \
	}
#define COHORT(name, parent, ...)                                                                  \
	{                                                                                          \
		name, parent, false __VA_OPT__(, ) __VA_ARGS__                                     \
	}
#define ANY                                                                                        \
	{                                                                                          \
		.within_cluster_queue = KUEUE_PREEMPT_LOWER_PRIORITY,                              \
		.reclaim_within_cohort = KUEUE_PREEMPT_ANY                                         \
	}
#define RECLAIM_ANY                                                                                \
	{                                                                                          \
		.reclaim_within_cohort = KUEUE_PREEMPT_ANY                                         \
	}
#define BORROWING(reclaim)                                                                         \
	{                                                                                          \
		.within_cluster_queue = KUEUE_PREEMPT_LOWER_PRIORITY,                              \
		.reclaim_within_cohort = (reclaim),                                                \
		.borrow_within_cohort = KUEUE_PREEMPT_LOWER_PRIORITY,                              \
		.has_max_priority_threshold = true                                                 \
	}
#define RECLAIMED ":InCohortReclamation"
#define BORROWED  ":InCohortReclaimWhileBorrowing"
#define OWN	  ":InClusterQueue"
#define SHARED	  ":InCohortFairSharing"

static const struct scenario hierarchical[] = {
    {"with hierarchical advantage",
     {COHORT("c", "r", 20), QUEUE("q", "c"), QUEUE("b", "r")},
     {{"b2", "b", 20}},
     ANY,
     "q",
     20,
     0,
     "b2" RECLAIMED},
    {"queues within their nominal quota are avoided",
     {COHORT("c", "r", 20), QUEUE("q", "c"), QUEUE("b", "r"), QUEUE("n", "r", 20)},
     {{"n1", "n", 20, -10}, {"b2", "b", 20}},
     ANY,
     "q",
     20,
     0,
     "b2" RECLAIMED},
    {"several, of higher priority",
     {COHORT("c", "r", 20), QUEUE("q", "c"), QUEUE("b", "r")},
     {{"b1", "b", 10, 1}, {"b2", "b", 10, 2}},
     ANY,
     "q",
     20,
     0,
     "b1" RECLAIMED " b2" RECLAIMED},
    {"in the cohort and in the own queue",
     {COHORT("c", "r", 30), QUEUE("q", "c"), QUEUE("s", "c")},
     {{"no", "s", 10, 1}, {"yes", "s", 10, 0}, {"own", "q", 10, -1}},
     BORROWING(KUEUE_PREEMPT_ANY),
     "q",
     20,
     1,
     "own" OWN " yes" BORROWED},
    {"a hierarchical candidate is preferred",
     {COHORT("c", "r", 20), QUEUE("q", "c"), QUEUE("b", "r")},
     {{"b1", "b", 10, 1}, {"own", "q", 10, -2}},
     ANY,
     "q",
     10,
     0,
     "b1" RECLAIMED},
    {"forced to take a candidate by priority",
     {COHORT("c", "r", 20), QUEUE("q", "c"), QUEUE("n", "r", 20), QUEUE("s", "c")},
     {{"n1", "n", 20, -10}, {"s1", "s", 20, -1}},
     BORROWING(KUEUE_PREEMPT_ANY),
     "q",
     20,
     0,
     "s1" BORROWED},
    {"what fits in the nominal quota takes from everybody",
     {COHORT("c", "r", 20), QUEUE("q", "c", 40), QUEUE("b", "r"), QUEUE("s", "c")},
     {{"b1", "b", 30, 10}, {"s1", "s", 30, 10}},
     ANY,
     "q",
     40,
     0,
     "b1" RECLAIMED " s1" RECLAIMED},
    {"hierarchical and by priority",
     {COHORT("r", NULL, 10), COHORT("c", "r", 40), QUEUE("q", "c"), QUEUE("b", "r"),
      QUEUE("s", "c")},
     {{"b1", "b", 20, -1}, {"s1", "s", 10, -1}, {"b2", "b", 20, 1}},
     BORROWING(KUEUE_PREEMPT_LOWER_PRIORITY),
     "q",
     30,
     0,
     "b1" RECLAIMED " s1" BORROWED},
    {"hierarchical and in the own queue",
     {COHORT("r", NULL, 10), COHORT("c", "r", 40), QUEUE("q", "c"), QUEUE("b", "r"),
      QUEUE("s", "c")},
     {{"b1", "b", 20, -1}, {"own", "q", 10, -1}, {"b2", "b", 20, 1}},
     BORROWING(KUEUE_PREEMPT_LOWER_PRIORITY),
     "q",
     30,
     0,
     "b1" RECLAIMED " own" OWN},
    {"the lowest priority of those that borrow",
     {COHORT("c", "r", 30), QUEUE("q", "c"), QUEUE("b", "r"), QUEUE("n", "r", 20)},
     {{"b8", "b", 10, 8}, {"b9", "b", 10, 9}, {"b10", "b", 10, 9}, {"n1", "n", 20, -2}},
     ANY,
     "q",
     10,
     0,
     "b8" RECLAIMED},
    {"all of them in subtrees that keep within their quota",
     {COHORT("c", "r", 20), COHORT("o", "r", 20), QUEUE("q", "c"), QUEUE("s", "c"),
      QUEUE("qo", "o")},
     {{"o1", "qo", 10, -10}, {"o2", "qo", 10, -10}, {"s1", "s", 20, 0}},
     ANY,
     "q",
     20,
     0,
     ""},
    {"who leaves already is preferred",
     {COHORT("c", "r", 20), QUEUE("q", "c"), QUEUE("b", "r"), QUEUE("s", "c")},
     {{"b1", "b", 10, -10}, {"leaving", "s", 10, -1, true}},
     BORROWING(KUEUE_PREEMPT_ANY),
     "q",
     10,
     0,
     "leaving" BORROWED},
    {"lending limits are respected",
     {COHORT("c", "r", 20), QUEUE("q", "c", 30, 20), QUEUE("b", "r")},
     {{"b1", "b", 40, 0}},
     ANY,
     "q",
     50,
     -2,
     "b1" RECLAIMED},
    {"a complex hierarchy",
     {COHORT("c11", "r", 40), COHORT("c12", "r", 40), COHORT("c21", "c11", 40),
      COHORT("c22", "c11", 40), COHORT("c23", "c11", 40), COHORT("c31", "c21", 40),
      COHORT("c32", "c21", 40), QUEUE("q1", "c12"), QUEUE("q2", "c23"), QUEUE("q3", "c22"),
      QUEUE("q4", "c32"), QUEUE("q5", "c31")},
     {{"w1", "q1", 40, -6},
      {"w2", "q1", 40, -5},
      {"w3", "q2", 40, -9},
      {"w4", "q2", 40, -10},
      {"w5", "q3", 40, -4},
      {"w6", "q3", 30, -3},
      {"w7", "q4", 20, 4},
      {"w8", "q4", 30, 2}},
     ANY,
     "q5",
     70,
     -2,
     /* one of q2 only: c23 is back within its quota after it */
     "w1" RECLAIMED " w4" RECLAIMED},
};

#define THREE QUEUE("a", "all", 30), QUEUE("b", "all", 30), QUEUE("c", "all", 30), QUEUE("p", "all")
#define FAIR                                                                                       \
	{                                                                                          \
		.within_cluster_queue = KUEUE_PREEMPT_LOWER_PRIORITY,                              \
		.reclaim_within_cohort = KUEUE_PREEMPT_ANY,                                        \
		.borrow_within_cohort = KUEUE_PREEMPT_LOWER_PRIORITY,                              \
		.has_max_priority_threshold = true, .max_priority_threshold = -3                   \
	}
#define ONE(name, queue)                                                                           \
	{                                                                                          \
		name, queue, 10                                                                    \
	}

static const struct scenario fair[] = {
    {"nominal quota comes from who uses the most",
     {THREE},
     {ONE("a1", "a"), ONE("a2", "a"), ONE("a3", "a"), ONE("b1", "b"), ONE("b2", "b"),
      ONE("b3", "b"), ONE("b4", "b"), ONE("b5", "b"), ONE("c1", "c")},
     FAIR,
     "c",
     10,
     0,
     "b1" RECLAIMED},
    {"from who uses less, when the latest of who uses the most is not enough",
     {THREE},
     {{"a1", "a", 30}, {"a2", "a", 10}, {"b1", "b", 20}, {"b2", "b", 30}},
     FAIR,
     "c",
     30,
     0,
     "a1" RECLAIMED},
    {"borrowable quota comes from who uses the most",
     {THREE},
     {ONE("a1", "a"), ONE("a2", "a"), ONE("a3", "a"), ONE("b1", "b"), ONE("b2", "b"),
      ONE("b3", "b"), ONE("b4", "b"), ONE("b5", "b"), ONE("c1", "c")},
     FAIR,
     "a",
     10,
     0,
     "b1" SHARED},
    {"one from each that borrows",
     {THREE},
     {{"a1", "a", 5},
      {"a2", "a", 5},
      {"a3", "a", 30},
      {"b1", "b", 5},
      {"b2", "b", 5},
      {"b3", "b", 30}},
     FAIR,
     "c",
     20,
     0,
     "a1" RECLAIMED " b1" RECLAIMED},
    {"nothing when everybody is within nominal",
     {THREE},
     {ONE("a1", "a"), ONE("a2", "a"), ONE("a3", "a"), ONE("b1", "b"), ONE("b2", "b"),
      ONE("b3", "b"), ONE("c1", "c"), ONE("c2", "c"), ONE("c3", "c")},
     FAIR,
     "c",
     10,
     0,
     ""},
    {"nothing when it would turn the imbalance round",
     {THREE},
     {ONE("a1", "a"), ONE("a2", "a"), ONE("a3", "a"), ONE("b1", "b"), ONE("b2", "b"),
      ONE("b3", "b"), ONE("b4", "b"), ONE("b5", "b")},
     FAIR,
     "a",
     20,
     0,
     ""},
    {"lower priorities of the own queue",
     {THREE},
     {{"a1", "a", 10, -1},
      {"a2", "a", 10, -1},
      ONE("a3", "a"),
      ONE("a4", "a"),
      ONE("b1", "b"),
      ONE("b2", "b"),
      ONE("b3", "b"),
      ONE("b4", "b"),
      ONE("b5", "b")},
     FAIR,
     "a",
     20,
     0,
     "a1" OWN " a2" OWN},
    {"the own queue and the highest share together",
     {THREE},
     {{"a1", "a", 10, -1},
      ONE("a2", "a"),
      ONE("a3", "a"),
      ONE("b1", "b"),
      ONE("b2", "b"),
      ONE("b3", "b"),
      ONE("b4", "b"),
      ONE("b5", "b"),
      ONE("b6", "b")},
     FAIR,
     "a",
     20,
     0,
     "a1" OWN " b1" SHARED},
    {"a huge one, when nothing else is there",
     {THREE},
     {{"b1", "b", 90}},
     FAIR,
     "a",
     20,
     0,
     "b1" RECLAIMED},
    {"not a huge one for another huge one",
     {THREE},
     {{"a1", "a", 20}, {"b1", "b", 70}},
     FAIR,
     "a",
     50,
     0,
     ""},
    {"not two smaller ones for a huge one",
     {THREE},
     {{"b1", "b", 20}, {"b2", "b", 20}, {"b3", "b", 30}},
     FAIR,
     "a",
     60,
     0,
     ""},
    {"from the own queue and others, even above nominal",
     {THREE},
     {{"a1", "a", 20, -1}, {"a2", "a", 10, -1}, {"b1", "b", 30}, {"b2", "b", 30}},
     FAIR,
     "a",
     40,
     0,
     "a1" OWN " b1" SHARED},
    {"the one that does not make the target's share the biggest",
     {THREE},
     {{"b1", "b", 20}, {"b2", "b", 10}, {"b3", "b", 20}, {"c1", "c", 10}},
     FAIR,
     "a",
     35,
     0,
     "b2" SHARED},
    {"from two queues, when the greatest share ends up smaller",
     {THREE},
     {{"b1", "b", 20}, {"b2", "b", 25}, {"c1", "c", 20}, {"c2", "c", 25}},
     FAIR,
     "a",
     35,
     0,
     "b1" SHARED " c1" SHARED},
    {"and that does not flap",
     {THREE},
     {{"a1", "a", 35}, {"b2", "b", 25}, {"c2", "c", 25}},
     FAIR,
     "b",
     20,
     0,
     ""},
    {"not when the target would fall below nominal",
     {THREE},
     {{"b1", "b", 30}, {"b2", "b", 30}, {"c1", "c", 30}},
     FAIR,
     "a",
     40,
     0,
     ""},
    {"a low priority alone is no reason",
     {THREE},
     {ONE("a1", "a"),
      ONE("a2", "a"),
      ONE("a3", "a"),
      ONE("b1", "b"),
      ONE("b2", "b"),
      ONE("b3", "b"),
      {"p1", "p", 10, -3},
      {"p2", "p", 10, -3},
      {"p3", "p", 10, -3}},
     FAIR,
     "a",
     20,
     0,
     ""},
    {"the lower priority first, even if big",
     {THREE},
     {{"a1", "a", 30}, {"b_low", "b", 50, 0}, {"b_high", "b", 10, 1}},
     FAIR,
     "a",
     10,
     0,
     "b_low" SHARED,
     KUEUE_LESS_THAN_INITIAL_SHARE,
     true},
    {"what does not transfer the imbalance, even of high priority",
     {THREE},
     {{"a1", "a", 30}, {"b_low", "b", 50, 0}, {"b_high", "b", 10, 1}},
     FAIR,
     "a",
     10,
     0,
     "b_high" SHARED,
     KUEUE_LESS_THAN_OR_EQUAL_TO_FINAL_SHARE,
     true},
    {"a higher weight takes more",
     {QUEUE("a", "all", 30, 0, 2), QUEUE("b", "all", 30), QUEUE("c", "all", 30)},
     {ONE("a1", "a"), ONE("a2", "a"), ONE("a3", "a"), ONE("b1", "b"), ONE("b2", "b"),
      ONE("b3", "b"), ONE("b4", "b"), ONE("b5", "b"), ONE("b6", "b")},
     ANY,
     "a",
     20,
     0,
     "b1" SHARED " b2" SHARED},
    {"anything that weight 0 borrows",
     {QUEUE("a", "all", 30), QUEUE("b", "all", 30, .zero = true), QUEUE("c", "all", 30)},
     {ONE("a1", "a"), ONE("a2", "a"), ONE("a3", "a"), ONE("b1", "b"), ONE("b2", "b"),
      ONE("b3", "b"), ONE("b4", "b"), ONE("b5", "b"), ONE("b6", "b")},
     ANY,
     "a",
     30,
     0,
     "b1" SHARED " b2" SHARED " b3" SHARED},
    {"not what weight 0 has as nominal",
     {QUEUE("a", "all", 30), QUEUE("b", "all", 30, .zero = true)},
     {ONE("a1", "a"), ONE("a2", "a"), ONE("a3", "a"), ONE("b1", "b"), ONE("b2", "b"),
      ONE("b3", "b")},
     ANY,
     "a",
     10,
     0,
     ""},
    {"not what a cohort of weight 0 has as nominal",
     {QUEUE("left", "root"), COHORT("right", "root", 10, .zero = true),
      QUEUE("rq", "right", .zero = true)},
     {ONE("r1", "rq")},
     RECLAIM_ANY,
     "left",
     10,
     0,
     ""},
    {"without a cohort the own queue",
     {QUEUE("a", NULL, 10)},
     {ONE("a1", "a")},
     {.within_cluster_queue = KUEUE_PREEMPT_LOWER_PRIORITY},
     "a",
     10,
     1000,
     "a1" OWN},
    {"down a hierarchy",
     {COHORT("ROOT", NULL, 50), COHORT("LEFT", "ROOT", 50, 0, 2), COHORT("RIGHT", "ROOT", 50),
      QUEUE("a", "LEFT", 10, 0, 2), QUEUE("b", "LEFT", 10), QUEUE("c", "ROOT", 10),
      QUEUE("d", "RIGHT", 10), QUEUE("e", "RIGHT", 10, 0, 0.99)},
     {{"b1", "b", 10, 1}, {"b2", "b", 10, 2}, {"b3", "b", 10, 3}, {"b4", "b", 10, 4},
      {"b5", "b", 10, 5}, {"c1", "c", 10, 1}, {"c2", "c", 10, 2}, {"c3", "c", 10, 3},
      {"c4", "c", 10, 4}, {"c5", "c", 10, 5}, {"d1", "d", 10, 1}, {"d2", "d", 10, 2},
      {"d3", "d", 10, 3}, {"d4", "d", 10, 4}, {"d5", "d", 10, 5}, {"e1", "e", 10, 1},
      {"e2", "e", 10, 2}, {"e3", "e", 10, 3}, {"e4", "e", 10, 4}, {"e5", "e", 10, 5}},
     RECLAIM_ANY,
     "a",
     50,
     0,
     "b1" SHARED " b2" SHARED " c1" SHARED " c2" SHARED " e1" SHARED},
    {"a queue that borrows within a cohort that does not is protected",
     {QUEUE("a", "ROOT", 50, 0, 10), COHORT("RIGHT", "ROOT", 10, 0, 0.1),
      QUEUE("b", "RIGHT", 0, 0, 0.1)},
     {{"a1", "a", 10, -1}, {"a2", "a", 10, -1}, {"a3", "a", 10, -1}, {"b1", "b", 10, -1}},
     ANY,
     "a",
     50,
     0,
     "a1" OWN " a2" OWN " a3" OWN},
    {"the own queue, since who borrows is too important",
     {QUEUE("a", "ROOT", 50, 0, 10), COHORT("RIGHT", "ROOT", 30, 0, 0.1),
      QUEUE("b", "RIGHT", 0, 0, 0.1)},
     {{"a1", "a", 10, -1}, {"a2", "a", 10, -1}, {"a3", "a", 10, -1}, {"b1", "b", 40, 100}},
     {.within_cluster_queue = KUEUE_PREEMPT_LOWER_PRIORITY,
      .reclaim_within_cohort = KUEUE_PREEMPT_LOWER_PRIORITY},
     "a",
     40,
     0,
     "a1" OWN " a2" OWN " a3" OWN},
    {"deep down",
     {COHORT("A", "ROOT", 0, 0, 1.01), COHORT("AA", "A"), COHORT("AAA", "AA"),
      COHORT("B", "ROOT", 0, 0, 0.99), COHORT("BB", "B"), COHORT("BBB", "BB"), COHORT("C", "ROOT"),
      COHORT("CC", "C"), COHORT("CCC", "CC"), COHORT("CCCC", "CCC", 10), QUEUE("a", "AAA"),
      QUEUE("b", "BBB")},
     {ONE("b1", "b")},
     RECLAIM_ANY,
     "a",
     10,
     0,
     "b1" SHARED},
    {"weight 0 takes back its nominal",
     {QUEUE("a", "ROOT", 10, .zero = true), QUEUE("b", "ROOT")},
     {ONE("b1", "b")},
     RECLAIM_ANY,
     "a",
     10,
     0,
     "b1" RECLAIMED},
    {"a cohort of weight 0 takes back its nominal",
     {COHORT("A", "ROOT", 10, .zero = true), QUEUE("a", "A", .zero = true), QUEUE("b", "ROOT")},
     {ONE("b1", "b")},
     RECLAIM_ANY,
     "a",
     10,
     0,
     "b1" SHARED},
};

static void plant(struct kt_world *w, const struct scenario *s)
{
	for (const struct node *n = s->nodes; n < s->nodes + MAX_NODES && n->name; n++) {
		struct kueue_quota quota = {n->nominal, NO, n->lending ? n->lending : NO};
		struct kueue_queue_spec spec = {.weight = n->zero	  ? 0
							  : n->weight > 0 ? n->weight
									  : 1};

		if (strcmp(n->name, s->queue) == 0)
			spec.preemption = s->policies;
		if (n->queue)
			kt_queue_with(w->f, n->name, n->parent, quota, &spec);
		else
			kt_cohort_with(w->f, n->name, n->parent, quota, spec.weight);
	}
	for (const struct holder *h = s->holders; h < s->holders + MAX_HOLDERS && h->name; h++) {
		struct kueue_use use = kt_use(w->f, "default", "cpu", h->cpu);
		uint32_t q = kueue_forest_queue(w->f, span_of(h->queue));

		kt_hold_as(w, kt_workload(w, q, h->name, h->priority, 5, h->cpu),
			   h->evicted ? KUEUE_EVICTED : KUEUE_ADMITTED, &use, 1);
	}
}

static int cmp_victims(const void *a, const void *b)
{
	const struct kueue_victim *x = a, *y = b;
	return span_cmp(x->workload->name, y->workload->name);
}

static void play(const struct scenario *s, bool is_fair)
{
	struct kueue_options options = kueue_options_default();

	options.fair_sharing = is_fair;
	options.n_fair_strategies = s->one_strategy;
	options.fair_strategies[0] = s->strategy;
	struct kt_world w = kt_world_with(options);
	plant(&w, s);
	uint32_t q = kueue_forest_queue(w.f, span_of(s->queue));
	struct kueue_use use = kt_use(w.f, "default", "cpu", s->cpu);
	vec_push(&w.a.uses, use);
	vec_push(&w.a.choices, (struct kueue_choice){.resource = use.resource,
						     .flavor = use.flavor,
						     .mode = KUEUE_PREEMPT});
	kueue_preempt(w.f, kt_workload(&w, q, "in", s->priority, 9, s->cpu), &w.a, NULL, &w.v);
	if (w.v.items.len)
		qsort(w.v.items.items, w.v.items.len, sizeof(*w.v.items.items), cmp_victims);
	const char *text = kt_victims_text(&w);
	if (strcmp(text, s->victims) != 0)
		fail_msg("%s: \"%s\", expected \"%s\"", s->what, text, s->victims);
	kt_done(&w);
}

static void classical_victims_are_kueue_s(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(hierarchical); i++)
		play(&hierarchical[i], false);
}

static void fair_victims_are_kueue_s(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(fair); i++)
		play(&fair[i], true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(classical_victims_are_kueue_s),
	    cmocka_unit_test(fair_victims_are_kueue_s),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

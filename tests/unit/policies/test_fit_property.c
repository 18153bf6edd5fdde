#include "fixture.h"

/*
 * Fit against brute force: every way to put every pod on every node, on fleets small enough for
 * it. Pods that are alike are decided exactly; for several kinds the heuristic may refuse what
 * brute force can place, and the test says how often.
 */

enum { MAX_NODES = 5, MAX_SETS = 3, MAX_PODS = 7 };

struct small_node {
	int64_t free[3]; /* cpu, gpu, slots */
	bool zone_b, tainted, off;
};

struct small_set {
	int64_t count, ask[2];
	bool wants_zone_b, tolerates;
};

struct puzzle {
	struct small_node nodes[MAX_NODES];
	struct small_set sets[MAX_SETS];
	int n_nodes, n_sets;
};

static bool accepts(const struct small_node *n, const struct small_set *s)
{
	return !n->off && (!s->wants_zone_b || n->zone_b) && (!n->tainted || s->tolerates);
}

/* Places pods from (set, pod) on; pods of a set go to nodes in ascending order, since they are
 * alike. */
static bool brute(struct puzzle *z, int set, int64_t pod, int from)
{
	while (set < z->n_sets && pod >= z->sets[set].count) {
		set++;
		pod = 0;
		from = 0;
	}
	if (set == z->n_sets)
		return true;
	struct small_set *s = &z->sets[set];
	for (int i = from; i < z->n_nodes; i++) {
		struct small_node *n = &z->nodes[i];
		if (!accepts(n, s) || n->free[0] < s->ask[0] || n->free[1] < s->ask[1] ||
		    n->free[2] < 1)
			continue;
		n->free[0] -= s->ask[0];
		n->free[1] -= s->ask[1];
		n->free[2]--;
		bool ok = brute(z, set, pod + 1, i);
		n->free[0] += s->ask[0];
		n->free[1] += s->ask[1];
		n->free[2]++;
		if (ok)
			return true;
	}
	return false;
}

static struct puzzle make_puzzle(uint64_t *rnd, int n_sets)
{
	struct puzzle z = {.n_nodes = 1 + (int)below(rnd, MAX_NODES), .n_sets = n_sets};
	int64_t left = MAX_PODS;

	for (int i = 0; i < z.n_nodes; i++)
		z.nodes[i] = (struct small_node){
		    .free = {below(rnd, 9) * 1000, below(rnd, 9), 1 + below(rnd, 6)},
		    .zone_b = below(rnd, 3) == 0,
		    .tainted = below(rnd, 6) == 0,
		    .off = below(rnd, 10) == 0,
		};
	for (int i = 0; i < n_sets; i++) {
		z.sets[i] = (struct small_set){
		    .count = left ? below(rnd, left) + (i == 0) : 0,
		    .ask = {below(rnd, 5) * 1000, below(rnd, 5)},
		    .wants_zone_b = below(rnd, 5) == 0,
		    .tolerates = below(rnd, 2) == 0,
		};
		left -= z.sets[i].count;
	}
	return z;
}

static void add_small_node(struct world *w, uint32_t cluster, int i, const struct small_node *n)
{
	static const struct taint taint = {SPAN("dedicated"), SPAN("x"), TAINT_NO_SCHEDULE};
	char name[16];
	struct label label = {SPAN("zone"), n->zone_b ? SPAN("b") : SPAN("a")};
	struct amount all[] = {
	    {RESOURCE_CPU, n->free[0]}, {w->gpu, n->free[1]}, {RESOURCE_PODS, n->free[2]}};
	uint32_t node;

	snprintf(name, sizeof(name), "n%d", i);
	struct node_spec spec = {
	    .name = span_of(name),
	    .labels = &label,
	    .n_labels = 1,
	    .taints = &taint,
	    .n_taints = n->tainted,
	    .allocatable = all,
	    .n_allocatable = 3,
	    .ready = true,
	    .unschedulable = n->off,
	};
	assert_int_equal(cluster_view_node_upsert(w->f, cluster, &spec, &node, &w->err), 0);
	assert_int_equal(node, i);
}

static struct shape *small_shape(struct world *w, const struct puzzle *z)
{
	static const struct label zone_b = {SPAN("zone"), SPAN("b")};
	static const struct toleration tolerates = {.key = SPAN("dedicated"), .exists = true};
	struct request requests[MAX_SETS][2];
	struct pod_set sets[MAX_SETS];

	for (int i = 0; i < z->n_sets; i++) {
		const struct small_set *s = &z->sets[i];
		sets[i] = pods(w, "set", s->count, s->ask[0], s->ask[1], requests[i]);
		sets[i].selector = &zone_b;
		sets[i].n_selector = s->wants_zone_b;
		sets[i].tolerations = &tolerates;
		sets[i].n_tolerations = s->tolerates;
	}
	return shape_of(w, sets, (size_t)z->n_sets, NULL);
}

/* What was placed truly fits: every pod on a node that accepts it, nothing negative. */
static void check_slots(const struct puzzle *z, const struct fit_result *r)
{
	struct puzzle left = *z;

	for (size_t i = 0; i < r->n_slots; i++) {
		const struct fit_slot *s = &r->slots[i];
		struct small_node *n = &left.nodes[s->node];
		assert_true((int)s->node < z->n_nodes && (int)s->set < z->n_sets && s->count > 0);
		assert_true(accepts(n, &z->sets[s->set]));
		n->free[0] -= s->count * z->sets[s->set].ask[0];
		n->free[1] -= s->count * z->sets[s->set].ask[1];
		n->free[2] -= s->count;
		left.sets[s->set].count -= s->count;
		assert_true(n->free[0] >= 0 && n->free[1] >= 0 && n->free[2] >= 0);
	}
	for (int i = 0; i < z->n_sets; i++)
		assert_int_equal(left.sets[i].count, 0);
}

struct tally {
	int placed, refused, missed;
};

static struct tally play(uint64_t seed, int rounds, int n_sets, bool with_lanes)
{
	struct tally t = {0};
	uint64_t rnd = seed;

	for (int i = 0; i < rounds; i++) {
		struct puzzle z = make_puzzle(&rnd, n_sets);
		struct world w = world_create();
		uint32_t c = add_cluster(&w, "c");
		for (int n = 0; n < z.n_nodes; n++)
			add_small_node(&w, c, n, &z.nodes[n]);
		struct shape *s = small_shape(&w, &z);
		struct ask *a = with_lanes ? ask_of(&w, s, NULL) : NULL;
		if (a)
			decide(&w, a); /* gives its rows lanes */
		struct fit_result r;
		bool fits = fit_gang(w.f, c, s, FIT_NODES, &r);
		bool could = brute(&z, 0, 0, 0);
		if (fits)
			check_slots(&z, &r);
		assert_false(fits && !could);
		t.placed += fits;
		t.refused += !fits && !could;
		t.missed += !fits && could;
		if (!fits) {
			struct fit_misfit why;
			fit_explain(w.f, c, s, FIT_NODES, &why);
			assert_int_not_equal(why.reason, FIT_OK);
		}
		placer_ask_unref(w.p, a);
		fleet_shape_unref(w.f, s);
		world_done(&w);
	}
	return t;
}

static void a_gang_of_alike_pods_is_refused_only_when_brute_force_fails(void **state)
{
	for (int lanes = 0; lanes < 2; lanes++) {
		struct tally t = play(11 + (uint64_t)lanes, 4000, 1, lanes);
		assert_int_equal(t.missed, 0);
		/* The cases are worth something: both answers come often. */
		assert_true(t.placed > 800 && t.refused > 800);
	}
}

static void several_kinds_of_pods_are_packed_truly_and_seldom_missed(void **state)
{
	/* What the heuristic missed when it was written; more is a step back. */
	static const int missed[MAX_SETS + 1] = {[2] = 1, [3] = 5};

	for (int sets = 2; sets <= MAX_SETS; sets++) {
		struct tally t = play(100 + (uint64_t)sets, 6000, sets, true);
		print_message("%d sets: %d placed, %d refused, %d missed\n", sets, t.placed,
			      t.refused, t.missed);
		assert_true(t.placed > 500 && t.refused > 500);
		assert_true(t.missed <= missed[sets]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_gang_of_alike_pods_is_refused_only_when_brute_force_fails),
	    cmocka_unit_test(several_kinds_of_pods_are_packed_truly_and_seldom_missed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

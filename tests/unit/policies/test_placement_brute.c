#include "fixture.h"

/*
 * Whole decisions against brute force: a few small clusters, policies with names, exclusions and
 * ordered groups, gangs of alike pods that come and go. A model keeps its own count of what is
 * free. After every decision: the gang was placed exactly when some way to put its pods on the
 * nodes of one allowed cluster exists, in the first group where one does, and what was placed fits
 * the model's nodes.
 */

enum { CLUSTERS = 3, NODES = 3, SHAPES = 8, PLACEMENTS = 5, JOBS = 10, RESOURCES = 3, GROUPS = 2 };

struct model_node {
	int64_t free[RESOURCES]; /* cpu, gpu, slots */
	bool zone_b, tainted;
};

struct model_cluster {
	struct model_node nodes[NODES];
	int n_nodes;
	bool usable;
};

struct model_gang {
	int64_t count, ask[RESOURCES];
	bool wants_zone_b, tolerates;
};

struct model_job {
	uint64_t id; /* 0: none */
	int gang, cluster;
	int64_t on[NODES]; /* pods per node */
};

struct model {
	struct world w;
	uint64_t rnd;
	struct model_cluster clusters[CLUSTERS];
	struct model_gang gangs[SHAPES];
	struct shape *shapes[SHAPES];
	struct ask *asks[SHAPES][PLACEMENTS];
	struct model_job jobs[JOBS];
	uint64_t next_id, placed, refused, late_group;
};

static const char *const names[CLUSTERS] = {"a", "b", "c"};
static const struct span only_b[] = {SPAN("b")};
static const struct span a_and_c[] = {SPAN("a"), SPAN("c")};
static const struct span only_c[] = {SPAN("c")};
static const struct cluster_affinity b_first[] = {
    {.name = SPAN("near"), .cluster_names = only_b, .n_cluster_names = 1},
    {.name = SPAN("far"), .cluster_names = a_and_c, .n_cluster_names = 2},
};
static const struct cluster_affinity not_b = {.exclude = only_b, .n_exclude = 1};
static const struct cluster_affinity c_then_all[] = {
    {.name = SPAN("c"), .cluster_names = only_c, .n_cluster_names = 1},
    {.name = SPAN("all")},
};
static const struct cluster_affinity named_and_excluded = {
    .cluster_names = a_and_c, .n_cluster_names = 2, .exclude = only_c, .n_exclude = 1};

static const struct {
	struct placement_spec spec;
	int n_groups;
	bool allows[GROUPS][CLUSTERS];
} placements[PLACEMENTS] = {
    {{0}, 1, {{true, true, true}}},
    {{.affinities = b_first, .n_affinities = 2}, 2, {{false, true, false}, {true, false, true}}},
    {{.affinities = &not_b, .n_affinities = 1}, 1, {{true, false, true}}},
    {{.affinities = c_then_all, .n_affinities = 2}, 2, {{false, false, true}, {true, true, true}}},
    {{.affinities = &named_and_excluded, .n_affinities = 1}, 1, {{true, false, false}}},
};

/* ---- a fleet ---- */

static void make_node(struct model *m, uint32_t cluster, struct model_node *n, int index)
{
	static const struct taint taint = {SPAN("dedicated"), SPAN("x"), TAINT_NO_SCHEDULE};
	char name[16];
	uint32_t node;

	*n = (struct model_node){
	    .free = {below(&m->rnd, 9) * 1000, below(&m->rnd, 9), 1 + below(&m->rnd, 6)},
	    .zone_b = below(&m->rnd, 2) == 0,
	    .tainted = below(&m->rnd, 5) == 0,
	};
	struct label label = {SPAN("zone"), n->zone_b ? SPAN("b") : SPAN("a")};
	struct amount all[] = {
	    {RESOURCE_CPU, n->free[0]}, {m->w.gpu, n->free[1]}, {RESOURCE_PODS, n->free[2]}};
	(void)snprintf(name, sizeof(name), "n%d", index);
	struct node_spec spec = {
	    .name = span_of(name),
	    .labels = &label,
	    .n_labels = 1,
	    .taints = &taint,
	    .n_taints = n->tainted,
	    .allocatable = all,
	    .n_allocatable = 3,
	    .ready = true,
	};
	assert_int_equal(cluster_view_node_upsert(m->w.f, cluster, &spec, &node, &m->w.err), 0);
	assert_int_equal(node, index);
}

static void make_clusters(struct model *m)
{
	for (int c = 0; c < CLUSTERS; c++) {
		struct model_cluster *to = &m->clusters[c];
		uint32_t id;
		to->usable = below(&m->rnd, 6) != 0;
		struct cluster_spec spec = {.name = span_of(names[c]),
					    .ready = true,
					    .fresh = true,
					    .cordoned = !to->usable};
		assert_int_equal(cluster_view_upsert(m->w.f, &spec, &id, &m->w.err), 0);
		assert_int_equal(id, c);
		to->n_nodes = 1 + (int)below(&m->rnd, NODES);
		for (int n = 0; n < to->n_nodes; n++)
			make_node(m, id, &to->nodes[n], n);
	}
}

static void make_gangs(struct model *m)
{
	static const struct label zone_b = {SPAN("zone"), SPAN("b")};
	static const struct toleration tolerates = {.key = SPAN("dedicated"), .exists = true};

	for (int g = 0; g < SHAPES; g++) {
		struct model_gang *to = &m->gangs[g];
		struct request buf[2];
		*to = (struct model_gang){
		    .count = 1 + below(&m->rnd, 6),
		    .ask = {below(&m->rnd, 4) * 1000, below(&m->rnd, 4), 1},
		    .wants_zone_b = below(&m->rnd, 4) == 0,
		    .tolerates = below(&m->rnd, 2) == 0,
		};
		struct pod_set set = pods(&m->w, "worker", to->count, to->ask[0], to->ask[1], buf);
		set.selector = &zone_b;
		set.n_selector = to->wants_zone_b;
		set.tolerations = &tolerates;
		set.n_tolerations = to->tolerates;
		m->shapes[g] = shape_of(&m->w, &set, 1, NULL);
		for (int p = 0; p < PLACEMENTS; p++)
			m->asks[g][p] = ask_of(&m->w, m->shapes[g], &placements[p].spec);
	}
}

static void model_done(struct model *m)
{
	for (int g = 0; g < SHAPES; g++) {
		for (int p = 0; p < PLACEMENTS; p++)
			placer_ask_unref(m->w.p, m->asks[g][p]);
		fleet_shape_unref(m->w.f, m->shapes[g]);
	}
	world_done(&m->w);
}

/* ---- brute force ---- */

static bool takes(const struct model_node *n, const struct model_gang *g)
{
	if ((g->wants_zone_b && !n->zone_b) || (n->tainted && !g->tolerates))
		return false;
	for (int r = 0; r < RESOURCES; r++)
		if (n->free[r] < g->ask[r])
			return false;
	return true;
}

static void charge(struct model_node *n, const struct model_gang *g, int64_t pods)
{
	for (int r = 0; r < RESOURCES; r++)
		n->free[r] -= pods * g->ask[r];
}

/* Every way to put `left` more pods on the nodes from `from` on. */
static bool packs(struct model_cluster *c, const struct model_gang *g, int64_t left, int from)
{
	if (left == 0)
		return true;
	for (int i = from; i < c->n_nodes; i++) {
		if (!takes(&c->nodes[i], g))
			continue;
		charge(&c->nodes[i], g, 1);
		bool ok = packs(c, g, left - 1, i);
		charge(&c->nodes[i], g, -1);
		if (ok)
			return true;
	}
	return false;
}

/* The first group of the placement in which some cluster can take the gang, or -1. */
static int first_group(struct model *m, const struct model_gang *g, int placement)
{
	for (int group = 0; group < placements[placement].n_groups; group++)
		for (int c = 0; c < CLUSTERS; c++)
			if (placements[placement].allows[group][c] && m->clusters[c].usable &&
			    packs(&m->clusters[c], g, g->count, 0))
				return group;
	return -1;
}

/* ---- steps ---- */

/* What was placed truly fits, pod by pod. */
static void take_slots(struct model *m, struct model_job *j, const struct placement_decision *d)
{
	const struct model_gang *g = &m->gangs[j->gang];
	struct model_cluster *c = &m->clusters[j->cluster];
	int64_t placed = 0;

	for (size_t i = 0; i < d->n_slots; i++) {
		assert_true((int)d->slots[i].node < c->n_nodes && d->slots[i].count > 0);
		struct model_node *n = &c->nodes[d->slots[i].node];
		for (int64_t pod = 0; pod < d->slots[i].count; pod++) {
			assert_true(takes(n, g));
			charge(n, g, 1);
		}
		j->on[d->slots[i].node] += d->slots[i].count;
		placed += d->slots[i].count;
	}
	assert_int_equal(placed, g->count);
}

static void step_come(struct model *m, struct model_job *j)
{
	struct placement_decision d;
	int gang = (int)below(&m->rnd, SHAPES), p = (int)below(&m->rnd, PLACEMENTS);
	int want = first_group(m, &m->gangs[gang], p);
	bool placed = placement_decide(m->w.p, m->asks[gang][p], NULL, 0, 0, &d);

	assert_int_equal(placed, want >= 0);
	m->placed += placed;
	m->refused += !placed;
	if (!placed)
		return;
	assert_int_equal(d.group, want);
	assert_true(placements[p].allows[want][d.cluster] && m->clusters[d.cluster].usable);
	m->late_group += want > 0;
	*j = (struct model_job){.id = ++m->next_id, .gang = gang, .cluster = (int)d.cluster};
	take_slots(m, j, &d);
	assert_int_equal(ledger_assume(m->w.l, j->id, m->shapes[gang], d.cluster, d.slots,
				       d.n_slots, 0, &m->w.err),
			 0);
}

static void step_go(struct model *m, struct model_job *j)
{
	assert_true(ledger_drop(m->w.l, j->id));
	for (int n = 0; n < NODES; n++)
		charge(&m->clusters[j->cluster].nodes[n], &m->gangs[j->gang], -j->on[n]);
	j->id = 0;
}

static void a_gang_of_alike_pods_goes_where_brute_force_can_put_it_and_nowhere_else(void **state)
{
	uint64_t rnd = 21, placed = 0, refused = 0, late = 0;

	for (int round = 0; round < 400; round++) {
		struct model m = {.rnd = next_random(&rnd), .w = world_create()};
		make_clusters(&m);
		make_gangs(&m);
		for (int i = 0; i < 60; i++) {
			struct model_job *j = &m.jobs[below(&m.rnd, JOBS)];
			if (j->id)
				step_go(&m, j);
			else
				step_come(&m, j);
		}
		placed += m.placed;
		refused += m.refused;
		late += m.late_group;
		model_done(&m);
	}
	/* The cases are worth something: both answers, and later groups, come often. */
	assert_true(placed > 3000 && refused > 3000 && late > 300);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(
		a_gang_of_alike_pods_goes_where_brute_force_can_put_it_and_nowhere_else),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Placement alone: a fleet of 100-node clusters kept 90% full. Gangs of 1 to 64 pods in 20 shapes
 * wait in a queue of 100,000; each admission (decide, charge) is followed by finishes until the
 * fleet is at 90% of its devices again, and a new gang joins the queue. A gang that fits nowhere
 * waits with its shape, and costs nothing until a finish wakes it. Only admissions with a node for
 * every pod count; that they hold is checked against plain arithmetic in a run of its own, outside
 * the measured ones.
 */
#include "bench.h"

#include "base/vec.h"
#include "policies/ledger.h"
#include "policies/waiting.h"

#include <malloc.h>

enum { NODES = 100, SHAPES = 20, QUEUE = 100000, GPUS_PER_NODE = 8, SETS_MAX = 3 };

struct set_plan {
	int count, gpus;
	int64_t cpu_milli, memory_gib;
};

/* Sizes as clusters for training see them: mostly single devices, some whole nodes, some masters
 * and launchers that differ from their workers. */
static const struct set_plan plans[SHAPES][SETS_MAX] = {
    {{1, 1, 12000, 64}},
    {{2, 1, 10000, 96}},
    {{4, 1, 12000, 64}},
    {{8, 1, 8000, 64}},
    {{16, 1, 12000, 96}},
    {{32, 1, 10000, 64}},
    {{64, 1, 8000, 32}},
    {{1, 2, 24000, 128}},
    {{4, 2, 20000, 192}},
    {{8, 2, 24000, 128}},
    {{64, 2, 16000, 128}},
    {{1, 4, 48000, 256}},
    {{2, 4, 40000, 256}},
    {{4, 4, 48000, 384}},
    {{1, 8, 96000, 512}},
    {{2, 8, 80000, 768}},
    {{16, 8, 96000, 512}},
    {{1, 1, 16000, 128}, {7, 1, 12000, 64}},		      /* master and workers */
    {{1, 0, 2000, 8}, {8, 1, 12000, 64}},		      /* launcher and workers */
    {{1, 0, 8000, 32}, {4, 2, 24000, 128}, {4, 1, 8000, 64}}, /* head and two groups */
};

struct running {
	uint64_t job;
	int64_t gpus;
};

struct kept {
	uint64_t job;
	uint32_t shape, cluster, n;
	struct fit_slot slots[64];
};

struct world {
	struct fleet *f;
	struct placer *p;
	struct waiting *w;
	struct ledger *l;
	uint32_t gpu;
	struct shape *shapes[SHAPES];
	struct ask *asks[SHAPES];
	int64_t gpus[SHAPES];
	int64_t gpus_used, gpus_all;
	uint64_t random, next_job;
	uint8_t *queue; /* a ring of shapes */
	size_t head;
	size_t waiting[SHAPES]; /* gangs that wait for their shape to be woken */
	struct VEC(struct running) running;
	uint64_t admitted, refused;
	/* The check: free of every node by plain arithmetic. */
	bool check;
	struct VEC(struct kept) kept;
	int64_t (*free)[NODES][4];
};

static void die(const char *what)
{
	fprintf(stderr, "bench_place: %s\n", what);
	exit(1);
}

static void add_cluster(struct world *w, uint32_t number)
{
	struct err err = ERR_INIT;
	uint32_t cluster, node;
	char name[32];
	struct amount all[] = {{RESOURCE_CPU, 128000},
			       {RESOURCE_MEMORY, (int64_t)1024 << 30},
			       {RESOURCE_PODS, 110},
			       {w->gpu, GPUS_PER_NODE}};

	snprintf(name, sizeof(name), "cluster-%04u", number);
	struct cluster_spec spec = {.name = span_of(name), .ready = true, .fresh = true};
	if (cluster_view_upsert(w->f, &spec, &cluster, &err) < 0)
		die(err.text);
	for (int i = 0; i < NODES; i++) {
		char host[48];
		snprintf(host, sizeof(host), "node-%03d", i);
		struct label label = {SPAN("kubernetes.io/hostname"), span_of(host)};
		struct node_spec ns = {.name = span_of(host),
				       .labels = &label,
				       .n_labels = 1,
				       .allocatable = all,
				       .n_allocatable = ARRAY_LEN(all),
				       .ready = true};
		if (cluster_view_node_upsert(w->f, cluster, &ns, &node, &err) < 0 ||
		    node != (uint32_t)i)
			die(err.text);
	}
	w->gpus_all += NODES * GPUS_PER_NODE;
}

static void add_shape(struct world *w, int number)
{
	static const struct placement_spec anywhere;
	static const struct api_kind any_kind;
	struct err err = ERR_INIT;
	struct pod_set sets[SETS_MAX] = {0};
	struct request requests[SETS_MAX][3];
	size_t n = 0;

	for (; n < SETS_MAX && plans[number][n].count; n++) {
		const struct set_plan *s = &plans[number][n];
		requests[n][0] = (struct request){RESOURCE_CPU, s->cpu_milli};
		requests[n][1] = (struct request){RESOURCE_MEMORY, s->memory_gib << 30};
		requests[n][2] = (struct request){w->gpu, s->gpus};
		sets[n] = (struct pod_set){.name = SPAN("set"),
					   .count = s->count,
					   .requests = requests[n],
					   .n_requests = 3};
		w->gpus[number] += (int64_t)s->count * s->gpus;
	}
	struct job_shape shape = {sets, n, SPAN_NONE};
	if (fleet_shape_ref(w->f, &shape, &w->shapes[number], &err) < 0 ||
	    placer_ask_ref(w->p, w->shapes[number], &anywhere, &any_kind, &w->asks[number], &err) <
		0)
		die(err.text);
}

static struct world *world_create(uint32_t clusters, bool check)
{
	struct world *w = xcalloc(1, sizeof(*w));
	struct err err = ERR_INIT;

	w->f = fleet_create();
	w->p = placer_create(w->f);
	w->w = waiting_create(w->p);
	w->l = ledger_create(w->f);
	if (resource_table_index(fleet_resources(w->f), SPAN("nvidia.com/gpu"), &w->gpu, &err) < 0)
		die(err.text);
	for (uint32_t c = 0; c < clusters; c++)
		add_cluster(w, c);
	for (int i = 0; i < SHAPES; i++)
		add_shape(w, i);
	w->random = 1;
	w->queue = xcalloc(QUEUE, 1);
	for (size_t i = 0; i < QUEUE; i++)
		w->queue[i] = (uint8_t)(bench_random(&w->random) % SHAPES);
	w->check = check;
	if (check) {
		w->free = xcalloc(clusters, sizeof(*w->free));
		for (uint32_t c = 0; c < clusters; c++)
			for (int n = 0; n < NODES; n++) {
				int64_t *v = w->free[c][n];
				v[0] = 128000, v[1] = 1024, v[2] = 110, v[3] = GPUS_PER_NODE;
			}
	}
	return w;
}

static void world_destroy(struct world *w)
{
	for (int i = 0; i < SHAPES; i++)
		waiting_unpark(w->w, w->asks[i]);
	waiting_destroy(w->w);
	ledger_destroy(w->l);
	for (int i = 0; i < SHAPES; i++) {
		placer_ask_unref(w->p, w->asks[i]);
		fleet_shape_unref(w->f, w->shapes[i]);
	}
	placer_destroy(w->p);
	fleet_destroy(w->f);
	vec_done(&w->running);
	vec_done(&w->kept);
	free(w->free);
	free(w->queue);
	free(w);
}

/* ---- the check ---- */

static void move_pods(struct world *w, uint32_t shape, uint32_t cluster, const struct fit_slot *s,
		      int sign)
{
	const struct set_plan *set = &plans[shape][s->set];
	int64_t *v = w->free[cluster][s->node];
	int64_t n = sign * (int64_t)s->count;

	v[0] -= n * set->cpu_milli;
	v[1] -= n * set->memory_gib;
	v[2] -= n;
	v[3] -= n * set->gpus;
	if (v[0] < 0 || v[1] < 0 || v[2] < 0 || v[3] < 0)
		die("a node was given more than it has");
}

static void check_admission(struct world *w, uint32_t shape, const struct placement_decision *d)
{
	struct kept k = {.job = w->next_job, .shape = shape, .cluster = d->cluster};
	int64_t left[SETS_MAX] = {0};

	for (int i = 0; i < SETS_MAX; i++)
		left[i] = plans[shape][i].count;
	for (size_t i = 0; i < d->n_slots; i++) {
		move_pods(w, shape, d->cluster, &d->slots[i], 1);
		left[d->slots[i].set] -= d->slots[i].count;
		k.slots[k.n++] = d->slots[i];
	}
	for (int i = 0; i < SETS_MAX; i++)
		if (left[i])
			die("a gang was admitted without a node for every pod");
	vec_push(&w->kept, k);
}

static void check_finish(struct world *w, uint64_t job)
{
	for (size_t i = 0; i < w->kept.len; i++) {
		struct kept *k = &w->kept.items[i];
		if (k->job != job)
			continue;
		for (uint32_t s = 0; s < k->n; s++)
			move_pods(w, k->shape, k->cluster, &k->slots[s], -1);
		*k = w->kept.items[--w->kept.len];
		return;
	}
	die("an unknown job finished");
}

/* ---- the loop ---- */

static void finish_one(struct world *w)
{
	size_t at = bench_random(&w->random) % w->running.len;
	struct running r = w->running.items[at];

	w->running.items[at] = w->running.items[--w->running.len];
	w->gpus_used -= r.gpus;
	ledger_drop(w->l, r.job);
	if (w->check)
		check_finish(w, r.job);
}

static bool try_shape(struct world *w, uint32_t shape)
{
	struct placement_decision d;
	struct err err = ERR_INIT;

	if (!placement_decide(w->p, w->asks[shape], NULL, 0, 0, &d)) {
		waiting_park(w->w, w->asks[shape]);
		w->refused++;
		return false;
	}
	w->next_job++;
	if (w->check)
		check_admission(w, shape, &d);
	if (ledger_assume(w->l, w->next_job, w->shapes[shape], d.cluster, d.slots, d.n_slots,
			  (int64_t)w->next_job, &err) < 0)
		die(err.text);
	vec_push(&w->running, (struct running){w->next_job, w->gpus[shape]});
	w->gpus_used += w->gpus[shape];
	w->admitted++;
	while (w->gpus_used * 10 > w->gpus_all * 9)
		finish_one(w);
	return true;
}

/* Gangs of woken shapes first, then the queue; a gang whose shape waits joins those. */
static void admit_one(struct world *w)
{
	uint64_t before = w->admitted;

	while (w->admitted == before) {
		struct ask *woken = waiting_next(w->w);
		for (uint32_t i = 0; woken && i < SHAPES; i++)
			if (w->asks[i] == woken && w->waiting[i] && try_shape(w, i))
				w->waiting[i]--;
		if (w->admitted != before)
			return;
		uint8_t *slot = &w->queue[w->head++ % QUEUE];
		uint32_t shape = *slot;
		*slot = (uint8_t)(bench_random(&w->random) % SHAPES);
		if (waiting_is_parked(w->w, w->asks[shape]) || !try_shape(w, shape))
			w->waiting[shape]++;
	}
}

static void admit(struct world *w, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		admit_one(w);
}

struct figures {
	double ns_per_admission, rescored, refused, failed, mib;
};

static struct figures measure_once(uint32_t clusters, uint64_t admissions)
{
	size_t before = mallinfo2().uordblks;
	struct world *w = world_create(clusters, false);
	size_t after = mallinfo2().uordblks;
	struct placer_stats a, b;

	admit(w, (uint64_t)clusters * NODES + admissions / 4); /* fill, then settle */
	w->admitted = w->refused = 0;
	placer_stats(w->p, &a);
	uint64_t start = bench_cpu_now_ns();
	admit(w, admissions);
	uint64_t ns = bench_cpu_now_ns() - start;
	placer_stats(w->p, &b);
	double n = (double)admissions;
	struct figures f = {(double)ns / n, (double)(b.rescored - a.rescored) / n,
			    (double)w->refused / n,
			    (double)(b.failed_packings - a.failed_packings) / n,
			    (double)(after - before - QUEUE) / (1 << 20)};
	world_destroy(w);
	return f;
}

/* The best of three: whoever else is on the machine only ever adds. */
static struct figures measure(uint32_t clusters, uint64_t admissions)
{
	struct figures best = measure_once(clusters, admissions);

	for (int i = 1; i < 3; i++) {
		struct figures f = measure_once(clusters, admissions);
		if (f.ns_per_admission < best.ns_per_admission)
			best = f;
	}
	return best;
}

static void print(struct bench *b, const char *metric, const char *unit, double value,
		  double floor_value, double target, enum bench_goal goal)
{
	struct bench_row row = {"place", metric, unit, value, floor_value, target, goal};
	bench_print(b, &row);
}

int main(int argc, char **argv)
{
	static const uint32_t sizes[] = {10, 100, 1000};
	struct figures f[ARRAY_LEN(sizes)];
	struct bench b = {0};

	bench_init(&b, argc, argv);
	uint64_t n = b.quick ? 10000 : 200000;
	struct world *w = world_create(20, true);
	admit(w, b.quick ? 5000 : 40000);
	print(&b, "checked-admissions", "gangs", (double)w->admitted, 0, 0, BENCH_INFO);
	world_destroy(w);
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		char metric[64];
		snprintf(metric, sizeof(metric), "%u", sizes[i]);
		if (b.section && strcmp(b.section, metric) != 0)
			continue;
		f[i] = measure(sizes[i], n);
		snprintf(metric, sizeof(metric), "cost-%u-clusters", sizes[i]);
		print(&b, metric, "ns/admission", f[i].ns_per_admission, 0, 0, BENCH_INFO);
		snprintf(metric, sizeof(metric), "rescored-%u-clusters", sizes[i]);
		print(&b, metric, "pairs/admission", f[i].rescored, 0, 0, BENCH_INFO);
		snprintf(metric, sizeof(metric), "refused-%u-clusters", sizes[i]);
		print(&b, metric, "decisions/admission", f[i].refused, 0, 0, BENCH_INFO);
		snprintf(metric, sizeof(metric), "failed-packings-%u-clusters", sizes[i]);
		print(&b, metric, "packings/admission", f[i].failed, 0, 0, BENCH_INFO);
	}
	if (!b.section || strcmp(b.section, "1000") == 0)
		print(&b, "memory-100000-nodes", "MiB", f[2].mib, 0, 100, BENCH_AT_MOST);
	if (b.section)
		return bench_finish(&b);
	print(&b, "admissions-100-clusters", "1/s", 1e9 / f[1].ns_per_admission,
	      bench_probe_random_loads((size_t)8 << 20), 200000, BENCH_AT_LEAST);
	print(&b, "cost-1000-over-10-clusters", "ratio",
	      f[2].ns_per_admission / f[0].ns_per_admission, 0, 2, BENCH_AT_MOST);
	return bench_finish(&b);
}

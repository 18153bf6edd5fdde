/*
 * Scenario kueue-decision: what one nomination costs in Kueue's dialect: flavors, and victims where
 * quota is short, in cohorts as the published scenarios have them (reference/kueue.md section 3.2:
 * queues of 20 CPU that may borrow 100, reclaim Any, within LowerPriority), with 10^5 workloads
 * waiting in the queue that asks. A decision may cost 20 us.
 */
#include "bench.h"
#include "quota-tree/kueue_holders.h"
#include "quota-tree/kueue_preempt.h"

enum { PENDING = 100000, MAX_QUEUES = 100 };

struct world {
	struct kueue_forest *f;
	struct kueue_shapes shapes;
	uint32_t queues[MAX_QUEUES];
	size_t n_queues;
	struct VEC(struct kueue_workload *) workloads;
	struct kueue_assignment a;
	struct kueue_victims v;
};

static void check(int r, const struct err *err)
{
	if (r == 0)
		return;
	fprintf(stderr, "%s: %s\n", err->field, err->text);
	exit(2);
}

static struct world make_world(size_t n_queues, bool fair)
{
	static const struct span cpu[] = {SPAN("cpu")}, flavor[] = {SPAN("default")};
	static const struct kueue_quota quota = {20000, 100000, QUOTA_UNLIMITED};
	const struct kueue_group_spec group = {cpu, 1, flavor, 1, &quota};
	const struct kueue_flavor_spec plain = {.name = SPAN("default")};
	struct kueue_options options = kueue_options_default();
	struct err err = ERR_INIT;

	options.fair_sharing = fair;
	struct world w = {.f = kueue_forest_create(&options), .n_queues = n_queues};
	check(kueue_forest_set_flavor(w.f, &plain, &err), &err);
	for (size_t i = 0; i < n_queues; i++) {
		char name[16];
		snprintf(name, sizeof(name), "queue-%zu", i);
		const struct kueue_queue_spec spec = {
		    .name = span_of(name),
		    .cohort = SPAN("cohort"),
		    .groups = &group,
		    .n_groups = 1,
		    .weight = 1,
		    .preemption = {.within_cluster_queue = KUEUE_PREEMPT_LOWER_PRIORITY,
				   .reclaim_within_cohort = KUEUE_PREEMPT_ANY},
		};
		check(kueue_forest_set_queue(w.f, &spec, &err), &err);
	}
	for (size_t i = 0; i < n_queues; i++) {
		char name[16];
		snprintf(name, sizeof(name), "queue-%zu", i);
		w.queues[i] = kueue_forest_queue(w.f, span_of(name));
	}
	return w;
}

static struct kueue_workload *add(struct world *w, uint32_t queue, int32_t priority, int64_t cpu)
{
	const struct kueue_request request = {SPAN("cpu"), cpu};
	const struct kueue_pod_set set = {
	    .name = SPAN("main"), .count = 1, .requests = &request, .n_requests = 1};
	char name[24];
	struct kueue_workload *wl;
	struct err err = ERR_INIT;

	snprintf(name, sizeof(name), "workload-%zu", w->workloads.len);
	const struct kueue_workload_spec spec = {
	    .name = span_of(name),
	    .uid = span_of(name),
	    .priority = priority,
	    .queue_order = (int64_t)w->workloads.len,
	    .pod_sets = &set,
	    .n_pod_sets = 1,
	};
	check(kueue_workload_create(&w->shapes, w->f, queue, &spec, &wl, &err), &err);
	vec_push(&w->workloads, wl);
	return wl;
}

static void hold(struct world *w, uint32_t queue, int32_t priority, int64_t cpu)
{
	struct kueue_workload *wl = add(w, queue, priority, cpu);

	wl->uses = xcalloc(1, sizeof(*wl->uses));
	wl->uses[0] = (struct kueue_use){0, kueue_forest_resource(w->f, SPAN("cpu")), cpu};
	wl->n_uses = 1;
	wl->state = KUEUE_ADMITTED;
	wl->reserved_at = wl->queue_order;
	kueue_holders_add(w->f, wl);
}

static void world_done(struct world *w)
{
	kueue_assignment_done(&w->a);
	kueue_victims_done(&w->v);
	vec_foreach (&w->workloads, wl) {
		if (rank_has(&(*wl)->by_victim))
			kueue_holders_remove(w->f, *wl);
		kueue_workload_free(&w->shapes, *wl);
	}
	vec_done(&w->workloads);
	kueue_shapes_done(&w->shapes);
	kueue_forest_destroy(w->f);
}

/* Microseconds (of CPU) of one nomination, over workloads that wait in the first queue, in random
 * order. */
static double measure(struct world *w, size_t from, uint64_t budget_ns, enum kueue_mode expect)
{
	uint64_t rng = 5, start = bench_cpu_now_ns(), ops = 0;
	size_t n = w->workloads.len - from;

	while (bench_cpu_now_ns() - start < budget_ns) {
		for (int i = 0; i < 64; i++) {
			const struct kueue_workload *wl =
			    w->workloads.items[from + bench_random(&rng) % n];
			kueue_nominate(w->f, wl, &w->a, &w->v);
			if (w->a.mode != expect) {
				fprintf(stderr, "mode %d, expected %d\n", w->a.mode, expect);
				exit(2);
			}
		}
		ops += 64;
	}
	return (double)(bench_cpu_now_ns() - start) / (double)ops / 1e3;
}

static void report(struct bench *b, const char *metric, double us)
{
	bench_print(b, &(struct bench_row){.name = "kueue-decision",
					   .metric = metric,
					   .unit = "us",
					   .value = us,
					   .target = 20,
					   .goal = BENCH_AT_MOST});
}

static size_t wait_in_line(struct world *w, size_t n, int32_t priority, int64_t cpu)
{
	size_t from = w->workloads.len;

	for (size_t i = 0; i < n; i++)
		add(w, w->queues[0], priority, cpu);
	return from;
}

static void bench_cohort(struct bench *b, size_t n_queues, const char *const metrics[4])
{
	uint64_t budget = b->quick ? 20000000u : 300000000u;
	size_t pending = b->quick ? PENDING / 100 : PENDING, from;
	struct world w = make_world(n_queues, false);

	from = wait_in_line(&w, pending, 50, 1000);
	report(b, metrics[0], measure(&w, from, budget, KUEUE_FIT));
	world_done(&w);

	/* Full: the others hold all, the second one most of the first's. */
	w = make_world(n_queues, false);
	for (size_t q = 1; q < n_queues; q++)
		for (int i = 0; i < (q == 1 ? 40 : 20); i++)
			hold(&w, w.queues[q], 50, 1000);
	from = wait_in_line(&w, pending, 200, 20000);
	report(b, metrics[1], measure(&w, from, budget, KUEUE_RECLAIM));
	world_done(&w);

	/* All borrow a little, and nobody may go: the first's own are of higher priority. */
	w = make_world(n_queues, false);
	for (size_t q = 0; q < n_queues; q++)
		for (int i = 0; i < 20; i++)
			hold(&w, w.queues[q], 300, 1000);
	from = wait_in_line(&w, pending, 200, 20000);
	report(b, metrics[2], measure(&w, from, budget, KUEUE_NO_CANDIDATES));
	world_done(&w);

	w = make_world(n_queues, true);
	for (size_t q = 1; q < n_queues; q++)
		for (int i = 0; i < (q == 1 ? 40 : 20); i++)
			hold(&w, w.queues[q], 50, 1000);
	from = wait_in_line(&w, pending, 200, 5000);
	report(b, metrics[3], measure(&w, from, budget, KUEUE_RECLAIM));
	world_done(&w);
}

int main(int argc, char **argv)
{
	static const char *const few[] = {"fits_6_queues", "reclaims_20_6_queues",
					  "no_candidates_6_queues", "fair_reclaims_5_6_queues"};
	static const char *const many[] = {"fits_100_queues", "reclaims_20_100_queues",
					   "no_candidates_100_queues",
					   "fair_reclaims_5_100_queues"};
	struct bench b;

	bench_init(&b, argc, argv);
	bench_cohort(&b, 6, few);
	bench_cohort(&b, 100, many);
	return bench_finish(&b);
}

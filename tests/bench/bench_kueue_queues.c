/*
 * Scenario kueue-queues: the queues of Kueue's dialect with 10^2 to 10^5 workloads pending in one
 * ClusterQueue; a decision is the end of one workload, the arrival of another, and the cycle that
 * admits the next. Once with 20 shapes and 10 priorities, once with a shape for every workload. The
 * slope is that of log cost over log pending. A shape for each (nearly: 20,000 sizes by 19
 * priorities) makes as many classes, and is for information only.
 *
 * Scenario kueue-model: the two published scenarios at zero latency (kueue_model.h).
 */
#include "bench.h"
#include "kueue_model.h"
#include "kueue_world.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct crowd {
	struct kueue_world w;
	struct VEC(struct kueue_workload *) running;
	uint64_t rng, number;
	bool distinct;
	size_t admitted;
};

static void crowd_add(struct crowd *c)
{
	uint64_t r = bench_random(&c->rng);
	int64_t cpu = c->distinct ? 1000 + (int64_t)(c->number % 1000003) % 20000
				  : 1000 * (1 + (int64_t)(r % 20));
	kueue_world_add(&c->w, c->w.queues[0], c->number, (int32_t)(r >> 32) % 10,
			(int64_t)c->number, cpu, NULL);
	c->number++;
}

/* Victims stop at once. */
static void crowd_cycle(struct crowd *c)
{
	struct kueue_entry *e;
	kueue_cycle_begin(c->w.q, (int64_t)c->number);
	while ((e = kueue_cycle_next(c->w.q))) {
		if (e->kind == KUEUE_ENTRY_FITS) {
			kueue_cycle_admit(c->w.q, e, false);
			vec_push(&c->running, e->workload);
			c->admitted++;
		} else if (e->kind == KUEUE_ENTRY_PREEMPTS) {
			kueue_cycle_preempt(c->w.q, e);
		}
	}
	(void)kueue_cycle_end(c->w.q);
	for (size_t i = 0; i < c->running.len;) {
		if (c->running.items[i]->state == KUEUE_EVICTED) {
			kueue_queues_released(c->w.q, c->running.items[i]);
			c->running.items[i] = c->running.items[--c->running.len];
		} else {
			i++;
		}
	}
}

static double decision_ns(size_t pending, bool distinct, uint64_t budget_ns)
{
	struct crowd c = {.rng = 11, .distinct = distinct};
	/* 200 CPU: about 20 run. */
	c.w = kueue_world_make(1, 1, 200000, 0);
	for (size_t i = 0; i < pending; i++)
		crowd_add(&c);
	while (kueue_queues_is_due(c.w.q))
		crowd_cycle(&c);
	c.admitted = 0;
	uint64_t start = bench_cpu_now_ns(), spent = 0;
	while (spent < budget_ns) {
		for (int i = 0; i < 16; i++) {
			size_t k = bench_random(&c.rng) % c.running.len;
			kueue_queues_remove(c.w.q, c.running.items[k]);
			c.running.items[k] = c.running.items[--c.running.len];
			crowd_add(&c);
			while (kueue_queues_is_due(c.w.q))
				crowd_cycle(&c);
		}
		spent = bench_cpu_now_ns() - start;
	}
	double ns = (double)spent / (double)(c.admitted ? c.admitted : 1);
	kueue_world_done(&c.w);
	vec_done(&c.running);
	return ns;
}

static void bench_decisions(struct bench *b)
{
	static const size_t sizes[] = {100, 1000, 10000, 100000};
	static const char *const metrics[2][4] = {
	    {"decision_us_at_100_pending", "decision_us_at_1000_pending",
	     "decision_us_at_10000_pending", "decision_us_at_100000_pending"},
	    {"decision_us_at_100_shapes", "decision_us_at_1000_shapes",
	     "decision_us_at_10000_shapes", "decision_us_at_20000_shapes"}};
	static const char *const slopes[2] = {"slope_log_cost_log_pending",
					      "slope_log_cost_log_shapes"};
	uint64_t budget = b->quick ? 30000000u : 600000000u;
	for (int distinct = 0; distinct < 2; distinct++) {
		double x[ARRAY_LEN(sizes)], y[ARRAY_LEN(sizes)];
		for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
			x[i] = (double)sizes[i];
			y[i] = decision_ns(sizes[i], distinct != 0, budget);
			bench_print(
			    b, &(struct bench_row){.name = "kueue-queues",
						   .metric = metrics[distinct][i],
						   .unit = "us",
						   .value = y[i] / 1000,
						   .target = distinct ? 0 : 20,
						   .goal = distinct ? BENCH_INFO : BENCH_AT_MOST});
		}
		bench_print(b, &(struct bench_row){.name = "kueue-queues",
						   .metric = slopes[distinct],
						   .unit = "exponent",
						   .value = bench_log_slope(x, y, ARRAY_LEN(x)),
						   .target = distinct ? 0 : 0.35,
						   .goal = distinct ? BENCH_INFO : BENCH_AT_MOST});
	}
}

static void bench_model(struct bench *b, const char *scenario)
{
	const struct kueue_scenario *s = kueue_scenario_find(scenario);
	struct kueue_model_result r;
	char name[48];

	kueue_model_run(s, &r);
	snprintf(name, sizeof(name), "kueue-model-%s", s->name + strlen("kueue-"));
	double quota = (double)KUEUE_NOMINAL_MILLI / 1e3 * (double)kueue_scenario_queues(s);
	const struct bench_row rows[] = {
	    {.metric = "virtual_wall", .unit = "s", .value = r.wall, .floor = s->floor},
	    {.metric = "evictions", .unit = "", .value = (double)r.evictions},
	    {.metric = "lost_work", .unit = "cpu.s", .value = r.lost},
	    {.metric = "useful_share", .unit = "%", .value = 100 * r.useful / (quota * r.wall)},
	    {.metric = "wait_small", .unit = "s", .value = r.waits[0]},
	    {.metric = "wait_medium", .unit = "s", .value = r.waits[1]},
	    {.metric = "wait_large", .unit = "s", .value = r.waits[2]},
	    {.metric = "cpu_per_workload",
	     .unit = "us",
	     .value = r.cpu_us,
	     .target = 100,
	     .goal = BENCH_AT_MOST},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct bench_row row = rows[i];
		row.name = name;
		bench_print(b, &row);
	}
}

int main(int argc, char **argv)
{
	struct bench b;
	bench_init(&b, argc, argv);
	if (!b.section || strcmp(b.section, "kueue-queues") == 0)
		bench_decisions(&b);
	if (!b.section || strcmp(b.section, "kueue-model") == 0) {
		bench_model(&b, "kueue-baseline");
		bench_model(&b, "kueue-large");
	}
	return bench_finish(&b);
}

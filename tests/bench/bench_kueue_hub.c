/*
 * Kueue's two published scenarios through the real API: a hub with TLS and its durable store, and
 * this process, which does what Kueue's performance runner does (kueue_runner.h). Beside the wall
 * stands the zero-latency model's of the same run, beside the work lost to preemption too.
 *
 *   kueue-baseline   15,000 workloads in 30 queues
 *   kueue-large      50,000 workloads in 1,000 queues
 *   kueue-pending    what a decision costs with 100,000 that wait in one ClusterQueue
 */
#include "bench.h"
#include "kueue_crowd.h"
#include "kueue_model.h"
#include "kueue_runner.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define MEMORY_MIB 150

struct meter {
	struct fleet *fleet;
	size_t resident, private; /* peaks, bytes */
};

static void measure_memory(void *arg)
{
	struct meter *m = arg;
	size_t resident, of_files;

	process_resident(&m->fleet->hub, &resident, &of_files);
	if (resident > m->resident)
		m->resident = resident;
	if (resident - of_files > m->private)
		m->private = resident - of_files;
}

struct figures {
	const struct kueue_scenario *s;
	const struct kueue_model_result *model;
	const struct kueue_runner_result *real;
	const struct meter *meter;
	double wall_target, hub_cpu, own_cpu;
};

static void row(struct bench *b, const struct figures *f, const char *metric, const char *unit,
		double value, double floor)
{
	bench_print(b, &(struct bench_row){f->s->name, metric, unit, value, floor});
}

static void print_waits(struct bench *b, const struct figures *f)
{
	for (size_t k = 0; k < KUEUE_CLASSES; k++) {
		static const double parts[] = {50, 99};
		size_t n = f->real->admissions[k];
		char metric[48];
		double sum = 0;
		for (size_t i = 0; i < n; i++)
			sum += f->real->waits[k][i];
		snprintf(metric, sizeof(metric), "wait-%s-mean", f->s->classes[k].name);
		row(b, f, metric, "s", n ? sum / (double)n : 0, f->model->waits[k]);
		for (size_t i = 0; n && i < ARRAY_LEN(parts); i++) {
			snprintf(metric, sizeof(metric), "wait-%s-p%.0f", f->s->classes[k].name,
				 parts[i]);
			row(b, f, metric, "s", bench_percentile(f->real->waits[k], n, parts[i]), 0);
		}
	}
}

static void print_figures(struct bench *b, const struct figures *f)
{
	const struct kueue_runner_result *r = f->real;
	double admissions = 0,
	       quota = (double)KUEUE_NOMINAL_MILLI / 1e3 * (double)kueue_scenario_queues(f->s);

	for (size_t k = 0; k < KUEUE_CLASSES; k++)
		admissions += (double)r->admissions[k];
	bench_print(b, &(struct bench_row){f->s->name, "wall", "s", r->wall, f->model->wall,
					   f->wall_target, BENCH_AT_MOST});
	row(b, f, "lost-work", "cpu.s", r->lost, f->model->lost);
	row(b, f, "evictions", "", (double)r->evictions, (double)f->model->evictions);
	row(b, f, "useful-share", "%", 100 * f->model->useful / (quota * r->wall),
	    100 * f->model->useful / (quota * f->model->wall));
	row(b, f, "admissions", "", admissions, (double)kueue_scenario_workloads(f->s));
	print_waits(b, f);
	row(b, f, "creation-lag", "s", r->lag, 0);
	row(b, f, "hub-cpu", "us/admission", f->hub_cpu / admissions * 1e6, 0);
	row(b, f, "runner-cpu", "us/admission", f->own_cpu / admissions * 1e6, 0);
	bench_print(b, &(struct bench_row){f->s->name, "hub-peak-private", "MiB",
					   (double)f->meter->private / 1048576, 0, MEMORY_MIB,
					   BENCH_AT_MOST});
	bench_print(b, &(struct bench_row){f->s->name, "hub-peak-resident", "MiB",
					   (double)f->meter->resident / 1048576, 0, MEMORY_MIB,
					   BENCH_AT_MOST});
	row(b, f, "conflicts", "", (double)r->conflicts, 0);
	row(b, f, "revisions-checked", "", (double)r->revisions, 0);
	bench_print(b, &(struct bench_row){f->s->name, "invariants-broken", "",
					   (double)r->violations, 0, 0, BENCH_AT_MOST});
	if (r->violations)
		fprintf(stderr, "%s: %s\n", f->s->name, r->first_violation);
}

static void print_threads(struct bench *b, const struct figures *f, const struct process *p,
			  double admissions)
{
	struct process_thread t[PROCESS_THREADS_MAX];
	size_t n = process_threads(p, t, PROCESS_THREADS_MAX);

	for (size_t i = 0; i < n; i++) {
		char metric[48];
		snprintf(metric, sizeof(metric), "hub-cpu-%s", t[i].name);
		if (t[i].cpu > 0.05)
			row(b, f, metric, "us/admission", t[i].cpu / admissions * 1e6, 0);
	}
}

static void run(struct bench *b, const char *name, double seconds)
{
	const struct kueue_scenario *s = kueue_scenario_find(name);
	struct kueue_model_result model;
	struct kueue_runner_result real;
	struct fleet fleet;

	kueue_model_run(s, &model);
	fleet_open(&fleet);
	kueue_runner_set_up(&fleet, s);
	struct meter meter = {.fleet = &fleet};
	double hub = process_cpu(&fleet.hub), own = (double)bench_cpu_now_ns() / 1e9;
	int r = kueue_runner_run(&fleet, s, seconds, measure_memory, &meter, &real);
	struct figures f = {
	    .s = s,
	    .model = &model,
	    .real = &real,
	    .meter = &meter,
	    .wall_target = s->cohorts == 5 ? 1.05 * model.wall : 15,
	    .hub_cpu = process_cpu(&fleet.hub) - hub,
	    .own_cpu = (double)bench_cpu_now_ns() / 1e9 - own,
	};
	if (r < 0) {
		fprintf(stderr, "%s: not every workload has finished %s\n", name,
			real.first_failure);
		b->failed++;
	}
	print_figures(b, &f);
	size_t n = real.admissions[0] + real.admissions[1] + real.admissions[2];
	print_threads(b, &f, &fleet.hub, n ? (double)n : 1);
	kueue_runner_result_done(&real);
	if (!fleet_close(&fleet))
		b->failed++;
}

static void crowd(struct bench *b, bool distinct)
{
	const char *const name = distinct ? "kueue-pending-shapes" : "kueue-pending";
	size_t n = b->quick ? 10000 : 100000;
	struct kueue_crowd_result r;
	struct fleet fleet;

	fleet_open(&fleet);
	kueue_crowd_run(&fleet, n, distinct, 10, &r);
	bench_print(b, &(struct bench_row){name, "created", "1/s", r.created_per_s});
	bench_print(b, &(struct bench_row){name, "admissions", "", (double)r.admissions});
	bench_print(b, &(struct bench_row){name, "decisions", "", (double)r.decisions});
	bench_print(
	    b, &(struct bench_row){name, "decision", "us", r.decision_us, 0, 20, BENCH_AT_MOST});
	bench_print(b,
		    &(struct bench_row){name, "decisions-of-one-admission", "us", r.admission_us});
	bench_print(b, &(struct bench_row){name, "hub-cpu", "us/admission", r.hub_us});
	bench_print(b, &(struct bench_row){name, "memory-of-one-pending", "bytes",
					   ((double)r.after - (double)r.before) / (double)n});
	if (!fleet_close(&fleet))
		b->failed++;
}

int main(int argc, char **argv)
{
	struct bench b;

	bench_init(&b, argc, argv);
	signal(SIGPIPE, SIG_IGN);
	if (!b.section || strcmp(b.section, "baseline") == 0)
		run(&b, "kueue-baseline", 400);
	if (!b.section || strcmp(b.section, "large") == 0)
		run(&b, "kueue-large", 300);
	if (!b.section || strcmp(b.section, "pending") == 0) {
		crowd(&b, false);
		crowd(&b, true);
	}
	return bench_finish(&b);
}

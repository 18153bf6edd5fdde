/*
 * Scenario kueue-queues: the queues of Kueue's dialect with 10^2 to 10^5 workloads pending in one
 * ClusterQueue; a decision is the end of one workload, the arrival of another, and the cycle that
 * admits the next. Once with 20 shapes and 10 priorities, once with a shape for every workload. The
 * slope is that of log cost over log pending. With a shape for each, every one of a dozen trees is
 * 40 cold lines deep: that is what it costs, and for information only.
 *
 * Scenario kueue-model: the two published scenarios (reference/kueue.md section 3.2) at zero
 * latency: a virtual clock creates the workloads at their intervals, ends them when their time is
 * over, and stops victims at once. Wall time is virtual; what a real hub needs longer is its own
 * doing. Preempted work starts over, so the wall is above the physical floor of quota alone.
 */
#include "bench.h"
#include "quota-tree/kueue_queues.h"

static void check(int r, const struct err *err)
{
	if (r == 0)
		return;
	fprintf(stderr, "%s: %s\n", err->field, err->text);
	exit(2);
}

struct world {
	struct kueue_forest *f;
	struct kueue_queues *q;
	uint32_t *queues;
	size_t n_queues;
};

/* Queues of `nominal` milli-CPU in cohorts of so many. */
static struct world make_world(size_t cohorts, size_t width, int64_t nominal, int64_t borrowing)
{
	static const struct span cpu[] = {SPAN("cpu")}, flavor[] = {SPAN("default")};
	const struct kueue_quota quota = {nominal, borrowing, QUOTA_UNLIMITED};
	const struct kueue_group_spec group = {cpu, 1, flavor, 1, &quota};
	const struct kueue_flavor_spec plain = {.name = SPAN("default")};
	const struct kueue_options options = kueue_options_default();
	struct err err = ERR_INIT;
	struct world w = {.f = kueue_forest_create(&options), .n_queues = cohorts * width};

	w.q = kueue_queues_create(w.f, &options);
	w.queues = xcalloc(w.n_queues, sizeof(*w.queues));
	check(kueue_forest_set_flavor(w.f, &plain, &err), &err);
	for (size_t i = 0; i < w.n_queues; i++) {
		char name[32], cohort[32];
		snprintf(name, sizeof(name), "queue-%04zu", i);
		snprintf(cohort, sizeof(cohort), "cohort-%zu", i / width);
		const struct kueue_queue_spec spec = {
		    .name = span_of(name),
		    .cohort = cohorts > 0 && width > 1 ? span_of(cohort) : SPAN_NONE,
		    .groups = &group,
		    .n_groups = 1,
		    .weight = 1,
		    .preemption = {.within_cluster_queue = KUEUE_PREEMPT_LOWER_PRIORITY,
				   .reclaim_within_cohort = KUEUE_PREEMPT_ANY},
		};
		check(kueue_forest_set_queue(w.f, &spec, &err), &err);
		w.queues[i] = kueue_forest_queue(w.f, spec.name);
	}
	return w;
}

static void world_done(struct world *w)
{
	struct err err = ERR_INIT;
	check(kueue_queues_check(w->q, &err), &err);
	check(kueue_forest_check(w->f, &err), &err);
	kueue_queues_destroy(w->q);
	kueue_forest_destroy(w->f);
	free(w->queues);
}

static struct kueue_workload *add(struct world *w, uint32_t queue, uint64_t number,
				  int32_t priority, int64_t at, int64_t cpu, void *owner)
{
	char name[24];
	snprintf(name, sizeof(name), "w%010llu", (unsigned long long)number);
	const struct kueue_request request = {SPAN("cpu"), cpu};
	const struct kueue_pod_set set = {
	    .name = SPAN("main"), .count = 1, .requests = &request, .n_requests = 1};
	const struct kueue_workload_spec spec = {.name = span_of(name),
						 .uid = span_of(name),
						 .priority = priority,
						 .created = at,
						 .queue_order = at,
						 .pod_sets = &set,
						 .n_pod_sets = 1,
						 .owner = owner};
	struct kueue_workload *wl = NULL;
	struct err err = ERR_INIT;
	check(kueue_queues_add(w->q, queue, &spec, &wl, &err), &err);
	return wl;
}

/* ---- decisions with so many pending ---- */

struct crowd {
	struct world w;
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
	add(&c->w, c->w.queues[0], c->number, (int32_t)(r >> 32) % 10, (int64_t)c->number, cpu,
	    NULL);
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
	c.w = make_world(1, 1, 200000, 0);
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
	world_done(&c.w);
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

/* ---- the published scenarios on a virtual clock ---- */

struct kind { /* of workloads: so many per queue, one every interval, running so long */
	const char *name;
	size_t per_queue;
	int64_t every, runs; /* us */
	int64_t cpu;
	int32_t priority;
};

struct scenario {
	const char *name;
	size_t cohorts, width;
	struct kind kinds[3];
	double floor; /* s */
};

static const struct scenario scenarios[] = {
    {"kueue-model-baseline",
     5,
     6,
     {{"small", 350, 100000, 200000, 1000, 50},
      {"medium", 100, 500000, 500000, 5000, 100},
      {"large", 50, 1200000, 1000000, 20000, 200}},
     66.0},
    {"kueue-model-large",
     10,
     100,
     {{"small", 35, 60000, 150000, 1000, 50},
      {"medium", 11, 300000, 350000, 5000, 100},
      {"large", 4, 700000, 700000, 20000, 200}},
     4.0},
};

struct job {
	const struct kind *kind;
	struct kueue_workload *w;
	int64_t created, started, ends; /* ends: INT64_MAX while it does not run */
	size_t place;			/* in the heap of ends */
	uint64_t number;
	uint32_t queue;
};

struct sim {
	struct world w;
	const struct scenario *s;
	int64_t now;
	struct job *jobs;
	size_t n_jobs, created, finished;
	struct job **by_creation;
	struct VEC(struct job *) heap;	   /* of those that run, by end */
	struct VEC(struct job *) stopping; /* evicted in this cycle */
	size_t admissions[3], evictions;
	double useful, lost; /* CPU seconds */
	double waits[3];     /* s, to each admission, by kind */
};

static int cmp_creation(const void *a, const void *b)
{
	const struct job *x = *(struct job *const *)a, *y = *(struct job *const *)b;
	if (x->created != y->created)
		return x->created < y->created ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static bool ends_before(const struct job *a, const struct job *b)
{
	return a->ends != b->ends ? a->ends < b->ends : a->number < b->number;
}

static void heap_set(struct sim *s, size_t k, struct job *j)
{
	s->heap.items[k] = j;
	j->place = k;
}

static void heap_settle(struct sim *s, size_t k)
{
	struct job *j = s->heap.items[k];
	for (; k > 0 && ends_before(j, s->heap.items[(k - 1) / 2]); k = (k - 1) / 2)
		heap_set(s, k, s->heap.items[(k - 1) / 2]);
	for (;;) {
		size_t c = 2 * k + 1;
		if (c + 1 < s->heap.len && ends_before(s->heap.items[c + 1], s->heap.items[c]))
			c++;
		if (c >= s->heap.len || !ends_before(s->heap.items[c], j))
			break;
		heap_set(s, k, s->heap.items[c]);
		k = c;
	}
	heap_set(s, k, j);
}

static void heap_remove(struct sim *s, struct job *j)
{
	size_t k = j->place;
	struct job *last = s->heap.items[--s->heap.len];
	if (last == j)
		return;
	heap_set(s, k, last);
	heap_settle(s, k);
}

static void start(struct sim *s, struct kueue_workload *w)
{
	struct job *j = w->owner;
	j->started = s->now;
	j->ends = s->now + j->kind->runs;
	vec_push(&s->heap, j);
	j->place = s->heap.len - 1;
	heap_settle(s, j->place);
	s->admissions[j->kind - s->s->kinds]++;
	s->waits[j->kind - s->s->kinds] += (double)(s->now - j->created) / 1e6;
}

static void stop(struct sim *s, struct job *j)
{
	double ran = (double)(s->now - j->started) / 1e6;
	s->lost += ran * (double)j->kind->cpu / 1000;
	s->evictions++;
	heap_remove(s, j);
	kueue_queues_released(s->w.q, j->w);
}

/* Cycles until nothing has anything to do; victims stop between them. */
static void settle(struct sim *s)
{
	while (kueue_queues_is_due(s->w.q)) {
		struct kueue_entry *e;
		vec_clear(&s->stopping);
		kueue_cycle_begin(s->w.q, s->now);
		while ((e = kueue_cycle_next(s->w.q))) {
			if (e->kind == KUEUE_ENTRY_FITS) {
				kueue_cycle_admit(s->w.q, e, false);
				start(s, e->workload);
			} else if (e->kind == KUEUE_ENTRY_PREEMPTS) {
				vec_foreach (&e->victims.items, v) {
					if (v->workload->state != KUEUE_EVICTED)
						vec_push(&s->stopping, v->workload->owner);
				}
				kueue_cycle_preempt(s->w.q, e);
			}
		}
		(void)kueue_cycle_end(s->w.q);
		vec_foreach (&s->stopping, j)
			stop(s, *j);
	}
}

static void create_jobs(struct sim *s)
{
	const struct scenario *sc = s->s;
	size_t per_queue = 0, k = 0;
	for (size_t i = 0; i < ARRAY_LEN(sc->kinds); i++)
		per_queue += sc->kinds[i].per_queue;
	s->n_jobs = per_queue * s->w.n_queues;
	s->jobs = xcalloc(s->n_jobs, sizeof(*s->jobs));
	s->by_creation = xcalloc(s->n_jobs, sizeof(struct job *));
	for (size_t q = 0; q < s->w.n_queues; q++) {
		for (size_t i = 0; i < ARRAY_LEN(sc->kinds); i++) {
			for (size_t n = 0; n < sc->kinds[i].per_queue; n++, k++) {
				s->jobs[k] =
				    (struct job){.kind = &sc->kinds[i],
						 .created = (int64_t)(n + 1) * sc->kinds[i].every,
						 .number = k,
						 .queue = s->w.queues[q]};
				s->by_creation[k] = &s->jobs[k];
			}
		}
	}
	qsort(s->by_creation, s->n_jobs, sizeof(struct job *), cmp_creation);
}

/* The next moment at which something happens, and all that happens then. */
static void advance(struct sim *s)
{
	int64_t create = s->created < s->n_jobs ? s->by_creation[s->created]->created : INT64_MAX;
	int64_t end = s->heap.len ? s->heap.items[0]->ends : INT64_MAX;
	s->now = create < end ? create : end;
	while (s->heap.len && s->heap.items[0]->ends == s->now) {
		struct job *j = s->heap.items[0];
		s->useful += (double)j->kind->runs / 1e6 * (double)j->kind->cpu / 1000;
		s->finished++;
		heap_remove(s, j);
		kueue_queues_remove(s->w.q, j->w);
	}
	while (s->created < s->n_jobs && s->by_creation[s->created]->created == s->now) {
		struct job *j = s->by_creation[s->created++];
		j->w =
		    add(&s->w, j->queue, j->number, j->kind->priority, j->created, j->kind->cpu, j);
	}
	settle(s);
}

static void print_model(struct bench *b, const struct sim *s, double cpu_ns)
{
	const struct scenario *sc = s->s;
	double wall = (double)s->now / 1e6, quota = 20.0 * (double)s->w.n_queues;
	const struct bench_row rows[] = {
	    {.metric = "virtual_wall", .unit = "s", .value = wall, .floor = sc->floor},
	    {.metric = "evictions", .unit = "", .value = (double)s->evictions},
	    {.metric = "lost_work", .unit = "cpu.s", .value = s->lost},
	    {.metric = "useful_share", .unit = "%", .value = 100 * s->useful / (quota * wall)},
	    {.metric = "wait_small", .unit = "s", .value = s->waits[0] / (double)s->admissions[0]},
	    {.metric = "wait_medium", .unit = "s", .value = s->waits[1] / (double)s->admissions[1]},
	    {.metric = "wait_large", .unit = "s", .value = s->waits[2] / (double)s->admissions[2]},
	    {.metric = "cpu_per_workload",
	     .unit = "us",
	     .value = cpu_ns / 1000 / (double)s->n_jobs,
	     .target = 100,
	     .goal = BENCH_AT_MOST},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct bench_row row = rows[i];
		row.name = sc->name;
		bench_print(b, &row);
	}
}

static void bench_model(struct bench *b, const struct scenario *sc)
{
	struct sim s = {.s = sc, .w = make_world(sc->cohorts, sc->width, 20000, 100000)};
	create_jobs(&s);
	uint64_t start_cpu = bench_cpu_now_ns();
	while (s.finished < s.n_jobs)
		advance(&s);
	print_model(b, &s, (double)(bench_cpu_now_ns() - start_cpu));
	world_done(&s.w);
	vec_done(&s.heap);
	vec_done(&s.stopping);
	free(s.by_creation);
	free(s.jobs);
}

int main(int argc, char **argv)
{
	struct bench b;
	bench_init(&b, argc, argv);
	if (!b.section || strcmp(b.section, "kueue-queues") == 0)
		bench_decisions(&b);
	if (!b.section || strcmp(b.section, "kueue-model") == 0) {
		for (size_t i = 0; i < ARRAY_LEN(scenarios); i++)
			bench_model(&b, &scenarios[i]);
	}
	return bench_finish(&b);
}

#ifndef TESTS_UNIT_POLICIES_FIXTURE_H
#define TESTS_UNIT_POLICIES_FIXTURE_H
/*
 * Small fleets in a few words, for the tests of policies: nodes have cpu (milli), devices ("gpu")
 * and pod slots.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "policies/fleet.h"
#include "policies/ledger.h"
#include "policies/placer.h"
#include "policies/waiting.h"

struct world {
	struct fleet *f;
	struct placer *p;
	struct waiting *w;
	struct ledger *l;
	uint32_t gpu;
	struct err err;
};

static inline struct world world_create(void)
{
	struct world w = {.f = fleet_create()};

	w.p = placer_create(w.f);
	w.w = waiting_create(w.p);
	w.l = ledger_create(w.f);
	assert_int_equal(
	    resource_table_index(fleet_resources(w.f), SPAN("nvidia.com/gpu"), &w.gpu, &w.err), 0);
	return w;
}

static inline void world_done(struct world *w)
{
	assert_null(fleet_verify(w->f));
	waiting_destroy(w->w);
	ledger_destroy(w->l);
	placer_destroy(w->p);
	fleet_destroy(w->f);
}

static inline uint32_t add_cluster(struct world *w, const char *name)
{
	struct cluster_spec spec = {.name = span_of(name), .ready = true, .fresh = true};
	uint32_t c;

	assert_int_equal(cluster_view_upsert(w->f, &spec, &c, &w->err), 0);
	return c;
}

/* A ready node with cpu, devices and 110 slots; `more` may add labels and taints (or be NULL). */
static inline uint32_t add_node(struct world *w, uint32_t cluster, const char *name,
				int64_t cpu_milli, int64_t gpus, const struct node_spec *more)
{
	struct amount all[] = {{RESOURCE_CPU, cpu_milli}, {w->gpu, gpus}, {RESOURCE_PODS, 110}};
	struct node_spec spec = more ? *more : (struct node_spec){.ready = true};
	uint32_t n;

	spec.name = span_of(name);
	spec.allocatable = all;
	spec.n_allocatable = 3;
	assert_int_equal(cluster_view_node_upsert(w->f, cluster, &spec, &n, &w->err), 0);
	return n;
}

static inline void add_nodes(struct world *w, uint32_t cluster, int count, int64_t cpu_milli,
			     int64_t gpus)
{
	char name[32];
	uint32_t before, usable;

	cluster_view_node_counts(w->f, cluster, &before, &usable);
	for (int i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "n%u", before + (uint32_t)i);
		add_node(w, cluster, name, cpu_milli, gpus, NULL);
	}
}

/* A pod set that asks for cpu and devices. `buf` holds its requests. */
static inline struct pod_set pods(const struct world *w, const char *name, int64_t count,
				  int64_t cpu_milli, int64_t gpus, struct request buf[2])
{
	buf[0] = (struct request){RESOURCE_CPU, cpu_milli};
	buf[1] = (struct request){w->gpu, gpus};
	return (struct pod_set){
	    .name = span_of(name), .count = count, .requests = buf, .n_requests = 2};
}

static inline struct shape *shape_of(struct world *w, const struct pod_set *sets, size_t n,
				     const char *topology)
{
	struct job_shape spec = {sets, n, span_of(topology)};
	struct shape *s;

	assert_int_equal(fleet_shape_ref(w->f, &spec, &s, &w->err), 0);
	return s;
}

/* One set of `count` pods. */
static inline struct shape *gang(struct world *w, int64_t count, int64_t cpu_milli, int64_t gpus)
{
	struct request buf[2];
	struct pod_set s = pods(w, "worker", count, cpu_milli, gpus, buf);

	return shape_of(w, &s, 1, NULL);
}

static inline struct ask *ask_of(struct world *w, struct shape *s,
				 const struct placement_spec *placement)
{
	static const struct placement_spec anywhere;
	static const struct api_kind any;
	struct ask *a;

	assert_int_equal(
	    placer_ask_ref(w->p, s, placement ? placement : &anywhere, &any, &a, &w->err), 0);
	return a;
}

static inline uint32_t decide(struct world *w, struct ask *a)
{
	struct placement_decision d;

	placement_decide(w->p, a, NULL, 0, 0, &d);
	return d.cluster;
}

/* Decides and assumes; the cluster, or CLUSTER_NONE. */
static inline uint32_t place(struct world *w, struct ask *a, uint64_t job)
{
	struct placement_decision d;

	if (!placement_decide(w->p, a, NULL, 0, 0, &d))
		return CLUSTER_NONE;
	assert_int_equal(
	    ledger_assume(w->l, job, ask_shape(a), d.cluster, d.slots, d.n_slots, 0, &w->err), 0);
	return d.cluster;
}

/* A pod of cpu and devices. */
static inline void charge_pod(struct world *w, uint32_t cluster, uint32_t node, int64_t cpu_milli,
			      int64_t gpus, bool come)
{
	struct amount a[] = {{RESOURCE_CPU, cpu_milli}, {w->gpu, gpus}};
	struct pod_usage u = {a, 2, false};

	if (come)
		cluster_view_pod_charge(w->f, cluster, node, &u);
	else
		cluster_view_pod_release(w->f, cluster, node, &u);
}

static inline uint64_t next_random(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15ULL);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

static inline int64_t below(uint64_t *state, int64_t n)
{
	return (int64_t)(next_random(state) % (uint64_t)n);
}

#endif

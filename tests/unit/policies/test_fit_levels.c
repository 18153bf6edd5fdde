/*
 * Topology by levels: required, preferred, unconstrained, slices. Nodes are blocks of racks of
 * hosts; a pod asks one device, so the devices of a host are the pods that it takes.
 */
#include "fixture.h"
#include "policies/fit.h"

#define BLOCK SPAN("cloud.example.com/block")
#define RACK  SPAN("cloud.example.com/rack")
#define HOST  SPAN("kubernetes.io/hostname")
#define POOL  SPAN("cloud.google.com/gke-nodepool")

struct host {
	const char *block, *rack, *name;
	int64_t devices;
};

static uint32_t add_host(struct world *w, uint32_t c, struct host h)
{
	struct label labels[] = {
	    {HOST, span_of(h.name)}, {BLOCK, span_of(h.block)}, {RACK, span_of(h.rack)}};
	struct node_spec more = {.labels = labels, .n_labels = h.rack ? 3 : 1, .ready = true};
	return add_node(w, c, h.name, 64000, h.devices, &more);
}

static struct pod_topology topology(enum pod_topology_mode mode, uint32_t level)
{
	static const struct span levels[] = {{"cloud.example.com/block", 23},
					     {"cloud.example.com/rack", 22},
					     {"kubernetes.io/hostname", 22}};
	return (struct pod_topology){.mode = mode, .levels = levels, .n_levels = 3, .level = level};
}

/* A gang of one set. */
static struct shape *leveled(struct world *w, int64_t count, struct pod_topology t)
{
	struct request buf[2];
	struct pod_set s = pods(w, "worker", count, 100, 1, buf);
	s.topology = t;
	return shape_of(w, &s, 1, NULL);
}

/* What it got as "host*pods ..." in order of hosts, "-" when it does not fit. Takes the shape. */
static void expect(struct world *w, uint32_t c, struct shape *shape, const char *want)
{
	struct fit_result r;
	char text[256] = "-";
	if (fit_gang(w->f, c, shape, FIT_NODES, &r)) {
		int64_t got[64] = {0};
		size_t len = 0;
		for (size_t i = 0; i < r.n_slots; i++)
			got[r.slots[i].node] += r.slots[i].count;
		for (uint32_t i = 0; i < 64; i++)
			if (got[i])
				len += (size_t)snprintf(
				    text + len, sizeof(text) - len, "%s%.*s*%d", len ? " " : "",
				    SPAN_ARGS(cluster_view_node_name(w->f, c, i)), (int)got[i]);
	}
	assert_string_equal(text, want);
	fleet_shape_unref(w->f, shape);
}

enum { AT_BLOCK, AT_RACK, AT_HOST };

/* Block A: rack 1 with 4 + 4, rack 2 with 3 + 2. Block B: rack 1 with 2 + 2. */
static uint32_t small_site(struct world *w)
{
	static const struct host hosts[] = {
	    {"A", "r1", "a1", 4}, {"A", "r1", "a2", 4}, {"A", "r2", "a3", 3},
	    {"A", "r2", "a4", 2}, {"B", "r1", "b1", 2}, {"B", "r1", "b2", 2},
	};
	uint32_t c = add_cluster(w, "c1");
	for (size_t i = 0; i < ARRAY_LEN(hosts); i++)
		add_host(w, c, hosts[i]);
	return c;
}

static void required_takes_the_tightest_domain(void **state)
{
	(void)state;
	struct world w = world_create();
	uint32_t c = small_site(&w);
	/* Racks hold 8, 5 and 4. */
	expect(&w, c, leveled(&w, 4, topology(POD_TOPOLOGY_REQUIRED, AT_RACK)), "b1*2 b2*2");
	/* In A/r2 the host with most room first, the rest to the tightest. */
	expect(&w, c, leveled(&w, 5, topology(POD_TOPOLOGY_REQUIRED, AT_RACK)), "a3*3 a4*2");
	expect(&w, c, leveled(&w, 6, topology(POD_TOPOLOGY_REQUIRED, AT_RACK)), "a1*4 a2*2");
	expect(&w, c, leveled(&w, 3, topology(POD_TOPOLOGY_REQUIRED, AT_HOST)), "a3*3");
	/* Blocks hold 13 and 4. */
	expect(&w, c, leveled(&w, 13, topology(POD_TOPOLOGY_REQUIRED, AT_BLOCK)),
	       "a1*4 a2*4 a3*3 a4*2");
	world_done(&w);
}

static void required_does_not_spread(void **state)
{
	(void)state;
	struct world w = world_create();
	uint32_t c = small_site(&w);
	struct shape *s = leveled(&w, 9, topology(POD_TOPOLOGY_REQUIRED, AT_RACK));
	struct fit_misfit why;
	fit_explain(w.f, c, s, FIT_NODES, &why);
	assert_int_equal(why.reason, FIT_FRAGMENTED);
	assert_true(why.topology);
	assert_int_equal(why.set, 0);
	assert_int_equal(why.need, 9);
	assert_int_equal(why.largest, 8);
	expect(&w, c, s, "-");
	expect(&w, c, leveled(&w, 14, topology(POD_TOPOLOGY_REQUIRED, AT_BLOCK)), "-");
	world_done(&w);
}

static void preferred_climbs_and_then_spreads(void **state)
{
	(void)state;
	struct world w = world_create();
	uint32_t c = small_site(&w);
	expect(&w, c, leveled(&w, 5, topology(POD_TOPOLOGY_PREFERRED, AT_RACK)), "a3*3 a4*2");
	/* No rack holds 9, block A does: rack 1 whole, then the tightest for one more. */
	expect(&w, c, leveled(&w, 9, topology(POD_TOPOLOGY_PREFERRED, AT_RACK)), "a1*4 a2*4 a4*1");
	/* No block holds 15: A whole, two in B. */
	expect(&w, c, leveled(&w, 15, topology(POD_TOPOLOGY_PREFERRED, AT_RACK)),
	       "a1*4 a2*4 a3*3 a4*2 b1*2");
	expect(&w, c, leveled(&w, 18, topology(POD_TOPOLOGY_PREFERRED, AT_HOST)), "-");
	world_done(&w);
}

static void spreading_takes_most_room_first_and_a_tight_last_one(void **state)
{
	(void)state;
	static const struct host hosts[] = {
	    {"A", "r", "a", 4}, {"B", "r", "b", 3}, {"C", "r", "c", 2}, {"D", "r", "d", 2}};
	struct world w = world_create();
	uint32_t c = add_cluster(&w, "c1");
	for (size_t i = 0; i < ARRAY_LEN(hosts); i++)
		add_host(&w, c, hosts[i]);
	expect(&w, c, leveled(&w, 6, topology(POD_TOPOLOGY_PREFERRED, AT_BLOCK)), "a*4 c*2");
	world_done(&w);
}

static void unconstrained_takes_least_room_first(void **state)
{
	(void)state;
	static const struct host hosts[] = {
	    {"A", "r", "h1", 1}, {"A", "r", "h2", 3}, {"B", "r", "h3", 2}};
	struct world w = world_create();
	uint32_t c = add_cluster(&w, "c1");
	for (size_t i = 0; i < ARRAY_LEN(hosts); i++)
		add_host(&w, c, hosts[i]);
	const struct pod_topology t = topology(POD_TOPOLOGY_UNCONSTRAINED, 0);
	expect(&w, c, leveled(&w, 2, t), "h3*2"); /* the least that holds both */
	expect(&w, c, leveled(&w, 4, t), "h1*1 h2*1 h3*2");
	expect(&w, c, leveled(&w, 6, t), "h1*1 h2*3 h3*2");
	expect(&w, c, leveled(&w, 7, t), "-");
	world_done(&w);
}

static void nodes_without_a_level_are_in_no_domain(void **state)
{
	(void)state;
	struct world w = world_create();
	uint32_t c = small_site(&w);
	add_host(&w, c, (struct host){.name = "loose", .devices = 20});
	expect(&w, c, leveled(&w, 18, topology(POD_TOPOLOGY_PREFERRED, AT_RACK)), "-");
	expect(&w, c, gang(&w, 18, 100, 1), "a1*4 a2*4 a3*3 a4*2 b1*2 b2*2 loose*1");
	struct pod_topology t = topology(POD_TOPOLOGY_REQUIRED, 0);
	static const struct span unknown[] = {{"no.such/label", 13}};
	t.levels = unknown;
	t.n_levels = 1;
	expect(&w, c, leveled(&w, 1, t), "-");
	world_done(&w);
}

/* ---- slices ---- */

/* TPU slices of 2x4: a node pool is two hosts of four chips that are one unit. */
static uint32_t tpu_site(struct world *w, int pools)
{
	uint32_t c = add_cluster(w, "c1");
	for (int i = 0; i < pools * 2; i++) {
		char name[16], pool[16];
		snprintf(name, sizeof(name), "host-%d", i);
		snprintf(pool, sizeof(pool), "pool-%d", i / 2);
		struct label labels[] = {{POOL, span_of(pool)},
					 {SPAN("cloud.google.com/gke-tpu-topology"), SPAN("2x4")},
					 {HOST, span_of(name)}};
		struct node_spec more = {.labels = labels, .n_labels = 3, .ready = true};
		add_node(w, c, name, 8000, 4, &more);
	}
	return c;
}

static struct shape *tpu_job(struct world *w, int64_t hosts)
{
	static const struct span levels[] = {{"cloud.google.com/gke-nodepool", 29},
					     {"kubernetes.io/hostname", 22}};
	struct request buf[2];
	struct pod_set s = pods(w, "worker", hosts, 1000, 4, buf);
	s.topology = (struct pod_topology){.mode = POD_TOPOLOGY_SLICES,
					   .levels = levels,
					   .n_levels = 2,
					   .slice_level = 0,
					   .slice_size = 2};
	return shape_of(w, &s, 1, NULL);
}

static void a_tpu_slice_of_two_hosts_is_one_unit(void **state)
{
	(void)state;
	struct world w = world_create();
	uint32_t c = tpu_site(&w, 3);
	charge_pod(&w, c, 2, 0, 4, true); /* half of pool-1 is in use */
	expect(&w, c, tpu_job(&w, 2), "host-0*1 host-1*1");
	expect(&w, c, tpu_job(&w, 4), "host-0*1 host-1*1 host-4*1 host-5*1");
	/* Five hosts are free, and only two slices. */
	struct shape *s = tpu_job(&w, 6);
	struct fit_misfit why;
	fit_explain(w.f, c, s, FIT_NODES, &why);
	assert_int_equal(why.reason, FIT_INSUFFICIENT_FREE);
	expect(&w, c, s, "-");
	charge_pod(&w, c, 2, 0, 4, false);
	expect(&w, c, tpu_job(&w, 6), "host-0*1 host-1*1 host-2*1 host-3*1 host-4*1 host-5*1");
	world_done(&w);
}

static void a_slice_is_never_split(void **state)
{
	(void)state;
	struct world w = world_create();
	uint32_t c = tpu_site(&w, 2);
	charge_pod(&w, c, 0, 0, 4, true);
	charge_pod(&w, c, 3, 0, 1, true);
	struct shape *s = tpu_job(&w, 2);
	struct fit_misfit why;
	fit_explain(w.f, c, s, FIT_NODES, &why);
	assert_int_equal(why.reason, FIT_FRAGMENTED);
	assert_int_equal(why.need, 2);
	assert_int_equal(why.largest, 0);
	expect(&w, c, s, "-");
	world_done(&w);
}

static void slices_in_racks_inside_one_block(void **state)
{
	(void)state;
	struct world w = world_create();
	uint32_t c = small_site(&w);
	struct pod_topology t = topology(POD_TOPOLOGY_REQUIRED, AT_BLOCK);
	t.slice_level = AT_RACK;
	t.slice_size = 4;
	/* Racks hold 2, 1 and 1 slices of 4: 12 pods are three, in block A; in a rack the host
	 * with least room first. */
	expect(&w, c, leveled(&w, 12, t), "a1*4 a2*4 a3*2 a4*2");
	expect(&w, c, leveled(&w, 4, t), "b1*2 b2*2");
	expect(&w, c, leveled(&w, 16, t), "-");
	t.mode = POD_TOPOLOGY_PREFERRED;
	expect(&w, c, leveled(&w, 16, t), "a1*4 a2*4 a3*2 a4*2 b1*2 b2*2");
	world_done(&w);
}

/* Layers: 8 pods in one block, of which each 4 in one rack, of which each 2 on one host. */
static void slices_inside_slices_are_whole_at_every_level(void **state)
{
	(void)state;
	static const struct host hosts[] = {
	    {"A", "r1", "a1", 3}, {"A", "r1", "a2", 3}, {"A", "r2", "a3", 3},
	    {"A", "r2", "a4", 1}, {"A", "r3", "a5", 2}, {"A", "r3", "a6", 2},
	};
	struct world w = world_create();
	uint32_t c = add_cluster(&w, "c1");
	for (size_t i = 0; i < ARRAY_LEN(hosts); i++)
		add_host(&w, c, hosts[i]);
	struct pod_topology t = topology(POD_TOPOLOGY_SLICES, 0);
	t.slice_level = AT_BLOCK;
	t.slice_size = 8;
	t.n_inner = 2;
	t.inner[0] = (struct pod_topology_layer){AT_RACK, 4};
	t.inner[1] = (struct pod_topology_layer){AT_HOST, 2};
	/* Rack 1 holds two pairs, rack 3 too; rack 2 with 3 + 1 only one, so no four. */
	expect(&w, c, leveled(&w, 8, t), "a1*2 a2*2 a5*2 a6*2");
	expect(&w, c, leveled(&w, 16, t), "-");
	t.n_inner = 1; /* without pairs rack 2 has four */
	t.slice_size = 12;
	expect(&w, c, leveled(&w, 12, t), "a1*3 a2*1 a3*3 a4*1 a5*2 a6*2");
	world_done(&w);
}

/* ---- several sets ---- */

/* A leader and its workers: one domain holds both, though each alone would fit a tighter one. */
static void a_group_goes_to_one_domain(void **state)
{
	(void)state;
	struct world w = world_create();
	uint32_t c = small_site(&w);
	struct request one[2], many[2];
	struct pod_set sets[] = {pods(&w, "leader", 1, 100, 1, one),
				 pods(&w, "worker", 4, 100, 1, many)};
	for (size_t i = 0; i < 2; i++) {
		sets[i].topology = topology(POD_TOPOLOGY_REQUIRED, AT_RACK);
		sets[i].topology.group = 1;
	}
	/* B/r1 holds the four workers and nothing beside them; A/r2 holds five. */
	expect(&w, c, shape_of(&w, sets, 2, NULL), "a3*3 a4*2");
	sets[1].count = 8;
	/* Rack 1 of A holds eight, not nine. */
	struct shape *s = shape_of(&w, sets, 2, NULL);
	struct fit_misfit why;
	fit_explain(w.f, c, s, FIT_NODES, &why);
	assert_true(why.topology);
	expect(&w, c, s, "-");
	for (size_t i = 0; i < 2; i++)
		sets[i].topology.mode = POD_TOPOLOGY_PREFERRED;
	/* Up to the block. */
	struct fit_result r;
	s = shape_of(&w, sets, 2, NULL);
	assert_true(fit_gang(w.f, c, s, FIT_NODES, &r));
	for (size_t i = 0; i < r.n_slots; i++)
		assert_true(r.slots[i].node < 4);
	fleet_shape_unref(w.f, s);
	sets[1].count = 16; /* only the whole site */
	s = shape_of(&w, sets, 2, NULL);
	assert_true(fit_gang(w.f, c, s, FIT_NODES, &r));
	fleet_shape_unref(w.f, s);
	world_done(&w);
}

/* Two pods of 3 would take the host of 6 first, and leave none for the pod of 6: whichever comes
 * first in the job, the sets are packed in the order that works. */
static void a_group_is_packed_in_both_orders(void **state)
{
	(void)state;
	struct world w = world_create();
	uint32_t c = add_cluster(&w, "c");
	struct request one[2], many[2];
	const struct pod_set big = pods(&w, "big", 1, 100, 6, one),
			     small = pods(&w, "small", 2, 100, 3, many);

	add_host(&w, c, (struct host){"A", "r1", "h1", 6});
	add_host(&w, c, (struct host){"A", "r1", "h2", 3});
	add_host(&w, c, (struct host){"A", "r1", "h3", 3});
	for (int turned = 0; turned < 2; turned++) {
		struct pod_set sets[] = {turned ? small : big, turned ? big : small};
		for (size_t i = 0; i < 2; i++) {
			sets[i].topology = topology(POD_TOPOLOGY_REQUIRED, AT_RACK);
			sets[i].topology.group = 1;
		}
		expect(&w, c, shape_of(&w, sets, 2, NULL), "h1*1 h2*1 h3*1");
	}
	world_done(&w);
}

static void earlier_sets_count_against_later_ones(void **state)
{
	(void)state;
	struct world w = world_create();
	uint32_t c = small_site(&w);
	struct request buf[3][2];
	struct pod_set sets[3];
	for (size_t i = 0; i < 3; i++) {
		sets[i] = pods(&w, "set", 4, 100, 1, buf[i]);
		sets[i].topology = topology(POD_TOPOLOGY_REQUIRED, AT_RACK);
	}
	/* B/r1 holds the first, A/r2 the second, A/r1 the third. */
	expect(&w, c, shape_of(&w, sets, 3, NULL), "a1*4 a3*3 a4*1 b1*2 b2*2");
	sets[1].topology = (struct pod_topology){0};
	sets[1].count = 12;
	/* Without a topology: what is left, small holes first; the third finds no rack any more. */
	expect(&w, c, shape_of(&w, sets, 3, NULL), "-");
	expect(&w, c, shape_of(&w, sets, 2, NULL), "a1*4 a2*3 a3*3 a4*2 b1*2 b2*2");
	world_done(&w);
}

static void a_topology_that_makes_no_sense_is_refused(void **state)
{
	(void)state;
	struct world w = world_create();
	struct request buf[2];
	struct pod_set s = pods(&w, "worker", 5, 100, 1, buf);
	struct job_shape shape = {&s, 1, SPAN_NONE};
	struct err err = ERR_INIT;
	s.topology = topology(POD_TOPOLOGY_REQUIRED, 3);
	assert_int_equal(job_shape_check(&shape, &err), err_errno(ERR_INVALID));
	assert_string_equal(err.field, "podSets[0].topologyRequest");
	s.topology = topology(POD_TOPOLOGY_REQUIRED, AT_HOST);
	s.topology.slice_level = AT_RACK;
	s.topology.slice_size = 5;
	assert_int_equal(job_shape_check(&shape, &err), err_errno(ERR_INVALID));
	assert_string_equal(err.text, "slices cannot be wider than the domain of the whole set");
	s.topology = topology(POD_TOPOLOGY_SLICES, 0);
	s.topology.slice_size = 2;
	assert_int_equal(job_shape_check(&shape, &err), err_errno(ERR_INVALID));
	assert_string_equal(err.text, "5 pods cannot be split into slices of 2");
	s.count = 8;
	s.topology = topology(POD_TOPOLOGY_SLICES, 0);
	s.topology.slice_level = AT_RACK;
	s.topology.slice_size = 4;
	s.topology.n_inner = 1;
	s.topology.inner[0] = (struct pod_topology_layer){AT_BLOCK, 2};
	assert_int_equal(job_shape_check(&shape, &err), err_errno(ERR_INVALID));
	assert_string_equal(err.text, "layers of slices must go from wide to narrow levels");
	s.topology.inner[0] = (struct pod_topology_layer){AT_HOST, 3};
	assert_int_equal(job_shape_check(&shape, &err), err_errno(ERR_INVALID));
	assert_string_equal(err.text, "slices of 4 cannot be split into slices of 3");
	world_done(&w);
}

static void shapes_differ_by_their_topology(void **state)
{
	(void)state;
	struct world w = world_create();
	struct shape *a = leveled(&w, 2, topology(POD_TOPOLOGY_REQUIRED, AT_RACK)),
		     *b = leveled(&w, 2, topology(POD_TOPOLOGY_REQUIRED, AT_BLOCK)),
		     *c = leveled(&w, 2, topology(POD_TOPOLOGY_REQUIRED, AT_RACK));
	assert_int_not_equal(shape_id(a), shape_id(b));
	assert_ptr_equal(a, c);
	fleet_shape_unref(w.f, a);
	fleet_shape_unref(w.f, b);
	fleet_shape_unref(w.f, c);
	world_done(&w);
}

/* Whoever waits for room in one rack is woken when a rack has it, not for any room. */
static void a_waiting_gang_is_woken_by_room_in_one_domain(void **state)
{
	(void)state;
	struct world w = world_create();
	uint32_t c = small_site(&w);
	for (uint32_t n = 0; n < 6; n++)
		charge_pod(&w, c, n, 0, n < 4 ? 2 : 1, true);
	struct shape *s = leveled(&w, 5, topology(POD_TOPOLOGY_REQUIRED, AT_RACK));
	struct ask *a = ask_of(&w, s, NULL);
	fleet_shape_unref(w.f, s);
	assert_int_equal(decide(&w, a), CLUSTER_NONE);
	waiting_park(w.w, a);
	charge_pod(&w, c, 4, 0, 1, false);
	assert_null(waiting_next(w.w));
	charge_pod(&w, c, 1, 0, 2, false);
	assert_ptr_equal(waiting_next(w.w), a);
	assert_int_equal(decide(&w, a), c);
	placer_ask_unref(w.p, a);
	world_done(&w);
}

/* ---- random ---- */

enum { MAX_HOSTS = 8 };

struct site {
	int n;
	char block[MAX_HOSTS], rack[MAX_HOSTS];
	int64_t room[MAX_HOSTS];
};

/* Domain of a host at a level, as a small number. */
static int domain_of(const struct site *s, int host, uint32_t level)
{
	return level == AT_BLOCK  ? s->block[host]
	       : level == AT_RACK ? s->block[host] * 4 + s->rack[host]
				  : 100 + host;
}

static int64_t room_in(const struct site *s, uint32_t level, int domain)
{
	int64_t room = 0;
	for (int i = 0; i < s->n; i++)
		room += domain_of(s, i, level) == domain ? s->room[i] : 0;
	return room;
}

/* Slices that fit below one domain of `level`; each slice in one domain of `slice_level`. */
static int64_t slices_in(const struct site *s, uint32_t level, int domain, uint32_t slice_level,
			 int64_t size)
{
	int64_t slices = 0;
	bool seen[200] = {false};
	for (int i = 0; i < s->n; i++) {
		int d = domain_of(s, i, slice_level);
		if ((level != UINT32_MAX && domain_of(s, i, level) != domain) || seen[d])
			continue;
		seen[d] = true;
		slices += room_in(s, slice_level, d) / size;
	}
	return slices;
}

static bool should_fit(const struct site *s, int64_t count, const struct pod_topology *t,
		       int64_t size, uint32_t slice_level)
{
	if (t->mode != POD_TOPOLOGY_REQUIRED)
		return slices_in(s, UINT32_MAX, 0, slice_level, size) >= count / size;
	for (int i = 0; i < s->n; i++)
		if (slices_in(s, t->level, domain_of(s, i, t->level), slice_level, size) >=
		    count / size)
			return true;
	return false;
}

static void check_placed(const struct site *s, const struct fit_result *r, int64_t count,
			 const struct pod_topology *t, int64_t size, uint32_t slice_level)
{
	int64_t got[MAX_HOSTS] = {0}, in_slices[200] = {0}, sum = 0;
	int domain = -1;
	for (size_t i = 0; i < r->n_slots; i++)
		got[r->slots[i].node] += r->slots[i].count;
	for (int i = 0; i < s->n; i++) {
		assert_true(got[i] <= s->room[i]);
		sum += got[i];
		in_slices[domain_of(s, i, slice_level)] += got[i];
		if (!got[i] || t->mode != POD_TOPOLOGY_REQUIRED)
			continue;
		assert_true(domain < 0 || domain == domain_of(s, i, t->level));
		domain = domain_of(s, i, t->level);
	}
	assert_int_equal(sum, count);
	for (int i = 0; i < 200; i++)
		assert_int_equal(in_slices[i] % size, 0);
}

static struct site make_site(struct world *w, uint32_t c, uint64_t *rnd)
{
	struct site s = {.n = 1 + (int)below(rnd, MAX_HOSTS)};
	for (int i = 0; i < s.n; i++) {
		char block[8], rack[8], name[16];
		s.block[i] = (char)below(rnd, 3);
		s.rack[i] = (char)below(rnd, 3);
		s.room[i] = below(rnd, 6);
		snprintf(block, sizeof(block), "b%d", s.block[i]);
		snprintf(rack, sizeof(rack), "r%d", s.rack[i]);
		snprintf(name, sizeof(name), "h%d", i);
		add_host(w, c, (struct host){block, rack, name, s.room[i]});
	}
	return s;
}

static void what_could_be_placed_is_and_as_asked(void **state)
{
	(void)state;
	uint64_t rnd = 5;
	for (int round = 0; round < 1500; round++) {
		struct world w = world_create();
		uint32_t c = add_cluster(&w, "c1");
		struct site s = make_site(&w, c, &rnd);
		struct pod_topology t =
		    topology(POD_TOPOLOGY_REQUIRED + (enum pod_topology_mode)below(&rnd, 4),
			     (uint32_t)below(&rnd, 3));
		t.slice_size =
		    (uint32_t)(t.mode == POD_TOPOLOGY_SLICES ? 1 + below(&rnd, 3) : below(&rnd, 3));
		bool ranked = t.mode == POD_TOPOLOGY_REQUIRED || t.mode == POD_TOPOLOGY_PREFERRED;
		t.slice_level =
		    (uint32_t)(ranked ? t.level + below(&rnd, 3 - t.level) : below(&rnd, 3));
		int64_t size = t.slice_size > 1 ? t.slice_size : 1;
		uint32_t slice_level = size > 1 ? t.slice_level : AT_HOST;
		int64_t count = size * (1 + below(&rnd, 8));
		struct shape *shape = leveled(&w, count, t);
		struct fit_result r;
		bool fits = fit_gang(w.f, c, shape, FIT_NODES, &r);
		assert_int_equal(fits, should_fit(&s, count, &t, size, slice_level));
		if (fits)
			check_placed(&s, &r, count, &t, size, slice_level);
		fleet_shape_unref(w.f, shape);
		world_done(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(required_takes_the_tightest_domain),
	    cmocka_unit_test(required_does_not_spread),
	    cmocka_unit_test(preferred_climbs_and_then_spreads),
	    cmocka_unit_test(spreading_takes_most_room_first_and_a_tight_last_one),
	    cmocka_unit_test(unconstrained_takes_least_room_first),
	    cmocka_unit_test(nodes_without_a_level_are_in_no_domain),
	    cmocka_unit_test(a_tpu_slice_of_two_hosts_is_one_unit),
	    cmocka_unit_test(a_slice_is_never_split),
	    cmocka_unit_test(slices_in_racks_inside_one_block),
	    cmocka_unit_test(slices_inside_slices_are_whole_at_every_level),
	    cmocka_unit_test(a_group_goes_to_one_domain),
	    cmocka_unit_test(a_group_is_packed_in_both_orders),
	    cmocka_unit_test(earlier_sets_count_against_later_ones),
	    cmocka_unit_test(a_topology_that_makes_no_sense_is_refused),
	    cmocka_unit_test(shapes_differ_by_their_topology),
	    cmocka_unit_test(a_waiting_gang_is_woken_by_room_in_one_domain),
	    cmocka_unit_test(what_could_be_placed_is_and_as_asked),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

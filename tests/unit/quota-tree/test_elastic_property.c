/*
 * The queues against a model that looks at everything: random trees with floors, all policies,
 * random arrivals, ends, placements, parked shapes, skips and edits of queues. After every step the
 * next candidate must be the best unit that a plain scan over all pending units finds; after every
 * eighth, every unit must stand where the scan says.
 */
#include "fleet.h"

#define UNITS  70
#define NODES  24
#define STEPS  12000
#define SHAPES 12

struct model_unit {
	struct elastic_unit *unit; /* NULL: the place is free */
	struct elastic_unit_spec spec;
	struct quota_amount amounts[ELASTIC_REQUEST_AMOUNTS];
	char name[16];
	bool admitted;
	bool skipped; /* with its lane */
};

struct model {
	uint64_t rng;
	struct fleet f;
	bool check_oversold;
	uint32_t n_nodes;
	struct model_unit units[UNITS];
	struct elastic_queue_config configs[NODES];
	bool parked[SHAPES];
	/* what the run saw, so that it cannot be green for want of cases */
	size_t admitted, parks, skips, states[ELASTIC_STATE_MAX];
};

/* ---- a random tree ---- */

struct random_tree {
	struct elastic_node_spec nodes[NODES];
	char names[NODES][8];
	struct elastic_quantity min[NODES][2], max[NODES][3], lend[NODES][2];
	uint32_t n;
};

static struct span resource_name(uint32_t r)
{
	static const char *const names[] = {"cpu", "gpu"};
	return span_of(names[r]);
}

/* Each node gives parts of its own min to its children, so that every tree is valid. */
static void grow(struct model *m, struct random_tree *t, uint32_t self, const int64_t *min,
		 uint32_t depth)
{
	struct elastic_node_spec *s = &t->nodes[self];
	snprintf(t->names[self], sizeof(t->names[self]), self ? "n%u" : "root", self);
	s->name = span_of(t->names[self]);
	s->min.items = t->min[self];
	s->max.items = t->max[self];
	s->lendlimit.items = t->lend[self];
	for (uint32_t r = 0; r < 2; r++) {
		t->min[self][s->min.len++] = (struct elastic_quantity){resource_name(r), min[r]};
		if (test_below(&m->rng, 4))
			t->max[self][s->max.len++] = (struct elastic_quantity){
			    resource_name(r), min[r] + test_below(&m->rng, 6000)};
		if (test_below(&m->rng, 3) == 0)
			t->lend[self][s->lendlimit.len++] =
			    (struct elastic_quantity){resource_name(r), test_below(&m->rng, 3000)};
	}
	if (test_below(&m->rng, 3) == 0)
		t->max[self][s->max.len++] = (struct elastic_quantity){SPAN(ELASTIC_JOBS_RESOURCE),
								       1 + test_below(&m->rng, 6)};
	uint32_t width = depth < 4 ? test_below(&m->rng, 4) : 0;
	if (self == 0)
		width = 3;
	if (width == 0 || t->n + width > NODES)
		return;
	int64_t left[2] = {min[0], min[1]};
	s->children = &t->nodes[t->n];
	s->n_children = width;
	uint32_t first = t->n;
	t->n += width;
	for (uint32_t i = 0; i < width; i++) {
		int64_t part[2];
		for (uint32_t r = 0; r < 2; r++) {
			part[r] = left[r] > 0 ? test_below(&m->rng, (uint32_t)left[r] + 1) : 0;
			left[r] -= part[r];
		}
		grow(m, t, first + i, part, depth + 1);
	}
}

static void start(struct model *m)
{
	static struct random_tree t;
	memset(&t, 0, sizeof(t));
	t.n = 1;
	const int64_t min[2] = {6000 + test_below(&m->rng, 24000),
				6000 + test_below(&m->rng, 24000)};
	grow(m, &t, 0, min, 1);
	m->check_oversold = test_below(&m->rng, 2) == 0;
	const struct elastic_options options = {
	    .oversell_permille = test_below(&m->rng, 4) ? 0 : 500 + test_below(&m->rng, 1500),
	    .max_binds_all = test_below(&m->rng, 3) == 0,
	};
	m->f = fleet_make(&t.nodes[0], &options, m->check_oversold);
	m->n_nodes = t.n;
	memset(m->units, 0, sizeof(m->units));
	memset(m->parked, 0, sizeof(m->parked));
	for (uint32_t n = 0; n < NODES; n++)
		m->configs[n] =
		    (struct elastic_queue_config){.threshold = ELASTIC_PRIORITY_THRESHOLD};
}

/* ---- the model's own answers ---- */

static bool pending(const struct model_unit *u)
{
	return u->unit && !u->admitted;
}

static bool same_lane(const struct model_unit *a, const struct model_unit *b)
{
	if (a->spec.node != b->spec.node || a->spec.shape != b->spec.shape ||
	    a->spec.nonpreemptible != b->spec.nonpreemptible ||
	    a->spec.n_amounts != b->spec.n_amounts)
		return false;
	for (size_t i = 0; i < a->spec.n_amounts; i++) {
		if (a->amounts[i].resource != b->amounts[i].resource ||
		    a->amounts[i].value != b->amounts[i].value)
			return false;
	}
	return true;
}

static int compare(const struct model *m, const struct model_unit *a, const struct model_unit *b)
{
	const struct elastic_queue_config *ca = &m->configs[a->spec.node];
	const struct elastic_queue_config *cb = &m->configs[b->spec.node];
	if (ca->priority != cb->priority)
		return ca->priority > cb->priority ? -1 : 1;
	if (a->spec.priority != b->spec.priority)
		return a->spec.priority > b->spec.priority ? -1 : 1;
	int late_a = ca->policy == ELASTIC_INTELLIGENT && !a->spec.nonpreemptible;
	int late_b = cb->policy == ELASTIC_INTELLIGENT && !b->spec.nonpreemptible;
	if (late_a != late_b)
		return late_a - late_b;
	if (a->spec.first_attempt != b->spec.first_attempt)
		return a->spec.first_attempt < b->spec.first_attempt ? -1 : 1;
	return strcmp(a->name, b->name);
}

static struct model_unit *head_of(struct model *m, uint32_t node)
{
	struct model_unit *head = NULL;
	for (size_t i = 0; i < UNITS; i++) {
		struct model_unit *u = &m->units[i];
		if (pending(u) && u->spec.node == node && (!head || compare(m, u, head) < 0))
			head = u;
	}
	return head;
}

static bool below_min(const struct model *m, uint32_t node, uint32_t resource)
{
	struct quota_state s;
	quota_tree_get(elastic_tree_quota_const(m->f.tree), node, resource, &s);
	return s.used < s.nominal_oversold;
}

static bool oversold(struct model *m, const struct model_unit *u)
{
	if (!m->check_oversold || u->spec.nonpreemptible)
		return false;
	uint32_t jobs = elastic_tree_jobs_resource(m->f.tree);
	bool hungry = false;
	for (size_t i = 0; i < u->spec.n_amounts; i++) {
		uint32_t r = u->amounts[i].resource;
		if (r == jobs)
			continue;
		if (below_min(m, u->spec.node, r))
			return false;
		for (uint32_t n = 0; n < m->n_nodes; n++) {
			if (n != u->spec.node &&
			    quota_tree_is_leaf(elastic_tree_quota_const(m->f.tree), n) &&
			    head_of(m, n) && below_min(m, n, r))
				hungry = true;
		}
	}
	return hungry;
}

static enum elastic_state own_state(struct model *m, const struct model_unit *u)
{
	struct quota_request req = elastic_unit_request(u->unit);
	if (!quota_tree_test(elastic_tree_quota_const(m->f.tree), u->spec.node, &req, NULL))
		return ELASTIC_QUOTA;
	if (oversold(m, u))
		return ELASTIC_MIN;
	if (m->parked[u->spec.shape])
		return ELASTIC_PLACEMENT;
	return u->skipped ? ELASTIC_SKIPPED : ELASTIC_READY;
}

static enum elastic_state model_state(struct model *m, const struct model_unit *u)
{
	const struct elastic_queue_config *c = &m->configs[u->spec.node];
	struct model_unit *head = head_of(m, u->spec.node);
	bool strict = c->policy == ELASTIC_BLOCK ||
		      (c->policy == ELASTIC_INTELLIGENT && head->spec.priority >= c->threshold);
	if (strict && head != u && own_state(m, head) != ELASTIC_READY)
		return ELASTIC_BEHIND;
	return own_state(m, u);
}

/* Ready, and not behind a head that is ready itself. */
static bool may_go(struct model *m, const struct model_unit *u)
{
	const struct elastic_queue_config *c = &m->configs[u->spec.node];
	struct model_unit *head = head_of(m, u->spec.node);
	bool strict = c->policy == ELASTIC_BLOCK ||
		      (c->policy == ELASTIC_INTELLIGENT && head->spec.priority >= c->threshold);
	return (!strict || head == u) && own_state(m, u) == ELASTIC_READY;
}

static struct model_unit *model_next(struct model *m)
{
	struct model_unit *best = NULL;
	for (size_t i = 0; i < UNITS; i++) {
		struct model_unit *u = &m->units[i];
		if (pending(u) && (!best || compare(m, u, best) < 0) && may_go(m, u))
			best = u;
	}
	return best;
}

/* ---- steps ---- */

static struct model_unit *pick(struct model *m, bool admitted)
{
	for (int tries = 0; tries < 20; tries++) {
		struct model_unit *u = &m->units[test_below(&m->rng, UNITS)];
		if (u->unit && u->admitted == admitted)
			return u;
	}
	return NULL;
}

/* A lane that runs empty forgets that it was skipped. */
static void lane_changed(struct model *m, const struct model_unit *gone)
{
	for (size_t i = 0; i < UNITS; i++) {
		if (&m->units[i] != gone && pending(&m->units[i]) && same_lane(&m->units[i], gone))
			return;
	}
	for (size_t i = 0; i < UNITS; i++) {
		if (m->units[i].unit && same_lane(&m->units[i], gone))
			m->units[i].skipped = false;
	}
}

static void join_lane(struct model *m, struct model_unit *u)
{
	u->skipped = false;
	for (size_t i = 0; i < UNITS; i++) {
		if (&m->units[i] != u && pending(&m->units[i]) && same_lane(&m->units[i], u))
			u->skipped = m->units[i].skipped;
	}
}

static void step_add(struct model *m)
{
	struct model_unit *u = &m->units[test_below(&m->rng, UNITS)];
	if (u->unit)
		return;
	memset(u, 0, sizeof(*u));
	snprintf(u->name, sizeof(u->name), "u%zu", (size_t)(u - m->units));
	uint32_t shape = test_below(&m->rng, SHAPES);
	/* The request follows the shape, as it does with pods. */
	const struct elastic_quantity ask[] = {Q("cpu", 1000 * (shape % 4)),
					       Q("gpu", 700 * (shape / 4 + 1))};
	u->spec = (struct elastic_unit_spec){
	    .node = test_below(&m->rng, m->n_nodes),
	    .shape = shape,
	    .priority = (int32_t)test_below(&m->rng, 7),
	    .nonpreemptible = test_below(&m->rng, 4) == 0,
	    .first_attempt = test_below(&m->rng, 30),
	    .name = span_of(u->name),
	    .amounts = u->amounts,
	};
	assert_int_equal(elastic_tree_request(m->f.tree, ask, shape % 4 ? 2 : 1, u->amounts,
					      &u->spec.n_amounts, NULL),
			 0);
	if (test_below(&m->rng, 12) == 0) {
		assert_int_equal(elastic_queue_restore(m->f.q, &u->spec, &u->unit), 0);
		u->admitted = true;
		return;
	}
	u->unit = elastic_queue_add(m->f.q, &u->spec);
	join_lane(m, u);
}

/* The queues' candidate, which is the model's. */
static struct model_unit *expect_candidate(struct model *m)
{
	struct model_unit *want = model_next(m);
	struct elastic_unit *got = elastic_queue_next(m->f.q);
	assert_ptr_equal(got, want ? want->unit : NULL);
	assert_ptr_equal(elastic_queue_next(m->f.q), got);
	return want;
}

static void step_candidate(struct model *m)
{
	struct model_unit *want = expect_candidate(m);
	if (!want)
		return;
	struct elastic_unit *got = want->unit;
	uint32_t choice = test_below(&m->rng, 6);
	if (choice == 0) {
		elastic_queue_park(m->f.q, got);
		m->parked[want->spec.shape] = true;
		m->parks++;
		/* Parked is not skipped any more. */
		for (size_t i = 0; i < UNITS; i++) {
			if (m->units[i].unit && same_lane(&m->units[i], want))
				m->units[i].skipped = false;
		}
	} else if (choice == 1) {
		elastic_queue_skip(m->f.q, got);
		m->skips++;
		for (size_t i = 0; i < UNITS; i++) {
			if (pending(&m->units[i]) && same_lane(&m->units[i], want))
				m->units[i].skipped = true;
		}
	} else {
		assert_int_equal(elastic_queue_admit(m->f.q, got, NULL), 0);
		want->admitted = true;
		m->admitted++;
		lane_changed(m, want);
	}
}

static void step_remove(struct model *m, bool admitted)
{
	struct model_unit *u = pick(m, admitted);
	if (!u)
		return;
	if (admitted && test_below(&m->rng, 4) == 0) {
		elastic_queue_requeue(m->f.q, u->unit);
		u->admitted = false;
		join_lane(m, u);
		return;
	}
	elastic_queue_remove(m->f.q, u->unit);
	if (!admitted)
		lane_changed(m, u);
	u->unit = NULL;
}

static void step_configure(struct model *m)
{
	uint32_t node = test_below(&m->rng, m->n_nodes);
	m->configs[node] = (struct elastic_queue_config){
	    .policy = (enum elastic_policy)test_below(&m->rng, ELASTIC_POLICY_MAX),
	    .threshold = (int32_t)test_below(&m->rng, 7),
	    .priority = (int32_t)test_below(&m->rng, 2),
	};
	elastic_queue_configure(m->f.q, node, &m->configs[node]);
	/* Filed anew: nothing of this queue is skipped. */
	for (size_t i = 0; i < UNITS; i++) {
		if (pending(&m->units[i]) && m->units[i].spec.node == node)
			m->units[i].skipped = false;
	}
}

static void step_wake(struct model *m)
{
	if (test_below(&m->rng, 5) == 0) {
		elastic_queue_rewind(m->f.q);
		for (size_t i = 0; i < UNITS; i++)
			m->units[i].skipped = false;
	} else if (test_below(&m->rng, 8) == 0) {
		elastic_queue_wake_all_shapes(m->f.q);
		memset(m->parked, 0, sizeof(m->parked));
	} else {
		uint32_t shape = test_below(&m->rng, SHAPES);
		elastic_queue_wake_shape(m->f.q, shape);
		m->parked[shape] = false;
	}
}

static void expect_standings(struct model *m)
{
	size_t n_pending = 0;
	for (size_t i = 0; i < UNITS; i++) {
		struct model_unit *u = &m->units[i];
		if (!u->unit)
			continue;
		struct elastic_standing s = fleet_standing(&m->f, u->unit);
		m->states[s.state]++;
		assert_int_equal(s.state, u->admitted ? ELASTIC_ADMITTED : model_state(m, u));
		if (u->admitted)
			continue;
		n_pending++;
		size_t position = 1;
		for (size_t k = 0; k < UNITS; k++)
			position += pending(&m->units[k]) &&
				    m->units[k].spec.node == u->spec.node &&
				    compare(m, &m->units[k], u) < 0;
		assert_int_equal(s.position, position);
		assert_ptr_equal(elastic_queue_at(m->f.q, u->spec.node, position), u->unit);
		if (s.state == ELASTIC_MIN)
			assert_true(s.blocker < m->n_nodes && s.blocker != u->spec.node);
	}
	assert_int_equal(elastic_queue_pending_total(m->f.q), n_pending);
	struct err err = ERR_INIT;
	if (elastic_queue_check(m->f.q, &err) != 0)
		fail_msg("%s", err.text);
}

static void run(uint64_t seed)
{
	static struct model m;
	memset(&m, 0, sizeof(m));
	m.rng = seed;
	for (int step = 0; step < STEPS; step++) {
		if (step % 400 == 0) {
			if (step)
				fleet_done(&m.f);
			start(&m);
		}
		uint32_t what = test_below(&m.rng, 20);
		if (what < 6)
			step_add(&m);
		else if (what < 13)
			step_candidate(&m);
		else if (what < 16)
			step_remove(&m, true);
		else if (what == 16)
			step_remove(&m, false);
		else if (what == 17 && test_below(&m.rng, 4) == 0)
			step_configure(&m);
		else
			step_wake(&m);
		expect_candidate(&m);
		if (step % 8 == 0)
			expect_standings(&m);
	}
	fleet_done(&m.f);
	assert_true(m.admitted > STEPS / 20 && m.parks > 50 && m.skips > 50);
	for (int s = 0; s < ELASTIC_STATE_MAX; s++) {
		if (m.states[s] <= 20)
			fail_msg("state %d was seen %zu times only", s, m.states[s]);
	}
}

static void the_next_candidate_is_the_one_a_scan_of_everything_finds(void **state)
{
	(void)state;
	static const uint64_t seeds[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
	for (size_t i = 0; i < ARRAY_LEN(seeds); i++)
		run(seeds[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_next_candidate_is_the_one_a_scan_of_everything_finds),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

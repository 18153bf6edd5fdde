/*
 * When quota of a tree will be there, and who may take of it until then (elastic_shadow.h), by hand
 * on two levels; and on random trees: whoever is let pass does not keep the one that waits from its
 * quota at its time.
 */
#include "quota-tree/elastic_shadow.h"

#include "fleet.h"

#define NEVER ELASTIC_SHADOW_NEVER

/* root 40: a (min 20) with a.1 and a.2 (min 10 each), b (min 20) with b.1 and b.2; no max below. */
static const struct elastic_node_spec t40 = {
    .name = {"root", 4},
    .min = LIST(Q("cpu", CPU(40))),
    .max = LIST(Q("cpu", CPU(40))),
    CHILDREN({.name = {"a", 1},
	      .min = LIST(Q("cpu", CPU(20))),
	      .max = LIST(Q("cpu", CPU(40))),
	      CHILDREN({.name = {"a.1", 3},
			.min = LIST(Q("cpu", CPU(10))),
			.max = LIST(Q("cpu", CPU(40))),
			NAMESPACES({"namespace1", 10})},
		       {.name = {"a.2", 3},
			.min = LIST(Q("cpu", CPU(10))),
			.max = LIST(Q("cpu", CPU(30))),
			NAMESPACES({"namespace2", 10})})},
	     {.name = {"b", 1},
	      .min = LIST(Q("cpu", CPU(16))),
	      .max = LIST(Q("cpu", CPU(40))),
	      CHILDREN({.name = {"b.1", 3},
			.min = LIST(Q("cpu", CPU(8))),
			.max = LIST(Q("cpu", CPU(40))),
			NAMESPACES({"namespace3", 10})},
		       {.name = {"b.2", 3},
			.min = LIST(Q("cpu", CPU(8))),
			.max = LIST(Q("cpu", CPU(20))),
			NAMESPACES({"namespace4", 10})})}),
};

static const char *const leaves[] = {"a.1", "a.2", "b.1", "b.2"};

struct scene {
	struct fleet f;
	struct elastic_ending endings[64];
	size_t n;
	struct elastic_shadow shadows[4];
	size_t n_waiting;
	char names[128][8];
	size_t n_names;
};

static struct scene *scene_open(void)
{
	struct scene *s = xcalloc(1, sizeof(*s));

	s->f = fleet_make(&t40, NULL, false);
	return s;
}

static void scene_close(struct scene *s)
{
	for (size_t i = 0; i < s->n_waiting; i++)
		elastic_shadow_done(&s->shadows[i]);
	fleet_done(&s->f);
	free(s);
}

static struct elastic_unit *unit(struct scene *s, const char *leaf, int64_t cores)
{
	char *name = s->names[s->n_names];

	(void)snprintf(name, sizeof(s->names[0]), "u%zu", s->n_names++);
	return fleet_add(
	    &s->f,
	    (struct job){.node = leaf, .name = name, .cores = cores, .time = (int64_t)s->n_names});
}

static void holds(struct scene *s, const char *leaf, int64_t cores, int64_t until)
{
	struct elastic_unit *u = unit(s, leaf, cores);

	assert_int_equal(elastic_queue_admit(s->f.q, u, NULL), 0);
	s->endings[s->n++] = (struct elastic_ending){until, u};
}

static struct elastic_shadow *waits(struct scene *s, const char *leaf, int64_t cores, int64_t limit)
{
	struct elastic_shadow *w = &s->shadows[s->n_waiting++];

	*w = (struct elastic_shadow){.unit = unit(s, leaf, cores), .limit = limit};
	return w;
}

static void cast(struct scene *s, int64_t now)
{
	struct elastic_shadow *list[4];
	struct err err = ERR_INIT;

	for (size_t i = 0; i < s->n_waiting; i++)
		list[i] = &s->shadows[i];
	elastic_ending_sort(s->endings, s->n);
	elastic_shadow_cast(s->f.q, list, s->n_waiting, s->endings, s->n, now);
	if (elastic_queue_check(s->f.q, &err) != 0)
		fail_msg("%s", err.text);
}

static bool lets(struct scene *s, const struct elastic_shadow *w, const char *leaf, int64_t cores,
		 int64_t ends_at)
{
	struct elastic_unit *u = unit(s, leaf, cores);
	bool let = elastic_shadow_lets(s->f.q, w, u, ends_at);

	elastic_queue_remove(s->f.q, u);
	return let;
}

static void it_fits_when_enough_have_ended(void **state)
{
	/* Of 40: 20 until 300, 10 until 100, 10 until 200. 18 fit at 200, and b keeps its 16. */
	struct scene *s = scene_open();

	holds(s, "b.1", 20, 300);
	holds(s, "b.1", 10, 100);
	holds(s, "a.2", 10, 200);
	const struct elastic_shadow *w = waits(s, "a.1", 18, NEVER);
	cast(s, 50);
	assert_int_equal(w->at, 200);
	/* a.2 has 10 of its own that are 2 too much: 40 - 20 - 10 = 10. */
	assert_int_equal(w->lender, fleet_node(&s->f, "a.2"));
	assert_true(lets(s, w, "b.2", 5, 200));
	assert_true(lets(s, w, "b.2", 2, NEVER)); /* beside it */
	assert_false(lets(s, w, "b.2", 3, NEVER));
	assert_false(lets(s, w, "b.1", 3, 201));
	scene_close(s);
}

static void a_side_may_use_its_min(void **state)
{
	/* a.1 wants 30: 14 more than a has, and a.2 may have 10 of those. */
	struct scene *s = scene_open();

	holds(s, "a.2", 24, 100);
	const struct elastic_shadow *w = waits(s, "a.1", 30, NEVER);
	cast(s, 0);
	assert_int_equal(w->at, 100);
	assert_int_equal(w->lender, fleet_node(&s->f, "b")); /* 16, a.2 has 10 */
	assert_true(lets(s, w, "b.1", 16, NEVER));	     /* b's, though b.1 has 8 */
	assert_false(lets(s, w, "b.1", 17, NEVER));
	assert_false(lets(s, w, "a.2", 11, NEVER));
	scene_close(s);
}

static void a_unit_within_min_is_certain_of_its_time(void **state)
{
	struct scene *s = scene_open();

	holds(s, "b.1", 36, 100);
	struct elastic_shadow *w = waits(s, "a.1", 10, NEVER);
	cast(s, 0);
	assert_int_equal(w->at, 100);
	assert_int_equal(w->lender, QUOTA_NO_NODE);
	/* 40 - 10 - a.2's 10 - b's 16 are nobody's: 4. b.1's 16 and those. */
	assert_true(lets(s, w, "b.1", 20, NEVER));
	assert_false(lets(s, w, "b.1", 21, NEVER));
	struct elastic_unit *u = unit(s, "b.1", 18);
	elastic_shadow_took(s->f.q, w, u, NEVER);
	assert_true(lets(s, w, "b.2", 2, NEVER)); /* b.2 is b's, whose 16 are gone */
	assert_false(lets(s, w, "a.1", 3, NEVER));
	scene_close(s);
}

static void without_an_end_nobody_knows(void **state)
{
	struct scene *s = scene_open();

	holds(s, "b.1", 36, NEVER);
	const struct elastic_shadow *w = waits(s, "a.1", 10, NEVER);
	cast(s, 0);
	assert_int_equal(w->at, NEVER);
	assert_false(lets(s, w, "a.1", 1, 10)); /* its own queue keeps its order */
	assert_true(lets(s, w, "a.2", 1, NEVER));
	scene_close(s);
}

static void those_that_wait_get_theirs_one_after_the_other(void **state)
{
	struct scene *s = scene_open();

	holds(s, "b.1", 40, 50);
	const struct elastic_shadow *first = waits(s, "a.1", 30, 100),
				    *second = waits(s, "b.2", 20, 100);
	cast(s, 0);
	assert_int_equal(first->at, 50);
	assert_int_equal(second->at, 150);
	scene_close(s);
}

/* ---- random ---- */

static uint64_t random_state;

static int64_t below(int64_t n)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (int64_t)((random_state >> 11) % (uint64_t)n);
}

static bool fits_now(struct scene *s, const struct elastic_unit *u)
{
	struct quota_request req = elastic_unit_request(u);
	return quota_tree_test(elastic_tree_quota(s->f.tree), elastic_unit_node(u), &req, NULL);
}

/* At the time t: who has ended by then is gone, the rest is there. */
static bool fits_at(struct scene *s, const struct elastic_shadow *w, int64_t t)
{
	struct quota_tree *q = quota_tree_dup(elastic_tree_quota(s->f.tree));
	struct quota_request req;

	for (size_t i = 0; i < s->n; i++) {
		req = elastic_unit_request(s->endings[i].unit);
		if (s->endings[i].at <= t)
			quota_tree_release(q, elastic_unit_node(s->endings[i].unit), &req);
	}
	req = elastic_unit_request(w->unit);
	bool fits = quota_tree_test(q, elastic_unit_node(w->unit), &req, NULL);
	quota_tree_destroy(q);
	return fits;
}

static int64_t first_fit(struct scene *s, const struct elastic_shadow *w)
{
	for (int64_t t = 0; t <= 300; t += 10)
		if (fits_at(s, w, t))
			return t;
	return NEVER;
}

static int64_t left_of_min(struct scene *s, uint32_t node)
{
	struct quota_state state;
	uint32_t cpu;

	assert_int_equal(quota_tree_find_resource(elastic_tree_quota(s->f.tree), SPAN("cpu"), &cpu),
			 0);
	quota_tree_get(elastic_tree_quota(s->f.tree), node, cpu, &state);
	return state.nominal - state.used;
}

/* Whether it stays within its leaf's min, or its side's: counted generously. */
static bool is_own(struct scene *s, const char *leaf, int64_t cores)
{
	const char side[2] = {leaf[0], '\0'};

	return CPU(cores) <= left_of_min(s, fleet_node(&s->f, leaf)) ||
	       CPU(cores) <= left_of_min(s, fleet_node(&s->f, side));
}

static size_t let_some_pass(struct scene *s, struct elastic_shadow *w, size_t *ret_own)
{
	size_t passed = 0;

	for (int i = 0; i < 15; i++) {
		const char *leaf = leaves[below(4)];
		int64_t cores = 1 + below(8), until = below(2) ? 10 * below(30) : NEVER;
		struct elastic_unit *u = unit(s, leaf, cores);
		if (!fits_now(s, u) || !elastic_shadow_lets(s->f.q, w, u, until)) {
			elastic_queue_remove(s->f.q, u);
			continue;
		}
		*ret_own += is_own(s, leaf, cores);
		elastic_shadow_took(s->f.q, w, u, until);
		assert_int_equal(elastic_queue_admit(s->f.q, u, NULL), 0);
		s->endings[s->n++] = (struct elastic_ending){until, u};
		passed++;
	}
	return passed;
}

static void whoever_is_let_pass_delays_nobody(void **state)
{
	int promised = 0, firm = 0, through = 0;

	for (uint64_t seed = 1; seed <= 2000; seed++) {
		struct scene *s = scene_open();
		size_t own = 0;

		random_state = seed * 0x9e3779b97f4a7c15ULL;
		for (int i = 0; i < 15; i++) {
			struct elastic_unit *u = unit(s, leaves[below(4)], 1 + below(9));
			if (!fits_now(s, u)) {
				elastic_queue_remove(s->f.q, u);
				continue;
			}
			assert_int_equal(elastic_queue_admit(s->f.q, u, NULL), 0);
			s->endings[s->n++] =
			    (struct elastic_ending){below(4) ? 10 * below(30) : NEVER, u};
		}
		struct elastic_shadow *w = waits(s, leaves[below(4)], 1 + below(16), NEVER);
		cast(s, 0);
		if (w->at != first_fit(s, w))
			fail_msg("seed %d: fits at %d, told %d", (int)seed, (int)first_fit(s, w),
				 (int)w->at);
		if (w->at != NEVER) {
			size_t n = let_some_pass(s, w, &own);
			promised++;
			through += n > 0;
			firm += own && w->lender == QUOTA_NO_NODE;
			if ((!own || w->lender == QUOTA_NO_NODE) && !fits_at(s, w, w->at))
				fail_msg("seed %d: it does not fit at %d any more", (int)seed,
					 (int)w->at);
		}
		scene_close(s);
	}
	assert_in_range(promised, 800, 2000);
	assert_in_range(through, 300, 2000);
	assert_in_range(firm, 40, 2000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(it_fits_when_enough_have_ended),
	    cmocka_unit_test(a_side_may_use_its_min),
	    cmocka_unit_test(a_unit_within_min_is_certain_of_its_time),
	    cmocka_unit_test(without_an_end_nobody_knows),
	    cmocka_unit_test(those_that_wait_get_theirs_one_after_the_other),
	    cmocka_unit_test(whoever_is_let_pass_delays_nobody),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * When quota will be there, and who may take of it until then (kueue_shadow.h), by hand; and on
 * random trees: whoever is let pass does not keep the one that waits from its quota at its time.
 */
#include "quota-tree/kueue_shadow.h"

#include "kueue_testing.h"

#define NEVER KUEUE_SHADOW_NEVER

struct scene {
	struct kueue_forest *f;
	struct kueue_use uses[64];
	struct kueue_ending endings[64];
	size_t n;
	struct kueue_use wants[4];
	struct kueue_shadow shadows[4];
	size_t n_waiting;
};

static struct scene *scene_open(void)
{
	struct scene *s = xcalloc(1, sizeof(*s));

	s->f = kt_forest();
	return s;
}

static void scene_close(struct scene *s)
{
	for (size_t i = 0; i < s->n_waiting; i++)
		kueue_shadow_done(&s->shadows[i]);
	kueue_forest_destroy(s->f);
	free(s);
}

static void holds(struct scene *s, uint32_t queue, int64_t value, int64_t until)
{
	s->uses[s->n] = kt_use(s->f, "default", "cpu", value);
	s->endings[s->n] = (struct kueue_ending){until, queue, &s->uses[s->n], 1, NULL};
	kueue_forest_charge(s->f, queue, &s->uses[s->n++], 1);
}

static struct kueue_shadow *waits(struct scene *s, uint32_t queue, int64_t value, int64_t limit)
{
	size_t i = s->n_waiting++;

	s->wants[i] = kt_use(s->f, "default", "cpu", value);
	s->shadows[i] = (struct kueue_shadow){
	    .queue = queue, .uses = &s->wants[i], .n_uses = 1, .limit = limit};
	return &s->shadows[i];
}

static void cast(struct scene *s, int64_t now)
{
	struct kueue_shadow *list[4];
	struct err err = ERR_INIT;

	for (size_t i = 0; i < s->n_waiting; i++)
		list[i] = &s->shadows[i];
	kueue_ending_sort(s->endings, s->n);
	kueue_shadow_cast(s->f, list, s->n_waiting, s->endings, s->n, now);
	assert_ok(kueue_forest_check(s->f, &err), &err);
}

static bool lets(struct scene *s, const struct kueue_shadow *w, uint32_t queue, int64_t value,
		 int64_t ends_at)
{
	struct kueue_use use = kt_use(s->f, "default", "cpu", value);

	return kueue_shadow_lets(s->f, w, queue, &use, 1, ends_at);
}

static void it_fits_when_enough_have_ended(void **state)
{
	/* 10 of one queue: 4 until 100, 3 until 200, 3 until 300. 6 fit at 200, 3 + 4 of 10. */
	struct scene *s = scene_open();
	uint32_t q = kt_queue(s->f, "q", "", 10, NO, NO);

	holds(s, q, 3, 300);
	holds(s, q, 4, 100);
	holds(s, q, 3, 200);
	const struct kueue_shadow *w = waits(s, q, 6, NEVER);
	cast(s, 50);
	assert_int_equal(w->at, 200);
	assert_int_equal(w->lender, KUEUE_NONE);
	/* At 200 seven are free, and it needs six of them. */
	assert_true(lets(s, w, q, 1, NEVER));
	assert_false(lets(s, w, q, 2, NEVER));
	assert_false(lets(s, w, q, 2, 201));
	assert_true(lets(s, w, q, 2, 200));
	struct kueue_use one = kt_use(s->f, "default", "cpu", 1);
	kueue_shadow_took(s->f, &s->shadows[0], q, &one, 1, NEVER);
	assert_false(lets(s, w, q, 1, NEVER));
	cast(s, 250); /* ends that have passed count as now */
	assert_int_equal(w->at, 250);
	scene_close(s);
}

static void what_ends_now_is_over(void **state)
{
	/* 10: 4 of them until 100, which is now. 5 fit either way; beside them 5 are left, not 1.
	 */
	struct scene *s = scene_open();
	uint32_t q = kt_queue(s->f, "q", "", 10, NO, NO);

	holds(s, q, 4, 100);
	const struct kueue_shadow *w = waits(s, q, 5, NEVER);
	cast(s, 100);
	assert_int_equal(w->at, 100);
	assert_true(lets(s, w, q, 5, NEVER));
	assert_false(lets(s, w, q, 6, NEVER));
	cast(s, 99);
	assert_int_equal(w->at, 99);
	assert_true(lets(s, w, q, 1, NEVER));
	assert_false(lets(s, w, q, 2, NEVER));
	scene_close(s);
}

static void nobody_knows_when_those_without_an_end_leave(void **state)
{
	struct scene *s = scene_open();
	uint32_t q = kt_queue(s->f, "q", "co", 10, NO, NO);
	uint32_t other = kt_queue(s->f, "other", "co", 10, NO, NO);

	holds(s, q, 4, NEVER);
	holds(s, other, 10, NEVER);
	const struct kueue_shadow *w = waits(s, q, 8, 100);
	cast(s, 0);
	assert_int_equal(w->at, NEVER);
	/* Its own queue keeps its order; others are not kept waiting in vain. */
	assert_false(lets(s, w, q, 1, 10));
	assert_true(lets(s, w, other, 1, NEVER));
	scene_close(s);
}

static void a_lender_may_always_take_what_is_his(void **state)
{
	/* a has 10, b has 10. b borrows 6 of a's until 100; a's 8 come back then. */
	struct scene *s = scene_open();
	uint32_t a = kt_queue(s->f, "a", "co", 10, NO, NO);
	uint32_t b = kt_queue(s->f, "b", "co", 10, NO, NO);

	holds(s, b, 16, 100);
	const struct kueue_shadow *w = waits(s, a, 8, NEVER);
	cast(s, 0);
	assert_int_equal(w->at, 100);
	assert_int_equal(w->lender, KUEUE_NONE);
	assert_false(w->borrows);
	/* Then 12 are left beside it. */
	assert_true(lets(s, w, b, 12, 101));
	assert_false(lets(s, w, b, 13, 101));
	assert_true(lets(s, w, b, 13, 100));
	scene_close(s);

	/* The other way round: 12 of a's 10. b has used none of its own, and may. */
	s = scene_open();
	a = kt_queue(s->f, "a", "co", 10, NO, NO);
	b = kt_queue(s->f, "b", "co", 10, NO, NO);
	uint32_t d = kt_queue(s->f, "d", "co", 0, NO, NO);
	holds(s, d, 11, 100);
	w = waits(s, a, 12, NEVER);
	cast(s, 0);
	assert_int_equal(w->at, 100);
	assert_int_equal(w->lender, b);
	assert_true(w->borrows);
	assert_true(lets(s, w, b, 9, NEVER));
	assert_true(lets(s, w, b, 10, NEVER));
	assert_false(lets(s, w, b, 11, NEVER));
	assert_true(lets(s, w, d, 8, NEVER)); /* 20 - 12 are left beside it */
	assert_false(lets(s, w, d, 9, NEVER));
	scene_close(s);
}

static void a_lender_without_an_end_takes_nothing_back(void **state)
{
	/* rich has all it can use; a has 2 and wants 8: 6 are rich's, and there are always more. */
	struct scene *s = scene_open();
	uint32_t a = kt_queue(s->f, "a", "co", 2, NO, NO);
	uint32_t rich = kt_queue(s->f, "rich", "co", QUOTA_UNLIMITED, NO, NO);

	const struct kueue_shadow *w = waits(s, a, 8, NEVER);
	cast(s, 10);
	assert_int_equal(w->at, 10);
	assert_true(w->borrows);
	assert_int_equal(w->lender, KUEUE_NONE);
	assert_true(lets(s, w, rich, 1000000, NEVER));
	scene_close(s);
}

static void what_a_cohort_has_itself_nobody_takes_back(void **state)
{
	/* The cohort's own 10 are nobody's: 12 = 2 + 10 hold for certain, 13 are lent by b. */
	struct scene *s = scene_open();
	uint32_t a = kt_queue(s->f, "a", "co", 2, NO, NO);
	uint32_t b = kt_queue(s->f, "b", "co", 5, NO, NO);

	(void)kt_cohort(s->f, "co", NULL, 10, NO, NO);
	holds(s, b, 9, 70);
	const struct kueue_shadow *w = waits(s, a, 12, NEVER);
	cast(s, 0);
	assert_int_equal(w->at, 70);
	assert_int_equal(w->lender, KUEUE_NONE);
	s->wants[0].value = 13;
	cast(s, 0);
	assert_int_equal(w->at, 70);
	assert_int_equal(w->lender, b);
	scene_close(s);
}

static void a_side_of_the_cohort_keeps_its_own(void **state)
{
	/* left: l1 3 and l2 7; right: r 10. r wants 15. l1 may use l2's 7: they are left's. */
	struct scene *s = scene_open();
	uint32_t l1 = kt_queue(s->f, "l1", "left", 3, NO, NO);
	uint32_t l2 = kt_queue(s->f, "l2", "left", 7, NO, NO);
	uint32_t r = kt_queue(s->f, "r", "right", 10, NO, NO);
	uint32_t left = kt_cohort(s->f, "left", "top", 0, NO, NO);

	(void)kt_cohort(s->f, "right", "top", 0, NO, NO);
	holds(s, l2, 8, 40);
	const struct kueue_shadow *w = waits(s, r, 15, NEVER);
	cast(s, 0);
	assert_int_equal(w->at, 40);
	assert_int_equal(w->lender, left);
	assert_true(lets(s, w, l1, 2, NEVER));
	assert_false(lets(s, w, l1, 6, NEVER)); /* left would borrow, and 5 are left beside it */
	assert_true(lets(s, w, l1, 5, NEVER));
	scene_close(s);
}

static void two_sides_are_of_one_cohort(void **state)
{
	struct scene *s = scene_open();
	uint32_t l1 = kt_queue(s->f, "l1", "left", 3, NO, NO);
	uint32_t l2 = kt_queue(s->f, "l2", "left", 7, NO, NO);
	uint32_t r = kt_queue(s->f, "r", "top", 10, NO, NO);
	uint32_t alone = kt_queue(s->f, "alone", "", 10, NO, NO);
	uint32_t left = kt_cohort(s->f, "left", "top", 0, NO, NO), ours, theirs;

	assert_true(kueue_shadow_sides(s->f, l1, l2, &ours, &theirs));
	assert_int_equal(ours, l1);
	assert_int_equal(theirs, l2);
	assert_true(kueue_shadow_sides(s->f, r, l2, &ours, &theirs));
	assert_int_equal(ours, r);
	assert_int_equal(theirs, left);
	assert_false(kueue_shadow_sides(s->f, l1, l1, &ours, &theirs));
	assert_false(kueue_shadow_sides(s->f, l1, alone, &ours, &theirs));
	/* A cohort is no side of what is below it, nor that of the cohort. */
	assert_false(kueue_shadow_sides(s->f, l1, kueue_forest_root(s->f, l1), &ours, &theirs));
	assert_false(kueue_shadow_sides(s->f, left, l1, &ours, &theirs));
	scene_close(s);
}

static void a_lending_limit_is_looked_through(void **state)
{
	/* b lends 2 of 10. a has 10 and wants 12: it fits when b's cannot be taken for b's sake. */
	struct scene *s = scene_open();
	uint32_t a = kt_queue(s->f, "a", "co", 10, NO, NO);
	uint32_t b = kt_queue(s->f, "b", "co", 10, NO, 2);

	holds(s, a, 5, 30);
	holds(s, b, 10, 60);
	const struct kueue_shadow *w = waits(s, a, 12, NEVER);
	cast(s, 0);
	assert_int_equal(w->at, 60);
	assert_int_equal(w->lender, b);
	assert_true(lets(s, w, b, 0, NEVER));
	s->wants[0].value = 13; /* more than there ever is */
	cast(s, 0);
	assert_int_equal(w->at, NEVER);
	scene_close(s);
}

static void those_that_wait_get_theirs_one_after_the_other(void **state)
{
	/* 10: all held until 50. First 8 for 100, then 7: it has to wait for the first's end. Then
	 * 2, which fit beside the first. */
	struct scene *s = scene_open();
	uint32_t q = kt_queue(s->f, "q", "", 10, NO, NO);

	holds(s, q, 10, 50);
	const struct kueue_shadow *first = waits(s, q, 8, 100), *second = waits(s, q, 7, 100),
				  *third = waits(s, q, 2, 100);
	cast(s, 0);
	assert_int_equal(first->at, 50);
	assert_int_equal(second->at, 150);
	assert_int_equal(third->at, 150);
	assert_false(lets(s, first, q, 3, NEVER));
	assert_true(lets(s, third, q, 1, NEVER));
	assert_false(lets(s, third, q, 2, NEVER));
	/* Without the first's limit nobody knows of the second. */
	s->shadows[0].limit = NEVER;
	cast(s, 0);
	assert_int_equal(second->at, NEVER);
	assert_int_equal(third->at, 50);
	scene_close(s);
}

static void another_flavor_is_no_matter(void **state)
{
	struct scene *s = scene_open();
	uint32_t q = kt_queue(s->f, "q", "", 10, NO, NO);

	holds(s, q, 10, 50);
	const struct kueue_shadow *w = waits(s, q, 10, NEVER);
	cast(s, 0);
	struct kueue_use use = kt_use(s->f, "spot", "cpu", 5);
	assert_true(kueue_shadow_lets(s->f, w, q, &use, 1, NEVER));
	struct kueue_use nothing = kt_use(s->f, "default", "cpu", 0);
	assert_true(kueue_shadow_lets(s->f, w, q, &nothing, 1, NEVER));
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

static int64_t some_limit(void)
{
	return below(3) ? NO : below(8);
}

#define N_QUEUES 5

static void random_queues(struct scene *s, uint32_t queues[N_QUEUES])
{
	static const char *const names[] = {"a", "b", "c", "d", "e"};
	static const char *const cohorts[] = {"left", "right", "top"};

	for (size_t i = 0; i < N_QUEUES; i++)
		queues[i] = kt_queue(s->f, names[i], cohorts[below(3)], below(12), some_limit(),
				     some_limit());
	(void)kt_cohort(s->f, "left", "top", below(6), some_limit(), some_limit());
	(void)kt_cohort(s->f, "right", "top", below(6), some_limit(), some_limit());
	(void)kt_cohort(s->f, "top", NULL, below(6), NO, NO);
}

static void charge_at_random(struct scene *s, const uint32_t queues[N_QUEUES], int n)
{
	for (int i = 0; i < n; i++) {
		struct kueue_use use = kt_use(s->f, "default", "cpu", 1 + below(6));
		uint32_t q = queues[below(N_QUEUES)];
		if (kueue_forest_fits(s->f, q, &use, 1))
			holds(s, q, use.value, below(4) ? 10 * below(30) : NEVER);
	}
}

/* At the time t: who has ended by then is gone, the rest is there. */
static bool fits_at(struct scene *s, const struct kueue_shadow *w, int64_t t)
{
	size_t mark = kueue_forest_mark(s->f);

	for (size_t i = 0; i < s->n; i++)
		if (s->endings[i].at <= t)
			kueue_forest_release(s->f, s->endings[i].queue, s->endings[i].uses, 1);
	bool fits = kueue_forest_fits(s->f, w->queue, w->uses, w->n_uses);
	kueue_forest_rollback(s->f, mark);
	return fits;
}

/* The first of all ends at which it fits. */
static int64_t first_fit(struct scene *s, const struct kueue_shadow *w)
{
	for (int64_t t = 0; t <= 300; t += 10)
		if (fits_at(s, w, t))
			return t;
	return NEVER;
}

/* Newcomers that are let pass, of the borrowing kind; lenders' own are counted. */
static size_t let_some_pass(struct scene *s, struct kueue_shadow *w,
			    const uint32_t queues[N_QUEUES])
{
	size_t own = 0;

	for (int i = 0; i < 20 && s->n < 60; i++) {
		struct kueue_use use = kt_use(s->f, "default", "cpu", 1 + below(5));
		int64_t until = below(2) ? 10 * below(30) : NEVER;
		uint32_t q = queues[below(N_QUEUES)];
		if (!kueue_forest_fits(s->f, q, &use, 1) || !lets(s, w, q, use.value, until))
			continue;
		kueue_shadow_took(s->f, w, q, &use, 1, until);
		uint32_t ours, theirs;
		if (kueue_shadow_sides(s->f, w->queue, q, &ours, &theirs)) {
			size_t mark = kueue_forest_mark(s->f);
			kueue_forest_charge(s->f, q, &use, 1);
			own += !kueue_forest_borrows_on(s->f, theirs, &use, 1);
			kueue_forest_rollback(s->f, mark);
		}
		holds(s, q, use.value, until);
	}
	return own;
}

static void whoever_is_let_pass_delays_nobody(void **state)
{
	int promised = 0, firm = 0, passed = 0;

	for (uint64_t seed = 1; seed <= 3000; seed++) {
		uint32_t queues[N_QUEUES];
		struct scene *s = scene_open();

		random_state = seed * 0x9e3779b97f4a7c15ULL;
		random_queues(s, queues);
		charge_at_random(s, queues, 25);
		struct kueue_shadow *w = waits(s, queues[below(N_QUEUES)], 1 + below(12), NEVER);
		cast(s, 0);
		if (w->at != first_fit(s, w))
			fail_msg("seed %d: fits at %d, told %d", (int)seed, (int)first_fit(s, w),
				 (int)w->at);
		if (w->at != NEVER) {
			size_t before = s->n;
			size_t own = let_some_pass(s, w, queues);
			promised++;
			passed += s->n > before;
			firm += own && w->lender == KUEUE_NONE;
			/* Lenders may take theirs back, unless none could break it. */
			if ((!own || w->lender == KUEUE_NONE) && !fits_at(s, w, w->at))
				fail_msg("seed %d: it does not fit at %d any more", (int)seed,
					 (int)w->at);
		}
		scene_close(s);
	}
	assert_in_range(promised, 800, 3000);
	assert_in_range(passed, 300, 3000);
	assert_in_range(firm, 50, 3000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(it_fits_when_enough_have_ended),
	    cmocka_unit_test(what_ends_now_is_over),
	    cmocka_unit_test(nobody_knows_when_those_without_an_end_leave),
	    cmocka_unit_test(a_lender_may_always_take_what_is_his),
	    cmocka_unit_test(a_lender_without_an_end_takes_nothing_back),
	    cmocka_unit_test(what_a_cohort_has_itself_nobody_takes_back),
	    cmocka_unit_test(a_side_of_the_cohort_keeps_its_own),
	    cmocka_unit_test(two_sides_are_of_one_cohort),
	    cmocka_unit_test(a_lending_limit_is_looked_through),
	    cmocka_unit_test(those_that_wait_get_theirs_one_after_the_other),
	    cmocka_unit_test(another_flavor_is_no_matter),
	    cmocka_unit_test(whoever_is_let_pass_delays_nobody),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

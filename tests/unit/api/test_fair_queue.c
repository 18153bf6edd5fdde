#include "request.h"

#include "api/fair_queue.h"

static const struct fair_limits limits = {
    .seats = 8, .flow_waiting = 50, .flow_bytes = 4000, .max_bytes = 6000, .long_running = 10};

#define ALICE SPAN("alice")
#define BOB   SPAN("bob")
#define CAROL SPAN("carol")

struct scene {
	struct fair_queue q;
	struct fair_request r[200];
	size_t n;
};

static int open_scene(void **state)
{
	struct scene *s = xcalloc(1, sizeof(*s));
	fair_queue_init(&s->q, &limits);
	*state = s;
	return 0;
}

static int close_scene(void **state)
{
	struct scene *s = *state;
	for (size_t i = 0; i < s->n; i++)
		fair_queue_remove(&s->q, &s->r[i]);
	assert_int_equal(s->q.n_waiting, 0);
	assert_int_equal(s->q.waiting_bytes, 0);
	assert_int_equal(s->q.seats_taken, 0);
	assert_int_equal(s->q.running_read + s->q.running_write + s->q.running_long, 0);
	assert_int_equal(s->q.n_flows, 0);
	fair_queue_done(&s->q);
	free(s);
	return 0;
}

static struct fair_request *come(struct scene *s, struct span user, uint32_t cost, size_t bytes)
{
	struct fair_request *r = &s->r[s->n++];
	*r = (struct fair_request){.cost = cost, .bytes = bytes};
	(void)fair_queue_add(&s->q, user, r);
	return r;
}

static void a_user_alone_gets_half_of_the_seats(void **state)
{
	struct scene *s = *state;
	for (int i = 0; i < 20; i++)
		(void)come(s, ALICE, 1, 0);
	assert_int_equal(s->q.seats_taken, 4);
	assert_int_equal(s->q.n_waiting, 16);
	assert_null(fair_queue_next(&s->q));
}

static void a_newcomer_runs_at_once_whatever_another_has_waiting(void **state)
{
	struct scene *s = *state;
	for (int i = 0; i < 40; i++)
		(void)come(s, ALICE, 1, 0);
	assert_int_equal(come(s, BOB, 1, 0)->state, FAIR_RUNNING);
	assert_int_equal(come(s, CAROL, 1, 0)->state, FAIR_RUNNING);
}

static void flows_take_turns(void **state)
{
	struct scene *s = *state;
	struct fair_request *wide = come(s, CAROL, 8, 0); /* all the seats */
	struct fair_request *a[3], *b[2];
	for (int i = 0; i < 3; i++)
		a[i] = come(s, ALICE, 1, 0);
	for (int i = 0; i < 2; i++)
		b[i] = come(s, BOB, 1, 0);
	assert_null(fair_queue_next(&s->q));
	fair_queue_remove(&s->q, wide);
	assert_ptr_equal(fair_queue_next(&s->q), a[0]);
	assert_ptr_equal(fair_queue_next(&s->q), b[0]);
	assert_ptr_equal(fair_queue_next(&s->q), a[1]);
	assert_ptr_equal(fair_queue_next(&s->q), b[1]);
	assert_null(fair_queue_next(&s->q)); /* two flows: a third of eight each */
	fair_queue_remove(&s->q, a[0]);
	assert_ptr_equal(fair_queue_next(&s->q), a[2]);
}

static void slow_requests_of_two_users_leave_room_for_a_third(void **state)
{
	struct scene *s = *state;
	for (int i = 0; i < 10; i++) {
		(void)come(s, ALICE, 1, 0);
		(void)come(s, BOB, 1, 0);
		while (fair_queue_next(&s->q))
			;
	}
	assert_true(s->q.seats_taken < 8);
	assert_int_equal(come(s, CAROL, 1, 0)->state, FAIR_RUNNING);
}

static void an_expensive_request_is_not_overtaken_for_ever(void **state)
{
	struct scene *s = *state;
	struct fair_request *a = come(s, ALICE, 4, 0), *list, *late;
	(void)come(s, BOB, 1, 0);
	list = come(s, CAROL, 8, 0);
	assert_int_equal(list->state, FAIR_WAITING);
	late = come(s, SPAN("dave"), 1, 0);
	assert_int_equal(late->state, FAIR_WAITING);
	fair_queue_remove(&s->q, a);
	assert_null(fair_queue_next(&s->q)); /* seven are free, and kept */
	fair_queue_remove(&s->q, &s->r[1]);
	assert_ptr_equal(fair_queue_next(&s->q), list);
}

static void a_full_flow_is_refused_and_others_are_not(void **state)
{
	struct scene *s = *state;
	for (int i = 0; i < 4 + 50; i++)
		assert_int_not_equal(come(s, ALICE, 1, 0)->state, FAIR_NONE);
	assert_int_equal(come(s, ALICE, 1, 0)->state, FAIR_NONE);
	assert_int_equal(s->q.refused, 1);
	assert_int_equal(come(s, BOB, 1, 0)->state, FAIR_RUNNING);
}

static void bytes_that_wait_are_bounded_by_flow_and_by_share(void **state)
{
	struct scene *s = *state;
	(void)come(s, SPAN("all"), 8, 0);
	assert_int_equal(come(s, ALICE, 1, 4001)->state, FAIR_NONE);
	assert_int_equal(come(s, ALICE, 1, 4000)->state, FAIR_WAITING);
	assert_int_equal(come(s, BOB, 1, 1900)->state, FAIR_WAITING);
	/* 5900 of 6000: over it, only flows below a fourth of it may add. */
	assert_int_equal(come(s, BOB, 1, 200)->state, FAIR_NONE);
	assert_int_equal(come(s, CAROL, 1, 1500)->state, FAIR_WAITING);
	assert_int_equal(come(s, CAROL, 1, 1)->state, FAIR_NONE);
	assert_true(s->q.waiting_bytes < 2 * limits.max_bytes);
}

static void a_client_that_goes_away_leaves_the_queue(void **state)
{
	struct scene *s = *state;
	struct fair_request *wide = come(s, CAROL, 8, 0);
	struct fair_request *first = come(s, ALICE, 1, 10), *middle = come(s, ALICE, 1, 10),
			    *last = come(s, ALICE, 1, 10);
	fair_queue_remove(&s->q, last);
	fair_queue_remove(&s->q, middle);
	last = come(s, ALICE, 1, 10);
	fair_queue_remove(&s->q, first);
	assert_int_equal(s->q.waiting_bytes, 10);
	fair_queue_remove(&s->q, wide);
	assert_ptr_equal(fair_queue_next(&s->q), last);
	assert_null(fair_queue_next(&s->q));
}

static void exempt_requests_take_no_seat(void **state)
{
	struct scene *s = *state;
	(void)come(s, ALICE, 8, 0);
	for (int i = 0; i < 20; i++) {
		struct fair_request *r = &s->r[s->n++];
		r->cost = 1;
		r->write = true;
		fair_queue_add_exempt(&s->q, r);
	}
	assert_int_equal(s->q.running_write, 20);
	assert_int_equal(s->q.seats_taken, 8);
}

static void one_user_may_hold_half_of_the_long_running_requests(void **state)
{
	struct scene *s = *state;
	for (int i = 0; i < 5; i++)
		assert_true(fair_queue_add_long(&s->q, ALICE, false, &s->r[s->n++]));
	assert_false(fair_queue_add_long(&s->q, ALICE, false, &s->r[s->n++]));
	assert_true(fair_queue_add_long(&s->q, BOB, false, &s->r[s->n++]));
	for (int i = 0; i < 4; i++)
		assert_true(fair_queue_add_long(&s->q, ALICE, true, &s->r[s->n++]));
	assert_false(fair_queue_add_long(&s->q, CAROL, true, &s->r[s->n++]));
	/* They take no share of the seats: bob runs beside them. */
	assert_int_equal(s->q.seats_taken, 0);
	assert_int_equal(come(s, BOB, 1, 0)->state, FAIR_RUNNING);
}

/* A user with a hundred requests always waiting, and one with one at a time: the latter is
 * answered after a bounded number of the former's. */
static void a_light_user_waits_for_few_of_a_heavy_ones_requests(void **state)
{
	struct fair_queue q;
	struct fair_request heavy[100] = {0}, light = {0};
	size_t before = 0, worst = 0, served = 0;
	(void)state;
	fair_queue_init(&q, &(struct fair_limits){8, 1000, SIZE_MAX / 4, SIZE_MAX / 4, 1});
	for (size_t i = 0; i < ARRAY_LEN(heavy); i++) {
		heavy[i].cost = 1;
		(void)fair_queue_add(&q, ALICE, &heavy[i]);
	}
	light.cost = 1;
	for (size_t turn = 0; turn < 10000; turn++) {
		struct fair_request *r = &heavy[turn % ARRAY_LEN(heavy)];
		if (light.state == FAIR_RUNNING) {
			worst = before > worst ? before : worst;
			before = 0;
			served++;
			fair_queue_remove(&q, &light);
		} else if (light.state == FAIR_NONE && turn % 3 == 0) {
			(void)fair_queue_add(&q, BOB, &light);
		}
		if (r->state == FAIR_RUNNING) {
			fair_queue_remove(&q, r);
			(void)fair_queue_add(&q, ALICE, r);
			before += light.state == FAIR_WAITING;
		}
		while (fair_queue_next(&q))
			;
	}
	assert_true(served > 2000);
	assert_true(worst <= 1);
	fair_queue_remove(&q, &light);
	for (size_t i = 0; i < ARRAY_LEN(heavy); i++)
		fair_queue_remove(&q, &heavy[i]);
	fair_queue_done(&q);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_scene, close_scene)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(a_user_alone_gets_half_of_the_seats),
	    TEST(a_newcomer_runs_at_once_whatever_another_has_waiting),
	    TEST(flows_take_turns),
	    TEST(slow_requests_of_two_users_leave_room_for_a_third),
	    TEST(an_expensive_request_is_not_overtaken_for_ever),
	    TEST(a_full_flow_is_refused_and_others_are_not),
	    TEST(bytes_that_wait_are_bounded_by_flow_and_by_share),
	    TEST(a_client_that_goes_away_leaves_the_queue),
	    TEST(exempt_requests_take_no_seat),
	    TEST(one_user_may_hold_half_of_the_long_running_requests),
	    cmocka_unit_test(a_light_user_waits_for_few_of_a_heavy_ones_requests),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

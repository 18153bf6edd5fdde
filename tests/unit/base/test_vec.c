#include "base/vec.h"

#include "test.h"

struct point {
	int x, y;
};

static void elements_stay_in_order_through_growth(void **state)
{
	struct VEC(struct point) v = {0};
	int sum = 0;
	(void)state;
	for (int i = 0; i < 1000; i++)
		vec_push(&v, (struct point){i, -i});
	assert_int_equal(v.len, 1000);
	vec_foreach (&v, p) {
		assert_int_equal(p->x, p - v.items);
		sum += p->x + p->y;
	}
	assert_int_equal(sum, 0);
	vec_done(&v);
	assert_null(v.items);
	vec_done(&v);
}

static void clearing_keeps_the_memory(void **state)
{
	struct VEC(int) v = {0};
	(void)state;
	vec_reserve(&v, 100);
	int *items = v.items;
	vec_push(&v, 1);
	vec_clear(&v);
	assert_int_equal(v.len, 0);
	vec_push(&v, 2);
	assert_ptr_equal(v.items, items);
	assert_int_equal(v.items[0], 2);
	vec_done(&v);
}

static void an_empty_one_can_be_walked(void **state)
{
	struct VEC(int) v = {0};
	(void)state;
	vec_foreach (&v, i)
		fail_msg("%d", *i);
	vec_done(&v);
}

RUN(T(elements_stay_in_order_through_growth), T(clearing_keeps_the_memory),
    T(an_empty_one_can_be_walked))

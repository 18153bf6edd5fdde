#include "request.h"

#include "api/task.h"

#define N 1000

struct item {
	struct task task;
	struct mailbox *mailbox;
	_Atomic int *ran;
	int *arrived;
	int number;
};

static void run_home(struct task *t)
{
	struct item *i = (struct item *)t;
	if (++*i->arrived == N)
		mailbox_close(i->mailbox);
}

static void run_away(struct task *t)
{
	struct item *i = (struct item *)t;
	atomic_fetch_add(i->ran, 1);
	i->task.run = run_home;
	mailbox_post(i->mailbox, &i->task);
}

static void every_task_goes_to_a_worker_and_comes_home(void **state)
{
	static struct item items[N];
	_Atomic int ran = 0;
	int arrived = 0;
	struct workers *w = NULL;
	struct mailbox m;
	uv_loop_t loop;
	(void)state;
	uv_loop_init(&loop);
	assert_int_equal(mailbox_open(&m, &loop), 0);
	assert_int_equal(workers_create(3, &w, NULL), 0);
	for (int i = 0; i < N; i++) {
		items[i] = (struct item){{NULL, run_away}, &m, &ran, &arrived, i};
		workers_submit(w, &items[i].task);
	}
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_int_equal(arrived, N);
	assert_int_equal(atomic_load(&ran), N);
	workers_destroy(w);
	assert_int_equal(uv_loop_close(&loop), 0);
}

struct ordered {
	struct task task;
	int number, *last;
};

static void check_order(struct task *t)
{
	struct ordered *o = (struct ordered *)t;
	assert_int_equal(o->number, *o->last + 1);
	*o->last = o->number;
}

static void a_mailbox_keeps_the_order_of_posting(void **state)
{
	struct ordered items[50];
	struct mailbox m;
	uv_loop_t loop;
	int last = -1;
	(void)state;
	uv_loop_init(&loop);
	assert_int_equal(mailbox_open(&m, &loop), 0);
	for (int i = 0; i < 50; i++) {
		items[i] = (struct ordered){{NULL, check_order}, i, &last};
		mailbox_post(&m, &items[i].task);
	}
	mailbox_drain(&m);
	assert_int_equal(last, 49);
	mailbox_close(&m);
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&loop), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_task_goes_to_a_worker_and_comes_home),
	    cmocka_unit_test(a_mailbox_keeps_the_order_of_posting),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "base/buf.h"
#include "member-sync/fact_queue.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

/* A core that writes down what it gets: "op:name@revision" words. */
struct core {
	struct fact_sink sink;
	struct buf log;
	size_t bytes;
};

static void push(struct fact_sink *sink, struct fact *f)
{
	struct core *c = (struct core *)sink;
	struct span name = f->op == FACT_NODE	? f->node.name
			   : f->op == FACT_COPY ? f->copy.uid
						: SPAN_NONE;

	buf_addf(&c->log, "%s%d:%.*s@%llu", c->log.len ? " " : "", (int)f->op, SPAN_ARGS(name),
		 (unsigned long long)f->revision);
	c->bytes += f->bytes;
	fact_destroy(f);
}

struct fixture {
	struct core core;
	struct fact_queue q;
};

static int setup(void **state)
{
	struct fixture *x = xcalloc(1, sizeof(*x));

	x->core.sink.push = push;
	fact_queue_init(&x->q, &x->core.sink);
	*state = x;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *x = *state;

	fact_queue_done(&x->q);
	buf_done(&x->core.log);
	free(x);
	return 0;
}

static struct fact *mark(enum fact_op op, uint64_t revision)
{
	struct fact *f = fact_create(op, 1);

	f->stream = STREAM_NODES;
	f->revision = revision;
	return f;
}

static struct fact *node(const char *name, uint64_t revision, bool deleted)
{
	struct fact *f = mark(FACT_NODE, revision);

	f->node.name = arena_span(&f->mem, span_of(name));
	f->deleted = deleted;
	f->bytes = 1000;
	return f;
}

static struct fact *copy(const char *uid, uint64_t revision)
{
	struct fact *f = fact_create(FACT_COPY, 1);

	f->stream = STREAM_JOBS;
	f->copy.ns = SPAN("n");
	f->copy.name = SPAN("j");
	f->copy.uid = arena_span(&f->mem, span_of(uid));
	f->revision = revision;
	return f;
}

/* Fills the window, so that what follows waits; the log then starts afresh. */
static void fill(struct fixture *x)
{
	struct fact *big = mark(FACT_CURSOR, 1);

	big->bytes = FACT_QUEUE_WINDOW;
	fact_queue_add(&x->q, big);
	buf_clear(&x->core.log);
}

static void drain(struct fixture *x)
{
	fact_queue_taken(&x->q, SIZE_MAX);
}

static void facts_go_straight_through_an_open_window(void **state)
{
	struct fixture *x = *state;

	fact_queue_add(&x->q, node("a", 1, false));
	fact_queue_add(&x->q, node("a", 2, false));
	assert_string_equal(x->core.log.ptr, "1:a@1 1:a@2");
	assert_int_equal(x->q.pushed, 2000);
}

static void the_newer_state_takes_the_place_of_the_older(void **state)
{
	struct fixture *x = *state;

	fill(x);
	fact_queue_add(&x->q, node("a", 2, false));
	fact_queue_add(&x->q, node("b", 3, false));
	fact_queue_add(&x->q, node("a", 4, false));
	fact_queue_add(&x->q, mark(FACT_CURSOR, 5));
	fact_queue_add(&x->q, node("b", 6, true));
	assert_int_equal(x->core.log.len, 0);
	assert_int_equal(x->q.merged, 2);
	drain(x);
	assert_string_equal(x->core.log.ptr, "1:a@4 1:b@6 7:@5");
	assert_int_equal(x->q.waiting, 0);
}

static void a_deletion_is_never_replaced(void **state)
{
	struct fixture *x = *state;

	fill(x);
	fact_queue_add(&x->q, node("a", 2, true));
	fact_queue_add(&x->q, node("a", 3, false));
	fact_queue_add(&x->q, node("a", 4, false));
	drain(x);
	assert_string_equal(x->core.log.ptr, "1:a@2 1:a@4");
}

static void a_copy_of_another_uid_does_not_replace(void **state)
{
	struct fixture *x = *state;

	fill(x);
	fact_queue_add(&x->q, copy("u1", 2));
	fact_queue_add(&x->q, copy("u1", 3));
	fact_queue_add(&x->q, copy("u2", 4));
	drain(x);
	assert_string_equal(x->core.log.ptr, "3:u1@3 3:u2@4");
}

static void nothing_is_merged_across_the_edges_of_a_list(void **state)
{
	struct fixture *x = *state;

	fill(x);
	fact_queue_add(&x->q, node("a", 2, false));
	fact_queue_add(&x->q, mark(FACT_LIST_BEGIN, 0));
	fact_queue_add(&x->q, node("a", 3, false));
	fact_queue_add(&x->q, mark(FACT_LIST_END, 4));
	fact_queue_add(&x->q, node("a", 5, false));
	drain(x);
	assert_string_equal(x->core.log.ptr, "1:a@2 5:@0 1:a@3 6:@4 1:a@5");
}

static void what_was_pushed_is_out_of_reach(void **state)
{
	struct fixture *x = *state;

	fill(x);
	fact_queue_add(&x->q, node("a", 2, false));
	drain(x);
	fill(x);
	fact_queue_add(&x->q, node("a", 3, false));
	drain(x);
	assert_string_equal(x->core.log.ptr, "1:a@3");
	assert_int_equal(x->q.merged, 0);
}

static void results_overtake(void **state)
{
	struct fixture *x = *state;

	fill(x);
	fact_queue_add(&x->q, node("a", 2, false));
	fact_queue_add(&x->q, mark(FACT_RESULT, 3));
	assert_string_equal(x->core.log.ptr, "8:@3");
}

static void the_window_holds_and_the_bound_is_seen(void **state)
{
	struct fixture *x = *state;
	char name[32];
	uint64_t n = 0;

	while (!fact_queue_full(&x->q)) {
		snprintf(name, sizeof(name), "node-%llu", (unsigned long long)++n);
		fact_queue_add(&x->q, node(name, n, false));
	}
	assert_int_equal(x->q.pushed + x->q.waiting, n * 1000);
	assert_in_range(x->core.bytes, FACT_QUEUE_WINDOW, FACT_QUEUE_WINDOW + 1000);
	assert_false(fact_queue_roomy(&x->q));
	while (!fact_queue_roomy(&x->q))
		fact_queue_taken(&x->q, 1000);
	assert_in_range(x->q.pushed + x->q.waiting, 1, FACT_QUEUE_MAX / 4 * 3);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(facts_go_straight_through_an_open_window),
	    T(the_newer_state_takes_the_place_of_the_older),
	    T(a_deletion_is_never_replaced),
	    T(a_copy_of_another_uid_does_not_replace),
	    T(nothing_is_merged_across_the_edges_of_a_list),
	    T(what_was_pushed_is_out_of_reach),
	    T(results_overtake),
	    T(the_window_holds_and_the_bound_is_seen),
	};
	return cmocka_run_group_tests_name("fact_queue", tests, NULL, NULL);
}

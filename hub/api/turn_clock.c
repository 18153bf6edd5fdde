#include "api/turn_clock.h"

#include <time.h>

static const struct {
	int64_t ns;
	const char *text;
} bounds[TURN_CLOCK_BUCKETS] = {
    {100000, "0.0001"}, {250000, "0.00025"}, {500000, "0.0005"}, {1000000, "0.001"},
    {2000000, "0.002"}, {5000000, "0.005"},  {20000000, "0.02"}, {100000000, "0.1"},
};

const char *turn_clock_bound(size_t i)
{
	return bounds[i].text;
}

void turn_times_add(struct turn_times *t, int64_t ns)
{
	size_t b = 0;
	while (b < TURN_CLOCK_BUCKETS && ns > bounds[b].ns)
		b++;
	t->bucket[b]++;
	t->count++;
	t->sum_ns += ns;
	if (ns > t->max_ns)
		t->max_ns = ns;
}

/* Runs right after the sockets of a turn were served; timers and the mailbox are in the next. */
static void on_check(uv_check_t *check)
{
	struct turn_clock *c = check->data;
	struct timespec t;
	int64_t now;
	if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) < 0)
		return;
	now = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
	if (c->before)
		turn_times_add(&c->times, now - c->before);
	c->before = now;
}

int turn_clock_open(struct turn_clock *c, uv_loop_t *loop)
{
	int r = uv_check_init(loop, &c->check);
	if (r < 0)
		return r;
	c->check.data = c;
	return uv_check_start(&c->check, on_check);
}

void turn_clock_close(struct turn_clock *c)
{
	uv_close((uv_handle_t *)&c->check, NULL);
}

/*
 * kill -9 at random moments: whatever was acknowledged is there, no batch is there in part, the
 * log has no gap, and the objects are what the log says.
 *
 * Batch number i has 1 + i % 5 changes, whose objects carry "batch":i; which keys it touches
 * follows from i. So the log alone tells whether every batch is whole.
 */
#include "base/num.h"
#include "fixture.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define KILLS	50
#define N_NAMES 40

static uint64_t mix(uint64_t z)
{
	z += 0x9e3779b97f4a7c15ULL;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

static size_t batch_size(uint64_t i)
{
	return 1 + i % 5;
}

static void object_of(uint64_t i, size_t k, char name[16], char spec[2600])
{
	/* Names of one batch differ: they go up from a start. */
	(void)snprintf(name, 16, "o%02zu", (size_t)((mix(i) + k) % N_NAMES));
	int n = snprintf(spec, 2600, "{\"batch\":%" PRIu64 ",\"k\":%zu,\"pad\":\"", i, k);
	size_t pad = (size_t)(mix(i + k) % 2500);
	memset(spec + n, 'x', pad);
	(void)snprintf(spec + n + pad, 2600 - (size_t)n - pad, "\"}");
}

/* ---- the child ---- */

static int apply_batch(struct store *s, uint64_t i)
{
	struct made made[5];
	struct store_change changes[6];
	char name[16], spec[2600], counter[24];
	size_t n = batch_size(i);

	for (size_t k = 0; k < n; k++) {
		object_of(i, k, name, spec);
		made_put(&made[k], 1, "ns", name, spec, NULL);
		changes[k] = made[k].change;
	}
	(void)snprintf(counter, sizeof(counter), "%" PRIu64, i);
	changes[n] = (struct store_change){.op = STORE_PUT_AUX,
					   .aux_table = STORE_AUX_SETTING,
					   .aux_key = SPAN("batch"),
					   .aux_value = span_of(counter)};
	int r = store_apply(s, changes, n + 1, (usec)i, NULL);
	for (size_t k = 0; k < n; k++)
		made_done(&made[k]);
	return r;
}

static _Noreturn void run_child(struct fixture *f, uint64_t next, int acks)
{
	fixture_open(f);
	for (;; next++)
		if (apply_batch(f->store, next) < 0 ||
		    write(acks, &next, sizeof(next)) != sizeof(next))
			_exit(1);
}

/* ---- the parent ---- */

struct replay {
	uint64_t next_revision; /* expected */
	uint64_t batch;		/* of the last row */
	size_t rows_of_batch;
	uint64_t revision_of[N_NAMES];
	int bad;
};

static size_t index_of(struct span name)
{
	uint64_t i = 0;
	assert_int_equal(num_parse_u64(span_make(name.ptr + 1, name.len - 1), N_NAMES - 1, &i), 0);
	return (size_t)i;
}

static uint64_t batch_of(struct span json)
{
	const char *at = memmem(json.ptr, json.len, "\"batch\":", 8);
	return at ? strtoull(at + 8, NULL, 10) : UINT64_MAX;
}

static int replay_row(void *arg, const struct store_log_row *row)
{
	struct replay *p = arg;
	uint64_t batch = batch_of(row->object.json);
	char name[16], spec[2600];

	p->bad += row->revision != p->next_revision++;
	if (batch != p->batch) {
		p->bad +=
		    batch != p->batch + 1 || (p->batch && p->rows_of_batch != batch_size(p->batch));
		p->batch = batch;
		p->rows_of_batch = 0;
	}
	object_of(batch, p->rows_of_batch++, name, spec);
	auto_free char *want = made_expected(name, row->revision, spec, NULL);
	p->bad += !span_is(row->object.json, want);
	p->revision_of[index_of(span_of(name))] = row->revision;
	return 0;
}

static void check_objects(struct store_reader *r, const struct replay *p)
{
	const struct store_range range = {.type = 1};
	struct store_iter *it;
	struct store_object o;
	size_t n = 0, want = 0;
	int e;

	assert_int_equal(store_iter_begin(r, &range, &it, NULL), 0);
	for (; store_iter_next(it, &o, &e); n++)
		assert_int_equal(o.revision, p->revision_of[index_of(o.key.name)]);
	assert_int_equal(e, 0);
	store_iter_end(it);
	for (size_t i = 0; i < N_NAMES; i++)
		want += p->revision_of[i] != 0;
	assert_int_equal(n, want);
}

/* Returns the number of the last batch that is there. */
static uint64_t verify(struct fixture *f, uint64_t acked)
{
	struct replay p = {.next_revision = 1};
	struct span counter;

	fixture_open(f);
	struct store_reader *r = begin(f);
	assert_int_equal(store_log_scan(r, 0, replay_row, &p), 0);
	assert_int_equal(p.bad, 0);
	assert_int_equal(p.next_revision, store_revision(f->store) + 1);
	assert_true(p.batch >= acked);
	assert_true(p.batch <= acked + 1); /* one commit may not have been acknowledged yet */
	if (p.batch) {
		assert_int_equal(p.rows_of_batch, batch_size(p.batch));
		assert_int_equal(store_get_aux(r, STORE_AUX_SETTING, SPAN("batch"), &counter), 0);
		auto_free char *text = xstrndup(counter.ptr, counter.len);
		assert_int_equal(strtoull(text, NULL, 10), p.batch);
	}
	check_objects(r, &p);
	store_read_end(r);
	fixture_close(f);
	return p.batch;
}

/* One life of the writer; the last acknowledged batch. */
static uint64_t live_and_die(struct fixture *f, uint64_t next, uint64_t random)
{
	int pipe_fds[2], status;
	uint64_t acked = next - 1, a;

	assert_int_equal(pipe(pipe_fds), 0);
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		(void)close(pipe_fds[0]);
		run_child(f, next, pipe_fds[1]);
	}
	(void)close(pipe_fds[1]);
	/* Some acknowledgements, then an arbitrary moment within a commit. */
	for (uint64_t n = random % 40; n > 0; n--)
		if (read(pipe_fds[0], &a, sizeof(a)) == sizeof(a))
			acked = a;
	for (volatile uint64_t spin = (random >> 8) % 200000; spin > 0; spin--)
		;
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	while (read(pipe_fds[0], &a, sizeof(a)) == sizeof(a))
		acked = a;
	(void)close(pipe_fds[0]);
	return acked;
}

static void nothing_acknowledged_is_lost_under_kill_9(void **state)
{
	struct fixture f;
	uint64_t last = 0;
	(void)state;

	fixture_init(&f, ON_LMDB);
	for (uint64_t i = 0; i < KILLS; i++) {
		uint64_t acked = live_and_die(&f, last + 1, mix(i));
		last = verify(&f, acked);
	}
	print_message("%llu batches over %d kills\n", (unsigned long long)last, KILLS);
	assert_true(last > KILLS);
	fixture_done(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(nothing_acknowledged_is_lost_under_kill_9),
	};
	return cmocka_run_group_tests_name("store kill", tests, NULL, NULL);
}

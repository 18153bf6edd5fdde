/*
 * The durable store against the model: the same random operations on both, and after each the
 * same answers. Seeds are fixed, so a failure repeats; it prints its seed and step.
 */
#include "fixture.h"

#include <errno.h>

#define N_NAMES	 24
#define HOT_NAME "n3" /* often changed, seldom deleted */
#define N_OWNERS 4

struct pair {
	struct fixture model, durable;
	uint64_t random;
	usec now;
	uint64_t seed;
	long step;
};

static uint64_t next_random(struct pair *p)
{
	/* splitmix64 */
	uint64_t z = p->random += 0x9e3779b97f4a7c15ULL;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

static size_t pick(struct pair *p, size_t n)
{
	return (size_t)(next_random(p) % n);
}

#define check(p, condition)                                                                        \
	do {                                                                                       \
		if (!(condition))                                                                  \
			fail_msg("seed %llu step %ld: " #condition, (unsigned long long)(p)->seed, \
				 (p)->step);                                                       \
	} while (0)

/* ---- making a batch ---- */

struct random_batch {
	struct store_change changes[8];
	char text[8][4096];
	char names[8][8];
	uint8_t owners[8][N_OWNERS][STORE_UID_LEN];
	size_t n;
};

static struct store_key random_key(struct pair *p, char name[8])
{
	static const char *const spaces[] = {"", "a", "ab"};
	(void)snprintf(name, 8, HOT_NAME);
	if (pick(p, 3) == 0)
		return key_of(1, "a", name);
	(void)snprintf(name, 8, "n%zu", pick(p, N_NAMES));
	return key_of((uint16_t)(1 + pick(p, 2)), spaces[pick(p, 3)], name);
}

/* Mostly small edits of one text, as status changes are; sometimes anything. */
static void random_json(struct pair *p, struct store_change *c, char text[4096])
{
	size_t head = pick(p, 8) == 0 ? pick(p, 40) : 12;
	size_t len = head + (pick(p, 8) == 0 ? pick(p, 3000) : 700);

	for (size_t i = 0; i < len; i++)
		text[i] = (char)('a' + i % 23);
	for (size_t edits = pick(p, 4); edits > 0 && len > 0; edits--)
		text[pick(p, len)] = (char)('A' + pick(p, 26));
	c->json = span_make(text, len);
	c->extents.revision.at = (uint32_t)head;
	c->extents.metadata =
	    (struct store_extent){(uint32_t)(head / 2), (uint32_t)(len - head / 2)};
	c->extents.spec = pick(p, 4)
			      ? (struct store_extent){(uint32_t)(len / 4), (uint32_t)(len / 2)}
			      : (struct store_extent){0, (uint32_t)head};
	c->extents.status =
	    (struct store_extent){(uint32_t)head, (uint32_t)pick(p, len - head + 1)};
	c->digest = span_make(text, pick(p, 2) ? pick(p, len + 1) : 0);
	c->flags = (store_flags)pick(p, 16);
	memset(c->uid, (int)pick(p, 3), STORE_UID_LEN);
}

static void random_change(struct pair *p, struct random_batch *b, size_t i)
{
	struct store_change *c = &b->changes[i];

	*c = (struct store_change){.op = pick(p, 3) ? STORE_PUT : STORE_DELETE};
	if (pick(p, 8) == 0)
		c->op = pick(p, 3) ? STORE_PUT_AUX : STORE_DELETE_AUX;
	c->key = random_key(p, b->names[i]);
	if (span_is(c->key.name, HOT_NAME) && pick(p, 16))
		c->op = STORE_PUT;
	c->aux_table = (uint8_t)(1 + pick(p, 2));
	c->aux_key = c->key.name;
	random_json(p, c, b->text[i]);
	c->aux_value = c->json;
	c->n_owners = pick(p, 3) == 0 ? pick(p, N_OWNERS + 1) : 0;
	for (size_t k = 0; k < c->n_owners; k++)
		memset(b->owners[i][k], (int)((k + pick(p, 2) * N_OWNERS) + 1), STORE_UID_LEN);
	c->owners = (const uint8_t(*)[STORE_UID_LEN])b->owners[i];
}

static void apply_to_both(struct pair *p)
{
	static struct random_batch b;
	struct store_change other[8];
	struct err e = ERR_INIT, f = ERR_INIT;

	b.n = 1 + pick(p, 4);
	for (size_t i = 0; i < b.n; i++)
		random_change(p, &b, i);
	memcpy(other, b.changes, sizeof(other));
	p->now += (usec)pick(p, 20);
	int r = store_apply(p->model.store, b.changes, b.n, p->now, &e);
	int q = store_apply(p->durable.store, other, b.n, p->now, &f);
	check(p, r == q && e.kind == f.kind);
	check(p, store_revision(p->model.store) == store_revision(p->durable.store));
	check(p, store_floor(p->model.store) == store_floor(p->durable.store));
	for (size_t i = 0; r == 0 && i < b.n; i++) {
		check(p, b.changes[i].ret_revision == other[i].ret_revision);
		check(p, b.changes[i].ret_create_revision == other[i].ret_create_revision);
	}
}

/* ---- comparing ---- */

static bool same_extent(struct store_extent a, struct store_extent b)
{
	return a.at == b.at && a.len == b.len;
}

static void compare_objects(struct pair *p, const struct store_object *a,
			    const struct store_object *b)
{
	check(p, a->key.type == b->key.type && span_eq(a->key.ns, b->key.ns));
	check(p, span_eq(a->key.name, b->key.name));
	check(p, a->revision == b->revision && a->create_revision == b->create_revision);
	check(p, a->flags == b->flags && memcmp(a->uid, b->uid, STORE_UID_LEN) == 0);
	check(p, span_eq(a->digest, b->digest) && span_eq(a->json, b->json));
	check(p, same_extent(a->extents.revision, b->extents.revision));
	check(p, same_extent(a->extents.metadata, b->extents.metadata));
	check(p, same_extent(a->extents.spec, b->extents.spec));
	check(p, same_extent(a->extents.status, b->extents.status));
}

static void compare_points(struct pair *p, struct store_reader *m, struct store_reader *d)
{
	struct store_object a, b;
	struct span v, w;
	char name[8];
	struct store_key key = random_key(p, name);
	uint64_t at = pick(p, store_reader_revision(m) + 2);

	int r = store_get(m, &key, &a), q = store_get(d, &key, &b);
	check(p, r == q);
	if (r == 0)
		compare_objects(p, &a, &b);
	r = store_get_at(m, &key, at, &a);
	q = store_get_at(d, &key, at, &b);
	check(p, r == q);
	if (r == 0)
		compare_objects(p, &a, &b);
	uint8_t table = (uint8_t)(1 + pick(p, 2));
	r = store_get_aux(m, table, key.name, &v);
	q = store_get_aux(d, table, key.name, &w);
	check(p, r == q);
	check(p, r < 0 || span_eq(v, w));
}

static void compare_lists(struct pair *p, struct store_reader *m, struct store_reader *d)
{
	struct store_iter *x, *y;
	struct store_object a, b;
	char name[8];
	struct store_key after = random_key(p, name);
	uint64_t top = store_reader_revision(m), floor = store_floor(p->model.store);
	struct store_range range = {
	    .type = (uint16_t)(1 + pick(p, 2)),
	    .ns = pick(p, 2)   ? SPAN_NONE
		  : pick(p, 2) ? SPAN("a")
			       : SPAN(""),
	    .after = pick(p, 2) ? &after : NULL,
	    .at_revision = pick(p, 2) ? 0 : floor + pick(p, top - floor + 1),
	};
	int e, f;

	check(p, store_iter_begin(m, &range, &x, NULL) == 0);
	check(p, store_iter_begin(d, &range, &y, NULL) == 0);
	for (;;) {
		bool more = store_iter_next(x, &a, &e);
		check(p, more == store_iter_next(y, &b, &f) && e == f);
		if (!more)
			break;
		compare_objects(p, &a, &b);
	}
	store_iter_end(x);
	store_iter_end(y);
	size_t n, o;
	check(p, store_count(m, range.type, range.ns, 1000, &n) == 0);
	check(p, store_count(d, range.type, range.ns, 1000, &o) == 0 && n == o);
}

struct log_walk {
	struct store_reader *r;
	struct buf text;
	int left;
};

static int write_row(void *arg, const struct store_log_row *row)
{
	struct log_walk *w = arg;
	buf_addf(&w->text, "%llu %llu %d %lld %u/%.*s/%.*s ", (unsigned long long)row->revision,
		 (unsigned long long)row->previous, row->op, (long long)row->time,
		 row->object.key.type, SPAN_ARGS(row->object.key.ns),
		 SPAN_ARGS(row->object.key.name));
	buf_add_span(&w->text, row->object.json);
	buf_add_span(&w->text, row->object.digest);
	buf_addf(&w->text, " %u %u old ", row->object.extents.status.at,
		 row->object.extents.spec.len);
	if (row->has_old)
		assert_int_equal(store_log_old(w->r, row, &w->text), 0);
	return --w->left == 0;
}

static void compare_logs(struct pair *p, struct store_reader *m, struct store_reader *d)
{
	struct log_walk a = {m, BUF_INIT, 30}, b = {d, BUF_INIT, 30};
	uint64_t after = pick(p, store_reader_revision(m) + 1);

	int r = store_log_scan(m, after, write_row, &a);
	check(p, r == store_log_scan(d, after, write_row, &b));
	check(p, span_eq(buf_span(&a.text), buf_span(&b.text)));
	buf_done(&a.text);
	buf_done(&b.text);
}

static int write_key(void *arg, const struct store_key *key)
{
	buf_addf(arg, "%u/%.*s/%.*s ", key->type, SPAN_ARGS(key->ns), SPAN_ARGS(key->name));
	return 0;
}

static int write_aux(void *arg, struct span key, struct span value)
{
	buf_add_span(arg, key);
	buf_add_span(arg, value);
	return 0;
}

static void compare_scans(struct pair *p, struct store_reader *m, struct store_reader *d)
{
	uint8_t uid[STORE_UID_LEN];
	auto_buf a = BUF_INIT, b = BUF_INIT;

	memset(uid, (int)(1 + pick(p, 2 * N_OWNERS)), sizeof(uid));
	check(p, store_dependents(m, uid, write_key, &a) == 0);
	check(p, store_dependents(d, uid, write_key, &b) == 0);
	uint8_t table = (uint8_t)(1 + pick(p, 2));
	struct span prefix = pick(p, 2) ? SPAN("n1") : SPAN("");
	check(p, store_scan_aux(m, table, prefix, write_aux, &a) == 0);
	check(p, store_scan_aux(d, table, prefix, write_aux, &b) == 0);
	check(p, span_eq(buf_span(&a), buf_span(&b)));
}

static void compare_all(struct pair *p, struct store_reader *m, struct store_reader *d)
{
	check(p, store_reader_revision(m) == store_reader_revision(d));
	compare_points(p, m, d);
	if (pick(p, 8) == 0)
		compare_lists(p, m, d);
	if (pick(p, 8) == 0)
		compare_logs(p, m, d);
	if (pick(p, 8) == 0)
		compare_scans(p, m, d);
}

/* Also a pair of readers that stays open over some steps, as a slow list does. */
static void run_steps(struct pair *p, long steps)
{
	struct store_reader *held_m = NULL, *held_d = NULL;

	for (p->step = 0; p->step < steps; p->step++) {
		apply_to_both(p);
		struct store_reader *m = begin(&p->model), *d = begin(&p->durable);
		compare_all(p, m, d);
		store_read_end(m);
		store_read_end(d);
		if (held_m)
			compare_points(p, held_m, held_d);
		if (pick(p, 16) != 0)
			continue;
		held_m = store_read_end(held_m);
		held_d = store_read_end(held_d);
		if (pick(p, 2)) {
			held_m = begin(&p->model);
			held_d = begin(&p->durable);
		}
		if (!held_m && pick(p, 64) == 0) {
			fixture_close(&p->durable);
			fixture_open(&p->durable);
		}
	}
	store_read_end(held_m);
	store_read_end(held_d);
}

static void run_seed(uint64_t seed, long steps, usec max_age)
{
	struct pair p = {.seed = seed, .random = seed};

	fixture_init(&p.model, ON_MEMORY);
	fixture_init(&p.durable, ON_LMDB);
	p.durable.options.no_sync = true; /* a process that ends well loses nothing */
	p.model.options.log_max_age = p.durable.options.log_max_age = max_age;
	fixture_open(&p.model);
	fixture_open(&p.durable);
	run_steps(&p, steps);
	fixture_done(&p.model);
	fixture_done(&p.durable);
}

static void random_operations_agree_with_the_model(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 8; seed++)
		run_seed(seed, 10000, 1000);
}

static void random_operations_agree_when_nothing_is_trimmed(void **state)
{
	(void)state;
	run_seed(100, 10000, 0);
}

static void random_operations_agree_when_all_is_trimmed_at_once(void **state)
{
	(void)state;
	run_seed(200, 10000, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(random_operations_agree_with_the_model),
	    cmocka_unit_test(random_operations_agree_when_nothing_is_trimmed),
	    cmocka_unit_test(random_operations_agree_when_all_is_trimmed_at_once),
	};
	return cmocka_run_group_tests_name("store model", tests, NULL, NULL);
}

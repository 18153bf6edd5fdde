/*
 * The durable store: object rows a second with their log rows, in batches of 1, 16 and 128 of
 * 2.5 KB objects, on new keys and on known ones; and point reads. Beside each stands what the
 * disk gives to plain appends of the same bytes with fdatasync.
 */
#include "base/buf.h"
#include "bench.h"
#include "store/store.h"

#include <dirent.h>
#include <unistd.h>

#define OBJECT_BYTES 2500
#define KNOWN_KEYS   20000

struct scene {
	struct bench *bench;
	char dir[64];
	struct store *store;
	struct buf json; /* bare */
	struct store_extents extents;
	uint64_t random;
	uint64_t next_name;
};

static void make_json(struct scene *s)
{
	struct store_extents *x = &s->extents;
	buf_addf(&s->json,
		 "{\"apiVersion\":\"kubeflow.org/v1\",\"kind\":\"PyTorchJob\",\"metadata\":");
	x->metadata.at = (uint32_t)s->json.len;
	buf_addf(&s->json,
		 "{\"name\":\"training\",\"namespace\":\"team-a\",\"resourceVersion\":\"");
	x->revision.at = (uint32_t)s->json.len;
	buf_addf(&s->json, "\"}");
	x->metadata.len = (uint32_t)s->json.len - x->metadata.at;
	buf_addf(&s->json, ",\"spec\":{\"pad\":\"");
	while (s->json.len < OBJECT_BYTES - 40)
		buf_addf(&s->json, "%016llx", (unsigned long long)bench_random(&s->random));
	buf_addf(&s->json, "\"},\"status\":{\"active\":10000000}}");
}

static void remove_dir(const char *path)
{
	DIR *d = opendir(path);
	if (!d)
		return;
	for (struct dirent *e = readdir(d); e; e = readdir(d))
		if (e->d_name[0] != '.')
			(void)unlinkat(dirfd(d), e->d_name, 0);
	closedir(d);
	(void)rmdir(path);
}

static void open_scene(struct scene *s)
{
	const char *tmp = getenv("TMPDIR");
	struct err e = ERR_INIT;

	(void)snprintf(s->dir, sizeof(s->dir), "%.40s/bench-XXXXXX", tmp ? tmp : "/var/tmp");
	if (!mkdtemp(s->dir)) {
		perror(s->dir);
		exit(1);
	}
	const struct store_options o = {.path = s->dir};
	if (store_open_lmdb(&o, &s->store, &e) < 0) {
		fprintf(stderr, "%s\n", e.text);
		exit(1);
	}
	s->next_name = 0;
}

static void close_scene(struct scene *s)
{
	s->store = store_close(s->store);
	remove_dir(s->dir);
}

/* Applies one batch of objects; `known`: of keys that are there, else new ones. */
static void apply_batch(struct scene *s, size_t n, bool known)
{
	struct store_change changes[STORE_MAX_CHANGES];
	char names[STORE_MAX_CHANGES][24];
	struct err e = ERR_INIT;
	uint64_t at = known ? bench_random(&s->random) % KNOWN_KEYS : s->next_name;

	/* Known keys are spread over the table, and differ within the batch. */
	for (size_t i = 0; i < n; i++) {
		uint64_t id = known ? (at + i * 157) % KNOWN_KEYS : at + i;
		int len =
		    snprintf(names[i], sizeof(names[i]), "training-%llu", (unsigned long long)id);
		changes[i] = (struct store_change){
		    .op = STORE_PUT,
		    .key = {7, SPAN("team-a"), span_make(names[i], (size_t)len)},
		    .extents = s->extents,
		    .json = buf_span(&s->json),
		    .digest =
			SPAN("a digest of what the core indexes, of a usual length: pod sets, "
			     "requests, selectors, queue name and priority class of the job"),
		};
	}
	/* A status change: a few digits near the end. */
	if (known)
		(void)snprintf(s->json.ptr + s->json.len - 10, 9, "%08llu",
			       (unsigned long long)(bench_random(&s->random) % 100000000));
	s->json.ptr[s->json.len - 2] = '}';
	if (store_apply(s->store, changes, n, clock_now(), &e) < 0) {
		fprintf(stderr, "%s\n", e.text);
		exit(1);
	}
	if (!known)
		s->next_name += n;
}

static double rows_per_second(struct scene *s, size_t n, bool known)
{
	uint64_t length = s->bench->quick ? 200000000u : 2000000000u;
	uint64_t start = bench_now_ns(), rows = 0, now;
	do {
		apply_batch(s, n, known);
		rows += n;
		now = bench_now_ns();
	} while (now - start < length);
	return (double)rows * 1e9 / (double)(now - start);
}

static void bench_rows(struct scene *s, const char *metric, size_t n, bool known, double target)
{
	/* Object and log row: the bytes that must be durable. */
	double floor = bench_probe_durable_appends(s->dir, n * 2 * OBJECT_BYTES) * (double)n;
	const struct bench_row row = {
	    .name = "store",
	    .metric = metric,
	    .unit = "rows/s",
	    .value = rows_per_second(s, n, known),
	    .floor = floor,
	    .target = target,
	    .goal = target > 0 ? BENCH_AT_LEAST : BENCH_INFO,
	};
	bench_print(s->bench, &row);
}

static void bench_creates(struct scene *s)
{
	open_scene(s);
	bench_rows(s, "create_batch_1", 1, false, 0);
	bench_rows(s, "create_batch_16", 16, false, 0);
	bench_rows(s, "create_batch_128", 128, false, 25000);
	close_scene(s);
}

static void bench_updates(struct scene *s)
{
	open_scene(s);
	while (s->next_name < KNOWN_KEYS)
		apply_batch(s, STORE_MAX_CHANGES, false);
	bench_rows(s, "update_batch_1", 1, true, 0);
	bench_rows(s, "update_batch_16", 16, true, 0);
	bench_rows(s, "update_batch_128", 128, true, 25000);
}

static uint64_t read_once(struct scene *s)
{
	char name[24];
	struct store_object o;
	struct store_reader *r;
	int len = snprintf(name, sizeof(name), "training-%llu",
			   (unsigned long long)(bench_random(&s->random) % KNOWN_KEYS));
	const struct store_key key = {7, SPAN("team-a"), span_make(name, (size_t)len)};

	if (store_read_begin(s->store, &r, NULL) < 0 || store_get(r, &key, &o) < 0) {
		fprintf(stderr, "cannot read %s\n", name);
		exit(1);
	}
	uint64_t sum = o.json.len;
	store_read_end(r);
	return sum;
}

static void bench_reads(struct scene *s)
{
	const uint64_t n = s->bench->quick ? 20000 : 500000;
	uint64_t start = bench_now_ns(), sum = 0;
	for (uint64_t i = 0; i < n; i++)
		sum += read_once(s);
	bench_keep(sum);
	const struct bench_row row = {
	    .name = "store",
	    .metric = "snapshot_and_point_read",
	    .unit = "reads/s",
	    .value = (double)n * 1e9 / (double)(bench_now_ns() - start),
	    .floor = bench_probe_random_loads((size_t)KNOWN_KEYS * 4096),
	};
	bench_print(s->bench, &row);
}

static void bench_list(struct scene *s)
{
	const struct store_range range = {.type = 7};
	struct store_reader *r;
	struct store_iter *it;
	struct store_object o;
	int e;
	uint64_t start = bench_now_ns(), n = 0, sum = 0;

	for (int round = 0; round < 10; round++) {
		if (store_read_begin(s->store, &r, NULL) < 0 ||
		    store_iter_begin(r, &range, &it, NULL) < 0)
			exit(1);
		for (; store_iter_next(it, &o, &e); n++)
			sum += (unsigned char)o.json.ptr[o.json.len / 2];
		store_iter_end(it);
		store_read_end(r);
	}
	bench_keep(sum);
	const struct bench_row row = {
	    .name = "store",
	    .metric = "list",
	    .unit = "objects/s",
	    .value = (double)n * 1e9 / (double)(bench_now_ns() - start),
	};
	bench_print(s->bench, &row);
}

int main(int argc, char **argv)
{
	struct bench b;
	struct scene s = {.bench = &b, .random = 1};

	bench_init(&b, argc, argv);
	make_json(&s);
	bench_creates(&s);
	bench_updates(&s);
	bench_reads(&s);
	bench_list(&s);
	close_scene(&s);
	buf_done(&s.json);
	return bench_finish(&b);
}

/*
 * A Workload as somebody may send it ("{..."), or the digest of one as a row keeps it: what reads
 * prints to what reads alike, and the engine takes it, or says what is too large. Its status is
 * read from the same text.
 */
#include "base/json.h"
#include "core/kueue/compose.h"
#include "core/kueue/workload_status.h"
#include "kinds/kinds.h"
#include "kinds/types.h"
#include "quota-tree/kueue_queues.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A queue of 8 cpus in one flavor, which borrows what another lends. */
static uint32_t make_queue(struct kueue_forest *f)
{
	static const struct span cpu = SPAN("cpu"), flavor = SPAN("f");
	static const struct kueue_quota quota = {8000, QUOTA_UNLIMITED, QUOTA_UNLIMITED};
	const struct kueue_group_spec group = {&cpu, 1, &flavor, 1, &quota};
	struct kueue_queue_spec spec = {
	    .name = SPAN("q"), .cohort = SPAN("c"), .groups = &group, .n_groups = 1, .weight = 1};

	if (kueue_forest_set_flavor(f, &(struct kueue_flavor_spec){.name = flavor}, NULL) < 0 ||
	    kueue_forest_set_queue(f, &spec, NULL) < 0)
		abort();
	spec.name = SPAN("lender");
	if (kueue_forest_set_queue(f, &spec, NULL) < 0)
		abort();
	return kueue_forest_queue(f, SPAN("q"));
}

/* Filed, and looked at once; whatever comes of it, the sums hold. */
static void give_to_engine(const struct workload_digest *d, struct arena *mem)
{
	const struct kueue_options options = kueue_options_default();
	struct kueue_forest *f = kueue_forest_create(&options);
	struct kueue_queues *q = kueue_queues_create(f, &options);
	const struct kueue_workload_spec spec = {.name = SPAN("ns/w"),
						 .uid = SPAN("uid"),
						 .priority = d->priority,
						 .pod_sets = compose_engine_sets(d, NULL, mem),
						 .n_pod_sets = d->n_pod_sets};
	struct kueue_workload *w;
	struct kueue_entry *e;
	struct err err = ERR_INIT;

	if (kueue_queues_add(q, make_queue(f), &spec, &w, &err) == 0) {
		kueue_cycle_begin(q, 1);
		while ((e = kueue_cycle_next(q)))
			if (e->kind == KUEUE_ENTRY_FITS)
				kueue_cycle_admit(q, e, false);
		(void)kueue_cycle_end(q);
	}
	if (kueue_queues_check(q, &err) < 0 || kueue_forest_check(f, &err) < 0)
		abort();
	kueue_queues_destroy(q);
	kueue_forest_destroy(f);
}

static void take_digest(struct span bytes)
{
	auto_arena mem = ARENA_INIT;
	auto_buf once = BUF_INIT, twice = BUF_INIT;
	struct workload_digest d, e;

	if (workload_digest_unpack(bytes, &mem, &d) < 0)
		return;
	workload_digest_pack(&d, &once);
	if (workload_digest_unpack(buf_span(&once), &mem, &e) < 0)
		abort();
	workload_digest_pack(&e, &twice);
	if (!span_eq(buf_span(&once), buf_span(&twice)))
		abort();
	give_to_engine(&d, &mem);
}

static void take_object(struct span text)
{
	const struct kind *kind = kind_by_type(kinds_hub(), TYPE_WORKLOAD);
	auto_json *tree = NULL;
	auto_buf digest = BUF_INIT;
	auto_arena mem = ARENA_INIT;
	struct err err = ERR_INIT;
	struct workload_status status;
	struct store_object o = {.json = text};
	struct span part;

	if (json_parse(text, NULL, &tree, &err) < 0)
		return;
	if (json_text_path(text, &part, "status", NULL) == 0)
		o.extents.status =
		    (struct store_extent){(uint32_t)(part.ptr - text.ptr), (uint32_t)part.len};
	workload_status_read(&o, &mem, &status);
	if (kind->digest(kind, tree, &digest, &err) == 0)
		take_digest(buf_span(&digest));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span text = span_make((const char *)data, size);

	if (size && data[0] == '{')
		take_object(text);
	else
		take_digest(text);
	return 0;
}

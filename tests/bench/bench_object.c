/*
 * Scenario object: what one write and one watch event cost before they reach the store, on one
 * core: a PyTorchJob of 2 KB from bytes to draft (parse, metadata, schema and hooks, draft with its
 * digest), its table row, a status spliced into its row, a pod and a node decoded, a selector
 * matched.
 */
#include "base/json.h"
#include "bench.h"
#include "kinds/kinds.h"
#include "kinds/types.h"
#include "kube/managed_draft.h"
#include "kube/meta.h"
#include "kube/node_info.h"
#include "kube/object.h"
#include "kube/pod_info.h"
#include "kube/schema.h"
#include "kube/selector.h"
#include "kube/table.h"

static const struct kind *pytorch(void)
{
	return kind_by_type(kinds_hub(), TYPE_PYTORCH_JOB);
}

static void fill(void *arg, void *out, size_t n)
{
	uint64_t *state = arg;
	uint8_t *p = out;
	for (size_t i = 0; i < n; i++)
		p[i] = (uint8_t)bench_random(state);
}

static void add_replica(struct buf *b, const char *name, int replicas)
{
	buf_addf(
	    b,
	    "\"%s\":{\"replicas\":%d,\"restartPolicy\":\"OnFailure\",\"template\":{\"metadata\":{"
	    "\"labels\":{\"app\":\"train\",\"team\":\"research\"}},\"spec\":{\"containers\":[{"
	    "\"name\":\"pytorch\",\"image\":\"registry.example.com/ml/train:2.4.1\",\"command\":["
	    "\"python\",\"-m\",\"torch.distributed.run\",\"/workspace/train.py\"],\"args\":["
	    "\"--epochs=90\",\"--batch-size=256\",\"--data=/data/imagenet\"],\"env\":[",
	    name, replicas);
	for (int i = 0; i < 4; i++)
		buf_addf(b, "%s{\"name\":\"OPTION_%d\",\"value\":\"value of option %d\"}",
			 i ? "," : "", i, i);
	buf_add_str(b,
		    "],\"resources\":{\"requests\":{\"cpu\":\"8\",\"memory\":\"64Gi\","
		    "\"nvidia.com/gpu\":8},\"limits\":{\"nvidia.com/gpu\":8}},\"volumeMounts\":[{"
		    "\"name\":\"data\",\"mountPath\":\"/data\"}]}],\"volumes\":[{\"name\":\"data\","
		    "\"persistentVolumeClaim\":{\"claimName\":\"imagenet\"}}]}}}");
}

static void make_job(struct buf *b)
{
	buf_add_str(b, "{\"apiVersion\":\"kubeflow.org/v1\",\"kind\":\"PyTorchJob\",\"metadata\":{"
		       "\"name\":\"resnet-training-0001\",\"namespace\":\"research\",\"labels\":{"
		       "\"team\":\"research\"},\"annotations\":{\"note\":\"benchmark\"}},\"spec\":{"
		       "\"runPolicy\":{\"cleanPodPolicy\":\"None\"},\"pytorchReplicaSpecs\":{");
	add_replica(b, "Master", 1);
	buf_add_char(b, ',');
	add_replica(b, "Worker", 7);
	buf_add_str(b, "}}}");
}

static void must(int r)
{
	if (r < 0)
		abort();
}

static void report(struct bench *b, const char *metric, uint64_t ns, int rounds, double target)
{
	struct bench_row row = {.name = "object",
				.metric = metric,
				.unit = "us",
				.value = (double)ns / rounds / 1000,
				.target = target,
				.goal = target > 0 ? BENCH_AT_MOST : BENCH_INFO};
	bench_print(b, &row);
}

struct times {
	uint64_t parse, meta, admit, managed, draft, free;
};

static void create_once(struct span body, const struct meta_write *w, struct times *t)
{
	struct field_errors errors = {0};
	struct err err = ERR_INIT;
	struct object_draft d;
	struct cJSON *tree = NULL;
	uint64_t start = bench_cpu_now_ns(), at = start;

	must(json_parse(body, NULL, &tree, &err));
	t->parse += (at = bench_cpu_now_ns()) - start;
	start = at;
	must(meta_prepare_create(tree, w, &errors, &err));
	t->meta += (at = bench_cpu_now_ns()) - start;
	start = at;
	schema_admit(w->kind, tree, &(struct kind_write){.subresource = ""}, &errors, NULL);
	if (field_errors_any(&errors))
		abort();
	t->admit += (at = bench_cpu_now_ns()) - start;
	start = at;
	const struct managed_write by = {
	    .kind = w->kind, .manager = "kubectl-create", .subresource = "", .now = w->now};
	managed_record(&by, NULL, tree, NULL);
	t->managed += (at = bench_cpu_now_ns()) - start;
	start = at;
	must(object_draft_from_tree(pytorch(), tree, &d, &err));
	t->draft += (at = bench_cpu_now_ns()) - start;
	start = at;
	bench_keep(d.len);
	object_draft_done(&d);
	json_free(tree);
	t->free += bench_cpu_now_ns() - start;
}

static void bench_create(struct bench *b, struct span body, int rounds)
{
	uint64_t seed = 1;
	const struct meta_random random = {fill, &seed};
	struct meta_write w = {.kind = pytorch(),
			       .ns = SPAN("research"),
			       .subresource = "",
			       .now = 1700000000 * USEC_PER_SEC,
			       .random = &random};
	struct times warm = {0}, t = {0};

	create_once(body, &w, &warm);
	for (int i = 0; i < rounds; i++)
		create_once(body, &w, &t);
	report(b, "create-parse", t.parse, rounds, 0);
	report(b, "create-meta", t.meta, rounds, 0);
	report(b, "create-admit", t.admit, rounds, 20);
	report(b, "create-managed", t.managed, rounds, 0);
	report(b, "create-draft", t.draft, rounds, 0);
	report(b, "create-free", t.free, rounds, 0);
	report(b, "create", t.parse + t.meta + t.admit + t.managed + t.draft + t.free, rounds, 60);
}

/* An update of one label, and an apply that says a third of the object, as each attempt pays it
 * for managedFields. */
static void bench_managed(struct bench *b, struct span body, int rounds)
{
	struct managed_write by = {
	    .kind = pytorch(), .manager = "kubectl-create", .subresource = ""};
	auto_buf text = BUF_INIT;
	auto_json *made = NULL;
	auto_json *old = NULL;
	auto_json *now = NULL;
	uint64_t start;

	must(json_parse(body, NULL, &made, NULL));
	managed_record(&by, NULL, made, NULL);
	json_print(made, &text);
	must(json_parse(buf_span(&text), NULL, &old, NULL));
	now = json_dup(old);
	json_set_str(json_path(now, "metadata", "labels", NULL), "team", "other");
	by.manager = "kubectl-label";
	start = bench_cpu_now_ns();
	for (int i = 0; i < rounds; i++) {
		managed_record(&by, old, now, NULL);
		bench_keep(json_len(now));
	}
	report(b, "update-managed", bench_cpu_now_ns() - start, rounds, 0);

	auto_json *config = NULL;
	must(json_parse(
	    SPAN("{\"apiVersion\":\"kubeflow.org/v1\",\"kind\":\"PyTorchJob\",\"metadata\":{"
		 "\"name\":\"j\",\"labels\":{\"a\":\"b\"}},\"spec\":{"
		 "\"pytorchReplicaSpecs\":{\"Worker\":{\"replicas\":9}}}}"),
	    NULL, &config, NULL));
	start = bench_cpu_now_ns();
	for (int i = 0; i < rounds; i++) {
		struct managed m = MANAGED_INIT;
		struct managed_conflicts conflicts = {0};
		struct cJSON *merged = NULL;
		bool changed;
		must(managed_read(&m, json_path(old, "metadata", "managedFields", NULL), NULL));
		must(
		    managed_apply(&m, &by, old, config, true, &merged, &changed, &conflicts, NULL));
		managed_write_to(&m, merged);
		managed_done(&m);
		json_free(merged);
	}
	report(b, "apply-managed", bench_cpu_now_ns() - start, rounds, 0);
}

/* The same as core writes it: its entry among a client's in managedFields gets another time. */
static void bench_splice_managed(struct bench *b, const struct store_object *plain,
				 struct span status, usec now, int rounds)
{
	struct managed_write by = {.kinds = kinds_hub(),
				   .kind = pytorch(),
				   .manager = "kubectl-create",
				   .subresource = "",
				   .now = now};
	auto_json *tree = NULL;
	struct object_draft made, first, next;

	must(object_tree(plain, &tree, NULL));
	managed_record(&by, NULL, tree, NULL);
	must(object_draft_from_tree(by.kind, tree, &made, NULL));
	by.manager = "musterd";
	struct store_object row = {.extents = made.extents, .json = span_make(made.json, made.len)};
	must(object_draft_splice_status(&row, status, false, &first, NULL));
	managed_draft_status(&by, &row, &first);
	row = (struct store_object){.extents = first.extents,
				    .json = span_make(first.json, first.len)};
	for (int managed = 0; managed < 2; managed++) {
		uint64_t start = bench_cpu_now_ns();
		for (int i = 0; i < rounds; i++) {
			must(object_draft_splice_status(&row, status, false, &next, NULL));
			if (managed)
				managed_draft_status(&by, &row, &next);
			bench_keep(next.len);
			object_draft_done(&next);
		}
		report(b, managed ? "splice-status-managed" : "splice-status-unmanaged",
		       bench_cpu_now_ns() - start, rounds, 0);
	}
	object_draft_done(&made);
	object_draft_done(&first);
}

static void bench_splice(struct bench *b, struct span body, int rounds)
{
	static const char status[] = "{\"conditions\":[{\"type\":\"Created\",\"status\":\"True\"},{"
				     "\"type\":\"Running\",\"status\":\"True\"}]}";
	uint64_t seed = 1;
	const struct meta_random random = {fill, &seed};
	struct meta_write w = {.kind = pytorch(),
			       .ns = SPAN("research"),
			       .subresource = "",
			       .now = 1700000000 * USEC_PER_SEC,
			       .random = &random};
	struct field_errors errors = {0};
	struct err err = ERR_INIT;
	struct object_draft d, spliced;
	struct cJSON *tree = NULL;

	must(json_parse(body, NULL, &tree, &err));
	must(meta_prepare_create(tree, &w, &errors, &err));
	must(object_draft_from_tree(pytorch(), tree, &d, &err));
	struct store_object row = {.key = {TYPE_PYTORCH_JOB, SPAN("research"), SPAN("j")},
				   .extents = d.extents,
				   .json = span_make(d.json, d.len)};
	uint64_t start = bench_cpu_now_ns();
	for (int i = 0; i < rounds; i++) {
		must(object_draft_splice_status(&row, span_of(status), false, &spliced, &err));
		bench_keep(spliced.len);
		object_draft_done(&spliced);
	}
	report(b, "splice-status", bench_cpu_now_ns() - start, rounds, 6);
	bench_splice_managed(b, &row, span_of(status), w.now, rounds);

	auto_buf table = BUF_INIT;
	start = bench_cpu_now_ns();
	for (int i = 0; i < rounds; i++) {
		buf_clear(&table);
		table_row(pytorch(), "v1", row.json, TABLE_METADATA, w.now, true, &table);
		bench_keep(table.len);
	}
	report(b, "table-row", bench_cpu_now_ns() - start, rounds, 0);

	auto_selector s = SELECTOR_INIT;
	must(selector_add_labels(&s, SPAN("team=research,kueue.x-k8s.io/queue-name!=x"), &err));
	start = bench_cpu_now_ns();
	for (int i = 0; i < rounds; i++)
		bench_keep(selector_matches_row(&s, &row));
	report(b, "selector-match", bench_cpu_now_ns() - start, rounds, 0);
	object_draft_done(&d);
	json_free(tree);
}

static void bench_decode(struct bench *b, int rounds)
{
	auto_buf pod = BUF_INIT, node = BUF_INIT;
	auto_arena mem = ARENA_INIT;
	struct err err = ERR_INIT;
	struct pod_info p;
	struct node_info n;

	buf_add_str(&pod,
		    "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p-0\","
		    "\"namespace\":\"n\",\"uid\":\"u\",\"resourceVersion\":\"123456\",\"labels\":{"
		    "\"muster.dev/hub-uid\":\"h\",\"app\":\"x\"},\"managedFields\":[");
	for (int i = 0; i < 30; i++)
		buf_addf(&pod, "%s{\"manager\":\"m\",\"fieldsV1\":{\"f:spec\":{\"f:x%d\":{}}}}",
			 i ? "," : "", i);
	buf_add_str(&pod,
		    "]},\"spec\":{\"nodeName\":\"node-1\",\"containers\":[{\"name\":\"c\","
		    "\"image\":\"i\",\"resources\":{\"requests\":{\"cpu\":\"8\",\"memory\":"
		    "\"64Gi\",\"nvidia.com/gpu\":\"8\"}}}]},\"status\":{\"phase\":\"Running\","
		    "\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}");
	buf_add_str(&node,
		    "{\"metadata\":{\"name\":\"node-1\",\"resourceVersion\":\"5\",\"labels\":{");
	for (int i = 0; i < 20; i++)
		buf_addf(&node, "%s\"example.com/label-%d\":\"value-%d\"", i ? "," : "", i, i);
	buf_add_str(
	    &node, "}},\"spec\":{},\"status\":{\"allocatable\":{\"cpu\":\"63500m\",\"memory\":"
		   "\"256Gi\",\"pods\":\"110\",\"nvidia.com/gpu\":\"8\"},\"conditions\":[{\"type\":"
		   "\"Ready\",\"status\":\"True\"}]}}");
	uint64_t start = bench_cpu_now_ns();
	for (int i = 0; i < rounds; i++) {
		must(pod_info_decode(buf_span(&pod), &mem, &p, &err));
		arena_reset(&mem);
	}
	report(b, "pod-decode", bench_cpu_now_ns() - start, rounds, 0);
	start = bench_cpu_now_ns();
	for (int i = 0; i < rounds; i++) {
		must(node_info_decode(buf_span(&node), &mem, &n, &err));
		arena_reset(&mem);
	}
	report(b, "node-decode", bench_cpu_now_ns() - start, rounds, 0);
}

int main(int argc, char **argv)
{
	struct bench b;
	auto_buf body = BUF_INIT;

	bench_init(&b, argc, argv);
	int rounds = b.quick ? 200 : 20000;
	make_job(&body);
	bench_create(&b, buf_span(&body), rounds);
	bench_managed(&b, buf_span(&body), rounds);
	bench_splice(&b, buf_span(&body), rounds);
	bench_decode(&b, rounds);
	return bench_finish(&b);
}

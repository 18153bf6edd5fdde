/*
 * The first byte chooses: the rest is a packed node or pod, or the JSON of a node, pod, template
 * or job copy. What unpacks packs to something that unpacks again; what decodes packs and unpacks.
 */
#include "base/arena.h"
#include "base/json.h"
#include "kinds/types.h"
#include "kube/copy_info.h"
#include "kube/field_errors.h"
#include "kube/node_info.h"
#include "kube/pod_info.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void repack_node(const struct node_info *n, struct arena *mem)
{
	auto_buf b = BUF_INIT;
	struct node_info back;
	node_info_pack(n, &b);
	if (node_info_unpack(buf_span(&b), mem, &back) < 0 || back.n_labels != n->n_labels ||
	    back.n_allocatable != n->n_allocatable || back.n_taints != n->n_taints)
		abort();
}

static void repack_pod(const struct pod_info *p, struct arena *mem)
{
	auto_buf b = BUF_INIT;
	struct pod_info back;
	pod_info_pack(p, &b);
	if (pod_info_unpack(buf_span(&b), mem, &back) < 0 || back.n_requests != p->n_requests ||
	    back.phase != p->phase)
		abort();
}

static void decode_json(struct span json, struct arena *mem)
{
	static const uint16_t jobs[] = {TYPE_JOB, TYPE_PYTORCH_JOB, TYPE_JOB_SET, TYPE_RAY_JOB};
	struct err err = ERR_INIT;
	struct node_info n;
	struct pod_info p;
	struct copy_info c;
	struct template_info t;
	struct field_errors errors = {0};
	auto_json *tree = NULL;

	if (json_check(json, NULL, &err) < 0)
		return;
	if (node_info_decode(json, mem, &n, &err) == 0)
		repack_node(&n, mem);
	if (pod_info_decode(json, mem, &p, &err) == 0)
		repack_pod(&p, mem);
	for (size_t i = 0; i < ARRAY_LEN(jobs); i++)
		(void)!copy_info_decode(jobs[i], json, mem, &c, &err);
	if (json_parse(json, NULL, &tree, &err) == 0 &&
	    template_info_decode(tree, "t", mem, &t, &errors) < 0 && !field_errors_any(&errors))
		abort();
	field_errors_done(&errors);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_arena mem = ARENA_INIT;
	struct node_info n;
	struct pod_info p;

	if (size == 0)
		return 0;
	struct span rest = span_make((const char *)data + 1, size - 1);
	if (data[0] == 'n' && node_info_unpack(rest, &mem, &n) == 0)
		repack_node(&n, &mem);
	else if (data[0] == 'p' && pod_info_unpack(rest, &mem, &p) == 0)
		repack_pod(&p, &mem);
	else if (data[0] == '{')
		decode_json(span_make((const char *)data, size), &mem);
	return 0;
}

#include "core/provisioning/request_sets.h"

#include "base/json.h"
#include "core/job.h"
#include "core/pod_constraint.h"
#include "core/provisioning/request_nodes.h"
#include "kube/field_errors.h"

static int read_set(struct core *c, const struct provisioning_request *r, const struct cJSON *from,
		    struct span nodes, struct arena *mem, struct pod_set *ret)
{
	const struct kind *kind = kind_by_type(c->kinds, TYPE_POD_TEMPLATE);
	const char *ref = json_str(json_get(from, "podTemplateRef"), "name");
	struct template_info *pod = arena_new(mem, struct template_info);
	struct job_term more = {.count = -1};
	struct field_errors errors = {0};
	struct store_object o;
	auto_json *tree = NULL;
	struct err err = ERR_INIT;

	if (!ref || registry_get(c->batch, kind, span_of(r->ns), span_of(ref), &o) < 0 ||
	    object_tree(&o, &tree, NULL) < 0)
		return -1;
	int rc = template_info_decode(json_get(tree, "template"), "template", mem, pod, &errors);
	field_errors_done(&errors);
	if (rc < 0 || json_int64(from, "count", &ret->count) < 0)
		return -1;
	struct constraint k = pod_constraint(pod, mem);
	more.labels = k.selector;
	more.n_labels = k.n_selector;
	more.tolerations = k.tolerations;
	more.n_tolerations = k.n_tolerations;
	request_nodes_term(nodes, mem, &more);
	ret->selector = more.labels;
	ret->n_selector = more.n_labels;
	ret->terms = k.terms;
	ret->n_terms = k.n_terms;
	ret->tolerations = more.tolerations;
	ret->n_tolerations = more.n_tolerations;
	return pod_requests(c, pod, mem, ret, &err);
}

int request_sets_read(struct core *c, const struct provisioning_request *r, struct span nodes,
		      struct arena *mem, struct pod_set *ret, size_t *ret_n)
{
	const struct kind *kind = kind_by_type(c->kinds, TYPE_PROVISIONING_REQUEST);
	struct store_object o;
	auto_json *tree = NULL;

	*ret_n = 0;
	if (registry_get(c->batch, kind, span_of(r->ns), span_of(r->name), &o) < 0 ||
	    memcmp(o.uid, r->uid, STORE_UID_LEN) != 0 || object_tree(&o, &tree, NULL) < 0)
		return -1;
	json_foreach (json_path(tree, "spec", "podSets", NULL), one) {
		if (*ret_n == REQUEST_MAX_SETS || read_set(c, r, one, nodes, mem, &ret[*ret_n]) < 0)
			return -1;
		ret[(*ret_n)++].name = SPAN("");
	}
	return 0;
}

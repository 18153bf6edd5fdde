#include "core/provisioning/request_nodes.h"

#include "base/json.h"
#include "kinds/job_keys.h"

char *request_nodes_value(struct span status)
{
	auto_buf text = BUF_MAX(256);
	struct span v;

	if (!status.len || json_text_type(status) != JSON_OBJECT ||
	    json_text_path(status, &v, "provisioningClassDetails", REQUEST_NODE_DETAIL, NULL) < 0 ||
	    json_text_string(v, &text) < 0 || !buf_ok(&text) || !text.len)
		return NULL;
	return xstrdup(text.ptr);
}

static struct span owner_of(const struct node_info *n)
{
	for (size_t i = 0; i < n->n_labels; i++)
		if (span_is(n->labels[i].key, REQUEST_NODE_LABEL))
			return n->labels[i].value;
	return SPAN_NONE;
}

size_t request_nodes_taints(const struct node_info *n, struct taint *ret)
{
	struct span owner = owner_of(n);
	size_t count = 0;

	for (size_t i = 0; i < n->n_taints; i++) {
		const struct info_taint *t = &n->taints[i];
		if (owner.len &&
		    (span_is(t->key, REQUEST_NODE_LABEL) || span_is(t->key, JOB_KEY_QUEUED_POOL)))
			continue;
		ret[count++] = (struct taint){t->key, t->value, core_taint_effect(t->effect)};
	}
	if (owner.len)
		ret[count++] = (struct taint){SPAN(REQUEST_NODE_LABEL), owner, TAINT_RESERVED};
	return count;
}

static void tolerate(struct arena *mem, struct job_term *t, struct toleration one)
{
	struct toleration *all = arena_array(mem, struct toleration, t->n_tolerations + 1);

	for (size_t i = 0; i < t->n_tolerations; i++)
		all[i] = t->tolerations[i];
	all[t->n_tolerations++] = one;
	t->tolerations = all;
}

void request_nodes_term(struct span value, struct arena *mem, struct job_term *t)
{
	tolerate(mem, t,
		 (struct toleration){.key = SPAN(JOB_KEY_QUEUED_POOL),
				     .exists = true,
				     .effect = TAINT_NO_SCHEDULE});
	if (!value.len)
		return;
	struct label *labels = arena_array(mem, struct label, t->n_labels + 1);
	for (size_t i = 0; i < t->n_labels; i++)
		labels[i] = t->labels[i];
	labels[t->n_labels++] = (struct label){SPAN(REQUEST_NODE_LABEL), value};
	t->labels = labels;
	tolerate(mem, t, (struct toleration){.key = SPAN(REQUEST_NODE_LABEL), .value = value});
}

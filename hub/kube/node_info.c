#include "kube/node_info.h"

#include "base/json.h"
#include "kube/info_codec.h"
#include "kube/pod_requests.h"
#include "kube/quantity.h"

#include <errno.h>

#define NODE_UNSCHEDULABLE 1u
#define NODE_READY	   2u

static void read_taints(struct span list, struct arena *mem, struct node_info *n)
{
	struct span one, key = SPAN_NONE, value;
	size_t count = 0;

	if (json_text_type(list) != JSON_ARRAY)
		return;
	for (size_t at = 0; json_text_next(list, &at, NULL, &one);)
		count++;
	n->taints = count ? arena_array(mem, struct info_taint, count) : NULL;
	for (size_t at = 0; json_text_next(list, &at, NULL, &one);) {
		struct info_taint t = {.value = SPAN("")};
		int known = -ENOENT;
		for (size_t in = 0; json_text_next(one, &in, &key, &value);) {
			if (span_is(key, "key"))
				t.key = info_string(value, mem);
			else if (span_is(key, "value"))
				t.value = info_string(value, mem);
			else if (span_is(key, "effect"))
				known = info_effect_from(json_text_plain(value), &t.effect);
		}
		if (known == 0 && t.key.len)
			n->taints[n->n_taints++] = t;
	}
}

static void read_spec(struct span spec, struct arena *mem, struct node_info *n)
{
	struct span key, value;

	if (json_text_type(spec) != JSON_OBJECT)
		return;
	for (size_t at = 0; json_text_next(spec, &at, &key, &value);) {
		if (span_is(key, "unschedulable"))
			n->unschedulable = span_is(value, "true");
		else if (span_is(key, "taints"))
			read_taints(value, mem, n);
	}
}

static void read_amounts(struct span resources, struct arena *mem, struct node_info *n)
{
	struct pod_amounts amounts = {.n = 0};
	struct span key, value;

	if (json_text_type(resources) != JSON_OBJECT)
		return;
	for (size_t at = 0; json_text_next(resources, &at, &key, &value);) {
		int64_t amount;
		if (quantity_from_json(value, quantity_unit(key), &amount) == 0)
			pod_amounts_set(&amounts, key, amount);
	}
	n->allocatable = pod_amounts_take(&amounts, mem, &n->n_allocatable);
}

/* A node that tells only its capacity has all of it to give, as in core/v1 defaulting. */
static void read_status(struct span status, struct arena *mem, struct node_info *n)
{
	struct span key, value, allocatable = SPAN_NONE, capacity = SPAN_NONE;

	if (json_text_type(status) != JSON_OBJECT)
		return;
	for (size_t at = 0; json_text_next(status, &at, &key, &value);) {
		if (span_is(key, "allocatable"))
			allocatable = value;
		else if (span_is(key, "capacity"))
			capacity = value;
		else if (span_is(key, "conditions"))
			n->ready = info_is_ready(value);
	}
	read_amounts(allocatable.ptr ? allocatable : capacity, mem, n);
}

int node_info_decode(struct span json, struct arena *mem, struct node_info *ret, struct err *reterr)
{
	struct node_info n = {0};
	struct info_meta meta;
	struct span key, value;

	info_meta_read(json, &meta);
	n.name = info_string(meta.name, mem);
	if (!n.name.len)
		return err_set_field(reterr, ERR_INVALID, "metadata.name", "a node has no name");
	n.revision = meta.revision;
	n.labels = info_pairs(meta.labels, mem, &n.n_labels);
	for (size_t at = 0; json_text_next(json, &at, &key, &value);) {
		if (span_is(key, "spec"))
			read_spec(value, mem, &n);
		else if (span_is(key, "status"))
			read_status(value, mem, &n);
	}
	*ret = n;
	return 0;
}

void node_info_pack(const struct node_info *n, struct buf *out)
{
	info_put_span(out, n->name);
	info_put_u64(out, n->revision);
	info_put_u64(out,
		     (n->unschedulable ? NODE_UNSCHEDULABLE : 0) | (n->ready ? NODE_READY : 0));
	info_put_pairs(out, n->labels, n->n_labels);
	info_put_amounts(out, n->allocatable, n->n_allocatable);
	info_put_u64(out, n->n_taints);
	for (size_t i = 0; i < n->n_taints; i++) {
		info_put_span(out, n->taints[i].key);
		info_put_span(out, n->taints[i].value);
		info_put_u64(out, n->taints[i].effect);
	}
}

int node_info_unpack(struct span bytes, struct arena *mem, struct node_info *ret)
{
	struct info_reader r = info_reader_make(bytes);
	struct node_info n = {0};

	n.name = info_get_span(&r);
	n.revision = info_get_u64(&r);
	uint64_t flags = info_get_u64(&r);
	n.unschedulable = flags & NODE_UNSCHEDULABLE;
	n.ready = flags & NODE_READY;
	n.labels = info_get_pairs(&r, mem, &n.n_labels);
	n.allocatable = info_get_amounts(&r, mem, &n.n_allocatable);
	n.n_taints = info_get_count(&r, 3);
	n.taints = n.n_taints ? arena_array(mem, struct info_taint, n.n_taints) : NULL;
	for (size_t i = 0; i < n.n_taints; i++) {
		n.taints[i].key = info_get_span(&r);
		n.taints[i].value = info_get_span(&r);
		uint64_t effect = info_get_u64(&r);
		if (effect > INFO_NO_EXECUTE)
			return -EINVAL;
		n.taints[i].effect = (enum info_effect)effect;
	}
	if (!info_reader_ended(&r) || !n.name.len || flags > (NODE_UNSCHEDULABLE | NODE_READY))
		return -EINVAL;
	*ret = n;
	return 0;
}

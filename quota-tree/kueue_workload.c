#include "quota-tree/kueue_workload.h"
#include "base/num.h"
#include "quota-tree/kueue_shape.h"

/* The record and its two names in one piece. */
static struct kueue_workload *workload_new(uint32_t queue, const struct kueue_workload_spec *spec)
{
	struct kueue_workload *w = xcalloc(1, sizeof(*w) + spec->name.len + spec->uid.len);
	char *text = (char *)(w + 1);
	if (spec->name.len)
		memcpy(text, spec->name.ptr, spec->name.len);
	if (spec->uid.len)
		memcpy(text + spec->name.len, spec->uid.ptr, spec->uid.len);
	w->name = span_make(text, spec->name.len);
	w->uid = span_make(text + spec->name.len, spec->uid.len);
	w->owner = spec->owner;
	w->queue = queue;
	w->local_queue = spec->local_queue;
	w->priority = spec->priority;
	w->created = spec->created;
	w->queue_order = spec->queue_order;
	return w;
}

int kueue_workload_create(struct kueue_shapes *shapes, struct kueue_forest *f, uint32_t queue,
			  const struct kueue_workload_spec *spec, struct kueue_workload **ret,
			  struct err *reterr)
{
	struct kueue_shape *shape;
	int r = kueue_shape_get(shapes, f, spec, &shape, reterr);
	if (r < 0)
		return r;
	*ret = workload_new(queue, spec);
	(*ret)->shape = shape;
	return 0;
}

struct kueue_workload *kueue_workload_free(struct kueue_shapes *shapes, struct kueue_workload *w)
{
	if (!w)
		return NULL;
	kueue_shape_put(shapes, w->shape);
	kueue_workload_forget_tried(w);
	free(w->uses);
	free(w->holdings);
	free(w->counts);
	free(w->reclaimable);
	free(w);
	return NULL;
}

void kueue_workload_forget_tried(struct kueue_workload *w)
{
	free(w->tried);
	w->tried = NULL;
	w->n_tried = 0;
}

int32_t kueue_workload_count(const struct kueue_workload *w, size_t set)
{
	int32_t full = w->shape->sets[set].count;
	int32_t left = full;
	if (w->reclaimable) {
		/* A reclaimable count may exceed the set for a while (Kueue #12670). */
		int32_t gone = w->reclaimable[set] < full ? w->reclaimable[set] : full;
		left = full - gone;
	}
	return w->counts && w->counts[set] < left ? w->counts[set] : left;
}

size_t kueue_workload_requests(const struct kueue_forest *f, const struct kueue_workload *w,
			       uint32_t queue, size_t set, int32_t count, struct kueue_use *out)
{
	const struct kueue_shape_set *s = &w->shape->sets[set];
	uint32_t pods = kueue_forest_find_resource(f, SPAN("pods"));
	bool counts_pods =
	    pods != KUEUE_NONE && queue != KUEUE_NONE && kueue_forest_covers(f, queue, pods);
	size_t n = 0;
	for (size_t i = 0; i < s->n_requests; i++) {
		if (counts_pods && s->requests[i].resource == pods)
			continue;
		out[n] = s->requests[i];
		out[n++].value = num_mul_sat(s->requests[i].value, count);
	}
	if (counts_pods)
		out[n++] =
		    (struct kueue_use){.flavor = KUEUE_NONE, .resource = pods, .value = count};
	return n;
}

bool kueue_workload_is_partial(const struct kueue_workload *w)
{
	for (size_t i = 0; i < w->shape->n_sets; i++) {
		const struct kueue_shape_set *s = &w->shape->sets[i];
		if (s->min_count > 0 && s->min_count < s->count)
			return true;
	}
	return false;
}

int kueue_workload_cmp(const struct kueue_workload *a, const struct kueue_workload *b)
{
	if (a->sticky != b->sticky)
		return a->sticky ? -1 : 1;
	if (a->priority != b->priority)
		return a->priority > b->priority ? -1 : 1;
	if (a->queue_order != b->queue_order)
		return a->queue_order < b->queue_order ? -1 : 1;
	int c = span_cmp(a->uid, b->uid);
	return c ? c : span_cmp(a->name, b->name);
}

void kueue_workload_set_turn(struct kueue_workload *w)
{
	uint64_t uid = 0;
	for (size_t i = 0; i < 8; i++)
		uid = uid << 8 | (i < w->uid.len ? (uint8_t)w->uid.ptr[i] : 0);
	/* Numbers that order as signed ones do: the highest priority is the least. */
	uint64_t priority = (uint64_t)((int64_t)INT32_MAX - w->priority);
	w->turn = (struct rank_key){
	    .major = priority + (w->sticky ? 0 : (uint64_t)1 << 33),
	    .minor = (uint64_t)w->queue_order ^ ((uint64_t)1 << 63),
	    .tie = uid,
	};
}

#include "core/kueue/transform.h"

#include "base/num.h"
#include "kube/quantity.h"

static bool is_milli(struct span resource)
{
	return quantity_unit(resource) & QUANTITY_MILLI;
}

static bool is_excluded(const struct transform_rules *rules, struct span resource)
{
	for (size_t i = 0; i < rules->n_excluded; i++)
		if (span_starts(resource, span_of(rules->excluded[i])))
			return true;
	return false;
}

static const struct transform *find(const struct transform_rules *rules, struct span resource)
{
	for (size_t i = 0; i < rules->n; i++)
		if (span_is(resource, rules->items[i].input))
			return &rules->items[i];
	return NULL;
}

/* Whole units, rounded up: 500m of cpu is one. */
static int64_t units(const struct kueue_request *r)
{
	if (!is_milli(r->resource))
		return r->value;
	return r->value / 1000 + (r->value % 1000 > 0);
}

struct result {
	struct kueue_request *items;
	size_t n;
};

static void add(struct result *out, struct span resource, int64_t amount)
{
	for (size_t i = 0; i < out->n; i++) {
		if (span_cmp(out->items[i].resource, resource) != 0)
			continue;
		out->items[i].value = num_add_sat(out->items[i].value, amount);
		return;
	}
	out->items[out->n++] = (struct kueue_request){resource, amount};
}

static int64_t scaled(const struct transform_output *o, int64_t times)
{
	int64_t milli = num_mul_sat(o->milli, times);

	if (milli == INT64_MAX || is_milli(span_of(o->resource)))
		return milli;
	return milli / 1000 + (milli % 1000 > 0);
}

static int64_t times_of(const struct transform *t, const struct kueue_request *r,
			const struct kueue_request *all, size_t n)
{
	int64_t times = units(r);

	for (size_t i = 0; t->multiply_by && i < n; i++)
		if (span_is(all[i].resource, t->multiply_by))
			times = num_mul_sat(times, units(&all[i]));
	return times;
}

struct kueue_request *transform_requests(const struct transform_rules *rules,
					 const struct kueue_request *requests, size_t n,
					 struct arena *mem, size_t *ret_n)
{
	struct result out = {0};
	size_t most = n;

	for (size_t i = 0; i < rules->n; i++)
		most += rules->items[i].n_outputs;
	out.items = arena_array(mem, struct kueue_request, most);
	for (size_t i = 0; i < n; i++) {
		const struct transform *t = find(rules, requests[i].resource);
		if (is_excluded(rules, requests[i].resource))
			continue;
		if (!t || !t->replace)
			add(&out, requests[i].resource, requests[i].value);
		for (size_t k = 0; t && k < t->n_outputs; k++)
			add(&out, span_of(t->outputs[k].resource),
			    scaled(&t->outputs[k], times_of(t, &requests[i], requests, n)));
	}
	for (size_t i = 0; i < out.n; i++)
		out.items[i].value = num_max(out.items[i].value, 0);
	*ret_n = out.n;
	return out.items;
}

#include "quota-tree/kueue_shape.h"
#include "base/buf.h"
#include "base/num.h"
#include <assert.h>

/* ---- keys ---- */

static void put_num(struct buf *out, int64_t v)
{
	buf_add(out, &v, sizeof(v));
}

static void put_span(struct buf *out, struct span s)
{
	put_num(out, (int64_t)s.len);
	buf_add_span(out, s);
}

/* Requests of one pod, sorted by the forest's numbers: their order in the object says nothing. */
static void sort_requests(struct kueue_use *uses, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		struct kueue_use u = uses[i];
		size_t k = i;
		for (; k > 0 && uses[k - 1].resource > u.resource; k--)
			uses[k] = uses[k - 1];
		uses[k] = u;
	}
}

static int read_requests(struct kueue_forest *f, const struct kueue_pod_set *set, size_t at,
			 struct kueue_use *out, struct err *reterr)
{
	char field[80];
	snprintf(field, sizeof(field), "spec.podSets[%zu].template.spec", at);
	if (set->n_requests > KUEUE_MAX_REQUESTS)
		return err_set_field(reterr, ERR_INVALID, field,
				     "must not ask more than %d resources", KUEUE_MAX_REQUESTS);
	for (size_t i = 0; i < set->n_requests; i++) {
		const struct kueue_request *r = &set->requests[i];
		if (r->value < 0)
			return err_set_field(reterr, ERR_INVALID, field,
					     "%.*s must not be negative", SPAN_ARGS(r->resource));
		out[i] = (struct kueue_use){.flavor = KUEUE_NONE,
					    .resource = kueue_forest_resource(f, r->resource),
					    .value = r->value};
		if (out[i].resource == KUEUE_NONE)
			return err_set_field(reterr, ERR_TOO_MANY, field,
					     "there are too many names of resources");
	}
	sort_requests(out, set->n_requests);
	for (size_t i = 1; i < set->n_requests; i++) {
		if (out[i].resource == out[i - 1].resource)
			return err_set_field(
			    reterr, ERR_INVALID, field, "%.*s is asked twice",
			    SPAN_ARGS(kueue_forest_resource_name(f, out[i].resource)));
	}
	return 0;
}

static int check_counts(const struct kueue_pod_set *set, size_t at, struct err *reterr)
{
	char field[48];
	snprintf(field, sizeof(field), "spec.podSets[%zu].count", at);
	if (set->count < 0 || set->min_count < 0 || set->min_count > set->count)
		return err_set_field(reterr, ERR_INVALID, field,
				     "count %d and minCount %d do not go together", set->count,
				     set->min_count);
	return 0;
}

/* Sums over all pod sets must stay in int64, or two workloads could be told apart by nothing. */
static int check_totals(const struct kueue_workload_spec *spec, struct err *reterr)
{
	for (size_t i = 0; i < spec->n_pod_sets; i++) {
		for (size_t k = 0; k < spec->pod_sets[i].n_requests; k++) {
			struct span name = spec->pod_sets[i].requests[k].resource;
			int64_t sum = 0;
			for (size_t j = 0; j < spec->n_pod_sets; j++) {
				const struct kueue_pod_set *set = &spec->pod_sets[j];
				for (size_t r = 0; r < set->n_requests; r++) {
					int64_t v;
					if (!span_eq(set->requests[r].resource, name))
						continue;
					if (num_mul_overflows(set->requests[r].value, set->count,
							      &v) ||
					    num_add_overflows(sum, v, &sum))
						return err_set_field(
						    reterr, ERR_INVALID, "spec.podSets",
						    "the total of %.*s is beyond int64",
						    SPAN_ARGS(name));
				}
			}
		}
	}
	return 0;
}

/* Writes the requests of every set after one another to `out`, and the key of the whole. */
static int read_spec(struct kueue_forest *f, const struct kueue_workload_spec *spec,
		     struct kueue_use *out, struct buf *key, struct err *reterr)
{
	if (spec->n_pod_sets > KUEUE_MAX_POD_SETS)
		return err_set_field(reterr, ERR_INVALID, "spec.podSets",
				     "must have at most %d items", KUEUE_MAX_POD_SETS);
	put_num(key, spec->placement);
	for (size_t i = 0; i < spec->n_pod_sets; i++) {
		const struct kueue_pod_set *set = &spec->pod_sets[i];
		int r = check_counts(set, i, reterr);
		if (r == 0)
			r = read_requests(f, set, i, out, reterr);
		if (r < 0)
			return r;
		put_span(key, set->name);
		put_num(key, set->count);
		put_num(key, set->min_count);
		put_span(key, set->group);
		put_num(key, (int64_t)set->n_requests);
		for (size_t k = 0; k < set->n_requests; k++) {
			put_num(key, out[k].resource);
			put_num(key, out[k].value);
		}
		put_num(key, set->asked ? (int64_t)set->n_asked : -1);
		for (size_t k = 0; set->asked && k < set->n_asked; k++)
			put_span(key, set->asked[k]);
		constraint_key(&set->constraint, key);
		put_num(key, set->topology);
		put_num(key, (int64_t)set->n_levels);
		for (size_t k = 0; k < set->n_levels; k++)
			put_span(key, set->levels[k]);
		out += set->n_requests;
	}
	return check_totals(spec, reterr);
}

/* ---- the table ---- */

/* NULL when there are none of its own. */
static const uint32_t *asked_of(struct arena *mem, struct kueue_forest *f,
				const struct kueue_pod_set *set)
{
	if (!set->asked)
		return NULL;
	uint32_t *out = arena_array(mem, uint32_t, set->n_asked + 1);
	for (size_t i = 0; i < set->n_asked; i++)
		out[i] = kueue_forest_resource(f, set->asked[i]);
	return out;
}

static struct kueue_shape *shape_new(struct kueue_shapes *s, struct kueue_forest *f,
				     const struct kueue_workload_spec *spec,
				     const struct kueue_use *uses, struct span key)
{
	struct kueue_shape *shape = xcalloc(1, sizeof(*shape));
	struct kueue_shape_set *sets =
	    arena_array(&shape->mem, struct kueue_shape_set, spec->n_pod_sets);
	for (size_t i = 0; i < spec->n_pod_sets; i++) {
		const struct kueue_pod_set *from = &spec->pod_sets[i];
		struct kueue_use *requests =
		    arena_array(&shape->mem, struct kueue_use, from->n_requests);
		if (from->n_requests)
			memcpy(requests, uses, from->n_requests * sizeof(*uses));
		uses += from->n_requests;
		sets[i] = (struct kueue_shape_set){
		    .name = arena_span(&shape->mem, from->name),
		    .count = from->count,
		    .min_count = from->min_count,
		    .group = arena_span(&shape->mem, from->group),
		    .requests = requests,
		    .n_requests = from->n_requests,
		    .asked = asked_of(&shape->mem, f, from),
		    .n_asked = from->n_asked,
		    .constraint = constraint_dup(&shape->mem, &from->constraint),
		    .topology = from->topology,
		    .levels = label_values_dup(&shape->mem, from->levels, from->n_levels),
		    .n_levels = from->n_levels,
		};
	}
	shape->sets = sets;
	shape->n_sets = spec->n_pod_sets;
	shape->key = arena_span(&shape->mem, key);
	if (s->free_numbers.len) {
		shape->number = s->free_numbers.items[--s->free_numbers.len];
		s->by_number.items[shape->number] = shape;
	} else {
		shape->number = (uint32_t)s->by_number.len;
		vec_push(&s->by_number, shape);
	}
	map_put(&s->by_key, shape->key, shape);
	return shape;
}

int kueue_shape_get(struct kueue_shapes *s, struct kueue_forest *f,
		    const struct kueue_workload_spec *spec, struct kueue_shape **ret,
		    struct err *reterr)
{
	struct kueue_use uses[KUEUE_MAX_POD_SETS * KUEUE_MAX_REQUESTS];
	auto_buf key = BUF_INIT;
	int r = read_spec(f, spec, uses, &key, reterr);
	if (r < 0)
		return r;
	if (!buf_ok(&key))
		return err_set_field(reterr, ERR_INVALID, "spec.podSets", "is too large");
	struct kueue_shape *shape = map_get(&s->by_key, buf_span(&key));
	if (!shape)
		shape = shape_new(s, f, spec, uses, buf_span(&key));
	shape->refs++;
	*ret = shape;
	return 0;
}

void kueue_shape_put(struct kueue_shapes *s, struct kueue_shape *shape)
{
	assert(shape->refs > 0);
	if (--shape->refs > 0)
		return;
	map_remove(&s->by_key, shape->key);
	s->by_number.items[shape->number] = NULL;
	vec_push(&s->free_numbers, shape->number);
	arena_done(&shape->mem);
	free(shape);
}

void kueue_shapes_done(struct kueue_shapes *s)
{
	assert(s->by_key.len == 0);
	map_done(&s->by_key);
	vec_done(&s->by_number);
	vec_done(&s->free_numbers);
}

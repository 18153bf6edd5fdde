#include "policies/job_shape.h"

#include "base/num.h"
#include "policies/resource.h"

#include <inttypes.h>

static int too_many(struct err *reterr, const char *field, size_t n, size_t max)
{
	return err_set_field(reterr, ERR_INVALID, field, "has %zu entries, at most %zu are allowed",
			     n, max);
}

static int check_exprs(const struct node_expr *e, size_t n, bool fields, const char *path,
		       struct err *reterr)
{
	if (n > POD_SET_MAX_EXPRS)
		return too_many(reterr, path, n, POD_SET_MAX_EXPRS);
	for (size_t i = 0; i < n; i++) {
		if (e[i].n_values > POD_SET_MAX_VALUES)
			return too_many(reterr, path, e[i].n_values, POD_SET_MAX_VALUES);
		if (e[i].op < 0 || e[i].op >= NODE_OP_MAX)
			return err_set_field(reterr, ERR_INVALID, path, "unknown operator");
		if (fields && (!span_is(e[i].key, "metadata.name") ||
			       (e[i].op != NODE_OP_IN && e[i].op != NODE_OP_NOT_IN)))
			return err_set_field(reterr, ERR_INVALID, path,
					     "only metadata.name with In or NotIn is supported");
	}
	return 0;
}

static int check_terms(const struct pod_set *s, size_t set, struct err *reterr)
{
	char path[96];
	int r;

	snprintf(path, sizeof(path), "podSets[%zu].nodeSelectorTerms", set);
	if (s->n_terms > POD_SET_MAX_TERMS)
		return too_many(reterr, path, s->n_terms, POD_SET_MAX_TERMS);
	for (size_t i = 0; i < s->n_terms; i++) {
		const struct node_term *t = &s->terms[i];
		snprintf(path, sizeof(path), "podSets[%zu].nodeSelectorTerms[%zu].matchExpressions",
			 set, i);
		r = check_exprs(t->labels, t->n_labels, false, path, reterr);
		if (r < 0)
			return r;
		snprintf(path, sizeof(path), "podSets[%zu].nodeSelectorTerms[%zu].matchFields", set,
			 i);
		r = check_exprs(t->fields, t->n_fields, true, path, reterr);
		if (r < 0)
			return r;
	}
	return 0;
}

static int check_requests(const struct pod_set *s, size_t set, struct err *reterr)
{
	char path[96];

	snprintf(path, sizeof(path), "podSets[%zu].requests", set);
	if (s->n_requests > POD_SET_MAX_REQUESTS)
		return too_many(reterr, path, s->n_requests, POD_SET_MAX_REQUESTS);
	for (size_t i = 0; i < s->n_requests; i++) {
		if (s->requests[i].resource >= RESOURCE_MAX)
			return err_set_field(reterr, ERR_INVALID, path, "resource out of range");
		if (s->requests[i].amount < 0)
			return err_set_field(reterr, ERR_INVALID, path, "%" PRId64 " is negative",
					     s->requests[i].amount);
	}
	return 0;
}

static int check_inner(const struct pod_topology *t, const char *path, struct err *reterr)
{
	uint32_t level = t->slice_level, size = t->slice_size;

	if (t->n_inner > POD_SET_MAX_INNER)
		return too_many(reterr, path, t->n_inner, POD_SET_MAX_INNER);
	for (uint32_t i = 0; i < t->n_inner; i++) {
		const struct pod_topology_layer *in = &t->inner[i];
		if (in->level <= level || in->level >= t->n_levels)
			return err_set_field(reterr, ERR_INVALID, path,
					     "layers of slices must go from wide to narrow levels");
		if (in->size < 1 || size % in->size != 0)
			return err_set_field(reterr, ERR_INVALID, path,
					     "slices of %u cannot be split into slices of %u", size,
					     in->size);
		level = in->level;
		size = in->size;
	}
	return 0;
}

static int check_topology(const struct pod_set *s, size_t set, struct err *reterr)
{
	const struct pod_topology *t = &s->topology;
	char path[96];

	snprintf(path, sizeof(path), "podSets[%zu].topologyRequest", set);
	if (t->mode == POD_TOPOLOGY_NONE)
		return 0;
	if (t->n_levels > POD_SET_MAX_LEVELS)
		return too_many(reterr, path, t->n_levels, POD_SET_MAX_LEVELS);
	if (t->mode < 0 || t->mode >= POD_TOPOLOGY_MODE_MAX || !t->n_levels ||
	    t->level >= t->n_levels || t->slice_level >= t->n_levels)
		return err_set_field(reterr, ERR_INVALID, path, "the topology has no such level");
	if ((t->mode == POD_TOPOLOGY_REQUIRED || t->mode == POD_TOPOLOGY_PREFERRED) &&
	    t->slice_size > 1 && t->level > t->slice_level)
		return err_set_field(reterr, ERR_INVALID, path,
				     "slices cannot be wider than the domain of the whole set");
	int r = check_inner(t, path, reterr);
	if (r < 0)
		return r;
	if (t->slice_size > 1 && s->count % t->slice_size != 0)
		return err_set_field(reterr, ERR_INVALID, path,
				     "%" PRId64 " pods cannot be split into slices of %u", s->count,
				     t->slice_size);
	return 0;
}

static int check_set(const struct pod_set *s, size_t set, struct err *reterr)
{
	char path[96];
	int r;

	snprintf(path, sizeof(path), "podSets[%zu].count", set);
	if (s->count < 0 || s->count > POD_SET_MAX_PODS)
		return err_set_field(reterr, ERR_INVALID, path, "%" PRId64 " pods, must be 0 to %d",
				     s->count, POD_SET_MAX_PODS);
	if (s->groups > 1 && s->count % s->groups != 0)
		return err_set_field(reterr, ERR_INVALID, path,
				     "%" PRId64 " pods cannot be split into %u equal groups",
				     s->count, s->groups);
	snprintf(path, sizeof(path), "podSets[%zu].nodeSelector", set);
	if (s->n_selector > POD_SET_MAX_SELECTOR)
		return too_many(reterr, path, s->n_selector, POD_SET_MAX_SELECTOR);
	snprintf(path, sizeof(path), "podSets[%zu].tolerations", set);
	if (s->n_tolerations > POD_SET_MAX_TOLERATIONS)
		return too_many(reterr, path, s->n_tolerations, POD_SET_MAX_TOLERATIONS);
	r = check_topology(s, set, reterr);
	if (r < 0)
		return r;
	r = check_requests(s, set, reterr);
	return r < 0 ? r : check_terms(s, set, reterr);
}

int job_shape_check(const struct job_shape *shape, struct err *reterr)
{
	if (shape->n_sets > POD_SET_MAX_SETS)
		return too_many(reterr, "podSets", shape->n_sets, POD_SET_MAX_SETS);
	for (size_t i = 0; i < shape->n_sets; i++) {
		int r = check_set(&shape->sets[i], i, reterr);
		if (r < 0)
			return r;
	}
	if (job_shape_pods(shape) > POD_SET_MAX_PODS)
		return err_set_field(reterr, ERR_INVALID, "podSets",
				     "%" PRId64 " pods in all, at most %d are allowed",
				     job_shape_pods(shape), POD_SET_MAX_PODS);
	return 0;
}

struct job_shape job_shape_canonical(struct arena *a, const struct job_shape *shape)
{
	struct pod_set *sets = arena_array(a, struct pod_set, shape->n_sets);

	for (size_t i = 0; i < shape->n_sets; i++)
		sets[i] = pod_set_canonical(a, &shape->sets[i]);
	return (struct job_shape){
	    .sets = sets,
	    .n_sets = shape->n_sets,
	    .exclusive_topology = arena_span(a, shape->exclusive_topology),
	};
}

void job_shape_key(const struct job_shape *shape, struct buf *out)
{
	uint64_t n[2] = {shape->exclusive_topology.len, shape->n_sets};

	buf_add(out, (const char *)n, sizeof(n));
	if (shape->exclusive_topology.len)
		buf_add(out, shape->exclusive_topology.ptr, shape->exclusive_topology.len);
	for (size_t i = 0; i < shape->n_sets; i++) {
		const struct pod_set *s = &shape->sets[i];
		uint64_t part[3] = {(uint64_t)s->count, s->groups, s->name.len};

		buf_add(out, (const char *)part, sizeof(part));
		if (s->name.len)
			buf_add(out, s->name.ptr, s->name.len);
		pod_set_key(s, out);
		pod_set_topology_key(&s->topology, out);
	}
}

int64_t job_shape_pods(const struct job_shape *shape)
{
	int64_t pods = 0;

	for (size_t i = 0; i < shape->n_sets; i++)
		pods = num_add_sat(pods, shape->sets[i].count);
	return pods;
}

#include "core/admission/failover.h"
#include "core/admission/pump.h"
#include "core/dispatch/prepare.h"
#include "core/job.h"
#include "core/kueue/multikueue.h"
#include "core/kueue/topology.h"
#include "core/pod_constraint.h"
#include "core/provisioning/consumer.h"

enum taint_effect core_taint_effect(enum info_effect e)
{
	return e == INFO_NO_EXECUTE	      ? TAINT_NO_EXECUTE
	       : e == INFO_PREFER_NO_SCHEDULE ? TAINT_PREFER_NO_SCHEDULE
					      : TAINT_NO_SCHEDULE;
}

/* Two lists behind each other. */
#define JOIN(mem, T, a, n_a, b, n_b)                                                               \
	({                                                                                         \
		T *both_ = arena_array(mem, T, (n_a) + (n_b));                                     \
		if (n_a)                                                                           \
			memcpy(both_, a, (n_a) * sizeof(T));                                       \
		if (n_b)                                                                           \
			memcpy(both_ + (n_a), b, (n_b) * sizeof(T));                               \
		both_;                                                                             \
	})

static void add_term(struct pod_set *set, const struct job_term *t, struct arena *mem)
{
	set->selector =
	    JOIN(mem, struct label, set->selector, set->n_selector, t->labels, t->n_labels);
	set->n_selector += t->n_labels;
	set->tolerations = JOIN(mem, struct toleration, set->tolerations, set->n_tolerations,
				t->tolerations, t->n_tolerations);
	set->n_tolerations += t->n_tolerations;
	if (t->count >= 0)
		set->count = t->count;
}

/* Sets of one podset-group-name have the same number. */
static uint32_t group_of(const struct job_digest *d, size_t set)
{
	struct span name = d->pod_sets[set].topology.group;

	for (size_t i = 0; name.len && i <= set; i++)
		if (span_eq(d->pod_sets[i].topology.group, name))
			return (uint32_t)i + 1;
	return 0;
}

static int topology_of(const struct core *c, const struct job *j, size_t set,
		       const struct job_term *term, struct arena *mem, struct pod_topology *ret,
		       struct err *reterr)
{
	const struct topology_request *t = &job_placed(j, set)->topology;

	int r = topology_resolve(c, t, term ? term->topology : SPAN_NONE, mem, ret, reterr);
	if (r == 0 && (ret->mode == POD_TOPOLOGY_REQUIRED || ret->mode == POD_TOPOLOGY_PREFERRED))
		ret->group = group_of(&j->digest, set);
	return r;
}

static int shape_of(struct core *c, const struct job *j, const struct job_term *terms,
		    bool anywhere, struct arena *mem, struct job_shape *ret, struct err *reterr)
{
	size_t n = job_n_placed(j);
	struct pod_set *sets = arena_array(mem, struct pod_set, n);

	*ret = (struct job_shape){.sets = sets, .n_sets = n};
	for (size_t i = 0; i < n; i++) {
		const struct job_pod_set *p = job_placed(j, i);
		struct constraint k = pod_constraint(&p->pod, mem);
		sets[i] = (struct pod_set){
		    .name = p->name,
		    .count = p->count,
		    .groups = p->exclusive_topology.len ? (uint32_t)p->groups : 0,
		    .selector = k.selector,
		    .n_selector = k.n_selector,
		    .terms = k.terms,
		    .n_terms = k.n_terms,
		    .tolerations = k.tolerations,
		    .n_tolerations = k.n_tolerations,
		};
		if (terms)
			add_term(&sets[i], &terms[i], mem);
		if (p->exclusive_topology.len)
			ret->exclusive_topology = p->exclusive_topology;
		int r = pod_requests(c, &p->pod, mem, &sets[i], reterr);
		if (r == 0 && !anywhere)
			r = topology_of(c, j, i, terms ? &terms[i] : NULL, mem, &sets[i].topology,
					reterr);
		if (r < 0)
			return r;
	}
	return 0;
}

int job_ask(struct core *c, struct job *j, const struct propagation_policy *policy,
	    struct err *reterr)
{
	return job_ask_with(c, j, policy, NULL, reterr);
}

/* References of both, for the caller. */
static int make_ask(struct core *c, struct job *j, const struct propagation_policy *policy,
		    const struct job_term *terms, bool anywhere, struct shape **ret_shape,
		    struct ask **ret, struct err *reterr)
{
	auto_arena mem = ARENA_INIT;
	char api_version[KIND_API_VERSION_MAX];
	struct placement_spec placement = policy->placement;
	struct job_shape spec;

	terms = consumer_terms(c, j, terms, &mem);
	int r = shape_of(c, j, terms, anywhere, &mem, &spec, reterr);
	if (r == 0)
		r = fleet_shape_ref(c->fleet, &spec, ret_shape, reterr);
	if (r < 0)
		return r;
	struct api_kind kind = {span_of(kind_api_version(j->kind, api_version)),
				span_of(j->kind->kind)};
	multikueue_narrow(c, j, &mem, &placement);
	placement.n_refusals = prepare_refusals(c, j, &mem, &placement.refusals);
	failover_refuse(c, j, policy, &mem, &placement);
	r = placer_ask_ref(c->placer, *ret_shape, &placement, &kind, ret, reterr);
	if (r < 0)
		fleet_shape_unref(c->fleet, *ret_shape);
	return r;
}

int job_ask_trial(struct core *c, struct job *j, const struct propagation_policy *policy,
		  const struct job_term *terms, struct ask **ret, struct err *reterr)
{
	struct shape *shape;
	int r = make_ask(c, j, policy, terms, false, &shape, ret, reterr);

	if (r == 0)
		fleet_shape_unref(c->fleet, shape);
	return r;
}

static int take_ask(struct core *c, struct job *j, const struct propagation_policy *policy,
		    const struct job_term *terms, bool anywhere, struct err *reterr)
{
	struct shape *shape;
	struct ask *ask;
	int r = make_ask(c, j, policy, terms, anywhere, &shape, &ask, reterr);

	if (r < 0)
		return r;
	pump_enter_ask(c, ask);
	if (j->ask)
		pump_leave_ask(c, j->ask);
	placer_ask_unref(c->placer, j->ask);
	fleet_shape_unref(c->fleet, j->shape);
	j->ask = ask;
	j->shape = shape;
	return 0;
}

int job_ask_with(struct core *c, struct job *j, const struct propagation_policy *policy,
		 const struct job_term *terms, struct err *reterr)
{
	return take_ask(c, j, policy, terms, false, reterr);
}

int job_ask_anywhere(struct core *c, struct job *j, const struct propagation_policy *policy,
		     struct err *reterr)
{
	return take_ask(c, j, policy, NULL, true, reterr);
}

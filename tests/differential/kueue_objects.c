#include "base/json.h"
#include "kueue_world.h"

#include <stdio.h>

static enum kueue_preempt_policy policy(struct span object, const char *key)
{
	return line_is(object, key, "LowerPriority") ? KUEUE_PREEMPT_LOWER_PRIORITY
	       : line_is(object, key, "LowerOrNewerEqualPriority")
		   ? KUEUE_PREEMPT_LOWER_OR_NEWER_EQUAL
	       : line_is(object, key, "Any") ? KUEUE_PREEMPT_ANY
					     : KUEUE_PREEMPT_NEVER;
}

void objects_set_options(struct world *w, struct span line)
{
	struct kueue_options *o = &w->options;
	*o = kueue_options_default();
	o->one_head_per_cycle = !w->rounds;
	o->fair_sharing = line_yes(line, "fair_sharing");
	o->partial_admission = line_yes(line, "partial_admission");
	o->flavor_fungibility = line_yes(line, "flavor_fungibility");
	o->equivalence_hashing = line_yes(line, "equivalence_hashing");
	o->preempt_within_nominal = line_yes(line, "preempt_within_nominal");
	o->prioritize_non_borrowing = line_yes(line, "prioritize_non_borrowing");
	o->recompute_on_overlap = line_yes(line, "recompute_on_overlap");
	o->preserve_scan_progress = line_yes(line, "preserve_scan_progress");
	o->ignore_undeclared = line_yes(line, "ignore_undeclared");
	o->priority_sorting_within_cohort = line_yes(line, "priority_sorting_within_cohort");
	o->prioritize_preemptors = line_yes(line, "prioritize_preemptors");
	size_t n;
	struct span *strategies = line_strings(w, line_member(line, "fair_strategies"), &n);
	o->n_fair_strategies = n;
	for (size_t i = 0; i < n; i++)
		o->fair_strategies[i] = span_is(strategies[i], "LessThanInitialShare")
					    ? KUEUE_LESS_THAN_INITIAL_SHARE
					    : KUEUE_LESS_THAN_OR_EQUAL_TO_FINAL_SHARE;
	w->forest = kueue_forest_create(o);
	w->queues = kueue_queues_create(w->forest, o);
}

static struct kueue_group_spec *groups(struct world *w, struct span list, size_t *ret_n)
{
	struct kueue_group_spec *out =
	    arena_array(&w->mem, struct kueue_group_spec, line_count(list) + 1);
	size_t n = 0, pos = 0;
	struct span value;
	while (list.len && json_text_next(list, &pos, NULL, &value)) {
		struct kueue_group_spec *g = &out[n++];
		g->resources = line_strings(w, line_member(value, "resources"), &g->n_resources);
		g->flavors = line_strings(w, line_member(value, "flavors"), &g->n_flavors);
		struct kueue_quota *quotas =
		    arena_array(&w->mem, struct kueue_quota, g->n_resources * g->n_flavors);
		struct span cells = line_member(value, "quotas"), cell;
		size_t i = 0, at = 0;
		while (json_text_next(cells, &at, NULL, &cell)) {
			int64_t v[3] = {QUOTA_UNLIMITED, QUOTA_UNLIMITED, QUOTA_UNLIMITED};
			struct span part;
			size_t k = 0, in = 0;
			while (json_text_next(cell, &in, NULL, &part))
				(void)json_text_int64(part, &v[k++]);
			quotas[i++] = (struct kueue_quota){v[0], v[1], v[2]};
		}
		g->quotas = quotas;
		for (i = 0; i < g->n_resources; i++)
			names_note(&w->resource_names, g->resources[i]);
	}
	*ret_n = n;
	return out;
}

int objects_set_flavor(struct world *w, struct span line, struct err *err)
{
	struct kueue_flavor_spec f = {.name = line_text(w, line, "name")};
	f.labels = line_labels(w, line_member(line, "labels"), &f.n_labels);
	struct span list = line_member(line, "taints"), value;
	struct taint *taints = arena_array(&w->mem, struct taint, line_count(list) + 1);
	size_t pos = 0;
	while (json_text_next(list, &pos, NULL, &value))
		taints[f.n_taints++] =
		    (struct taint){line_text(w, value, "key"), line_text(w, value, "value"),
				   taint_effect_from_string(line_text(w, value, "effect"))};
	f.taints = taints;
	f.tolerations = line_tolerations(w, line_member(line, "tolerations"), &f.n_tolerations);
	names_note(&w->flavor_names, f.name);
	int r = kueue_forest_set_flavor(w->forest, &f, err);
	if (!r)
		kueue_queues_edited(w->queues, KUEUE_NONE);
	return r;
}

int objects_set_cohort(struct world *w, struct span line, struct err *err)
{
	struct kueue_cohort_spec c = {.name = line_text(w, line, "name"),
				      .parent = line_text(w, line, "parent"),
				      .weight = line_weight(line)};
	c.groups = groups(w, line_member(line, "groups"), &c.n_groups);
	names_note(&w->cohort_names, c.name);
	if (c.parent.len)
		names_note(&w->cohort_names, c.parent);
	uint32_t old = kueue_forest_cohort(w->forest, c.name);
	if (old != KUEUE_NONE)
		kueue_queues_edited(w->queues, old);
	int r = kueue_forest_set_cohort(w->forest, &c, err);
	if (!r)
		kueue_queues_edited(w->queues, kueue_forest_cohort(w->forest, c.name));
	return r;
}

int objects_set_queue(struct world *w, struct span line, struct err *err)
{
	struct kueue_queue_spec q = {.name = line_text(w, line, "name"),
				     .cohort = line_text(w, line, "cohort"),
				     .weight = line_weight(line)};
	q.groups = groups(w, line_member(line, "groups"), &q.n_groups);
	q.strategy =
	    line_is(line, "strategy", "StrictFIFO") ? KUEUE_STRICT_FIFO : KUEUE_BEST_EFFORT_FIFO;
	q.stop = line_yes(line, "stopped") ? KUEUE_STOP_HOLD : KUEUE_STOP_NONE;
	q.admission_fair_sharing = line_yes(line, "admission_fair_sharing");
	int64_t threshold = line_number(line, "threshold", INT64_MIN);
	q.preemption = (struct kueue_preemption){
	    .within_cluster_queue = policy(line, "within"),
	    .reclaim_within_cohort = policy(line, "reclaim"),
	    .borrow_within_cohort = policy(line, "borrow_policy"),
	    .has_max_priority_threshold = threshold != INT64_MIN,
	    .max_priority_threshold = threshold == INT64_MIN ? 0 : (int32_t)threshold};
	q.when_can_borrow = line_is(line, "when_can_borrow", "TryNextFlavor")
				? KUEUE_TRY_NEXT_FLAVOR
				: KUEUE_MAY_STOP_SEARCH;
	q.when_can_preempt = line_is(line, "when_can_preempt", "TryNextFlavor")
				 ? KUEUE_TRY_NEXT_FLAVOR
				 : KUEUE_MAY_STOP_SEARCH;
	q.preference = line_is(line, "preference", "PreemptionOverBorrowing")
			   ? KUEUE_PREEMPTION_OVER_BORROWING
			   : KUEUE_BORROWING_OVER_PREEMPTION;
	names_note(&w->queue_names, q.name);
	struct span *checks = arena_new(&w->mem, struct span);
	*checks = arena_span(&w->mem, line_member(line, "checks"));
	map_put(&w->checks, q.name, checks);
	if (q.cohort.len)
		names_note(&w->cohort_names, q.cohort);
	uint32_t old = kueue_forest_queue(w->forest, q.name);
	uint32_t old_parent = old == KUEUE_NONE ? KUEUE_NONE : kueue_forest_parent(w->forest, old);
	if (old_parent != KUEUE_NONE)
		kueue_queues_edited(w->queues, old_parent);
	int r = kueue_forest_set_queue(w->forest, &q, err);
	if (r)
		return r;
	kueue_queues_edited(w->queues, kueue_forest_queue(w->forest, q.name));
	return 0;
}

/* ---- workloads ---- */

static struct constraint constraint(struct world *w, struct span pod_set)
{
	struct constraint c = {0};
	c.selector = line_labels(w, line_member(pod_set, "selector"), &c.n_selector);
	c.tolerations = line_tolerations(w, line_member(pod_set, "tolerations"), &c.n_tolerations);
	struct span list = line_member(pod_set, "affinity"), term, e;
	struct node_term *terms = arena_array(&w->mem, struct node_term, line_count(list) + 1);
	size_t pos = 0;
	while (list.len && json_text_next(list, &pos, NULL, &term)) {
		struct node_term *t = &terms[c.n_terms++];
		struct node_expr *exprs =
		    arena_array(&w->mem, struct node_expr, line_count(term) + 1);
		size_t in = 0;
		while (json_text_next(term, &in, NULL, &e)) {
			struct node_expr *x = &exprs[t->n_labels++];
			x->key = line_text(w, e, "key");
			x->op = line_is(e, "operator", "In") ? NODE_OP_IN : NODE_OP_NOT_IN;
			x->values = line_strings(w, line_member(e, "values"), &x->n_values);
		}
		t->labels = exprs;
	}
	c.terms = terms;
	return c;
}

int objects_add(struct world *w, struct span line, struct err *err)
{
	struct kueue_workload_spec s = {.name = line_text(w, line, "name"),
					.uid = line_text(w, line, "uid"),
					.priority = (int32_t)line_number(line, "priority", 0),
					.created = line_number(line, "created", 0)};
	s.queue_order = s.created;
	s.local_queue = (uint32_t)line_number(line, "local", 0);
	struct job *job = arena_new(&w->mem, struct job);
	job->name = s.name;
	job->created = s.created;
	struct span list = line_member(line, "pod_sets"), value, key, amount;
	struct kueue_pod_set *sets =
	    arena_array(&w->mem, struct kueue_pod_set, line_count(list) + 1);
	size_t pos = 0;
	while (json_text_next(list, &pos, NULL, &value)) {
		struct kueue_pod_set *p = &sets[s.n_pod_sets++];
		p->name = line_text(w, value, "name");
		p->count = (int32_t)line_number(value, "count", 1);
		p->min_count = (int32_t)line_number(value, "min_count", 0);
		p->group = line_text(w, value, "group");
		p->constraint = constraint(w, value);
		struct span asked = line_member(value, "requests");
		struct kueue_request *requests =
		    arena_array(&w->mem, struct kueue_request, line_count(asked) + 1);
		size_t in = 0;
		while (json_text_next(asked, &in, &key, &amount)) {
			struct kueue_request *r = &requests[p->n_requests++];
			r->resource = arena_span(&w->mem, key);
			(void)json_text_int64(amount, &r->value);
		}
		p->requests = requests;
		vec_push(&job->pod_sets, p->name);
	}
	s.pod_sets = sets;
	s.owner = job;
	uint32_t queue = kueue_forest_queue(w->forest, line_text(w, line, "queue"));
	int r = kueue_queues_add(w->queues, queue, &s, &job->record, err);
	if (!r)
		map_put(&w->jobs, s.name, job);
	return r;
}

void objects_set_usage(struct world *w, struct span line)
{
	uint32_t queue = kueue_forest_queue(w->forest, line_text(w, line, "queue"));
	kueue_queues_restore_usage(w->queues, queue, (uint32_t)line_number(line, "local", 0),
				   SPAN("cpu"), (double)line_number(line, "usage", 0), 1);
}

int objects_act(struct world *w, struct span op, struct span line, struct err *err)
{
	struct job *job = map_get(&w->jobs, line_text(w, line, "name"));
	if (!job)
		return err_set(err, ERR_INTERNAL, "no such workload");
	struct kueue_workload *record = job->record;
	job->waits = job->waits && span_is(op, "evict");
	if (span_is(op, "remove")) {
		kueue_queues_remove(w->queues, record);
		vec_done(&job->pod_sets);
		map_remove(&w->jobs, job->name);
	} else if (span_is(op, "hold")) {
		kueue_queues_hold(w->queues, record, line_yes(line, "listed"));
	} else if (span_is(op, "unhold")) {
		kueue_queues_unhold(w->queues, record);
	} else if (span_is(op, "priority")) {
		kueue_queues_set_priority(w->queues, record,
					  (int32_t)line_number(line, "priority", 0));
	} else if (span_is(op, "evict")) {
		kueue_queues_evicted(w->queues, record);
	} else if (span_is(op, "released")) {
		int64_t order = line_number(line, "order", 0);
		if (order)
			kueue_queues_set_queue_order(w->queues, record, order);
		if (line_yes(line, "hold"))
			kueue_queues_hold(w->queues, record, line_yes(line, "listed"));
		checks_keep_back(w, job, line_number(line, "now", 0));
		kueue_queues_released(w->queues, record);
	} else if (span_is(op, "checks")) {
		checks_say(w, job, line);
	} else if (span_is(op, "deactivate")) {
		checks_deactivate(w, job);
	} else if (span_is(op, "activate")) {
		checks_activate(w, job);
	} else {
		return err_set(err, ERR_INTERNAL, "unknown operation");
	}
	return 0;
}

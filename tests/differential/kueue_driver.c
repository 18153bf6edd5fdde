/*
 * The hub's side of the test against the slow model of Kueue's cycle: replays the scenarios that
 * kueue_model/generate.py writes (one operation a line, with what the model decided) and compares
 * decision by decision. generate.py says what the lines mean.
 *
 * usage: kueue_driver [rounds] < scenarios; ends with 0 when everything was the same. One
 * difference ends its scenario: what follows would differ for that reason. With `rounds` cycles
 * have many rounds, as in the hub; else one, as in Kueue.
 */
#include "base/arena.h"
#include "base/json.h"
#include "base/map.h"
#include "quota-tree/kueue_queues.h"

#include <stdio.h>
#include <stdlib.h>

enum { MAX_CYCLES = 400, MAX_SHOWN = 5, MAX_LINE = 1 << 20 };

struct names VEC(struct span);
struct texts VEC(char *);

struct job {
	struct kueue_workload *record;
	struct span name;
	struct names pod_sets;
	bool waits;
	char why[64]; /* what the last attempt said */
};

struct world {
	struct arena mem;
	struct kueue_options options;
	struct kueue_forest *forest;
	struct kueue_queues *queues;
	struct map jobs; /* by name: struct job */
	struct names queue_names, cohort_names, flavor_names, resource_names;
	int64_t now;
	bool rounds;
	const char *trouble; /* of the cycles, or NULL */
};

/* ---- reading ---- */

static struct span text(struct world *w, struct span object, const char *key)
{
	struct span value;
	if (json_text_member(object, key, &value) || json_text_type(value) != JSON_STRING)
		return SPAN_NONE;
	return arena_span(&w->mem, json_text_plain(value));
}

static int64_t number(struct span object, const char *key, int64_t otherwise)
{
	struct span value;
	int64_t n;
	if (json_text_member(object, key, &value) || json_text_int64(value, &n))
		return otherwise;
	return n;
}

/* Weights: the generator's are halves. */
static double weight(struct span object)
{
	struct span value;
	if (json_text_member(object, "weight", &value))
		return 1;
	return strtod(value.ptr, NULL);
}

static bool yes(struct span object, const char *key)
{
	struct span value;
	return !json_text_member(object, key, &value) && span_is(value, "true");
}

static bool is(struct span object, const char *key, const char *word)
{
	struct span value;
	return !json_text_member(object, key, &value) && span_is(json_text_plain(value), word);
}

static struct span member(struct span object, const char *key)
{
	struct span value;
	return json_text_member(object, key, &value) ? SPAN_NONE : value;
}

static size_t count_of(struct span container)
{
	size_t n = 0, pos = 0;
	struct span key, value;
	while (container.len && json_text_next(container, &pos, &key, &value))
		n++;
	return n;
}

static void note(struct names *names, struct span name)
{
	for (size_t i = 0; i < names->len; i++)
		if (span_eq(names->items[i], name))
			return;
	vec_push(names, name);
	for (size_t i = names->len - 1; i && span_cmp(names->items[i - 1], name) > 0; i--) {
		names->items[i] = names->items[i - 1];
		names->items[i - 1] = name;
	}
}

static struct span *strings(struct world *w, struct span list, size_t *ret_n)
{
	struct span *out = arena_array(&w->mem, struct span, count_of(list) + 1);
	size_t n = 0, pos = 0;
	struct span value;
	while (list.len && json_text_next(list, &pos, NULL, &value))
		out[n++] = arena_span(&w->mem, json_text_plain(value));
	*ret_n = n;
	return out;
}

static struct label *labels(struct world *w, struct span object, size_t *ret_n)
{
	struct label *out = arena_array(&w->mem, struct label, count_of(object) + 1);
	size_t n = 0, pos = 0;
	struct span key, value;
	while (object.len && json_text_next(object, &pos, &key, &value))
		out[n++] = (struct label){.key = arena_span(&w->mem, key),
					  .value = arena_span(&w->mem, json_text_plain(value))};
	*ret_n = n;
	return out;
}

static struct toleration *tolerations(struct world *w, struct span list, size_t *ret_n)
{
	struct toleration *out = arena_array(&w->mem, struct toleration, count_of(list) + 1);
	size_t n = 0, pos = 0;
	struct span value;
	while (list.len && json_text_next(list, &pos, NULL, &value))
		out[n++] = (struct toleration){.key = text(w, value, "key"),
					       .value = text(w, value, "value"),
					       .exists = is(value, "operator", "Exists"),
					       .effect = TAINT_ANY_EFFECT};
	*ret_n = n;
	return out;
}

/* ---- objects ---- */

static enum kueue_preempt_policy policy(struct span object, const char *key)
{
	return is(object, key, "LowerPriority")		      ? KUEUE_PREEMPT_LOWER_PRIORITY
	       : is(object, key, "LowerOrNewerEqualPriority") ? KUEUE_PREEMPT_LOWER_OR_NEWER_EQUAL
	       : is(object, key, "Any")			      ? KUEUE_PREEMPT_ANY
							      : KUEUE_PREEMPT_NEVER;
}

static void set_options(struct world *w, struct span line)
{
	struct kueue_options *o = &w->options;
	*o = kueue_options_default();
	o->one_head_per_cycle = !w->rounds;
	o->fair_sharing = yes(line, "fair_sharing");
	o->partial_admission = yes(line, "partial_admission");
	o->flavor_fungibility = yes(line, "flavor_fungibility");
	o->equivalence_hashing = yes(line, "equivalence_hashing");
	o->preempt_within_nominal = yes(line, "preempt_within_nominal");
	o->prioritize_non_borrowing = yes(line, "prioritize_non_borrowing");
	o->recompute_on_overlap = yes(line, "recompute_on_overlap");
	o->preserve_scan_progress = yes(line, "preserve_scan_progress");
	o->ignore_undeclared = yes(line, "ignore_undeclared");
	size_t n;
	struct span *strategies = strings(w, member(line, "fair_strategies"), &n);
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
	    arena_array(&w->mem, struct kueue_group_spec, count_of(list) + 1);
	size_t n = 0, pos = 0;
	struct span value;
	while (list.len && json_text_next(list, &pos, NULL, &value)) {
		struct kueue_group_spec *g = &out[n++];
		g->resources = strings(w, member(value, "resources"), &g->n_resources);
		g->flavors = strings(w, member(value, "flavors"), &g->n_flavors);
		struct kueue_quota *quotas =
		    arena_array(&w->mem, struct kueue_quota, g->n_resources * g->n_flavors);
		struct span cells = member(value, "quotas"), cell;
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
			note(&w->resource_names, g->resources[i]);
	}
	*ret_n = n;
	return out;
}

static int set_flavor(struct world *w, struct span line, struct err *err)
{
	struct kueue_flavor_spec f = {.name = text(w, line, "name")};
	f.labels = labels(w, member(line, "labels"), &f.n_labels);
	struct span list = member(line, "taints"), value;
	struct taint *taints = arena_array(&w->mem, struct taint, count_of(list) + 1);
	size_t pos = 0;
	while (json_text_next(list, &pos, NULL, &value))
		taints[f.n_taints++] =
		    (struct taint){text(w, value, "key"), text(w, value, "value"),
				   taint_effect_from_string(text(w, value, "effect"))};
	f.taints = taints;
	f.tolerations = tolerations(w, member(line, "tolerations"), &f.n_tolerations);
	note(&w->flavor_names, f.name);
	int r = kueue_forest_set_flavor(w->forest, &f, err);
	if (!r)
		kueue_queues_edited(w->queues, KUEUE_NONE);
	return r;
}

static int set_cohort(struct world *w, struct span line, struct err *err)
{
	struct kueue_cohort_spec c = {.name = text(w, line, "name"),
				      .parent = text(w, line, "parent"),
				      .weight = weight(line)};
	c.groups = groups(w, member(line, "groups"), &c.n_groups);
	note(&w->cohort_names, c.name);
	if (c.parent.len)
		note(&w->cohort_names, c.parent);
	int r = kueue_forest_set_cohort(w->forest, &c, err);
	if (!r)
		kueue_queues_edited(w->queues, kueue_forest_cohort(w->forest, c.name));
	return r;
}

static int set_queue(struct world *w, struct span line, struct err *err)
{
	struct kueue_queue_spec q = {.name = text(w, line, "name"),
				     .cohort = text(w, line, "cohort"),
				     .weight = weight(line)};
	q.groups = groups(w, member(line, "groups"), &q.n_groups);
	q.strategy =
	    is(line, "strategy", "StrictFIFO") ? KUEUE_STRICT_FIFO : KUEUE_BEST_EFFORT_FIFO;
	q.stop = yes(line, "stopped") ? KUEUE_STOP_HOLD : KUEUE_STOP_NONE;
	int64_t threshold = number(line, "threshold", INT64_MIN);
	q.preemption = (struct kueue_preemption){
	    .within_cluster_queue = policy(line, "within"),
	    .reclaim_within_cohort = policy(line, "reclaim"),
	    .borrow_within_cohort = policy(line, "borrow_policy"),
	    .has_max_priority_threshold = threshold != INT64_MIN,
	    .max_priority_threshold = threshold == INT64_MIN ? 0 : (int32_t)threshold};
	q.when_can_borrow = is(line, "when_can_borrow", "TryNextFlavor") ? KUEUE_TRY_NEXT_FLAVOR
									 : KUEUE_MAY_STOP_SEARCH;
	q.when_can_preempt = is(line, "when_can_preempt", "TryNextFlavor") ? KUEUE_TRY_NEXT_FLAVOR
									   : KUEUE_MAY_STOP_SEARCH;
	q.preference = is(line, "preference", "PreemptionOverBorrowing")
			   ? KUEUE_PREEMPTION_OVER_BORROWING
			   : KUEUE_BORROWING_OVER_PREEMPTION;
	note(&w->queue_names, q.name);
	if (q.cohort.len)
		note(&w->cohort_names, q.cohort);
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
	c.selector = labels(w, member(pod_set, "selector"), &c.n_selector);
	c.tolerations = tolerations(w, member(pod_set, "tolerations"), &c.n_tolerations);
	struct span list = member(pod_set, "affinity"), term, e;
	struct node_term *terms = arena_array(&w->mem, struct node_term, count_of(list) + 1);
	size_t pos = 0;
	while (list.len && json_text_next(list, &pos, NULL, &term)) {
		struct node_term *t = &terms[c.n_terms++];
		struct node_expr *exprs =
		    arena_array(&w->mem, struct node_expr, count_of(term) + 1);
		size_t in = 0;
		while (json_text_next(term, &in, NULL, &e)) {
			struct node_expr *x = &exprs[t->n_labels++];
			x->key = text(w, e, "key");
			x->op = is(e, "operator", "In") ? NODE_OP_IN : NODE_OP_NOT_IN;
			x->values = strings(w, member(e, "values"), &x->n_values);
		}
		t->labels = exprs;
	}
	c.terms = terms;
	return c;
}

static int add(struct world *w, struct span line, struct err *err)
{
	struct kueue_workload_spec s = {.name = text(w, line, "name"),
					.uid = text(w, line, "uid"),
					.priority = (int32_t)number(line, "priority", 0),
					.created = number(line, "created", 0)};
	s.queue_order = s.created;
	struct job *job = arena_new(&w->mem, struct job);
	job->name = s.name;
	struct span list = member(line, "pod_sets"), value, key, amount;
	struct kueue_pod_set *sets = arena_array(&w->mem, struct kueue_pod_set, count_of(list) + 1);
	size_t pos = 0;
	while (json_text_next(list, &pos, NULL, &value)) {
		struct kueue_pod_set *p = &sets[s.n_pod_sets++];
		p->name = text(w, value, "name");
		p->count = (int32_t)number(value, "count", 1);
		p->min_count = (int32_t)number(value, "min_count", 0);
		p->constraint = constraint(w, value);
		struct span asked = member(value, "requests");
		struct kueue_request *requests =
		    arena_array(&w->mem, struct kueue_request, count_of(asked) + 1);
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
	uint32_t queue = kueue_forest_queue(w->forest, text(w, line, "queue"));
	int r = kueue_queues_add(w->queues, queue, &s, &job->record, err);
	if (!r)
		map_put(&w->jobs, s.name, job);
	return r;
}

static int act(struct world *w, struct span op, struct span line, struct err *err)
{
	struct job *job = map_get(&w->jobs, text(w, line, "name"));
	if (!job)
		return err_set(err, ERR_INTERNAL, "no such workload");
	struct kueue_workload *record = job->record;
	job->waits = job->waits && span_is(op, "evict");
	if (span_is(op, "remove")) {
		kueue_queues_remove(w->queues, record);
		vec_done(&job->pod_sets);
		map_remove(&w->jobs, job->name);
	} else if (span_is(op, "hold")) {
		kueue_queues_hold(w->queues, record, yes(line, "listed"));
	} else if (span_is(op, "unhold")) {
		kueue_queues_unhold(w->queues, record);
	} else if (span_is(op, "priority")) {
		kueue_queues_set_priority(w->queues, record, (int32_t)number(line, "priority", 0));
	} else if (span_is(op, "evict")) {
		kueue_queues_evicted(w->queues, record);
	} else if (span_is(op, "released")) {
		if (yes(line, "hold"))
			kueue_queues_hold(w->queues, record, yes(line, "listed"));
		kueue_queues_released(w->queues, record);
	} else {
		return err_set(err, ERR_INTERNAL, "unknown operation");
	}
	return 0;
}

/* ---- deciding ---- */

static void push_text(struct texts *t, struct buf *b)
{
	vec_push(t, buf_steal(b, NULL));
}

static void describe_admission(struct world *w, const struct kueue_entry *e, struct buf *b)
{
	const struct job *job = e->workload->owner;
	const struct kueue_assignment *a = &e->assignment;
	buf_addf(b, "admit %.*s", SPAN_ARGS(job->name));
	for (size_t i = 0; i < job->pod_sets.len; i++) {
		buf_addf(b, " %.*s*%d:", SPAN_ARGS(job->pod_sets.items[i]), (int)a->counts[i]);
		bool first = true;
		struct names sorted = {0};
		for (uint32_t c = a->first_choice[i]; c < a->first_choice[i + 1]; c++)
			note(&sorted,
			     kueue_forest_resource_name(w->forest, a->choices.items[c].resource));
		for (size_t k = 0; k < sorted.len; k++)
			for (uint32_t c = a->first_choice[i]; c < a->first_choice[i + 1]; c++) {
				const struct kueue_choice *x = &a->choices.items[c];
				if (x->flavor == KUEUE_NONE ||
				    !span_eq(sorted.items[k],
					     kueue_forest_resource_name(w->forest, x->resource)))
					continue;
				struct span flavor = kueue_forest_flavor_name(w->forest, x->flavor);
				buf_addf(b, "%s%.*s=%.*s", first ? "" : ",",
					 SPAN_ARGS(sorted.items[k]), SPAN_ARGS(flavor));
				first = false;
			}
		vec_done(&sorted);
	}
}

/* The victims that still run; false when there are none. */
static bool describe_preemption(const struct kueue_entry *e, struct buf *b)
{
	bool any = false;
	buf_addf(b, "preempt %.*s", SPAN_ARGS(e->workload->name));
	for (size_t i = 0; i < e->victims.items.len; i++) {
		const struct kueue_victim *v = &e->victims.items.items[i];
		if (v->workload->state == KUEUE_EVICTED)
			continue;
		buf_addf(b, " %.*s/%s", SPAN_ARGS(v->workload->name),
			 kueue_preempt_reason_to_string(v->reason));
		any = true;
	}
	return any;
}

static void told(struct kueue_entry *e, const char *why)
{
	struct job *job = e->workload->owner;
	job->waits = why != NULL;
	snprintf(job->why, sizeof(job->why), "%s", why ? why : "");
}

static void decide(struct world *w, struct kueue_entry *e, struct texts *out)
{
	auto_buf b = BUF_INIT;
	struct span tree =
	    kueue_forest_name(w->forest, kueue_forest_root(w->forest, e->workload->queue));
	buf_addf(&b, "%.*s|", SPAN_ARGS(tree));
	switch (e->kind) {
	case KUEUE_ENTRY_FITS:
		describe_admission(w, e, &b);
		push_text(out, &b);
		told(e, NULL);
		kueue_cycle_admit(w->queues, e, false);
		break;
	case KUEUE_ENTRY_PREEMPTS:
		if (describe_preemption(e, &b))
			push_text(out, &b);
		told(e, "WaitingForPreemptedWorkloads");
		kueue_cycle_preempt(w->queues, e);
		break;
	case KUEUE_ENTRY_WAITS:
		told(e, e->reason);
		break;
	}
}

static int by_tree(const void *a, const void *b)
{
	const char *x = *(char *const *)a, *y = *(char *const *)b;
	size_t n = strcspn(x, "|"), m = strcspn(y, "|");
	return span_cmp(span_make(x, n), span_make(y, m));
}

static void run_cycles(struct world *w, struct texts *out)
{
	int n = 0;
	bool more;
	do {
		struct kueue_entry *e;
		kueue_cycle_begin(w->queues, w->now);
		while ((e = kueue_cycle_next(w->queues)))
			decide(w, e, out);
		more = kueue_cycle_end(w->queues);
	} while (more && ++n < MAX_CYCLES);
	if (more)
		w->trouble = "the cycles do not end";
	/* A stable sort: insertion. */
	for (size_t i = 1; i < out->len; i++)
		for (size_t k = i; k && by_tree(&out->items[k - 1], &out->items[k]) > 0; k--) {
			char *t = out->items[k];
			out->items[k] = out->items[k - 1];
			out->items[k - 1] = t;
		}
}

/* ---- comparing ---- */

static void list_usage(struct world *w, uint32_t node, struct texts *out)
{
	for (size_t i = 0; i < w->flavor_names.len; i++)
		for (size_t k = 0; k < w->resource_names.len; k++) {
			uint32_t flavor = kueue_forest_flavor(w->forest, w->flavor_names.items[i]);
			uint32_t resource =
			    kueue_forest_find_resource(w->forest, w->resource_names.items[k]);
			if (flavor == KUEUE_NONE || resource == KUEUE_NONE)
				continue;
			int64_t used = kueue_forest_usage(w->forest, node, flavor, resource);
			if (!used)
				continue;
			auto_buf b = BUF_INIT;
			buf_addf(&b, "%.*s %.*s %.*s %lld",
				 SPAN_ARGS(kueue_forest_name(w->forest, node)),
				 SPAN_ARGS(w->flavor_names.items[i]),
				 SPAN_ARGS(w->resource_names.items[k]), (long long)used);
			push_text(out, &b);
		}
}

static void list_queue(struct world *w, const char *what, uint32_t queue, struct texts *out)
{
	auto_buf b = BUF_INIT;
	buf_add_span(&b, kueue_forest_name(w->forest, queue));
	struct kueue_counts n = kueue_queues_count(w->queues, queue);
	if (!strcmp(what, "shares")) {
		buf_addf(&b, " %lld",
			 (long long)kueue_share_status(kueue_forest_share(w->forest, queue)));
	} else if (!strcmp(what, "counts")) {
		buf_addf(&b, " %zu %zu", n.pending, n.reserving);
	} else {
		for (size_t i = 0; i < n.pending; i++) {
			struct kueue_workload *r = kueue_queues_at(w->queues, queue, i);
			buf_addf(&b, " %.*s", SPAN_ARGS(r ? r->name : SPAN("?")));
		}
	}
	push_text(out, &b);
}

static void list(struct world *w, const char *what, struct texts *out)
{
	for (size_t i = 0; i < w->queue_names.len; i++) {
		uint32_t queue = kueue_forest_queue(w->forest, w->queue_names.items[i]);
		if (!strcmp(what, "usage"))
			list_usage(w, queue, out);
		else
			list_queue(w, what, queue, out);
	}
	for (size_t i = 0; i < w->cohort_names.len && !strcmp(what, "usage"); i++) {
		uint32_t cohort = kueue_forest_cohort(w->forest, w->cohort_names.items[i]);
		if (cohort != KUEUE_NONE)
			list_usage(w, cohort, out);
	}
}

static void show(const char *who, const struct texts *t)
{
	printf("  %s:\n", who);
	for (size_t i = 0; i < t->len; i++)
		printf("    %s\n", t->items[i]);
}

static void texts_done(struct texts *t)
{
	for (size_t i = 0; i < t->len; i++)
		free(t->items[i]);
	vec_done(t);
}

static bool same(const char *what, struct span expected, struct texts *got)
{
	struct texts want = {0};
	size_t pos = 0;
	struct span value;
	while (json_text_next(expected, &pos, NULL, &value)) {
		auto_buf b = BUF_INIT;
		(void)json_text_string(value, &b);
		push_text(&want, &b);
	}
	bool ok = want.len == got->len;
	for (size_t i = 0; ok && i < want.len; i++)
		ok = !strcmp(want.items[i], got->items[i]);
	if (!ok) {
		printf(" %s differ\n", what);
		show("the model", &want);
		show("the engine", got);
	}
	texts_done(&want);
	return ok;
}

/* "WL REASON|REASON": what an attempt said is one of these. Who was not tried is passed over: not
 * everybody is whom Kueue tries in vain. */
static bool same_reason(const struct world *w, struct span expected)
{
	struct span rest = expected;
	const struct job *job = map_get(&w->jobs, span_split(&rest, ' '));
	enum kueue_state state = job ? kueue_queues_state(job->record) : KUEUE_HELD;
	if (!job || !job->waits || (state != KUEUE_PENDING && state != KUEUE_INADMISSIBLE))
		return true;
	while (rest.len)
		if (span_is(span_split(&rest, '|'), job->why))
			return true;
	printf(" reasons differ\n  the model: %.*s\n  the engine: %s\n", SPAN_ARGS(expected),
	       job->why);
	return false;
}

static bool same_reasons(const struct world *w, struct span expected)
{
	size_t pos = 0;
	struct span value;
	/* With rounds what is tried in vain is tried with another one's flavors left. */
	while (!w->rounds && json_text_next(expected, &pos, NULL, &value))
		if (!same_reason(w, json_text_plain(value)))
			return false;
	return true;
}

static bool check(struct world *w, struct span expect)
{
	static const char *const parts[] = {"usage", "shares", "counts", "order"};
	struct err err = {0};
	struct texts decisions = {0};
	w->now = number(expect, "time", w->now);
	run_cycles(w, &decisions);
	bool ok = same("decisions", member(expect, "decisions"), &decisions);
	texts_done(&decisions);
	ok = ok && same_reasons(w, member(expect, "waits"));
	for (size_t i = 0; ok && i < ARRAY_LEN(parts); i++) {
		struct span expected = member(expect, parts[i]);
		struct texts got = {0};
		if (!expected.len)
			continue;
		list(w, parts[i], &got);
		ok = same(parts[i], expected, &got);
		texts_done(&got);
	}
	if (ok && (kueue_forest_check(w->forest, &err) || kueue_queues_check(w->queues, &err))) {
		printf(" invariant broken: %s\n", err.text);
		ok = false;
	}
	if (ok && w->trouble)
		printf(" %s\n", w->trouble);
	return ok && !w->trouble;
}

/* ---- the run ---- */

static void world_done(struct world *w)
{
	map_foreach (&w->jobs, e)
		vec_done(&((struct job *)e->value)->pod_sets);
	map_done(&w->jobs);
	kueue_queues_destroy(w->queues);
	kueue_forest_destroy(w->forest);
	vec_done(&w->queue_names);
	vec_done(&w->cohort_names);
	vec_done(&w->flavor_names);
	vec_done(&w->resource_names);
	arena_done(&w->mem);
	*w = (struct world){.rounds = w->rounds};
}

static int apply(struct world *w, struct span op, struct span line, struct err *err)
{
	if (span_is(op, "flavor"))
		return set_flavor(w, line, err);
	if (span_is(op, "cohort"))
		return set_cohort(w, line, err);
	if (span_is(op, "queue"))
		return set_queue(w, line, err);
	if (span_is(op, "add"))
		return add(w, line, err);
	return act(w, op, line, err);
}

/* Whether the line was done as the model did. */
static bool step(struct world *w, struct span line, int64_t seed, size_t number)
{
	struct err err = {0};
	struct span op = text(w, line, "op"), expect = member(line, "expect");
	int r = apply(w, op, line, &err);
	if (r)
		printf(" refused: %s\n", err.text);
	bool ok = !r && (!expect.len || check(w, expect));
	if (!ok)
		printf("^ seed %lld, line %zu: %.*s\n\n", (long long)seed, number,
		       (int)(expect.len ? (size_t)(expect.ptr - line.ptr) : line.len), line.ptr);
	return ok;
}

int main(int argc, char **argv)
{
	static char line[MAX_LINE];
	struct world w = {.rounds = argc > 1 && !strcmp(argv[1], "rounds")};
	int64_t seed = 0;
	size_t number_of_line = 0, scenarios = 0, wrong = 0;
	bool lost = true;
	while (fgets(line, sizeof(line), stdin)) {
		struct span s = span_make(line, strcspn(line, "\n"));
		struct err err = {0};
		number_of_line++;
		if (json_check(s, NULL, &err)) {
			printf("line %zu: %s\n", number_of_line, err.text);
			return 2;
		}
		if (is(s, "op", "options")) {
			world_done(&w);
			seed = number(s, "seed", 0);
			set_options(&w, s);
			scenarios++;
			lost = false;
		} else if (!lost && !step(&w, s, seed, number_of_line)) {
			lost = true;
			if (++wrong >= MAX_SHOWN)
				break;
		}
	}
	world_done(&w);
	printf("%zu scenarios, %zu wrong\n", scenarios, wrong);
	return wrong || !scenarios;
}

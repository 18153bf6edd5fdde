#include "core/kueue/workload_status.h"

#include "base/json.h"
#include "core/domain.h"
#include "kube/quantity.h"

#include <errno.h>
#include <stdarg.h>

/* ---- reading ---- */

static struct span text(const struct cJSON *object, const char *key, struct arena *mem)
{
	const char *v = json_str(object, key);
	return v ? arena_span(mem, span_of(v)) : SPAN_NONE;
}

static usec time_of(const struct cJSON *object, const char *key)
{
	const char *v = json_str(object, key);
	usec t;

	return v && clock_parse(span_of(v), &t) == 0 ? t : 0;
}

static int64_t number(const struct cJSON *object, const char *key)
{
	int64_t v;
	return json_int64(object, key, &v) == 0 ? v : 0;
}

static void read_conditions(const struct cJSON *list, struct arena *mem,
			    struct workload_status *ret)
{
	const struct {
		const char *type;
		struct workload_condition *to;
	} known[] = {
	    {"QuotaReserved", &ret->quota_reserved},
	    {"Admitted", &ret->admitted},
	    {"Evicted", &ret->evicted},
	    {"Requeued", &ret->requeued},
	    {"Finished", &ret->finished},
	    {"PodsReady", &ret->pods_ready},
	};

	json_foreach (list, one) {
		const char *type = json_str(one, "type"), *status = json_str(one, "status");
		for (size_t i = 0; type && status && i < ARRAY_LEN(known); i++)
			if (strcmp(type, known[i].type) == 0)
				*known[i].to = (struct workload_condition){
				    .present = true,
				    .is = strcmp(status, "True") == 0,
				    .since = time_of(one, "lastTransitionTime"),
				    .reason = text(one, "reason", mem),
				};
	}
}

static void read_assignment(const struct cJSON *from, struct arena *mem,
			    struct workload_assignment *ret)
{
	const struct cJSON *flavors = json_get(from, "flavors");
	const struct cJSON *usage = json_get(from, "resourceUsage");
	size_t n = 0;

	ret->name = text(from, "name", mem);
	ret->count = (int32_t)number(from, "count");
	ret->items = arena_alloc_n(mem, json_len(flavors), sizeof(*ret->items));
	json_foreach (flavors, f) {
		struct span resource = span_of(json_key(f));
		int64_t value = 0;
		int r = quantity_from_node(json_get(usage, json_key(f)), quantity_unit(resource),
					   &value);
		if (!json_value_str(f))
			continue;
		ret->items[n].resource = arena_span(mem, resource);
		ret->items[n].flavor = arena_span(mem, span_of(json_value_str(f)));
		ret->items[n++].usage = r == -ERANGE ? INT64_MAX : value;
	}
	ret->n_items = n;
}

static void read_admission(const struct cJSON *admission, struct arena *mem,
			   struct workload_status *ret)
{
	const struct cJSON *list = json_get(admission, "podSetAssignments");

	ret->has_admission = json_is(admission, JSON_OBJECT);
	if (!ret->has_admission)
		return;
	ret->cluster_queue = text(admission, "clusterQueue", mem);
	ret->assignments = arena_array(mem, struct workload_assignment, json_len(list));
	json_foreach (list, a)
		read_assignment(a, mem, &ret->assignments[ret->n_assignments++]);
}

static void read_checks(const struct cJSON *list, struct arena *mem, struct workload_status *ret)
{
	ret->checks = arena_array(mem, struct workload_check, json_len(list));
	json_foreach (list, k)
		ret->checks[ret->n_checks++] = (struct workload_check){
		    .name = text(k, "name", mem),
		    .state = text(k, "state", mem),
		    .message = text(k, "message", mem),
		    .requeue_after = number(k, "requeueAfterSeconds"),
		    .retries = number(k, "retryCount"),
		    .since = time_of(k, "lastTransitionTime"),
		};
}

void workload_status_read(const struct store_object *o, struct arena *mem,
			  struct workload_status *ret)
{
	struct span status = store_object_part(o, o->extents.status);
	auto_json *tree = NULL;

	*ret = (struct workload_status){0};
	if (!status.len || json_parse(status, NULL, &tree, NULL) < 0)
		return;
	read_conditions(json_get(tree, "conditions"), mem, ret);
	read_admission(json_get(tree, "admission"), mem, ret);
	read_checks(json_get(tree, "admissionChecks"), mem, ret);
	ret->requeue_at = time_of(json_get(tree, "requeueState"), "requeueAt");
	ret->requeues = (int32_t)number(json_get(tree, "requeueState"), "count");
	ret->past_execution = number(tree, "accumulatedPastExecutionTimeSeconds");
	const struct cJSON *reclaimable = json_get(tree, "reclaimablePods");
	ret->reclaimable_names = arena_array(mem, struct span, json_len(reclaimable));
	ret->reclaimable = arena_array(mem, int32_t, json_len(reclaimable));
	json_foreach (reclaimable, r) {
		ret->reclaimable_names[ret->n_reclaimable] = text(r, "name", mem);
		ret->reclaimable[ret->n_reclaimable++] = (int32_t)number(r, "count");
	}
}

/* ---- editing ---- */

struct condition_edit {
	const char *type, *reason;
	bool status;
	bool clear;    /* only where it stands True */
	char *message; /* NULL with clear */
};

/* What becomes of the checks, in the order in which it was decided. */
struct check_edit {
	bool reset; /* all of `names` begin anew; none: those that stand */
	struct VEC(char *) names;
	char *name, *state, *message, *updates; /* of one, without reset */
	int64_t requeue_after;
};

struct workload_edit {
	struct VEC(struct condition_edit) conditions;
	bool has_admission, has_requeue, deactivate;
	char *admission; /* NULL: to be taken away */
	char *domains;	 /* or NULL */
	char *unhealthy; /* JSON; "": to be taken away; NULL: as it stands */
	struct VEC(struct check_edit) checks;
	const char *evicted_for, *evicted_by; /* NULL: no eviction to count */
};

static struct workload_edit *edit_of(struct core *c, struct workload *w)
{
	if (!w->edit)
		w->edit = xcalloc(1, sizeof(*w->edit));
	workload_dirty(c, w);
	return w->edit;
}

static void check_edit_done(struct check_edit *k)
{
	vec_foreach (&k->names, n)
		free(*n);
	vec_done(&k->names);
	free(k->name);
	free(k->state);
	free(k->message);
	free(k->updates);
}

void workload_edit_free(struct workload *w)
{
	struct workload_edit *e = w->edit;

	if (!e)
		return;
	vec_foreach (&e->conditions, k)
		free(k->message);
	vec_done(&e->conditions);
	vec_foreach (&e->checks, k)
		check_edit_done(k);
	vec_done(&e->checks);
	free(e->admission);
	free(e->domains);
	free(e->unhealthy);
	free(e);
	w->edit = NULL;
}

static void put_condition(struct workload_edit *e, struct condition_edit take)
{
	vec_foreach (&e->conditions, k) {
		if (strcmp(k->type, take.type) != 0)
			continue;
		free(k->message);
		*k = take;
		return;
	}
	vec_push(&e->conditions, take);
}

void workload_clear_condition(struct core *c, struct workload *w, const char *type,
			      const char *reason)
{
	put_condition(edit_of(c, w),
		      (struct condition_edit){.type = type, .reason = reason, .clear = true});
}

void workload_set_condition(struct core *c, struct workload *w, const char *type, bool status,
			    const char *reason, const char *fmt, ...)
{
	struct workload_edit *e = edit_of(c, w);
	char message[2048];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(message, sizeof(message), fmt, ap);
	va_end(ap);
	put_condition(
	    e, (struct condition_edit){
		   .type = type, .reason = reason, .status = status, .message = xstrdup(message)});
}

void workload_set_admission(struct core *c, struct workload *w, char *take_json)
{
	struct workload_edit *e = edit_of(c, w);

	free(e->admission);
	e->admission = take_json;
	e->has_admission = true;
}

void workload_set_domains(struct core *c, struct workload *w, const char *domains)
{
	struct workload_edit *e = edit_of(c, w);

	free(e->domains);
	e->domains = xstrdup(domains);
}

void workload_set_unhealthy(struct core *c, struct workload *w, const char *const *nodes, size_t n)
{
	struct workload_edit *e = edit_of(c, w);
	auto_buf b = BUF_INIT;

	for (size_t i = 0; i < n; i++) {
		buf_add_str(&b, i ? ",{\"name\":" : "[{\"name\":");
		buf_add_json_str(&b, span_of(nodes[i]));
		buf_add_str(&b, i + 1 < n ? "}" : "}]");
	}
	free(e->unhealthy);
	e->unhealthy = b.len ? buf_steal(&b, NULL) : xstrdup("");
}

void workload_set_checks(struct core *c, struct workload *w, const char *const *names, size_t n)
{
	struct workload_edit *e = edit_of(c, w);
	struct check_edit k = {.reset = true};

	for (size_t i = 0; i < n; i++)
		vec_push(&k.names, xstrdup(names[i]));
	vec_push(&e->checks, k);
}

static char *dup_or_null(const char *text)
{
	return text ? xstrdup(text) : NULL;
}

void workload_set_check(struct core *c, struct workload *w, const struct workload_check_edit *e)
{
	vec_push(&edit_of(c, w)->checks, (struct check_edit){.name = xstrdup(e->name),
							     .state = xstrdup(e->state),
							     .message = dup_or_null(e->message),
							     .updates = dup_or_null(e->updates),
							     .requeue_after = e->requeue_after});
}

void workload_set_requeue(struct core *c, struct workload *w)
{
	edit_of(c, w)->has_requeue = true;
}

void workload_count_eviction(struct core *c, struct workload *w, const char *reason,
			     const char *cause)
{
	struct workload_edit *e = edit_of(c, w);

	e->evicted_for = reason;
	e->evicted_by = cause;
}

void workload_deactivate(struct core *c, struct workload *w)
{
	edit_of(c, w)->deactivate = true;
}

bool workload_edit_admits(const struct workload *w)
{
	return w->edit && w->edit->has_admission && w->edit->admission;
}

bool workload_edit_deactivates(const struct workload *w)
{
	return w->edit && w->edit->deactivate;
}

/* ---- applying ---- */

static struct cJSON *ensure_array(struct cJSON *object, const char *key)
{
	if (!json_is(json_get(object, key), JSON_ARRAY))
		json_set(object, key, json_array());
	return json_get(object, key);
}

static struct cJSON *find(const struct cJSON *list, const char *key, const char *value)
{
	json_foreach (list, one) {
		const char *v = json_str(one, key);
		if (v && strcmp(v, value) == 0)
			return one;
	}
	return NULL;
}

/* As meta.SetStatusCondition: the time moves when the status does. */
static void apply_condition(struct cJSON *status, const struct condition_edit *k, const char *when)
{
	struct cJSON *list = ensure_array(status, "conditions");
	struct cJSON *one = find(list, "type", k->type);
	const char *value = k->status ? "True" : "False";
	auto_buf message = BUF_MAX(32768);

	if (k->clear) {
		const char *was = json_str(one, "status"), *words = json_str(one, "message");
		if (!was || strcmp(was, "True") != 0)
			return;
		buf_addf(&message, "Previously: %s", words ? words : "");
	} else {
		buf_add_str(&message, k->message);
	}
	if (!one) {
		one = json_object();
		json_add(one, "type", json_new_str(k->type));
		json_append(list, one);
	}
	const char *was = json_str(one, "status");
	if (!was || strcmp(was, value) != 0)
		json_set_str(one, "lastTransitionTime", when);
	json_set_str(one, "status", value);
	json_set_str(one, "reason", k->reason);
	json_set_str(one, "message", message.ptr ? message.ptr : "");
}

static void apply_admission(struct cJSON *status, const struct workload_edit *e)
{
	struct cJSON *tree = NULL;

	json_remove(status, "admission");
	if (!e->admission)
		return;
	/* Only where it is looked into below is the tree of it needed. */
	if (!e->domains)
		tree = json_new_text(span_of(e->admission));
	else if (json_parse(span_of(e->admission), NULL, &tree, NULL) < 0)
		return;
	json_set(status, "admission", tree);
}

static void apply_domains(struct cJSON *status, const char *domains)
{
	size_t set = 0;

	json_foreach (json_path(status, "admission", "podSetAssignments", NULL), a) {
		auto_buf text = BUF_INIT;
		if (domain_assignment(domains, set++, number(a, "count"), &text))
			json_set(a, "topologyAssignment", json_new_text(buf_span(&text)));
	}
}

static void reset_check(struct cJSON *list, const char *name, const struct cJSON *was,
			const char *when)
{
	int64_t retries = was ? number(was, "retryCount") : 0;
	const char *state = was ? json_str(was, "state") : NULL;
	struct cJSON *k = json_object();
	auto_buf message = BUF_INIT;

	if (state && strcmp(state, "Retry") == 0)
		retries++;
	if (state && strcmp(state, "Pending") == 0)
		buf_add_str(&message, json_str(was, "message") ? json_str(was, "message") : "");
	else if (state)
		buf_addf(&message, "Reset to Pending after eviction. Previously: %s", state);
	json_set_str(k, "name", name);
	json_set_str(k, "state", "Pending");
	json_set_str(k, "lastTransitionTime", when);
	json_set_str(k, "message", message.ptr ? message.ptr : "");
	if (retries)
		json_set_int(k, "retryCount", retries);
	json_append(list, k);
}

static void reset_checks(struct cJSON *status, const struct check_edit *e, const char *when)
{
	auto_json *old = json_take(status, "admissionChecks");
	struct cJSON *list = json_array();

	vec_foreach (&e->names, name)
		reset_check(list, *name, find(old, "name", *name), when);
	if (e->names.len == 0)
		json_foreach (old, was)
			reset_check(list, json_str(was, "name") ? json_str(was, "name") : "", was,
				    when);
	if (json_first(list))
		json_set(status, "admissionChecks", list);
	else
		json_free(list);
}

static void apply_check(struct cJSON *status, const struct check_edit *e, const char *when)
{
	struct cJSON *k = find(json_get(status, "admissionChecks"), "name", e->name), *updates;
	const char *was = json_str(k, "state");

	if (!k)
		return;
	if (!was || strcmp(was, e->state) != 0)
		json_set_str(k, "lastTransitionTime", when);
	json_set_str(k, "state", e->state);
	json_set_str(k, "message", e->message ? e->message : "");
	json_remove(k, "requeueAfterSeconds");
	if (e->requeue_after)
		json_set_int(k, "requeueAfterSeconds", e->requeue_after);
	json_remove(k, "podSetUpdates");
	if (e->updates && json_parse(span_of(e->updates), NULL, &updates, NULL) == 0)
		json_set(k, "podSetUpdates", updates);
}

static void apply_requeue(struct cJSON *status, const struct workload *w)
{
	char when[CLOCK_TEXT_MAX];

	json_remove(status, "requeueState");
	if (!w->requeues && !w->requeue_at)
		return;
	struct cJSON *r = json_object();
	json_set_int(r, "count", w->requeues);
	if (w->requeue_at)
		json_set_str(r, "requeueAt", clock_format(w->requeue_at, when));
	json_set(status, "requeueState", r);
}

static void apply_eviction(struct cJSON *status, const struct workload_edit *e)
{
	struct cJSON *stats = json_ensure_object(status, "schedulingStats");
	struct cJSON *list = stats ? ensure_array(stats, "evictions") : NULL;

	json_foreach (list, one) {
		const char *reason = json_str(one, "reason"),
			   *cause = json_str(one, "underlyingCause");
		if (reason && cause && strcmp(reason, e->evicted_for) == 0 &&
		    strcmp(cause, e->evicted_by) == 0) {
			json_set_int(one, "count", number(one, "count") + 1);
			return;
		}
	}
	if (!list)
		return;
	struct cJSON *one = json_object();
	json_set_str(one, "reason", e->evicted_for);
	json_set_str(one, "underlyingCause", e->evicted_by);
	json_set_int(one, "count", 1);
	json_append(list, one);
}

static void apply_unhealthy(struct cJSON *status, const struct workload_edit *e)
{
	struct cJSON *list = NULL;

	/* Who is admitted anew, or not any more, has left those nodes. */
	if (e->has_admission || e->unhealthy)
		json_remove(status, "unhealthyNodes");
	if (e->unhealthy && json_parse(span_of(e->unhealthy), NULL, &list, NULL) == 0)
		json_set(status, "unhealthyNodes", list);
}

static void apply(struct cJSON *status, const struct workload *w, usec now)
{
	const struct workload_edit *e = w->edit;
	char when[CLOCK_TEXT_MAX];

	clock_format(now, when);
	vec_foreach (&e->conditions, k)
		apply_condition(status, k, when);
	if (e->has_admission)
		apply_admission(status, e);
	if (e->domains)
		apply_domains(status, e->domains);
	apply_unhealthy(status, e);
	vec_foreach (&e->checks, k) {
		if (k->reset)
			reset_checks(status, k, when);
		else
			apply_check(status, k, when);
	}
	if (e->has_requeue)
		apply_requeue(status, w);
	if (e->evicted_for)
		apply_eviction(status, e);
	if (w->past_execution)
		json_set_int(status, "accumulatedPastExecutionTimeSeconds", w->past_execution);
}

void workload_status_write(const struct workload *w, struct span stored, usec now, struct buf *out,
			   bool *ret_finished)
{
	auto_json *tree = NULL;

	if (!stored.len || json_parse(stored, NULL, &tree, NULL) < 0 ||
	    !json_is(tree, JSON_OBJECT)) {
		json_free(tree);
		tree = json_object();
	}
	if (w->edit)
		apply(tree, w, now);
	const struct cJSON *finished = find(json_get(tree, "conditions"), "type", "Finished");
	const char *status = json_str(finished, "status");
	*ret_finished = status && strcmp(status, "True") == 0;
	json_print(tree, out);
}

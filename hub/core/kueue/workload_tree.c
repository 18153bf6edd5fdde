#include "base/json.h"
#include "core/domain.h"
#include "core/kueue/workload_edit.h"

static int64_t number(const struct cJSON *object, const char *key)
{
	int64_t v;
	return json_int64(object, key, &v) == 0 ? v : 0;
}

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
static void apply_condition(struct cJSON *status, const struct condition_edit *k,
			    int64_t generation, const char *when)
{
	struct cJSON *list = ensure_array(status, "conditions");
	struct cJSON *one = find(list, "type", k->type);
	const char *value = k->status ? "True" : "False";
	auto_buf message = BUF_MAX(STORE_MAX_OBJECT);

	if (k->clear) {
		const char *was = json_str(one, "status"), *words = json_str(one, "message");
		if (!was || strcmp(was, "True") != 0)
			return;
		buf_addf(&message, "Previously: %s", words ? words : "");
		if (message.ptr)
			workload_edit_shorten(message.ptr);
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
	if (generation)
		json_set_int(one, "observedGeneration", generation);
}

static void apply_admission(struct cJSON *status, const struct workload_edit *e)
{
	struct cJSON *tree = NULL;

	json_remove(status, "admission");
	json_remove(status, "clusterName");
	if (!e->admission)
		return;
	/* Only where it is looked into below is the tree of it needed. */
	if (!e->domains && !e->ends_delay)
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

/* Nodes have come, and its places on them are found. */
static void end_delay(struct cJSON *status)
{
	json_foreach (json_path(status, "admission", "podSetAssignments", NULL), a)
		if (json_get(a, "delayedTopologyRequest"))
			json_set_str(a, "delayedTopologyRequest", "Ready");
}

/* Kueue's resetChecksOnEviction: one that is Pending stays as it is, and only one that said Retry
 * counts a retry; any other begins to count anew. */
static void reset_check(struct cJSON *list, const char *name, const struct cJSON *was,
			const char *when)
{
	const char *state = was ? json_str(was, "state") : NULL;
	auto_buf message = BUF_INIT;

	if (state && strcmp(state, "Pending") == 0) {
		json_append(list, json_dup(was));
		return;
	}
	struct cJSON *k = json_object();
	if (state)
		buf_addf(&message, "Reset to Pending after eviction. Previously: %s", state);
	json_set_str(k, "name", name);
	json_set_str(k, "state", "Pending");
	json_set_str(k, "lastTransitionTime", when);
	json_set_str(k, "message", message.ptr ? message.ptr : "");
	if (json_get(was, "requeueAfterSeconds"))
		json_set_int(k, "requeueAfterSeconds", number(was, "requeueAfterSeconds"));
	if (state && strcmp(state, "Retry") == 0)
		json_set_int(k, "retryCount", number(was, "retryCount") + 1);
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

static void apply_reclaimable(struct cJSON *status, const struct workload_edit *e)
{
	struct cJSON *list = NULL;

	json_remove(status, "reclaimablePods");
	if (json_parse(span_of(e->reclaimable), NULL, &list, NULL) == 0)
		json_set(status, "reclaimablePods", list);
}

static void apply(struct cJSON *status, const struct workload *w, usec now)
{
	const struct workload_edit *e = w->edit;
	char when[CLOCK_TEXT_MAX];

	clock_format(now, when);
	vec_foreach (&e->conditions, k)
		apply_condition(status, k, w->generation, when);
	if (e->has_admission)
		apply_admission(status, e);
	if (e->domains)
		apply_domains(status, e->domains);
	if (e->cluster)
		json_set_str(status, "clusterName", e->cluster);
	if (e->ends_delay)
		end_delay(status);
	apply_unhealthy(status, e);
	if (e->reclaimable)
		apply_reclaimable(status, e);
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

void workload_tree_write(const struct workload *w, struct span stored, usec now, struct buf *out,
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

#include "core/kueue/priority_class.h"

#include "base/json.h"
#include "core/admission/settle.h"
#include "core/job.h"
#include "core/priority.h"

const int32_t *priority_class_find(const struct core *c, struct span name)
{
	return map_get(&c->kueue->classes, name);
}

static void set_priority(struct core *c, struct workload *w, int32_t priority)
{
	if (w->priority == priority)
		return;
	w->priority = priority;
	w->respec = w->job != NULL;
	if (w->job)
		w->job->binding_dirty = true;
	if (w->unit)
		kueue_queues_set_priority(c->kueue->queues, w->unit, workload_priority(w));
	c->pump_wanted = true;
}

static int32_t value_of(struct core *c, struct workload *w, const struct workload_digest *d)
{
	int32_t value = 0;

	if (d->priority_source == WORKLOAD_PRIORITY_CLASS) {
		const int32_t *v = priority_class_find(c, d->priority_class);
		if (v)
			return *v;
		if (w->job &&
		    (!w->priority_class || !span_is(d->priority_class, w->priority_class)))
			job_queue_event(c, w->job, "Warning", "WorkloadPriorityClassNotFound",
					"WorkloadPriorityClass %.*s not found",
					SPAN_ARGS(d->priority_class));
		return 0;
	}
	if (d->priority_source == WORKLOAD_PRIORITY_POD_CLASS &&
	    priority_value(c, d->priority_class, &value))
		return value;
	return c->default_priority;
}

void workload_take_priority(struct core *c, struct workload *w, const struct workload_digest *d)
{
	int32_t value = value_of(c, w, d);
	bool other = !span_is(d->priority_class, w->priority_class ? w->priority_class : "");
	bool by_label = d->priority_source == WORKLOAD_PRIORITY_CLASS ||
			w->priority_source == WORKLOAD_PRIORITY_CLASS;

	w->priority_source = d->priority_source;
	if (other) {
		free(w->priority_class);
		w->priority_class = d->priority_class.len
					? xstrndup(d->priority_class.ptr, d->priority_class.len)
					: NULL;
	}
	set_priority(c, w, value);
	if (!other || !w->job || !w->exists)
		return;
	w->respec = true;
	if (by_label)
		job_queue_event(c, w->job, "Normal", "UpdatedWorkload",
				"Updated workload priority class: %s", w->key);
}

/* ---- the objects ---- */

static void propagate(struct core *c, struct span name, int32_t value)
{
	map_foreach (&c->kueue->workloads, e) {
		struct workload *w = e->value;
		if (w->priority_source != WORKLOAD_PRIORITY_CLASS || !w->priority_class ||
		    !span_is(name, w->priority_class) || w->priority == value)
			continue;
		set_priority(c, w, value);
		if (w->job)
			workload_dirty(c, w);
	}
}

/* A class named "default" is that of all jobs that name none. */
static void offer_waiting(struct core *c)
{
	map_foreach (&c->kueue->workloads, e) {
		struct workload *w = e->value;
		if (w->job && !workload_holds_quota(w))
			settle_offer(c, w->job);
	}
}

void priority_class_observe(struct core *c, const struct store_object *o)
{
	struct span value;
	int64_t v;

	if (json_text_member(o->json, "value", &value) < 0 || json_text_int64(value, &v) < 0 ||
	    v < INT32_MIN || v > INT32_MAX)
		return;
	int32_t *number = xcalloc(1, sizeof(*number));
	*number = (int32_t)v;
	int32_t *was = map_put(&c->kueue->classes, o->key.name, number);
	if (!was || *was != *number)
		propagate(c, o->key.name, *number);
	if (!was && span_is(o->key.name, "default") && !c->restoring)
		offer_waiting(c);
	free(was);
}

void priority_class_forget(struct core *c, struct span name)
{
	free(map_remove(&c->kueue->classes, name));
	if (span_is(name, "default"))
		offer_waiting(c);
}

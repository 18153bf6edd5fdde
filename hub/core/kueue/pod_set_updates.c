#include "core/kueue/pod_set_updates.h"

#include "base/json.h"
#include "core/domain.h"
#include "core/job.h"

#define MAX_LABEL 63

/* Members of an object's text, behind what stands in `out`: those whose key does not yet. Two that
 * say the same stand there once; two that differ were refused before (check_updates.h). */
static void add_members(struct span object, struct buf *out)
{
	struct span key, value, was;

	if (!object.len || json_text_type(object) != JSON_OBJECT)
		return;
	for (size_t pos = 0; json_text_next(object, &pos, &key, &value);) {
		auto_buf so_far = BUF_INIT, name = BUF_INIT;
		buf_addf(&so_far, "{%s}", out->len ? out->ptr : "");
		buf_add_span(&name, key);
		if (json_text_member(buf_span(&so_far), name.ptr, &was) == 0)
			continue;
		buf_addf(out, "%s\"%.*s\":", out->len ? "," : "", SPAN_ARGS(key));
		buf_add_span(out, value);
	}
}

static void add_elements(struct span array, struct buf *out)
{
	struct span value;

	if (json_text_type(array) != JSON_ARRAY)
		return;
	for (size_t pos = 0; json_text_next(array, &pos, NULL, &value);) {
		buf_add_str(out, out->len ? "," : "");
		buf_add_span(out, value);
	}
}

struct update {
	struct buf labels, annotations, selector, tolerations;
};

static void update_done(struct update *u)
{
	buf_done(&u->labels);
	buf_done(&u->annotations);
	buf_done(&u->selector);
	buf_done(&u->tolerations);
}

static void add_label(struct update *u, const char *key, struct span value)
{
	if (value.len > MAX_LABEL)
		return; /* no label can hold it; Kueue leaves it out too */
	buf_addf(&u->labels, "%s\"%s\":", u->labels.len ? "," : "", key);
	buf_add_json_str(&u->labels, value);
}

static void add_flavor(struct core *c, uint32_t flavor, struct update *u)
{
	struct span name = kueue_forest_flavor_name(c->kueue->forest, flavor), part;
	struct store_object o;

	if (registry_get(c->batch, kind_by_type(c->kinds, TYPE_RESOURCE_FLAVOR), SPAN(""), name,
			 &o) < 0)
		return;
	if (json_text_path(o.json, &part, "spec", "nodeLabels", NULL) == 0)
		add_members(part, &u->selector);
	if (json_text_path(o.json, &part, "spec", "tolerations", NULL) == 0)
		add_elements(part, &u->tolerations);
}

/* status.admissionChecks[].podSetUpdates of this pod set; with contradictions it does not start
 * (check_updates.h). */
static void add_checks(struct span status, struct span set, struct update *u)
{
	struct span checks, check, updates, one, part;

	if (!status.len || json_text_member(status, "admissionChecks", &checks) < 0 ||
	    json_text_type(checks) != JSON_ARRAY)
		return;
	for (size_t i = 0; json_text_next(checks, &i, NULL, &check);) {
		if (json_text_member(check, "podSetUpdates", &updates) < 0 ||
		    json_text_type(updates) != JSON_ARRAY)
			continue;
		for (size_t k = 0; json_text_next(updates, &k, NULL, &one);) {
			if (json_text_member(one, "name", &part) < 0 ||
			    !span_eq(json_text_plain(part), set))
				continue;
			if (json_text_member(one, "labels", &part) == 0)
				add_members(part, &u->labels);
			if (json_text_member(one, "annotations", &part) == 0)
				add_members(part, &u->annotations);
			if (json_text_member(one, "nodeSelector", &part) == 0)
				add_members(part, &u->selector);
			if (json_text_member(one, "tolerations", &part) == 0)
				add_elements(part, &u->tolerations);
		}
	}
}

static void add_set(struct core *c, const struct workload *w, size_t i, struct span status,
		    struct buf *out)
{
	const struct job_pod_set *own = job_placed(w->job, i);
	struct span name = w->unit->shape->sets[i].name;
	struct update u = {0};

	add_label(&u, "kueue.x-k8s.io/podset", name);
	add_label(&u, "kueue.x-k8s.io/cluster-queue-name",
		  kueue_forest_name(c->kueue->forest, w->unit->queue));
	if (w->queue)
		add_label(&u, "kueue.x-k8s.io/local-queue-name", w->queue->name);
	for (uint32_t k = 0; k < w->sets[i].n_flavors; k++)
		add_flavor(c, w->sets[i].flavors[k], &u);
	add_members(domain_of_set(w->job->domains, i), &u.selector);
	add_checks(status, name, &u);
	buf_add_str(out, "{\"name\":");
	buf_add_json_str(out, own->name);
	if (w->sets[i].count < own->count)
		buf_addf(out, ",\"count\":%d", w->sets[i].count);
	buf_addf(out,
		 ",\"labels\":{%s},\"annotations\":{%s},\"nodeSelector\":{%s},\"tolerations\":"
		 "[%s],\"schedulingGates\":%s}",
		 u.labels.ptr ? u.labels.ptr : "", u.annotations.ptr ? u.annotations.ptr : "",
		 u.selector.ptr ? u.selector.ptr : "", u.tolerations.ptr ? u.tolerations.ptr : "",
		 domain_spread(w->job->domains, i).len ? DOMAIN_GATES : "[]");
	update_done(&u);
}

void workload_pod_set_updates(struct core *c, const struct workload *w, struct buf *out)
{
	struct span status = SPAN_NONE;
	struct store_object o;

	buf_add_char(out, '[');
	if (registry_get(c->batch, kind_by_type(c->kinds, TYPE_WORKLOAD), w->ns, w->name, &o) == 0)
		status = store_object_part(&o, o.extents.status);
	for (size_t i = 0; workload_holds_quota(w) && i < w->n_sets && i < job_n_placed(w->job);
	     i++) {
		buf_add_str(out, i ? "," : "");
		add_set(c, w, i, status, out);
	}
	buf_add_char(out, ']');
}

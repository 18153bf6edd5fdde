/*
 * Matching. One set of rules over three sources of labels and fields (tree, text, pairs): a source
 * answers "the value of this label" and "the value of this field", the rules do the rest.
 */
#include "kube/selector_match.h"

#include "base/buf.h"
#include "base/json.h"
#include "base/num.h"
#include "kinds/types.h"
#include "kube/info_codec.h"
#include "kube/kind.h"
#include "kube/selector.h"

/* Upstream: pkg/apis/<group>/<version>/conversion.go and each registry's strategy. */
static const struct selector_field fields[] = {
    {0, "metadata.name", {"metadata", "name"}, ""},
    {0, "metadata.namespace", {"metadata", "namespace"}, ""},
    {TYPE_NAMESPACE, "status.phase", {"status", "phase"}, ""},
    {TYPE_NAMESPACE, "name", {"metadata", "name"}, ""},
    {TYPE_SECRET, "type", {"type"}, ""},
    {TYPE_NODE, "spec.unschedulable", {"spec", "unschedulable"}, "false"},
    {TYPE_JOB, "status.successful", {"status", "succeeded"}, "0"},
    {TYPE_WORKLOAD, "status.admission.clusterQueue", {"status", "admission", "clusterQueue"}, ""},
    {TYPE_POD, "spec.nodeName", {"spec", "nodeName"}, ""},
    {TYPE_POD, "spec.restartPolicy", {"spec", "restartPolicy"}, ""},
    {TYPE_POD, "spec.schedulerName", {"spec", "schedulerName"}, ""},
    {TYPE_POD, "spec.serviceAccountName", {"spec", "serviceAccountName"}, ""},
    {TYPE_POD, "spec.hostNetwork", {"spec", "hostNetwork"}, "false"},
    {TYPE_POD, "status.phase", {"status", "phase"}, ""},
    {TYPE_POD, "status.podIP", {"status", "podIP"}, ""},
    {TYPE_POD, "status.nominatedNodeName", {"status", "nominatedNodeName"}, ""},
    {TYPE_EVENT, "involvedObject.kind", {"involvedObject", "kind"}, ""},
    {TYPE_EVENT, "involvedObject.namespace", {"involvedObject", "namespace"}, ""},
    {TYPE_EVENT, "involvedObject.name", {"involvedObject", "name"}, ""},
    {TYPE_EVENT, "involvedObject.uid", {"involvedObject", "uid"}, ""},
    {TYPE_EVENT, "involvedObject.apiVersion", {"involvedObject", "apiVersion"}, ""},
    {TYPE_EVENT, "involvedObject.resourceVersion", {"involvedObject", "resourceVersion"}, ""},
    {TYPE_EVENT, "involvedObject.fieldPath", {"involvedObject", "fieldPath"}, ""},
    /* events.k8s.io names the same object otherwise; rows are kept in the core form */
    {TYPE_EVENT, "regarding.kind", {"involvedObject", "kind"}, ""},
    {TYPE_EVENT, "regarding.namespace", {"involvedObject", "namespace"}, ""},
    {TYPE_EVENT, "regarding.name", {"involvedObject", "name"}, ""},
    {TYPE_EVENT, "regarding.uid", {"involvedObject", "uid"}, ""},
    {TYPE_EVENT, "regarding.apiVersion", {"involvedObject", "apiVersion"}, ""},
    {TYPE_EVENT, "regarding.resourceVersion", {"involvedObject", "resourceVersion"}, ""},
    {TYPE_EVENT, "regarding.fieldPath", {"involvedObject", "fieldPath"}, ""},
    {TYPE_EVENT, "reason", {"reason"}, ""},
    {TYPE_EVENT, "reportingComponent", {"reportingComponent"}, ""},
    {TYPE_EVENT, "reportingController", {"reportingComponent"}, ""},
    {TYPE_EVENT, "source", {"source", "component"}, ""},
    {TYPE_EVENT, "type", {"type"}, ""},
};

/* Each of the two groups of Event has its own words for what they share. */
static bool is_of_the_other_event(const struct kind *kind, struct span label)
{
	if (kind->type != TYPE_EVENT)
		return false;
	if (kind->group[0])
		return span_starts(label, SPAN("involvedObject.")) ||
		       span_is(label, "reportingComponent") || span_is(label, "source");
	return span_starts(label, SPAN("regarding.")) || span_is(label, "reportingController");
}

const struct selector_field *selector_field_find(const struct kind *kind, struct span label)
{
	if (is_of_the_other_event(kind, label) ||
	    ((kind->type == TYPE_NAMESPACE || kind->type == TYPE_NODE) &&
	     span_is(label, "metadata.namespace")))
		return NULL;
	for (size_t i = 0; i < ARRAY_LEN(fields); i++)
		if ((fields[i].type == 0 || fields[i].type == kind->type) &&
		    span_is(label, fields[i].label))
			return &fields[i];
	for (size_t i = 0; i < kind->n_selectable; i++)
		if (span_is(label, kind->selectable[i].label))
			return &kind->selectable[i];
	return NULL;
}

/* ---- the rules ---- */

static bool is_one_of(const struct selector_requirement *q, struct span value)
{
	for (size_t i = 0; i < q->n_values; i++)
		if (span_eq(q->values[i], value))
			return true;
	return false;
}

/* value: absent when the object has no such label. */
static bool holds(const struct selector_requirement *q, struct span value)
{
	int64_t n;

	switch (q->op) {
	case SELECTOR_IN:
		return value.ptr && is_one_of(q, value);
	case SELECTOR_NOT_IN:
		return !value.ptr || !is_one_of(q, value);
	case SELECTOR_EXISTS:
		return value.ptr;
	case SELECTOR_DOES_NOT_EXIST:
		return !value.ptr;
	case SELECTOR_GT:
	case SELECTOR_LT:
		if (!value.ptr || num_parse_i64(value, INT64_MIN, INT64_MAX, &n) < 0)
			return false;
		return q->op == SELECTOR_GT ? n > q->number : n < q->number;
	case SELECTOR_OP_MAX:
	default:
		return false;
	}
}

/* ---- text ---- */

struct text_source {
	struct span object, labels;
	const struct store_key *key; /* of a row, or NULL */
	struct buf *scratch;
};

/* A JSON value as selectors see it: the string, or the text of a number or boolean. */
static struct span text_value(struct span value, struct buf *scratch)
{
	enum json_type t = json_text_type(value);
	struct span plain = json_text_plain(value);

	if (plain.ptr)
		return plain;
	if (t == JSON_NUMBER || t == JSON_BOOL)
		return value;
	buf_clear(scratch);
	if (t != JSON_STRING || json_text_string(value, scratch) < 0 || !buf_ok(scratch))
		return SPAN_NONE;
	return buf_span(scratch);
}

static struct span text_label(const struct text_source *t, struct span key)
{
	struct span k, v;
	if (json_text_type(t->labels) != JSON_OBJECT)
		return SPAN_NONE;
	for (size_t at = 0; json_text_next(t->labels, &at, &k, &v);)
		if (span_eq(k, key))
			return text_value(v, t->scratch);
	return SPAN_NONE;
}

static struct span text_field(const struct text_source *t, const struct selector_field *f)
{
	struct span v = t->object;

	if (t->key && f->path[1] && strcmp(f->path[0], "metadata") == 0)
		return strcmp(f->path[1], "name") == 0 ? t->key->name : t->key->ns;
	for (size_t i = 0; i < SELECTOR_FIELD_DEPTH && f->path[i]; i++)
		if (json_text_member(v, f->path[i], &v) < 0)
			return span_of(f->absent);
	struct span value = text_value(v, t->scratch);
	return value.ptr ? value : span_of(f->absent);
}

static bool matches(const struct selector *s, const struct text_source *t)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct selector_requirement *q = &s->items[i];
		if (!holds(q, q->field ? text_field(t, q->field) : text_label(t, q->key)))
			return false;
	}
	return true;
}

static bool wants_labels(const struct selector *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (!s->items[i].field)
			return true;
	return false;
}

bool selector_matches_text(const struct selector *s, struct span object)
{
	auto_buf scratch = BUF_INIT;
	struct text_source t = {.object = object, .scratch = &scratch};

	if (wants_labels(s))
		(void)json_text_path(object, &t.labels, "metadata", "labels", NULL);
	return matches(s, &t);
}

bool selector_matches_row(const struct selector *s, const struct store_object *o)
{
	auto_buf scratch = BUF_INIT;
	struct text_source t = {.object = o->json, .key = &o->key, .scratch = &scratch};
	struct store_extent m = o->extents.metadata;

	if (m.len && wants_labels(s))
		(void)json_text_member(span_make(o->json.ptr + m.at, m.len), "labels", &t.labels);
	return matches(s, &t);
}

/* ---- pairs and trees ---- */

bool selector_matches_pairs(const struct selector *s, const struct info_pair *labels, size_t n)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct selector_requirement *q = &s->items[i];
		struct span value = SPAN_NONE;
		for (size_t j = 0; j < n && !q->field; j++)
			if (span_eq(labels[j].key, q->key))
				value = labels[j].value;
		if (q->field || !holds(q, value))
			return false;
	}
	return true;
}

static struct span tree_value(const struct cJSON *node)
{
	if (json_is(node, JSON_NUMBER))
		return json_number_text(node);
	if (json_is(node, JSON_BOOL))
		return json_value_bool(node, false) ? SPAN("true") : SPAN("false");
	return span_of(json_value_str(node));
}

static struct span tree_field(const struct cJSON *object, const struct selector_field *f)
{
	for (size_t i = 0; i < SELECTOR_FIELD_DEPTH && f->path[i]; i++)
		object = json_get(object, f->path[i]);
	struct span value = tree_value(object);
	return value.ptr ? value : span_of(f->absent);
}

static struct span tree_label(const struct cJSON *labels, struct span key)
{
	for (const struct cJSON *l = json_first(labels); l; l = json_next(l))
		if (json_key(l) && span_is(key, json_key(l)))
			return tree_value(l);
	return SPAN_NONE;
}

bool selector_matches_tree(const struct selector *s, const struct cJSON *object)
{
	const struct cJSON *labels = json_path(object, "metadata", "labels", NULL);

	for (size_t i = 0; i < s->n; i++) {
		const struct selector_requirement *q = &s->items[i];
		if (!holds(q, q->field ? tree_field(object, q->field) : tree_label(labels, q->key)))
			return false;
	}
	return true;
}

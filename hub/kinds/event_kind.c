/* Hooks of Events: conversion between the two shapes, and the rules of pkg/apis/core/validation. */
#include "base/json.h"
#include "kinds/hooks.h"
#include "kinds/refuse.h"
#include "kube/names.h"

#define MAX_EVENT_TEXT 128
#define MAX_NOTE       1024

/* ---- Event: two shapes of one stored kind ---- */

static const char *const event_names[][2] = {
    /* events.k8s.io, core */
    {"regarding", "involvedObject"},
    {"note", "message"},
    {"reportingController", "reportingComponent"},
    {"deprecatedSource", "source"},
    {"deprecatedFirstTimestamp", "firstTimestamp"},
    {"deprecatedLastTimestamp", "lastTimestamp"},
    {"deprecatedCount", "count"},
};

void event_convert(const struct kind *k, struct cJSON *object, enum kind_conversion way)
{
	int from = way == KIND_TO_STORED ? 0 : 1;
	char version[KIND_API_VERSION_MAX];

	for (size_t i = 0; i < ARRAY_LEN(event_names); i++) {
		struct cJSON *v = json_take(object, event_names[i][from]);
		json_set(object, event_names[i][1 - from], v);
	}
	struct cJSON *old = json_get(object, "apiVersion");
	struct cJSON *now =
	    json_new_str(way == KIND_TO_STORED ? "v1" : kind_api_version(k, version));
	if (old)
		json_replace(object, old, now);
	else
		json_add(object, "apiVersion", now);
}

static bool is_type(const char *type)
{
	return type && (strcmp(type, "Normal") == 0 || strcmp(type, "Warning") == 0);
}

static void need_text(const struct cJSON *object, const char *field, size_t most,
		      struct field_errors *errors)
{
	const char *text = json_str(object, field);
	char words[48];

	(void)snprintf(words, sizeof(words), "can have at most %zu characters", most);
	if (!text || !text[0])
		refuse(errors, FIELD_REQUIRED, NULL, "", "%s", field);
	else if (strlen(text) > most)
		refuse_text(errors, FIELD_INVALID, "", words, "%s", field);
}

/* An event with an eventTime says who reports it, and is bounded. */
static void check_timed(const struct cJSON *object, bool newer, struct field_errors *errors)
{
	const char *by = newer ? "reportingController" : "reportingComponent";
	const char *controller = json_str(object, by) ? json_str(object, by) : "";
	const char *note = json_str(object, newer ? "note" : "message");

	if (!controller[0])
		refuse(errors, FIELD_REQUIRED, NULL, "", "%s", by);
	if (!names_is_qualified(span_of(controller)))
		refuse_text(errors, FIELD_INVALID, controller,
			    names_qualified_rule(span_of(controller)), "%s", by);
	need_text(object, "reportingInstance", MAX_EVENT_TEXT, errors);
	need_text(object, "action", MAX_EVENT_TEXT, errors);
	need_text(object, "reason", MAX_EVENT_TEXT, errors);
	if (note && strlen(note) > MAX_NOTE)
		refuse_text(errors, FIELD_INVALID, "", "can have at most 1024 characters",
			    "message");
}

/* The newer group asks for more, and an event of it grows by its series alone. */
static void check_newer_update(const struct cJSON *old, const struct cJSON *object,
			       struct field_errors *errors)
{
	static const char *const fixed[] = {
	    "eventTime", "reportingController", "reportingInstance", "action",
	    "reason",	 "regarding",		"related",	     "note",
	    "type"};

	for (size_t i = 0; i < ARRAY_LEN(fixed); i++)
		refuse_change(errors, json_get(old, fixed[i]), json_get(object, fixed[i]),
			      fixed[i]);
}

static void check_newer(const struct cJSON *object, struct field_errors *errors)
{
	const struct cJSON *series = json_get(object, "series");
	const char *type = json_str(object, "type");
	int64_t count = 0;

	(void)json_int64(series, "count", &count);
	if (series && count < 2)
		refuse_text(errors, FIELD_INVALID, "", "should be at least 2", "series.count");
	if (!is_type(type))
		refuse_text(errors, FIELD_INVALID, type ? type : "", "must be Normal or Warning",
			    "type");
}

/* Events about cluster-scoped objects live in the namespace default; those with an eventTime may be
 * about an object anywhere (core/validation, events.go). */
void event_validate(const struct kind *k, const struct cJSON *object, const struct kind_write *w,
		    struct field_errors *errors)
{
	bool newer = k->group[0];
	const char *member = newer ? "regarding" : "involvedObject";
	const char *of = json_value_str(json_path(object, member, "namespace", NULL));
	const char *ns = json_value_str(json_path(object, "metadata", "namespace", NULL));
	bool timed = json_str(object, "eventTime");

	if (newer && w->old) {
		check_newer_update(w->old, object, errors);
		return;
	}
	if (newer)
		check_newer(object, errors);
	if (timed && !w->old)
		check_timed(object, newer, errors);
	if (!ns)
		return;
	if (of && of[0] ? !timed && strcmp(of, ns) != 0
			: strcmp(ns, "default") != 0 && strcmp(ns, "kube-system") != 0)
		refuse_text(errors, FIELD_INVALID, of ? of : "", "does not match event.namespace",
			    "%s.namespace", newer && timed ? "involvedObject" : member);
}

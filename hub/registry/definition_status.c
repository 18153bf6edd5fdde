#include "registry/definition_status.h"

#include "base/compat.h"
#include "base/json.h"
#include "kube/kind.h"
#include "registry/condition.h"

static const char *word(const struct cJSON *o, const char *key)
{
	const char *s = json_str(o, key);
	return s ? s : "";
}

struct definition_names definition_status_names(const struct cJSON *object)
{
	const struct cJSON *spec = json_get(object, "spec"), *names = json_get(spec, "names");

	return (struct definition_names){.group = word(spec, "group"),
					 .plural = word(names, "plural"),
					 .singular = word(names, "singular"),
					 .kind = word(names, "kind"),
					 .list_kind = word(names, "listKind"),
					 .short_names = json_get(names, "shortNames")};
}

/* Whether a resource name means the other kind. */
static bool is_name_of(const struct kind *k, const char *s)
{
	if (!strcmp(s, k->plural) || !strcmp(s, k->singular))
		return true;
	for (size_t i = 0; k->short_names && k->short_names[i]; i++)
		if (!strcmp(s, k->short_names[i]))
			return true;
	return false;
}

static bool is_kind_of(const struct kind *k, const char *s)
{
	size_t n = strlen(k->kind);
	return !strcmp(s, k->kind) || (!strncmp(s, k->kind, n) && !strcmp(s + n, "List"));
}

const char *definition_status_conflict(const struct definition_names *n, const struct kind *other,
				       const char **ret_reason)
{
	if (strcmp(n->group, other->group) != 0 || other->definable)
		return NULL;
	*ret_reason = "PluralConflict";
	if (is_name_of(other, n->plural))
		return n->plural;
	*ret_reason = "SingularConflict";
	if (n->singular[0] && is_name_of(other, n->singular))
		return n->singular;
	*ret_reason = "ShortNamesConflict";
	json_foreach (n->short_names, it)
		if (json_value_str(it) && is_name_of(other, json_value_str(it)))
			return json_value_str(it);
	*ret_reason = "KindConflict";
	if (is_kind_of(other, n->kind))
		return n->kind;
	*ret_reason = "ListKindConflict";
	if (is_kind_of(other, n->list_kind))
		return n->list_kind;
	*ret_reason = NULL;
	return NULL;
}

void definition_status_set(struct cJSON *object, const char *taken, const char *reason, usec now)
{
	struct cJSON *status = json_ensure_object(object, "status");
	struct cJSON *names = json_path(object, "spec", "names", NULL);
	char message[400] = "no conflicts found";

	if (!status)
		return;
	if (taken) {
		(void)snprintf(message, sizeof(message), "\"%.300s\" is already in use", taken);
		condition_set(status, "NamesAccepted", false, reason, message, now);
		/* Once established it stays so: its objects are there. */
		json_foreach (json_get(status, "conditions"), it)
			if (!strcmp(word(it, "type"), "Established") &&
			    !strcmp(word(it, "status"), "True"))
				return;
		condition_set(status, "Established", false, "NotAccepted",
			      "not all names are accepted", now);
		return;
	}
	condition_set(status, "NamesAccepted", true, "NoConflicts", message, now);
	condition_set(status, "Established", true, "InitialNamesAccepted",
		      "the initial names have been accepted", now);
	if (!json_equal(json_get(status, "acceptedNames"), names))
		json_set(status, "acceptedNames", json_dup(names));
}

bool definition_status_terminating(struct cJSON *object, usec now)
{
	struct cJSON *status = json_ensure_object(object, "status");

	return status && condition_set(status, "Terminating", true, "InstanceDeletionInProgress",
				       "CustomResource deletion is in progress", now);
}

bool definition_status_established(struct span json)
{
	struct span list, one;
	size_t at = 0;

	if (json_text_path(json, &list, "status", "conditions", NULL) < 0 ||
	    json_text_type(list) != JSON_ARRAY)
		return false;
	while (json_text_next(list, &at, NULL, &one)) {
		struct span type, status;
		if (json_text_type(one) == JSON_OBJECT &&
		    json_text_member(one, "type", &type) == 0 &&
		    json_text_member(one, "status", &status) == 0 &&
		    span_is(json_text_plain(type), "Established"))
			return span_is(json_text_plain(status), "True");
	}
	return false;
}

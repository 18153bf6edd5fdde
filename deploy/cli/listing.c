#include "listing.h"

#include "base/json.h"

#include <string.h>

/* Where what the answer calls `from` stands in the object; all else keeps its name, in status. */
static const struct place {
	const char *from, *metadata, *status;
} places[] = {
    {"name", "name", NULL},    {"namespace", "namespace", NULL},
    {"uid", "uid", NULL},      {"created", "creationTimestamp", NULL},
    {"kind", NULL, "jobKind"}, {"status", NULL, "state"},
};

static void put(const struct cJSON *value, struct cJSON *metadata, struct cJSON *status)
{
	const char *key = json_key(value);

	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		if (strcmp(places[i].from, key) != 0)
			continue;
		if (places[i].metadata)
			json_set(metadata, places[i].metadata, json_dup(value));
		else
			json_set(status, places[i].status, json_dup(value));
		return;
	}
	json_set(status, key, json_dup(value));
}

struct cJSON *listing_make(const char *kind, const struct cJSON *items)
{
	struct cJSON *list = json_object(), *out = json_array();

	json_set_str(list, "apiVersion", "v1");
	json_set_str(list, "kind", "List");
	json_set(list, "metadata", json_object());
	json_foreach (items, item) {
		struct cJSON *o = json_object(), *metadata = json_object(), *status = json_object();
		json_set_str(o, "apiVersion", "muster.dev/v1alpha1");
		json_set_str(o, "kind", kind);
		json_foreach (item, value)
			put(value, metadata, status);
		json_set(o, "metadata", metadata);
		json_set(o, "status", status);
		json_append(out, o);
	}
	json_set(list, "items", out);
	return list;
}

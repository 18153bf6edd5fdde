#include "kube/discovery.h"

/* A kind set lists groups together, best version first: a walk meets each group and each version
 * once, in a row. */

static const char *const *verbs_of(const struct kind *k)
{
	static const char *const all[] = {"create", "delete", "deletecollection",
					  "get",    "list",   "patch",
					  "update", "watch",  NULL};
	static const char *const singly[] = {"create", "delete", "get",	  "list",
					     "patch",  "update", "watch", NULL};
	static const char *const read[] = {"get", "list", "watch", NULL};
	static const char *const create[] = {"create", NULL}, *const none[] = {NULL};

	switch (k->verbs) {
	case KIND_VERBS_READ:
		return read;
	case KIND_VERBS_CREATE:
		return create;
	case KIND_VERBS_NONE:
		return none;
	case KIND_VERBS_ALL:
		break;
	}
	return k->singly ? singly : all;
}

static const char *const *status_verbs(const struct kind *k)
{
	static const char *const all[] = {"get", "patch", "update", NULL};
	static const char *const read[] = {"get", NULL};

	return k->verbs == KIND_VERBS_READ ? read : all;
}

static void add_strings(const char *key, const char *const *items, struct buf *out)
{
	buf_addf(out, ",\"%s\":[", key);
	for (size_t i = 0; items[i]; i++)
		buf_addf(out, "%s\"%s\"", i ? "," : "", items[i]);
	buf_add_char(out, ']');
}

static bool same_group(const struct kind *a, const struct kind *b)
{
	return strcmp(a->group, b->group) == 0;
}

static bool same_version(const struct kind *a, const struct kind *b)
{
	return same_group(a, b) && strcmp(a->version, b->version) == 0;
}

/* Whether kinds[i] is the first of its group, or of its group and version. */
static bool first_of_group(const struct kind_set *set, size_t i)
{
	return i == 0 || !same_group(set->kinds[i], set->kinds[i - 1]);
}

static bool first_of_version(const struct kind_set *set, size_t i)
{
	for (size_t j = 0; j < i; j++)
		if (same_version(set->kinds[i], set->kinds[j]))
			return false;
	return true;
}

void discovery_core_versions(const char *server_address, struct buf *out)
{
	buf_add_str(out, "{\"kind\":\"APIVersions\",\"versions\":[\"v1\"],"
			 "\"serverAddressByClientCIDRs\":[");
	if (server_address) {
		buf_add_str(out, "{\"clientCIDR\":\"0.0.0.0/0\",\"serverAddress\":");
		buf_add_json_str(out, span_of(server_address));
		buf_add_char(out, '}');
	}
	buf_add_str(out, "]}");
}

static void add_version(const struct kind *k, struct buf *out)
{
	buf_addf(out, "{\"groupVersion\":\"%s/%s\",\"version\":\"%s\"}", k->group, k->version,
		 k->version);
}

/* The inside of an APIGroup, without its braces; i is the group's first kind. */
static void add_group(const struct kind_set *set, size_t i, struct buf *out)
{
	const char *sep = "";

	buf_addf(out, "\"name\":\"%s\",\"versions\":[", set->kinds[i]->group);
	for (size_t j = i; j < set->n_kinds && same_group(set->kinds[i], set->kinds[j]); j++) {
		if (!first_of_version(set, j))
			continue;
		buf_add_str(out, sep);
		add_version(set->kinds[j], out);
		sep = ",";
	}
	buf_add_str(out, "],\"preferredVersion\":");
	add_version(set->kinds[i], out);
}

void discovery_groups(const struct kind_set *set, struct buf *out)
{
	const char *sep = "";

	buf_add_str(out, "{\"kind\":\"APIGroupList\",\"apiVersion\":\"v1\",\"groups\":[");
	for (size_t i = 0; i < set->n_kinds; i++) {
		if (!set->kinds[i]->group[0] || !first_of_group(set, i))
			continue;
		buf_addf(out, "%s{", sep);
		add_group(set, i, out);
		buf_add_char(out, '}');
		sep = ",";
	}
	buf_add_str(out, "]}");
}

bool discovery_has_group(const struct kind_set *set, struct span group)
{
	for (size_t i = 0; i < set->n_kinds; i++)
		if (span_is(group, set->kinds[i]->group))
			return true;
	return false;
}

bool discovery_group(const struct kind_set *set, struct span group, struct buf *out)
{
	for (size_t i = 0; i < set->n_kinds; i++) {
		if (!group.len || !span_is(group, set->kinds[i]->group))
			continue;
		buf_add_str(out, "{\"kind\":\"APIGroup\",\"apiVersion\":\"v1\",");
		add_group(set, i, out);
		buf_add_char(out, '}');
		return true;
	}
	return false;
}

static void add_subresource(const struct kind *k, const struct kind_subresource *s,
			    const char *const *verbs, struct buf *out)
{
	buf_addf(out, ",{\"name\":\"%s/%s\",\"singularName\":\"\",\"namespaced\":%s", k->plural,
		 s->name, k->scope == KIND_NAMESPACED ? "true" : "false");
	if (strcmp(s->group, k->group) != 0 || strcmp(s->version, k->version) != 0)
		buf_addf(out, ",\"group\":\"%s\",\"version\":\"%s\"", s->group, s->version);
	buf_addf(out, ",\"kind\":\"%s\"", s->kind);
	add_strings("verbs", verbs, out);
	buf_add_char(out, '}');
}

static struct kind_subresource status_of(const struct kind *k)
{
	return (struct kind_subresource){"status", k->group, k->version, k->kind, status_verbs(k)};
}

static void add_resource(const struct kind *k, struct buf *out)
{
	buf_addf(out, "{\"name\":\"%s\",\"singularName\":\"%s\",\"namespaced\":%s,\"kind\":\"%s\"",
		 k->plural, k->singular, k->scope == KIND_NAMESPACED ? "true" : "false", k->kind);
	add_strings("verbs", verbs_of(k), out);
	if (k->short_names)
		add_strings("shortNames", k->short_names, out);
	if (k->categories)
		add_strings("categories", k->categories, out);
	buf_add_char(out, '}');
	if (k->has_status) {
		struct kind_subresource status = status_of(k);
		add_subresource(k, &status, status.verbs, out);
	}
	for (size_t i = 0; i < k->n_subresources; i++)
		add_subresource(k, &k->subresources[i], k->subresources[i].verbs, out);
}

bool discovery_resources(const struct kind_set *set, struct span group, struct span version,
			 struct buf *out)
{
	char api_version[KIND_API_VERSION_MAX];
	bool found = false;

	for (size_t i = 0; i < set->n_kinds; i++) {
		const struct kind *k = set->kinds[i];
		if (!span_is(group, k->group) || !span_is(version, k->version))
			continue;
		if (!found)
			buf_addf(out,
				 "{\"kind\":\"APIResourceList\",\"apiVersion\":\"v1\","
				 "\"groupVersion\":\"%s\",\"resources\":[",
				 kind_api_version(k, api_version));
		else
			buf_add_char(out, ',');
		found = true;
		add_resource(k, out);
	}
	if (found)
		buf_add_str(out, "]}");
	return found;
}

/* ---- aggregated ---- */

static void add_aggregated_subresource(const struct kind_subresource *s, bool first,
				       struct buf *out)
{
	buf_addf(out,
		 "%s{\"subresource\":\"%s\",\"responseKind\":{\"group\":\"%s\",\"version\":\"%s\","
		 "\"kind\":\"%s\"}",
		 first ? "" : ",", s->name, s->group, s->version, s->kind);
	add_strings("verbs", s->verbs, out);
	buf_add_char(out, '}');
}

static void add_aggregated_resource(const struct kind *k, struct buf *out)
{
	buf_addf(out,
		 "{\"resource\":\"%s\",\"responseKind\":{\"group\":\"%s\",\"version\":\"%s\","
		 "\"kind\":\"%s\"},\"scope\":\"%s\",\"singularResource\":\"%s\"",
		 k->plural, k->group, k->version, k->kind,
		 k->scope == KIND_NAMESPACED ? "Namespaced" : "Cluster", k->singular);
	add_strings("verbs", verbs_of(k), out);
	if (k->short_names)
		add_strings("shortNames", k->short_names, out);
	if (k->categories)
		add_strings("categories", k->categories, out);
	if (k->has_status || k->n_subresources) {
		buf_add_str(out, ",\"subresources\":[");
		if (k->has_status) {
			struct kind_subresource status = status_of(k);
			add_aggregated_subresource(&status, true, out);
		}
		for (size_t i = 0; i < k->n_subresources; i++)
			add_aggregated_subresource(&k->subresources[i], !k->has_status && i == 0,
						   out);
		buf_add_char(out, ']');
	}
	buf_add_char(out, '}');
}

static void add_aggregated_version(const struct kind_set *set, size_t first, struct buf *out)
{
	const char *sep = "";

	buf_addf(out, "{\"version\":\"%s\",\"freshness\":\"Current\",\"resources\":[",
		 set->kinds[first]->version);
	for (size_t i = first; i < set->n_kinds; i++) {
		if (!same_version(set->kinds[i], set->kinds[first]))
			continue;
		buf_add_str(out, sep);
		add_aggregated_resource(set->kinds[i], out);
		sep = ",";
	}
	buf_add_str(out, "]}");
}

static void add_aggregated_group(const struct kind_set *set, size_t first, struct buf *out)
{
	const char *group = set->kinds[first]->group, *sep = "";

	buf_add_str(out, "{\"metadata\":{");
	if (group[0])
		buf_addf(out, "\"name\":\"%s\",", group);
	buf_add_str(out, "\"creationTimestamp\":null},\"versions\":[");
	for (size_t i = first; i < set->n_kinds && same_group(set->kinds[i], set->kinds[first]);
	     i++) {
		if (!first_of_version(set, i))
			continue;
		buf_add_str(out, sep);
		add_aggregated_version(set, i, out);
		sep = ",";
	}
	buf_add_str(out, "]}");
}

void discovery_aggregated(const struct kind_set *set, bool core, const char *version,
			  struct buf *out)
{
	const char *sep = "";

	buf_addf(out,
		 "{\"kind\":\"APIGroupDiscoveryList\",\"apiVersion\":\"apidiscovery.k8s.io/%s\","
		 "\"metadata\":{},\"items\":[",
		 version);
	for (size_t i = 0; i < set->n_kinds; i++) {
		if ((set->kinds[i]->group[0] == '\0') != core || !first_of_group(set, i))
			continue;
		buf_add_str(out, sep);
		add_aggregated_group(set, i, out);
		sep = ",";
	}
	buf_add_str(out, "]}");
}

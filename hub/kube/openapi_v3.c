#include "kube/openapi_v3.h"

#include "kube/openapi_json.h"
#include "kube/openapi_names.h"

#include <inttypes.h>

/* ---- paths ---- */

static void add_query(struct buf *b, const char *name, bool first)
{
	buf_addf(b, "%s{\"name\":\"%s\",\"in\":\"query\",\"schema\":{\"type\":\"string\"}}",
		 first ? "" : ",", name);
}

static void add_operation(struct buf *b, const struct kind *k, const char *method)
{
	bool patch = strcmp(method, "patch") == 0;
	char name[OPENAPI_NAME_MAX];

	buf_addf(b, "\"%s\":{\"operationId\":\"%s%s%s\",\"parameters\":[", method, method,
		 k->version, k->kind);
	if (patch) {
		add_query(b, "dryRun", true);
		add_query(b, "fieldManager", false);
		add_query(b, "fieldValidation", false);
		add_query(b, "force", false);
	}
	buf_add_char(b, ']');
	if (patch) {
		buf_add_str(b, ",\"requestBody\":{\"content\":{\"application/json-patch+json\":{},"
			       "\"application/merge-patch+json\":{},"
			       "\"application/apply-patch+yaml\":{}");
		if (k->strategic)
			buf_add_str(b, ",\"application/strategic-merge-patch+json\":{}");
		buf_add_str(b, "}}");
	}
	buf_addf(
	    b,
	    ",\"responses\":{\"200\":{\"description\":\"OK\",\"content\":{\"application/json\":"
	    "{\"schema\":{\"$ref\":\"#/components/schemas/%s\"}}}}}"
	    ",\"x-kubernetes-group-version-kind\":",
	    openapi_kind_name(k, name));
	openapi_json_gvk(b, k);
	buf_add_char(b, '}');
}

static void add_path(struct buf *b, const struct kind *k)
{
	char root[KIND_API_VERSION_MAX + 16];

	if (k->group[0])
		(void)snprintf(root, sizeof(root), "/apis/%s/%s", k->group, k->version);
	else
		(void)snprintf(root, sizeof(root), "/api/%s", k->version);
	buf_addf(b, "\"%s%s/%s/{name}\":{", root,
		 k->scope == KIND_NAMESPACED ? "/namespaces/{namespace}" : "", k->plural);
	add_operation(b, k, "get");
	if (k->verbs == KIND_VERBS_ALL) {
		buf_add_char(b, ',');
		add_operation(b, k, "patch");
	}
	buf_add_char(b, '}');
}

/* ---- documents ---- */

static bool is_in(const struct kind *k, struct span group, struct span version)
{
	return k->verbs != KIND_VERBS_NONE && span_is(group, k->group) &&
	       span_is(version, k->version);
}

bool openapi_v3_document(const struct kind_set *set, struct span group, struct span version,
			 struct buf *out)
{
	struct openapi_definitions d = {0};
	bool any = false;

	for (size_t i = 0; i < set->n_kinds; i++) {
		const struct kind *k = set->kinds[i];
		if (!is_in(k, group, version))
			continue;
		buf_add_str(out, any ? ","
				     : "{\"openapi\":\"3.0.0\",\"info\":{\"title\":\"Kubernetes\","
				       "\"version\":\"v1\"},\"paths\":{");
		any = true;
		char name[OPENAPI_NAME_MAX];
		add_path(out, k);
		map_put(&d.seen, span_of(openapi_kind_name(k, name)), &d);
		openapi_definitions_add(&d, k);
	}
	if (any) {
		bool first = true;
		buf_add_str(out, "},\"components\":{\"schemas\":{");
		for (size_t i = 0; i < set->n_kinds; i++) {
			if (!is_in(set->kinds[i], group, version))
				continue;
			if (!first)
				buf_add_char(out, ',');
			first = false;
			openapi_json_kind(out, set->kinds[i], OPENAPI_V3);
		}
		vec_foreach (&d.list, s) {
			buf_add_char(out, ',');
			openapi_json_definition(out, *s, OPENAPI_V3);
		}
		buf_add_str(out, "}}}");
	}
	openapi_definitions_done(&d);
	return any;
}

static bool is_first_of_version(const struct kind_set *set, size_t at)
{
	const struct kind *k = set->kinds[at];

	for (size_t i = 0; i < at; i++)
		if (is_in(set->kinds[i], span_of(k->group), span_of(k->version)))
			return false;
	return true;
}

void openapi_v3_index(const struct kind_set *set, struct buf *out)
{
	bool first = true;

	buf_add_str(out, "{\"paths\":{");
	for (size_t i = 0; i < set->n_kinds; i++) {
		const struct kind *k = set->kinds[i];
		struct buf doc = BUF_MAX((size_t)64 << 20);
		char path[KIND_API_VERSION_MAX + 16];
		uint64_t hash = 14695981039346656037u;
		if (k->verbs == KIND_VERBS_NONE || !is_first_of_version(set, i))
			continue;
		(void)openapi_v3_document(set, span_of(k->group), span_of(k->version), &doc);
		for (size_t n = 0; n < doc.len; n++)
			hash = (hash ^ (unsigned char)doc.ptr[n]) * 1099511628211u;
		buf_done(&doc);
		if (k->group[0])
			(void)snprintf(path, sizeof(path), "apis/%s/%s", k->group, k->version);
		else
			(void)snprintf(path, sizeof(path), "api/%s", k->version);
		buf_addf(out,
			 "%s\"%s\":{\"serverRelativeURL\":\"/openapi/v3/%s?hash=%016" PRIX64 "\"}",
			 first ? "" : ",", path, path, hash);
		first = false;
	}
	buf_add_str(out, "}}");
}

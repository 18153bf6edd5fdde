/* The document in JSON: Swagger 2.0, with paths as kube-openapi's builder writes them. */
#include "kube/openapi_json.h"
#include "kube/openapi_names.h"
#include "kube/openapi_v2.h"

#include <ctype.h>

static const struct verb {
	const char *method, *action, *word;
	bool on_collection, writes;
	const char *queries[5];
} verbs[] = {
    {"get", "list", "list", true, false, {"labelSelector", "fieldSelector", "limit", "continue"}},
    {"post", "post", "create", true, true, {"dryRun", "fieldManager", "fieldValidation"}},
    {"delete", "deletecollection", "deleteCollection", true, false, {"labelSelector", "dryRun"}},
    {"get", "get", "read", false, false, {NULL}},
    {"put", "put", "replace", false, true, {"dryRun", "fieldManager", "fieldValidation"}},
    {"patch",
     "patch",
     "patch",
     false,
     true,
     {"dryRun", "fieldManager", "fieldValidation", "force"}},
    {"delete", "delete", "delete", false, false, {"dryRun", "propagationPolicy"}},
};

static bool has_verb(const struct kind *k, const struct verb *v)
{
	switch (k->verbs) {
	case KIND_VERBS_ALL:
		return !k->singly || strcmp(v->action, "deletecollection") != 0;
	case KIND_VERBS_READ:
		return strcmp(v->method, "get") == 0;
	case KIND_VERBS_CREATE:
		return strcmp(v->method, "post") == 0;
	default:
		return false;
	}
}

static void add_parameter(struct buf *b, const char *name, const char *in, bool *first)
{
	buf_addf(b, "%s{\"name\":\"%s\",\"in\":\"%s\",\"type\":\"string\"%s}", *first ? "" : ",",
		 name, in, strcmp(in, "path") == 0 ? ",\"required\":true" : "");
	*first = false;
}

static void add_answer(struct buf *b, const struct kind *k, const struct verb *v)
{
	char name[OPENAPI_NAME_MAX];

	buf_addf(b, "\"responses\":{\"%d\":{\"description\":\"%s\"",
		 strcmp(v->method, "post") == 0 ? 201 : 200,
		 strcmp(v->method, "post") == 0 ? "Created" : "OK");
	if (strcmp(v->method, "delete") != 0 && strcmp(v->action, "list") != 0)
		buf_addf(b, ",\"schema\":{\"$ref\":\"#/definitions/%s\"}",
			 openapi_kind_name(k, name));
	buf_add_str(b, "},\"401\":{\"description\":\"Unauthorized\"}}");
}

static void add_operation(struct buf *b, const struct kind *k, const struct verb *v)
{
	static const char patches[] =
	    "\"application/json-patch+json\",\"application/merge-patch+json\","
	    "\"application/apply-patch+yaml\"";
	bool patch = strcmp(v->method, "patch") == 0, first = true;
	char name[OPENAPI_NAME_MAX], id[OPENAPI_NAME_MAX];
	size_t n = 0;

	for (const char *p = openapi_kind_name(k, name); *p && n < sizeof(id) - 1; p++)
		if (isalnum((unsigned char)*p))
			id[n++] = *p;
	id[n] = '\0';
	buf_addf(b, "\"%s\":{\"operationId\":\"%s%s\",\"consumes\":[%s%s],\"parameters\":[",
		 v->method, v->word, id,
		 patch ? patches : "\"application/json\",\"application/yaml\"",
		 patch && k->strategic ? ",\"application/strategic-merge-patch+json\"" : "");
	if (v->writes) {
		buf_add_str(b, "{\"name\":\"body\",\"in\":\"body\",\"required\":true,\"schema\":");
		if (patch)
			buf_add_str(b, "{\"type\":\"object\"}}");
		else
			buf_addf(b, "{\"$ref\":\"#/definitions/%s\"}}", openapi_kind_name(k, name));
		first = false;
	}
	for (size_t i = 0; i < ARRAY_LEN(v->queries) && v->queries[i]; i++)
		add_parameter(b, v->queries[i], "query", &first);
	buf_add_str(b, "],\"produces\":[\"application/json\",\"application/yaml\"],"
		       "\"schemes\":[\"https\"],");
	add_answer(b, k, v);
	buf_addf(b,
		 ",\"x-kubernetes-action\":\"%s\",\"x-kubernetes-group-version-kind\":", v->action);
	openapi_json_gvk(b, k);
	buf_add_char(b, '}');
}

static void add_path(struct buf *b, const struct kind *k, bool collection, bool *first)
{
	bool first_verb = true, first_parameter = true;

	for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
		if (verbs[i].on_collection != collection || !has_verb(k, &verbs[i]))
			continue;
		if (first_verb)
			buf_addf(b, "%s\"%s%s/%s%s/%s%s\":{", *first ? "" : ",",
				 k->group[0] ? "/apis/" : "/api", k->group, k->version,
				 k->scope == KIND_NAMESPACED ? "/namespaces/{namespace}" : "",
				 k->plural, collection ? "" : "/{name}");
		else
			buf_add_char(b, ',');
		first_verb = *first = false;
		add_operation(b, k, &verbs[i]);
	}
	if (first_verb)
		return;
	buf_add_str(b, ",\"parameters\":[");
	if (k->scope == KIND_NAMESPACED)
		add_parameter(b, "namespace", "path", &first_parameter);
	if (!collection)
		add_parameter(b, "name", "path", &first_parameter);
	buf_add_str(b, "]}");
}

void openapi_v2_json(const struct kind_set *set, struct buf *out)
{
	struct openapi_definitions d = {0};
	char name[OPENAPI_NAME_MAX];
	bool first = true;

	buf_add_str(out,
		    "{\"swagger\":\"2.0\",\"info\":{\"title\":\"Kubernetes\",\"version\":\"v1\"},"
		    "\"paths\":{");
	for (size_t i = 0; i < set->n_kinds; i++) {
		const struct kind *k = set->kinds[i];
		if (k->verbs == KIND_VERBS_NONE)
			continue;
		add_path(out, k, true, &first);
		add_path(out, k, false, &first);
		map_put(&d.seen, span_of(openapi_kind_name(k, name)), &d);
	}
	buf_add_str(out, "},\"definitions\":{");
	first = true;
	for (size_t i = 0; i < set->n_kinds; i++) {
		if (set->kinds[i]->verbs == KIND_VERBS_NONE)
			continue;
		buf_add_str(out, first ? "" : ",");
		first = false;
		openapi_json_kind(out, set->kinds[i], OPENAPI_V2);
		openapi_definitions_add(&d, set->kinds[i]);
	}
	vec_foreach (&d.list, s) {
		buf_add_char(out, ',');
		openapi_json_definition(out, *s, OPENAPI_V2);
	}
	openapi_definitions_done(&d);
	buf_add_str(out,
		    "},\"securityDefinitions\":{\"BearerToken\":{\"description\":"
		    "\"Bearer Token authentication\",\"type\":\"apiKey\",\"name\":"
		    "\"authorization\",\"in\":\"header\"}},\"security\":[{\"BearerToken\":[]}]}");
}

/*
 * Both OpenAPI documents of the served kinds, read as kubectl reads them: every reference leads
 * somewhere, and the operation that tells what a server can do is found for every kind.
 */
#include "../kube/kube_test.h"

#include "base/map.h"
#include "kinds/kinds.h"
#include "kinds/types.h"
#include "kube/openapi_names.h"
#include "kube/openapi_v2.h"
#include "kube/openapi_v3.h"

static const struct kind_set *const *sets(void)
{
	static const struct kind_set *both[3];
	both[0] = kinds_hub();
	both[1] = kinds_sim();
	return both;
}

/* ---- version 3 ---- */

static struct cJSON *v3_document(const struct kind_set *set, const char *group, const char *version)
{
	struct buf text = BUF_INIT;
	struct cJSON *doc = NULL;
	struct err e = ERR_INIT;

	assert_true(openapi_v3_document(set, span_of(group), span_of(version), &text));
	if (json_parse(buf_span(&text), NULL, &doc, &e) < 0)
		fail_msg("%s", e.text);
	buf_done(&text);
	return doc;
}

static void check_refs(const struct cJSON *node, const struct cJSON *schemas)
{
	static const char prefix[] = "#/components/schemas/";
	const char *ref = json_value_str(json_get(node, "$ref"));

	if (ref) {
		assert_memory_equal(ref, prefix, strlen(prefix));
		if (!json_get(schemas, ref + strlen(prefix)))
			fail_msg("%s leads nowhere", ref);
	}
	json_foreach (node, child)
		check_refs(child, schemas);
}

/* cli-runtime's query_param_verifier_v3: a PATCH with this kind and a parameter of this name. */
static bool patch_takes(const struct cJSON *doc, const struct kind *k, const char *parameter)
{
	json_foreach (json_get(doc, "paths"), path) {
		const struct cJSON *patch = json_get(path, "patch");
		const struct cJSON *gvk = json_get(patch, "x-kubernetes-group-version-kind");
		if (!gvk || strcmp(json_str(gvk, "group"), k->group) != 0 ||
		    strcmp(json_str(gvk, "version"), k->version) != 0 ||
		    strcmp(json_str(gvk, "kind"), k->kind) != 0)
			continue;
		json_foreach (json_get(patch, "parameters"), q)
			if (strcmp(json_str(q, "name"), parameter) == 0 &&
			    strcmp(json_str(q, "in"), "query") == 0)
				return true;
	}
	return false;
}

static void every_v3_reference_leads_somewhere(void **state)
{
	(void)state;
	for (size_t s = 0; s < 2; s++) {
		const struct kind_set *set = sets()[s];
		for (size_t i = 0; i < set->n_kinds; i++) {
			const struct kind *k = set->kinds[i];
			if (k->verbs == KIND_VERBS_NONE)
				continue;
			auto_json *doc = v3_document(set, k->group, k->version);
			check_refs(doc, json_path(doc, "components", "schemas", NULL));
		}
	}
}

static void kubectl_finds_what_a_v3_server_can_do(void **state)
{
	(void)state;
	for (size_t s = 0; s < 2; s++) {
		const struct kind_set *set = sets()[s];
		for (size_t i = 0; i < set->n_kinds; i++) {
			const struct kind *k = set->kinds[i];
			if (k->verbs == KIND_VERBS_NONE)
				continue;
			auto_json *doc = v3_document(set, k->group, k->version);
			bool writable = k->verbs == KIND_VERBS_ALL;
			assert_int_equal(patch_takes(doc, k, "fieldValidation"), writable);
			assert_int_equal(patch_takes(doc, k, "dryRun"), writable);
		}
	}
}

static void kubectl_explains_every_kind_from_v3(void **state)
{
	(void)state;
	const struct kind_set *set = kinds_hub();
	for (size_t i = 0; i < set->n_kinds; i++) {
		const struct kind *k = set->kinds[i];
		if (k->verbs == KIND_VERBS_NONE)
			continue;
		auto_json *doc = v3_document(set, k->group, k->version);
		const struct cJSON *found = NULL;
		json_foreach (json_path(doc, "components", "schemas", NULL), schema) {
			json_foreach (json_get(schema, "x-kubernetes-group-version-kind"), gvk)
				if (strcmp(json_str(gvk, "kind"), k->kind) == 0)
					found = schema;
		}
		assert_non_null(found);
		assert_non_null(json_str(found, "description"));
		assert_non_null(json_path(found, "properties", "metadata", "description", NULL));
	}
}

static void strategic_patches_are_offered_for_built_in_kinds_alone(void **state)
{
	(void)state;
	auto_json *core = v3_document(kinds_hub(), "", "v1");
	auto_json *kubeflow = v3_document(kinds_hub(), "kubeflow.org", "v1");
	static const char strategic[] = "application/strategic-merge-patch+json";

	assert_non_null(json_path(core, "paths", "/api/v1/namespaces/{name}", "patch",
				  "requestBody", "content", strategic, NULL));
	const struct cJSON *content = json_path(
	    kubeflow, "paths", "/apis/kubeflow.org/v1/namespaces/{namespace}/pytorchjobs/{name}",
	    "patch", "requestBody", "content", NULL);
	assert_non_null(json_get(content, "application/merge-patch+json"));
	assert_null(json_get(content, strategic));
}

static void fields_carry_what_explain_and_patches_read(void **state)
{
	(void)state;
	auto_json *core = v3_document(kinds_hub(), "", "v1");
	const struct cJSON *schemas = json_path(core, "components", "schemas", NULL);
	const struct cJSON *spec = json_get(schemas, "io.k8s.api.core.v1.PodSpec");
	const struct cJSON *containers = json_path(spec, "properties", "containers", NULL);

	assert_string_equal(json_str(containers, "type"), "array");
	assert_string_equal(json_str(containers, "x-kubernetes-patch-merge-key"), "name");
	assert_string_equal(json_str(containers, "x-kubernetes-patch-strategy"), "merge");
	assert_string_equal(json_str(containers, "x-kubernetes-list-type"), "map");
	assert_string_equal(json_value_str(json_at(json_get(spec, "required"), 0)), "containers");
	assert_true(json_len(json_path(spec, "properties", "dnsPolicy", "enum", NULL)) == 4);
}

static void the_index_names_every_version_with_a_hash(void **state)
{
	(void)state;
	auto_buf text = BUF_INIT, again = BUF_INIT;
	auto_json *index = NULL;

	openapi_v3_index(kinds_hub(), &text);
	openapi_v3_index(kinds_hub(), &again);
	assert_string_equal(text.ptr, again.ptr);
	assert_int_equal(json_parse(buf_span(&text), NULL, &index, NULL), 0);
	const struct cJSON *paths = json_get(index, "paths");
	const char *url = json_str(json_get(paths, "apis/kubeflow.org/v1"), "serverRelativeURL");
	assert_non_null(strstr(url, "/openapi/v3/apis/kubeflow.org/v1?hash="));
	assert_non_null(json_get(paths, "api/v1"));
	assert_false(openapi_v3_document(kinds_hub(), SPAN("none"), SPAN("v1"), &text));
}

/* ---- version 2: a small reader of protobuf ---- */

struct message {
	const uint8_t *p, *end;
};

struct value { /* of one field */
	unsigned field;
	struct message bytes; /* length-delimited fields only */
};

static uint64_t read_varint(struct message *m)
{
	uint64_t v = 0;
	for (int shift = 0;; shift += 7) {
		assert_true(m->p < m->end && shift < 64);
		v |= (uint64_t)(*m->p & 0x7f) << shift;
		if (!(*m->p++ & 0x80))
			return v;
	}
}

static bool next_value(struct message *m, struct value *ret)
{
	if (m->p == m->end)
		return false;
	uint64_t tag = read_varint(m);
	assert_int_equal(tag & 7, 2); /* the document has no other wire type */
	uint64_t len = read_varint(m);
	assert_true(len <= (uint64_t)(m->end - m->p));
	*ret = (struct value){(unsigned)(tag >> 3), {m->p, m->p + len}};
	m->p += len;
	return true;
}

/* The first field of that number; the test fails without one. */
static struct message get(struct message m, unsigned field)
{
	struct value v;
	while (next_value(&m, &v))
		if (v.field == field)
			return v.bytes;
	fail_msg("no field %u", field);
	return m;
}

static struct span text_of(struct message m)
{
	return span_make((const char *)m.p, (size_t)(m.end - m.p));
}

static struct message v2_document(struct buf *text, const struct kind_set *set)
{
	openapi_v2_document(set, text);
	assert_true(buf_ok(text));
	return (struct message){(const uint8_t *)text->ptr, (const uint8_t *)text->ptr + text->len};
}

/* Schemas, wherever they are nested: _ref=1, additional=21{1}, items=23{1}, properties=25{1{2}} */
static void check_schema(struct message schema, const struct map *names)
{
	static const char prefix[] = "#/definitions/";
	struct value v, inner;

	while (next_value(&schema, &v)) {
		if (v.field == 1) {
			struct span ref = text_of(v.bytes);
			assert_true(span_starts(ref, SPAN("#/definitions/")));
			ref = span_make(ref.ptr + strlen(prefix), ref.len - strlen(prefix));
			if (!map_has(names, ref))
				fail_msg("%.*s leads nowhere", SPAN_ARGS(ref));
		} else if (v.field == 21 || v.field == 23) {
			while (next_value(&v.bytes, &inner))
				if (inner.field == 1)
					check_schema(inner.bytes, names);
		} else if (v.field == 25) {
			while (next_value(&v.bytes, &inner))
				check_schema(get(inner.bytes, 2), names);
		}
	}
}

static void every_v2_reference_leads_somewhere(void **state)
{
	(void)state;
	for (size_t s = 0; s < 2; s++) {
		auto_buf text = BUF_INIT;
		struct message doc = v2_document(&text, sets()[s]);
		struct message definitions = get(doc, 9);
		struct map names = MAP_INIT;
		struct value v;

		assert_text(text_of(get(doc, 1)), "2.0");
		for (struct message m = definitions; next_value(&m, &v);)
			if (map_put(&names, text_of(get(v.bytes, 1)), &names))
				fail_msg("%.*s twice", SPAN_ARGS(text_of(get(v.bytes, 1))));
		for (struct message m = definitions; next_value(&m, &v);)
			check_schema(get(v.bytes, 2), &names);
		for (size_t i = 0; i < sets()[s]->n_kinds; i++) {
			const struct kind *k = sets()[s]->kinds[i];
			char name[OPENAPI_NAME_MAX];
			assert_int_equal(map_has(&names, span_of(openapi_kind_name(k, name))),
					 k->verbs != KIND_VERBS_NONE);
		}
		map_done(&names);
	}
}

/* PathItem.patch=8, Operation.parameters=8 down to the name of a query parameter. */
static bool operation_takes(struct message operation, const char *parameter)
{
	struct value v;
	while (next_value(&operation, &v)) {
		if (v.field != 8)
			continue;
		struct message query = get(get(get(v.bytes, 1), 2), 3);
		if (span_is(text_of(get(query, 4)), parameter) &&
		    span_is(text_of(get(query, 2)), "query"))
			return true;
	}
	return false;
}

static void kubectl_finds_what_a_v2_server_can_do(void **state)
{
	(void)state;
	auto_buf text = BUF_INIT;
	struct message paths = get(v2_document(&text, kinds_hub()), 8);
	size_t patches = 0, writable = 0;
	bool namespaces = false;
	struct value v;

	while (next_value(&paths, &v)) {
		struct message patch = get(get(v.bytes, 2), 8);
		struct message extension = get(patch, 13);
		assert_text(text_of(get(extension, 1)), "x-kubernetes-group-version-kind");
		assert_true(operation_takes(patch, "dryRun"));
		assert_true(operation_takes(patch, "fieldValidation"));
		namespaces =
		    namespaces || span_is(text_of(get(v.bytes, 1)), "/api/v1/namespaces/{name}");
		patches++;
	}
	for (size_t i = 0; i < kinds_hub()->n_kinds; i++)
		writable += kinds_hub()->kinds[i]->verbs == KIND_VERBS_ALL;
	assert_int_equal(patches, writable);
	assert_true(namespaces);
}

static void both_documents_stay_small(void **state)
{
	(void)state;
	auto_buf two = BUF_INIT, three = BUF_INIT;

	openapi_v2_document(kinds_hub(), &two);
	assert_true(openapi_v3_document(kinds_hub(), SPAN(""), SPAN("v1"), &three));
	assert_in_range(two.len, 50000, 700000);
	assert_in_range(three.len, 30000, 400000);
}

static void kinds_are_named_as_kubernetes_names_them(void **state)
{
	static const struct {
		const char *group, *want;
	} names[] = {
	    {"", "io.k8s.api.core.v1.K"},
	    {"batch", "io.k8s.api.batch.v1.K"},
	    {"events.k8s.io", "io.k8s.api.events.v1.K"},
	    {"jobset.x-k8s.io", "io.x-k8s.jobset.v1.K"},
	    {"scheduling.sigs.k8s.io", "io.k8s.sigs.scheduling.v1.K"},
	    {"kubeflow.org", "org.kubeflow.v1.K"},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		const struct kind k = {.group = names[i].group, .version = "v1", .kind = "K"};
		char out[OPENAPI_NAME_MAX];
		assert_string_equal(openapi_kind_name(&k, out), names[i].want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_v3_reference_leads_somewhere),
	    cmocka_unit_test(kubectl_finds_what_a_v3_server_can_do),
	    cmocka_unit_test(kubectl_explains_every_kind_from_v3),
	    cmocka_unit_test(strategic_patches_are_offered_for_built_in_kinds_alone),
	    cmocka_unit_test(fields_carry_what_explain_and_patches_read),
	    cmocka_unit_test(the_index_names_every_version_with_a_hash),
	    cmocka_unit_test(every_v2_reference_leads_somewhere),
	    cmocka_unit_test(kubectl_finds_what_a_v2_server_can_do),
	    cmocka_unit_test(both_documents_stay_small),
	    cmocka_unit_test(kinds_are_named_as_kubernetes_names_them),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

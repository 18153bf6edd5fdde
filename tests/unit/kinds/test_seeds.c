/*
 * Manifests that public guides tell people to apply: each document of the files named on the
 * command line must pass as it stands, keep what it says, and (jobs) have a digest.
 */
#include "kinds_test.h"

#include "kube/quantity.h"

static char **files;
static int n_files;

struct seen {
	size_t documents;
	const char *file;
};

static char *read_file(const char *path, size_t *ret_len)
{
	FILE *f = fopen(path, "rb");
	char *text = xcalloc(1, 1 << 20);

	assert_non_null(f);
	*ret_len = fread(text, 1, (1 << 20) - 1, f);
	fclose(f);
	return text;
}

/* Kubernetes' own kinds print a number of something anew: 2 as "2". */
static bool same_quantity(const struct cJSON *a, const struct cJSON *b)
{
	int64_t x, y;

	return quantity_from_node(a, QUANTITY_MILLI, &x) == 0 &&
	       quantity_from_node(b, QUANTITY_MILLI, &y) == 0 && x == y;
}

/* Everything in `a` is in `b`; b may have more. */
static bool contains(const struct cJSON *b, const struct cJSON *a)
{
	if (json_is(a, JSON_OBJECT)) {
		json_foreach (a, m)
			if (!contains(json_get(b, json_key(m)), m))
				return false;
		return json_is(b, JSON_OBJECT);
	}
	if (json_is(a, JSON_ARRAY)) {
		size_t i = 0;
		json_foreach (a, e)
			if (!contains(json_at(b, i++), e))
				return false;
		return json_len(a) == json_len(b);
	}
	if (!b) /* what says nothing is not written */
		return json_is(a, JSON_BOOL) && !json_value_bool(a, true);
	return json_equal(a, b) || same_quantity(a, b);
}

static int check_document(void *arg, struct cJSON *take_doc)
{
	auto_json *doc = take_doc;
	auto_json *before = json_dup(doc);
	auto_buf wrong = BUF_INIT, digest = BUF_INIT;
	struct seen *seen = arg;
	struct span group, version;
	struct err e = ERR_INIT;

	kind_split_api_version(span_of(json_str(doc, "apiVersion")), &group, &version);
	const struct kind *k =
	    kind_by_gvk(kinds_hub(), group, version, span_of(json_str(doc, "kind")));
	assert_non_null(k);
	admit(k, doc, NULL, &wrong, NULL);
	if (wrong.len)
		fail_msg("%s: %s: %s", seen->file, k->kind, wrong.ptr);
	if (!contains(doc, before))
		fail_msg("%s: %s lost something", seen->file, k->kind);
	if (k->digest && k->digest(k, doc, &digest, &e) < 0)
		fail_msg("%s: %s: %s", seen->file, k->kind, e.text);
	seen->documents++;
	return 0;
}

static void every_manifest_of_the_guides_passes(void **state)
{
	size_t total = 0;
	(void)state;
	for (int i = 0; i < n_files; i++) {
		struct seen seen = {0, files[i]};
		struct err e = ERR_INIT;
		size_t len;
		char *text = read_file(files[i], &len);
		if (yaml_each(span_make(text, len), check_document, &seen, &e) < 0)
			fail_msg("%s: %s", files[i], e.text);
		free(text);
		assert_true(seen.documents > 0);
		total += seen.documents;
	}
	assert_int_equal(total, 22);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(every_manifest_of_the_guides_passes)};

	files = argv + 1;
	n_files = argc - 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}

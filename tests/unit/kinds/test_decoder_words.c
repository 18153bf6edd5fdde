/* What the decoder says, against what Kubernetes' own said of the same objects. */
#include "kinds_test.h"

#include "base/json.h"
#include "kinds/kinds.h"
#include "kube/decoder_words.h"

static const char *cases_file;

static const struct kind *kind_of(const struct cJSON *object)
{
	struct span group, version;
	kind_split_api_version(span_of(json_str(object, "apiVersion")), &group, &version);
	return kind_by_gvk(kinds_hub(), group, version, span_of(json_str(object, "kind")));
}

static void say(const char *text, struct buf *out)
{
	auto_json *object = NULL;
	const struct kind *k;
	assert_int_equal(json_parse(span_of(text), NULL, &object, NULL), 0);
	k = kind_of(object);
	assert_non_null(k);
	assert_true(decoder_words_apply(k));
	if (!decoder_words(k, object, out))
		buf_add_str(out, "<nil>");
}

static bool next_line(FILE *f, char line[1024])
{
	do {
		if (!fgets(line, 1024, f))
			return false;
		line[strcspn(line, "\n")] = '\0';
	} while (line[0] == '#' || !line[0]);
	return true;
}

static void it_says_what_kubernetes_says(void **state)
{
	FILE *f = fopen(cases_file, "r");
	char object[1024], want[1024];
	int n = 0, wrong = 0;

	(void)state;
	assert_non_null(f);
	while (next_line(f, object) && next_line(f, want)) {
		auto_buf got = BUF_INIT;
		say(object, &got);
		if (strcmp(got.ptr, want) != 0) {
			print_message("%s\n  want %s\n  got  %s\n", object, want, got.ptr);
			wrong++;
		}
		n++;
	}
	fclose(f);
	assert_int_equal(wrong, 0);
	assert_in_range(n, 90, 1000);
}

static void what_it_takes_is_not_complained_of(void **state)
{
	static const char *const fine[] = {
	    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":null,\"data\":{\"a\":null},"
	    "\"nobody\":{\"knows\":[1]}}",
	    "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"data\":{\"a\":\"YWJj\\nZA==\\n\",\"b\":\"\"}}",
	    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"creationTimestamp\":"
	    "\"2026-12-01T05:00:00.25+02:00\"}}",
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(fine); i++) {
		auto_buf got = BUF_INIT;
		say(fine[i], &got);
		assert_string_equal(got.ptr, "<nil>");
	}
}

/* Those have a schema upstream, too, and its words. */
static void kinds_of_definitions_are_not_decoded(void **state)
{
	static const char *const others[][3] = {
	    {"kubeflow.org", "v1", "PyTorchJob"},
	    {"kueue.x-k8s.io", "v1beta2", "Workload"},
	    {"scheduling.sigs.k8s.io", "v1beta1", "ElasticQuotaTree"}};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(others); i++) {
		const struct kind *k = kind_by_gvk(kinds_hub(), span_of(others[i][0]),
						   span_of(others[i][1]), span_of(others[i][2]));
		assert_non_null(k);
		assert_false(decoder_words_apply(k));
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(it_says_what_kubernetes_says),
	    cmocka_unit_test(what_it_takes_is_not_complained_of),
	    cmocka_unit_test(kinds_of_definitions_are_not_decoded),
	};
	cases_file = argc > 1 ? argv[1] : "";
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * The first byte picks a job kind, the rest are three versions of a job, each ended by a newline.
 * The paths of an edit are an object that reads, ends in nulls, and joins with itself to itself;
 * paths of two edits join to the same in either order. Where the hub admits the last version, the
 * patch by these paths of a copy that is as the first one was is JSON.
 */
#include "base/json.h"
#include "kinds/job_amend.h"
#include "kinds/kinds.h"
#include "kinds/types.h"
#include "kube/field_errors.h"
#include "kube/schema.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
	if (!holds)
		abort();
}

static bool ends_in_nulls(const struct cJSON *paths)
{
	json_foreach (paths, p)
		if (!json_is(p, JSON_NULL) && (!json_is(p, JSON_OBJECT) || !ends_in_nulls(p)))
			return false;
	return true;
}

static struct cJSON *joined(struct span a, struct span b)
{
	auto_buf out = BUF_INIT;
	struct cJSON *tree = NULL;

	must(job_edit_join(a, b, &out, NULL) == 0);
	must(json_parse(buf_span(&out), NULL, &tree, NULL) == 0);
	return tree;
}

/* False when the versions do not differ for a copy. */
static bool edit(const struct kind *k, struct span was, struct span is, struct buf *out)
{
	auto_json *tree = NULL;

	must(job_edit_paths(k, was, is, out, NULL) == 0);
	if (!out->len)
		return false;
	must(json_parse(buf_span(out), NULL, &tree, NULL) == 0);
	must(json_is(tree, JSON_OBJECT) && ends_in_nulls(tree));
	auto_json *twice = joined(buf_span(out), buf_span(out));
	must(json_equal(twice, tree));
	return true;
}

static bool admitted(const struct kind *k, struct cJSON *job)
{
	struct field_errors e = {.n = 0};
	auto_buf unknown = BUF_INIT, warnings = BUF_INIT;
	const struct kind_write w = {.subresource = "", .warnings = &warnings};

	schema_admit(k, job, &w, &e, &unknown);
	bool fine = !field_errors_any(&e);
	field_errors_done(&e);
	return fine;
}

static void amend(const struct kind *k, struct span present, struct span job,
		  const struct cJSON *paths)
{
	static const struct job_copy_options o = {"hub", "job", 1, false, NULL};
	auto_json *at = NULL;
	auto_json *to = NULL;
	auto_json *patch = NULL;
	auto_buf out = BUF_INIT;

	must(json_parse(present, NULL, &at, NULL) == 0 && json_parse(job, NULL, &to, NULL) == 0);
	if (admitted(k, to) && job_amend(k, at, to, paths, &o, &out, NULL) == 0)
		must(json_parse(buf_span(&out), NULL, &patch, NULL) == 0);
}

/* As the store has it: printed by the hub, each key in one way. False when it is no object. */
static bool print_as_stored(struct span text, struct buf *out)
{
	auto_json *tree = NULL;

	if (json_parse(text, NULL, &tree, NULL) < 0 || !json_is(tree, JSON_OBJECT))
		return false;
	json_print(tree, out);
	return true;
}

static void try_versions(const struct kind *k, const struct span v[3])
{
	auto_buf a = BUF_INIT, b = BUF_INIT, words = BUF_INIT;

	must(job_edit_paths(k, v[0], v[0], &words, NULL) == 0 && !words.len);
	if (!edit(k, v[0], v[1], &a) || !edit(k, v[1], v[2], &b))
		return;
	auto_json *one = joined(buf_span(&a), buf_span(&b));
	auto_json *other = joined(buf_span(&b), buf_span(&a));
	must(json_equal(one, other));
	job_edit_words(one, &words);
	must(words.len > 0);
	amend(k, v[0], v[2], one);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint16_t types[] = {TYPE_JOB,     TYPE_PYTORCH_JOB, TYPE_TF_JOB,
					 TYPE_MPI_JOB, TYPE_JOB_SET,	 TYPE_RAY_JOB,
					 TYPE_JAX_JOB, TYPE_RAY_CLUSTER};
	struct buf text[3] = {BUF_INIT, BUF_INIT, BUF_INIT};
	struct span rest, v[3];
	bool good = size > 0;

	rest = good ? span_make((const char *)data + 1, size - 1) : SPAN_NONE;
	for (size_t i = 0; i < ARRAY_LEN(v); i++) {
		good = good && print_as_stored(span_split(&rest, '\n'), &text[i]);
		v[i] = buf_span(&text[i]);
	}
	if (good)
		try_versions(kind_by_type(kinds_hub(), types[data[0] % ARRAY_LEN(types)]), v);
	for (size_t i = 0; i < ARRAY_LEN(v); i++)
		buf_done(&text[i]);
	return 0;
}

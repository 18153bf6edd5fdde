/*
 * The first byte picks a set of kinds (of the hub, or of the simulator from 128 on), and for an
 * object that names none of its kinds a kind too. The rest is the object, or a list of two: one
 * that is stored, and what somebody writes over it, as its spec and as its status. Whatever it is:
 * the schema pass, hooks, digest, copy, cells and conversion come to an end; what was admitted
 * without an error is admitted again without a change; what was not has words, where the kind is
 * one that upstream decodes.
 */
#include "base/json.h"
#include "kinds/job_digest.h"
#include "kinds/kinds.h"
#include "kube/decoder_words.h"
#include "kube/field_errors.h"
#include "kube/schema.h"
#include "kube/table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool admit_part(const struct kind *k, struct cJSON *tree, const struct cJSON *old,
		       const char *part)
{
	struct field_errors e = {.n = 0};
	auto_buf unknown = BUF_INIT, warnings = BUF_INIT;
	const struct kind_write w = {.old = old, .subresource = part, .warnings = &warnings};

	schema_admit(k, tree, &w, &e, &unknown);
	bool fine = !field_errors_any(&e);
	field_errors_done(&e);
	return fine;
}

static bool admit(const struct kind *k, struct cJSON *tree, const struct cJSON *old)
{
	return admit_part(k, tree, old, "");
}

/* Written over `old`, which somebody stored: what may not change is refused, and refused again. */
static void update(const struct kind *k, const struct cJSON *old, const struct cJSON *tree)
{
	static const char *const parts[] = {"", "status"};
	auto_json *stored = json_dup(old);

	if (!json_is(tree, JSON_OBJECT) || !admit(k, stored, old))
		return;
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		auto_json *once = json_dup(tree);
		bool fine = admit_part(k, once, stored, parts[i]);
		auto_json *again = json_dup(fine ? once : tree);
		if (admit_part(k, again, stored, parts[i]) != fine ||
		    (fine && !json_equal(once, again)))
			abort();
	}
}

static void use_digest(const struct kind *k, const struct cJSON *tree)
{
	auto_buf bytes = BUF_INIT, copy = BUF_INIT;
	auto_arena mem = ARENA_INIT;
	struct job_digest d;

	if (k->digest(k, tree, &bytes, NULL) == 0 &&
	    job_digest_unpack(buf_span(&bytes), &mem, &d) < 0)
		abort();
	const struct job_copy_options o = {"hub", "job", 1, true};
	auto_json *parts = json_dup(tree);
	(void)!job_copy_make(k, parts, &o, &copy, NULL);
}

static void use(const struct kind *k, struct cJSON *tree)
{
	auto_json *before = json_dup(tree);

	if (!admit(k, tree, before) || !json_is(tree, JSON_OBJECT)) {
		auto_buf words = BUF_INIT;
		if (decoder_words_apply(k))
			(void)decoder_words(k, tree, &words);
		return;
	}
	auto_json *once = json_dup(tree);
	if (!admit(k, tree, once) || !json_equal(tree, once))
		abort();
	if (k->is_job)
		use_digest(k, tree);
	if (k->convert) {
		k->convert(k, tree, KIND_TO_STORED);
		k->convert(k, tree, KIND_FROM_STORED);
	}
}

static struct span text_of(const struct cJSON *object, const char *key)
{
	const char *s = json_str(object, key);

	return s ? span_of(s) : SPAN_NONE;
}

/* By what the object says of itself: places in the set change with every kind that comes. */
static const struct kind *pick(const struct kind_set *set, uint8_t byte, const struct cJSON *tree)
{
	const struct cJSON *first = json_is(tree, JSON_ARRAY) ? json_at(tree, 0) : tree;
	const struct kind *k = NULL;

	if (json_is(first, JSON_OBJECT)) {
		struct span version = text_of(first, "apiVersion"), group = SPAN("");
		if (memchr(version.ptr ? version.ptr : "", '/', version.len))
			group = span_split(&version, '/');
		k = kind_by_gvk(set, group, version, text_of(first, "kind"));
	}
	return k ? k : set->kinds[byte % 128 % set->n_kinds];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct kind_set *set;
	struct cJSON *tree = NULL;
	auto_buf row = BUF_INIT;

	if (size < 1)
		return 0;
	set = data[0] < 128 ? kinds_hub() : kinds_sim();
	struct span text = span_make((const char *)data + 1, size - 1);
	if (json_parse(text, NULL, &tree, NULL) < 0)
		return 0;
	const struct kind *k = pick(set, data[0], tree);
	table_row(k, "v1", text, TABLE_METADATA, 0, true, &row);
	if (json_is(tree, JSON_ARRAY) && json_len(tree) == 2 &&
	    json_is(json_at(tree, 0), JSON_OBJECT))
		update(k, json_at(tree, 0), json_at(tree, 1));
	use(k, tree);
	json_free(tree);
	return 0;
}

/*
 * The first byte picks a kind of kueue.x-k8s.io, the rest is an object of it in v1beta1 (or, from
 * 128 on, in v1beta2). Whatever it is, conversion comes to an end; what was admitted in v1beta1 is
 * admitted in the stored version too, and what is stored reads the same whether or not it went
 * through v1beta1.
 */
#include "base/json.h"
#include "kinds/kinds.h"
#include "kube/admit.h"
#include "kube/field_errors.h"
#include "kube/schema.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool admit(const struct kind *k, struct cJSON *tree, const struct cJSON *old)
{
	struct field_errors e = {.n = 0};
	auto_buf unknown = BUF_INIT, warnings = BUF_INIT;
	const struct kind_write w = {.old = old, .subresource = "", .warnings = &warnings};

	admit_object(kinds_hub(), k, tree, &w, &e, &unknown);
	bool fine = !field_errors_any(&e);
	field_errors_done(&e);
	return fine;
}

/* kinds of v1beta1 with a shape of their own */
static const struct kind *pick(uint8_t which)
{
	const struct kind_set *set = kinds_hub();
	const struct kind *found[16];
	size_t n = 0;

	for (size_t i = 0; i < set->n_kinds && n < ARRAY_LEN(found); i++)
		if (strcmp(set->kinds[i]->group, "kueue.x-k8s.io") == 0 && set->kinds[i]->convert)
			found[n++] = set->kinds[i];
	return n ? found[which % n] : NULL;
}

/* Whatever stands there: no crash, and no memory lost. */
static void convert_raw(const struct kind *k, const struct cJSON *tree)
{
	auto_json *a = json_dup(tree), *b = json_dup(tree);

	k->convert(k, a, KIND_TO_STORED);
	k->convert(k, a, KIND_FROM_STORED);
	k->convert(k, b, KIND_FROM_STORED);
	k->convert(k, b, KIND_TO_STORED);
}

static void use_beta1(const struct kind *k, const struct kind *stored, struct cJSON *tree)
{
	if (!admit(k, tree, NULL))
		return;
	auto_json *once = json_dup(tree), *kept = json_dup(tree);
	k->convert(k, kept, KIND_TO_STORED);
	if (!admit(stored, kept, NULL))
		abort();
	if (!admit(k, tree, once) || !json_equal(tree, once))
		abort();
}

static void use_stored(const struct kind *k, const struct kind *stored, struct cJSON *tree)
{
	if (!admit(stored, tree, NULL))
		return;
	auto_json *shown = json_dup(tree);
	k->convert(k, shown, KIND_FROM_STORED);
	auto_json *back = json_dup(shown);
	k->convert(k, back, KIND_TO_STORED);
	k->convert(k, back, KIND_FROM_STORED);
	if (!json_equal(back, shown))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct json_limits limits = {.max_bytes = (size_t)64 << 10};
	const struct kind *k = size ? pick(data[0] & 127) : NULL;
	auto_json *tree = NULL;

	if (!k ||
	    json_parse(span_make((const char *)data + 1, size - 1), &limits, &tree, NULL) < 0 ||
	    !json_is(tree, JSON_OBJECT))
		return 0;
	convert_raw(k, tree);
	if (data[0] < 128)
		use_beta1(k, kind_by_type(kinds_hub(), k->type), tree);
	else
		use_stored(k, kind_by_type(kinds_hub(), k->type), tree);
	return 0;
}

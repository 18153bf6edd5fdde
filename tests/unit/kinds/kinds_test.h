#ifndef KINDS_TEST_H
#define KINDS_TEST_H
/*
 * What the tests of hub/kinds share: a kind by its name, and a whole admission of a literal or a
 * file, as a worker of the API does it.
 */
#include "../kube/kube_test.h"

#include "base/yaml.h"
#include "kinds/job_digest.h"
#include "kinds/kinds.h"
#include "kinds/types.h"
#include "kube/field_errors.h"
#include "kube/schema.h"

static inline const struct kind *hub_kind(uint16_t type)
{
	const struct kind *k = kind_by_type(kinds_hub(), type);
	assert_non_null(k);
	return k;
}

/* Admits the tree in place; what was wrong, a line each, in `wrong`, and warnings likewise. */
static inline void admit(const struct kind *k, struct cJSON *tree, const struct cJSON *old,
			 struct buf *wrong, struct buf *warnings)
{
	struct field_errors e = {.n = 0};
	struct buf none = BUF_INIT;
	const struct kind_write w = {
	    .old = old, .subresource = "", .now = 0, .warnings = warnings ? warnings : &none};

	schema_admit(k, tree, &w, &e, NULL);
	buf_add_str(wrong, "");
	for (size_t i = 0; i < e.n; i++) {
		field_error_text(&e.items[i], wrong);
		buf_add_char(wrong, '\n');
	}
	buf_done(&none);
	field_errors_done(&e);
}

/* Admits a literal (single quotes) and compares what was wrong. */
static inline void expect_wrong(uint16_t type, const char *object, const char *want)
{
	auto_json *tree = tree_of(object);
	auto_buf wrong = BUF_INIT;

	admit(hub_kind(type), tree, NULL, &wrong, NULL);
	assert_string_equal(wrong.ptr ? wrong.ptr : "", want);
}

/* An update from one literal to another. */
static inline void expect_wrong_update(uint16_t type, const char *old, const char *object,
				       const char *want)
{
	auto_json *before = tree_of(old);
	auto_json *tree = tree_of(object);
	auto_buf first = BUF_INIT, wrong = BUF_INIT;

	admit(hub_kind(type), before, NULL, &first, NULL);
	assert_string_equal(first.ptr ? first.ptr : "", "");
	admit(hub_kind(type), tree, before, &wrong, NULL);
	assert_string_equal(wrong.ptr ? wrong.ptr : "", want);
}

#endif

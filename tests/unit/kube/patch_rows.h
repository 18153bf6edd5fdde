#ifndef TEST_PATCH_ROWS_H
#define TEST_PATCH_ROWS_H
/* Tables of patches: an object, what is applied to it, and what comes of it. */
#include "kube_test.h"

#include "kube/patch.h"

struct patch_row {
	const char *object, *patch;
	const char *want; /* NULL: refused as `error`, with words */
	enum err_kind error;
};

/* Lists are compared in order; the object that was patched stays as it was. */
static inline void patch_row_check(enum patch_type type, const struct kind *kind,
				   const struct patch_row *t)
{
	auto_json *o = tree_of(t->object);
	auto_json *p = tree_of(t->patch);
	auto_json *before = tree_of(t->object);
	auto_json *got = NULL;
	struct err err = ERR_INIT;
	int r = patch_apply(type, kind, o, p, &got, &err);

	assert_true(json_equal(o, before));
	if (t->want && r < 0)
		fail_msg("%s: %s", t->patch, err.text);
	if (t->want) {
		assert_tree(got, t->want);
		return;
	}
	if (r >= 0 || err.kind != t->error || got || !err.text[0])
		fail_msg("%s was taken, or refused as %d: %s", t->patch, (int)err.kind, err.text);
}

#endif

#ifndef KUBE_TEST_H
#define KUBE_TEST_H
/*
 * What the tests of hub/kube share: cmocka, JSON literals written with single quotes, and a
 * comparison of texts that shows both.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/span.h"

/* 'a' becomes "a"; the text lives in the arena. */
static inline struct span quoted(struct arena *mem, const char *text)
{
	size_t len = strlen(text);
	char *p = arena_strndup(mem, text, len);
	for (size_t i = 0; i < len; i++)
		if (p[i] == '\'')
			p[i] = '"';
	return span_make(p, len);
}

/* The tree of a literal with single quotes; aborts the test when it is not JSON. */
static inline struct cJSON *tree_of(const char *text)
{
	auto_arena mem = ARENA_INIT;
	struct cJSON *tree = NULL;
	struct err err = ERR_INIT;
	if (json_parse(quoted(&mem, text), NULL, &tree, &err) < 0)
		fail_msg("bad literal %s: %s", text, err.text);
	return tree;
}

static inline void assert_tree(const struct cJSON *tree, const char *want)
{
	auto_json *w = tree_of(want);
	auto_buf got = BUF_INIT;
	if (json_equal(tree, w))
		return;
	json_print(tree, &got);
	fail_msg("got  %.*s\nwant %s", SPAN_ARGS(buf_span(&got)), want);
}

static inline void assert_text(struct span got, const char *want)
{
	if (!span_is(got, want))
		fail_msg("got  %.*s\nwant %s", SPAN_ARGS(got), want);
}

#endif

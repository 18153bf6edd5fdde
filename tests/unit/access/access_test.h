#ifndef TESTS_ACCESS_TEST_H
#define TESTS_ACCESS_TEST_H
/* cmocka, JSON literals with single quotes, and requests in a line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "access/rbac.h"
#include "base/json.h"

/* 'x' for "x"; owned. */
static inline struct cJSON *json_of(const char *text)
{
	struct buf b = BUF_INIT;
	struct cJSON *tree = NULL;
	struct err e = ERR_INIT;
	for (; *text; text++)
		buf_add_char(&b, *text == '\'' ? '"' : *text);
	if (json_parse(buf_span(&b), NULL, &tree, &e) < 0)
		fail_msg("%s: %s", e.text, b.ptr);
	buf_done(&b);
	return tree;
}

/* "get ns/group/resource[/sub][:name]", or "get /path"; ns may be "-" for cluster scope. */
static inline struct rbac_request request(const char *line)
{
	struct span rest = span_of(line), verb = span_split(&rest, ' '), part;
	struct rbac_request q = {.verb = verb,
				 .ns = SPAN(""),
				 .group = SPAN(""),
				 .resource = SPAN(""),
				 .subresource = SPAN(""),
				 .name = SPAN(""),
				 .path = rest};
	if (!rest.len || rest.ptr[0] == '/')
		return q;
	q.is_resource = true;
	part = span_split(&rest, '/');
	if (!span_is(part, "-"))
		q.ns = part;
	q.group = span_split(&rest, '/');
	part = span_split(&rest, ':');
	if (rest.ptr)
		q.name = rest;
	q.resource = span_split(&part, '/');
	if (part.ptr)
		q.subresource = part;
	return q;
}

#endif

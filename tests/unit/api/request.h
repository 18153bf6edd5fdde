#ifndef TESTS_API_REQUEST_H
#define TESTS_API_REQUEST_H
/* cmocka, and a request from a method, a path and "a=b&c=d". */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/http.h"

static inline struct http_request request_of(enum http_method method, const char *path,
					     const char *query)
{
	static const struct http_peer nobody = {0};
	struct http_request r = {.method = method, .path = span_of(path), .peer = &nobody};
	struct span rest = span_of(query);
	while (rest.len) {
		struct span pair = span_split(&rest, '&');
		r.params[r.n_params].name = span_split(&pair, '=');
		r.params[r.n_params++].value = pair.ptr ? pair : SPAN("");
	}
	return r;
}

#define assert_span(part, text)                                                                    \
	do {                                                                                       \
		struct span part_ = (part);                                                        \
		assert_int_equal(part_.len, strlen(text));                                         \
		assert_memory_equal(part_.ptr ? part_.ptr : "", text, part_.len);                  \
	} while (0)

#endif

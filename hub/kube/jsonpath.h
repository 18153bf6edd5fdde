#ifndef KUBE_JSONPATH_H
#define KUBE_JSONPATH_H
/*
 * The JSONPath subset of printer columns, evaluated over checked JSON text without a tree.
 *
 * `.a.b`, `['a.b']`, `.a\.b` (escaped dot), `[0]`, `[-1]`, slices `[1:3]` and `[-1:]`, `[*]` and
 * `.*`, filters `[?(@.type=="Ready")]` with == and !=, and existence `[?(@.x)]`. A leading `$`
 * and enclosing braces are allowed. Not: recursive descent, scripts, arithmetic.
 * Source: client-go util/jsonpath as apiextensions' table convertor uses it.
 */
#include "base/span.h"
#include <stdbool.h>

/* The first match of `path` in `value`, as raw JSON text. -ENOENT when nothing matches, -EINVAL
 * for a path outside the subset. */
int jsonpath_first(const char *path, struct span value, struct span *ret);

/* Calls each() with every match in document order until it returns false. -EINVAL as above. */
int jsonpath_each(const char *path, struct span value, bool (*each)(void *arg, struct span match),
		  void *arg);

#endif

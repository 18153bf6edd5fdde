#ifndef KUBE_TABLE_H
#define KUBE_TABLE_H
/*
 * meta.k8s.io/v1 Tables: what `kubectl get` prints (kubernetes-api.md 1.4).
 *
 * A table is written straight through: table_begin, table_row for each object, table_end; for a
 * watch event the same three with one row. Cells come from the kind's columns, evaluated over
 * the object's text; only kinds with a cells hook parse a tree.
 */
#include "base/buf.h"
#include "base/clock.h"
#include "base/span.h"
#include "kube/kind.h"
#include <stdbool.h>
#include <stdint.h>

enum table_include { TABLE_NONE, TABLE_METADATA, TABLE_OBJECT }; /* includeObject= */

/* "", "Metadata", "Object", "None"; -EINVAL for anything else. "" is Metadata. */
int table_include_parse(struct span text, enum table_include *ret);

struct table_meta {
	uint64_t revision;	    /* 0: no resourceVersion */
	struct span continue_token; /* absent: none */
	int64_t remaining;	    /* below 0: unknown */
};

/* version: "v1" or "v1beta1", as the client asked. columns: write columnDefinitions (a watch
 * needs them in its first event only). */
void table_begin(const struct kind *k, const char *version, const struct table_meta *meta,
		 bool columns, struct buf *out);
/* Appends the row of one object (checked JSON text). first: no comma before it. */
void table_row(const struct kind *k, const char *version, struct span object,
	       enum table_include include, usec now, bool first, struct buf *out);
void table_end(struct buf *out);

#endif

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

/* Columns after the kind's own, whose cells the caller has. */
struct table_more {
	const struct kind_column *columns;
	size_t n;
};

/* version: "v1" or "v1beta1", as the client asked. columns: write columnDefinitions (a watch
 * needs them in its first event only). more: NULL for none. */
void table_begin_more(const struct kind *k, const char *version, const struct table_meta *meta,
		      bool columns, const struct table_more *more, struct buf *out);
static inline void table_begin(const struct kind *k, const char *version,
			       const struct table_meta *meta, bool columns, struct buf *out)
{
	table_begin_more(k, version, meta, columns, NULL, out);
}
/* Appends the row of one object (checked JSON text), in two parts: the object's own cells, then,
 * after the caller added those of its further columns (",VALUE" each), the rest. first: no comma
 * before it. */
void table_row_begin(const struct kind *k, struct span object, usec now, bool first,
		     struct buf *out);
void table_row_end(const char *version, struct span object, enum table_include include,
		   struct buf *out);
static inline void table_row(const struct kind *k, const char *version, struct span object,
			     enum table_include include, usec now, bool first, struct buf *out)
{
	table_row_begin(k, object, now, first, out);
	table_row_end(version, object, include, out);
}
void table_end(struct buf *out);

#endif

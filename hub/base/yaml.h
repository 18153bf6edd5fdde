#ifndef BASE_YAML_H
#define BASE_YAML_H
/*
 * YAML documents to JSON trees, resolving plain scalars as kubectl's decoder does
 * (libraries.md section 5): yes/no/on/off are booleans, 0777 and 0o17 octal, 0x1F hex, 1_000
 * an integer, 12:30:45 and dates strings; keys are strings. Anchors expand within a budget;
 * merge keys (<<) are applied as yaml.org/type/merge says: a key that the mapping itself names
 * wins wherever it stands (kubectl lets a later << win). Of equal keys the last wins. Numbers
 * keep every digit in JSON's form (kubectl rounds to a double); .inf, .nan and null keys are
 * errors. A text that begins with '{' and is one JSON value takes the fast path of json_parse.
 * Belongs to no thread; holds no state.
 */
#include "base/err.h"
#include "base/span.h"

struct buf;
struct cJSON;

#define YAML_MAX_DEPTH 64
#define YAML_MAX_NODES 1000000 /* after expansion of aliases, over the whole stream */
#define YAML_MAX_BYTES ((size_t)64 << 20)

/* Calls each() with every non-empty document in order; each takes ownership of the tree and
 * returns 0 to go on, or a negative errno that ends the walk and is returned.
 * ERR_BAD_REQUEST with "line N" in the words for malformed or too deep text; ERR_TOO_LARGE over any
 * other limit. */
int yaml_each(struct span text, int (*each)(void *arg, struct cJSON *take_doc), void *arg,
	      struct err *reterr) MUST_CHECK;

/* As below, and "line N: key "x" already set in map" for every key that stands twice in one
 * mapping, each ended by '\n', appended to duplicates. */
int yaml_parse_noting(struct span text, struct buf *duplicates, struct cJSON **ret,
		      struct err *reterr) MUST_CHECK;
/* Exactly one document; ERR_BAD_REQUEST when there is none or more than one. */
int yaml_parse(struct span text, struct cJSON **ret, struct err *reterr) MUST_CHECK;

#endif

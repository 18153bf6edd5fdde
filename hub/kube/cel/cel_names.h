#ifndef KUBE_CEL_NAMES_H
#define KUBE_CEL_NAMES_H
/*
 * Names of fields in expressions: what is no identifier there is escaped, as Kubernetes does it
 * (k8s.io/apiserver/pkg/cel/escaping.go): __underscores__, __dot__, __dash__, __slash__, and
 * __word__ for the language's reserved words. Pure text.
 */
#include "base/span.h"

#define CEL_NAME_MAX 256 /* longer names cannot be written in an expression */

/* The name in the tree into `out`, NUL-terminated; false when it is too long. */
bool cel_name_unescape(struct span name, char out[CEL_NAME_MAX]);
/* true, in, as, break, ...: no identifier may be one. */
bool cel_name_is_reserved(struct span name);

#endif

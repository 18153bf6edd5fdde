#ifndef API_PATHS_H
#define API_PATHS_H
/* The document of "/": every path that is no resource, as kube-apiserver lists them. */
#include "base/buf.h"
#include "kube/kind.h"
#include <stdbool.h>

/* {"paths":[...]}, sorted; always true. */
bool paths_document(const struct kind_set *kinds, struct buf *out);

#endif

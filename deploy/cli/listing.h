#ifndef CLI_LISTING_H
#define CLI_LISTING_H
/*
 * Answers of muster.dev/v1alpha1 as a Kubernetes List, for -o json and -o yaml: each item has
 * apiVersion, kind and metadata (name, namespace, uid, creationTimestamp), and all else that the
 * answer says of it in status; a job's own kind is status.jobKind there, its state status.state.
 */
#include <stddef.h>

struct cJSON;

/* items: an array of the answer's; kind: of the objects made of them. Owned. */
struct cJSON *listing_make(const char *kind, const struct cJSON *items);

#endif

#ifndef KINDS_JOB_PATH_H
#define KINDS_JOB_PATH_H
/*
 * Finds a part of an object in its checked text by a field path, as field errors write them:
 * "spec.replicatedJobs[2].template.spec.template", "spec.pytorchReplicaSpecs[Worker].template".
 * What stands in brackets is an index where the text has an array, a key where it has an object.
 * Without a tree: the core copies templates out of stored jobs this way.
 */
#include "base/compat.h"
#include "base/span.h"

/* The part's text, borrowed. -ENOENT when the path leads nowhere. */
int job_path_find(struct span object, struct span path, struct span *ret) MUST_CHECK;

#endif

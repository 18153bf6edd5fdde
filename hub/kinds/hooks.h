#ifndef KINDS_HOOKS_H
#define KINDS_HOOKS_H
/*
 * The hooks that the YAML files name; struct kind (kube/kind.h) says what each must do. All are
 * pure, run on any thread, and see trees that passed the kind's schema.
 */
#include "kube/kind.h"

/* job_index.c: the digest of every job kind (job_digest.h) */
int job_index(const struct kind *k, const struct cJSON *object, struct buf *out,
	      struct err *reterr);

#endif

#ifndef KUBE_ADMIT_H
#define KUBE_ADMIT_H
/*
 * What a written object goes through before it becomes a draft, in whichever version it was
 * written.
 *
 * An object of the stored version: its schema, its defaults, its rules. One of another version of
 * the same type (struct kind's convert): the same in its own words first; then it is converted,
 * goes through everything that the stored version asks, and comes back, so that whoever wrote it
 * sees what was made of it. Errors of the second pass have the paths of the stored version, as
 * those of a webhook that is registered for that version have. Pure; any thread.
 */
#include "kube/kind.h"

/* `object` and w->old are of `k`. Paths of unknown fields go to `unknown` unless NULL. */
void admit_object(const struct kind_set *set, const struct kind *k, struct cJSON *object,
		  const struct kind_write *w, struct field_errors *errors, struct buf *unknown);

#endif

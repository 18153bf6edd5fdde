#ifndef CLI_WHY_WAITS_H
#define CLI_WHY_WAITS_H
/*
 * What `muster why` says of jobs that stop: those that the job waits for, its own pods when it is
 * the one that stops, and who preempted it.
 */
#include "base/buf.h"

#include <stdbool.h>

struct cJSON;

/* Lines "WAITS", "STOPS", "GAVE WAY"; nothing where there is nothing to say. `answer` is that of
 * `why`. */
void why_waits_print(const struct cJSON *answer, struct buf *out);
/* Whether a pod that is waited for stands on a node that is lost: only an admin can help. */
bool why_waits_is_stuck(const struct cJSON *answer);

#endif

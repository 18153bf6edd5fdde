#ifndef CLI_WHY_NEXT_H
#define CLI_WHY_NEXT_H
/*
 * What the user of a job that waits can do about it, or whom to ask: one sentence for each reason
 * that `muster why` gives.
 */
#include "base/buf.h"

struct cJSON;

/* "NEXT   ...\n", or nothing where there is nothing to say. `answer` is that of `why`. */
void why_next_print(const struct cJSON *answer, struct buf *out);

#endif

#ifndef TESTS_DIFFERENTIAL_CASE_LOOP_H
#define TESTS_DIFFERENTIAL_CASE_LOOP_H
/* The hub's side of a comparison: cases as lines of JSON on standard input, each answered with one.
 */
#include "base/buf.h"

struct cJSON;

/* Answers until the input ends; the exit status of the program: 1 for a line that is no JSON. */
int case_loop(void (*answer)(const struct cJSON *c, struct buf *out));

#endif

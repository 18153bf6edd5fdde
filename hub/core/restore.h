#ifndef CORE_RESTORE_H
#define CORE_RESTORE_H
/*
 * From the store to the core's memory when there is nothing in it yet: at start, after a commit
 * that failed, and for a single job whose record had gone (a finished one that is needed again).
 * The functions that keep memory up to date are the ones that build it (DESIGN section 2).
 */
#include "core/state.h"

/* The record of a job whose object is `o`, with its binding's state; NULL when malformed. */
struct job *restore_job(struct core *c, const struct kind *kind, const struct store_object *o);
/* Policies, quota tree, priority classes, members, live jobs, and the changes that the process
 * before did not come to. */
int restore_all(struct core *c, struct err *reterr) MUST_CHECK;

#endif

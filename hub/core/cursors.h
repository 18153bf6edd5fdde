#ifndef CORE_CURSORS_H
#define CORE_CURSORS_H
/*
 * Where each member stream stands, so that a restart resumes without a list.
 *
 * Cursors of job streams are written in the transaction of their effects on truth; those of nodes
 * and pods beside the mirror's rows. A cursor may lag its effects, never lead them.
 */
#include "core/state.h"

void cursors_load(struct core *c, struct member *m);
/* A fact of this revision was taken. Written with the batch under way. */
void cursors_advance(struct core *c, struct member *m, enum member_stream s, uint64_t revision);
/* A list began: until its end the stream has no cursor. */
void cursors_reset(struct core *c, struct member *m, enum member_stream s);
/* An effect of a fact is not done, and not kept anywhere else: the cursor stays before that fact
 * until it is. Hold before cursors_advance(). */
void cursors_hold(struct member *m, enum member_stream s);
void cursors_release(struct core *c, struct member *m, enum member_stream s);
void cursors_flush(struct core *c);
void cursors_forget(struct core *c, struct member *m);

#endif

#ifndef CORE_ADMIT_H
#define CORE_ADMIT_H
/*
 * What the hub itself adds to a user's write, or refuses of it, before the registry executes it:
 * the finalizer and the first status of jobs, the priority classes' rules, the quota tree's.
 */
#include "core/state.h"
#include "wire/command.h"

/* Edits the command's draft. Negative: refused, and the command's err is filled in. Once per
 * command. */
int admit_command(struct core *c, struct command *cmd);

#endif

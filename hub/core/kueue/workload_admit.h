#ifndef CORE_KUEUE_WORKLOAD_ADMIT_H
#define CORE_KUEUE_WORKLOAD_ADMIT_H
/*
 * Writes of Workloads by others than the core: quota is given by the hub alone. Whoever may write
 * the status may tell of checks and reclaimable pods, and of a workload without a job finish it or
 * give its reservation back; nobody may write one.
 */
#include "core/state.h"
#include "wire/command.h"

/* Negative: refused with the field's path, in cmd->err. */
int workload_admit_command(struct core *c, struct command *cmd);

#endif

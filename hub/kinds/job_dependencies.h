#ifndef KINDS_JOB_DEPENDENCIES_H
#define KINDS_JOB_DEPENDENCIES_H
/*
 * The ConfigMaps, Secrets, PersistentVolumeClaims and ServiceAccounts that a job's pods name:
 * what must be on the member before the job (propagateDeps).
 *
 * Names in order of first mention, each once. The ServiceAccount `default` is left out, since
 * every namespace has one; claims that live as long as a pod are made on the member.
 */
#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "kinds/job_digest.h"

struct job_dependencies {
	struct arena *mem;
	struct map seen;
	struct VEC(struct job_dependency) list;
};

/* Adds what one pod template names. */
void job_dependencies_add(struct job_dependencies *d, const struct cJSON *pod_template);
void job_dependencies_done(struct job_dependencies *d);

#endif

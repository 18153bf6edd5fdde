#ifndef KINDS_MPI_JOB_H
#define KINDS_MPI_JOB_H
/*
 * The two MPIJobs of kubeflow.org: v1 is the training-operator's, v2beta1 the mpi-operator's (and
 * the one that Kueue manages). Both share their rows, in one shape. Which of the two a job is was
 * decided by the version in which it was created and stays so, whichever version it is read or
 * edited in: spec.mpiImplementation stands in those of v2beta1, by default, and in no other. A
 * member gets it as that version.
 */
#include "kube/field_errors.h"
#include "kube/kind.h"

#define MPI_JOB_BETA "v2beta1"

/* Created as kubeflow.org/v2beta1. */
bool mpi_job_is_beta(const struct cJSON *job);

/* Part of the defaulting, before all else: makes the job the one that its version says, or leaves
 * it the one that it was, and gives those of v2beta1 the defaults of their definition. What only
 * the other version has is dropped from a job of v1, with a warning. */
void mpi_job_settle(const struct kind *k, struct cJSON *job, const struct kind_write *w);

/* What the mpi-operator checks beyond what all training jobs are checked for
 * (mpi-operator, pkg/apis/kubeflow/validation). For jobs of v2beta1. */
void mpi_job_check_beta(const struct cJSON *job, struct field_errors *errors);

#endif

#ifndef MEMBER_SYNC_SIM_MPI_OPERATOR_H
#define MEMBER_SYNC_SIM_MPI_OPERATOR_H
/*
 * MPIJob of kubeflow.org/v2beta1 as mpi-operator v0.6 drives it (pkg/controller there): workers are
 * pods, the launcher is a batch Job, whose end is the job's. That Job is played here too: a
 * launcher that failed is made again under the same name until backoffLimit (6) is passed, without
 * the wait between two tries; a worker that failed is only counted.
 *
 * Pure: see plan.h. The state is that of the other training jobs, with Launcher's `failed` counting
 * every pod of the launcher that failed.
 */
#include "member-sync/sim/training.h"

/* As training_decide(); spec->kind is TRAINING_MPI_BETA. */
bool mpi_operator_decide(const struct training_view *v, struct training_state *state,
			 struct plan *plan);

#endif

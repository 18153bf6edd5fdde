#ifndef MEMBER_SYNC_SIM_TRAINING_H
#define MEMBER_SYNC_SIM_TRAINING_H
/*
 * PyTorchJob, TFJob, MPIJob, XGBoostJob, PaddleJob and JAXJob as training-operator v1.9 drives them
 * (kubernetes-api.md 4.2): one decision for all, told apart by which replica type means success.
 *
 * Pure: see plan.h. One pod per (replica type, index); a failed pod whose restart policy allows
 * it is deleted, and made again once it is gone.
 */
#include "member-sync/sim/conditions.h"
#include "member-sync/sim/plan.h"

#define TRAINING_MAX_TYPES 8

enum training_kind {
	TRAINING_PYTORCH,
	TRAINING_TENSORFLOW,
	TRAINING_MPI,
	TRAINING_XGBOOST,
	TRAINING_PADDLE,
	TRAINING_JAX,
	TRAINING_MPI_BETA, /* kubeflow.org/v2beta1: mpi_operator.h decides */
};
enum training_restart { RESTART_ALWAYS, RESTART_ON_FAILURE, RESTART_NEVER, RESTART_EXIT_CODE };
enum training_clean { CLEAN_NONE, CLEAN_RUNNING, CLEAN_ALL };

struct training_replica {
	char type[24]; /* "Master" */
	int32_t replicas;
	enum training_restart restart;
};

struct training_spec {
	enum training_kind kind;
	struct training_replica types[TRAINING_MAX_TYPES];
	size_t n_types;
	bool suspend, elastic, all_workers;
	bool wait_for_workers, launcher_works; /* of TRAINING_MPI_BETA */
	enum training_clean clean;
	int64_t backoff_limit;	 /* -1: none */
	int64_t active_deadline; /* seconds; -1: none */
	int64_t ttl;		 /* seconds after it finished; -1: never */
};

struct training_state {
	struct conditions conditions;
	struct {
		bool known; /* replicaStatuses has the type */
		int32_t active, succeeded, failed;
	} replicas[TRAINING_MAX_TYPES];
	usec started, completed; /* 0: unset */
};

const char *training_kind_name(enum training_kind k); /* "PyTorchJob" */

/* What a decision is about, beside the state that it changes. */
struct training_view {
	const struct training_spec *spec;
	const char *ns, *name; /* they stand in messages */
	const struct pod_view *pods;
	size_t n_pods;
	usec now;
};

/* state is the last one and becomes the next. True when it changed. *ret_services: whether the
 * services of the replicas should exist now. */
bool training_decide(const struct training_view *v, struct training_state *state, struct plan *plan,
		     bool *ret_services);
bool training_finished(const struct training_state *s);
bool training_has_type(const struct training_spec *spec, const char *type);
/* Whether a replica is the one that peers look for (label job-role=master): the master's, the
 * chief's, the launcher's, or worker 0 where the job has none of them. */
bool training_is_master(const struct training_spec *spec, size_t type, int32_t index);

#endif

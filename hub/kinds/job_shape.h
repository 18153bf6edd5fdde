#ifndef KINDS_JOB_SHAPE_H
#define KINDS_JOB_SHAPE_H
/*
 * How the job kinds differ in form: where each keeps its suspend and ttl fields, and which pod
 * templates it has, for how many pods. Digest, copy and validation all walk jobs through this.
 *
 * Works on trees that passed the kind's schema, and does not trust them: what is missing or of
 * the wrong type counts as absent.
 */
#include "base/arena.h"
#include "kinds/job_digest.h"
#include "kube/kind.h"

struct job_template {
	const char *set;      /* name of the pod set, in the arena */
	const char *path;     /* "spec.template", for field errors; in the arena */
	struct cJSON *node;   /* the PodTemplateSpec, NULL when absent */
	int64_t count;	      /* pods; saturates at INT64_MAX */
	int64_t groups;	      /* equal groups that the pods come in; 1 when they do not */
	const char *topology; /* node label of which each group takes a domain alone, or NULL */
	/* Its groups go to the nodes whose label JOB_KEY_NAMESPACED_JOB is this and the group's
	 * index, and tolerate JOB_KEY_NO_SCHEDULE; in the arena, or NULL. */
	const char *labelled;
	bool uncounted;	   /* a helper that is no part of the gang: a RayJob's submitter */
	int64_t min_count; /* 0, or how many pods are enough when no more fit */
	/* Ray: its controller adds the autoscaler's container, with these autoscalerOptions. */
	bool autoscaler;
	const struct cJSON *autoscaler_options;
	bool submitter_beside; /* SidecarMode: and the container that submits the job */
	/* Ray with a fault-tolerant GCS: when the cluster goes, a Job of its controller cleans
	 * Redis up, in the head's place. */
	bool redis_cleanup;
};

struct job_templates {
	struct job_template *items;
	size_t n;
};

struct job_shape {
	uint16_t type;
	const char *policy; /* member of spec that holds suspend and ttl; NULL: spec itself */
	bool hub_ttl;	    /* ttlSecondsAfterFinished deletes the job (a RayJob's does not) */
	/* In the kind's own order of roles. At most one item more than the job has templates. */
	void (*templates)(const struct cJSON *job, struct arena *mem, struct job_templates *ret);
};

/* NULL for what is not a job kind. */
const struct job_shape *job_shape_of(uint16_t type);

/* The object that holds suspend and ttl; NULL when absent. */
struct cJSON *job_shape_policy(const struct job_shape *s, const struct cJSON *job);

/* An update of a job that names a Kueue queue: its suspend field belongs to the queue, so it stays
 * what it was, and a warning says so. Part of every job kind's defaulting. */
void job_shape_keep_suspend(const struct kind *k, struct cJSON *job, const struct kind_write *w);

/* Walks the replica specs of a kubeflow.org job: the roles named in `order` first and in that
 * order, then any others as they stand. Calls each() with the role's key and spec. */
void job_shape_each_role(const struct cJSON *replica_specs, const char *const *order,
			 void (*each)(void *arg, const char *role, struct cJSON *spec), void *arg);

#endif

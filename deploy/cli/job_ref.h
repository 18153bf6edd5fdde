#ifndef CLI_JOB_REF_H
#define CLI_JOB_REF_H
/*
 * A job as users name it, [KIND/]NAME in a namespace, and what the hub knows of it.
 */
#include "client.h"

struct job_ref {
	const char *ns, *name; /* borrowed from what it was found by */
	char kind[64];
};

/* Kinds that are tried for a NAME alone, singular; ended by NULL. */
extern const char *const job_ref_kinds[];

/* ERR_INVALID for a NAME that several kinds have, with a list of them; ERR_NOT_FOUND. */
int job_ref_find(struct client *c, const char *ns, const char *word, struct job_ref *ret,
		 struct err *reterr) MUST_CHECK;
/* The hub's answer to why. */
int job_ref_why(struct client *c, const struct job_ref *job, struct cJSON **ret,
		struct err *reterr) MUST_CHECK;
/* A PodList of its pods at the hub. */
int job_ref_pods(struct client *c, const struct job_ref *job, struct cJSON **ret,
		 struct err *reterr) MUST_CHECK;

#endif

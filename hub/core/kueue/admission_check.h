#ifndef CORE_KUEUE_ADMISSION_CHECK_H
#define CORE_KUEUE_ADMISSION_CHECK_H
/*
 * AdmissionChecks: which exist and are active. Their controllers say so in condition Active, and
 * write the states of single checks into Workloads' status.
 */
#include "core/kueue/kueue.h"

struct admission_check {
	char *controller;
	char *config; /* name of its parameters, or NULL */
	bool active;
};

void admission_check_observe(struct core *c, const struct store_object *o);
void admission_check_forget(struct core *c, struct span name);
void admission_check_free(struct admission_check *a);

#endif
